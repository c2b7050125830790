//! What does not follow from the kind of a parameter: addresses with a meaning, lengths that depend
//! on a communicator, constants inside of arrays, versions, conversion to integers.

use core::ffi::{c_int, c_void};

use crate::convert::*;
use crate::first::{ask, call, next, symbol};
use crate::functions::at;
use crate::lists::{List, many};

/// Defines an exported function and its profiling twin.
macro_rules! both {
    ($(fn $name:ident / $twin:ident ( $($p:ident : $t:ty),* $(,)? ) -> $r:ty $body:block)*) => { $(
        #[unsafe(no_mangle)]
        #[allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]
        pub unsafe extern "C" fn $twin($($p: $t),*) -> $r $body

        #[unsafe(no_mangle)]
        #[allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]
        pub unsafe extern "C" fn $name($($p: $t),*) -> $r {
            // SAFETY: the same promises.
            unsafe { $twin($($p),*) }
        }
    )* };
}
pub(crate) use both;

/// `MPI_IN_PLACE` and `MPI_BUFFER_AUTOMATIC`; every other address means memory.
#[inline(always)]
pub fn buffer_in(buffer: *mut c_void) -> *mut c_void {
    match buffer as usize {
        1 => core::ptr::without_provenance_mut(usize::MAX),
        2 => core::ptr::without_provenance_mut(usize::MAX - 1),
        _ => buffer,
    }
}

/// The array of what is sent; nothing, if the call is in place.
pub fn unless_in_place(buffer: *mut c_void, array: *mut usize) -> *mut usize {
    if buffer as usize == 1 { core::ptr::null_mut() } else { array }
}

/// The answer of a detached buffer: it may have been `MPI_BUFFER_AUTOMATIC`.
///
/// # Safety
/// The program promised room for an address.
pub unsafe fn buffer_addr_out(place: *mut c_void) {
    let place = place.cast::<usize>();
    // SAFETY: see above.
    unsafe {
        if *place == usize::MAX - 1 {
            *place = 2;
        }
    }
}

/// `MPI_UNWEIGHTED` and `MPI_WEIGHTS_EMPTY`, which are variables in the first interface.
pub fn weights_in(weights: *mut c_int) -> *mut c_void {
    let name = match weights as usize {
        10 => c"MPI_UNWEIGHTED",
        11 => c"MPI_WEIGHTS_EMPTY",
        _ => return weights.cast(),
    };
    let variable = symbol(name).cast::<*mut c_void>();
    // SAFETY: both variables are addresses, set before the library runs.
    if variable.is_null() { weights.cast() } else { unsafe { *variable } }
}

/// `MPI_T_PVAR_ALL_HANDLES`, which is a variable in the first interface.
pub fn pvar_in(handle: *mut c_void) -> *mut c_void {
    if handle as usize != 1 {
        return handle;
    }
    let variable = symbol(c"MPI_T_PVAR_ALL_HANDLES").cast::<*mut c_void>();
    // SAFETY: the variable is an address.
    if variable.is_null() { handle } else { unsafe { *variable } }
}

/// `MPI_DISPLACEMENT_CURRENT`.
pub fn displacement_in(displacement: i64) -> i64 {
    if displacement == -1 { -54_278_278 } else { displacement }
}

/// The number of processes that the arrays of a collective describe: the remote group's, if there
/// is one.
pub fn peers(comm: usize) -> usize {
    let comm = comm_in(comm);
    if comm == comm_in(0x100) {
        return 0; // MPI_COMM_NULL: the call itself says so
    }
    let inter = ask(next(at::Comm_test_inter), comm) != 0;
    let size = if inter { next(at::Comm_remote_size) } else { next(at::Comm_size) };
    many(i64::from(ask(size, comm)))
}

/// Incoming and outgoing neighbours in the communicator's topology.
pub fn neighbors(comm: usize) -> (usize, usize) {
    let comm = comm_in(comm);
    if comm == comm_in(0x100) {
        return (0, 0);
    }
    match topology_out(ask(next(at::Topo_test), comm)) {
        211 => {
            let both = 2 * many(i64::from(ask(next(at::Cartdim_get), comm)));
            (both, both)
        }
        212 => {
            let (rank, mut n) = (ask(next(at::Comm_rank), comm), 0);
            let code = call!(Graph_neighbors_count: u32, c_int, *mut c_int; comm, rank, &mut n);
            let n = if code == 0 { many(i64::from(n)) } else { 0 };
            (n, n)
        }
        213 => {
            let (mut incoming, mut outgoing, mut weighted) = (0, 0, 0);
            let code = call!(Dist_graph_neighbors_count: u32, *mut c_int, *mut c_int, *mut c_int;
                comm, &mut incoming, &mut outgoing, &mut weighted);
            if code == 0 { (many(i64::from(incoming)), many(i64::from(outgoing))) } else { (0, 0) }
        }
        _ => (0, 0),
    }
}

