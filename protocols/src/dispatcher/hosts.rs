//! The hosts of a job and how many ranks each carries.

use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Condition {
    /// Its agent is being started.
    Coming {
        before: bool,
    },
    Up,
    /// Given up.
    Gone,
}

/// The hosts.
#[derive(Debug)]
pub(super) struct Hosts {
    condition: Vec<Condition>,
    ranks: Vec<u32>,
}

impl Hosts {
    pub(super) fn new(hosts: usize, placement: &[u32]) -> Self {
        let mut ranks = vec![0; hosts];
        for host in placement {
            ranks[*host as usize] += 1;
        }
        Self { condition: vec![Condition::Coming { before: false }; hosts], ranks }
    }

    pub(super) fn up(&mut self, host: u32) {
        self.condition[host as usize] = Condition::Up;
    }

    pub(super) fn down(&mut self, host: u32) {
        self.condition[host as usize] = Condition::Coming { before: true };
    }

    pub(super) fn give_up(&mut self, host: u32) {
        self.condition[host as usize] = Condition::Gone;
    }

    pub(super) fn is_up(&self, host: u32) -> bool {
        self.condition[host as usize] == Condition::Up
    }

    pub(super) fn was_ever_up(&self, host: u32) -> bool {
        self.condition[host as usize] != Condition::Coming { before: false }
    }

    /// Whether every host has been up once: before, no rank is started.
    pub(super) fn all_settled(&self) -> bool {
        (0..self.condition.len() as u32).all(|host| self.was_ever_up(host))
    }

    pub(super) fn least_loaded(&self) -> Option<u32> {
        (0..self.condition.len() as u32)
            .filter(|host| self.condition[*host as usize] != Condition::Gone)
            .min_by_key(|host| (!self.is_up(*host), self.ranks[*host as usize], *host))
    }

    /// The host with the fewest ranks that fits, with these more ranks.
    pub(super) fn least_loaded_of(
        &self,
        more: &BTreeMap<u32, u32>,
        fits: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let load = |host: u32| self.ranks[host as usize] + more.get(&host).copied().unwrap_or(0);
        let hosts = (0..self.condition.len() as u32).filter(|host| fits(*host));
        hosts.min_by_key(|host| (load(*host), *host))
    }

    pub(super) fn moved(&mut self, from: u32, to: u32) {
        self.ranks[from as usize] = self.ranks[from as usize].saturating_sub(1);
        self.ranks[to as usize] += 1;
    }
}
