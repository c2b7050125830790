//! Whether the job is oversubscribed: some host has more ranks than processors. Collectives choose
//! their algorithms by it.
//!
//! Guarantees: the answer is decided once, before the first rank of the job starts, and stored
//! before any rank hears it. A later launcher takes the stored answer, also with other hosts,
//! because a replay must repeat the messages of the first incarnation.

use super::Launcher;
use crate::cli::Plan;

impl Launcher {
    /// The answer. The first question comes when all agents have reported their processors, because
    /// no rank starts before.
    pub(super) fn is_oversubscribed(&mut self) -> bool {
        if let Some(known) = self.oversubscribed {
            return known;
        }
        let agents = &self.agents;
        let mut answer = outnumber(&self.plan.placement, |host| agents.get(host).processors);
        if answer && self.store.directory().is_some() {
            let stored = self.store.store_oversubscribed();
            // A later launcher would not know of it, so no rank may be told either.
            answer = stored.is_ok();
            if let Err(e) = stored {
                self.printer.notice(format!("{e:#}"));
            }
        }
        self.oversubscribed = Some(answer);
        answer
    }
}

/// The answer where it needs no agents: the job is continued, or everything runs on this machine.
pub(super) fn known_at_once(plan: &Plan) -> Option<bool> {
    if let Some(earlier) = &plan.continued {
        return Some(earlier.saved.oversubscribed);
    }
    let here = !plan.machines.iter().any(|machine| plan.is_remote(&machine.name));
    here.then(|| {
        // All "hosts" share the processors of this machine.
        let own = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        outnumber(&vec![0; plan.placement.len()], |_| own)
    })
}

/// Whether some host has more ranks than processors. A host whose processors are unknown (0) counts
/// as having enough.
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
    fn one_oversubscribed_host_is_enough() {
        let of = |processors: [u32; 3]| move |host: u32| processors[host as usize];
        assert!(!outnumber(&[0, 0, 1, 1], of([2, 2, 1])));
        assert!(outnumber(&[0, 0, 1, 1], of([2, 1, 1])));
        assert!(outnumber(&[2, 0, 2, 0], of([2, 1, 1])));
        assert!(!outnumber(&[0, 0, 1, 1], of([2, 0, 1])), "processors of host 1 are unknown");
        assert!(!outnumber(&[], of([1; 3])));
    }
}