/// Conversions between handles and integers: the number of a predefined handle is the standard's.
macro_rules! integers {
    ($($from:ident / $pfrom:ident, $to:ident / $pto:ident;)*) => { $( both! {
        fn $from / $pfrom(number: c_int) -> usize { number as u32 as usize }
        fn $to / $pto(handle: usize) -> c_int { handle as c_int }
    } )* };
}

integers! {
    MPI_Comm_fromint / PMPI_Comm_fromint, MPI_Comm_toint / PMPI_Comm_toint;
    MPI_Errhandler_fromint / PMPI_Errhandler_fromint, MPI_Errhandler_toint / PMPI_Errhandler_toint;
    MPI_File_fromint / PMPI_File_fromint, MPI_File_toint / PMPI_File_toint;
    MPI_Group_fromint / PMPI_Group_fromint, MPI_Group_toint / PMPI_Group_toint;
    MPI_Info_fromint / PMPI_Info_fromint, MPI_Info_toint / PMPI_Info_toint;
    MPI_Message_fromint / PMPI_Message_fromint, MPI_Message_toint / PMPI_Message_toint;
    MPI_Op_fromint / PMPI_Op_fromint, MPI_Op_toint / PMPI_Op_toint;
    MPI_Request_fromint / PMPI_Request_fromint, MPI_Request_toint / PMPI_Request_toint;
    MPI_Session_fromint / PMPI_Session_fromint, MPI_Session_toint / PMPI_Session_toint;
    MPI_Type_fromint / PMPI_Type_fromint, MPI_Type_toint / PMPI_Type_toint;
    MPI_Win_fromint / PMPI_Win_fromint, MPI_Win_toint / PMPI_Win_toint;
}

both! {
    fn MPI_Get_version / PMPI_Get_version(version: *mut c_int, subversion: *mut c_int) -> c_int {
        // SAFETY: the program promised room for both.
        unsafe { (*version, *subversion) = (5, 0) };
        0
    }

    fn MPI_Abi_get_version / PMPI_Abi_get_version(major: *mut c_int, minor: *mut c_int) -> c_int {
        // SAFETY: the program promised room for both.
        unsafe { (*major, *minor) = (1, 0) };
        0
    }

    // The number is not MPI's: it becomes the exit code.
    fn MPI_Abort / PMPI_Abort(comm: usize, code: c_int) -> c_int {
        error_out(call!(Abort: u32, c_int; comm_in(comm), code))
    }

    // Both count in `MPI_Count`; the second name is that of headers from before MPI 5.0 was final.
    fn MPI_Psend_init / PMPI_Psend_init(buffer: *mut c_void, partitions: c_int, count: i64,
        datatype: usize, to: c_int, tag: c_int, comm: usize, info: usize, request: *mut usize)
        -> c_int
    {
        // SAFETY: the same promises.
        unsafe {
            MPI_Psend_init_c(buffer, partitions, count, datatype, to, tag, comm, info, request)
        }
    }

    fn MPI_Psend_init_c / PMPI_Psend_init_c(buffer: *mut c_void, partitions: c_int, count: i64,
        datatype: usize, to: c_int, tag: c_int, comm: usize, info: usize, request: *mut usize)
        -> c_int
    {
        partitioned(next(at::Psend_init), buffer, partitions, count, datatype, to, tag, comm, info, request)
    }

    fn MPI_Precv_init / PMPI_Precv_init(buffer: *mut c_void, partitions: c_int, count: i64,
        datatype: usize, from: c_int, tag: c_int, comm: usize, info: usize, request: *mut usize)
        -> c_int
    {
        // SAFETY: the same promises.
        unsafe {
            MPI_Precv_init_c(buffer, partitions, count, datatype, from, tag, comm, info, request)
        }
    }

    fn MPI_Precv_init_c / PMPI_Precv_init_c(buffer: *mut c_void, partitions: c_int, count: i64,
        datatype: usize, from: c_int, tag: c_int, comm: usize, info: usize, request: *mut usize)
        -> c_int
    {
        partitioned(next(at::Precv_init), buffer, partitions, count, datatype, from, tag, comm, info, request)
    }

    fn MPI_Type_get_contents / PMPI_Type_get_contents(datatype: usize, integers: c_int,
        addresses: c_int, types: c_int, array_of_integers: *mut c_int,
        array_of_addresses: *mut isize, array_of_types: *mut usize) -> c_int
    {
        let first = datatype_in(datatype);
        // SAFETY: the program promised room for that many.
        let mut list = unsafe { List::take(array_of_types, many(i64::from(types)), datatype_in, true) };
        let code = call!(Type_get_contents: u32, c_int, c_int, c_int, *mut c_int, *mut isize, *mut c_void;
            first, integers, addresses, types, array_of_integers, array_of_addresses, list.address());
        if code == 0 {
            // SAFETY: as above.
            unsafe { list.put(array_of_types, datatype_out) };
            translate_contents(first, array_of_integers);
        }
        error_out(code)
    }

    fn MPI_Type_get_contents_c / PMPI_Type_get_contents_c(datatype: usize, integers: i64,
        addresses: i64, counts: i64, types: i64, array_of_integers: *mut c_int,
        array_of_addresses: *mut isize, array_of_counts: *mut i64, array_of_types: *mut usize) -> c_int
    {
        let first = datatype_in(datatype);
        // SAFETY: the program promised room for that many.
        let mut list = unsafe { List::take(array_of_types, many(types), datatype_in, true) };
        let code = call!(Type_get_contents_c: u32, i64, i64, i64, i64, *mut c_int, *mut isize, *mut i64,
            *mut c_void; first, integers, addresses, counts, types, array_of_integers, array_of_addresses,
            array_of_counts, list.address());
        if code == 0 {
            // SAFETY: as above.
            unsafe { list.put(array_of_types, datatype_out) };
            translate_contents(first, array_of_integers);
        }
        error_out(code)
    }
}

