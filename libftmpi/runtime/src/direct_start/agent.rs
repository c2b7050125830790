//! The agent of this host, for ranks that another launcher started: who starts it, and how ranks
//! join it.
//!
//! The first rank that binds the host's name of a Unix socket starts `ftmpiexec --agent-of-ranks`
//! and hands the socket over. Nobody can guess the name without the job's key.
//!
//! Guarantees: one agent for each host. The agent is no child of a rank, so no program waits for it
//! by mistake. It inherits none of the program's descriptors.

use super::{Result, StartError};
use crate::control::{close, receive_one};
use crate::tuning::AGENT_PATIENCE;
use ftmpi_wire::control::{decode, encode, fds};
use ftmpi_wire::direct_start::{AGENT_OPTION, Agents, JobCard, Join, Joined, Ready, Setup};
use ftmpi_wire::hello::KEY_BYTES;
use std::ffi::{CStr, OsStr, c_void};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Bytes of one answer of the agent.
const ANSWER_BYTES_MAX: usize = 64 << 10;
/// Ranks that may wait until the agent takes them.
const BACKLOG: i32 = 4096;

/// What rank 0 tells all: a new key.
pub(super) fn new_job() -> Result<JobCard> {
    let mut key = [0; KEY_BYTES];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut key)?;
    let epoch = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs());
    Ok(JobCard { key, epoch, version: env!("CARGO_PKG_VERSION").to_owned() })
}

/// The name of the agent's socket on this host, without a place in the file system.
fn address(job: &JobCard, node: u64) -> (libc::sockaddr_un, libc::socklen_t) {
    let mut hasher = DefaultHasher::new();
    (job.key, node).hash(&mut hasher);
    let name = format!("\0ftmpi-ranks-{:016x}", hasher.finish());
    // SAFETY: an all-zero address is valid.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    for (to, from) in address.sun_path.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    let length = std::mem::offset_of!(libc::sockaddr_un, sun_path) + name.len();
    (address, length as libc::socklen_t)
}

fn socket() -> io::Result<OwnedFd> {
    // SAFETY: a plain system call.
    let fd = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The socket on which the agent is to listen, if this rank is the one that starts the agent.
pub(super) fn elect(job: &JobCard, node: u64) -> Result<Option<OwnedFd>> {
    let socket = socket()?;
    let (address, length) = address(job, node);
    // SAFETY: the address lives over the call and has this length.
    let bound = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) };
    if bound != 0 {
        let error = io::Error::last_os_error();
        return match error.raw_os_error() {
            Some(libc::EADDRINUSE) => Ok(None),
            _ => Err(error.into()),
        };
    }
    // SAFETY: a plain system call.
    if unsafe { libc::listen(socket.as_raw_fd(), BACKLOG) } != 0 {
        return Err(io::Error::last_os_error().into());
    }
    Ok(Some(socket))
}

/// `ftmpiexec` of this installation: beside this library, or on the search path.
fn program() -> Result<PathBuf> {
    // SAFETY: an all-zero structure is valid, and the dynamic linker fills it.
    let mut own: libc::Dl_info = unsafe { std::mem::zeroed() };
    let here = elect as *const c_void;
    // SAFETY: an address in this library, and a structure that lives over the call.
    let found = unsafe { libc::dladdr(here, &raw mut own) } != 0 && !own.dli_fname.is_null();
    let library = found.then(|| {
        // SAFETY: the dynamic linker's own terminated text.
        let name = unsafe { CStr::from_ptr(own.dli_fname) };
        Path::new(OsStr::from_bytes(name.to_bytes())).canonicalize().ok()
    });
    let library = library.flatten().unwrap_or_default();
    // PREFIX/lib/ftmpi/libmpi.so.12, or PREFIX/lib/libmpi.so.12 in an environment of Python.
    let beside = library.ancestors().skip(2).take(2).map(|top| top.join("bin/ftmpiexec"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let searched = std::env::split_paths(&path).map(|folder| folder.join("ftmpiexec"));
    beside.chain(searched).find(|path| path.is_file()).ok_or_else(|| {
        StartError::Agent(format!(
            "there is no bin/ftmpiexec beside {} and none in PATH: install ftmpi as a whole",
            library.display()
        ))
    })
}

/// An agent that this rank has started.
#[derive(Debug)]
pub(super) struct Started {
    talk: UnixStream,
    addresses: Vec<SocketAddr>,
}

impl Started {
    /// Starts it on this socket.
    pub(super) fn start(listener: OwnedFd, setup: &Setup) -> Result<Self> {
        let program = program()?;
        let failed = |error: &dyn std::fmt::Display| {
            StartError::Agent(format!("{} cannot be the agent: {error}", program.display()))
        };
        let (mut talk, theirs) = UnixStream::pair()?;
        talk.set_read_timeout(Some(AGENT_PATIENCE))?;
        let mut command = Command::new(&program);
        command.arg(AGENT_OPTION).stdin(listener).stdout(OwnedFd::from(theirs));
        command.stderr(Stdio::inherit());
        for name in ["LD_PRELOAD", "LD_AUDIT", "PMI_FD"] {
            command.env_remove(name);
        }
        let mut child = command.spawn().map_err(|error| failed(&error))?;
        drop(command);
        // The process that was started starts the agent and ends. A program that ignores its
        // children has it reaped by the system.
        let _ = child.wait();
        send(&mut talk, &encode(setup)).map_err(|error| failed(&error))?;
        let ready: Ready = decode(&receive(&mut talk).map_err(|error| failed(&error))?)?;
        let addresses = ready.addresses.map_err(|why| failed(&why))?;
        Ok(Self { talk, addresses })
    }

    /// Where it listens for other hosts.
    pub(super) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Tells it where the agents of the other hosts are.
    pub(super) fn tell(&mut self, agents: &Agents) -> Result<()> {
        Ok(send(&mut self.talk, &encode(agents))?)
    }
}

fn send(talk: &mut UnixStream, bytes: &[u8]) -> io::Result<()> {
    talk.write_all(&(bytes.len() as u32).to_le_bytes())?;
    talk.write_all(bytes)
}

fn receive(talk: &mut UnixStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    talk.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > ANSWER_BYTES_MAX {
        return Err(io::Error::other("its answer is too long"));
    }
    let mut bytes = vec![0; length];
    talk.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Joins the agent of this host: its socket and the status page come to where ranks find them.
pub(super) fn enter(job: &JobCard, node: u64, rank: u32, app_number: u32) -> Result<()> {
    make_room()?;
    let socket = socket()?;
    let (address, length) = address(job, node);
    // SAFETY: the address lives over the call and has this length.
    let connected =
        unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), length) };
    if connected != 0 {
        let error = io::Error::last_os_error();
        return Err(StartError::Agent(format!("the agent of this host is gone: {error}")));
    }
    if peer_of(&socket)? != own_user() {
        return Err(StartError::Agent("the agent of this host is another user's".into()));
    }
    set_patience(&socket, AGENT_PATIENCE.as_secs())?;
    let join = encode(&Join { rank, key: job.key, app_number });
    // SAFETY: the message lives over the call.
    let sent = unsafe {
        let (at, bytes) = (join.as_ptr().cast(), join.len());
        libc::send(socket.as_raw_fd(), at, bytes, libc::MSG_NOSIGNAL)
    };
    if sent < 0 {
        return Err(io::Error::last_os_error().into());
    }
    let mut answer = vec![0; ANSWER_BYTES_MAX];
    let (count, page) = receive_one(socket.as_raw_fd(), &mut answer)?;
    set_patience(&socket, 0)?;
    if count == 0 {
        return Err(StartError::Agent("the agent of this host has ended".into()));
    }
    let joined: Joined = decode(&answer[..count])?;
    let page = match (joined.refused, page) {
        (None, Some(page)) => page,
        (why, page) => {
            page.into_iter().for_each(close);
            return Err(StartError::Agent(why.unwrap_or_else(|| "no status page".into())));
        }
    };
    for (from, to) in [(socket.as_raw_fd(), fds::CONTROL), (page, fds::STATUS)] {
        // SAFETY: both numbers are ours: `make_room` has seen that the second one is free.
        if unsafe { libc::dup3(from, to, libc::O_CLOEXEC) } < 0 {
            return Err(io::Error::last_os_error().into());
        }
    }
    close(page);
    Ok(())
}

