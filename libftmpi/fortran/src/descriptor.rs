//! Array descriptors of gfortran: what a dummy argument `type(*), dimension(..)` is (GCC 9 and
//! later).
//!
//! Guarantees: a contiguous array, a scalar or a special address costs no more than looking at the
//! descriptor. A section with gaps arrives as if it were contiguous (MPI-4.1, 19.1.13). A call that
//! is over when it returns makes a copy; for a collective the request brings the copy back. Other
//! calls that go on use a datatype that is composed of section, count and datatype. A section that
//! is too short for them is refused before anything is done, through the error handler that the
//! call has.

use core::ffi::{CStr, c_int, c_void};

use crate::c::mpi;
use crate::partner::{ftmpi_fortran_partitions, ftmpi_fortran_section, ftmpi_fortran_stage};
use crate::special::buffer_f08;

const MPI_BYTE: c_int = 0x4c00_010d;
/// More than Fortran allows.
const RANK_MAX: usize = 16;

#[repr(C)]
struct Dimension {
    stride: isize,
    lower: isize,
    upper: isize,
}

/// As libgfortran lays it out.
#[repr(C)]
struct Descriptor {
    base: *mut c_void,
    offset: usize,
    element: usize,
    version: c_int,
    rank: i8,
    kind: i8,
    attribute: i16,
    span: isize,
    dimensions: [Dimension; RANK_MAX],
}

/// A section with gaps: bytes of an element, and (extent, stride in bytes) of each dimension.
struct Section {
    base: *mut c_void,
    element: usize,
    dimensions: Vec<(usize, isize)>,
}

/// The content of a descriptor.
enum Choice {
    At(*mut c_void),
    Gaps(Section),
}

/// # Safety
/// `p` is a descriptor that gfortran passed.
unsafe fn look(p: *const c_void) -> Choice {
    let d = p.cast::<Descriptor>();
    // SAFETY: the caller's promise; only the `rank` dimensions that exist are looked at.
    let (base, element, rank, span) = unsafe { ((*d).base, (*d).element, (*d).rank, (*d).span) };
    let rank = usize::try_from(rank).unwrap_or(0).min(RANK_MAX);
    let unit = if span > 0 { span } else { element as isize };
    let mut expected = element as isize;
    let (mut gaps, mut empty) = (false, false);
    let mut dimensions = Vec::new();
    for i in 0..rank {
        // SAFETY: as above.
        let (stride, lower, upper) = unsafe {
            let x = &raw const (*d).dimensions[i];
            ((*x).stride, (*x).lower, (*x).upper)
        };
        // The last extent of an assumed-size array is not known: upper is -1.
        let unknown = i + 1 == rank && upper == -1 && lower == 1;
        let extent = upper.wrapping_sub(lower).wrapping_add(1);
        let stride = stride.wrapping_mul(unit);
        gaps |= extent != 1 && stride != expected;
        empty |= extent <= 0 && !unknown;
        expected = expected.wrapping_mul(extent.max(1));
        dimensions.push((extent.max(0) as usize, stride));
    }
    if gaps && !empty && dimensions.iter().all(|d| d.0 > 0) {
        Choice::Gaps(Section { base, element, dimensions })
    } else {
        Choice::At(buffer_f08(base))
    }
}

/// The address of the first element.
///
/// # Safety
/// `p` is a descriptor that gfortran passed.
pub unsafe fn address(p: *mut c_void) -> *mut c_void {
    // SAFETY: the caller's promise.
    match unsafe { look(p) } {
        Choice::At(at) => at,
        Choice::Gaps(section) => section.base,
    }
}

