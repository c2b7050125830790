//! In a restored rank: starts the living children again. In a restored child: takes what it shares
//! with the rank.
//!
//! The rank has all its descriptors. For each child it starts the child's program with this library
//! and the image of the child. The new process becomes the child, and says so through a pipe. The
//! rank goes on when all have said so.

use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls::{self, Errno};
use crate::base::text::{Line, Shown};
use crate::children::{Living, all, any, ends};
use crate::interpose::loads;
use crate::process::ended_children;
use core::ffi::{CStr, c_char};
use ftmpi_checkpoint::stream::{Descriptor, descriptor as how};
use ftmpi_wire::control::{RANK_ENV, fds};

/// The variable that marks the process of a child.
pub const CHILD_ENV: &str = "FTMPI_CHILD";

/// Variables that the program of a child needs to find its libraries.
const PASSED_ON: [&[u8]; 2] = [b"LD_LIBRARY_PATH=", b"GLIBC_TUNABLES="];

/// The pipe through which a new process says that it is the child: in place of the agent's socket.
const TELLS: i32 = fds::CONTROL;

// SAFETY: the C library's own variable.
unsafe extern "C" {
    static environ: *const *const c_char;
}

/// Starts all children again, in the restored rank. All signals are blocked, and this thread is
/// alone.
pub fn restore(
    area: &ReservedArea,
    (rank, incarnation, died, together): (u32, u32, u64, bool),
) -> Result<(), Refused> {
    if !any() {
        return Ok(());
    }
    // SAFETY: the only thread.
    let children = unsafe { all() };
    let mut mark = Line::new();
    mark.set(format_args!(
        "{RANK_ENV}=rank={rank:010},incarnation={incarnation:010},restore=1,died={died:020},\
         together={},program=00000000\0",
        u8::from(together)
    ));
    for child in children.iter_mut() {
        start(child, &mark).map_err(|errno| failed(area, child, errno))?;
        ended_children::rename(child.called, child.pid)
            .map_err(|errno| failed(area, child, errno))?;
    }
    children.iter().map(|child| child.stream).chain(ends()).for_each(syscalls::close);
    Ok(())
}

fn failed(area: &ReservedArea, child: &Living, errno: Errno) -> Refused {
    let program = CStr::from_bytes_until_nul(&child.program).unwrap_or_default().to_bytes();
    let program = if program.is_empty() { b"forked by the program" } else { program };
    area.refuse(Refusal::ChildNotAgain { pid: child.called, program: Shown(program), errno })
}

