//! Locks of the dynamic linker. They name their owner by thread id, and the linker locks them
//! without the functions of [`crate::interpose::locks`].

use crate::threads::thread_state;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU64, Ordering};
use ftmpi_checkpoint::stream::Thread;

/// `_rtld_global` of the dynamic linker: address and size in bytes.
static LINKER_STATE: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

pub fn find() {
    const RTLD_DL_SYMENT: c_int = 1;
    // SAFETY: both have the signatures of dlfcn.h.
    unsafe extern "C" {
        fn dlsym(handle: *mut c_void, name: *const core::ffi::c_char) -> *mut c_void;
        fn dladdr1(
            address: *const c_void,
            info: *mut libc::Dl_info,
            extra: *mut *mut c_void,
            flags: c_int,
        ) -> c_int;
    }
    // SAFETY: names and places are valid. The linker is ready before any constructor runs.
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

/// Writes the new ids of threads into the locks. An image that was taken inside `dlopen` has locks
/// with old ids, which nobody could unlock.
pub fn repair(threads: &[Thread]) {
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
        if let Some(tid) = owner.and_then(thread_state::new_tid) {
            mutex[2] = tid as u32;
        }
    }
}

/// Whether such a lock lies at an address. A function of the C library about locks has the address
/// of the lock in the register of its first argument. At the same time another register may hold a
/// thread's id.
pub fn is_linker_lock(at: usize) -> bool {
    let [address, size] = [0, 1].map(|n| LINKER_STATE[n].load(Ordering::Relaxed) as usize);
    if address == 0 || !at.is_multiple_of(8) || at < address || at + 40 > address + size {
        return false;
    }
    // SAFETY: inside the linker's own variable, which is readable. The kind is the fifth word of 4
    // bytes.
    unsafe { *((at + 16) as *const u32) == RECURSIVE }
}
