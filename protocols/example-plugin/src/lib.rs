//! A protocol of one's own as a library: `ftmpiexec --protocol
//! plugin:libftmpi_example_protocol.so`.
//!
//! `strict` is pessimistic sender-based message logging in its plainest form. Every determinant
//! goes to the event logger when it is made, and nothing leaves the rank before all determinants
//! are there. (The built-in `pessimistic` gathers determinants in batches.) `strict` uses what all
//! logging protocols share: the recorder, by [`Records`], and the determinant sender. A protocol
//! may also keep its own books and use the traits alone.

use ftmpi_plugin::guest::{Export, Memory, table};
use ftmpi_plugin::messages::Settings;
use ftmpi_plugin::table::{Recovery, Table};
use ftmpi_protocols::determinant_sender::DeterminantSender;
use ftmpi_protocols::protocol::*;
use ftmpi_protocols::recorder::Recorder;
use ftmpi_wire::control::Events;
use ftmpi_wire::{Determinant, EventNo, Rank, Ssn};
use std::collections::VecDeque;
use std::ffi::CStr;

struct Strict {
    hooks: Hooks,
    recorder: Recorder,
    determinant_sender: DeterminantSender,
    commands: VecDeque<Command>,
}

impl Records for Strict {
    #[inline]
    fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    #[inline]
    fn recorder_mut(&mut self) -> &mut Recorder {
        &mut self.recorder
    }

    fn record(&mut self, determinant: Determinant) {
        self.determinant_sender.push(determinant);
        self.determinant_sender.send(&mut self.commands);
    }

    fn order(&mut self, command: Command) {
        self.commands.push_back(command);
    }
}

impl Protocol for Strict {
    fn hooks(&self) -> Hooks {
        self.hooks
    }

    fn counts(&self) -> Counts {
        Counts { recovered_from_logger: self.recorder.recorded(), ..Counts::default() }
    }

    fn next_command(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }
}

impl Logging for Strict {
    fn on_send(&mut self, _to: Rank, _ssn: Ssn) -> SendVerdict {
        self.record_fails();
        match self.determinant_sender.written() < self.determinant_sender.last() {
            true => SendVerdict::After(self.determinant_sender.last()),
            false => SendVerdict::Go,
        }
    }

    fn settle(&mut self) {
        self.record_fails();
    }

    fn gate(&self) -> EventNo {
        self.determinant_sender.last()
    }

    fn last_event(&self) -> EventNo {
        self.determinant_sender.last()
    }

    fn stable(&self) -> EventNo {
        self.determinant_sender.written()
    }

    fn on_stable(&mut self, written: EventNo, durable: EventNo) {
        self.determinant_sender.acknowledged(written, durable);
    }

    fn on_logger_back(&mut self) {
        self.determinant_sender.logger_back(&mut self.commands);
    }

    fn on_oldest_image(&mut self, events: EventNo) {
        self.commands.push_back(Command::Prune { below: events.next() });
    }

    fn on_restart(&mut self, last: EventNo, recorded: Vec<Determinant>) {
        self.determinant_sender.restart(last, &recorded);
        self.recorder.begin(recorded);
        self.after_replay_step();
    }

    fn determinants(&self) -> u64 {
        self.determinant_sender.last().0
    }
}

impl Piggybacking for Strict {}

impl Waves for Strict {}

impl Export for Strict {
    const NAME: &'static CStr = c"strict";
    const RECOVERY: Recovery = Recovery::Restart;
    const LOGGER: bool = true;

    fn make(settings: &Settings) -> Option<Box<dyn Protocol>> {
        Some(Box::new(Strict {
            hooks: Hooks {
                log_payload: true,
                wildcard_matches: true,
                all_matches: settings.config.events == Events::All,
                outcomes: true,
                clock: settings.config.log_wtime,
                sends: true,
                logger: true,
                ..Hooks::default()
            },
            recorder: Recorder::default(),
            determinant_sender: DeterminantSender::default(),
            commands: VecDeque::new(),
        }))
    }
}

#[global_allocator]
static MEMORY: Memory = Memory;

static TABLE: Table = table::<Strict>();

/// The one symbol of this library.
#[unsafe(no_mangle)]
pub extern "C" fn ftmpi_protocol() -> *const Table {
    &raw const TABLE
}
