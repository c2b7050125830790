//! Schedules of non-blocking collectives, which go on whenever the engine looks at the world.
//!
//! Guarantees: while the program waits in a call, its collectives go on, as MPI's rule of progress
//! demands. The wait may be for a message, a probe, or a recorded outcome in a replay. Schedules
//! are advanced in the order in which they were started.

use super::tasks::Task;
use super::{Engine, Link, is_of_faults};
use crate::collective::Schedule;
use crate::ids::{ReqId, TaskId};

impl<L: Link> Engine<L> {
    /// Starts a schedule: goes as far as it can at once.
    pub fn start_schedule(
        &mut self,
        mut schedule: Box<Schedule<ReqId>>,
    ) -> crate::error::Result<TaskId> {
        let done = schedule.advance(self);
        let task = Task { schedule: Some(schedule), done, detached: false };
        let index = self.tasks.tasks.insert(task)?;
        if !done {
            self.tasks.running.push(index);
        }
        Ok(TaskId(index))
    }

    /// Whether the schedule is complete. Looks only.
    #[must_use]
    pub fn schedule_is_done(&self, id: TaskId) -> bool {
        self.tasks.tasks.get(id.0).is_none_or(|task| task.done)
    }

    /// Whether the schedule has ended because of a death or a revocation.
    #[must_use]
    pub fn schedule_has_failed(&self, id: TaskId) -> bool {
        let task = self.tasks.tasks.get(id.0).filter(|task| task.done);
        let error = task.and_then(|task| task.schedule.as_ref()?.error());
        error.is_some_and(is_of_faults)
    }

    /// Takes a schedule that is complete.
    pub fn take_schedule(&mut self, id: TaskId) -> Option<Box<Schedule<ReqId>>> {
        debug_assert!(self.schedule_is_done(id));
        self.tasks.tasks.remove(id.0)?.schedule
    }

    /// Nobody will ask for the schedule: it goes when it is complete.
    pub fn detach_schedule(&mut self, id: TaskId) {
        match self.tasks.tasks.get_mut(id.0) {
            Some(task) if !task.done => task.detached = true,
            _ => {
                self.tasks.tasks.remove(id.0);
            }
        }
    }

    /// Whether no schedule is under way.
    #[must_use]
    pub fn schedules_rest(&self) -> bool {
        !self.tasks.any() && self.tasks.advancing == 0
    }

    /// Carries on all schedules, or (`own`) those that run no function of the program.
    #[inline(never)]
    pub(super) fn advance_schedules(&mut self, own: bool) {
        let mut running = std::mem::take(&mut self.tasks.running);
        self.tasks.advancing += 1;
        running.retain(|&index| {
            let Some(task) = self.tasks.tasks.get_mut(index) else { return false };
            if own && task.schedule.as_ref().is_some_and(|schedule| schedule.calls_program()) {
                return true;
            }
            let Some(mut schedule) = task.schedule.take() else { return false };
            let done = schedule.advance(self);
            if let Some(task) = self.tasks.tasks.get_mut(index) {
                task.schedule = Some(schedule);
                task.done = done;
                if done && task.detached {
                    self.tasks.tasks.remove(index);
                }
            }
            !done
        });
        self.tasks.advancing -= 1;
        // Schedules that began meanwhile come behind.
        running.append(&mut self.tasks.running);
        self.tasks.running = running;
    }
}
