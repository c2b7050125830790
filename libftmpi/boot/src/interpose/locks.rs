//! Functions that lock and unlock what names its owner by thread id
//! ([`crate::threads::owned_locks`]).

use crate::base::rank;
use crate::interpose::next_function::{NextFunction, find_at_start};
use crate::threads::owned_locks::{Mutex, RECURSIVE, RW, RwLock, claim, is_owner};
use crate::threads::thread_notes;
use crate::time::clock_shift;
use core::ffi::{CStr, c_int};
use core::sync::atomic::Ordering;
use libc::timespec;

fn missing() -> c_int {
    libc::ENOSYS
}

/// Defines functions that lock.
macro_rules! locking {
    ($($(#[$export:meta])? $name:ident($type:ty $(, $arg:ident: $kind:ty)*) $text:expr, $tag:expr, $named:expr;)*) => {$(
        /// See the manual.
        ///
        /// # Safety
        /// As there.
        $(#[$export])?
        pub unsafe extern "C" fn $name(lock: *mut $type $(, $arg: $kind)*) -> c_int {
            static SLOT: NextFunction = NextFunction::new();
            find_at_start!(SLOT, NAME);
            const NAME: &CStr = $text;
            let address = SLOT.find(NAME);
            if address == 0 {
                return missing();
            }
            // SAFETY: the C library's function of this name has this type.
            let next = unsafe {
                core::mem::transmute::<usize, unsafe extern "C" fn(*mut $type $(, $kind)*) -> c_int>(address)
            };
            // SAFETY: by the caller, a lock that is initialised.
            let named: fn(&$type) -> bool = $named;
            // SAFETY: as above.
            if !named(unsafe { &*lock }) {
                // SAFETY: by the caller.
                return unsafe { next(lock $(, $arg)*) };
            }
            let notes = thread_notes::of_caller();
            // Noted first: the kernel and the C library use the owner's id as soon as the lock is
            // taken.
            notes.add(lock as u64 | $tag);
            let restores = rank::restores();
            let outer = notes.enter(lock as u64);
            // SAFETY: by the caller.
            let result = unsafe { next(lock $(, $arg)*) };
            if restores != rank::restores() && (result == 0 || result == libc::EOWNERDEAD) {
                // SAFETY: this thread holds it.
                unsafe { claim(lock as u64 | $tag) };
            }
            notes.enter(outer);
            if result != 0 && result != libc::EOWNERDEAD && !is_owner(lock.cast(), $tag) {
                notes.remove(lock as u64 | $tag);
            }
            result
        }
    )*};
}

locking! {
    #[unsafe(no_mangle)]
    pthread_mutex_lock(Mutex) c"pthread_mutex_lock", 0, Mutex::is_named;
    #[unsafe(no_mangle)]
    pthread_mutex_trylock(Mutex) c"pthread_mutex_trylock", 0, Mutex::is_named;
    #[unsafe(no_mangle)]
    pthread_mutex_timedlock(Mutex, until: *const timespec)
        c"pthread_mutex_timedlock", 0, Mutex::is_named;
    mutex_clocklock(Mutex, clock: c_int, until: *const timespec)
        c"pthread_mutex_clocklock", 0, Mutex::is_named;
    #[unsafe(no_mangle)]
    mtx_lock(Mutex) c"mtx_lock", 0, Mutex::is_named;
    #[unsafe(no_mangle)]
    mtx_trylock(Mutex) c"mtx_trylock", 0, Mutex::is_named;
    #[unsafe(no_mangle)]
    mtx_timedlock(Mutex, until: *const timespec) c"mtx_timedlock", 0, Mutex::is_named;
    #[unsafe(no_mangle)]
    pthread_rwlock_wrlock(RwLock) c"pthread_rwlock_wrlock", RW, |_| true;
    #[unsafe(no_mangle)]
    pthread_rwlock_trywrlock(RwLock) c"pthread_rwlock_trywrlock", RW, |_| true;
    #[unsafe(no_mangle)]
    pthread_rwlock_timedwrlock(RwLock, until: *const timespec)
        c"pthread_rwlock_timedwrlock", RW, |_| true;
    rwlock_clockwrlock(RwLock, clock: c_int, until: *const timespec)
        c"pthread_rwlock_clockwrlock", RW, |_| true;
}

/// See the manual.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_mutex_clocklock(
    lock: *mut Mutex,
    clock: c_int,
    until: *const timespec,
) -> c_int {
    // SAFETY: by the caller.
    unsafe { clock_shift::until(clock, until, |until| mutex_clocklock(lock, clock, until)) }
}

/// See the manual.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_rwlock_clockwrlock(
    lock: *mut RwLock,
    clock: c_int,
    until: *const timespec,
) -> c_int {
    // SAFETY: by the caller.
    unsafe { clock_shift::until(clock, until, |until| rwlock_clockwrlock(lock, clock, until)) }
}

