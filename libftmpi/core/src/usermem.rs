//! The program's memory: the only module of the core that reads and writes through raw addresses.
//!
//! MPI gets addresses, not slices: `MPI_BOTTOM` with absolute displacements, buffers with holes
//! that belong to others, buffers that two pending sends share. A [`UserPtr`] therefore is an
//! address with a promise. The promise is made once, with `unsafe`, where the address enters (the
//! ABI, or a [`Scratch`] of the library). Everything after that is safe code.
//!
//! Guarantees: nothing here assumes alignment. Our side of every copy is a slice and is checked. No
//! reference to the program's memory is ever formed, so it may be shared between pending sends.

use crate::tuning::{STORE_AWAY_BYTES, STORE_NEAR_BYTES_MAX};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;

/// An address in the program's memory, together with the promise of [`UserPtr::new`].
///
/// It is a plain number (its provenance is exposed), because displacements in datatypes may be
/// absolute addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserPtr(usize);

impl UserPtr {
    /// The address 0, which is what `MPI_BOTTOM` counts from.
    pub const BOTTOM: UserPtr = UserPtr(0);

    /// Takes an address that the program gave to a call.
    ///
    /// # Safety
    /// While this value or a value derived from it is used, the bytes that the accompanying
    /// datatype and count describe are readable. They are writable if they are received into. No
    /// one else writes them meanwhile. MPI demands exactly this of the caller of a communication
    /// call until the operation is complete.
    #[must_use]
    pub unsafe fn new(address: *const c_void) -> Self {
        Self(address.expose_provenance())
    }

    /// Memory of our own that a frame refers to. The engine keeps it alive, and where it is, until
    /// that frame is pushed.
    #[must_use]
    #[inline]
    pub fn own(memory: &[u8]) -> Self {
        Self(memory.as_ptr().expose_provenance())
    }

    /// Memory of our own that a payload lands in. The engine keeps it alive, and where it is, until
    /// that payload has landed.
    #[must_use]
    #[inline]
    pub fn own_mut(memory: &mut [u8]) -> Self {
        Self(memory.as_mut_ptr().expose_provenance())
    }

    /// The address as a number.
    #[must_use]
    #[inline]
    pub const fn address(self) -> usize {
        self.0
    }

    /// The address as a C pointer, to be handed back to the program.
    #[must_use]
    #[inline]
    pub fn as_ptr(self) -> *mut c_void {
        ptr::with_exposed_provenance_mut(self.0)
    }

    /// Whether this is the null address.
    #[must_use]
    #[inline]
    pub const fn is_null(self) -> bool {
        self.0 == 0
    }

    /// The address `bytes` further on; wraps, since displacements may be absolute.
    #[must_use]
    #[inline]
    pub const fn offset(self, bytes: i64) -> Self {
        Self(self.0.wrapping_add(bytes as usize))
    }

    #[inline]
    fn bytes(self) -> *mut u8 {
        ptr::with_exposed_provenance_mut(self.0)
    }

    /// Copies `out.len()` bytes from here into `out`.
    #[inline]
    pub fn read(self, out: &mut [u8]) {
        // SAFETY: `out` is ours and exclusively borrowed; the source is covered by the promise of
        // `UserPtr::new`.
        unsafe { ftmpi_copy::copy(self.bytes(), out.as_mut_ptr(), out.len()) }
    }

    /// Copies `out.len()` bytes from here into `out`, past the caches if there are many: for what
    /// is kept and not looked at soon. The ranges must not overlap; `out` is memory of our own.
    #[inline]
    pub fn store_away(self, out: &mut [u8]) {
        if out.len() < STORE_AWAY_BYTES {
            return self.read(out);
        }
        // SAFETY: as in `read`; a buffer of the program does not overlap with one of ours.
        unsafe { ftmpi_copy::stream(self.bytes(), out.as_mut_ptr(), out.len()) }
    }

    /// The same for what is kept and goes from there to its receiver: through the caches, as far as
    /// it has room in them.
    #[inline]
    pub fn store_near(self, out: &mut [u8]) {
        if out.len() > STORE_NEAR_BYTES_MAX {
            return self.store_away(out);
        }
        // SAFETY: as in `store_away`.
        unsafe { ftmpi_copy::across(self.bytes(), out.as_mut_ptr(), out.len()) }
    }

