//! Stops all other threads of the program.

use crate::base::procfs;
use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls::{self, Errno};
use crate::base::tables::Parking;
use crate::base::text::Shown;
use crate::signals::pending_signals;
use crate::threads::parking::{
    ASKED, CLAIMED, LOOK, PARKED, REVOKED, futex_wait, futex_wake, next_round, release,
};
use crate::threads::thread_notes;
use crate::tuning::STOP_PATIENCE_NS;
use core::sync::atomic::Ordering;
use ftmpi_checkpoint::boot_abi::SIGNAL;
use ftmpi_checkpoint::stream::{Thread, limit};

/// Number of threads of this process.
pub fn count() -> usize {
    // A directory has one link from its parent, one from itself, and one from each directory in
    // it.
    syscalls::stat(c"/proc/self/task").map_or(1, |stat| stat.st_nlink.saturating_sub(2) as usize)
}

/// Stops all other threads. All signals are blocked.
///
/// Fills the table of threads, the main thread first. The calling thread's own entry is
/// incomplete: only that thread can record its state
/// ([`crate::threads::thread_state::record_thread_state`]). Gives the number of threads, and the
/// place of the calling thread. After a success, [`release`] must follow.
pub fn stop_all(area: &ReservedArea) -> Result<(usize, usize), Refused> {
    let (pid, me) = (syscalls::getpid(), syscalls::gettid());
    let table = area.threads();
    table[0] = Thread { tid: pid, ..Thread::default() };
    pending_signals::forget(area, &area.parking().signals);
    area.parking().too_many.store(0, Ordering::SeqCst);
    // Nobody else can make a thread.
    if pid == me && count() == 1 {
        return Ok((1, 0));
    }
    let parking = area.parking();
    parking.parked.store(0, Ordering::Relaxed);
    parking.count.store(0, Ordering::Relaxed);
    parking.round.store(next_round(parking.round.load(Ordering::SeqCst), true), Ordering::SeqCst);
    let result = wait_for_all(area, pid, me);
    // A thread that did not come must not come late, into another round.
    for state in &parking.states[..parking.count.load(Ordering::Relaxed) as usize] {
        if state.compare_exchange(ASKED, REVOKED, Ordering::SeqCst, Ordering::SeqCst)
            == Err(CLAIMED)
        {
            while state.load(Ordering::Acquire) == CLAIMED {
                futex_wait(state, CLAIMED, Some(1_000_000));
            }
        }
    }
    if result.is_err() {
        release(area);
    } else {
        look_for_signals(area);
    }
    result
}

/// A thread that went on while another one stood still already may have sent that one a signal
/// (the C library cancels threads so). Now nobody sends any more: if a thread has a new signal,
/// all threads write their signals down again.
fn look_for_signals(area: &ReservedArea) {
    let parking = area.parking();
    let count = parking.count.load(Ordering::Relaxed) as usize;
    let parked = || {
        let all = parking.states[..count].iter().zip(&parking.tids);
        all.filter(|(state, _)| state.load(Ordering::Acquire) == PARKED)
    };
    if !parked().any(|(_, tid)| pending_signals::has_any(tid.load(Ordering::Relaxed))) {
        return;
    }
    pending_signals::forget(area, &parking.signals);
    parking.too_many.store(0, Ordering::SeqCst);
    let all = parked().count() as u32;
    parking.parked.store(0, Ordering::SeqCst);
    parking.round.fetch_add(LOOK, Ordering::SeqCst);
    futex_wake(&parking.round);
    loop {
        let ready = parking.parked.load(Ordering::Acquire);
        if ready == all {
            return;
        }
        futex_wait(&parking.parked, ready, None);
    }
}

/// Waits until all other threads stand still. Gives the number of threads, and the place of the
/// calling one in the table.
fn wait_for_all(area: &ReservedArea, pid: i32, me: i32) -> Result<(usize, usize), Refused> {
    let parking = area.parking();
    let failed = |errno| area.unreadable("/proc/self/task", errno);
    // The main thread has the first place, whichever thread takes the image.
    ask_to_stop(parking, pid, me).map_err(failed)?;
    if pid != me {
        area.threads()[1] = Thread { tid: me, ..Thread::default() };
        ask_to_stop(parking, me, me).map_err(failed)?;
    }
    let begun = syscalls::now_ns();
    // A thread may have made another one just before it parked. Only when a second look finds all
    // threads parked, there is none left.
    let mut quiet = 0;
    while quiet < 2 {
        let Some(tid) = find_running(area, me).map_err(failed)? else {
            quiet += 1;
            continue;
        };
        quiet = 0;
        if tid == pid && main_has_ended(pid) {
            return Err(area.refuse(Refusal::MainThreadEnded));
        }
        if syscalls::now_ns() - begun > STOP_PATIENCE_NS {
            let (name, len) = name_of(tid);
            let name = Shown(&name[..len]);
            return Err(area.refuse(Refusal::ThreadNotStopped { tid, name }));
        }
        let parked = parking.parked.load(Ordering::Acquire);
        if parked < parking.count.load(Ordering::Relaxed) - 1 {
            futex_wait(&parking.parked, parked, Some(1_000_000));
        }
    }
    let found = drop_ended(area, me)?;
    refuse_too_many_locks(area, found.0)?;
    Ok(found)
}