/// See the manual.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_mutex_unlock(lock: *mut Mutex) -> c_int {
    static SLOT: NextFunction = NextFunction::new();
    find_at_start!(SLOT, c"pthread_mutex_unlock");
    // SAFETY: by the caller.
    unsafe { unlock(SLOT.find(c"pthread_mutex_unlock"), lock) }
}

/// See the manual. (`mtx_t` is a mutex; a recursive one names its owner.)
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mtx_unlock(lock: *mut Mutex) -> c_int {
    static SLOT: NextFunction = NextFunction::new();
    find_at_start!(SLOT, c"mtx_unlock");
    // SAFETY: by the caller.
    unsafe { unlock(SLOT.find(c"mtx_unlock"), lock) }
}

/// # Safety
/// As for the C library's function at this address, if there is one.
#[inline(always)]
unsafe fn unlock(address: usize, lock: *mut Mutex) -> c_int {
    if address == 0 {
        return missing();
    }
    // SAFETY: the C library's function of this name has this type.
    let next = unsafe {
        core::mem::transmute::<usize, unsafe extern "C" fn(*mut Mutex) -> c_int>(address)
    };
    // SAFETY: by the caller, a mutex that is initialised.
    let mutex = unsafe { &*lock };
    if !mutex.is_named() {
        // SAFETY: by the caller.
        return unsafe { next(lock) };
    }
    // Read before the call: afterwards the mutex may be gone.
    let recursive = mutex.kind.load(Ordering::Relaxed) & 3 == RECURSIVE;
    let last = !recursive || mutex.count.load(Ordering::Relaxed) <= 1;
    let notes = thread_notes::of_caller();
    let outer = notes.enter(lock as u64);
    // SAFETY: by the caller.
    let result = unsafe { next(lock) };
    notes.enter(outer);
    if result == 0 && last {
        notes.remove(lock as u64);
    }
    result
}

/// See the manual.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_rwlock_unlock(lock: *mut RwLock) -> c_int {
    static SLOT: NextFunction = NextFunction::new();
    find_at_start!(SLOT, c"pthread_rwlock_unlock");
    let address = SLOT.find(c"pthread_rwlock_unlock");
    if address == 0 {
        return missing();
    }
    // SAFETY: the C library's function of this name has this type.
    let next = unsafe {
        core::mem::transmute::<usize, unsafe extern "C" fn(*mut RwLock) -> c_int>(address)
    };
    // A reader is not the writer. Without a writer there is no note to look for.
    // SAFETY: by the caller, a lock that is initialised.
    let writer = unsafe { (*lock).writer.load(Ordering::Relaxed) };
    let notes = thread_notes::of_caller();
    let outer = notes.enter(lock as u64 | RW);
    // SAFETY: by the caller.
    let result = unsafe { next(lock) };
    notes.enter(outer);
    if writer != 0 && result == 0 {
        let tag = lock as u64 | RW;
        if notes.held().any(|held| held.load(Ordering::Relaxed) == tag) || notes.is_full() {
            notes.remove(tag);
        }
    }
    result
}
