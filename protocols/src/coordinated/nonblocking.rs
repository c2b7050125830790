//! Non-blocking waves (MPICH-Vcl; Chandy & Lamport; blocking-vs-nonblocking-2008 §3, §4.1).
//!
//! Nobody stops sending. From its first marker to its image a rank keeps a copy of what it sends.
//! That copy is the state of its outgoing channels, and so the image contains it. A second marker
//! tells that the image is taken; what comes behind it is of a later state and is delivered after
//! our own image.

use super::{Kind, mark};
use crate::protocol::{Command, Stage};
use ftmpi_wire::{Rank, Wave};
use std::collections::VecDeque;

/// The kind.
#[derive(Debug, Clone, Copy)]
pub struct NonBlocking;

impl Kind for NonBlocking {
    fn begin(&self, wave: Wave, commands: &mut VecDeque<Command>) {
        commands.extend([Command::KeepSent, mark(wave, Stage::Begun)]);
    }

    fn heard(&self, from: Rank, stage: Stage, commands: &mut VecDeque<Command>) {
        if stage == Stage::Cut {
            commands.push_back(Command::HoldFrom(from));
        }
    }

    fn over(&self, wave: Wave, commands: &mut VecDeque<Command>) {
        commands.extend([mark(wave, Stage::Cut), Command::ForgetSent, Command::Release]);
    }

    fn stands_still(&self) -> bool {
        false
    }
}
