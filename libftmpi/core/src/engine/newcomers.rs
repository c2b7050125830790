//! Processes that join the running job.
//!
//! Guarantees: this rank knows a process before anything can come from it. Until it has a
//! communicator with the process, and after the last one, the end of the process is no loss. While
//! it has one, a connection that ends is explained by news: the process has died, or has ended in
//! order (it had freed its communicators), or the job ends.

use super::Engine;
use super::link::Link;
use super::state::State;
use super::state::channels::ChannelPhase;
use ftmpi_wire::new_processes::{JobAnswer, JobQuestion};
use ftmpi_wire::{ImageNo, Rank};

impl<L: Link> Engine<L> {
    /// Asks the launcher in this lane, and waits for its answer. What led to the question is stable
    /// before, so a later incarnation asks it again. The launcher gives the same answer.
    ///
    /// # Errors
    /// It cannot be asked; one line.
    pub fn ask_job(&mut self, lane: u32, question: JobQuestion) -> Result<JobAnswer, String> {
        self.state.note_all_steps();
        self.commit();
        self.link.point("question");
        let number = self.link.ask_job(lane, question)?;
        loop {
            if let Some(answer) = self.link.take_answer(number) {
                self.link.point("answer");
                self.step();
                return Ok(answer);
            }
            self.block();
        }
    }

    /// Waits until the process of this number, and all before it, are known. (The launcher has told
    /// everybody of a process before the process begins.)
    pub fn wait_for_news_of(&mut self, process: Rank) {
        while self.state.channels.count() <= process.index() {
            self.block();
        }
        self.step();
    }

    /// The same, for so many seconds at the most. `false`: nobody knows this process.
    pub fn wait_for_news_at_most(&mut self, process: Rank, seconds: f64) -> bool {
        let end = self.link.clock() + seconds;
        while self.state.channels.count() <= process.index() {
            if self.link.clock() > end {
                return false;
            }
            self.block();
        }
        true
    }

    /// The hosts of processes that have joined the job since the last call.
    pub fn take_newcomers(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.state.newcomers)
    }

    /// This rank joins a job in which this wave is behind all ranks.
    pub fn join_behind(&mut self, past: ImageNo) {
        if past > ImageNo(0) && self.state.waves.are_counted() {
            self.state.protocol.on_return(past);
            self.state.waves.return_to(past);
        }
    }

    /// Says whether this rank has no communicator with a process of another world.
    pub fn may_leave(&mut self, process: Rank, may: bool) {
        let peer = self.state.channels.peer_mut(process);
        (peer.stranger, peer.may_leave) = (true, may);
    }
}

impl State {
    pub(super) fn take_in(&mut self, hosts: &[u32]) {
        self.protocol.on_newcomers(hosts.len());
        self.channels.grow(hosts.len(), self.hooks, &*self.protocol);
        self.newcomers.extend(hosts);
    }

    /// A process of another world has ended in order.
    pub(super) fn stranger_left(&mut self, rank: Rank) {
        let peer = self.channels.peer_mut(rank);
        (peer.stranger, peer.may_leave) = (true, true);
        // Its number may be given again, to the same process in another execution.
        peer.wave.part();
        self.forget_stranger(rank);
        self.channels.forget(rank);
        if self.hooks.log_payload {
            // Its world never was whole. Where ranks are repeated no number is given again.
            self.channels.peer_mut(rank).phase = ChannelPhase::Dead;
        }
    }

    /// Nothing more comes from this process, and nobody waits for it.
    pub(super) fn forget_stranger(&mut self, rank: Rank) {
        self.forget_channel(rank);
        self.channels.peer_mut(rank).absent = false;
    }
}
