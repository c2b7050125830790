//! Starts the process of a rank: environment, preloaded libraries, descriptors, limits.
//!
//! Guarantees: the process has its descriptors at the numbers of `wire::control::fds`, those that
//! the launcher's caller passed on, and no others. Its environment has the same length in every
//! incarnation, because an image fits only if the stack begins at the same address. It maps exactly
//! our libmpi, with any search path that the program carries. It dies with the agent.

use super::actual_command;
use super::from_caller::Given;
use super::held::{Executable, OtherProgram};
use super::kept_programs::SharedPrograms;
use super::libraries;
use super::memory_binding::KernelPolicy;
use crate::agent_protocol::{ActualCommand, Job, Program, Start};
use crate::cpu_baseline::TUNABLES_ENV;
use crate::no_process::no_process;
use crate::os_text::OsText;
use crate::program::{self, ProgramError, ProgramFacts};
use crate::tuning::{RANK_OOM_SCORE, STANDBY_OOM_SCORE};
use ftmpi_checkpoint::inheritance;
use ftmpi_checkpoint::launch::{self, StackLimit};
use ftmpi_options::os_text::{decode, of_path, to_path};
use ftmpi_wire::Rank;
use ftmpi_wire::control::{RANK_ENV, RankEnv, fds};
use ftmpi_wire::new_processes::World;
use rustix::fs::{Mode, OFlags};
use rustix::thread::CpuSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Descriptors for the new process.
#[derive(Debug)]
pub struct Descriptors {
    /// The rank's end of the control socket.
    pub control: OwnedFd,
    /// The status page.
    pub status: OwnedFd,
    /// The image to restore, if any.
    pub image: Option<OwnedFd>,
    /// What the launcher's caller passed on.
    pub from_caller: Vec<Given>,
    /// Whether standard input is a pipe from the agent; else it is the null device.
    pub fed: bool,
    /// Whether the process is a standby: the end of its image comes later.
    pub standby: bool,
}

/// Why a rank could not be started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The program cannot be a rank.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The program is not the one that the job was started with.
    #[error(transparent)]
    OtherProgram(#[from] OtherProgram),
    /// The working directory cannot be entered.
    #[error("the working directory {0} cannot be entered: {1}")]
    Directory(String, io::Error),
    /// The system cannot start the process.
    #[error("{0} cannot be started: {reason}", reason = why_not_executed(.1))]
    System(String, io::Error),
}

impl SpawnError {
    /// Exit code for the job.
    #[must_use]
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Program(error) => error.exit_code(),
            Self::OtherProgram(_) | Self::Directory(..) | Self::System(..) => 126,
        }
    }
}

/// The reason, with what to do where that is known.
fn why_not_executed(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ArgumentListTooLong => format!(
            "{error}: its arguments and environment are longer than a quarter of the limit on the \
             stack; shorten them, or raise the limit (ulimit -s)"
        ),
        io::ErrorKind::ExecutableFileBusy => {
            format!("{error}: somebody writes the file now; start the job again after that")
        }
        _ => no_process(error),
    }
}

