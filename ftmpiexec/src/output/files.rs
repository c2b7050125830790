//! Output of ranks to files (`-outfile-pattern`, `-errfile-pattern`), as under Hydra.
//!
//! Guarantees: every file is there before a rank starts, empty if the job is a new one, so that a path that cannot be
//! written is told at once; text goes to it once, whatever life wrote it; few descriptors are held,
//! however many ranks there are; a file that cannot be written any more is told once, and the
//! job's exit code shows it.

use anyhow::Context;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Files held open at a time.
const OPEN_MAX: usize = 200;

/// The file of each rank, for one stream.
#[derive(Debug, Default)]
pub struct Files {
    /// By rank; empty: not to files.
    paths: Vec<PathBuf>,
    open: HashMap<PathBuf, File>,
    broken: bool,
}

impl Files {
    /// Makes the files that the pattern names; `hosts` is the host of each rank. `again`: what is in them
    /// stays, because the job goes on.
    ///
    /// # Errors
    /// The pattern makes no sense, or a file cannot be made.
    pub fn create(
        option: &str,
        pattern: Option<&str>,
        hosts: &[&str],
        again: bool,
    ) -> anyhow::Result<Self> {
        let mut files = Self::default();
        let Some(pattern) = pattern else { return Ok(files) };
        for (rank, host) in hosts.iter().enumerate() {
            let path = expand(pattern, rank, host).with_context(|| option.to_owned())?;
            if !files.paths.contains(&path) {
                let mut options = OpenOptions::new();
                options.create(true).write(true).truncate(!again);
                options.open(&path).with_context(|| format!("{option}: {}", path.display()))?;
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
    /// One line, the first time that a file cannot be written.
    pub fn write(&mut self, rank: u32, text: &[u8]) -> Result<(), String> {
        let Some(path) = self.paths.get(rank as usize) else { return Ok(()) };
        let result = Self::file(&mut self.open, path).and_then(|file| file.write_all(text));
        match result {
            Err(e) if !std::mem::replace(&mut self.broken, true) => {
                Err(format!("{}: {e}; output of rank {rank} is lost (told once)", path.display()))
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
            if open.len() >= OPEN_MAX {
                open.clear();
            }
            let file = OpenOptions::new().append(true).open(path)?;
            open.insert(path.to_owned(), file);
        }
        Ok(open.get_mut(path).expect("just there"))
    }
}

/// Puts rank and host into a pattern.
fn expand(pattern: &str, rank: usize, host: &str) -> anyhow::Result<PathBuf> {
    let mut path = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        match (c, if c == '%' { rest.next() } else { None }) {
            ('%', Some('r')) => path.push_str(&rank.to_string()),
            ('%', Some('h')) => path.push_str(host),
            // One group of processes and one proxy for all, as far as names of files go.
            ('%', Some('g' | 'p')) => path.push('0'),
            ('%', Some('%')) => path.push('%'),
            ('%', other) => {
                let other = other.map_or(String::new(), String::from);
                anyhow::bail!("`%{other}` in `{pattern}`: there are %r (rank), %h (host), %%")
            }
            (c, _) => path.push(c),
        }
    }
    if path.is_empty() {
        anyhow::bail!("the pattern is empty");
    }
    Ok(path.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_name_rank_and_host() {
        assert_eq!(expand("out.%r", 12, "a").unwrap(), Path::new("out.12"));
        assert_eq!(expand("%h/%r%%.txt", 3, "node7").unwrap(), Path::new("node7/3%.txt"));
        assert!(expand("out.%x", 0, "a").is_err());
        assert!(expand("out.%", 0, "a").is_err());
        assert!(expand("", 0, "a").is_err());
    }

    #[test]
    fn text_goes_to_the_rank_s_file_and_a_new_job_begins_empty() {
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
    fn a_full_disk_is_told_once() {
        let mut files = Files { paths: vec!["/dev/full".into()], ..Files::default() };
        assert!(files.write(0, b"x").unwrap_err().contains("/dev/full"));
        assert!(files.write(0, b"x").is_ok());
        assert!(files.are_broken());
    }
}
