//! Who this process is in this life, and the table that tells it to the runtime.

use crate::base::reserved_area::ReservedArea;
use crate::base::strings::Strings;
use crate::base::syscalls;
use crate::capture;
use crate::descriptors;
use crate::descriptors::fd_owner;
use crate::descriptors::reopen;
use crate::interpose::close;
use crate::memory::page_attributes;
use crate::process::credentials;
use crate::process::process_attributes;
use crate::process::process_state;
use crate::signals::agent_signal;
use crate::threads;
use crate::threads::owned_locks;
use crate::time::clock_shift;
use crate::time::posix_timers;
use core::arch::asm;
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use ftmpi_checkpoint::boot_abi::{
    BootTable, EXIT_IMAGE_MISFIT, Hook, SIGNAL, VERSION, WINDOW_BASE, WINDOW_LEN,
};
use ftmpi_checkpoint::stream::Thread;
use ftmpi_wire::control::RankEnv;

/// The exported table. The constructor writes its data, alone; later only atomic fields change.
#[repr(transparent)]
pub struct Exported(UnsafeCell<BootTable>);

// SAFETY: written only by the constructor, before anybody reads it.
unsafe impl Sync for Exported {}

/// Found by the runtime with `dlsym`.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static ftmpi_boot_table: Exported = Exported(UnsafeCell::new(BootTable {
    version: VERSION,
    size: size_of::<BootTable>() as u32,
    is_rank: 0,
    restored: AtomicI32::new(0),
    rank: 0,
    incarnation: AtomicU32::new(0),
    signal: SIGNAL,
    reserved: 0,
    window_base: 0,
    window_len: 0,
    set_hook,
    capture: capture::capture,
    reap: capture::reap,
    can_capture: capture::can_capture,
    why_refused: capture::why_refused,
    keep_open: close::keep_open,
}));

/// Why no image can ever be taken here, decided at start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum State {
    NotARank = 0,
    NoReservedArea = 1,
    Ready = 2,
}

static STATE: AtomicU32 = AtomicU32::new(State::NotARank as u32);
static PID: AtomicI32 = AtomicI32::new(0);
/// Restores that this process image has been through; lets waits notice that clocks may have jumped.
static RESTORES: AtomicU32 = AtomicU32::new(0);
/// `_rtld_global` of the dynamic linker: address and size.
static LINKER_STATE: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

pub fn restores() -> u32 {
    RESTORES.load(Ordering::Relaxed)
}

/// Whether this process was started as a rank.
pub fn is_rank() -> bool {
    STATE.load(Ordering::Relaxed) != State::NotARank as u32
}

/// Whether this is a rank that can be imaged; otherwise an error number.
pub fn admit() -> Result<(), i32> {
    if STATE.load(Ordering::Relaxed) != State::Ready as u32 {
        return Err(if STATE.load(Ordering::Relaxed) == State::NoReservedArea as u32 {
            libc::ENOMEM
        } else {
            libc::ESRCH
        });
    }
    if is_forked() { Err(libc::EPERM) } else { Ok(()) }
}

/// Whether the program forked this process: it is no rank any more.
pub fn is_forked() -> bool {
    loop {
        let known = PID.load(Ordering::Relaxed);
        if syscalls::getpid() == known {
            return false;
        }
        // Another life may have begun in between.
        if PID.load(Ordering::Relaxed) == known {
            return true;
        }
    }
}

/// The line to an error of [`admit`].
pub fn why_not_admitted(errno: i32) -> &'static str {
    match errno {
        libc::ENOMEM => {
            "the address range that images need is taken (a sanitizer, or a limit on address space)"
        }
        libc::ESRCH => "this process is not a rank",
        _ => "a process that a rank has started is not the rank",
    }
}

/// Rank and incarnation of this life.
pub fn name() -> (u32, u32) {
    // SAFETY: written only while there is one thread.
    let table = unsafe { &*ftmpi_boot_table.0.get() };
    (table.rank, table.incarnation())
}