/// Makes sure that the numbers of the rank's descriptors can be had.
fn make_room() -> Result<()> {
    let wanted = fds::FIRST_OWN as u64 + 1;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: valid for writing.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    if limit.rlim_max < wanted {
        let max = limit.rlim_max;
        let text =
            format!("the hard limit on open files is {max}; raise it to {wanted} (ulimit -Hn)");
        return Err(StartError::Agent(text));
    }
    if limit.rlim_cur < wanted {
        limit.rlim_cur = limit.rlim_max.min(4096);
        // SAFETY: valid for reading.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
    }
    for number in [fds::CONTROL, fds::STATUS] {
        // SAFETY: asks for the flags of a descriptor.
        if unsafe { libc::fcntl(number, libc::F_GETFD) } >= 0 {
            let text = format!("the program has opened descriptor {number}, which ftmpi needs");
            return Err(StartError::Agent(text));
        }
    }
    Ok(())
}

fn own_user() -> u32 {
    // SAFETY: a plain system call.
    unsafe { libc::geteuid() }
}

/// The user of the process at the other end.
fn peer_of(socket: &OwnedFd) -> io::Result<u32> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: both live over the call, and the length is the structure's.
    let code = unsafe {
        let (at, length) = ((&raw mut peer).cast(), &raw mut length);
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, at, length)
    };
    if code == 0 { Ok(peer.uid) } else { Err(io::Error::last_os_error()) }
}

/// How long an answer is waited for; 0: for ever.
fn set_patience(socket: &OwnedFd, seconds: u64) -> io::Result<()> {
    let limit = libc::timeval { tv_sec: seconds as libc::time_t, tv_usec: 0 };
    let length = size_of::<libc::timeval>() as libc::socklen_t;
    // SAFETY: the structure lives over the call and has this length.
    let code = unsafe {
        let at = (&raw const limit).cast();
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVTIMEO, at, length)
    };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_rank_of_a_host_starts_the_agent() {
        let job = new_job().unwrap();
        let first = elect(&job, 7).unwrap();
        assert!(first.is_some() && elect(&job, 7).unwrap().is_none());
        assert!(elect(&job, 8).unwrap().is_some(), "another host");
        let other = new_job().unwrap();
        assert_ne!(other.key, job.key);
        assert!(elect(&other, 7).unwrap().is_some(), "another job");
        assert_eq!(peer_of(&socket_to(&job)).unwrap(), own_user());
        drop(first);
        let error = enter(&job, 7, 0, 0).unwrap_err().to_string();
        assert!(error.contains("the agent of this host is gone"), "{error}");
    }

    fn socket_to(job: &JobCard) -> OwnedFd {
        let socket = socket().unwrap();
        let (address, length) = address(job, 7);
        // SAFETY: the address lives over the call and has this length.
        let code =
            unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), length) };
        assert_eq!(code, 0);
        socket
    }
}
