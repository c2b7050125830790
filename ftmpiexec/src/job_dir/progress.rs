//! `progress`: what only the launcher knows and a later launcher must know. That is how much of
//! each rank's output was printed, the ranks' incarnations and processes, and whether input and job
//! have ended.
//!
//! Guarantees: after the death of the launcher the file is at most one piece of output behind what
//! was printed. It is never ahead, so no output is lost. Every record has its checksum, and a
//! damaged record counts as missing. A record is one write of 64 bytes. A task with time syncs the
//! file.
//!
//! ```text
//! header (64)   magic "FTMPIPRG" | version u32 | ranks u32 | input ended u32 | ended u32
//!               | exit code i32 | zeros | crc32c u32
//! record (64)   printed u64 × 2 | started u64 | incarnation u32 | pid u32 | host u32 | zeros
//!               | crc32c (of the rank and all before) u32
//! ```

use super::JobDirError;
use crate::agent_protocol::ProcessId;
use ftmpi_servers::job_state::{PROGRESS, PROGRESS_BYTES, ProgressHeader};
use ftmpi_servers::private_directory::{open_own, open_own_empty};
use ftmpi_wire::{Incarnation, Rank};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// The record of one rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RankProgress {
    /// Bytes of output and error that were printed.
    pub printed: [u64; 2],
    /// The latest incarnation.
    pub incarnation: Incarnation,
    /// The process of that incarnation.
    pub process: Option<ProcessId>,
    /// Index of the host where that process runs.
    pub host: u32,
}

/// The open file and its contents.
#[derive(Debug)]
pub struct Progress {
    file: Arc<File>,
    ranks: Vec<RankProgress>,
    input_ended: bool,
    ended: Option<i32>,
    dirty: bool,
    /// The first write that failed has been told.
    trouble: Option<io::Error>,
    reported: bool,
}

impl Progress {
    /// Makes the file of a new job.
    pub(super) fn create(directory: &Path, ranks: usize) -> io::Result<Self> {
        let file = open_own_empty(&directory.join(PROGRESS))?;
        let mut progress = Self::over(file, vec![RankProgress::default(); ranks]);
        progress.write_header();
        for rank in 0..ranks {
            progress.write(Rank(rank as u32));
        }
        match progress.trouble.take() {
            Some(error) => Err(error),
            None => Ok(progress),
        }
    }

    /// Opens the file of a job that is continued. A damaged or missing record counts as empty.
    pub(super) fn open(directory: &Path, ranks: usize) -> io::Result<Self> {
        let file = open_own(&directory.join(PROGRESS))?;
        let mut bytes = [0; PROGRESS_BYTES];
        let mut progress = Self::over(file, Vec::new());
        if progress.file.read_exact_at(&mut bytes, 0).is_ok()
            && let Some(header) = ProgressHeader::decode(&bytes)
        {
            progress.input_ended = header.input_ended;
        }
        for rank in 0..ranks {
            let place = ((rank + 1) * PROGRESS_BYTES) as u64;
            let read = progress.file.read_exact_at(&mut bytes, place).is_ok();
            let known = if read { decode(Rank(rank as u32), &bytes) } else { None };
            progress.ranks.push(known.unwrap_or_default());
        }
        progress.write_header();
        Ok(progress)
    }

    fn over(file: File, ranks: Vec<RankProgress>) -> Self {
        let file = Arc::new(file);
        Self {
            file,
            ranks,
            input_ended: false,
            ended: None,
            dirty: true,
            trouble: None,
            reported: false,
        }
    }

    /// Refuses a directory whose job has ended.
    ///
    /// # Errors
    /// [`JobDirError::NothingToContinue`]
    pub fn must_not_have_ended(directory: &Path) -> Result<(), JobDirError> {
        match Self::ended(directory) {
            Some(code) => {
                let directory = directory.to_owned();
                Err(JobDirError::NothingToContinue { directory, code })
            }
            None => Ok(()),
        }
    }

