//! Output of ranks to files (`-outfile-pattern`, `-errfile-pattern`), as under Hydra.
//!
//! Guarantees: every file is there before a rank starts, empty if the job is a new one. So a path
//! that cannot be written is an error at once. Text goes to a file once, over all incarnations. Few
//! descriptors are open, however many ranks there are. A file that cannot be written any more is
//! reported once, and the job's exit code shows it.

use crate::tuning::OUTPUT_FILES_OPEN_MAX;
use anyhow::Context;
use ftmpi_options::os_text::to_path;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Why output cannot go to a file.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The directory of the file is missing.
    #[error("{file} cannot be written: the directory {directory} does not exist; make it first")]
    NoDirectory {
        /// The file.
        file: PathBuf,
        /// Its directory.
        directory: PathBuf,
    },
    /// The path is a directory.
    #[error("{0} is a directory; name a file in it")]
    IsDirectory(PathBuf),
    /// The file cannot be written.
    #[error("{0} cannot be written: {1}; name another file")]
    NotWritable(PathBuf, io::Error),
    /// The pattern has an unknown letter.
    #[error("`%{letter}` in `{pattern}`: there are %r (rank), %h (host), %%")]
    UnknownLetter {
        /// The letter after the percent sign.
        letter: String,
        /// The pattern.
        pattern: String,
    },
    /// The pattern is empty.
    #[error("the pattern is empty")]
    EmptyPattern,
    /// A file that was written before cannot be written any more.
    #[error("{0}: {1}; output of rank {2} is lost (this is said once)")]
    Lost(PathBuf, io::Error, u32),
}

impl FileError {
    /// Why this path cannot be opened for writing.
    fn opening(path: &Path, e: io::Error) -> Self {
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        match directory {
            _ if path.is_dir() => Self::IsDirectory(path.to_owned()),
            Some(directory) if !directory.exists() => {
                let (file, directory) = (path.to_owned(), directory.to_owned());
                Self::NoDirectory { file, directory }
            }
            _ => Self::NotWritable(path.to_owned(), e),
        }
    }
}

/// Checks that a file can be written later. A file that is not there is made and removed again.
///
/// # Errors
/// The file cannot be written.
pub fn writable(path: &Path) -> Result<(), FileError> {
    let known = std::fs::metadata(path);
    if known.as_ref().is_ok_and(|about| !about.is_file() && !about.is_dir()) {
        // To open a pipe would wait for its reader.
        return Ok(());
    }
    let opened = OpenOptions::new().create(true).append(true).open(path);
    opened.map_err(|e| FileError::opening(path, e))?;
    // A symbolic link is the user's, also if nothing was behind it.
    if known.is_err() && !std::fs::symlink_metadata(path).is_ok_and(|about| about.is_symlink()) {
        let _ = std::fs::remove_file(path);
    }
    Ok(())
}

/// The file of each rank, for one stream.
#[derive(Debug, Default)]
pub struct Files {
    /// By rank; empty if the stream does not go to files.
    paths: Vec<PathBuf>,
    open: HashMap<PathBuf, File>,
    broken: bool,
}

impl Files {
    /// Makes the files that the pattern of this option names; `hosts` is the host of each rank.
    /// `again`: the contents stay, because the job goes on.
    ///
    /// # Errors
    /// The pattern is wrong, or a file cannot be made.
    pub fn create(
        option: &str,
        pattern: Option<&str>,
        hosts: &[&str],
        again: bool,
    ) -> anyhow::Result<Self> {
        Self::make(pattern, hosts, again).with_context(|| option.to_owned())
    }

    fn make(pattern: Option<&str>, hosts: &[&str], again: bool) -> Result<Self, FileError> {
        let mut files = Self::default();
        let Some(pattern) = pattern else { return Ok(files) };
        for (rank, host) in hosts.iter().enumerate() {
            let path = expand(pattern, rank, host)?;
            if !files.paths.contains(&path) {
                let mut options = OpenOptions::new();
                options.create(true).write(true).truncate(!again);
                options.open(&path).map_err(|e| FileError::opening(&path, e))?;
            }
            files.paths.push(path);
        }
        Ok(files)
    }

    /// Whether this stream goes to files.
    pub fn are_used(&self) -> bool {
        !self.paths.is_empty()
    }