/// The address of a buffer of one value of a predefined datatype, for calls that take no count. The
/// value lies in the first elements of a section, which follow one another.
///
/// # Safety
/// `p` is a descriptor that gfortran passed, `datatype` refers to a handle.
pub unsafe fn single(
    p: *mut c_void,
    datatype: *const c_int,
    call: &'static CStr,
    about: About,
) -> Result<*mut c_void, c_int> {
    // SAFETY: the caller's promise.
    match unsafe { look(p) } {
        Choice::At(at) => Ok(at),
        Choice::Gaps(section) => {
            // SAFETY: as above.
            let mut made = compose(&section, 1, unsafe { *datatype }, true, call, about)?;
            // SAFETY: the type is ours.
            unsafe { mpi::Type_free(&raw mut made) };
            Ok(section.base)
        }
    }
}

impl Section {
    fn elements(&self) -> usize {
        self.dimensions.iter().map(|d| d.0).product()
    }

    /// Shows the address of each element, in array element order.
    fn for_each(&self, mut visit: impl FnMut(*mut u8)) {
        let mut index = vec![0usize; self.dimensions.len()];
        let mut at = self.base.cast::<u8>();
        loop {
            visit(at);
            let mut level = 0;
            loop {
                let Some(&(extent, stride)) = self.dimensions.get(level) else { return };
                index[level] += 1;
                at = at.wrapping_offset(stride);
                if index[level] < extent {
                    break;
                }
                at = at.wrapping_offset(stride.wrapping_mul(extent as isize).wrapping_neg());
                index[level] = 0;
                level += 1;
            }
        }
    }
}

/// A choice buffer of a call that is over when it returns (or, [staged](stage), of a collective
/// that goes on).
pub struct Copied {
    at: *mut c_void,
    copy: Option<(Section, Vec<u8>, bool)>,
    /// The bytes when a collective began that goes on: bytes that it does not change are the
    /// program's.
    before: Vec<u8>,
}

impl Copied {
    /// A copy of the section; `writes`: what the call stores goes back to the section.
    ///
    /// # Safety
    /// `p` is a descriptor that gfortran passed, of memory that stays for the length of the call.
    pub unsafe fn take(p: *mut c_void, writes: bool) -> Self {
        // SAFETY: the caller's promise.
        match unsafe { look(p) } {
            Choice::At(at) => Self { at, copy: None, before: Vec::new() },
            Choice::Gaps(section) => {
                let mut bytes = Vec::with_capacity(section.elements() * section.element);
                section.for_each(|at| {
                    // SAFETY: an element of the program's array.
                    let one = unsafe { core::slice::from_raw_parts(at, section.element) };
                    bytes.extend_from_slice(one);
                });
                let at = bytes.as_mut_ptr().cast();
                Self { at, copy: Some((section, bytes, writes)), before: Vec::new() }
            }
        }
    }

    /// The same for a collective that goes on when its call returns.
    ///
    /// # Safety
    /// As for [`Copied::take`]; the memory stays until the request is complete.
    pub unsafe fn take_staged(p: *mut c_void, writes: bool) -> Self {
        // SAFETY: the caller's promise.
        let mut copied = unsafe { Self::take(p, writes) };
        if let Some((_, bytes, true)) = &copied.copy {
            copied.before.clone_from(bytes);
        }
        copied
    }

    /// The address for the call.
    pub fn at(&mut self) -> *mut c_void {
        self.at
    }

    fn bring_out(&self) {
        if let Some((section, bytes, true)) = &self.copy {
            let each = section.element.max(1);
            let mut elements = bytes.chunks_exact(each);
            let mut before = self.before.chunks_exact(each);
            section.for_each(|at| {
                let Some(element) = elements.next() else { return };
                if before.next() == Some(element) {
                    return;
                }
                // SAFETY: an element of the program's array, and the same one of the copy.
                unsafe { core::ptr::copy_nonoverlapping(element.as_ptr(), at, section.element) };
            });
        }
    }