    /// The exit code of the job in this directory, if the job has ended and cannot be continued.
    pub fn ended(directory: &Path) -> Option<i32> {
        ProgressHeader::read(directory)?.exit_code
    }

    /// The records of all ranks.
    pub fn ranks(&self) -> &[RankProgress] {
        &self.ranks
    }

    /// Whether the end of standard input was read.
    pub fn input_ended(&self) -> bool {
        self.input_ended
    }

    /// A stream of a rank was printed up to this position.
    pub fn printed(&mut self, rank: Rank, stream: u8, up_to: u64) {
        if let Some(known) = self.ranks.get_mut(rank.index())
            && let Some(printed) = known.printed.get_mut(stream as usize)
            && *printed < up_to
        {
            *printed = up_to;
            self.write(rank);
        }
    }

    /// A rank has a new incarnation.
    pub fn set_incarnation(&mut self, rank: Rank, incarnation: Incarnation) {
        if let Some(known) = self.ranks.get_mut(rank.index()) {
            known.incarnation = incarnation;
            known.process = None;
            self.write(rank);
        }
    }

    /// The process of a rank runs on this host.
    pub fn set_process(&mut self, rank: Rank, host: u32, process: ProcessId) {
        if let Some(known) = self.ranks.get_mut(rank.index()) {
            known.process = Some(process);
            known.host = host;
            self.write(rank);
        }
    }

    /// Standard input is at its end.
    pub fn input_has_ended(&mut self) {
        self.input_ended = true;
        self.write_header();
    }

    /// The job has ended and cannot be continued.
    pub fn has_ended(&mut self, code: i32) {
        self.ended = Some(code);
        self.write_header();
    }

    /// The file, if it has changed since the last call. The caller syncs it.
    pub fn take_unsynced(&mut self) -> Option<Arc<File>> {
        std::mem::take(&mut self.dirty).then(|| self.file.clone())
    }

    /// The first error of a write, once.
    pub fn take_trouble(&mut self) -> Option<io::Error> {
        let trouble = self.trouble.take()?;
        (!std::mem::replace(&mut self.reported, true)).then_some(trouble)
    }

    fn write(&mut self, rank: Rank) {
        let place = (rank.index() + 1) * PROGRESS_BYTES;
        let record = encode(rank, &self.ranks[rank.index()]);
        self.put(&record, place as u64);
    }

    fn write_header(&mut self) {
        let header = ProgressHeader {
            ranks: self.ranks.len() as u32,
            input_ended: self.input_ended,
            exit_code: self.ended,
        };
        self.put(&header.encode(), 0);
    }

