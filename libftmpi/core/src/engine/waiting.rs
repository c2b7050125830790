//! What a rank waits for, for people: `ftmpi-ctl waits`, and the line about a stall.
//!
//! Guarantees: nothing is looked at before the rank has slept and nothing has come. The calls that
//! a program waits in say what they wait for; where a call can go on in several ways, the answer
//! names all of them and says that one is enough. So a cycle of waits is never claimed of ranks
//! that could go on.

use super::Engine;
use super::link::Link;
use super::request::{RequestKind, Source, Tag};
use super::state::State;
use crate::ids::ReqId;
use ftmpi_wire::Rank;
use ftmpi_wire::job_status::WaitReason;
use ftmpi_wire::waiting::{PEERS_MAX, Waiting};

/// What a step of waiting is for, as far as the call knows.
#[derive(Debug, Clone, Copy)]
pub(super) enum Awaited {
    /// This request.
    Request(ReqId),
    /// A message of this source, which is not received.
    Message(Source),
    /// Something of what is under way.
    Anything,
}

impl Awaited {
    /// The rank to look at first.
    pub(super) fn first(self, state: &State) -> Option<Rank> {
        match self {
            Self::Message(Source::Rank(rank)) => Some(rank),
            Self::Request(id) => match &state.requests.get(id).kind {
                RequestKind::Recv { .. } if state.hooks.memory => Some(state.me),
                RequestKind::Recv { from: Source::Rank(rank), .. } => Some(*rank),
                _ => None,
            },
            _ => None,
        }
    }
}

fn nothing(reason: WaitReason) -> Waiting {
    Waiting {
        call: String::new(),
        reason,
        peers: Vec::new(),
        any_source: false,
        one_is_enough: false,
        tag: None,
    }
}

/// Contexts of collectives are odd.
fn reason_of(context: u32) -> WaitReason {
    if context % 2 == 1 { WaitReason::Collective } else { WaitReason::Message }
}

/// Where one is enough, a peer without a place must not be forgotten: it stands for any rank.
fn add(waiting: &mut Waiting, peer: Rank) {
    if waiting.peers.contains(&peer.0) {
        return;
    }
    if waiting.peers.len() < PEERS_MAX {
        waiting.peers.push(peer.0);
    } else if waiting.one_is_enough {
        waiting.any_source = true;
    }
}

impl State {
    fn add_source(&self, waiting: &mut Waiting, posted: u32) {
        let posted = self.matcher.posted_at(posted);
        match posted.source {
            Source::Rank(rank) => add(waiting, rank),
            Source::Any => waiting.any_source = true,
        }
    }

    /// Whether something that is to leave waits for the event logger.
    fn awaits_event_logger(&self) -> bool {
        let gated = |to| {
            let out = self.channels.peer(to).queue.front();
            out.is_some_and(|out| out.gated_at.is_some())
        };
        self.channels.ranks().any(gated)
    }

    fn of_message(&self, from: Source) -> Waiting {
        let mut waiting = nothing(WaitReason::Message);
        match from {
            Source::Rank(rank) => add(&mut waiting, rank),
            Source::Any => (waiting.any_source, waiting.one_is_enough) = (true, true),
        }
        waiting
    }

    fn of_request(&self, id: ReqId) -> Waiting {
        match self.requests.get(id).kind {
            RequestKind::Recv { from, posted, .. } => {
                let mut waiting = self.of_message(from);
                if let Some(posted) = posted.map(|at| self.matcher.posted_at(at)) {
                    waiting.reason = reason_of(posted.context);
                    if let (Tag::Is(tag), WaitReason::Message) = (posted.tag, waiting.reason) {
                        waiting.tag = Some(tag);
                    }
                }
                waiting
            }
            RequestKind::Send { .. } => {
                let mut waiting = nothing(WaitReason::Send);
                for rank in self.rendezvous.receivers(id) {
                    add(&mut waiting, rank);
                }
                if waiting.peers.is_empty() {
                    waiting.reason = WaitReason::Channel;
                }
                for rank in self.channels.ranks() {
                    let out = &self.channels.peer(rank).queue;
                    if out.iter().any(|out| out.request == Some(id)) {
                        add(&mut waiting, rank);
                    }
                }
                waiting
            }
        }
    }
}

impl<L: Link> Engine<L> {
    /// Tells the agent what the rank waits for.
    #[cold]
    #[inline(never)]
    pub(super) fn publish_wait(&mut self, awaited: Awaited) {
        let state = &self.state;
        let waiting = if state.recovery.is_fetching() || state.is_behind() {
            nothing(WaitReason::Recovery)
        } else {
            match awaited {
                Awaited::Request(id) => state.of_request(id),
                Awaited::Message(from) => state.of_message(from),
                Awaited::Anything => self.of_anything(),
            }
        };
        // What leaves later may be what others wait for, and no rank holds it up.
        let waiting = match state.awaits_event_logger() {
            true => Waiting { reason: WaitReason::EventLogger, ..waiting },
            false => waiting,
        };
        let progress = self.state.counters.messages_sent + self.state.counters.messages_received;
        self.link.publish_wait(waiting, progress);
    }

    /// Everything that is under way: the end of any of it may be what the call waits for.
    fn of_anything(&self) -> Waiting {
        let state = &self.state;
        let mut waiting = Waiting { one_is_enough: true, ..nothing(WaitReason::Other) };
        for at in state.matcher.posted() {
            if waiting.reason != WaitReason::Message {
                waiting.reason = reason_of(state.matcher.posted_at(at).context);
            }
            state.add_source(&mut waiting, at);
        }
        let queued = state.channels.ranks().filter(|to| !state.channels.peer(*to).queue.is_empty());
        for rank in state.rendezvous.all_receivers() {
            if waiting.reason == WaitReason::Other {
                waiting.reason = WaitReason::Send;
            }
            add(&mut waiting, rank);
        }
        for rank in queued {
            // Any rank inside of MPI takes what is in its channels.
            match waiting.reason {
                WaitReason::Other | WaitReason::Channel => waiting.reason = WaitReason::Channel,
                _ => waiting.any_source = true,
            }
            add(&mut waiting, rank);
        }
        if !self.windows.is_empty() || !self.schedules_rest() {
            waiting.any_source = true;
        }
        if waiting.reason == WaitReason::Other && !self.windows.is_empty() {
            waiting.reason = WaitReason::OneSided;
        }
        waiting
    }
}
