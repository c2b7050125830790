//! Whether ranks outnumber processors: what collectives choose their algorithms by.
//!
//! Guarantees: it is decided once, before the first rank of the job starts, and stored before anybody is
//! told. A later launcher takes what is stored, whatever hosts it has: a replay must repeat the messages
//! of the first life.

use super::Launcher;
use crate::cli::Plan;

impl Launcher {
    /// The answer; first asked for when all hosts have said how many processors they have, because no
    /// rank starts before.
    pub(super) fn oversubscribed(&mut self) -> bool {
        if let Some(known) = self.oversubscribed {
            return known;
        }
        let placement = &self.plan.placement;
        let mut oversubscribed = outnumber(placement, |host| self.agents[host as usize].processors);
        if oversubscribed && let Some(directory) = &self.job_dir {
            self.saved.oversubscribed = true;
            if let Err(e) = directory.save(&self.saved) {
                // A later launcher would not know of it: so nobody may.
                self.printer.notice(format!("{e:#}"));
                (self.saved.oversubscribed, oversubscribed) = (false, false);
            }
        }
        self.oversubscribed = Some(oversubscribed);
        oversubscribed
    }
}

/// The answer, where it needs no agents: the job is continued, or everything runs on this machine.
pub(super) fn known_at_once(plan: &Plan) -> Option<bool> {
    if let Some(past) = &plan.continued {
        return Some(past.saved.oversubscribed);
    }
    let here = !plan.machines.iter().any(|machine| plan.is_remote(&machine.name));
    here.then(|| {
        // All "hosts" share its processors.
        let own = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        outnumber(&vec![0; plan.placement.len()], |_| own)
    })
}

/// Whether some host has more ranks than processors. One of which nothing is known (0) has enough.
fn outnumber(placement: &[u32], processors: impl Fn(u32) -> u32) -> bool {
    let ranks_of = |host: u32| placement.iter().filter(|other| **other == host).count();
    let hosts = placement.iter().max().map_or(0, |last| last + 1);
    (0..hosts).any(|host| {
        let processors = processors(host);
        processors > 0 && ranks_of(host) > processors as usize
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_crowded_host_is_enough() {
        let of = |processors: [u32; 3]| move |host: u32| processors[host as usize];
        assert!(!outnumber(&[0, 0, 1, 1], of([2, 2, 1])));
        assert!(outnumber(&[0, 0, 1, 1], of([2, 1, 1])));
        assert!(outnumber(&[2, 0, 2, 0], of([2, 1, 1])));
        assert!(!outnumber(&[0, 0, 1, 1], of([2, 0, 1])), "a host of which nothing is known");
        assert!(!outnumber(&[], of([1; 3])));
    }
}
