//! Every frame that comes: where its payload lands, and what it means.

use super::link::{Landing, Sink, Token};
use super::state::State;
use super::state::landings::Awaited;
use super::tuning::{CONTROL_BYTES_MAX, PIGGYBACK_BYTES_MAX};
use crate::usermem::UserPtr;
use ftmpi_protocols::protocol::ArrivalVerdict;
use ftmpi_wire::group_news::GroupNews;
use ftmpi_wire::header::{FLAG_MORE, Kind};
use ftmpi_wire::{Header, ImageNo, Incarnation, Rank, Ssn, event_log};

impl Sink for State {
    fn expects(&self, from: Rank, header: &Header) -> bool {
        header.kind == Kind::Eager
            && !self.waves.are_holding()
            && self.matcher.taker(from, header.context, header.tag, header.ssn).is_some()
    }

    #[inline]
    fn arrive(&mut self, from: Rank, header: &Header) -> Landing {
        if self.waves.are_holding() && self.channels.peer(from).wave.is_held() {
            return self.hold_frame(from, header);
        }
        if self.hooks.memory {
            return self.arrive_from_memory(from, header);
        }
        self.take_frame(from, header)
    }

    #[inline]
    fn landed(&mut self, from: Rank, header: &Header, token: Token) {
        if self.hooks.memory {
            return self.landed_from_memory(from, header, token);
        }
        self.finish_landing(from, header, token);
    }

    fn aborted(&mut self, from: Rank, header: &Header, token: Token) {
        let from = if self.hooks.memory { self.source_of_broken(from, header) } else { from };
        match token {
            Token::Discard => {}
            Token::Held => self.channels.peer_mut(from).wave.held_aborted(),
            Token::Control => self.channels.peer_mut(from).control.clear(),
            Token::Request(id) => self.landings.await_at(from, header.ssn, Awaited::By(id)),
            Token::Unexpected(id) => self.unexpected_aborted(from, header.ssn, id),
        }
    }

    fn channel_up(&mut self, peer: Rank, incarnation: Incarnation) {
        self.begin_channel(peer, incarnation);
    }

    fn channel_lost(&mut self, peer: Rank) {
        self.end_channel(peer);
    }

    fn peer_restarted(&mut self, peer: Rank, incarnation: Incarnation) {
        self.begin_incarnation_of(peer, incarnation);
    }

    fn group_news(&mut self, news: GroupNews) {
        self.hear(news);
    }

    fn grown(&mut self, hosts: &[u32]) {
        self.take_in(hosts);
    }

    fn left(&mut self, peer: Rank) {
        self.stranger_left(peer);
    }

    fn log_frame(&mut self, frame: event_log::Frame) {
        self.on_logger_frame(frame);
    }

    fn logger_lost(&mut self) {
        self.event_log.lost();
    }

    fn logger_up(&mut self) {
        self.on_logger_connected();
    }

    fn image_committed(&mut self, image: ImageNo, oldest: ImageNo) {
        self.cut_logs(image, oldest);
    }

    fn image_failed(&mut self, image: ImageNo) {
        self.snapshots.forget(image);
        self.snapshots.refused(false);
        self.image_over(image);
        self.commands_to_queues();
    }
}

impl State {
    /// Takes a frame whose turn it is.
    #[inline]
    pub(super) fn take_frame(&mut self, from: Rank, header: &Header) -> Landing {
        match header.kind {
            Kind::Eager | Kind::Data | Kind::RequestToSend => {
                if self.tracks() && self.channels.peer(from).received.contains(header.ssn) {
                    return self.duplicate(from, header);
                }
                if self.hooks.arrivals && self.is_from_orphan(from, header.ssn) {
                    return self.landings.discard();
                }
                if let Some(awaited) = self.landings.awaited(from, header.ssn) {
                    return self.resume_awaited(from, header, awaited);
                }
                match header.kind {
                    Kind::Eager => self.match_arrival(from, header),
                    Kind::Data => self.landings.discard(),
                    // It is announced again; the question about it is behind.
                    _ if self.has_forgotten(from, header.ssn) => self.landings.discard(),
                    _ => self.control_landing(from, header),
                }
            }
            Kind::ClearToSend => {
                // One from a cluster peer reveals a match, which a state that is to be rolled back
                // may have made.
                let reveals = self.hooks.arrivals && self.reveals_match(from, Kind::ClearToSend);
                if !reveals || !self.is_from_orphan(from, header.ssn) {
                    self.clear_to_send(from, header.ssn);
                }
                self.landings.discard()
            }
            Kind::SyncAck => {
                if !self.hooks.arrivals || !self.is_from_orphan(from, header.ssn) {
                    self.acknowledged(from, header.ssn);
                }
                self.landings.discard()
            }
            Kind::Cancel => {
                self.on_cancel(from, header);
                self.landings.discard()
            }
            Kind::Cancelled => {
                self.on_cancelled(from, header.ssn);
                self.landings.discard()
            }
            Kind::Resume
            | Kind::LogCut
            | Kind::ImageHas
            | Kind::LogFull
            | Kind::Protocol
            | Kind::Piggyback => self.control_landing(from, header),
            Kind::Place => self.landings.discard(),
        }
    }

