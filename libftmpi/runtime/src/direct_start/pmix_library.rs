//! `libpmix.so.2`, loaded at run time: its functions and the memory layout of its binary interface
//! (`pmix_common.h`, the same since version 2).

use super::{Result, StartError};
use std::ffi::{CStr, c_char, c_int, c_void};

/// Names of the library, the most specific one first.
const NAMES: &[&CStr] = &[c"libpmix.so.2", c"libpmix.so"];

/// `PMIX_RANK_WILDCARD`: the job as a whole.
pub(super) const WHOLE_JOB: u32 = u32::MAX - 1;
/// `PMIX_GLOBAL`: for all processes.
const GLOBAL: u8 = 3;
const BOOL: u16 = 1;
const STRING: u16 = 3;
const UINT32: u16 = 14;

/// `pmix_proc_t`
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Process {
    pub(super) namespace: [c_char; 256],
    pub(super) rank: u32,
}

/// `pmix_value_t`: a type, and a union of up to 24 bytes.
#[repr(C, align(8))]
struct Value {
    kind: u16,
    data: Data,
}

#[repr(C)]
union Data {
    flag: bool,
    number: u32,
    text: *const c_char,
    all: [u64; 3],
}

/// `pmix_info_t`
#[repr(C)]
struct Info {
    key: Key,
    flags: u32,
    value: Value,
}

/// `pmix_key_t`
type Key = [c_char; 512];

type Init = unsafe extern "C" fn(*mut Process, *const Info, usize) -> c_int;
type Finalize = unsafe extern "C" fn(*const Info, usize) -> c_int;
type Abort = unsafe extern "C" fn(c_int, *const c_char, *const Process, usize) -> c_int;
type Put = unsafe extern "C" fn(u8, *const c_char, *const Value) -> c_int;
type Commit = unsafe extern "C" fn() -> c_int;
type Fence = unsafe extern "C" fn(*const Process, usize, *const Info, usize) -> c_int;
type Get = unsafe extern "C" fn(
    *const Process,
    *const c_char,
    *const Info,
    usize,
    *mut *mut Value,
) -> c_int;

/// The library.
pub(super) struct Library {
    init: Init,
    finalize: Finalize,
    abort: Abort,
    put: Put,
    commit: Commit,
    fence: Fence,
    get: Get,
}

/// A text as a key.
fn key(text: &str) -> Key {
    let mut key = [0; 512];
    for (to, from) in key.iter_mut().zip(text.bytes().take(511)) {
        *to = from as c_char;
    }
    key
}

/// A call of the library that failed.
fn checked(function: &str, code: c_int) -> Result<()> {
    match code {
        0 => Ok(()),
        code => Err(StartError::Answer(format!("{function} with error {code}"))),
    }
}

impl Library {
    /// Loads it. It stays loaded: it runs a thread.
    pub(super) fn load() -> Result<Self> {
        let load = |name: &&CStr| {
            // SAFETY: loads a library by its name; PMIx's initializers have no precondition.
            let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
            (!handle.is_null()).then_some(handle)
        };
        let handle = NAMES.iter().find_map(load).ok_or_else(|| {
            let text = "PMIx's library libpmix.so.2 cannot be loaded: install it on this host \
                        (Debian: libpmix2), or use srun --mpi=pmi2 or ftmpiexec";
            StartError::Library(text.into())
        })?;
        let find = |name: &CStr| {
            // SAFETY: a terminated name, in a library that stays loaded.
            let at = unsafe { libc::dlsym(handle, name.as_ptr()) };
            let text = || format!("libpmix.so.2 has no {}", name.to_string_lossy());
            if at.is_null() { Err(StartError::Library(text())) } else { Ok(at) }
        };
        // SAFETY: these are the functions of PMIx's interface with these names, and their types.
        unsafe {
            use std::mem::transmute;
            Ok(Self {
                init: transmute::<*mut c_void, Init>(find(c"PMIx_Init")?),
                finalize: transmute::<*mut c_void, Finalize>(find(c"PMIx_Finalize")?),
                abort: transmute::<*mut c_void, Abort>(find(c"PMIx_Abort")?),
                put: transmute::<*mut c_void, Put>(find(c"PMIx_Put")?),
                commit: transmute::<*mut c_void, Commit>(find(c"PMIx_Commit")?),
                fence: transmute::<*mut c_void, Fence>(find(c"PMIx_Fence")?),
                get: transmute::<*mut c_void, Get>(find(c"PMIx_Get")?),
            })
        }
    }