    /// Copies `data` to here.
    #[inline]
    pub fn write(self, data: &[u8]) {
        // SAFETY: `data` is ours; the target is covered by the promise of `UserPtr::new`. `copy`
        // (not `copy_nonoverlapping`): `data` may itself lie in a buffer of the program.
        unsafe { ftmpi_copy::copy(data.as_ptr(), self.bytes(), data.len()) }
    }

    /// Appends `len` bytes from here to `out`.
    pub fn append_to(self, len: usize, out: &mut Vec<u8>) {
        out.reserve(len);
        // SAFETY: `reserve` made room for `len` bytes; they are all written before the length is
        // raised. The source is covered by the promise of `UserPtr::new`.
        unsafe {
            ftmpi_copy::copy(self.bytes(), out.as_mut_ptr().add(out.len()), len);
            out.set_len(out.len() + len);
        }
    }

    /// Copies `len` bytes from here to `target`; the two may overlap.
    #[inline]
    pub fn copy_to(self, target: UserPtr, len: usize) {
        // SAFETY: both sides are covered by the promise of `UserPtr::new`.
        unsafe { ftmpi_copy::copy(self.bytes(), target.bytes(), len) }
    }

    /// Reads one plain value from here, aligned or not.
    #[must_use]
    pub fn load<T: Plain>(self) -> T {
        // SAFETY: covered by the promise of `UserPtr::new`; every bit pattern is a valid `T`.
        unsafe { self.bytes().cast::<T>().read_unaligned() }
    }

    /// Writes one plain value to here, aligned or not.
    pub fn store<T: Plain>(self, value: T) {
        // SAFETY: covered by the promise of `UserPtr::new`.
        unsafe { self.bytes().cast::<T>().write_unaligned(value) }
    }
}

/// Types for which every bit pattern is a value and which hold no padding that matters.
///
/// # Safety
/// The type must be `Copy`, `repr(C)` or primitive, and valid for every bit pattern.
pub unsafe trait Plain: Copy {}

macro_rules! plain {
    ($($t:ty)*) => { $(
        // SAFETY: a primitive integer or float: every bit pattern is a value.
        unsafe impl Plain for $t {}
    )* };
}
plain!(i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64);
// SAFETY: an array of plain values has no padding of its own.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// `inout[i] = f(input[i], inout[i])` for `count` values of `T`, the shape of every reduction.
///
/// `input` and `inout` are packed arrays of `T`; they may have any alignment. LLVM turns the loop
/// into vector code for the primitive types.
#[inline]
pub fn combine<T: Plain>(input: UserPtr, inout: UserPtr, count: usize, f: impl Fn(T, T) -> T) {
    let (source, target) = (input.bytes().cast::<T>(), inout.bytes().cast::<T>());
    for i in 0..count {
        // SAFETY: both arrays hold `count` values by the promise of `UserPtr::new`; unaligned
        // accesses; every bit pattern is a valid `T`.
        unsafe {
            let value = f(source.add(i).read_unaligned(), target.add(i).read_unaligned());
            target.add(i).write_unaligned(value);
        }
    }
}

/// Copies `len` bytes; the common small lengths become single moves.
///
/// # Safety
/// `from` is readable and `to` writable for `len` bytes, and they do not overlap.
#[inline(always)]
unsafe fn copy_small(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: by the contract of this function.
    unsafe {
        match len {
            8 => ptr::copy_nonoverlapping(from, to, 8),
            4 => ptr::copy_nonoverlapping(from, to, 4),
            16 => ptr::copy_nonoverlapping(from, to, 16),
            1 => *to = *from,
            2 => ptr::copy_nonoverlapping(from, to, 2),
            12 => ptr::copy_nonoverlapping(from, to, 12),
            24 => ptr::copy_nonoverlapping(from, to, 24),
            40 => ptr::copy_nonoverlapping(from, to, 40),
            _ => ptr::copy_nonoverlapping(from, to, len),
        }
    }
}

/// Something that is shown the runs of bytes of a datatype in the order of its typemap.
pub trait RunVisitor {
    /// One run of `len` bytes at displacement `disp`.
    fn run(&mut self, disp: i64, len: usize);

