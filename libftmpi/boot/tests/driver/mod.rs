//! Acts like an agent: starts a rank, asks for images, stores them as containers, kills and
//! restores the rank.

#![allow(dead_code, reason = "each test program uses its part")]

pub mod standby;
pub mod torture;

use ftmpi_checkpoint::boot_abi::SIGNAL;
use ftmpi_checkpoint::container::{Compression, Decoder, Encoder};
use ftmpi_checkpoint::launch::{StackLimit, prepare_child};
use ftmpi_checkpoint::stream::{
    ProcessState, RecordHeader, StreamChecker, StreamError, kind, validate,
};
use ftmpi_wire::control::{self, FromRank, RANK_ENV, RankEnv, ToRank, fds};
use ftmpi_wire::{ImageId, ImageNo, Incarnation, Rank};
use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Write};
use std::mem::offset_of;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The library under test. Cargo has built it beside the tests, as the library of their package.
pub fn boot_library() -> PathBuf {
    let library = std::env::current_exe().unwrap().with_file_name("libftmpi_boot.so");
    assert!(library.exists(), "{} is not there", library.display());
    library
}

/// Compiles a program of `tests/programs`.
pub fn compile(name: &str, folder: &Path, flags: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name);
    let target = folder.join(name.trim_end_matches(".c"));
    let status = Command::new("gcc")
        .args(["-O2", "-g", "-Wall", "-o"])
        .arg(&target)
        .arg(&source)
        .args(["-lm", "-ldl"])
        .args(flags)
        .status()
        .unwrap();
    assert!(status.success());
    target
}

/// How the rank of a test is started, the same for each incarnation.
#[derive(Debug, Clone)]
pub struct Job {
    pub program: PathBuf,
    pub arguments: Vec<String>,
    pub stack: StackLimit,
    pub user: Option<u32>,
    pub folder: Option<PathBuf>,
    pub library: Option<PathBuf>,
    /// When the previous incarnation ended, from the agent; nanoseconds since 1970.
    pub died: u64,
    /// All ranks of the job return together.
    pub together: bool,
    /// Leaves the address layout to chance, as containers do that forbid `personality`.
    pub randomised: bool,
    /// Forbids `kcmp`, as many containers do.
    pub without_kcmp: bool,
    /// Files that images rest on.
    pub kept: Kept,
}

/// Files that images rest on, as the agent keeps them.
pub type Kept = Arc<Mutex<HashMap<u64, OwnedFd>>>;