/// Starts the process; the result names the program and the file that was executed. `died` is
/// [`RankEnv::died`].
///
/// # Errors
/// See [`SpawnError`].
pub fn spawn(
    job: &Job,
    start: &Start,
    descriptors: &Descriptors,
    died: u64,
    bound: Bound,
    programs: &SharedPrograms,
) -> Result<(Child, Spawned), SpawnError> {
    let restored = descriptors.image.is_some();
    let recorded = start.actual_command.as_ref().filter(|_| restored);
    let (mut command, spawned) = match recorded {
        Some(recorded) if !recorded.contained => {
            let command = as_recorded(recorded);
            let path = PathBuf::from(command.get_program());
            (command, Spawned { path: path.clone(), executed: path, replaced: Vec::new() })
        }
        _ => as_commanded(job, start, programs, restored)?,
    };
    let env = RankEnv {
        rank: start.rank,
        incarnation: start.incarnation,
        restore: restored,
        standby: descriptors.standby,
        died,
        together: job.view.traits.all_return(),
        program: match recorded {
            Some(recorded) if recorded.contained => RankEnv::mark_of(&recorded.file),
            _ => 0,
        },
    };
    command
        .env(RANK_ENV, env.encode())
        .stdin(if descriptors.fed { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut wanted: Vec<(RawFd, RawFd)> = vec![
        (descriptors.control.as_raw_fd(), fds::CONTROL),
        (descriptors.status.as_raw_fd(), fds::STATUS),
    ];
    wanted.extend(descriptors.from_caller.iter().map(|given| (given.from, given.to)));
    wanted.extend(descriptors.image.as_ref().map(|image| (image.as_raw_fd(), fds::IMAGE)));
    let stack = StackLimit { soft: job.stack_limit.0, hard: job.stack_limit.1 };
    let agent = rustix::process::getpid();
    let oom_score = match descriptors.standby {
        true => STANDBY_OOM_SCORE.to_string().into_bytes(),
        false => oom_score(),
    };
    // SAFETY: between fork and exec the closure makes system calls only: no allocation, no lock.
    unsafe {
        command.pre_exec(move || prepare(&wanted, stack, agent, &bound, &oom_score));
    }
    match command.spawn() {
        Ok(child) => Ok((child, spawned)),
        Err(e) => Err(SpawnError::System(spawned.path.display().to_string(), e)),
    }
}

/// What a process may use of its host.
#[derive(Debug)]
pub struct Bound {
    /// Processors, if not all.
    pub cpus: Option<CpuSet>,
    /// Memory, if not where the process touches it.
    pub memory: Option<KernelPolicy>,
}

/// What was started.
#[derive(Debug)]
pub struct Spawned {
    /// The program.
    pub path: PathBuf,
    /// The file that was executed.
    pub executed: PathBuf,
    /// Files that were replaced: what was held of them is used.
    pub replaced: Vec<PathBuf>,
}

/// The file to execute for a rank: its program, as the job was started with.
fn executable(
    number: u32,
    part: &Program,
    path: &OsStr,
    programs: &SharedPrograms,
) -> Result<(Executable, ProgramFacts), SpawnError> {
    if let Some(known) = programs.known(number) {
        let executable = known.executable()?;
        let facts = program::inspect(&executable.execute, &part.directory)?;
        return Ok((executable, facts));
    }
    let name = part.command.first().map(OsText::to_os).unwrap_or_default();
    let file = program::find(&name, &part.directory, path)?;
    let facts = program::inspect(&file, &part.directory)?;
    programs.begin(number, &file);
    Ok((Executable { path: file.clone(), execute: file }, facts))
}

/// The command of the job's command line.
fn as_commanded(
    job: &Job,
    start: &Start,
    programs: &SharedPrograms,
    restored: bool,
) -> Result<(Command, Spawned), SpawnError> {
    let number = job.program_of[start.rank.index()];
    let part = &job.programs[number as usize];
    let directory = part.directory.as_path();
    std::fs::read_dir(directory)
        .map_err(|e| SpawnError::Directory(directory.display().to_string(), e))?;
    let variable = |name: &str| {
        let found = part.environment.iter().rev().find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value.as_text())
    };
    let search = part.search_path();
    let (Executable { path, execute }, facts) = executable(number, part, &search, programs)?;
    let mut words = part.command.iter().map(OsText::to_os);
    let name = words.next().unwrap_or_default();
    let ours = libraries::library_directory();
    let mut variables = libraries::variables(&ours, &facts, variable);
    if let Some(baseline) = &job.cpu_baseline {
        baseline.add_to(&mut variables, variable(TUNABLES_ENV));
    }
    // (An image brings the contents of its libraries, or compares them.)
    let replaced = if restored { Vec::new() } else { programs.replaced_libraries(start.rank) };
    if let Some(links) = replaced.first().and_then(|(_, link)| link.parent()) {
        // The auditor leads to the library that is in our directory now.
        let audited = !replaced.iter().any(|(path, _)| path.starts_with(&ours));
        variables.retain(|(name, _)| audited || *name != launch::AUDIT_ENV);
        for (name, value) in &mut variables {
            match *name {
                launch::PRELOAD_ENV => {
                    *value = with_links(value, &replaced, facts.search_is_first);
                }
                "LD_LIBRARY_PATH" => *value = format!("{}:{value}", of_path(links)),
                _ => {}
            }
        }
    }
    let plugins = if restored { None } else { programs.replaced_plugins(start.rank) };
    let world = job.view.worlds.iter().find(|world| world.has(start.rank));
    let world = world.copied().unwrap_or(World::first(job.view.size));
    let mut command = Command::new(&execute);
    command
        .arg0(name)
        .args(words)
        .current_dir(directory)
        .env_clear()
        .envs(part.environment.iter().map(|(key, value)| (key.to_os(), value.to_os())))
        // Scripts that were written for Hydra read these.
        .env("PMI_RANK", (start.rank.0 - world.first).to_string())
        .env("PMI_SIZE", world.size.to_string())
        .env("MPI_LOCALRANKID", job.local_rank_of[start.rank.index()].to_string())
        .env("MPI_LOCALNRANKS", ranks_on_host(job, start.rank, world).to_string())
        .envs(variables.iter().map(|(name, value)| (name, decode(value))));
    if let Some((links, _)) = &plugins {
        command.env(launch::LINKS_ENV, links);
    }
    let mut all: Vec<PathBuf> = replaced.into_iter().map(|(path, _)| path).collect();
    all.extend(plugins.into_iter().flat_map(|(_, paths)| paths));
    all.extend((path != execute).then(|| path.clone()));
    Ok((command, Spawned { path, executed: execute, replaced: all }))
}

/// The list of preloaded libraries with links in place of those that were replaced. Where the
/// program's own search paths come first, the links of all other libraries are preloaded, too.
fn with_links(preload: &str, replaced: &[(PathBuf, PathBuf)], all: bool) -> String {
    let link_of = |path: &str| {
        let found = replaced.iter().find(|(old, _)| *old == to_path(path));
        found.map_or_else(|| path.to_owned(), |(_, link)| of_path(link))
    };
    let mut list: Vec<String> =
        preload.split(':').filter(|path| !path.is_empty()).map(link_of).collect();
    for (_, link) in replaced.iter().filter(|_| all) {
        let link = of_path(link);
        if !list.contains(&link) {
            list.push(link);
        }
    }
    list.join(":")
}

/// How many ranks its host had at the start of the job, as `MPI_LOCALRANKID` counts them: the same
/// in every incarnation.
fn ranks_on_host(job: &Job, rank: Rank, world: World) -> usize {
    let nodes = &job.view.node_of;
    let of_world = world.processes().filter_map(|other| nodes.get(other as usize));
    of_world.filter(|node| **node == nodes[rank.index()]).count()
}

/// The command of the process that the image was taken of.
fn as_recorded(recorded: &ActualCommand) -> Command {
    let text = |bytes: &[u8]| OsStr::from_bytes(bytes).to_os_string();
    let mut command = Command::new(text(&recorded.file));
    let mut arguments = recorded.arguments.iter().map(|argument| text(argument));
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    command
        .args(arguments)
        .current_dir(text(&recorded.directory))
        .env_clear()
        .envs(recorded.environment.iter().filter_map(|text| actual_command::variable(text)));
    command
}

/// What the kernel is to think of a rank when memory is short: worse than of its agent.
fn oom_score() -> Vec<u8> {
    let own = std::fs::read_to_string("/proc/self/oom_score_adj").unwrap_or_default();
    let own: i32 = own.trim().parse().unwrap_or(0);
    (own + RANK_OOM_SCORE).min(1000).to_string().into_bytes()
}

/// A standby becomes its rank: the kernel is to think of it as of any other rank, and it may use
/// these processors, if not all. It has one thread yet.
pub fn promote(pid: u32, cpus: Option<&CpuSet>) {
    let _ = std::fs::write(format!("/proc/{pid}/oom_score_adj"), oom_score());
    let process = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    if let (Some(cpus), Some(process)) = (cpus, process) {
        // If the processors are gone by now, the system chooses.
        let _ = rustix::thread::sched_setaffinity(Some(process), cpus);
    }
}

/// Runs in the new process, before the program.
fn prepare(
    wanted: &[(RawFd, RawFd)],
    stack: StackLimit,
    agent: rustix::process::Pid,
    bound: &Bound,
    oom_score: &[u8],
) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    // The agent may have died before that took effect.
    if rustix::process::getppid() != Some(agent) {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    launch::prepare_child(stack)?;
    if let Some(policy) = &bound.memory {
        // The kernel took it when the job began.
        policy.apply()?;
    }
    if let Some(cpus) = &bound.cpus {
        // If the processors are gone by now, the system chooses.
        let _ = rustix::thread::sched_setaffinity(None, cpus);
    }
    // When memory is short, a rank is killed and not its agent. (A rank can be brought back.)
    let file = rustix::fs::open(c"/proc/self/oom_score_adj", OFlags::WRONLY, Mode::empty());
    if let Ok(file) = file {
        let _ = rustix::io::write(file, oom_score);
    }
    for (from, to) in wanted {
        if from == to {
            inheritance::keep_over_exec(*from);
            continue;
        }
        // SAFETY: a system call on two numbers; the target range is kept free by `reserve`.
        if unsafe { libc::dup2(*from, *to) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Reserves the numbers of `wire::control::fds`, so that no descriptor of the agent has one of them
/// between fork and exec of a rank. Allows descriptors beyond them.
///
/// # Errors
/// The hard limit on descriptors is too low.
pub fn reserve() -> io::Result<Vec<OwnedFd>> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    const WANTED: u64 = launch::DESCRIPTORS_MIN;
    // Many systems have this limit. A rank with few peers needs no more.
    const LIMIT_MIN: u64 = 1024;
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX);
    if limit.current.is_some_and(|current| current < WANTED) {
        let current = Some(WANTED.min(most));
        setrlimit(Resource::Nofile, Rlimit { current, maximum: limit.maximum })?;
    }
    if most < LIMIT_MIN {
        return Err(io::Error::other(format!(
            "the hard limit on open files is {most}, and ranks need {LIMIT_MIN}; raise it (ulimit -Hn)"
        )));
    }
    let null = File::open("/dev/null")?;
    [fds::CONTROL, fds::STATUS, fds::IMAGE]
        .into_iter()
        .map(|number| {
            let fd = rustix::io::fcntl_dupfd_cloexec(&null, number)?;
            if fd.as_raw_fd() == number {
                Ok(fd)
            } else {
                Err(io::Error::other(format!("descriptor {number} is taken")))
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    /// A pipe with a name that nobody writes stands for a file server that does not answer.
    #[test]
    fn a_file_that_does_not_answer_holds_nobody_else_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        std::fs::write(&path, "first").unwrap();
        let programs = SharedPrograms::default();
        programs.begin(0, &path);
        std::fs::remove_file(&path).unwrap();
        let mode = Mode::RUSR | Mode::WUSR | Mode::XUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let part = Program {
            command: vec![OsText::from(OsStr::new("program"))],
            environment: Vec::new(),
            directory: folder.path().into(),
            search: None,
        };
        let shared = programs.clone();
        std::thread::spawn(move || executable(0, &part, OsStr::new(""), &shared).is_ok());
        // The starter opens the pipe, and waits. A reader that waits lets a writer in.
        let begin = Instant::now();
        let flags = OFlags::WRONLY | OFlags::NONBLOCK;
        let writer = loop {
            match rustix::fs::open(&path, flags, Mode::empty()) {
                Ok(writer) => break writer,
                Err(_) => assert!(begin.elapsed() < Duration::from_secs(60), "nobody opens it"),
            }
            std::thread::yield_now();
        };
        let (sender, free) = mpsc::channel();
        std::thread::spawn(move || sender.send(programs.holds(&path)));
        assert_eq!(free.recv_timeout(Duration::from_secs(60)), Ok(true), "the programs are free");
        drop(writer);
    }
}
