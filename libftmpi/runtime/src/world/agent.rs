//! The connection to the agent: its messages, and what the agent asks of this rank.
//!
//! Guarantees: messages are handled in their order. A message that came while this rank asked the
//! agent something else is not lost ([`AgentConnection::question`]).

use crate::attention::URGENT;
use crate::control::Control;
use crate::status::StatusPage;
use crate::tuning::CONTROL_EVERY;
use ftmpi_wire::ImageNo;
use ftmpi_wire::control::{FromRank, ToRank};
use ftmpi_wire::status::word;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

/// A message of the agent, and the descriptors that came with it.
pub(super) type News = (ToRank, Vec<i32>);

/// The connection to the agent; without one in a process of its own.
pub(crate) struct AgentConnection {
    control: Option<Control>,
    news: VecDeque<News>,
    /// Steps until the next look at the control socket.
    until_look: u32,
    /// What [`word::CONTROL_DATAGRAMS`] was at the last look at the control socket.
    seen: u64,
    /// The image that the agent wants, and where it goes.
    pub(crate) image_due: Option<(ImageNo, i32)>,
    /// The agent asks for everything to become stable.
    pub(super) settle_due: bool,
    /// Every rank is in `MPI_Finalize`.
    pub(crate) all_finalized: bool,
    /// Every rank has ended its program.
    pub(crate) all_exiting: bool,
}

impl AgentConnection {
    /// No agent.
    pub(super) fn none() -> Self {
        Self {
            control: None,
            news: VecDeque::new(),
            until_look: CONTROL_EVERY,
            seen: 0,
            image_due: None,
            settle_due: false,
            all_finalized: false,
            all_exiting: false,
        }
    }

    /// Begins an incarnation. What came for an earlier one is dropped.
    pub(super) fn begin(&mut self) {
        self.control = Some(Control::inherited());
        // An answer of the launcher counts as given.
        self.news.retain(|(message, _)| matches!(message, ToRank::Answer { .. }));
        self.image_due = None;
        self.settle_due = false;
        self.seen = 0;
    }

    /// The control socket, for a caller that waits for one message.
    pub(crate) fn control(&mut self) -> Option<&mut Control> {
        self.control.as_mut()
    }

    /// For a question to the agent: what comes before its answer goes to the news.
    pub(crate) fn question(&mut self) -> (Option<&mut Control>, &mut VecDeque<News>) {
        (self.control.as_mut(), &mut self.news)
    }

    pub(crate) fn send(&mut self, message: &FromRank) {
        if let Some(control) = &mut self.control {
            control.send(message, None);
        }
    }

    /// Whether the agent has sent something since the last look.
    #[inline]
    pub(super) fn has_sent(&self, status: &StatusPage) -> bool {
        status.get(word::CONTROL_DATAGRAMS) != self.seen
    }

    /// Counts a step; whether it is time to look although nothing shows.
    #[inline]
    pub(super) fn step(&mut self) -> bool {
        self.until_look -= 1;
        self.until_look == 0
    }

    /// The next step looks.
    pub(super) fn look_soon(&mut self) {
        self.until_look = 1;
    }

    /// Reads what the agent sent.
    pub(super) fn read(&mut self, status: &StatusPage) {
        // Before the look: what comes after this is seen at the next look.
        self.seen = status.get(word::CONTROL_DATAGRAMS);
        URGENT.store(false, Ordering::Relaxed);
        self.until_look = CONTROL_EVERY;
        let Some(control) = &mut self.control else { return };
        while let Some(message) = control.receive(false) {
            self.news.push_back(message);
        }
    }

    /// The next message to handle.
    #[inline]
    pub(super) fn next_news(&mut self) -> Option<News> {
        self.news.pop_front()
    }

    /// A message that is handled with the next ones.
    #[cfg(test)]
    pub(super) fn hand_over(&mut self, news: News) {
        self.news.push_back(news);
    }

    /// Whether the agent waits for this rank.
    #[inline]
    pub(super) fn wants_something(&self) -> bool {
        self.image_due.is_some() || self.settle_due
    }
}
