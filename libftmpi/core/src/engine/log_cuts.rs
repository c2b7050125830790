//! Images of this rank and of its peers, and what logs may forget because of them.
//!
//! Guarantees: an entry goes only when no image that may be asked for needs it. What an image
//! leaves out is in the newest image of the receiver.

use super::Engine;
use super::link::Link;
use super::state::State;
use super::state::snapshots::Snapshot;
use crate::usermem::UserPtr;
use ftmpi_protocols::received::Received;
use ftmpi_wire::header::{Kind, Received as WireReceived};
use ftmpi_wire::{ImageNo, Rank, Ssn, control};

impl<L: Link> Engine<L> {
    /// An image with this number is being taken of this very state.
    pub(super) fn image_taken(&mut self, image: ImageNo) {
        if self.state.waves.are_counted() {
            self.count_channel_state();
        }
        if !self.state.hooks.log_payload {
            return;
        }
        let state = &mut self.state;
        let reach = state.spare_logs();
        let received = state.channels.iter().map(|peer| peer.received.clone()).collect();
        let events = state.protocol.last_event();
        let place = state.memory_stream.place();
        state.snapshots.add(Snapshot { image, events, received, place, reach });
    }
}

impl State {
    /// A peer's oldest image that may be asked for has this much: the log may forget it.
    pub(super) fn log_cut(&mut self, rank: Rank, payload: &[u8]) {
        if let Ok(wire) = control::decode::<WireReceived>(payload) {
            let received = Received::from_wire(&wire);
            self.logs.finish_late_to(rank);
            if self.hooks.memory {
                self.memory_has_more(rank, &received);
            }
            let peer = self.channels.peer_mut(rank);
            peer.log.cut(&received, self.logs.memory_mut());
            self.logs.were_cut();
            if self.hooks.memory {
                self.put_confirmed(rank);
            }
        }
    }

    /// A memory has written these. Some may come from our earlier incarnation, over a connection
    /// that the memory read to its end after it had answered ours. They are on their way again, or
    /// about to be, and the log is about to let their payload go.
    fn memory_has_more(&mut self, of: Rank, received: &Received) {
        let peer = self.channels.peer_mut(of);
        peer.has.absorb(received);
        for out in &mut peer.queue {
            let header = &out.frame.header;
            if out.message && out.owned.is_none() && received.contains(header.ssn) {
                let mut payload = vec![0; header.len as usize];
                out.frame.payload.read(&mut payload);
                out.frame.payload = UserPtr::own(&payload);
                out.owned = Some(payload);
            }
        }
    }

    /// An image is stable: what only older images needed may go everywhere.
    pub(super) fn cut_logs(&mut self, image: ImageNo, oldest: ImageNo) {
        let Some(front) = self.snapshots.committed(image, oldest) else {
            self.send_all_newest();
            return self.commands_to_queues();
        };
        let place = front.place;
        self.protocol.on_oldest_image(front.events);
        if self.hooks.memory {
            self.cut_channel_memory(place);
        } else {
            for rank in self.channels.ranks() {
                self.send_cut(rank);
            }
            self.send_all_newest();
        }
        self.commands_to_queues();
    }

    fn send_all_newest(&mut self) {
        for rank in self.channels.ranks() {
            self.send_newest(rank);
        }
    }

    /// The sender log of a peer is full. If no image of this rank can be taken, nothing else ever
    /// cuts the peer's log: the peer may forget all that this rank has received. From then on this
    /// rank cannot be recovered, until it has an image again.
    pub(super) fn give_way(&mut self, rank: Rank) {
        if rank == self.me || !self.hooks.log_payload || !self.snapshots.are_impossible() {
            return;
        }
        let peer = self.channels.peer_mut(rank);
        if !peer.logged || !peer.received.exceeds(&peer.sent_cut) {
            return;
        }
        peer.sent_cut = peer.received.clone();
        let payload = control::encode(&peer.received.to_wire());
        self.control_frame(rank, Kind::LogCut, Ssn(0), payload);
        self.snapshots.given_way();
    }

    /// The log is full: tells all peers that the log has messages to.
    pub(super) fn plead_for_room(&mut self) {
        for rank in self.channels.ranks() {
            let peer = self.channels.peer(rank);
            if rank != self.me && peer.logged && !peer.log.is_empty() && !peer.absent {
                self.control_frame(rank, Kind::LogFull, Ssn(0), Vec::new());
            }
        }
    }

    /// Sends to a peer what its images need not have in the log for us, if that is news.
    pub(super) fn send_newest(&mut self, rank: Rank) {
        let Some(snapshot) = self.snapshots.newest_lean() else { return };
        // An image from before a peer has joined has nothing of it.
        let Some(received) = snapshot.received.get(rank.index()) else { return };
        let newest = snapshot.image;
        let peer = self.channels.peer_mut(rank);
        if rank == self.me
            || !peer.logged
            || !received.exceeds(&peer.sent_newest)
            || !received.exceeds(&peer.sent_cut)
        {
            return;
        }
        peer.sent_newest = received.clone();
        let payload = control::encode(&received.to_wire());
        self.control_frame(rank, Kind::ImageHas, Ssn(newest.0), payload);
    }

    /// Sends to a peer what its log may forget, if that is news.
    pub(super) fn send_cut(&mut self, rank: Rank) {
        let Some(front) = self.snapshots.oldest() else { return };
        let Some(received) = front.received.get(rank.index()) else { return };
        let peer = self.channels.peer_mut(rank);
        if rank == self.me || !peer.logged || !received.exceeds(&peer.sent_cut) {
            return;
        }
        peer.sent_cut = received.clone();
        let payload = control::encode(&received.to_wire());
        self.control_frame(rank, Kind::LogCut, Ssn(0), payload);
    }

    /// A peer's newest image has this much: our images need not have it.
    pub(super) fn image_has(&mut self, rank: Rank, image: Ssn, payload: &[u8]) {
        if let Ok(wire) = control::decode::<WireReceived>(payload) {
            let newest = (ImageNo(image.0), Received::from_wire(&wire));
            self.channels.peer_mut(rank).its_newest = newest;
        }
    }

    /// An image is being taken: leaves out of it what the newest image of each peer has. If the
    /// peer's image turns out to be damaged, the peer needs more. Then this rank returns to the
    /// image before this one, unless it still runs. So no two images in a row reach back to the
    /// same image of a peer only.
    fn spare_logs(&mut self) -> Vec<ImageNo> {
        let mut reach = vec![ImageNo(0); self.channels.count()];
        if !self.snapshots.are_lean() {
            return reach;
        }
        let memory = self.logs.memory_mut();
        for ((peer, rank), reach) in self.channels.iter_mut().zip((0..).map(Rank)).zip(&mut reach) {
            let (image, has) = &peer.its_newest;
            if *image > ImageNo(0) && self.snapshots.all_reach_before(rank, *image) {
                *reach = *image;
                peer.log.spare(has, memory);
            } else {
                peer.log.want_all(memory);
            }
        }
        reach
    }
}
