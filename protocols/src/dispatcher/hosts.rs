//! The hosts of a job: which of them have an agent, what they can take, and how many ranks each
//! carries.
//!
//! Guarantees: ranks go to a spare host first, then to free slots, then, where that is allowed, to
//! hosts without a free slot. A host without slots, a host beyond its limit and a host that is
//! shunned get no rank. A host that was given up is tried again from time to time.

use super::Settings;
use std::time::Duration;

/// What a host can take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Ranks that run there as meant; 0: none ever.
    pub slots: u32,
    /// Ranks at the most; `None`: no limit but for what oversubscription allows.
    pub most: Option<u32>,
    /// It is kept for ranks of other hosts, and has none at the start.
    pub spare: bool,
    /// The switch that it is connected to.
    pub switch: Option<String>,
}

impl Default for Place {
    /// A host that takes any number of ranks.
    fn default() -> Self {
        Self { slots: u32::MAX, most: None, spare: false, switch: None }
    }
}

use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Condition {
    /// Its agent is being started.
    Coming {
        before: bool,
    },
    Up,
    /// Given up; the time of the next attempt.
    Gone(Option<Duration>),
    /// Given up, and tried again just now.
    Tried,
}

/// A lost host whose ranks wait for it.
#[derive(Debug, Clone)]
struct Awaited {
    /// Until then.
    until: Duration,
    why: String,
}

/// The hosts.
#[derive(Debug)]
pub(super) struct Hosts {
    places: Vec<Place>,
    condition: Vec<Condition>,
    ranks: Vec<u32>,
    shunned: Vec<bool>,
    awaited: Vec<Option<Awaited>>,
    oversubscribe: bool,
    retry: Option<Duration>,
}

/// Which host is wanted.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Want {
    /// For so many ranks together.
    pub(super) ranks: u32,
    /// Another one than this.
    pub(super) not: Option<u32>,
    /// One whose agent is up.
    pub(super) up: bool,
}

impl Hosts {
    pub(super) fn new(settings: &Settings) -> Self {
        let hosts = settings.hosts.len();
        let mut ranks = vec![0; hosts];
        for host in &settings.placement {
            ranks[*host as usize] += 1;
        }
        let mut places = settings.places.clone();
        places.resize(hosts, Place::default());
        Self {
            places,
            condition: vec![Condition::Coming { before: false }; hosts],
            ranks,
            shunned: vec![false; hosts],
            awaited: vec![None; hosts],
            oversubscribe: settings.recovery.oversubscribe,
            retry: settings.recovery.retry,
        }
    }

    pub(super) fn places(&self) -> &[Place] {
        &self.places
    }

    fn all(&self) -> impl Iterator<Item = u32> + use<> {
        0..self.condition.len() as u32
    }

    /// An agent is up. `true`: its host had been given up.
    pub(super) fn up(&mut self, host: u32) -> bool {
        let before = std::mem::replace(&mut self.condition[host as usize], Condition::Up);
        self.awaited[host as usize] = None;
        matches!(before, Condition::Gone(_) | Condition::Tried)
    }

    pub(super) fn down(&mut self, host: u32) {
        self.condition[host as usize] = Condition::Coming { before: true };
    }

    /// The ranks of a lost host wait for it until then.
    pub(super) fn wait(&mut self, host: u32, until: Duration, why: &str) {
        self.awaited[host as usize] = Some(Awaited { until, why: why.to_owned() });
    }

    /// Hosts that were waited for long enough, and why they were lost.
    pub(super) fn out_of_patience(&self, now: Duration) -> Vec<(u32, String)> {
        let awaited = self.all().zip(&self.awaited);
        let over = awaited.filter_map(|(host, awaited)| Some((host, awaited.as_ref()?)));
        over.filter(|(_, awaited)| now >= awaited.until)
            .map(|(host, awaited)| (host, awaited.why.clone()))
            .collect()
    }

    /// Gives a host up; when it is tried again.
    pub(super) fn give_up(&mut self, host: u32, now: Duration) -> Option<Duration> {
        self.awaited[host as usize] = None;
        self.condition[host as usize] = Condition::Gone(self.retry.map(|pause| now + pause));
        self.retry
    }

    /// Hosts that are to be tried again now.
    pub(super) fn take_due(&mut self, now: Duration) -> Vec<u32> {
        let is_due = |host: &u32| matches!(self.condition[*host as usize], Condition::Gone(Some(at)) if at <= now);
        let due: Vec<u32> = self.all().filter(is_due).collect();
        due.iter().for_each(|host| self.condition[*host as usize] = Condition::Tried);
        due
    }