    /// Adds text of a rank.
    ///
    /// # Errors
    /// The first time that a file cannot be written: [`FileError::Lost`].
    pub fn write(&mut self, rank: u32, text: &[u8]) -> Result<(), FileError> {
        let Some(path) = self.paths.get(rank as usize) else { return Ok(()) };
        let result = Self::file(&mut self.open, path).and_then(|file| file.write_all(text));
        match result {
            Err(e) if !std::mem::replace(&mut self.broken, true) => {
                Err(FileError::Lost(path.clone(), e, rank))
            }
            _ => Ok(()),
        }
    }

    /// Whether text was lost.
    pub fn are_broken(&self) -> bool {
        self.broken
    }

    fn file<'a>(
        open: &'a mut HashMap<PathBuf, File>,
        path: &Path,
    ) -> std::io::Result<&'a mut File> {
        if !open.contains_key(path) {
            if open.len() >= OUTPUT_FILES_OPEN_MAX {
                open.clear();
            }
            let file = OpenOptions::new().append(true).open(path)?;
            open.insert(path.to_owned(), file);
        }
        Ok(open.get_mut(path).expect("just there"))
    }
}

/// A path by a pattern.
fn expand(pattern: &str, rank: usize, host: &str) -> Result<PathBuf, FileError> {
    match expand_pattern(pattern, rank, host)? {
        path if path.is_empty() => Err(FileError::EmptyPattern),
        path => Ok(to_path(&path)),
    }
}

/// Puts rank and host into a pattern.
///
/// # Errors
/// The pattern has an unknown letter.
pub fn expand_pattern(pattern: &str, rank: usize, host: &str) -> Result<String, FileError> {
    let mut path = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        match (c, if c == '%' { rest.next() } else { None }) {
            ('%', Some('r')) => path.push_str(&rank.to_string()),
            ('%', Some('h')) => path.push_str(host),
            // There is one group of processes and one proxy.
            ('%', Some('g' | 'p')) => path.push('0'),
            ('%', Some('%')) => path.push('%'),
            ('%', other) => {
                let letter = other.map_or(String::new(), String::from);
                return Err(FileError::UnknownLetter { letter, pattern: pattern.to_owned() });
            }
            (c, _) => path.push(c),
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_later_is_an_error_now() {
        let folder = tempfile::tempdir().unwrap();
        let new = folder.path().join("report.json");
        writable(&new).unwrap();
        assert!(!new.exists(), "the check leaves nothing");
        std::fs::write(&new, "old").unwrap();
        writable(&new).unwrap();
        assert_eq!(std::fs::read_to_string(&new).unwrap(), "old");
        let error = |path: &Path| writable(path).unwrap_err().to_string();
        let missing = error(&folder.path().join("no/such/report.json"));
        assert!(missing.contains("no/such does not exist; make it first"), "{missing}");
        assert!(error(folder.path()).contains("is a directory"));
        assert!(error(Path::new("/proc/report.json")).contains("cannot be written"));
        writable(Path::new("/dev/null")).unwrap();
    }

    #[test]
    fn patterns_name_rank_and_host() {
        assert_eq!(expand("out.%r", 12, "a").unwrap(), Path::new("out.12"));
        assert_eq!(expand("%h/%r%%.txt", 3, "node7").unwrap(), Path::new("node7/3%.txt"));
        assert!(expand("out.%x", 0, "a").is_err());
        assert!(expand("out.%", 0, "a").is_err());
        assert!(expand("", 0, "a").is_err());
    }

    #[test]
    fn text_goes_to_the_file_of_its_rank_and_a_new_job_begins_empty() {
        let folder = tempfile::tempdir().unwrap();
        let pattern = folder.path().join("o-%r").to_string_lossy().into_owned();
        std::fs::write(folder.path().join("o-1"), "of an earlier job").unwrap();
        let mut files =
            Files::create("-outfile-pattern", Some(&pattern), &["a", "a"], false).unwrap();
        for piece in ["one ", "two"] {
            files.write(1, piece.as_bytes()).unwrap();
        }
        assert_eq!(std::fs::read_to_string(folder.path().join("o-1")).unwrap(), "one two");
        assert_eq!(std::fs::read_to_string(folder.path().join("o-0")).unwrap(), "");
        assert!(!files.are_broken());
        let missing = folder.path().join("no/such/%r").to_string_lossy().into_owned();
        assert!(Files::create("-outfile-pattern", Some(&missing), &["a"], false).is_err());
    }

    #[test]
    fn a_full_disk_is_reported_once() {
        let mut files = Files { paths: vec!["/dev/full".into()], ..Files::default() };
        assert!(files.write(0, b"x").unwrap_err().to_string().contains("/dev/full"));
        assert!(files.write(0, b"x").is_ok());
        assert!(files.are_broken());
    }
}
