//! Makes the descriptors of the program again, in the restored process.

use crate::base::refusal::Refused;
use crate::base::reserved_area::ReservedArea;
use crate::base::strings::Strings;
use crate::base::syscalls;
use crate::base::tables::Control;
use crate::children::again;
use crate::descriptors::library_descriptors::FIRST_LIBRARY;
use crate::descriptors::reopen::Incarnation;
use crate::descriptors::{
    duplicate, epoll, eventfd, file_locks, inotify, memfd_or_deleted, of_the_caller, pidfd, pipe,
    reopen, signalfd, socket, socket_pair, standard_stream, timerfd,
};
use crate::process::process_state;
use ftmpi_checkpoint::stream::{ProcessState, descriptor as how};
use ftmpi_wire::control::fds;
use ftmpi_wire::status::word;

/// Makes the descriptors what they were. Everything below [`FIRST_LIBRARY`] except standard
/// streams, what the caller passed on, and what [`crate::descriptors::contents`] made, is closed.
pub fn restore(
    area: &ReservedArea,
    process: &ProcessState,
    strings: &Strings,
    control: &Control,
) -> Result<(), Refused> {
    let table = &area.descriptors()[..process.descriptors as usize];
    // Copies of the launcher's streams: others may take their numbers. A stream that this
    // incarnation was not given stays closed.
    let mut streams = [-1; 3];
    for (fd, stream) in streams.iter_mut().enumerate() {
        *stream =
            syscalls::fcntl(fd as i32, libc::F_DUPFD_CLOEXEC, FIRST_LIBRARY as usize).unwrap_or(-1);
    }
    let same_boot = process.boot != 0 && process.boot == process_state::boot_id();
    let incarnation = Incarnation {
        rank: process.rank,
        died: control.died.max(died_since()),
        together: control.together(),
        stderr: streams[2],
        same_boot,
        table,
        strings,
    };
    // In ascending order, so that a descriptor comes before its duplicates.
    let result = table.iter().try_for_each(|entry| match entry.how {
        how::KEEP => standard_stream::restore(entry),
        how::DUPLICATE => duplicate::restore(area, entry, entry.other),
        how::STREAM => {
            duplicate::restore(area, entry, *streams.get(entry.other as usize).unwrap_or(&-1))
        }
        how::RECREATE => memfd_or_deleted::restore(area, entry),
        how::AGAIN => memfd_or_deleted::open_again(area, entry),
        how::PIPE | how::PIPE_END => pipe::restore(area, entry),
        how::EVENTFD => eventfd::restore(area, entry),
        how::EPOLL => epoll::restore(area, entry),
        how::INOTIFY => inotify::restore(area, entry),
        how::TIMERFD => timerfd::restore(area, entry),
        how::SIGNALFD => signalfd::restore(area, entry),
        how::PIDFD => pidfd::restore(area, entry),
        how::PAIR => socket_pair::restore(area, entry),
        how::OF_THE_RANK => again::take(area, entry),
        how::SOCKET => socket::restore(area, entry),
        how::OF_THE_CALLER => of_the_caller::restore(area, entry, table, || {
            reopen::restore(area, entry, strings, &incarnation)
        }),
        _ => reopen::restore(area, entry, strings, &incarnation),
    });
    of_the_caller::finish(table);
    // When all descriptors are open that are opened through others.
    let result = result.and_then(|()| {
        let mut made = table.iter().filter(|entry| entry.how == how::RECREATE);
        made.try_for_each(|entry| memfd_or_deleted::finish(area, entry))
    });
    let watches = &area.watches()[..process.watches as usize];
    let result = result.and_then(|()| epoll::watch_again(area, table, watches));
    let result = result.and_then(|()| inotify::watch_again(area, table, same_boot));
    if result.is_ok() {
        let locks = &area.locks()[..process.locks as usize];
        file_locks::restore(locks, table, strings, process.rank, streams[2]);
    }
    for stream in streams.into_iter().filter(|&fd| fd >= 0) {
        syscalls::close(stream);
    }
    // A program that had closed a standard stream finds the stream closed again.
    for fd in (0..3).filter(|fd| table.iter().all(|entry| entry.fd != *fd)) {
        syscalls::close(fd);
    }
    result
}

/// When the rank died for which this process was a standby; 0 if it was none.
fn died_since() -> u64 {
    let mut bytes = [0; size_of::<u64>()];
    let at = (word::DIED * bytes.len()) as u64;
    match syscalls::pread_full(fds::STATUS, &mut bytes, at) {
        Ok(()) => u64::from_ne_bytes(bytes),
        Err(_) => 0,
    }
}