    fn bring_in(&mut self) {
        if let Some((section, bytes, _)) = &mut self.copy {
            let mut to = bytes.as_mut_ptr();
            section.for_each(|at| {
                // SAFETY: an element of the program's array, and the same one of the copy.
                unsafe { core::ptr::copy_nonoverlapping(at, to, section.element) };
                to = to.wrapping_add(section.element);
            });
            if !self.before.is_empty() {
                self.before.clone_from(bytes);
            }
        }
    }

    /// What the call stored stays in the copy.
    fn forget(&mut self) {
        if let Some((_, _, writes)) = &mut self.copy {
            *writes = false;
        }
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        self.bring_out();
    }
}

/// The buffers of a collective that goes on after its call returned.
struct Staged {
    buffers: Vec<Copied>,
    /// Received data are with the program.
    out: bool,
}

/// # Safety
/// `state` is a [`Staged`] of this file; after `what` 2 it is not used again.
unsafe extern "C" fn act(state: *mut c_void, what: c_int) {
    let staged = state.cast::<Staged>();
    // SAFETY: the caller's promise; libmpi calls one at a time.
    unsafe {
        match what {
            0 => {
                (*staged).out = false;
                (*staged).buffers.iter_mut().for_each(Copied::bring_in);
            }
            1 if !(*staged).out => {
                (*staged).out = true;
                (*staged).buffers.iter().for_each(Copied::bring_out);
            }
            1 => {}
            _ => {
                let mut staged = Box::from_raw(staged);
                staged.buffers.iter_mut().for_each(Copied::forget);
            }
        }
    }
}

/// The copies of a collective that was begun (or, with an error, was not) stay until it is over.
///
/// # Safety
/// `request` refers to a handle.
pub unsafe fn stage(mut buffers: Vec<Copied>, request: *const c_int, code: c_int) {
    buffers.retain(|buffer| buffer.copy.is_some());
    if buffers.is_empty() {
        return;
    }
    if code != 0 {
        return buffers.iter_mut().for_each(Copied::forget);
    }
    let state = Box::into_raw(Box::new(Staged { buffers, out: false }));
    // SAFETY: the request was just made; `act` frees the state.
    unsafe { ftmpi_fortran_stage(*request, state.cast(), act) };
}

/// The object of a call: its error handler gets the error about a section that cannot be used.
#[derive(Clone, Copy)]
pub enum About {
    Comm(*const c_int),
    Win(*const c_int),
    File(*const c_int),
    /// It names none: the world's error handler hears of it.
    Nobody,
}

/// `MPI_COMM_WORLD`
static WORLD: c_int = 0x4400_0000;

/// A datatype that says how count and datatype lie in the section; a code if they do not. `whole`:
/// no value may lie across a gap.
fn compose(
    section: &Section,
    count: i64,
    datatype: c_int,
    whole: bool,
    call: &CStr,
    about: About,
) -> Result<c_int, c_int> {
    let (kind, object) = match about {
        About::Comm(object) => (0, object),
        About::Win(object) => (1, object),
        About::File(object) => (2, object),
        About::Nobody => (0, &raw const WORLD),
    };
    let dimensions: Vec<[i64; 2]> =
        section.dimensions.iter().map(|&(extent, stride)| [extent as i64, stride as i64]).collect();
    let mut made = MPI_BYTE;
    // SAFETY: the object is a reference to a handle, as the interface says. The array stays for the
    // length of the call. The name, a constant, stays for the length of the process.
    let code = unsafe {
        ftmpi_fortran_section(
            call.as_ptr(),
            kind,
            *object,
            section.element as u64,
            dimensions.as_ptr(),
            dimensions.len() as c_int,
            count,
            datatype,
            c_int::from(whole),
            &raw mut made,
        )
    };
    if code == 0 { Ok(made) } else { Err(code) }
}

/// A choice buffer of a call that goes on after it returned, with its count and datatype.
pub struct Typed {
    at: *mut c_void,
    small: c_int,
    large: i64,
    datatype: c_int,
    /// The datatype is ours.
    made: bool,
}

