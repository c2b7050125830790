//! The table of schedules: those under way, and those that are complete but not yet taken.

use crate::collective::Schedule;
use crate::ids::ReqId;
use crate::slab::Slab;

pub(super) struct Task {
    /// `None` only while it is being advanced.
    pub(super) schedule: Option<Box<Schedule<ReqId>>>,
    pub(super) done: bool,
    /// Nobody will ask for it.
    pub(super) detached: bool,
}

/// Schedules under way, and those that are complete but not yet taken.
#[derive(Default)]
pub(super) struct Tasks {
    pub(super) tasks: Slab<Task>,
    /// Those under way, in the order of their starts.
    pub(super) running: Vec<u32>,
    /// Calls that are advancing some of them, which are not in `running` meanwhile. Other calls may
    /// come in while one runs an operation of the program.
    pub(super) advancing: u32,
}

impl Tasks {
    /// Whether there is anything to advance.
    #[inline]
    pub(super) fn any(&self) -> bool {
        !self.running.is_empty()
    }
}
