//! Running jobs, as their users find and ask them: the folder where launchers register, and the
//! client of a launcher's socket (`ftmpi_wire::job_control`).
//!
//! Guarantees: only folders of this user that nobody else can write are used. A launcher that died
//! leaves an entry that is not listed, and that the next launcher removes. An answer that is too
//! long, or not of this version, is an error; nothing waits for ever unless the caller says so.
//!
//! An entry has the process number of the launcher as its name. It is a link to the directory of
//! the job, or a folder with the socket alone where the job has no directory.

use crate::job_state::{JobLock, PLAN, directory_of_job};
use crate::private_directory::{Standing, make};
use ftmpi_wire::job_control::{Answer, REQUEST_BYTES_MAX, Request, SOCKET, Verb};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of one line of an answer at the most: the state of 16,384 ranks fits.
const LINE_BYTES_MAX: u64 = 64 << 20;

/// Why a job cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// No job of this user runs here.
    #[error("no job of yours runs on this host; ftmpi-ctl works on the host of ftmpiexec")]
    NoJob,
    /// It is not clear which job is meant.
    #[error("{} jobs of yours run on this host; name one: ftmpi-ctl {} status", .0.len(), .0[0])]
    Several(Vec<u32>),
    /// The job that was named is not known.
    #[error(
        "`{0}` is neither the directory of a job nor the process number of a launcher; ftmpi-ctl list \
         shows the running jobs"
    )]
    Unknown(String),
    /// A directory without a job was named.
    #[error("{0} is not the directory of a job; ftmpi-ctl list shows the running jobs")]
    NotAJob(String),
    /// Nobody works on the job.
    #[error("no launcher works on the job in {0}; to go on with it: ftmpiexec --restart {0}")]
    NotRunning(String),
    /// The launcher is on another host.
    #[error(
        "the launcher of the job in {directory} does not answer here: it is {owner}; call ftmpi-ctl \
         on that host"
    )]
    Elsewhere {
        /// The directory.
        directory: String,
        /// Who works on it.
        owner: String,
    },
    /// The socket cannot be used.
    #[error("the launcher of the job in {0}: {1}")]
    Io(String, io::Error),
    /// The launcher did not answer in time.
    #[error(
        "the launcher of the job in {0} does not answer; it may be stopped (kill -CONT lets it go on)"
    )]
    Silent(String),
    /// The answer makes no sense here.
    #[error("the launcher of the job in {0} is of another version of ftmpi: use its own ftmpi-ctl")]
    OtherVersion(String),
    /// The launcher ended before the answer did.
    #[error("the job ended before that was done")]
    Ended,
}

/// A running job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningJob {
    /// The process of its launcher.
    pub process: u32,
    /// Where its socket is.
    pub directory: PathBuf,
}

/// The folders in which launchers of this user may have registered, best first.
#[must_use]
pub fn folders() -> Vec<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let own = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let mut folders: Vec<PathBuf> =
        own.into_iter().filter(|path| path.is_absolute()).map(|path| path.join("ftmpi")).collect();
    folders.push(PathBuf::from(format!("/run/user/{user}/ftmpi")));
    folders.push(PathBuf::from(format!("/tmp/ftmpi-{user}")));
    folders.dedup();
    folders
}

fn is_ours(folder: &Path) -> bool {
    Standing::of(folder).is_ok_and(|standing| standing.is_private())
}

/// Whether a launcher listens there.
fn is_alive(directory: &Path) -> bool {
    connect(directory).is_ok()
}

fn connect(directory: &Path) -> io::Result<UnixStream> {
    // The name of a socket must be short; the path of a descriptor is.
    let folder = File::open(directory)?;
    UnixStream::connect(format!("/proc/self/fd/{}/{SOCKET}", folder.as_raw_fd()))
}

fn entries(folder: &Path) -> Vec<(u32, PathBuf)> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let number =
        |entry: std::fs::DirEntry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path()));
    entries.flatten().filter_map(number).collect()
}

/// The jobs of this user that run on this host, by the number of their launcher.
#[must_use]
pub fn running_jobs() -> Vec<RunningJob> {
    let folders = folders().into_iter().filter(|folder| is_ours(folder));
    let mut jobs: Vec<RunningJob> = folders
        .flat_map(|folder| entries(&folder))
        .filter(|(_, path)| is_alive(path))
        .map(|(process, path)| {
            let directory = path.canonicalize().unwrap_or(path);
            RunningJob { process, directory }
        })
        .collect();
    jobs.sort_by_key(|job| job.process);
    jobs.dedup_by_key(|job| job.process);
    jobs
}

