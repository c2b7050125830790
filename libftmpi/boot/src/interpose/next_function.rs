//! Finds the functions of the C library that the functions of this library call.

use core::sync::atomic::{AtomicUsize, Ordering};

/// A slot and the name of its function. The linker makes a list of all of them for
/// [`find_all_functions`].
#[derive(Debug)]
#[repr(C)]
pub struct SlotEntry {
    slot: &'static NextFunction,
    name: &'static core::ffi::CStr,
    version: Option<&'static core::ffi::CStr>,
}

impl SlotEntry {
    pub const fn new(
        slot: &'static NextFunction,
        name: &'static core::ffi::CStr,
        version: Option<&'static core::ffi::CStr>,
    ) -> Self {
        Self { slot, name, version }
    }
}

/// Adds a slot to the list.
macro_rules! find_at_start {
    ($slot:ident, $name:expr) => {
        crate::interpose::next_function::find_at_start!(@ $slot, $name, None);
    };
    ($slot:ident, $name:expr, $version:expr) => {
        crate::interpose::next_function::find_at_start!(@ $slot, $name, Some($version));
    };
    (@ $slot:ident, $name:expr, $version:expr) => {
        #[used]
        #[unsafe(link_section = "ftmpi_slots")]
        static ENTRY: crate::interpose::next_function::SlotEntry =
            crate::interpose::next_function::SlotEntry::new(&$slot, $name, $version);
    };
}

pub(crate) use find_at_start;

/// The next function of this name and type, which is the C library's. If there is none: `return`
/// of the given value, with `ENOSYS`.
macro_rules! next {
    ($name:expr, $missing:expr, fn($($arg:ty),*) -> $ret:ty) => {{
        static SLOT: crate::interpose::next_function::NextFunction =
            crate::interpose::next_function::NextFunction::new();
        crate::interpose::next_function::find_at_start!(SLOT, NAME);
        const NAME: &core::ffi::CStr = $name;
        let address = SLOT.find(NAME);
        if address == 0 {
            crate::base::errno::set_errno(libc::ENOSYS);
            return $missing;
        }
        // SAFETY: the C library's function of this name has this type.
        unsafe { core::mem::transmute::<usize, unsafe extern "C" fn($($arg),*) -> $ret>(address) }
    }};
}

pub(crate) use next;

// SAFETY: the linker defines both symbols, at begin and end of the section.
unsafe extern "C" {
    #[link_name = "__start_ftmpi_slots"]
    static SLOTS_START: u8;
    #[link_name = "__stop_ftmpi_slots"]
    static SLOTS_STOP: u8;
}

/// Finds all functions, in the constructor of every process. A later search could wait for a lock
/// of the dynamic linker whose holder waits for this thread. A signal handler may even have
/// interrupted the linker.
pub fn find_all_functions() {
    let (start, stop) = (&raw const SLOTS_START, &raw const SLOTS_STOP);
    let len = (stop as usize - start as usize) / size_of::<SlotEntry>();
    // SAFETY: the section holds such entries and nothing else.
    for one in unsafe { core::slice::from_raw_parts(start.cast::<SlotEntry>(), len) } {
        match one.version {
            Some(version) => one.slot.find_version(one.name, version),
            None => one.slot.find(one.name),
        };
    }
}

/// A slot for the address of a function of the C library ([`find_all_functions`]).
#[derive(Debug)]
pub struct NextFunction(AtomicUsize);

impl NextFunction {
    pub const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// The address of the next function of this name; 0 if there is none.
    #[inline(always)]
    pub fn find(&self, name: &core::ffi::CStr) -> usize {
        let known = self.0.load(Ordering::Relaxed);
        if known != 0 { known } else { self.look_up(name) }
    }

    /// The same for one version of a function, if there are several.
    pub fn find_version(&self, name: &core::ffi::CStr, version: &core::ffi::CStr) -> usize {
        let known = self.0.load(Ordering::Relaxed);
        if known != 0 {
            return known;
        }
        // SAFETY: name and version are terminated.
        let found = unsafe { libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), version.as_ptr()) };
        if found.is_null() {
            return self.look_up(name);
        }
        self.0.store(found as usize, Ordering::Relaxed);
        found as usize
    }

    #[cold]
    #[inline(never)]
    fn look_up(&self, name: &core::ffi::CStr) -> usize {
        // SAFETY: the name is terminated.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } as usize;
        self.0.store(found, Ordering::Relaxed);
        found
    }
}
