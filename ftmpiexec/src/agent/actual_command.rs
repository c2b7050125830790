//! What the process of a rank really executed, if the command line names something else. Behind a
//! wrapper script or `env`, the process that calls `MPI_Init` is another program.
//!
//! An image fits only a process that was executed in the same way (`ftmpi_checkpoint::launch`): the
//! same file by the same path, with arguments and environment of the same length. A restart without
//! an image runs the wrapper again. A restart from an image executes the program directly and
//! leaves out what the wrapper would do after the program.
//!
//! A process in a container of its own (`ftmpiexec -n 4 apptainer exec IMAGE ./prog`) is restored
//! in a container that the command makes anew: see [`ActualCommand::contained`].

use crate::agent_protocol::ActualCommand;
use crate::tuning::{BLOCK_BYTES_MAX, PATH_BYTES_MAX};
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Key of the executed file's name in the auxiliary vector.
const AT_EXECFN: u64 = 31;

/// A process, and what was started in its place.
#[derive(Debug)]
pub struct CommandLook {
    pub pid: u32,
    pub started: u32,
    pub executed: PathBuf,
}

impl CommandLook {
    /// See [`find`]. The file may be on a server that does not answer.
    pub fn find(&self) -> Option<ActualCommand> {
        find(self.pid, self.started, &self.executed)
    }
}

/// How the process `pid` was executed. `None` if it is the process `started` with the file `ours`,
/// or if the system does not tell.
fn find(pid: u32, started: u32, ours: &Path) -> Option<ActualCommand> {
    let file = executed_file(pid)?;
    if pid == started && file == ours {
        return None;
    }
    let directory = fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
    let contained = is_elsewhere(pid);
    let same = |path: &Path| {
        let theirs = fs::metadata(format!("/proc/{pid}/exe")).ok()?;
        let found = fs::metadata(path).ok()?;
        Some((found.dev(), found.ino()) == (theirs.dev(), theirs.ino()))
    };
    // The kernel finds the interpreter of a script. For a program the path must still lead to the
    // file.
    let at = directory.join(&file);
    let script = fs::File::open(&at).ok().is_some_and(|mut file| {
        let mut start = [0; 2];
        file.read_exact(&mut start).is_ok() && &start == b"#!"
    });
    if !contained && !script && same(&at) != Some(true) {
        return None;
    }
    Some(ActualCommand {
        file: file.into_os_string().into_vec(),
        arguments: block(pid, "cmdline")?,
        environment: block(pid, "environ")?,
        directory: directory.into_os_string().into_vec(),
        contained,
    })
}

/// Whether a process sees other files, users or processes than this one.
fn is_elsewhere(pid: u32) -> bool {
    ["ns/mnt", "ns/user", "ns/pid", "root"].iter().any(|what| {
        let (theirs, own) = (format!("/proc/{pid}/{what}"), format!("/proc/self/{what}"));
        // What cannot be read is another user's.
        fs::read_link(theirs).ok().is_some_and(|theirs| fs::read_link(own).ok() != Some(theirs))
    })
}

/// Zero-separated texts.
fn block(pid: u32, name: &str) -> Option<Vec<Vec<u8>>> {
    let mut bytes = Vec::new();
    let file = fs::File::open(format!("/proc/{pid}/{name}")).ok()?;
    file.take(BLOCK_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let texts = bytes.strip_suffix(&[0])?;
    Some(texts.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect())
}

/// The name that was given to `execve`.
fn executed_file(pid: u32) -> Option<PathBuf> {
    let vector = fs::read(format!("/proc/{pid}/auxv")).ok()?;
    let word = |bytes: &[u8]| Some(u64::from_ne_bytes(bytes.try_into().ok()?));
    let at = vector
        .chunks_exact(16)
        .find(|pair| word(&pair[..8]) == Some(AT_EXECFN))
        .and_then(|pair| word(&pair[8..]))?;
    let memory = fs::File::open(format!("/proc/{pid}/mem")).ok()?;
    let mut name = vec![0; PATH_BYTES_MAX];
    // The name lies near the end of the stack, so the read may be short.
    let count = memory.read_at(&mut name, at).ok()?;
    let end = name[..count].iter().position(|byte| *byte == 0)?;
    name.truncate(end);
    Some(PathBuf::from(OsString::from_vec(name)))
}

/// `KEY=value` as two parts.
pub fn variable(text: &[u8]) -> Option<(OsString, OsString)> {
    // A name may begin with `=`: search from the second byte.
    let at = text.iter().skip(1).position(|byte| *byte == b'=')? + 1;
    let part = |bytes: &[u8]| std::ffi::OsStr::from_bytes(bytes).to_os_string();
    Some((part(&text[..at]), part(&text[at + 1..])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_knows_how_it_was_executed() {
        let own = std::process::id();
        let file = executed_file(own).unwrap();
        assert!(find(own, own, &file).is_none(), "the started program is no wrapper");
        let executed = find(own, 0, Path::new("/bin/sh")).unwrap();
        assert_eq!(executed.file, file.into_os_string().into_vec());
        assert!(!executed.environment.is_empty());
        assert_eq!(variable(b"A=b=c"), Some(("A".into(), "b=c".into())));
        assert_eq!(variable(b"nothing"), None);
        assert!(!executed.contained);
    }
}
