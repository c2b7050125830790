//! The event logger: which own events are stable, and what waits for them.

use ftmpi_wire::{Determinant, EventNo, Rank, Ssn};
use serde::{Deserialize, Serialize};

/// May this message leave?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SendVerdict {
    /// At once.
    Go,
    /// When all own events up to this one are stable.
    After(EventNo),
}

/// The part of a protocol that keeps events on stable storage.
pub trait Logging {
    /// A message of the program wants to leave. The engine may ask again about the same message.
    fn on_send(&mut self, _to: Rank, _ssn: Ssn) -> SendVerdict {
        SendVerdict::Go
    }

    /// The last own event that something which leaves now would reveal. It may leave when this
    /// event is stable.
    fn gate(&self) -> EventNo {
        EventNo(0)
    }

    /// Number of the last own event. An image that is taken now needs no earlier event, and may be
    /// taken only when this event is stable.
    fn last_event(&self) -> EventNo {
        EventNo(0)
    }

    /// The logger acknowledges events: `written` survive the death of a process, `durable` the loss
    /// of power.
    fn on_stable(&mut self, _written: EventNo, _durable: EventNo) {}

    /// Up to which number own events are stable.
    fn stable(&self) -> EventNo {
        EventNo(u64::MAX)
    }

    /// The rank waits, or something wants to leave: send gathered events to the logger.
    fn flush(&mut self) {}

    /// An image is to be taken: answers that were only counted so far become an event.
    fn settle(&mut self) {}

    /// The program is about to do something that cannot be undone. As [`Logging::settle`]; in
    /// addition, everything that this state depends on goes to stable storage, also events of other
    /// ranks. It is there when the present [`Logging::last_event`] is stable. (An image needs less:
    /// it contains what its rank knows of others.)
    fn commit(&mut self) {
        self.settle();
    }

    /// The connection to the logger was lost and is there again: send again what was not
    /// acknowledged.
    fn on_logger_back(&mut self) {}

    /// The logger reports up to which of their own event numbers the events of these ranks are
    /// stable.
    fn on_stable_clocks(&mut self, _clocks: &[(Rank, EventNo)]) {}

    /// A peer that is being recovered waits for an answer of this rank.
    fn is_awaited(&self) -> bool {
        false
    }

    /// The events that this incarnation has to repeat are still being gathered from peers.
    fn gathering(&self) -> bool {
        false
    }

    /// A new incarnation of this rank begins after an image (or the start) whose last event was
    /// `last`. The events `recorded` follow it in the log.
    fn on_restart(&mut self, _last: EventNo, _recorded: Vec<Determinant>) {}

    /// The oldest image that is still offered was taken after this event.
    fn on_oldest_image(&mut self, _events: EventNo) {}

    /// Determinants of all incarnations so far.
    fn determinants(&self) -> u64 {
        0
    }
}