/// Length of the window.
pub fn window_len() -> u64 {
    // SAFETY: written only by the constructor.
    unsafe { (*ftmpi_boot_table.0.get()).window_len }
}

/// The first life begins: fills the table.
pub fn begin(env: &RankEnv, window_len: usize, state: State) {
    // SAFETY: the constructor is alone.
    let table = unsafe { &mut *ftmpi_boot_table.0.get() };
    table.is_rank = 1;
    table.rank = env.rank.0;
    table.incarnation.store(env.incarnation.0, Ordering::Relaxed);
    table.window_base = WINDOW_BASE as u64;
    table.window_len = window_len as u64;
    PID.store(syscalls::getpid(), Ordering::Relaxed);
    STATE.store(state as u32, Ordering::Relaxed);
    descriptors::remember_streams([0, 1, 2].map(descriptors::stream));
    process_state::find_tid_address();
    process_state::remember_start();
    if state == State::Ready {
        // SAFETY: reserved, as the state says, and the constructor is alone.
        credentials::remember_start(&unsafe { ReservedArea::take() });
    }
    find_linker_state();
}

/// Reserves the window; gives its length.
pub fn reserve_window() -> usize {
    let mut len = WINDOW_LEN;
    // A limit on address space is meant for the program.
    let limit = process_state::soft_limit(libc::RLIMIT_AS) as usize;
    while len > limit / 8 {
        len /= 2;
    }
    let flags = libc::MAP_PRIVATE | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    while len >= 1 << 28 {
        // SAFETY: MAP_FIXED_NOREPLACE replaces nothing.
        match unsafe { syscalls::map_anonymous(WINDOW_BASE, len, libc::PROT_NONE, flags) } {
            Ok(WINDOW_BASE) => return len,
            Ok(elsewhere) => {
                // SAFETY: just mapped.
                let _ = unsafe { syscalls::unmap(elsewhere, len) };
                return 0;
            }
            // A limit on address space: a smaller window may fit.
            Err(libc::ENOMEM) => len /= 2,
            Err(_) => return 0,
        }
    }
    0
}

/// Where the restorer jumps to: the restored process, all signals blocked, on the reserved area's stack, as its
/// main thread. Everything in memory is as it was; what the kernel keeps is put back here. Then the
/// main thread goes on where it stood still.
pub extern "C" fn resume() -> ! {
    // SAFETY: the constructor of this life reserved it and is gone; we are alone.
    let area = unsafe { ReservedArea::take() };
    restore_kernel_state(&area);
    let [stack, instruction] = area.threads()[0].resume;
    // SAFETY: what `ftmpi_boot_switch` wrote down, on a stack that was restored.
    unsafe {
        asm!(
            "mov rsp, {stack}",
            "jmp {instruction}",
            stack = in(reg) stack,
            instruction = in(reg) instruction,
            options(noreturn)
        );
    }
}