/// Where the socket of a job is: of the job in this directory, of the launcher with this process
/// number, or of the only job that runs.
///
/// # Errors
/// There is no such job, or it is not clear which one is meant.
pub fn find(job: Option<&str>) -> Result<PathBuf, ControlError> {
    let Some(name) = job else {
        let jobs = running_jobs();
        return match &jobs[..] {
            [] => Err(ControlError::NoJob),
            [only] => Ok(only.directory.clone()),
            several => Err(ControlError::Several(several.iter().map(|job| job.process).collect())),
        };
    };
    if Path::new(name).is_dir() {
        return Ok(directory_of_job(Path::new(name)));
    }
    let process: Option<u32> = name.parse().ok();
    let known = running_jobs().into_iter().find(|job| Some(job.process) == process);
    known.map(|job| job.directory).ok_or_else(|| ControlError::Unknown(name.to_owned()))
}

/// The job of this user that has begun last on this host.
///
/// # Errors
/// There is none.
pub fn latest() -> Result<PathBuf, ControlError> {
    let folders = folders().into_iter().filter(|folder| is_ours(folder));
    let alive = folders.flat_map(|folder| entries(&folder)).filter(|(_, path)| is_alive(path));
    let begun =
        |path: &Path| std::fs::symlink_metadata(path).and_then(|about| about.modified()).ok();
    let newest = alive.max_by_key(|(process, path)| (begun(path), *process));
    let (_, path) = newest.ok_or(ControlError::NoJob)?;
    Ok(path.canonicalize().unwrap_or(path))
}

/// The lines of an answer.
#[derive(Debug)]
pub struct Answers {
    lines: BufReader<UnixStream>,
    name: String,
    over: bool,
}

/// Asks the launcher whose socket is in this directory. `limit`: how long each line of the answer
/// may take.
///
/// # Errors
/// The launcher cannot be reached.
pub fn ask(directory: &Path, verb: Verb, limit: Option<Duration>) -> Result<Answers, ControlError> {
    let name = directory.display().to_string();
    let socket = request(directory, verb)?;
    socket.set_read_timeout(limit).map_err(|e| ControlError::Io(name.clone(), e))?;
    Ok(Answers { lines: BufReader::new(socket), name, over: false })
}

/// Asks the launcher whose socket is in this directory, and gives the connection for its answers.
///
/// # Errors
/// The launcher cannot be reached.
pub fn request(directory: &Path, verb: Verb) -> Result<UnixStream, ControlError> {
    let name = directory.display().to_string();
    let failed = |e: io::Error| match e.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => not_there(directory),
        _ => ControlError::Io(name.clone(), e),
    };
    let mut socket = connect(directory).map_err(failed)?;
    let request = serde_json::to_string(&Request::new(verb));
    let mut request = request.map_err(|e| ControlError::Io(name.clone(), e.into()))?;
    request.push('\n');
    if request.len() as u64 > REQUEST_BYTES_MAX {
        let e = io::Error::new(io::ErrorKind::InvalidInput, "the request is too long");
        return Err(ControlError::Io(name, e));
    }
    socket.write_all(request.as_bytes()).map_err(failed)?;
    Ok(socket)
}

fn not_there(directory: &Path) -> ControlError {
    let name = directory.display().to_string();
    match JobLock::try_take(directory) {
        Ok(JobLock::Held(owner)) => ControlError::Elsewhere { directory: name, owner },
        _ if !directory.join(PLAN).exists() => ControlError::NotAJob(name),
        _ => ControlError::NotRunning(name),
    }
}

impl Iterator for Answers {
    type Item = Result<Answer, ControlError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let mut line = String::new();
        let read = (&mut self.lines).take(LINE_BYTES_MAX).read_line(&mut line);
        let answer = match read {
            Ok(0) => Err(ControlError::Ended),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                Err(ControlError::Silent(self.name.clone()))
            }
            Err(e) => Err(ControlError::Io(self.name.clone(), e)),
            Ok(_) => serde_json::from_str::<Answer>(&line)
                .map_err(|_| ControlError::OtherVersion(self.name.clone())),
        };
        self.over = !matches!(&answer, Ok(answer) if !answer.is_last());
        Some(answer)
    }
}

/// The entry of a launcher. It goes when it is dropped.
#[derive(Debug)]
pub struct Registration {
    entry: PathBuf,
    /// The folder is there for the socket alone.
    own: bool,
}

impl Registration {
    /// Registers the launcher with this process number. `directory`: that of its job, where the
    /// socket is; without one the entry is a folder for the socket.
    ///
    /// # Errors
    /// No folder can be used.
    pub fn make(process: u32, directory: Option<&Path>) -> io::Result<Self> {
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for folder in folders() {
            match Self::make_in(&folder, process, directory) {
                Ok(made) => return Ok(made),
                Err(e) => last = e,
            }
        }
        Err(last)
    }

