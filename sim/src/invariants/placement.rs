//! Ranks begin only where they may: never on a host without slots, beyond the limit of a host, or
//! on one that is shunned; and not on a host without a free slot while another one has one, unless
//! a standby of the rank is there.
//!
//! Source: docs/reference/machine-file.md, "After a failure".

use super::broken;
use ftmpi_protocols::dispatcher::Place;
use std::collections::BTreeSet;

/// The hosts, as what the dispatcher is told and tells shows them.
#[derive(Debug, Default)]
pub struct Placement {
    places: Vec<Place>,
    up: BTreeSet<usize>,
    shunned: BTreeSet<usize>,
}

impl Placement {
    /// For a job with these hosts; a host beyond them takes any number of ranks.
    #[must_use]
    pub fn new(places: Vec<Place>) -> Self {
        Self { places, ..Self::default() }
    }

    /// Another launcher goes on with the job.
    pub fn begins_anew(&mut self) {
        self.up.clear();
        self.shunned.clear();
    }

    /// The dispatcher hears that the host has an agent.
    pub fn is_up(&mut self, host: usize) {
        self.up.insert(host);
    }

    /// The dispatcher hears that it has lost its agent.
    pub fn is_lost(&mut self, host: usize) {
        self.up.remove(&host);
    }

    /// The dispatcher says that no rank begins there any more.
    pub fn is_shunned(&mut self, host: usize) {
        self.shunned.insert(host);
    }

    /// It says that ranks may begin there again.
    pub fn is_used_again(&mut self, host: usize) {
        self.shunned.remove(&host);
    }

    fn place(&self, host: usize) -> Place {
        self.places.get(host).cloned().unwrap_or_default()
    }

    /// A rank begins on a host, while the ranks are on these hosts.
    pub fn begins(&self, rank: usize, host: usize, hosts: &[usize]) {
        let (place, here) = (self.place(host), on(host, hosts));
        if self.shunned.contains(&host) {
            broken("placement", &format!("rank {rank} begins on host {host}, which is shunned"));
        }
        if place.slots == 0 {
            broken("placement", &format!("rank {rank} begins on host {host}, which has no slots"));
        }
        if let Some(most) = place.most.filter(|most| here > *most) {
            let how = format!("rank {rank} begins on host {host} with {here} ranks; {most} may be");
            broken("placement", &how);
        }
    }

    /// Whether a host takes any number of ranks, drained or not. (Of one with a limit, ranks that
    /// are on their way may take the rest.)
    #[must_use]
    pub fn takes_any(&self, host: usize) -> bool {
        let place = self.place(host);
        !self.shunned.contains(&host) && place.slots > 0 && place.most.is_none()
    }

    /// Ranks have moved to a host, while the ranks are on these hosts and no other rank moves.
    /// `closed`: hosts that are being emptied.
    pub fn moves_to(&self, to: usize, hosts: &[usize], closed: impl Fn(usize) -> bool) {
        let is_free = |host: &usize| {
            *host != to
                && !self.shunned.contains(host)
                && !closed(*host)
                && on(*host, hosts) < self.place(*host).slots
        };
        let free = self.up.iter().find(|host| is_free(host));
        if let Some(free) = free.filter(|_| on(to, hosts) > self.place(to).slots) {
            let how = format!("ranks move to host {to} beyond its slots, and host {free} has some");
            broken("placement", &how);
        }
    }
}

fn on(host: usize, hosts: &[usize]) -> u32 {
    hosts.iter().filter(|on| **on == host).count() as u32
}