impl Job {
    pub fn new(program: PathBuf, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|a| (*a).to_string()).collect();
        Self {
            program,
            arguments,
            stack: StackLimit::current().unwrap(),
            user: None,
            folder: None,
            library: None,
            died: 0,
            together: true,
            randomised: std::env::var_os("FTMPI_TEST_RANDOMISED").is_some(),
            without_kcmp: false,
            kept: Kept::default(),
        }
    }

    /// Starts an incarnation, from an image if there is one.
    pub fn start(&self, incarnation: u32, image: Option<&[u8]>) -> Process {
        self.start_as(incarnation, image, None)
    }

    /// The same; `gate`: it is a standby, and this lets the last record of the image pass.
    fn start_as(
        &self,
        incarnation: u32,
        image: Option<&[u8]>,
        gate: Option<standby::Gate>,
    ) -> Process {
        let (ours, theirs) = socket_pair();
        // SAFETY: plain system calls.
        let status = unsafe {
            let fd = libc::memfd_create(c"status".as_ptr(), libc::MFD_CLOEXEC);
            assert!(fd >= 0 && libc::ftruncate(fd, 4096) == 0);
            OwnedFd::from_raw_fd(fd)
        };
        let env = RankEnv {
            rank: Rank(5),
            incarnation: Incarnation(incarnation),
            restore: image.is_some(),
            standby: gate.is_some(),
            died: self.died,
            together: self.together,
            program: 0,
        };
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .process_group(0)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("LD_PRELOAD", self.library.clone().unwrap_or_else(boot_library))
            .env(RANK_ENV, env.encode())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        let feed = image.map(|image| {
            let (read, mut write) = std::io::pipe().unwrap();
            // SAFETY: no pointers. With a small pipe a restore takes several times as long.
            unsafe { libc::fcntl(write.as_raw_fd(), libc::F_SETPIPE_SZ, 1 << 20) };
            let image = image.to_vec();
            let thread = std::thread::spawn(move || {
                let held = if gate.is_some() { standby::END_BYTES } else { 0 };
                let (early, end) = image.split_at(image.len() - held);
                for piece in early.chunks(1 << 20) {
                    if write.write_all(piece).is_err() {
                        return;
                    }
                }
                if gate.is_none_or(|gate| gate.wait(&write)) {
                    let _ = write.write_all(end);
                }
            });
            (OwnedFd::from(read), thread)
        });
        let mut pairs = vec![(theirs.as_raw_fd(), fds::CONTROL), (status.as_raw_fd(), fds::STATUS)];
        if let Some((read, _)) = &feed {
            pairs.push((read.as_raw_fd(), fds::IMAGE));
        }
        let (stack, user, without_kcmp) = (self.stack, self.user, self.without_kcmp);
        let randomised = self.randomised;
        // SAFETY: system calls only.
        unsafe {
            command.pre_exec(move || {
                for (from, to) in &pairs {
                    if libc::dup2(*from, *to) < 0 {
                        return Err(std::io::Error::last_os_error());
                    }
                }
                if let Some(user) = user
                    && (libc::setgroups(0, std::ptr::null()) != 0
                        || libc::setgid(user) != 0
                        || libc::setuid(user) != 0
                        || libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
                {
                    return Err(std::io::Error::last_os_error());
                }
                if without_kcmp {
                    forbid(libc::SYS_kcmp)?;
                }
                if randomised {
                    forbid(libc::SYS_personality)?;
                }
                prepare_child(stack)
            });
        }
        let child = command.spawn().unwrap();
        Process { child, control: ours, kept: self.kept.clone(), feed: feed.map(|f| f.1) }
    }
}

