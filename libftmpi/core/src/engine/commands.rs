//! Commands of the protocol.

use super::state::State;
use super::state::out::Out;
use ftmpi_protocols::protocol::Command;
use ftmpi_wire::Ssn;
use ftmpi_wire::event_log::Frame;
use ftmpi_wire::header::Kind;

impl State {
    /// Carries out a command of the protocol, as far as that needs no link.
    pub(super) fn carry_out(&mut self, command: Command) {
        match command {
            Command::Log { first, clock, records } => {
                self.event_log.queue(Frame::Append { first, clock, records });
            }
            Command::SendFirst { to, payload } => {
                self.control_frame(to, Kind::Protocol, Ssn(0), payload);
                self.channels.peer_mut(to).bring_forward();
            }
            Command::Join { to } => self.channels.request(to),
            Command::Prune { below } => self.event_log.queue(Frame::Prune { below }),
            Command::FreeHeld => self.recovery.free_held(),
            Command::RollBack(why) => self.recovery.roll_back(why, None),
            Command::GiveUp(why) => self.recovery.fail(why),
            Command::Send { to, payload } => {
                self.control_frame(to, Kind::Protocol, Ssn(0), payload);
            }
            Command::Mark(marker) => self.mark(marker),
            Command::HoldSends => self.waves.set_closed(true),
            Command::HoldFrom(peer) => {
                self.waves.hold(&mut self.channels.peer_mut(peer).wave);
            }
            Command::Release => self.release(),
            // It keeps a copy of every message that leaves from now on.
            Command::KeepSent => self.waves.set_keeping(true),
            Command::ForgetSent => self.forget_sent(),
        }
    }

    /// Carries out the commands that arise while the link is being polled. What needs the link
    /// waits for `Engine::work`.
    #[inline]
    pub(super) fn commands_to_queues(&mut self) {
        while let Some(command) = self.protocol.next_command() {
            self.carry_out(command);
        }
    }

    /// Queues a frame of the engine.
    pub(super) fn control_frame(
        &mut self,
        to: ftmpi_wire::Rank,
        kind: Kind,
        ssn: Ssn,
        payload: Vec<u8>,
    ) {
        if self.hooks.memory {
            match kind {
                Kind::SyncAck => self.memory_stream.keep_acknowledgement(to, ssn),
                // A memory sends what broke off again without being asked.
                Kind::ClearToSend => return,
                _ => {}
            }
        }
        let mut out = Out::control(kind, ssn, payload);
        if self.hooks.sends && self.reveals_match(to, kind) {
            // A peer that hears of the match may act on it, as on a message.
            self.note_all_steps();
            out.after = self.gate(to, ssn);
        }
        self.channels.queue(to, out);
    }
}