    fn make_in(folder: &Path, process: u32, directory: Option<&Path>) -> io::Result<Self> {
        if !folder.parent().is_some_and(Path::is_dir) {
            return Err(io::ErrorKind::NotFound.into());
        }
        make(folder)?;
        if !is_ours(folder) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        for (number, path) in entries(folder) {
            if number == process || !is_alive(&path) {
                remove(&path);
            }
        }
        let entry = folder.join(process.to_string());
        match directory {
            Some(directory) => std::os::unix::fs::symlink(directory, &entry)?,
            None => {
                make(&entry)?;
            }
        }
        Ok(Self { entry, own: directory.is_none() })
    }

    /// The folder for the socket of a job without a directory.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.own.then_some(&*self.entry)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        remove(&self.entry);
        // Fails while other launchers are registered.
        if let Some(folder) = self.entry.parent() {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// Removes an entry: the link, or the folder with its socket, and nothing of a job.
fn remove(entry: &Path) {
    if std::fs::symlink_metadata(entry).is_ok_and(|about| about.is_symlink()) {
        let _ = std::fs::remove_file(entry);
    } else {
        let _ = std::fs::remove_file(entry.join(SOCKET));
        let _ = std::fs::remove_dir(entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    fn answering(directory: &Path, answer: &'static str) -> std::thread::JoinHandle<String> {
        let listener = UnixListener::bind(directory.join(SOCKET)).unwrap();
        std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut question = String::new();
            BufReader::new(&stream).read_line(&mut question).unwrap();
            (&stream).write_all(answer.as_bytes()).unwrap();
            question
        })
    }

    fn all(directory: &Path) -> Vec<Result<Answer, ControlError>> {
        ask(directory, Verb::Images, Some(Duration::from_secs(5))).unwrap().collect()
    }

    #[test]
    fn lines_come_until_the_last_one() {
        let folder = tempfile::tempdir().unwrap();
        let asked =
            answering(folder.path(), "{\"line\":\"a\"}\n{\"done\":\"b\"}\n{\"line\":\"c\"}\n");
        let answers: Vec<_> = all(folder.path()).into_iter().map(Result::unwrap).collect();
        assert_eq!(answers, [Answer::Line("a".into()), Answer::Done("b".into())]);
        assert_eq!(asked.join().unwrap(), "{\"version\":1,\"verb\":\"images\"}\n");
    }

    #[test]
    fn what_goes_wrong_has_a_next_step() {
        let folder = tempfile::tempdir().unwrap();
        let why = |e: &ControlError| e.to_string();
        let asked = || ask(folder.path(), Verb::Status, None).map(drop).unwrap_err();
        assert!(why(&asked()).contains("ftmpi-ctl list"), "{}", asked());
        std::fs::write(folder.path().join(PLAN), "").unwrap();
        assert!(why(&asked()).contains("ftmpiexec --restart"), "{}", asked());
        let other = answering(folder.path(), "{\"error\":\"`x` is unknown here\"}\n");
        let answers = all(folder.path());
        assert!(matches!(answers[..], [Err(ControlError::OtherVersion(_))]), "{answers:?}");
        other.join().unwrap();
        std::fs::remove_file(folder.path().join(SOCKET)).unwrap();
        let ended = answering(folder.path(), "{\"line\":\"a\"}\n");
        let answers = all(folder.path());
        assert!(matches!(answers[..], [Ok(_), Err(ControlError::Ended)]), "{answers:?}");
        ended.join().unwrap();
        assert!(why(&find(Some("no such job")).unwrap_err()).contains("ftmpi-ctl list"));
    }

    #[test]
    fn a_dead_entry_is_removed_and_a_living_one_stays() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("ftmpi");
        let job = tempfile::tempdir().unwrap();
        let living = UnixListener::bind(job.path().join(SOCKET)).unwrap();
        let first = Registration::make_in(&folder, 11, Some(job.path())).unwrap();
        let gone = tempfile::tempdir().unwrap();
        std::mem::forget(Registration::make_in(&folder, 12, Some(gone.path())).unwrap());
        let alone = Registration::make_in(&folder, 13, None).unwrap();
        let names: Vec<u32> = entries(&folder).into_iter().map(|(number, _)| number).collect();
        assert!(names.contains(&11) && !names.contains(&12), "{names:?}");
        assert_eq!(alone.folder(), Some(&*folder.join("13")));
        drop((first, alone));
        assert!(!folder.exists() && job.path().join(SOCKET).exists());
        drop(living);
    }

    #[test]
    fn a_folder_that_others_can_write_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("ftmpi");
        std::fs::create_dir(&folder).unwrap();
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(Registration::make_in(&folder, 11, None).is_err());
        assert!(!folder.join("11").exists());
    }
}
