//! Ports, names and new processes (MPI-4.1, chapter 11): decodes arguments; a socket of the program
//! for `MPI_Comm_join`.
//!
//! Guarantees: arguments that matter at the root only are read at the root only.

use crate::calls::{Job, enter, on_comm, on_job, print_line};
use crate::constants::MPI_MAX_PORT_NAME;
use crate::decode::length;
use crate::handle::{Comm, Info};
use crate::memory::{In, Out, OutArray, OutText, Text, TextLists, Texts};
use ftmpi_core::bail;
use ftmpi_core::engine::Link;
use ftmpi_core::error::{ErrorClass, Result};
use ftmpi_core::mpi::{CommId, JoinCard, Spawned, SpawnedPart};
use ftmpi_entry::entry;
use std::ffi::c_int;

/// How long a look at the socket of `MPI_Comm_join` lasts, in ms: so long the program's messages
/// and its other threads may have to wait.
const SOCKET_LOOK_MS: c_int = 1;

/// Stores what came of a spawn.
fn store(spawned: &Spawned, new: Out<Comm>, codes: OutArray<c_int>) -> Result<()> {
    if !codes.address().is_null() {
        for (index, &started) in spawned.started.iter().enumerate() {
            codes.put(index, if started { 0 } else { ErrorClass::Spawn.number() })?;
        }
    }
    new.put(Comm::of(spawned.comm))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_spawn(
    command: Text,
    argv: Texts,
    maxprocs: c_int,
    info: Info,
    root: c_int,
    comm: Comm,
    intercomm: Out<Comm>,
    array_of_errcodes: OutArray<c_int>,
) -> c_int {
    on_comm("MPI_Comm_spawn", comm, |job, id| {
        let spawned = job.comm_spawn(id, root, || {
            let mut words = vec![command.get("command")?.to_vec()];
            words.extend(argv.until_null());
            let info = info.optional_id()?;
            Ok(vec![SpawnedPart { command: words, most: i64::from(maxprocs), info }])
        })?;
        store(&spawned, intercomm, array_of_errcodes)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_spawn_multiple(
    count: c_int,
    array_of_commands: In<Text>,
    array_of_argv: TextLists,
    array_of_maxprocs: In<c_int>,
    array_of_info: In<Info>,
    root: c_int,
    comm: Comm,
    intercomm: Out<Comm>,
    array_of_errcodes: OutArray<c_int>,
) -> c_int {
    on_comm("MPI_Comm_spawn_multiple", comm, |job, id| {
        let spawned = job.comm_spawn(id, root, || {
            let count = length("count", count)?;
            let commands = array_of_commands.slice(count)?;
            let most = array_of_maxprocs.slice(count)?;
            let infos = array_of_info.slice(count)?;
            let part = |index: usize| {
                let mut command = vec![commands[index].get("a command")?.to_vec()];
                command.extend(array_of_argv.at(index));
                let info = infos[index].optional_id()?;
                Ok(SpawnedPart { command, most: i64::from(most[index]), info })
            };
            (0..count).map(part).collect()
        })?;
        store(&spawned, intercomm, array_of_errcodes)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Open_port(_info: Info, port_name: OutText<MPI_MAX_PORT_NAME>) -> c_int {
    on_job("MPI_Open_port", |job| port_name.put(job.open_port()?).map(|_| ()))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Close_port(port_name: Text) -> c_int {
    on_job("MPI_Close_port", |job| job.close_port(port_name.get("port_name")?))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Publish_name(service_name: Text, _info: Info, port_name: Text) -> c_int {
    on_job("MPI_Publish_name", |job| {
        job.publish_name(service_name.get("service_name")?, port_name.get("port_name")?)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Unpublish_name(service_name: Text, _info: Info, port_name: Text) -> c_int {
    on_job("MPI_Unpublish_name", |job| {
        job.unpublish_name(service_name.get("service_name")?, port_name.get("port_name")?)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Lookup_name(
    service_name: Text,
    _info: Info,
    port_name: OutText<MPI_MAX_PORT_NAME>,
) -> c_int {
    on_job("MPI_Lookup_name", |job| {
        port_name.put(job.lookup_name(service_name.get("service_name")?)?).map(|_| ())
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_accept(
    port_name: Text,
    _info: Info,
    root: c_int,
    comm: Comm,
    newcomm: Out<Comm>,
) -> c_int {
    on_comm("MPI_Comm_accept", comm, |job, id| {
        let port = || Ok(port_name.get("port_name")?.to_vec());
        newcomm.put(Comm::of(job.comm_accept(id, root, port)?))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_connect(
    port_name: Text,
    _info: Info,
    root: c_int,
    comm: Comm,
    newcomm: Out<Comm>,
) -> c_int {
    on_comm("MPI_Comm_connect", comm, |job, id| {
        let port = || Ok(port_name.get("port_name")?.to_vec());
        newcomm.put(Comm::of(job.comm_connect(id, root, port)?))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_join(fd: c_int, intercomm: Out<Comm>) -> c_int {
    on_comm("MPI_Comm_join", Comm::SELF, |job, _: CommId| {
        let mine = job.join_card()?;
        let Some(theirs) = JoinCard::decode(&exchange(job, fd, &mine.encode())?) else {
            bail!(
                Arg,
                "the other end of descriptor {fd} has sent something else than MPI_Comm_join does"
            );
        };
        match job.comm_join(mine, theirs)? {
            Some(new) => intercomm.put(Comm::of(new)),
            None => {
                // MPI-4.1, 11.10.6: processes that cannot be joined get MPI_COMM_NULL.
                print_line(
                    "MPI_Comm_join gives MPI_COMM_NULL: the two processes are not two of one job; \
                     start both programs with one ftmpiexec, separated by ':'",
                );
                intercomm.put(Comm::NULL)
            }
        }
    })
}

/// Sends these bytes over a socket of the program and receives as many. Communication of the
/// program goes on meanwhile: the other end may come only after it.
fn exchange(
    job: &mut Job,
    fd: c_int,
    mine: &[u8; JoinCard::BYTES],
) -> Result<[u8; JoinCard::BYTES]> {
    let mut theirs = [0; JoinCard::BYTES];
    let (mut sent, mut came) = (0, 0);
    while sent < mine.len() || came < theirs.len() {
        let sends = sent < mine.len();
        // SAFETY: both pieces of memory live over the calls and have the lengths given.
        let count = unsafe {
            match sends {
                true => {
                    let rest = &mine[sent..];
                    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
                    libc::send(fd, rest.as_ptr().cast(), rest.len(), flags)
                }
                false => {
                    let rest = &mut theirs[came..];
                    libc::recv(fd, rest.as_mut_ptr().cast(), rest.len(), libc::MSG_DONTWAIT)
                }
            }
        };
        match usize::try_from(count) {
            Ok(0) => bail!(Arg, "the other end of descriptor {fd} is closed"),
            Ok(count) if sends => sent += count,
            Ok(count) => came += count,
            Err(_) => wait_or_fail(job, fd, if sends { libc::POLLOUT } else { libc::POLLIN })?,
        }
    }
    Ok(theirs)
}

/// A call on the socket has failed: waits a moment if it was only too early.
fn wait_or_fail(job: &mut Job, fd: c_int, events: i16) -> Result<()> {
    let error = std::io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EINTR) => Ok(()),
        Some(libc::EAGAIN) => {
            job.engine.poll_once();
            job.engine.link.relax();
            let mut place = libc::pollfd { fd, events, revents: 0 };
            // SAFETY: one structure, which lives over the call.
            unsafe { libc::poll(&raw mut place, 1, SOCKET_LOOK_MS) };
            Ok(())
        }
        _ => bail!(Arg, "descriptor {fd} is no connected socket: {error}"),
    }
}