    /// Whether the frame is of a state that was, or is to be, rolled back. The sender's next
    /// incarnation sends it again, or does not.
    #[cold]
    fn is_from_orphan(&mut self, from: Rank, ssn: Ssn) -> bool {
        let orphan = self.protocol.on_arrival(from, ssn) == ArrivalVerdict::Orphan;
        self.counters.orphan_messages += u64::from(orphan);
        orphan
    }

    fn control_landing(&mut self, from: Rank, header: &Header) -> Landing {
        if header.len > CONTROL_BYTES_MAX {
            self.recovery.fail(format!(
                "rank {from} sent a control frame of {} bytes, more than the limit of \
                 {CONTROL_BYTES_MAX}: its memory or the network is damaged",
                header.len
            ));
            return self.landings.discard();
        }
        let buffer = &mut self.channels.peer_mut(from).control;
        buffer.clear();
        buffer.resize(header.len as usize, 0);
        Landing { at: UserPtr::own_mut(buffer), capacity: buffer.len(), token: Token::Control }
    }

    /// No memory is left for this frame, which ends the rank.
    #[cold]
    pub(super) fn has_no_room(&mut self, from: Rank, header: &Header) -> Landing {
        self.recovery.fail(format!(
            "rank {from} sent a message of {} bytes, for which there is no memory: its receive came \
             later than the message, or memory or the network is damaged",
            header.len
        ));
        self.landings.discard()
    }

    /// A frame of a peer's engine has landed.
    pub(super) fn control_landed(&mut self, from: Rank, header: &Header) {
        let payload = std::mem::take(&mut self.channels.peer_mut(from).control);
        match header.kind {
            Kind::RequestToSend => self.announced(from, header, &payload),
            Kind::Resume => self.resumed(from, &payload),
            Kind::LogCut => self.log_cut(from, &payload),
            Kind::ImageHas => self.image_has(from, header.ssn, &payload),
            Kind::LogFull => self.give_way(from),
            Kind::Protocol => {
                self.protocol.on_frame(from, &payload);
                self.commands_to_queues();
            }
            Kind::Piggyback => self.piggyback_landed(from, header, &payload),
            _ => {}
        }
        let buffer = &mut self.channels.peer_mut(from).control;
        *buffer = payload;
        buffer.clear();
    }

    /// A piggyback, or a part of one.
    fn piggyback_landed(&mut self, from: Rank, header: &Header, payload: &[u8]) {
        let parts = &mut self.channels.peer_mut(from).parts;
        let more = header.flags & FLAG_MORE != 0;
        if more || !parts.is_empty() {
            if parts.len() + payload.len() > PIGGYBACK_BYTES_MAX {
                self.recovery.fail(format!(
                    "rank {from} sent a piggyback of more than {PIGGYBACK_BYTES_MAX} bytes: its \
                     memory or the network is damaged"
                ));
                return;
            }
            parts.extend_from_slice(payload);
            if more {
                return;
            }
        }
        let whole = std::mem::take(&mut self.channels.peer_mut(from).parts);
        let begin = (self.now_ns)();
        self.protocol.on_piggyback(from, if whole.is_empty() { payload } else { &whole });
        self.counters.piggyback_merge_ns += (self.now_ns)().saturating_sub(begin);
        self.commands_to_queues();
    }
}