    /// `count` runs of `len` bytes, the first at `disp`, each `stride` bytes after the previous.
    fn strided(&mut self, disp: i64, stride: i64, len: usize, count: usize) {
        for i in 0..count {
            self.run(disp.wrapping_add(stride.wrapping_mul(i as i64)), len);
        }
    }
}

/// Runs of equal length and distance, with a loop of its own for each usual length.
macro_rules! strided_runs {
    ($self:ident, $disp:ident, $stride:ident, $len:ident, $count:ident) => {
        match $len {
            1 => $self.strided_fixed::<1>($disp, $stride, $count),
            2 => $self.strided_fixed::<2>($disp, $stride, $count),
            4 => $self.strided_fixed::<4>($disp, $stride, $count),
            8 => $self.strided_fixed::<8>($disp, $stride, $count),
            16 => $self.strided_fixed::<16>($disp, $stride, $count),
            24 => $self.strided_fixed::<24>($disp, $stride, $count),
            32 => $self.strided_fixed::<32>($disp, $stride, $count),
            40 => $self.strided_fixed::<40>($disp, $stride, $count),
            _ => {
                for i in 0..$count {
                    $self.run($disp.wrapping_add($stride.wrapping_mul(i as i64)), $len);
                }
            }
        }
    };
}

/// Collects runs of the program's memory into one packed stretch of the library's.
pub struct Gather<'a> {
    base: UserPtr,
    out: &'a mut [MaybeUninit<u8>],
    filled: usize,
}

impl<'a> Gather<'a> {
    /// Gathers relative to `base` into `out`.
    pub fn new(base: UserPtr, out: &'a mut [u8]) -> Self {
        let out: *mut [u8] = out;
        // SAFETY: `MaybeUninit<u8>` has the layout of `u8`, the slice is exclusively borrowed for
        // 'a, and nothing here ever makes a byte of it uninitialised.
        Self { base, out: unsafe { &mut *(out as *mut [MaybeUninit<u8>]) }, filled: 0 }
    }

    /// Appends at most `len` bytes to `out`: those that `fill` gathers relative to `base`.
    pub fn append(base: UserPtr, len: usize, out: &mut Vec<u8>, fill: impl FnOnce(&mut Gather)) {
        out.reserve(len);
        let old = out.len();
        let mut gather = Gather { base, out: &mut out.spare_capacity_mut()[..len], filled: 0 };
        fill(&mut gather);
        let filled = gather.filled;
        // SAFETY: `take` hands out places one after the other. Each is written before the next is
        // asked for, so that the first `filled` bytes after the old length are initialised.
        unsafe { out.set_len(old + filled) }
    }

    /// How many bytes of `out` have been written so far.
    #[must_use]
    pub fn filled(&self) -> usize {
        self.filled
    }

    /// A place for `len` more bytes, checked.
    #[inline(always)]
    fn take(&mut self, len: usize) -> *mut u8 {
        let slot = &mut self.out[self.filled..self.filled + len];
        self.filled += len;
        slot.as_mut_ptr().cast()
    }

    #[inline(always)]
    fn strided_fixed<const N: usize>(&mut self, disp: i64, stride: i64, count: usize) {
        let to = self.take(N * count);
        let mut from = self.base.offset(disp);
        for i in 0..count {
            // SAFETY: `take` checked room for `count` runs of `N`. The source is covered by the
            // promise of `UserPtr::new`. Our buffer is exclusively borrowed, so no overlap.
            unsafe { ptr::copy_nonoverlapping(from.bytes(), to.add(i * N), N) }
            from = from.offset(stride);
        }
    }
}

impl RunVisitor for Gather<'_> {
    #[inline(always)]
    fn run(&mut self, disp: i64, len: usize) {
        let to = self.take(len);
        // SAFETY: `take` checked the room; the source is covered by the promise of `UserPtr::new`;
        // our buffer is exclusively borrowed, so no overlap.
        unsafe { copy_small(self.base.offset(disp).bytes(), to, len) }
    }

    fn strided(&mut self, disp: i64, stride: i64, len: usize, count: usize) {
        strided_runs!(self, disp, stride, len, count);
    }
}

