//! Functions that load libraries: an MPI library with our binary interface becomes ours.
//!
//! A program, or an interpreter that knows nothing of us, loads the `libmpi.so.12` of another
//! installation by its path. Its ranks would not see each other. `libftmpi_loads.so` (`audit.c`)
//! does the same for all other ways to load a library, where the dynamic linker allows it. It does
//! not see a path that `dlmopen` gets.
//!
//! The next function is jumped to, not called. So the dynamic linker sees the program as the
//! caller, and finds the library along the search paths of that caller.

use crate::base::rank::is_rank;
use crate::interpose::next_function::{NextFunction, find_at_start};
use core::arch::naked_asm;
use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_long, c_void};

/// Bytes of the path of a library of ours.
const PATH_BYTES: usize = 4096;

/// Libraries of ours, and how many texts there are.
const NAMES: [&CStr; 3] = [c"libmpi.so.12", c"libmpifort.so.12", c"libmpi_abi.so.1"];

/// The paths of [`NAMES`]; empty where we have no such library.
struct Paths(UnsafeCell<[[u8; PATH_BYTES]; NAMES.len()]>);

// SAFETY: written by the constructor only, before anybody reads.
unsafe impl Sync for Paths {}

static PATHS: Paths = Paths(UnsafeCell::new([[0; PATH_BYTES]; NAMES.len()]));

/// The path of this library.
struct Own(UnsafeCell<([u8; PATH_BYTES], usize)>);

// SAFETY: written by the constructor only, before anybody reads.
unsafe impl Sync for Own {}

static OWN: Own = Own(UnsafeCell::new(([0; PATH_BYTES], 0)));

/// The path of this library; empty if it is not known.
pub fn own_path() -> &'static [u8] {
    // SAFETY: only the constructor writes.
    let (path, len) = unsafe { &*OWN.0.get() };
    &path[..*len]
}

static NEXT_DLOPEN: NextFunction = NextFunction::new();
static NEXT_DLMOPEN: NextFunction = NextFunction::new();

const _: () = {
    find_at_start!(NEXT_DLOPEN, c"dlopen");
};
const _: () = {
    find_at_start!(NEXT_DLMOPEN, c"dlmopen");
};

/// See `dlopen(3)`. Only the name may change: the other argument stays in its register, and the
/// return address on the stack.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn dlopen(name: *const c_char, mode: i32) -> *mut c_void {
    naked_asm!(
        "endbr64",
        "push rsi",
        "call {redirected}",
        "pop rsi",
        "mov rdi, rax",
        "jmp qword ptr [rip + {next}]",
        redirected = sym redirected,
        next = sym NEXT_DLOPEN,
    )
}

/// See `dlmopen(3)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn dlmopen(namespace: c_long, name: *const c_char, mode: i32) -> *mut c_void {
    naked_asm!(
        "endbr64",
        "push rdi",
        "push rdx",
        "sub rsp, 8",
        "mov rdi, rsi",
        "call {redirected}",
        "add rsp, 8",
        "pop rdx",
        "pop rdi",
        "mov rsi, rax",
        "jmp qword ptr [rip + {next}]",
        redirected = sym redirected,
        next = sym NEXT_DLMOPEN,
    )
}

// SAFETY: the signature is that of `names.c`.
unsafe extern "C" {
    fn ftmpi_loads_ours(name: *const c_char, last: *const c_char) -> *const c_char;
}

/// Notes the paths of our libraries, which lie beside this one. Called by the constructor.
pub fn find_libraries() {
    let mut about: libc::Dl_info =
        // SAFETY: plain pointers, for which zero is a value.
        unsafe { core::mem::zeroed() };
    // SAFETY: an address of this library.
    let known = unsafe { libc::dladdr(redirected as *const c_void, &raw mut about) };
    if known == 0 || about.dli_fname.is_null() {
        return;
    }
    // SAFETY: the linker's text of this library, which is never unloaded.
    let own = unsafe { CStr::from_ptr(about.dli_fname) }.to_bytes();
    if own.len() < PATH_BYTES {
        // SAFETY: the constructor is alone.
        let (path, len) = unsafe { &mut *OWN.0.get() };
        path[..own.len()].copy_from_slice(own);
        *len = own.len();
    }
    let Some(slash) = own.iter().rposition(|byte| *byte == b'/') else { return };
    // SAFETY: the constructor is alone.
    let paths = unsafe { &mut *PATHS.0.get() };
    for (path, name) in paths.iter_mut().zip(NAMES) {
        let name = name.to_bytes_with_nul();
        let len = slash + 1 + name.len();
        if len > PATH_BYTES {
            continue;
        }
        path[..=slash].copy_from_slice(&own[..=slash]);
        path[slash + 1..len].copy_from_slice(name);
        // SAFETY: a text that ends.
        if unsafe { libc::access(path.as_ptr().cast(), libc::R_OK) } != 0 {
            path[0] = 0;
        }
    }
}

/// The name that the dynamic linker gets instead of this one.
///
/// # Safety
/// Null or a text that ends.
unsafe extern "C" fn redirected(name: *const c_char) -> *const c_char {
    if name.is_null() || !is_rank() {
        return name;
    }
    // SAFETY: by the caller; the linker would read the text, too.
    let ours = unsafe { ftmpi_loads_ours(name, core::ptr::null()) };
    if ours.is_null() {
        return name;
    }
    // SAFETY: a constant text.
    let ours = unsafe { CStr::from_ptr(ours) };
    // SAFETY: only the constructor writes.
    let paths = unsafe { &*PATHS.0.get() };
    match paths.iter().zip(NAMES).find(|(_, known)| *known == ours) {
        Some((path, _)) if path[0] != 0 => path.as_ptr().cast(),
        _ => name,
    }
}
