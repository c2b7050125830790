//! Files that return to a wave with the ranks that wrote them (`ftmpi_checkpoint::undo`).
//!
//! Guarantees: no life that begins from a wave runs before the files that ranks changed after it are as
//! they were then. Every agent looks at all of them; where they are shared, the first one does the work.

use super::Agent;
use crate::agent_protocol::Start;
use ftmpi_checkpoint::undo;
use ftmpi_wire::{ImageNo, Incarnation};
use std::path::{Path, PathBuf};

/// What there is to take back, and whose deeds.
#[derive(Debug)]
pub struct Files {
    /// Number of the job.
    pub job: u64,
    /// Their paths.
    pub paths: Vec<String>,
    /// What was done to them before this wave is forgotten.
    pub since: ImageNo,
    /// The latest life of each rank.
    pub lives: Vec<Incarnation>,
}

impl Files {
    /// Takes them back to what they were at a wave; 0: at the beginning.
    ///
    /// # Errors
    /// Which one cannot be, and why.
    pub async fn take_back(self, wave: ImageNo) -> Result<(), String> {
        if self.job == 0 || self.paths.is_empty() {
            return Ok(());
        }
        if wave < self.since {
            let path = &self.paths[0];
            return Err(format!(
                "no wave is left that can be read, and the files that the program changed ('{path}') can \
                 return to wave {} only; remove them and start anew",
                self.since
            ));
        }
        let work = move || {
            let Self { job, paths, lives, .. } = self;
            let is_over = |rank: u32, incarnation: u32| {
                lives.get(rank as usize).is_some_and(|life| incarnation < life.0)
            };
            for path in paths {
                undo::roll_back(Path::new(&path), job, wave.0, &is_over).map_err(|e| {
                    format!(
                        "the file '{path}' cannot be taken back to what it was at wave {wave}: {e}"
                    )
                })?;
            }
            Ok(())
        };
        tokio::task::spawn_blocking(work).await.map_err(|e| e.to_string())?
    }
}

impl Agent {
    /// All that concerns a life that begins now.
    pub(super) fn files(&self, start: &Start) -> Files {
        let job = self.job.as_ref().map_or(0, |job| job.view.files);
        let lives = self.directory.borrow().incarnations.clone();
        Files { job, paths: start.files.clone(), since: start.files_since, lives }
    }

    /// Nobody returns any more.
    pub(super) fn forget_files(&mut self, paths: &[String]) {
        let Some(job) = self.job.as_ref().map(|job| job.view.files).filter(|job| *job != 0) else {
            return;
        };
        for path in paths.iter().map(PathBuf::from) {
            if let Err(e) = undo::forget(&path, job) {
                self.notice(format!("the journal of '{}' stays: {e}", path.display()));
            }
        }
    }
}
