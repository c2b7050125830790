//! Files that return to a wave with the ranks that wrote them (`ftmpi_checkpoint::undo`).
//!
//! Guarantees: no incarnation that begins from a wave runs before the files that ranks changed
//! after the wave are as they were at the wave. Every agent looks at all files; where agents share
//! them, the first one does the work.

use super::Agent;
use super::errors::FilesError;
use crate::agent_protocol::Start;
use ftmpi_checkpoint::undo;
use ftmpi_wire::{ImageNo, Incarnation};
use std::path::{Path, PathBuf};

/// The files to take back, and whose changes are undone.
#[derive(Debug)]
pub struct Files {
    /// The job's number.
    pub job: u64,
    /// The files' paths.
    pub paths: Vec<String>,
    /// The journals begin at this wave.
    pub since: ImageNo,
    /// The latest incarnation of each rank.
    pub incarnations: Vec<Incarnation>,
}

impl Files {
    /// Takes the files back to what they were at a wave; 0: at the start of the program.
    ///
    /// # Errors
    /// Names the first file that cannot be taken back.
    pub async fn take_back(self, wave: ImageNo) -> Result<(), FilesError> {
        if self.job == 0 || self.paths.is_empty() {
            return Ok(());
        }
        if wave < self.since {
            let (path, since) = (self.paths[0].clone(), self.since);
            return Err(FilesError::TooOld { path, since });
        }
        let work = move || {
            let Self { job, paths, incarnations, .. } = self;
            let is_over = |rank: u32, incarnation: u32| {
                incarnations.get(rank as usize).is_some_and(|latest| incarnation < latest.0)
            };
            for path in paths {
                if let Err(e) = undo::roll_back(Path::new(&path), job, wave.0, &is_over) {
                    return Err(FilesError::Journal { path, wave, why: e.to_string() });
                }
            }
            Ok(())
        };
        tokio::task::spawn_blocking(work).await.map_err(|e| FilesError::Task(e.to_string()))?
    }
}

impl Agent {
    /// The files that return with an incarnation which begins now.
    pub(super) fn files(&self, start: &Start) -> Files {
        let job = self.job.as_ref().map_or(0, |job| job.view.files);
        let incarnations = self.directory.borrow().incarnations.clone();
        Files { job, paths: start.files.clone(), since: start.files_since, incarnations }
    }

    /// Removes the journals of these files: no rank returns to a wave any more.
    pub(super) fn forget_files(&mut self, paths: &[String]) {
        let Some(job) = self.job.as_ref().map(|job| job.view.files).filter(|job| *job != 0) else {
            return;
        };
        for path in paths.iter().map(PathBuf::from) {
            if let Err(e) = undo::forget(&path, job) {
                self.link.notice(format!("the journal of '{}' stays: {e}", path.display()));
            }
        }
    }
}
