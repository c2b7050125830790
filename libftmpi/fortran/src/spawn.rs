//! Starting processes (MPI-4.1, 11.8): arrays of texts.

use core::ffi::{c_char, c_int};

use ftmpi_entry::fortran;

use crate::marshal::set;
use crate::special::{errcodes, is_argv_null, is_argvs_null};
use crate::text::{Text, hidden};

/// Bounds a list whose blank end is missing.
const ARGUMENTS: usize = 1 << 16;

/// Texts and the array of pointers to them that C wants, ended by NULL.
struct Texts {
    _texts: Vec<Text>,
    pointers: Vec<*mut c_char>,
}

impl Texts {
    fn new(texts: Vec<Text>) -> Texts {
        let mut pointers: Vec<_> = texts.iter().map(|t| t.as_ptr().cast_mut()).collect();
        pointers.push(core::ptr::null_mut());
        Texts { _texts: texts, pointers }
    }
}

/// Texts of `length` characters, `stride` characters apart, until an empty one.
///
/// # Safety
/// The array has such an end.
unsafe fn until_empty(p: *const u8, length: usize, stride: usize) -> Texts {
    let mut texts = Vec::new();
    for i in 0..ARGUMENTS {
        // SAFETY: the end has not been reached.
        let text = unsafe { Text::take(p.add(i * stride), length) };
        if text.is_empty() {
            break;
        }
        texts.push(text);
    }
    Texts::new(texts)
}

#[fortran]
unsafe fn MPI_Comm_spawn(
    command: *mut u8,
    argv: *mut u8,
    maxprocs: *mut c_int,
    info: *mut c_int,
    root: *mut c_int,
    comm: *mut c_int,
    intercomm: *mut c_int,
    array_of_errcodes: *mut c_int,
    ierror: *mut c_int,
    command_length: usize,
    argv_length: usize,
) {
    let command = Text::take(command, command_length);
    let mut arguments = if is_argv_null(argv) {
        None
    } else {
        Some(until_empty(argv, argv_length, hidden(argv_length)))
    };
    let pointers =
        arguments.as_mut().map_or(core::ptr::null_mut(), |texts| texts.pointers.as_mut_ptr());
    let code = c::Comm_spawn(
        command.as_ptr(),
        pointers,
        *maxprocs,
        *info,
        *root,
        *comm,
        intercomm,
        errcodes(array_of_errcodes),
    );
    set(ierror, code);
}

#[fortran]
unsafe fn MPI_Comm_spawn_multiple(
    count: *mut c_int,
    commands: *mut u8,
    argvs: *mut u8,
    maxprocs: *mut c_int,
    infos: *mut c_int,
    root: *mut c_int,
    comm: *mut c_int,
    intercomm: *mut c_int,
    array_of_errcodes: *mut c_int,
    ierror: *mut c_int,
    command_length: usize,
    argv_length: usize,
) {
    let n = (*count).clamp(0, ARGUMENTS as c_int) as usize;
    let mut commands = Texts::new(
        (0..n)
            .map(|i| Text::take(commands.add(i * hidden(command_length)), command_length))
            .collect(),
    );
    // Argument j of command i is element (i, j) of an array of `count` rows.
    let size = hidden(argv_length);
    let mut lists: Vec<Texts> = if is_argvs_null(argvs) {
        Vec::new()
    } else {
        (0..n).map(|i| until_empty(argvs.add(i * size), argv_length, n * size)).collect()
    };
    let mut rows: Vec<_> = lists.iter_mut().map(|l| l.pointers.as_mut_ptr()).collect();
    let rows = if rows.is_empty() { core::ptr::null_mut() } else { rows.as_mut_ptr() };
    let code = c::Comm_spawn_multiple(
        *count,
        commands.pointers.as_mut_ptr(),
        rows,
        maxprocs,
        infos,
        *root,
        *comm,
        intercomm,
        errcodes(array_of_errcodes),
    );
    set(ierror, code);
}