/// Spreads one packed stretch of the library's memory over runs of the program's memory.
pub struct Scatter<'a> {
    base: UserPtr,
    data: &'a [u8],
    taken: usize,
}

impl<'a> Scatter<'a> {
    /// Scatters `data` relative to `base`.
    pub fn new(base: UserPtr, data: &'a [u8]) -> Self {
        Self { base, data, taken: 0 }
    }

    /// The next `len` bytes of the data, checked.
    #[inline(always)]
    fn take(&mut self, len: usize) -> *const u8 {
        let slot = &self.data[self.taken..self.taken + len];
        self.taken += len;
        slot.as_ptr()
    }

    #[inline(always)]
    fn strided_fixed<const N: usize>(&mut self, disp: i64, stride: i64, count: usize) {
        let from = self.take(N * count);
        let mut to = self.base.offset(disp);
        for i in 0..count {
            // SAFETY: `take` checked that there are `count` runs of `N`. The target is covered by
            // the promise of `UserPtr::new`, and is not the memory of our slice.
            unsafe { ptr::copy_nonoverlapping(from.add(i * N), to.bytes(), N) }
            to = to.offset(stride);
        }
    }
}

impl RunVisitor for Scatter<'_> {
    #[inline(always)]
    fn run(&mut self, disp: i64, len: usize) {
        let from = self.take(len);
        // SAFETY: `take` checked the data; the target is covered by the promise of `UserPtr::new`,
        // and is not the memory of our slice.
        unsafe { copy_small(from, self.base.offset(disp).bytes(), len) }
    }

    fn strided(&mut self, disp: i64, stride: i64, len: usize, count: usize) {
        strided_runs!(self, disp, stride, len, count);
    }
}

/// The program's own allocator.
#[derive(Debug, Clone, Copy)]
pub struct ProgramAllocator {
    /// `bytes` zero bytes, aligned to [`ProgramMemory::ALIGN`], or null.
    pub take: fn(usize) -> *mut c_void,
    /// Gives back what `take` gave.
    pub give: fn(*mut c_void),
}

static PROGRAM_ALLOCATOR: OnceLock<ProgramAllocator> = OnceLock::new();

/// From here on [`ProgramMemory`] memory comes from `allocator`. Without one (in the simulator,
/// whose images have only that memory) it comes from the same place as everything else.
pub fn set_program_allocator(allocator: ProgramAllocator) {
    let _ = PROGRAM_ALLOCATOR.set(allocator);
}

/// Zeroed memory of the library for the program, which may send its address to others. It comes
/// from the program's own allocator, so that a replay gives it at the same address. The addresses
/// of the library's allocator depend on what the library needed before.
#[derive(Debug)]
pub struct ProgramMemory {
    at: *mut c_void,
    layout: Layout,
    allocator: Option<ProgramAllocator>,
}

impl ProgramMemory {
    /// Its alignment in bytes.
    pub const ALIGN: usize = align_of::<u128>();

    /// Memory of `len` bytes; `None`, if there is not so much. Pages that are never touched take
    /// none.
    #[must_use]
    pub fn new(len: usize) -> Option<Self> {
        let layout = Layout::from_size_align(len.max(1), Self::ALIGN).ok()?;
        let allocator = PROGRAM_ALLOCATOR.get().copied();
        let at = match allocator {
            Some(allocator) => (allocator.take)(layout.size()),
            // SAFETY: the layout has a size.
            None => unsafe { alloc_zeroed(layout) }.cast(),
        };
        (!at.is_null()).then_some(Self { at, layout, allocator })
    }

    /// Where it is.
    ///
    /// # Safety
    /// The result must not be used when this has been dropped.
    #[must_use]
    pub unsafe fn ptr(&self) -> UserPtr {
        UserPtr(self.at.expose_provenance())
    }
}

impl Drop for ProgramMemory {
    fn drop(&mut self) {
        match self.allocator {
            Some(allocator) => (allocator.give)(self.at),
            // SAFETY: it is from there, with this layout, and nobody uses it any more (`ptr`).
            None => unsafe { dealloc(self.at.cast(), self.layout) },
        }
    }
}