/// Lets a system call of this process fail with `EPERM` from now on.
fn forbid(call: libc::c_long) -> std::io::Result<()> {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jt, k| libc::sock_filter { code, jt, jf: 0, k };
    let mut steps = [
        step(LOAD, 0, 0),
        libc::sock_filter { jf: 1, ..step(EQUAL, 0, call as u32) },
        step(RETURN, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        step(RETURN, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the filter lives over the call.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) == 0
    };
    if done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

fn socket_pair() -> (OwnedFd, OwnedFd) {
    let mut pair = [0; 2];
    // SAFETY: two descriptors are written.
    unsafe {
        let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
        assert_eq!(libc::socketpair(libc::AF_UNIX, kind, 0, pair.as_mut_ptr()), 0);
        (OwnedFd::from_raw_fd(pair[0]), OwnedFd::from_raw_fd(pair[1]))
    }
}

/// The report of `rank.h`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Report {
    pub result: i32,
    pub incarnation: u32,
    pub image_no: u64,
    pub pause_ns: u64,
    pub pid: i32,
    pub pad: i32,
    why: [u8; 256],
}

impl Report {
    pub fn why(&self) -> String {
        let end = self.why.iter().position(|b| *b == 0).unwrap();
        String::from_utf8_lossy(&self.why[..end]).into_owned()
    }
}

/// An image that is on its way.
pub type Arriving = JoinHandle<Result<Vec<u8>, StreamError>>;

/// The process of a rank: one incarnation.
pub struct Process {
    pub child: Child,
    control: OwnedFd,
    kept: Kept,
    feed: Option<JoinHandle<()>>,
}

/// How an incarnation ended.
#[derive(Debug)]
pub struct End {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Process {
    /// Takes what the rank says about files that images rest on. This agent keeps those that
    /// `kept` holds.
    fn answer_about_files(&self) {
        loop {
            let mut bytes = [0u8; 512];
            // SAFETY: valid for this length.
            let len = unsafe {
                let (fd, flags) = (self.control.as_raw_fd(), libc::MSG_DONTWAIT | libc::MSG_PEEK);
                libc::recv(fd, bytes.as_mut_ptr().cast(), bytes.len(), flags)
            };
            if len <= 0 || len == size_of::<Report>() as isize {
                return;
            }
            let mut passed = -1;
            let message = self.receive(&mut passed);
            match control::decode::<FromRank>(&message) {
                Ok(FromRank::KeepFile { file, .. }) => {
                    // SAFETY: the descriptor has just come.
                    let fd = unsafe { OwnedFd::from_raw_fd(passed) };
                    self.kept.lock().unwrap().insert(file.digest(), fd);
                }
                Ok(FromRank::NeedFile { file }) => {
                    let answer = control::encode(&ToRank::KeptFile { file });
                    let kept = self.kept.lock().unwrap();
                    self.send(&answer, kept.get(&file).map(AsRawFd::as_raw_fd));
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn receive(&self, passed: &mut i32) -> Vec<u8> {
        let mut bytes = vec![0u8; 512];
        // SAFETY: the message and its parts are valid; at most one descriptor comes along.
        unsafe {
            let mut part =
                libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
            let mut room = [0u64; 8];
            let mut message: libc::msghdr = std::mem::zeroed();
            message.msg_iov = &raw mut part;
            message.msg_iovlen = 1;
            message.msg_control = room.as_mut_ptr().cast();
            message.msg_controllen = size_of_val(&room);
            let len = libc::recvmsg(self.control.as_raw_fd(), &raw mut message, 0);
            let head = libc::CMSG_FIRSTHDR(&raw const message);
            if !head.is_null() {
                *passed = libc::CMSG_DATA(head).cast::<i32>().read();
            }
            bytes.truncate(len as usize);
        }
        bytes
    }

    /// The next report; none if the rank has ended, or after the time limit.
    pub fn report(&self, limit: Duration) -> Option<Report> {
        let begun = Instant::now();
        loop {
            let report = self.next_report(limit.saturating_sub(begun.elapsed()));
            if report.is_some() || begun.elapsed() >= limit || !self.has_message() {
                return report;
            }
            self.answer_about_files();
        }
    }

    /// Whether a message waits that is no report.
    fn has_message(&self) -> bool {
        let mut byte = 0u8;
        let flags = libc::MSG_DONTWAIT | libc::MSG_PEEK;
        // SAFETY: valid for this length.
        unsafe { libc::recv(self.control.as_raw_fd(), (&raw mut byte).cast(), 1, flags) > 0 }
    }

    fn next_report(&self, limit: Duration) -> Option<Report> {
        let mut poll =
            libc::pollfd { fd: self.control.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: plain numbers; filled below.
        let mut report: Report = unsafe { std::mem::zeroed() };
        let size = size_of::<Report>();
        // SAFETY: valid for these lengths.
        unsafe {
            if libc::poll(&raw mut poll, 1, limit.as_millis() as i32) != 1 {
                return None;
            }
            let flags = libc::MSG_PEEK | libc::MSG_TRUNC;
            if libc::recv(poll.fd, (&raw mut report).cast(), size, flags) != size as isize {
                return None;
            }
            let got = libc::recv(poll.fd, (&raw mut report).cast(), size, 0);
            (got == size as isize).then_some(report)
        }
    }

    /// Sends the request for an image into a pipe.
    pub fn request(&self, image_no: u64, pipe: i32) {
        self.send(&image_no.to_ne_bytes(), Some(pipe));
        let pid = self.child.id() as i32;
        // SAFETY: no memory involved.
        unsafe { libc::syscall(libc::SYS_tgkill, pid, pid, SIGNAL) };
    }

    fn send(&self, bytes: &[u8], passed: Option<i32>) {
        // SAFETY: the message and its parts are valid; one descriptor may go along.
        unsafe {
            let mut part =
                libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
            let mut room = [0u64; 8];
            let mut message: libc::msghdr = std::mem::zeroed();
            message.msg_iov = &raw mut part;
            message.msg_iovlen = 1;
            if let Some(fd) = passed {
                message.msg_control = room.as_mut_ptr().cast();
                message.msg_controllen = libc::CMSG_SPACE(4) as usize;
                let head = libc::CMSG_FIRSTHDR(&raw const message);
                (*head).cmsg_level = libc::SOL_SOCKET;
                (*head).cmsg_type = libc::SCM_RIGHTS;
                (*head).cmsg_len = libc::CMSG_LEN(4) as usize;
                libc::CMSG_DATA(head).cast::<i32>().write(fd);
            }
            // A rank that has ended gives no report.
            libc::sendmsg(self.control.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL);
        }
    }

    /// Asks for an image, which arrives in the background.
    pub fn ask(&self, image_no: u64) -> Arriving {
        let (mut read, write) = std::io::pipe().unwrap();
        self.request(image_no, write.as_raw_fd());
        drop(write);
        std::thread::spawn(move || {
            let id =
                ImageId { rank: Rank(5), incarnation: Incarnation(0), image: ImageNo(image_no) };
            let (mut watcher, mut encoder) =
                (StreamChecker::new(), Encoder::new(id, Compression::Lz4));
            let (mut container, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
            loop {
                let got = read.read(&mut buffer).unwrap();
                if got == 0 {
                    break;
                }
                watcher.push(&buffer[..got])?;
                encoder.push(&buffer[..got], &mut container);
            }
            watcher.finish()?;
            let _ = encoder.finish(&mut container);
            Ok(container)
        })
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
    }

    /// Kills the rank and all that it has started, as the agent does.
    pub fn kill_group(&mut self) {
        self.kill();
        // SAFETY: no memory involved.
        unsafe { libc::kill(-(self.child.id() as i32), libc::SIGKILL) };
    }

    /// Waits for the end. After the time limit the process is killed.
    pub fn end(mut self, limit: Duration) -> End {
        let mut out = self.child.stdout.take().unwrap();
        let mut err = self.child.stderr.take().unwrap();
        let out = std::thread::spawn(move || {
            let mut text = String::new();
            out.read_to_string(&mut text).unwrap();
            text
        });
        let err = std::thread::spawn(move || {
            let mut text = String::new();
            err.read_to_string(&mut text).unwrap();
            text
        });
        let begun = Instant::now();
        let status = loop {
            self.answer_about_files();
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if begun.elapsed() > limit {
                eprintln!("pid {} hangs", self.child.id());
                self.child.kill().unwrap();
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        if let Some(feed) = self.feed {
            feed.join().unwrap();
        }
        End {
            code: status.code(),
            signal: status.signal(),
            out: out.join().unwrap(),
            err: err.join().unwrap(),
        }
    }
}

/// The raw stream of a container.
pub fn raw(container: &[u8]) -> Vec<u8> {
    let (mut decoder, mut raw) = (Decoder::new(), Vec::new());
    decoder.push(container, &mut raw).unwrap();
    decoder.finish().unwrap();
    raw
}

/// The first record of each kind: where its payload lies.
pub fn parts(image: &[u8]) -> BTreeMap<u32, Range<usize>> {
    let (mut found, mut at) = (BTreeMap::new(), 0);
    while at < image.len() {
        let kind = u32::from_le_bytes(image[at + 4..at + 8].try_into().unwrap());
        let len = u64::from_le_bytes(image[at + 24..at + 32].try_into().unwrap()) as usize;
        let payload = at + size_of::<RecordHeader>()..at + size_of::<RecordHeader>() + len;
        at = payload.end;
        found.entry(kind).or_insert(payload);
    }
    found
}

/// Writes the digest of the tables into the process state.
pub fn sign(image: &mut [u8], parts: &BTreeMap<u32, Range<usize>>) {
    let table = |kind| &image[parts[&kind].clone()];
    let all = [
        kind::PROCESS,
        kind::DESCRIPTORS,
        kind::FILES,
        kind::MAPS,
        kind::STRINGS,
        kind::THREADS,
        kind::TIMERS,
        kind::SIGNALS,
        kind::LOCKS,
        kind::RANGES,
        kind::WATCHES,
    ];
    let digest = validate::digest(all.map(table));
    let at = parts[&kind::PROCESS].start + offset_of!(ProcessState, digest);
    image[at..at + 8].copy_from_slice(&digest.to_le_bytes());
}