/// Ends the process if something is gone.
fn restore_kernel_state(area: &ReservedArea) {
    let process = &*area.process_state();
    let strings = Strings::loaded(area, process.strings_len as usize);
    // SAFETY: written by this life's constructor, in the reserved area.
    let control = unsafe { *area.control() };
    syscalls::close(control.image_fd as i32);
    process_state::set_stack_limit(process.stack_limit);
    process_state::remember_start();
    credentials::remember_start(area);
    let result = process_state::restore(area, process, &strings)
        .and_then(|()| reopen::restore(area, process, &strings, control.died));
    if result.is_err() {
        crate::restore::fail(control.rank, area, EXIT_IMAGE_MISFIT);
    }
    // SAFETY: only the constructor of the first life had it for writing.
    let table = unsafe { &*ftmpi_boot_table.0.get() };
    table.restored.store(1, Ordering::Relaxed);
    table.incarnation.store(control.incarnation, Ordering::Relaxed);
    PID.store(syscalls::getpid(), Ordering::Relaxed);
    RESTORES.fetch_add(1, Ordering::Relaxed);
    let same_boot = process.boot == 0 || process.boot == process_state::boot();
    let (threads, maps) = (process.threads as usize, process.maps as usize);
    // SAFETY: the threads' blocks were restored, and none of them runs.
    unsafe { clock_shift::restore(same_boot, &area.threads()[..threads], &area.maps()[..maps]) };
    descriptors::remember_streams(control.streams);
    mark_library_descriptors();
    let threads = &area.threads()[..process.threads as usize];
    let result = threads::recreate_all(area, process)
        .and_then(|()| posix_timers::restore(area, process))
        .and_then(|()| fd_owner::restore(area, process))
        .and_then(|()| page_attributes::restore(area, process));
    if result.is_err() {
        crate::restore::fail(control.rank, area, EXIT_IMAGE_MISFIT);
    }
    // SAFETY: the notes are in the threads' own blocks, which were restored.
    unsafe { owned_locks::repair(threads) };
    repair_linker_locks(threads);
    threads::apply_thread_state(&threads[0], process);
    process_attributes::restore_process(&process.attributes, &process.attributes_at_start);
    process_state::restore_limits(process);
    page_attributes::restore_locked(area, process);
    process_attributes::restore_locked();
    process_state::restore_clockwork(area, process);
}

/// Which rank the process was started as, for a line about its restore.
pub fn control_rank(area: &ReservedArea) -> u32 {
    // SAFETY: written by this life's constructor, in the reserved area.
    unsafe { (*area.control()).rank }
}

/// The library's descriptors must not be inherited by what the program executes.
fn mark_library_descriptors() {
    const CLOSE_RANGE_CLOEXEC: usize = 4;
    let first = descriptors::FIRST_LIBRARY;
    // SAFETY: no memory involved.
    let marked =
        unsafe { syscalls::call!(libc::SYS_close_range, first, u32::MAX, CLOSE_RANGE_CLOEXEC) };
    if marked.is_err() {
        for fd in first..first + 64 {
            let _ = syscalls::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC as usize);
        }
    }
}

/// See [`BootTable::set_hook`].
extern "C" fn set_hook(hook: Option<Hook>) -> c_int {
    if hook.is_some() && admit_hook() {
        mark_library_descriptors();
        // The program, or a wrapper, may have set it to something else.
        let _ = agent_signal::install();
    }
    agent_signal::set_hook(hook)
}

fn admit_hook() -> bool {
    // SAFETY: written only while there is one thread.
    unsafe { (*ftmpi_boot_table.0.get()).is_rank == 1 }
}

fn find_linker_state() {
    const RTLD_DL_SYMENT: c_int = 1;
    unsafe extern "C" {
        fn dlsym(handle: *mut c_void, name: *const core::ffi::c_char) -> *mut c_void;
        fn dladdr1(
            address: *const c_void,
            info: *mut libc::Dl_info,
            extra: *mut *mut c_void,
            flags: c_int,
        ) -> c_int;
    }
    // SAFETY: names and places are valid; the linker is set up before any constructor runs.
    unsafe {
        let address = dlsym(core::ptr::null_mut(), c"_rtld_global".as_ptr());
        if address.is_null() {
            return;
        }
        let mut info: libc::Dl_info = core::mem::zeroed();
        let mut symbol: *mut c_void = core::ptr::null_mut();
        if dladdr1(address, &raw mut info, &raw mut symbol, RTLD_DL_SYMENT) != 0
            && !symbol.is_null()
        {
            let size = (*symbol.cast::<libc::Elf64_Sym>()).st_size;
            LINKER_STATE[0].store(address as u64, Ordering::Relaxed);
            LINKER_STATE[1].store(size.min(1 << 16), Ordering::Relaxed);
        }
    }
}

/// A `pthread_mutex_t` of this kind counts how often its owner has locked it.
const RECURSIVE: u32 = 1;