// Parameters: those of `MPI_Psend_init`, and which function.
#[allow(clippy::too_many_arguments)]
fn partitioned(
    function: *mut c_void,
    buffer: *mut c_void,
    partitions: c_int,
    count: i64,
    datatype: usize,
    peer: c_int,
    tag: c_int,
    comm: usize,
    info: usize,
    request: *mut usize,
) -> c_int {
    type Init = unsafe extern "C" fn(
        *mut c_void,
        c_int,
        i64,
        u32,
        c_int,
        c_int,
        u32,
        u32,
        *mut u32,
    ) -> c_int;
    // SAFETY: both functions have this shape.
    let function: Init = unsafe { core::mem::transmute(function) };
    let mut made = request_in(0x180);
    // SAFETY: the program's arguments.
    let code = unsafe {
        function(
            buffer_in(buffer),
            partitions,
            count,
            datatype_in(datatype),
            rank_in(peer),
            tag_in(tag),
            comm_in(comm),
            info_in(info),
            &mut made,
        )
    };
    if code == 0 && !request.is_null() {
        // SAFETY: the program promised room for a handle.
        unsafe { *request = request_out(made) };
    }
    error_out(code)
}

/// Some of the integers that a datatype was made of are constants: order, distributions and their
/// arguments.
fn translate_contents(datatype: u32, integers: *mut c_int) {
    let (mut ints, mut addresses, mut counts, mut types, mut combiner) =
        (0i64, 0i64, 0i64, 0i64, 0);
    let code = call!(Type_get_envelope_c: u32, *mut i64, *mut i64, *mut i64, *mut i64, *mut c_int;
        datatype, &mut ints, &mut addresses, &mut counts, &mut types, &mut combiner);
    if code != 0 || integers.is_null() || ints == 0 {
        return;
    }
    // SAFETY: the call that succeeded wrote that many.
    let integers = unsafe { core::slice::from_raw_parts_mut(integers, ints as usize) };
    translate_integers(combiner_out(combiner), counts > 0, integers);
}

fn translate_integers(combiner: c_int, large: bool, integers: &mut [c_int]) {
    match combiner {
        // MPI_COMBINER_SUBARRAY: the order comes last.
        111 => {
            if let Some(order) = integers.last_mut() {
                *order = order_out(*order);
            }
        }
        // MPI_COMBINER_DARRAY: size, rank, ndims, [gsizes], distribs, dargs, psizes, order.
        112 if integers.len() > 3 => {
            let n = many(i64::from(integers[2]));
            let distributions = if large { 3 } else { 3 + n };
            if integers.len() != distributions + 3 * n + 1 {
                return;
            }
            for d in &mut integers[distributions..distributions + n] {
                *d = distribution_out(*d);
            }
            for d in &mut integers[distributions + n..distributions + 2 * n] {
                *d = dargs_out(*d);
            }
            if let Some(order) = integers.last_mut() {
                *order = order_out(*order);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_inside_of_contents_are_translated() {
        // Two dimensions, block and cyclic with an argument, in Fortran's order.
        let mut small = [4, 1, 2, 10, 10, 121, 122, -49767, 3, 2, 2, 57];
        translate_integers(112, false, &mut small);
        assert_eq!(small, [4, 1, 2, 10, 10, 17, 18, 19, 3, 2, 2, 15]);
        let mut large = [4, 1, 1, 123, -49767, 4, 56];
        translate_integers(112, true, &mut large);
        assert_eq!(large, [4, 1, 1, 16, 19, 4, 12]);
        let mut subarray = [1, 5, 2, 0, 56];
        translate_integers(111, false, &mut subarray);
        assert_eq!(subarray, [1, 5, 2, 0, 12]);
        let mut vector = [56, 57, 121];
        translate_integers(103, false, &mut vector);
        assert_eq!(vector, [56, 57, 121]);
    }

    #[test]
    fn special_addresses_differ_from_memory() {
        assert_eq!(buffer_in(core::ptr::without_provenance_mut(1)) as isize, -1);
        assert_eq!(buffer_in(core::ptr::without_provenance_mut(2)) as isize, -2);
        assert_eq!(buffer_in(core::ptr::without_provenance_mut(4096)) as isize, 4096);
        assert_eq!((displacement_in(-1), displacement_in(7)), (-54_278_278, 7));
    }
}
