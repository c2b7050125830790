//! `popen` and `pclose`.
//!
//! The C library waits for the child of a stream by the kernel's number, which is another one in a
//! restored process ([`crate::process::ended_children`]). So a rank has streams of its own, whose
//! children it waits for by the program's number.

use crate::base::errno::{errno, set_errno};
use crate::base::rank::{self, is_rank};
use crate::interpose::children::waitpid;
use crate::interpose::next_function::next;
use crate::process::ended_children::count_stream;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use libc::FILE;

/// Streams that are open at once, at most. More are the C library's, and have no images.
const MOST: usize = 64;

/// One stream.
struct Stream {
    /// The address of its `FILE`; 0: free.
    file: AtomicUsize,
    fd: AtomicI32,
    /// The program's number of the child.
    pid: AtomicI32,
}

static STREAMS: [Stream; MOST] = [const {
    Stream { file: AtomicUsize::new(0), fd: AtomicI32::new(-1), pid: AtomicI32::new(0) }
}; MOST];

/// A place that is being filled.
const CLAIMED: usize = 1;

// SAFETY: the C library's own variable.
unsafe extern "C" {
    static environ: *const *mut c_char;
}

fn claim() -> Option<&'static Stream> {
    STREAMS.iter().find(|stream| {
        let order = Ordering::SeqCst;
        stream.file.compare_exchange(0, CLAIMED, order, order).is_ok()
    })
}

/// See `popen(3)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn popen(command: *const c_char, how: *const c_char) -> *mut FILE {
    let none = core::ptr::null_mut();
    let next = next!(c"popen", none, fn(*const c_char, *const c_char) -> *mut FILE);
    if is_rank()
        && !rank::is_forked()
        && let Some(stream) = claim()
    {
        // SAFETY: by the caller.
        let opened = unsafe { open(stream, command, CStr::from_ptr(how).to_bytes()) };
        // A program may have closed an earlier one by `fclose`.
        for other in STREAMS.iter().filter(|_| !opened.is_null()) {
            let (order, address) = (Ordering::SeqCst, opened as usize);
            let _ = other.file.compare_exchange(address, 0, order, order);
        }
        stream.file.store(opened as usize, Ordering::SeqCst);
        return opened;
    }
    // Before the child is there.
    count_stream(1);
    // SAFETY: by the caller.
    let stream = unsafe { next(command, how) };
    if stream.is_null() {
        count_stream(-1);
    }
    stream
}

/// Fills the entry; null, with `errno`, if that fails.
///
/// # Safety
/// A terminated text.
unsafe fn open(stream: &Stream, command: *const c_char, how: &[u8]) -> *mut FILE {
    let none = core::ptr::null_mut();
    let writes = how.contains(&b'w');
    if writes == how.contains(&b'r') || how.iter().any(|letter| !b"rwe".contains(letter)) {
        set_errno(libc::EINVAL);
        return none;
    }
    let mut pipe = [0; 2];
    // SAFETY: writes two numbers.
    if unsafe { libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return none;
    }
    let (ours, theirs, stands_for) =
        if writes { (pipe[1], pipe[0], 0) } else { (pipe[0], pipe[1], 1) };
    // SAFETY: by the caller.
    let spawned = unsafe { spawn(command, theirs, stands_for) };
    // SAFETY: both descriptors are this function's; the mode is a terminated text.
    unsafe {
        libc::close(theirs);
        let file = match spawned {
            Ok(_) => libc::fdopen(ours, if writes { c"w" } else { c"r" }.as_ptr()),
            Err(errno) => {
                set_errno(errno);
                none
            }
        };
        if file.is_null() {
            let saved = errno();
            libc::close(ours);
            if let Ok(pid) = spawned {
                waitpid(pid, none.cast(), 0);
            }
            set_errno(saved);
            return none;
        }
        if !how.contains(&b'e') {
            libc::fcntl(ours, libc::F_SETFD, 0);
        }
        stream.fd.store(ours, Ordering::SeqCst);
        stream.pid.store(spawned.unwrap_or(0), Ordering::SeqCst);
        file
    }
}

/// Bytes of a command that the shell is told to become.
const COMMAND_BYTES: usize = 1024;

/// Programs that shells have built in, often with another behaviour.
const BUILT_IN: [&[u8]; 29] = [
    b"[", b"alias", b"bg", b"cd", b"command", b"echo", b"exec", b"exit", b"false", b"fc", b"fg",
    b"getopts", b"hash", b"jobs", b"kill", b"printf", b"pwd", b"read", b"test", b"time", b"times",
    b"trap", b"true", b"type", b"ulimit", b"umask", b"unalias", b"unset", b"wait",
];