    /// Connects to the launcher; who this process is.
    pub(super) fn init(&self) -> Result<Process> {
        let mut process = Process { namespace: [0; 256], rank: 0 };
        // SAFETY: a structure that the library fills; no information is given.
        let code = unsafe { (self.init)(&raw mut process, std::ptr::null(), 0) };
        checked("PMIx_Init", code)?;
        // The library gives a terminated text.
        process.namespace[255] = 0;
        Ok(process)
    }

    /// Writes a text of this process.
    pub(super) fn put(&self, name: &str, text: &str) -> Result<()> {
        let text = std::ffi::CString::new(text)
            .map_err(|_| StartError::Answer("a text with a zero".into()))?;
        let value = Value { kind: STRING, data: Data { text: text.as_ptr() } };
        // SAFETY: key and value live over the call; the library copies both.
        let code = unsafe { (self.put)(GLOBAL, key(name).as_ptr(), &raw const value) };
        checked("PMIx_Put", code)
    }

    /// Waits for all processes, and exchanges what they have written.
    pub(super) fn fence(&self) -> Result<()> {
        // SAFETY: no arguments.
        checked("PMIx_Commit", unsafe { (self.commit)() })?;
        let value = Value { kind: BOOL, data: Data { all: [0; 3] } };
        let mut collect = Info { key: key("pmix.collect"), flags: 0, value };
        collect.value.data.flag = true;
        // SAFETY: the information lives over the call; no processes means all of this job.
        let code = unsafe { (self.fence)(std::ptr::null(), 0, &raw const collect, 1) };
        checked("PMIx_Fence", code)
    }

    /// What a process has written, or what the launcher tells of it.
    fn get<T>(
        &self,
        process: &Process,
        name: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<T> {
        let mut value = std::ptr::null_mut();
        // SAFETY: process, key and place of the answer live over the call.
        let code =
            unsafe { (self.get)(process, key(name).as_ptr(), std::ptr::null(), 0, &raw mut value) };
        checked(&format!("PMIx_Get of {name}"), code)?;
        // SAFETY: the library gives a value that it has allocated, or none.
        let Some(known) = (unsafe { value.as_ref() }) else {
            return Err(StartError::Answer(format!("no {name}")));
        };
        let found = read(known);
        // SAFETY: as the library's own macro releases a value: the text first. Nothing refers to
        // them any more.
        unsafe {
            if known.kind == STRING {
                libc::free(known.data.text.cast_mut().cast());
            }
            libc::free(value.cast());
        }
        found.ok_or_else(|| StartError::Answer(format!("{name} of another type")))
    }

    /// A text of a process.
    pub(super) fn text(&self, process: &Process, name: &str) -> Result<String> {
        self.get(process, name, |value| {
            // SAFETY: the type says which member of the union is valid.
            let text = unsafe { value.data.text };
            // SAFETY: a terminated text of the library.
            (value.kind == STRING && !text.is_null())
                .then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
        })
    }

    /// A number that the launcher tells.
    pub(super) fn number(&self, process: &Process, name: &str) -> Result<u32> {
        self.get(process, name, |value| {
            // SAFETY: the type says which member of the union is valid.
            if value.kind == UINT32 { Some(unsafe { value.data.number }) } else { None }
        })
    }

    /// Leaves the launcher in order.
    pub(super) fn finalize(&self) -> Result<()> {
        // SAFETY: no information is given.
        checked("PMIx_Finalize", unsafe { (self.finalize)(std::ptr::null(), 0) })
    }

    /// Asks for the end of all processes.
    pub(super) fn abort(&self, code: i32, text: &str) {
        let text = std::ffi::CString::new(text.replace('\0', " ")).unwrap_or_default();
        // SAFETY: the text lives over the call; no processes means all of this job.
        unsafe { (self.abort)(code, text.as_ptr(), std::ptr::null(), 0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As on 64-bit systems: `pmix_common.h`.
    #[test]
    fn the_layout_is_that_of_the_header() {
        assert_eq!(size_of::<Process>(), 260);
        assert_eq!((size_of::<Value>(), std::mem::offset_of!(Value, data)), (32, 8));
        assert_eq!((size_of::<Info>(), std::mem::offset_of!(Info, value)), (552, 520));
        let long = key(&"k".repeat(600));
        assert_eq!((long[510], long[511]), (b'k' as c_char, 0));
    }
}
