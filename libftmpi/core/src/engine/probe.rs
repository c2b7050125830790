//! Probes: what is recorded of them, and what a replay answers (MPI-4.1, 3.8.1 and 3.8.2).

use super::Engine;
use super::link::Link;
use super::request::{Envelope, Source, Tag};
use super::waiting::Awaited;
use crate::error::{ErrorClass, Result};
use crate::ids::MessageId;
use ftmpi_protocols::protocol::{self, Answer, Pin};
use ftmpi_wire::{Rank, Ssn};

impl<L: Link> Engine<L> {
    fn look(&self, from: Source, context: u32, tag: Tag) -> Option<(Envelope, MessageId)> {
        let id = self.state.matcher.find(context, from, tag, Pin::Free)?;
        Some((self.state.matcher.message(id).envelope(), id))
    }

    fn look_for(&mut self, source: Rank, ssn: Ssn) -> (Envelope, MessageId) {
        loop {
            if let Some(id) = self.state.matcher.find_identity(source, ssn) {
                return (self.state.matcher.message(id).envelope(), id);
            }
            self.block_on(Some(source), Awaited::Message(Source::Rank(source)));
        }
    }

    fn probe_now(&mut self, from: Source, context: u32, tag: Tag) -> Option<(Envelope, MessageId)> {
        if self.look(from, context, tag).is_none() {
            self.poll_once();
        }
        if self.state.hooks.outcomes {
            // Another thread may have come in.
            self.step();
            match self.recorded() {
                protocol::Decision::Live => {}
                protocol::Decision::Negative => return None,
                protocol::Decision::Positive(Answer::Probed(source, ssn)) => {
                    return Some(self.look_for(source, ssn));
                }
                protocol::Decision::Positive(other) => {
                    self.diverged(&format!("a probe is made where {other:?} was recorded"))
                }
            }
        }
        let seen = self.look(from, context, tag);
        match seen {
            Some((envelope, _)) => self.answered_probe(envelope),
            None => self.answered_negative(),
        }
        seen
    }

    fn answered_probe(&mut self, envelope: Envelope) {
        if self.state.hooks.outcomes {
            self.state.protocol.on_answer(Answer::Probed(envelope.source, envelope.ssn));
            self.ship();
        }
    }

    fn probe_wait(
        &mut self,
        from: Source,
        context: u32,
        tag: Tag,
    ) -> Result<(Envelope, MessageId)> {
        let wild = from == Source::Any && self.state.hooks.outcomes;
        let first = match from {
            Source::Any => None,
            Source::Rank(rank) => Some(rank),
        };
        loop {
            // The protocol is asked again after every wait: this may be a later incarnation,
            // restored from an image that was taken during the wait.
            if wild {
                match self.recorded_in_wait() {
                    None => {
                        self.block_on(first, Awaited::Message(from));
                        continue;
                    }
                    Some(protocol::Decision::Live) => {}
                    Some(protocol::Decision::Positive(Answer::Probed(source, ssn))) => {
                        return Ok(self.look_for(source, ssn));
                    }
                    Some(other) => {
                        self.diverged(&format!("a probe waits where {other:?} was recorded"))
                    }
                }
            }
            if let Some(seen) = self.look(from, context, tag)
                && self.answer_step()
            {
                if wild {
                    self.answered_probe(seen.0);
                }
                return Ok(seen);
            }
            self.may_probe(from, context)?;
            self.block_on(first, Awaited::Message(from));
        }
    }

    /// `MPI_Iprobe`
    pub fn iprobe(&mut self, from: Source, context: u32, tag: Tag) -> Option<Envelope> {
        self.probe_now(from, context, tag).map(|(envelope, _)| envelope)
    }

    /// `MPI_Probe`
    pub fn probe(&mut self, from: Source, context: u32, tag: Tag) -> Result<Envelope> {
        Ok(self.probe_wait(from, context, tag)?.0)
    }

    /// `MPI_Improbe`: the message is out of matching then.
    pub fn improbe(
        &mut self,
        from: Source,
        context: u32,
        tag: Tag,
    ) -> Option<(Envelope, MessageId)> {
        let seen = self.probe_now(from, context, tag)?;
        self.link.others_may_go_on();
        self.state.matcher.unlink(seen.1);
        Some(seen)
    }

    /// `MPI_Mprobe`: the message is out of matching then.
    pub fn mprobe(
        &mut self,
        from: Source,
        context: u32,
        tag: Tag,
    ) -> Result<(Envelope, MessageId)> {
        let seen = self.probe_wait(from, context, tag)?;
        self.state.matcher.unlink(seen.1);
        Ok(seen)
    }

    /// Whether a message that is not there may still come.
    pub fn may_probe(&self, from: Source, context: u32) -> Result<()> {
        match self.state.receive_error(from, context) {
            None => Ok(()),
            Some(ErrorClass::ProcFailedPending) => Err(ErrorClass::ProcFailed.into()),
            Some(error) => Err(error.into()),
        }
    }
}