/// Writes `exec ` and the command, if the shell would wait for one program only. Some shells stay
/// beside that program when its streams are redirected: one process less is part of images.
fn with_exec(command: &[u8], room: &mut [u8; COMMAND_BYTES]) -> bool {
    const EXEC: &[u8] = b"exec ";
    let simple = |byte: &u8| byte.is_ascii_alphanumeric() || b" /._-+,:@%^=<>\"'".contains(byte);
    let word = command.trim_ascii_start().split(|&byte| byte == b' ').next().unwrap_or_default();
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+".contains(byte);
    let len = EXEC.len() + command.len();
    if word.is_empty()
        || !word.iter().all(is_name)
        || BUILT_IN.contains(&word)
        || !command.iter().all(simple)
        || len >= room.len()
        || !is_program(word)
    {
        return false;
    }
    room[..EXEC.len()].copy_from_slice(EXEC);
    room[EXEC.len()..len].copy_from_slice(command);
    true
}

/// Whether the first word of a command is a program in one of the usual folders. (A word of the
/// shell itself, such as `if` or `cd`, is none.)
fn is_program(word: &[u8]) -> bool {
    let folders: &[&[u8]] =
        if word.contains(&b'/') { &[b""] } else { &[b"/usr/bin/", b"/bin/", b"/usr/local/bin/"] };
    folders.iter().any(|folder| {
        let mut path = [0u8; 256];
        let len = folder.len() + word.len();
        if len >= path.len() {
            return false;
        }
        path[..folder.len()].copy_from_slice(folder);
        path[folder.len()..len].copy_from_slice(word);
        // SAFETY: a terminated text.
        unsafe { libc::access(path.as_ptr().cast(), libc::X_OK) == 0 }
    })
}

/// Starts the shell. `theirs` becomes its standard stream `stands_for`.
///
/// # Safety
/// A terminated text.
unsafe fn spawn(command: *const c_char, theirs: c_int, stands_for: c_int) -> Result<c_int, c_int> {
    let mut actions = MaybeUninit::<libc::posix_spawn_file_actions_t>::uninit();
    let actions = actions.as_mut_ptr();
    let mut room = [0u8; COMMAND_BYTES];
    // SAFETY: by the caller.
    let command = match with_exec(unsafe { CStr::from_ptr(command) }.to_bytes(), &mut room) {
        true => room.as_ptr().cast(),
        false => command,
    };
    let words = [c"sh".as_ptr(), c"-c".as_ptr(), command, core::ptr::null()];
    let mut pid = 0;
    // SAFETY: the actions are begun first and given back last; all texts are terminated.
    let error = unsafe {
        let begun = libc::posix_spawn_file_actions_init(actions);
        if begun != 0 {
            return Err(begun);
        }
        let mut error = libc::posix_spawn_file_actions_adddup2(actions, theirs, stands_for);
        // The streams that are open already are not the child's.
        for other in STREAMS.iter().filter(|it| it.file.load(Ordering::SeqCst) > CLAIMED) {
            let fd = other.fd.load(Ordering::SeqCst);
            if error == 0 && fd != stands_for {
                error = libc::posix_spawn_file_actions_addclose(actions, fd);
            }
        }
        if error == 0 {
            let (shell, words) = (c"/bin/sh".as_ptr(), words.as_ptr().cast::<*mut c_char>());
            error =
                libc::posix_spawn(&raw mut pid, shell, actions, core::ptr::null(), words, environ);
        }
        libc::posix_spawn_file_actions_destroy(actions);
        error
    };
    if error == 0 { Ok(pid) } else { Err(error) }
}

/// See `pclose(3)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pclose(stream: *mut FILE) -> c_int {
    let next = next!(c"pclose", -1, fn(*mut FILE) -> c_int);
    let address = stream as usize;
    let ours =
        STREAMS.iter().find(|it| address > CLAIMED && it.file.load(Ordering::SeqCst) == address);
    let Some(ours) = ours else {
        // SAFETY: by the caller.
        let status = unsafe { next(stream.cast::<c_void>().cast()) };
        count_stream(-1);
        return status;
    };
    let pid = ours.pid.load(Ordering::SeqCst);
    ours.file.store(0, Ordering::SeqCst);
    let mut status = 0;
    // SAFETY: by the caller; the status is valid for writing.
    unsafe {
        let flushed = libc::fclose(stream);
        loop {
            if waitpid(pid, &raw mut status, 0) == pid {
                return if flushed == 0 { status } else { -1 };
            }
            if errno() != libc::EINTR {
                return -1;
            }
        }
    }
}