/// Looks at all threads of the process, and asks new ones to stop. Gives one that does not stand
/// still yet.
fn find_running(area: &ReservedArea, me: i32) -> Result<Option<i32>, Errno> {
    let (parking, table) = (area.parking(), area.threads());
    let mut running = None;
    let mut result = Ok(());
    procfs::each_number(c"/proc/self/task", area.text(), |tid| {
        let tid = tid as i32;
        if tid == me || result.is_err() {
            return;
        }
        let count = parking.count.load(Ordering::Relaxed) as usize;
        match parking.tids[..count].iter().position(|t| t.load(Ordering::Relaxed) == tid) {
            Some(at) if parking.states[at].load(Ordering::Acquire) == PARKED => {}
            Some(_) => running = Some(tid),
            None => {
                running = Some(tid);
                if count < limit::THREADS {
                    table[count] = Thread { tid, ..Thread::default() };
                }
                result = ask_to_stop(parking, tid, me);
            }
        }
    })
    .and(result)?;
    Ok(running)
}

/// The name of a thread, and its length.
fn name_of(tid: i32) -> ([u8; 32], usize) {
    let (mut path, mut name) = ([0u8; 64], [0u8; 32]);
    let path = procfs::numbered_at("task", tid as u32, "/comm", &mut path);
    let len = syscalls::open(path, libc::O_RDONLY | libc::O_CLOEXEC).map_or(0, |fd| {
        let len = syscalls::read(fd, &mut name).unwrap_or(0);
        syscalls::close(fd);
        len.saturating_sub(1)
    });
    (name, len)
}

/// Removes threads that have ended meanwhile from the table. Gives the number of threads, and the
/// place of the calling one.
fn drop_ended(area: &ReservedArea, me: i32) -> Result<(usize, usize), Refused> {
    let (parking, table) = (area.parking(), area.threads());
    let (mut kept, mut mine) = (0, 0);
    for at in 0..parking.count.load(Ordering::Relaxed) as usize {
        let is_me = table[at].tid == me;
        if is_me || parking.states[at].load(Ordering::Acquire) == PARKED {
            if is_me {
                mine = kept;
            }
            table[kept] = table[at];
            kept += 1;
        } else if at == 0 {
            return Err(area.refuse(Refusal::MainThreadEndedNow));
        }
    }
    Ok((kept, mine))
}

/// Refuses an image if a thread holds more locks than its notes have room for.
fn refuse_too_many_locks(area: &ReservedArea, count: usize) -> Result<(), Refused> {
    let full = area.threads()[..count].iter().find(|thread| {
        // SAFETY: the thread itself told the address, and stands still.
        thread.notes != 0
            && unsafe { (*(thread.notes as *const thread_notes::ThreadNotes)).is_full() }
    });
    match full {
        None => Ok(()),
        Some(thread) => Err(area.refuse(Refusal::TooManyLocksHeld { tid: thread.tid })),
    }
}

/// Whether the main thread has ended. Its process stays as long as it has other threads, but the
/// main thread cannot be asked to stop.
fn main_has_ended(pid: i32) -> bool {
    let (mut name, mut text) = ([0u8; 64], [0u8; 128]);
    let path = procfs::numbered_at("task", pid as u32, "/stat", &mut name);
    let Ok(fd) = syscalls::open(path, libc::O_RDONLY | libc::O_CLOEXEC) else { return false };
    let len = syscalls::read(fd, &mut text).unwrap_or(0);
    syscalls::close(fd);
    // The state stands behind the name, which may contain anything.
    let behind = text[..len].iter().rposition(|&byte| byte == b')');
    behind.is_some_and(|at| text[..len].get(at + 2) == Some(&b'Z'))
}

/// Adds a thread and asks it to stop (unless it is the calling one).
fn ask_to_stop(parking: &Parking, tid: i32, me: i32) -> Result<(), Errno> {
    let at = parking.count.load(Ordering::Relaxed) as usize;
    if at == limit::THREADS {
        return Err(libc::EAGAIN);
    }
    parking.tids[at].store(tid, Ordering::Relaxed);
    parking.states[at].store(ASKED, Ordering::Relaxed);
    parking.count.store(at as u32 + 1, Ordering::Release);
    if tid == me {
        return Ok(());
    }
    // SAFETY: no memory involved.
    match unsafe { syscalls::call!(libc::SYS_tgkill, syscalls::getpid(), tid, SIGNAL) } {
        // The thread has just ended.
        Ok(_) | Err(libc::ESRCH) => Ok(()),
        Err(errno) => Err(errno),
    }
}
