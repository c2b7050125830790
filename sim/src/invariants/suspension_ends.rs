//! A job that is to be suspended ends within its grace, no matter what fails meanwhile and how long
//! images take. After that the machine may be gone.

use super::broken;

/// Until when the present suspension may last.
#[derive(Debug, Default)]
pub struct SuspensionEnds {
    until: Option<u64>,
}

impl SuspensionEnds {
    /// The user gives the job this time.
    pub fn is_wanted(&mut self, now: u64, grace: u64) {
        self.until.get_or_insert(now + grace);
    }

    /// The dispatcher has looked at the clock, and does not end the job.
    pub fn goes_on(&self, now: u64) {
        if let Some(until) = self.until
            && now >= until
        {
            let how = format!("at {now} the job goes on, and was to end until {until}");
            broken("suspension-ends", &how);
        }
    }

    /// The job has ended, in this way or in another; true: before its time was over.
    pub fn is_over(&mut self, now: u64) -> bool {
        self.until.take().is_some_and(|until| now < until)
    }
}