impl Typed {
    /// `Err`: such a section cannot be used, and the error handler was called.
    ///
    /// # Safety
    /// `p` is a descriptor that gfortran passed; the others are references to integers.
    pub unsafe fn small(
        p: *mut c_void,
        count: *const c_int,
        datatype: *const c_int,
        call: &'static CStr,
        about: About,
    ) -> Result<Self, c_int> {
        // SAFETY: the caller's promise.
        unsafe { Self::new(look(p), i64::from(*count), *datatype, call, about) }
    }

    /// # Safety
    /// As for [`Typed::small`].
    pub unsafe fn large(
        p: *mut c_void,
        count: *const i64,
        datatype: *const c_int,
        call: &'static CStr,
        about: About,
    ) -> Result<Self, c_int> {
        // SAFETY: the caller's promise.
        unsafe { Self::new(look(p), *count, *datatype, call, about) }
    }

    fn new(
        choice: Choice,
        count: i64,
        datatype: c_int,
        call: &'static CStr,
        about: About,
    ) -> Result<Self, c_int> {
        let plain = |at| Self { at, small: count as c_int, large: count, datatype, made: false };
        match choice {
            Choice::At(at) => Ok(plain(at)),
            // The call itself says what is wrong, if anything is.
            Choice::Gaps(section) if count <= 0 => Ok(plain(section.base)),
            Choice::Gaps(section) => {
                // In a file a value may have another form than in memory.
                let whole = matches!(about, About::File(_));
                let datatype = compose(&section, count, datatype, whole, call, about)?;
                Ok(Self { at: section.base, small: 1, large: 1, datatype, made: true })
            }
        }
    }

    /// The address for the call.
    pub fn at(&mut self) -> *mut c_void {
        self.at
    }

    /// The address for the call.
    pub fn small_count(&mut self) -> *mut c_int {
        &raw mut self.small
    }

    /// The address for the call.
    pub fn large_count(&mut self) -> *mut i64 {
        &raw mut self.large
    }

    /// The address for the call.
    pub fn datatype(&mut self) -> *mut c_int {
        &raw mut self.datatype
    }
}

impl Drop for Typed {
    fn drop(&mut self) {
        if self.made {
            // SAFETY: made above; what is under way keeps it.
            unsafe { mpi::Type_free(&raw mut self.datatype) };
        }
    }
}

/// The choice buffer of a partitioned request: the type of all partitions together, if there are
/// gaps.
pub struct Parts {
    at: *mut c_void,
    made: Option<c_int>,
    call: &'static CStr,
}

impl Parts {
    /// # Safety
    /// `p` is a descriptor that gfortran passed; the others are references to integers.
    pub unsafe fn take(
        p: *mut c_void,
        (partitions, count, datatype): (*const c_int, *const i64, *const c_int),
        call: &'static CStr,
        about: About,
    ) -> Result<Self, c_int> {
        // SAFETY: the caller's promise.
        let (choice, partitions, count) = unsafe { (look(p), *partitions, *count) };
        let section = match choice {
            Choice::At(at) => return Ok(Self { at, made: None, call }),
            Choice::Gaps(section) => section,
        };
        // The call itself refuses a count that is no number or too large.
        let total = match i64::from(partitions).checked_mul(count) {
            Some(total) if partitions > 0 && count > 0 => total,
            _ => return Ok(Self { at: section.base, made: None, call }),
        };
        // SAFETY: the caller's promise.
        let made = compose(&section, total, unsafe { *datatype }, false, call, about)?;
        Ok(Self { at: section.base, made: Some(made), call })
    }

    /// The address for the call.
    pub fn at(&self) -> *mut c_void {
        self.at
    }