    /// A failed write, as on a full disk, costs only repeated output after the launcher's death.
    fn put(&mut self, bytes: &[u8], place: u64) {
        self.dirty = true;
        if let Err(error) = self.file.write_all_at(bytes, place) {
            self.trouble.get_or_insert(error);
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

fn sum(rank: Rank, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&rank.0.to_le_bytes()), &bytes[..60])
}

fn encode(rank: Rank, known: &RankProgress) -> [u8; PROGRESS_BYTES] {
    let mut bytes = [0; PROGRESS_BYTES];
    bytes[..8].copy_from_slice(&known.printed[0].to_le_bytes());
    bytes[8..16].copy_from_slice(&known.printed[1].to_le_bytes());
    let process = known.process.unwrap_or(ProcessId { pid: 0, started: 0 });
    bytes[16..24].copy_from_slice(&process.started.to_le_bytes());
    bytes[24..28].copy_from_slice(&known.incarnation.0.to_le_bytes());
    bytes[28..32].copy_from_slice(&process.pid.to_le_bytes());
    bytes[32..36].copy_from_slice(&known.host.to_le_bytes());
    let crc = sum(rank, &bytes);
    bytes[60..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

fn decode(rank: Rank, bytes: &[u8; PROGRESS_BYTES]) -> Option<RankProgress> {
    if sum(rank, bytes) != u32_at(bytes, 60) {
        return None;
    }
    let process = ProcessId { pid: u32_at(bytes, 28), started: u64_at(bytes, 16) };
    Some(RankProgress {
        printed: [u64_at(bytes, 0), u64_at(bytes, 8)],
        incarnation: Incarnation(u32_at(bytes, 24)),
        process: (process.pid != 0).then_some(process),
        host: u32_at(bytes, 32),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_later_launcher_finds_how_far_the_job_has_come() {
        let directory = tempfile::tempdir().unwrap();
        let mut progress = Progress::create(directory.path(), 3).unwrap();
        progress.printed(Rank(1), 0, 100);
        progress.printed(Rank(1), 0, 50);
        progress.printed(Rank(1), 1, 7);
        progress.set_incarnation(Rank(2), Incarnation(4));
        progress.set_process(Rank(2), 1, ProcessId { pid: 12, started: 34 });
        assert_eq!(Progress::ended(directory.path()), None);
        drop(progress);
        let mut progress = Progress::open(directory.path(), 3).unwrap();
        assert_eq!(progress.ranks()[0], RankProgress::default());
        assert_eq!(progress.ranks()[1].printed, [100, 7]);
        assert_eq!(progress.ranks()[2].incarnation, Incarnation(4));
        assert_eq!(progress.ranks()[2].process, Some(ProcessId { pid: 12, started: 34 }));
        progress.input_has_ended();
        progress.has_ended(0);
        assert_eq!(Progress::ended(directory.path()), Some(0));
        progress.has_ended(7);
        assert_eq!(Progress::ended(directory.path()), Some(7));
        let why = Progress::must_not_have_ended(directory.path()).unwrap_err().to_string();
        assert!(why.contains("has ended with exit code 7"), "{why}");
        let progress = Progress::open(directory.path(), 3).unwrap();
        assert!(progress.input_ended());
        assert_eq!(Progress::ended(directory.path()), None, "the job goes on");
    }

    #[test]
    fn damaged_records_count_as_empty() {
        let directory = tempfile::tempdir().unwrap();
        let mut progress = Progress::create(directory.path(), 2).unwrap();
        progress.printed(Rank(0), 0, 9);
        progress.printed(Rank(1), 0, 9);
        let file = directory.path().join(PROGRESS);
        let mut bytes = std::fs::read(&file).unwrap();
        bytes[PROGRESS_BYTES + 3] ^= 1;
        bytes.truncate(3 * PROGRESS_BYTES - 1);
        std::fs::write(&file, bytes).unwrap();
        let progress = Progress::open(directory.path(), 2).unwrap();
        assert_eq!(progress.ranks(), [RankProgress::default(); 2]);
    }

    proptest! {
        /// Only what was written for a rank counts, even if the file has more bytes.
        #[test]
        fn any_bytes_are_taken_for_what_they_are(
            bytes in proptest::collection::vec(any::<u8>(), 0..6 * PROGRESS_BYTES),
            record in proptest::array::uniform32(any::<u8>()),
            flip in (0..PROGRESS_BYTES, 1_u8..),
        ) {
            let directory = tempfile::tempdir().unwrap();
            std::fs::write(directory.path().join(PROGRESS), bytes).unwrap();
            prop_assert_eq!(Progress::ended(directory.path()), None);
            let progress = Progress::open(directory.path(), 4).unwrap();
            prop_assert_eq!(progress.ranks(), [RankProgress::default(); 4]);
            prop_assert!(!progress.input_ended());
            // A whole record may have any contents. A record of another rank, or a damaged one,
            // counts as empty.
            let mut whole = [0; PROGRESS_BYTES];
            whole[..32].copy_from_slice(&record);
            let sum = sum(Rank(3), &whole);
            whole[60..].copy_from_slice(&sum.to_le_bytes());
            let known = decode(Rank(3), &whole).expect("it is whole");
            prop_assert_eq!(&encode(Rank(3), &known)[24..], &whole[24..]);
            prop_assert_eq!(decode(Rank(2), &whole), None);
            whole[flip.0] ^= flip.1;
            prop_assert_eq!(decode(Rank(3), &whole), None);
        }
    }
}
