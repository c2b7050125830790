//! Blocking waves (MPICH2-Pcl; blocking-vs-nonblocking-2008 §3, §4.2).
//!
//! A rank that the wave reaches sends its markers and stops sending. What comes behind a peer's
//! marker waits. When all markers are in, the channels are empty. The image's channel state is then
//! only what the program has sent and the rank holds. After the image everything goes on.

use super::{Kind, mark};
use crate::protocol::{Command, Stage};
use ftmpi_wire::{Rank, Wave};
use std::collections::VecDeque;

/// The kind.
#[derive(Debug, Clone, Copy)]
pub struct Blocking;

impl Kind for Blocking {
    fn begin(&self, wave: Wave, commands: &mut VecDeque<Command>) {
        commands.extend([Command::HoldSends, mark(wave, Stage::Begun)]);
    }

    /// Between its marker and its image a peer sends nothing: what comes behind the marker is late.
    fn heard(&self, from: Rank, _stage: Stage, commands: &mut VecDeque<Command>) {
        commands.push_back(Command::HoldFrom(from));
    }

    fn over(&self, _wave: Wave, commands: &mut VecDeque<Command>) {
        commands.push_back(Command::Release);
    }

    fn stands_still(&self) -> bool {
        true
    }
}
