//! The hosts of a job: which of them have an agent, what they can take, and how many ranks each
//! carries.
//!
//! Guarantees: ranks go to a spare host first, then to free slots, then, where that is allowed, to
//! hosts without a free slot. A host without slots, a host beyond its limit and a host that is
//! shunned get no rank, and one that is drained gets a rank only where no other host is left. A
//! host that was given up is tried again from time to time.

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
    drained: Vec<Drained>,
    /// It joins a running job, and was not up yet.
    joining: Vec<bool>,
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

/// Whether a host is being emptied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Drained {
    No,
    /// A user said so.
    Asked,
    /// Monitoring said so.
    Unhealthy,
}

/// What it means that a host has an agent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    /// It was expected.
    Expected,
    /// The host had been given up.
    Back,
    /// The host has joined a running job.
    Joined,
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
            drained: vec![Drained::No; hosts],
            joining: vec![false; hosts],
            awaited: vec![None; hosts],
            oversubscribe: settings.recovery.oversubscribe,
            retry: settings.recovery.retry,
        }
    }

    /// One more host, which nobody waits for.
    pub(super) fn add(&mut self, place: Place) -> u32 {
        self.places.push(place);
        self.condition.push(Condition::Coming { before: true });
        self.ranks.push(0);
        self.shunned.push(false);
        self.drained.push(Drained::No);
        self.joining.push(true);
        self.awaited.push(None);
        self.condition.len() as u32 - 1
    }

    pub(super) fn places(&self) -> &[Place] {
        &self.places
    }

    fn all(&self) -> impl Iterator<Item = u32> + use<> {
        0..self.condition.len() as u32
    }

    pub(super) fn is_known(&self, host: u32) -> bool {
        (host as usize) < self.condition.len()
    }

    /// An agent is up.
    pub(super) fn up(&mut self, host: u32) -> Arrival {
        let before = std::mem::replace(&mut self.condition[host as usize], Condition::Up);
        self.awaited[host as usize] = None;
        match before {
            _ if std::mem::take(&mut self.joining[host as usize]) => Arrival::Joined,
            Condition::Gone(_) | Condition::Tried => Arrival::Back,
            Condition::Coming { .. } | Condition::Up => Arrival::Expected,
        }
    }

    /// Whether it is to join a running job, and has not come yet.
    pub(super) fn is_joining(&self, host: u32) -> bool {
        self.joining[host as usize]
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

    /// Whether it is lost, and may take processes again when it has an agent again.
    pub(super) fn comes_back(&self, host: u32) -> bool {
        let comes = self.condition[host as usize] == Condition::Coming { before: true };
        let takes = self.places[host as usize].slots > 0 && !self.is_left(host);
        comes && takes && !self.is_joining(host)
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

    /// A host is shunned no more; whether it was. It stays drained.
    pub(super) fn use_again(&mut self, host: u32) -> bool {
        std::mem::replace(&mut self.shunned[host as usize], false)
    }

    /// Hosts that are shunned, and not given up.
    pub(super) fn shunned_and_there(&self) -> Vec<u32> {
        self.all().filter(|host| self.is_shunned(*host) && !self.is_gone(*host)).collect()
    }

    pub(super) fn drain(&mut self, host: u32, asked: bool) {
        let how = if asked { Drained::Asked } else { Drained::Unhealthy };
        self.drained[host as usize] = how;
    }

    pub(super) fn undrain(&mut self, host: u32) {
        self.drained[host as usize] = Drained::No;
    }

    pub(super) fn is_drained(&self, host: u32) -> bool {
        self.drained[host as usize] != Drained::No
    }

    pub(super) fn is_drained_by_user(&self, host: u32) -> bool {
        self.drained[host as usize] == Drained::Asked
    }

    /// Whether ranks leave the host, and none begins there while another host takes it.
    pub(super) fn is_left(&self, host: u32) -> bool {
        self.is_shunned(host) || self.is_drained(host)
    }

    /// How gladly a host takes so many ranks: 0 as a spare, 1 in free slots, 2 beyond its slots;
    /// `None`: not at all.
    fn class(&self, host: u32, ranks: u32) -> Option<u32> {
        if self.is_drained(host) { None } else { self.class_if_drained(host, ranks) }
    }

    /// As [`Self::class`], where hosts that are drained are the last resort.
    fn class_if_drained(&self, host: u32, ranks: u32) -> Option<u32> {
        let place = &self.places[host as usize];
        let then = self.ranks[host as usize].saturating_add(ranks);
        let is_there = !self.is_gone(host) && !self.is_joining(host);
        if !is_there || self.is_shunned(host) || place.slots == 0 {
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
        self.best(want, |host| self.class(host, want.ranks))
    }

    /// The same where no other host is left but those that are drained.
    pub(super) fn last_target(&self, want: Want) -> Option<u32> {
        self.best(want, |host| self.class_if_drained(host, want.ranks))
    }

    fn best(&self, want: Want, class: impl Fn(u32) -> Option<u32>) -> Option<u32> {
        let hosts = self.all().filter(|host| Some(*host) != want.not);
        let able = hosts.filter_map(|host| Some((host, class(host)?)));
        let able = able.filter(|(host, _)| !want.up || self.is_up(*host));
        let load = |host: u32| self.ranks[host as usize];
        able.min_by_key(|(host, class)| (!self.is_up(*host), *class, load(*host), *host))
            .map(|(host, _)| host)
    }

    /// Whether a host takes so many ranks now.
    pub(super) fn can_take(&self, host: u32, ranks: u32) -> bool {
        self.is_up(host) && self.class(host, ranks).is_some()
    }

    /// Whether the other hosts take so many ranks now.
    pub(super) fn others_take(&self, host: u32, ranks: u32) -> bool {
        let others = self.all().filter(|other| *other != host);
        let room = |other: u32| (1..=ranks).take_while(|more| self.can_take(other, *more)).count();
        others.map(room).sum::<usize>() >= ranks as usize
    }

    /// For each host, whether it is lost.
    pub(super) fn lost(&self) -> Vec<bool> {
        let lost = |host| self.is_gone(host) || (!self.is_up(host) && self.was_ever_up(host));
        self.all().map(lost).collect()
    }

    /// For each host, whether it can take so many ranks now.
    pub(super) fn takes(&self, ranks: u32) -> Vec<bool> {
        self.all().map(|host| self.can_take(host, ranks)).collect()
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

    /// A host for one more new process, beside those that were placed before: with a free slot if
    /// there is one, else the one with the fewest ranks. `among`: only these, unless it is empty.
    pub(super) fn for_new(&self, more: &BTreeMap<u32, u32>, among: &[u32]) -> Option<u32> {
        let then = |host: u32| {
            self.ranks[host as usize] + more.get(&host).copied().unwrap_or(0).saturating_add(1)
        };
        let takes = |host: &u32| {
            let place = &self.places[*host as usize];
            let fits = place.most.is_none_or(|most| then(*host) <= most);
            self.is_up(*host) && !self.is_left(*host) && place.slots > 0 && fits
        };
        let named = |host: &u32| among.is_empty() || among.contains(host);
        let full = |host: u32| then(host) > self.places[host as usize].slots;
        let able = self.all().filter(named).filter(takes);
        able.min_by_key(|host| (full(*host), then(*host), *host))
    }

    /// Whether each of these hosts takes one more new process, or as many as it is named here.
    pub(super) fn take_new(&self, hosts: &[u32]) -> bool {
        let mut more = BTreeMap::new();
        hosts.iter().all(|host| {
            let takes = self.for_new(&more, &[*host]).is_some();
            *more.entry(*host).or_insert(0) += 1;
            takes
        })
    }

    /// A process joins this host.
    pub(super) fn took(&mut self, host: u32) {
        self.ranks[host as usize] += 1;
    }

    /// A process has left this host for good.
    pub(super) fn left(&mut self, host: u32) {
        self.ranks[host as usize] = self.ranks[host as usize].saturating_sub(1);
    }

    pub(super) fn moved(&mut self, from: u32, to: u32) {
        self.ranks[from as usize] = self.ranks[from as usize].saturating_sub(1);
        self.ranks[to as usize] += 1;
    }
}