/// Starts one child, and waits until it is what it was.
fn start(child: &mut Living, mark: &Line) -> Result<(), Errno> {
    let mut pipe = [0i32; 2];
    // SAFETY: writes two numbers.
    unsafe { syscalls::call!(libc::SYS_pipe2, pipe.as_mut_ptr(), libc::O_CLOEXEC) }?;
    // SAFETY: a copy of this process, which executes another program or ends.
    let pid = unsafe { syscalls::call!(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
    let pid = match pid {
        Ok(0) => become_child(child, pipe[1], mark),
        Ok(pid) => pid as i32,
        Err(errno) => {
            pipe.into_iter().for_each(syscalls::close);
            return Err(errno);
        }
    };
    syscalls::close(pipe[1]);
    let mut said = [0];
    let result = syscalls::read_full(pipe[0], &mut said);
    syscalls::close(pipe[0]);
    child.pid = pid;
    if result == Ok(1) { Ok(()) } else { Err(libc::ENOEXEC) }
}

/// Executes the program of the child.
fn become_child(child: &Living, tells: i32, mark: &Line) -> ! {
    const FAILED: i32 = ftmpi_checkpoint::boot_abi::EXIT_IMAGE_MISFIT;
    let move_to = |from: i32, to: i32| {
        // SAFETY: no memory involved; both numbers are the library's.
        let moved = unsafe { syscalls::call!(libc::SYS_dup3, from, to, 0) };
        if moved.is_err() {
            syscalls::exit(FAILED);
        }
    };
    // First the file, whose number may be that of the pipe otherwise.
    let file = syscalls::fcntl(child.stream, libc::F_DUPFD, fds::FIRST_OWN as usize + 1);
    let pipe = syscalls::fcntl(tells, libc::F_DUPFD, fds::FIRST_OWN as usize + 1);
    let (Ok(file), Ok(pipe)) = (file, pipe) else { syscalls::exit(FAILED) };
    let _ = syscalls::seek(file, 0, libc::SEEK_SET);
    move_to(file, fds::IMAGE);
    move_to(pipe, TELLS);
    syscalls::close(fds::STATUS);
    syscalls::close_range(fds::FIRST_OWN as u32, u32::MAX);
    // Everything else goes to the child, which closes what is not its own.
    for fd in 0..fds::CONTROL {
        if syscalls::fcntl(fd, libc::F_GETFD, 0).is_ok_and(|flags| flags != 0) {
            let _ = syscalls::fcntl(fd, libc::F_SETFD, 0);
        }
    }
    let own = loads::own_path();
    let mut preload = [0u8; 4096 + 16];
    let name = b"LD_PRELOAD=";
    let len = name.len() + own.len();
    if own.is_empty() || len >= preload.len() {
        syscalls::exit(FAILED);
    }
    preload[..name.len()].copy_from_slice(name);
    preload[name.len()..len].copy_from_slice(own);
    let is_child = c"FTMPI_CHILD=1";
    let mut variables = [core::ptr::null::<c_char>(); 3 + PASSED_ON.len() + 1];
    variables[..3].copy_from_slice(&[
        preload.as_ptr().cast(),
        mark.bytes().as_ptr().cast(),
        is_child.as_ptr(),
    ]);
    for (slot, name) in variables[3..].iter_mut().zip(PASSED_ON) {
        *slot = variable(name).unwrap_or(is_child.as_ptr());
    }
    let program = CStr::from_bytes_until_nul(&child.program).unwrap_or_default();
    let program = if program.is_empty() { c"/proc/self/exe" } else { program };
    let arguments = [program.as_ptr(), core::ptr::null()];
    let (at, arguments, variables) = (program.as_ptr(), arguments.as_ptr(), variables.as_ptr());
    // SAFETY: terminated texts and lists.
    let _ = unsafe { syscalls::call!(libc::SYS_execve, at, arguments, variables) };
    syscalls::exit(FAILED)
}

/// A variable of the program, with its name.
fn variable(name: &[u8]) -> Option<*const c_char> {
    // SAFETY: the C library's list, which ends with a null pointer, in memory of the image.
    unsafe {
        let mut at = environ;
        while !at.is_null() && !(*at).is_null() {
            if CStr::from_ptr(*at).to_bytes().starts_with(name) {
                return Some(*at);
            }
            at = at.add(1);
        }
    }
    None
}

/// In the new process of a child: saves the descriptors that it gets from the rank, before their
/// numbers are needed. `inode` is the number until [`take`].
pub fn lift(area: &ReservedArea, table: &mut [Descriptor]) -> Result<(), Refused> {
    for entry in table.iter_mut().filter(|entry| entry.how == how::OF_THE_RANK) {
        let from = entry.other;
        let lifted = syscalls::fcntl(from, libc::F_DUPFD_CLOEXEC, fds::FIRST_OWN as usize);
        let lifted = lifted.map_err(|errno| not_made(area, entry.fd, errno))?;
        entry.inode = lifted as u64;
    }
    Ok(())
}

/// Gives the child a descriptor of the rank.
pub fn take(area: &ReservedArea, entry: &Descriptor) -> Result<(), Refused> {
    let close_on_exec = entry.fd_flags as i32 & libc::FD_CLOEXEC != 0;
    let flags = if close_on_exec { libc::O_CLOEXEC } else { 0 };
    // SAFETY: no memory involved; the restore replaces whatever `fd` was.
    unsafe { syscalls::call!(libc::SYS_dup3, entry.inode, entry.fd, flags) }
        .map(|_| ())
        .map_err(|errno| not_made(area, entry.fd, errno))
}

fn not_made(area: &ReservedArea, fd: i32, errno: Errno) -> Refused {
    area.refuse(Refusal::NotMade { fd, path: Shown(b"shared with the rank"), errno })
}

/// Tells the rank that this process is the child now.
pub fn tell() {
    let _ = syscalls::write_all(TELLS, &[1]);
    syscalls::close(TELLS);
}