/// The dynamic linker's recursive locks name their owner by thread id, and it locks them without
/// passing by [`locks`]. If the image was taken inside `dlopen`, they name an old one: they could
/// never be unlocked again.
fn repair_linker_locks(threads: &[Thread]) {
    let [address, size] = [0, 1].map(|n| LINKER_STATE[n].load(Ordering::Relaxed) as usize);
    if address == 0 {
        return;
    }
    // pthread_mutex_t in words of 4 bytes: lock, count, owner, users, kind.
    for at in (address..address + size.saturating_sub(40)).step_by(8) {
        // SAFETY: inside the linker's own variable, which is readable and writable.
        let mutex = unsafe { &mut *(at as *mut [u32; 5]) };
        if mutex[4] != RECURSIVE || mutex[0] == 0 || mutex[1] == 0 {
            continue;
        }
        let owner = threads.iter().find(|thread| thread.tid as u32 == mutex[2]);
        if let Some(thread) = owner.filter(|thread| thread.tid_address != 0) {
            // SAFETY: the C library keeps the thread's id there, and the kernel wrote the new one.
            mutex[2] = unsafe { *(thread.tid_address as *const u32) };
        }
    }
}

/// Whether one of those locks lies there. The C library's functions about locks keep its address in the register of
/// their first argument while they have a thread's number in another one; and the linker calls them without passing
/// by [`locks`].
pub fn is_linker_lock(at: usize) -> bool {
    let [address, size] = [0, 1].map(|n| LINKER_STATE[n].load(Ordering::Relaxed) as usize);
    if address == 0 || !at.is_multiple_of(8) || at < address || at + 40 > address + size {
        return false;
    }
    // SAFETY: inside the linker's own variable, which is readable; the kind is the fifth word of 4 bytes.
    unsafe { *((at + 16) as *const u32) == RECURSIVE }
}

/// A slot and the name of its function, in a list that the linker makes: [`find_all_functions`] goes through it.
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

/// Puts a slot into that list.
macro_rules! find_at_start {
    ($slot:ident, $name:expr) => {
        crate::life::find_at_start!(@ $slot, $name, None);
    };
    ($slot:ident, $name:expr, $version:expr) => {
        crate::life::find_at_start!(@ $slot, $name, Some($version));
    };
    (@ $slot:ident, $name:expr, $version:expr) => {
        #[used]
        #[unsafe(link_section = "ftmpi_slots")]
        static ENTRY: crate::life::SlotEntry = crate::life::SlotEntry::new(&$slot, $name, $version);
    };
}
pub(crate) use find_at_start;

/// The next function of this name and type behind this library, the C library's, or `return` what says that
/// there is none, with `ENOSYS`.
macro_rules! next {
    ($name:expr, $missing:expr, fn($($arg:ty),*) -> $ret:ty) => {{
        static SLOT: crate::life::NextFunction = crate::life::NextFunction::new();
        crate::life::find_at_start!(SLOT, NAME);
        const NAME: &core::ffi::CStr = $name;
        let address = SLOT.find(NAME);
        if address == 0 {
            crate::interpose::waits::set_errno(libc::ENOSYS);
            return $missing;
        }
        // SAFETY: the C library's function of this name has this type.
        unsafe { core::mem::transmute::<usize, unsafe extern "C" fn($($arg),*) -> $ret>(address) }
    }};
}
pub(crate) use next;

// SAFETY: the linker defines them at begin and end of the section.
unsafe extern "C" {
    #[link_name = "__start_ftmpi_slots"]
    static SLOTS_START: u8;
    #[link_name = "__stop_ftmpi_slots"]
    static SLOTS_STOP: u8;
}

/// Finds all functions, in the constructor of every process: later the search would wait for a lock of the dynamic
/// linker, which another thread may hold that waits for this one, and a handler may be amid it.
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

    /// The address of the next `name` behind this library; 0 if there is none.
    #[inline(always)]
    pub fn find(&self, name: &core::ffi::CStr) -> usize {
        let known = self.0.load(Ordering::Relaxed);
        if known != 0 { known } else { self.look_up(name) }
    }

    /// The same of one version of it, where there are several; or the only one.
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
