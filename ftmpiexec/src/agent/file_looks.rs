//! The thread that looks at the files that images rest on ([`super::kept_files`]).
//!
//! Guarantees: the agent goes on to work, and to send heartbeats, while a file server does not
//! answer. One look at a time: the next one begins when the agent has taken what was found.
//! Files that are saved, but not noted, are saved again.

use super::kept_files::Need;
use super::saved_files::{Needs, SavedFiles};
use crate::tuning::{KEPT_ROOM_BYTES, KEPT_ROOM_SHARE, SAVED_AT_ONCE_BYTES};
use rustix::fs::{fstat, stat};
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::time::{Duration, Instant};

/// A file to look at.
#[derive(Debug)]
pub struct Subject {
    pub file: Arc<OwnedFd>,
    /// The path that once led to the file.
    pub path: Arc<PathBuf>,
    pub needs: BTreeSet<Need>,
    pub is_saved: bool,
}

impl Subject {
    /// Whether a job that is continued finds the file by its path.
    fn is_at_its_path(&self) -> bool {
        let (there, kept) = (stat(&*self.path), fstat(&self.file));
        there.is_ok_and(|there| {
            kept.is_ok_and(|kept| (there.st_dev, there.st_ino) == (kept.st_dev, kept.st_ino))
        })
    }

    /// Bytes that a copy takes.
    fn bytes(&self) -> u64 {
        fstat(&self.file).map_or(0, |stat| stat.st_size as u64)
    }

    /// Whether the file takes room that the program needs, and has no name.
    fn is_in_the_way(&self) -> bool {
        fstat(&self.file).is_ok_and(|stat| stat.st_nlink == 0) && !leaves_room(&self.file, 0)
    }
}

/// Whether the file system of a file has some room left when it has taken so many bytes more.
pub fn leaves_room(file: impl AsFd, more: u64) -> bool {
    let Ok(about) = rustix::fs::fstatvfs(file) else { return true };
    let blocks = more.div_ceil(about.f_frsize.max(1));
    let Some(free) = about.f_bavail.checked_sub(blocks) else { return about.f_blocks == 0 };
    // (A file system without blocks tells nothing.)
    about.f_blocks == 0
        || free >= about.f_blocks / KEPT_ROOM_SHARE
        || free.saturating_mul(about.f_frsize) >= KEPT_ROOM_BYTES
}

/// One look at all files.
#[derive(Debug)]
pub struct FileLook {
    pub files: BTreeMap<u64, Subject>,
    /// Where files are saved, if this host has the job's directory.
    pub saved: Option<Arc<SavedFiles>>,
    /// Needs of saved files, as they are noted there.
    pub noted: Arc<Needs>,
    /// Saved files that nobody needs any more.
    pub outdated: Vec<u64>,
    /// The agent ends: files of every size are saved.
    pub last: bool,
}

/// What a look has found.
#[derive(Debug, Default)]
pub struct Found {
    /// Files that were saved.
    pub saved: Vec<u64>,
    /// The needs that were noted, if they were.
    pub noted: Option<Needs>,
    /// Files without a name on a file system that has no room left.
    pub without_room: Vec<u64>,
}

impl FileLook {
    /// Saves files that their paths do not lead to any more, and finds those that are in the way.
    /// May take as long as a file server is silent.
    pub fn run(mut self) -> Found {
        let mut found = Found::default();
        if let Some(saved) = self.saved.take() {
            self.outdated.iter().for_each(|number| saved.forget(*number));
            self.save(&saved, &mut found);
        }
        let in_the_way = self.files.iter().filter(|(_, subject)| subject.is_in_the_way());
        found.without_room = in_the_way.map(|(number, _)| *number).collect();
        found
    }

    fn save(&mut self, saved: &SavedFiles, found: &mut Found) {
        let (since, mut left) = (Instant::now(), SAVED_AT_ONCE_BYTES);
        for (number, subject) in self.files.iter_mut().filter(|(_, subject)| !subject.is_saved) {
            let bytes = subject.bytes();
            if !self.last && bytes > left || subject.is_at_its_path() {
                continue;
            }
            left = left.saturating_sub(bytes);
            subject.is_saved = saved.save(*number, &subject.file, since).is_ok();
        }
        let listed = || self.files.iter().filter(|(_, subject)| subject.is_saved);
        let needs: Needs = listed().map(|(number, file)| (*number, file.needs.clone())).collect();
        // Without the list nothing is found again, as if nothing had been saved.
        if needs == *self.noted || saved.note(&needs).is_ok() {
            found.saved = needs.keys().copied().collect();
            found.noted = Some(needs);
        }
    }
}

/// The thread.
#[derive(Debug, Default)]
pub struct Looker(Option<Receiver<Found>>);

impl Looker {
    /// Begins a look, in a thread of its own.
    pub fn begin(&mut self, look: FileLook) {
        let (sender, receiver) = channel();
        let run = move || {
            let _ = sender.send(look.run());
        };
        // (Without a thread nothing is looked at; the next second brings the next attempt.)
        let begun = std::thread::Builder::new().name("kept-files".into()).spawn(run);
        self.0 = begun.is_ok().then_some(receiver);
    }

    /// Whether a look is under way.
    pub fn is_busy(&self) -> bool {
        self.0.is_some()
    }

    /// What the last look has found, once.
    pub fn found(&mut self) -> Option<Found> {
        let result = self.0.as_ref()?.try_recv();
        if !matches!(result, Err(TryRecvError::Empty)) {
            self.0 = None;
        }
        result.ok()
    }

    /// Waits for the look that is under way, if there is one.
    ///
    /// # Errors
    /// The look takes longer.
    pub fn wait(&mut self, limit: Duration) -> Result<Option<Found>, RecvTimeoutError> {
        let Some(receiver) = self.0.take() else { return Ok(None) };
        match receiver.recv_timeout(limit) {
            Err(RecvTimeoutError::Timeout) => Err(RecvTimeoutError::Timeout),
            found => Ok(found.ok()),
        }
    }
}