    /// The request was made (or, with an error, was not). Returns the code of the call.
    ///
    /// # Safety
    /// `request` refers to a handle.
    pub unsafe fn settle(mut self, request: *const c_int, code: c_int) -> c_int {
        let Some(made) = &mut self.made else { return code };
        // SAFETY: the request was just made; the type is ours, and the request keeps it.
        unsafe {
            let mut code = code;
            if code == 0 {
                code = ftmpi_fortran_partitions(self.call.as_ptr(), *request, self.at, *made);
            }
            mpi::Type_free(made);
            code
        }
    }
}

/// Bytes of one element: `MPI_Sizeof`.
///
/// # Safety
/// Called by Fortran as `MPI_Sizeof(x, size, ierror)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpi_sizeof_f08ts_(x: *const c_void, size: *mut c_int, ierror: *mut c_int) {
    // SAFETY: a descriptor and two references to integers, the last of which may be left out.
    unsafe { *size = (*x.cast::<Descriptor>()).element as c_int };
    crate::marshal::set(ierror, 0);
}

/// `MPI_F_sync_reg` of MPICH's module: the call itself is what counts.
///
/// # Safety
/// None: nothing is looked at.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpi_f_sync_reg_f08ts_(_buffer: *const c_void) {}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(base: &mut [u8], element: usize, dimensions: &[(isize, isize)]) -> Descriptor {
        let mut all = [const { Dimension { stride: 0, lower: 1, upper: 0 } }; RANK_MAX];
        for (place, &(extent, stride)) in all.iter_mut().zip(dimensions) {
            *place = Dimension { stride, lower: 1, upper: extent };
        }
        Descriptor {
            base: base.as_mut_ptr().cast(),
            offset: 0,
            element,
            version: 0,
            rank: dimensions.len() as i8,
            kind: 1,
            attribute: 0,
            span: element as isize,
            dimensions: all,
        }
    }

    fn is_contiguous(d: &Descriptor) -> bool {
        // SAFETY: a descriptor as gfortran makes them.
        matches!(unsafe { look((&raw const *d).cast()) }, Choice::At(_))
    }

    #[test]
    fn contiguous_or_not() {
        let mut memory = [0u8; 64];
        assert!(is_contiguous(&described(&mut memory, 4, &[])));
        assert!(is_contiguous(&described(&mut memory, 4, &[(16, 1)])));
        assert!(is_contiguous(&described(&mut memory, 4, &[(4, 1), (4, 4)])));
        assert!(is_contiguous(&described(&mut memory, 4, &[(1, 7), (4, 1)])));
        assert!(is_contiguous(&described(&mut memory, 4, &[(0, 2)])));
        assert!(!is_contiguous(&described(&mut memory, 4, &[(4, 2)])));
        assert!(!is_contiguous(&described(&mut memory, 4, &[(2, 1), (4, 4)])));
        let mut assumed = described(&mut memory, 4, &[(4, 1), (9, 4)]);
        assumed.dimensions[1].upper = -1;
        assert!(is_contiguous(&assumed));
    }

    #[test]
    fn copies_go_out_and_come_back_in_element_order() {
        let mut memory: Vec<u8> = (0..24).collect();
        // Two rows of a 4 by 6 array, every second column, backwards.
        let d = described(&mut memory[20..], 1, &[(2, 1), (3, -8)]);
        // SAFETY: the section lies inside `memory`.
        let mut copied = unsafe { Copied::take((&raw const d).cast_mut().cast(), true) };
        // SAFETY: six elements were copied.
        let bytes = unsafe { core::slice::from_raw_parts_mut(copied.at().cast::<u8>(), 6) };
        assert_eq!(bytes, [20, 21, 12, 13, 4, 5]);
        bytes.copy_from_slice(&[100, 101, 102, 103, 104, 105]);
        drop(copied);
        assert_eq!(&memory[4..6], [104, 105]);
        assert_eq!(&memory[12..14], [102, 103]);
        assert_eq!(&memory[20..22], [100, 101]);
        assert_eq!(memory[6], 6);
    }
}