/// A zeroed buffer of our own, aligned for every C type, that can replace a program's buffer: as
/// operand of a user-defined reduction, or stage of a collective.
#[derive(Debug, Default)]
pub struct Scratch {
    words: Vec<u128>,
    len: usize,
}

impl Scratch {
    /// A buffer of `len` zero bytes.
    #[must_use]
    pub fn new(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(size_of::<u128>())], len }
    }

    /// Its length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds no byte.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Its bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: `words` holds at least `len` initialised bytes; `u8` has no alignment and every
        // bit pattern is a `u8`.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.len) }
    }

    /// Its bytes, to be changed.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`, and `self` is exclusively borrowed.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.len) }
    }

    /// Its first byte as if it were the program's.
    ///
    /// # Safety
    /// The result must not be used after the scratch buffer was dropped, nor while a slice of it is
    /// held. (Moving the `Scratch` is allowed: the bytes stay where they are.)
    #[must_use]
    pub unsafe fn ptr(&mut self) -> UserPtr {
        UserPtr(self.words.as_mut_ptr().expose_provenance())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The address of a test's own vector.
    fn address_of(v: &mut [u8]) -> UserPtr {
        // SAFETY: each test keeps the vector until its last use of the pointer.
        unsafe { UserPtr::new(v.as_mut_ptr().cast()) }
    }

    #[test]
    fn strided_runs_of_every_length_gather_and_scatter_back() {
        for len in 0..50usize {
            for stride in [len as i64, len as i64 + 3, -(len as i64) - 1] {
                let count = 7;
                let span = stride.unsigned_abs() as usize * (count - 1) + len;
                let mut memory: Vec<u8> = (0..span).map(|i| i as u8).collect();
                let first = if stride < 0 { span - len } else { 0 } as i64;
                let expected: Vec<u8> = (0..count as i64)
                    .flat_map(|i| {
                        let at = (first + stride * i) as usize;
                        memory[at..at + len].to_vec()
                    })
                    .collect();
                let mut packed = vec![0u8; len * count];
                let mut gather = Gather::new(address_of(&mut memory), &mut packed);
                gather.strided(first, stride, len, count);
                assert_eq!(gather.filled(), len * count);
                assert_eq!(packed, expected);

                let mut target = vec![0u8; span];
                let base = address_of(&mut target);
                Scatter::new(base, &packed).strided(first, stride, len, count);
                for i in 0..count as i64 {
                    let at = (first + stride * i) as usize;
                    assert_eq!(target[at..at + len], memory[at..at + len]);
                }
            }
        }
    }

    #[test]
    fn combine_works_on_unaligned_operands() {
        let mut a = vec![0u8; 1 + 8 * 5];
        let mut b = vec![0u8; 3 + 8 * 5];
        let (pa, pb) = (address_of(&mut a).offset(1), address_of(&mut b).offset(3));
        for i in 0..5 {
            pa.offset(8 * i).store(i as f64);
            pb.offset(8 * i).store(10.0);
        }
        combine::<f64>(pa, pb, 5, |x, y| x - y);
        for i in 0..5 {
            assert_eq!(pb.offset(8 * i).load::<f64>(), i as f64 - 10.0);
        }
    }

    #[test]
    fn memory_that_cannot_be_had_is_none() {
        assert!(ProgramMemory::new(usize::MAX).is_none());
        assert!(ProgramMemory::new(1 << 60).is_none());
        let some = ProgramMemory::new(100).unwrap();
        // SAFETY: used while it is there.
        let at = unsafe { some.ptr() };
        assert!(at.address().is_multiple_of(ProgramMemory::ALIGN));
        assert_eq!((at.load::<u64>(), at.offset(92).load::<u64>()), (0, 0));
        assert!(ProgramMemory::new(0).is_some());
    }

    #[test]
    fn scratch_is_zeroed_and_stays_put() {
        let mut scratch = Scratch::new(33);
        // SAFETY: used before the scratch is dropped, with no slice held.
        let p = unsafe { scratch.ptr() };
        assert_eq!(p.address() % 16, 0);
        p.offset(32).store(7u8);
        let moved = scratch;
        assert_eq!(moved.as_slice()[32], 7);
        assert_eq!(moved.as_slice()[..32], [0; 32]);
        assert_eq!(moved.len(), 33);
    }
}