    pub(super) fn is_up(&self, host: u32) -> bool {
        self.condition[host as usize] == Condition::Up
    }

    pub(super) fn is_gone(&self, host: u32) -> bool {
        matches!(self.condition[host as usize], Condition::Gone(_) | Condition::Tried)
    }

    pub(super) fn was_ever_up(&self, host: u32) -> bool {
        self.condition[host as usize] != Condition::Coming { before: false }
    }

    /// Whether the job can begin without the host.
    pub(super) fn is_idle_spare(&self, host: u32) -> bool {
        self.places[host as usize].spare && self.ranks[host as usize] == 0
    }

    /// Whether every host that is needed has been up once: before, no rank is started.
    pub(super) fn all_settled(&self) -> bool {
        self.all().all(|host| self.was_ever_up(host) || self.is_idle_spare(host))
    }

    // ---- which host -----------------------------------------------------------------------------

    pub(super) fn is_shunned(&self, host: u32) -> bool {
        self.shunned[host as usize]
    }

    /// Hosts take no rank from now on; those that did until now.
    pub(super) fn shun(&mut self, hosts: &[u32]) -> Vec<u32> {
        let fresh = |host: &&u32| !self.shunned[**host as usize];
        let fresh: Vec<u32> = hosts.iter().filter(fresh).copied().collect();
        fresh.iter().for_each(|host| self.shunned[*host as usize] = true);
        fresh
    }

    /// A host may have ranks again. `true`: it was shunned.
    pub(super) fn use_again(&mut self, host: u32) -> bool {
        std::mem::replace(&mut self.shunned[host as usize], false)
    }

    /// Hosts that are shunned, and not given up.
    pub(super) fn shunned_and_there(&self) -> Vec<u32> {
        self.all().filter(|host| self.is_shunned(*host) && !self.is_gone(*host)).collect()
    }

    /// How gladly a host takes so many ranks: 0 as a spare, 1 in free slots, 2 beyond its slots;
    /// `None`: not at all.
    fn class(&self, host: u32, ranks: u32) -> Option<u32> {
        let place = &self.places[host as usize];
        let then = self.ranks[host as usize].saturating_add(ranks);
        if self.is_gone(host) || self.is_shunned(host) || place.slots == 0 {
            return None;
        }
        match then <= place.slots {
            _ if place.most.is_some_and(|most| then > most) => None,
            true if place.spare => Some(0),
            true => Some(1),
            false => self.oversubscribe.then_some(2),
        }
    }

    /// The host to which ranks move.
    pub(super) fn target(&self, want: Want) -> Option<u32> {
        let hosts = self.all().filter(|host| Some(*host) != want.not);
        let able = hosts.filter_map(|host| Some((host, self.class(host, want.ranks)?)));
        let able = able.filter(|(host, _)| !want.up || self.is_up(*host));
        let load = |host: u32| self.ranks[host as usize];
        able.min_by_key(|(host, class)| (!self.is_up(*host), *class, load(*host), *host))
            .map(|(host, _)| host)
    }

    /// For each host, whether it is lost.
    pub(super) fn lost(&self) -> Vec<bool> {
        let lost = |host| self.is_gone(host) || (!self.is_up(host) && self.was_ever_up(host));
        self.all().map(lost).collect()
    }

    /// For each host, whether it can take so many ranks now.
    pub(super) fn takes(&self, ranks: u32) -> Vec<bool> {
        self.all().map(|host| self.is_up(host) && self.class(host, ranks).is_some()).collect()
    }

    /// For each host, its ranks.
    pub(super) fn ranks(&self) -> &[u32] {
        &self.ranks
    }

    /// The host with the fewest ranks that fits, with these more ranks.
    pub(super) fn least_loaded_of(
        &self,
        more: &BTreeMap<u32, u32>,
        fits: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let load = |host: u32| self.ranks[host as usize] + more.get(&host).copied().unwrap_or(0);
        let more = |host: u32| more.get(&host).copied().unwrap_or(0) + 1;
        let able = self.all().filter_map(|host| Some((host, self.class(host, more(host))?)));
        let able = able.filter(|(host, _)| fits(*host));
        able.min_by_key(|(host, class)| (*class, load(*host), *host)).map(|(host, _)| host)
    }

    pub(super) fn moved(&mut self, from: u32, to: u32) {
        self.ranks[from as usize] = self.ranks[from as usize].saturating_sub(1);
        self.ranks[to as usize] += 1;
    }
}
