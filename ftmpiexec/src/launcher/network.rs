//! What the network does to a job: the launcher's own link is down, or two hosts do not reach each
//! other.
//!
//! Guarantees: no host counts as lost while all hosts are silent ([`crate::own_link`]). The
//! dispatcher hears of a cut between two hosts while the launcher hears both of them, and never of
//! a host that is merely dead.

use super::Launcher;
use super::notices::network as sentences;
use crate::agent_protocol::ToAgent;
use crate::heartbeat::Times;
use crate::own_link::{Change, OwnLink};
use crate::tuning::HEARD_MISSED_MAX;
use ftmpi_protocols::dispatcher::Input;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What the launcher knows of the network.
#[derive(Debug)]
pub struct Network {
    own_link: OwnLink,
    /// Ways that do not work: reporter and other host.
    reported: BTreeMap<(u32, u32), ReportedPath>,
}

/// A way that does not work.
#[derive(Debug)]
struct ReportedPath {
    why: String,
    /// The dispatcher knows it.
    told: bool,
}

impl Network {
    /// No host is up.
    pub fn new(hosts: usize, patience: Duration, times: Times) -> Self {
        Self { own_link: OwnLink::new(hosts, patience, times), reported: BTreeMap::new() }
    }

    /// One more host joins the job.
    pub fn add_host(&mut self) {
        self.own_link.add_host();
    }

    /// A heartbeat came; the number of the answer to it.
    pub fn heartbeat(&mut self, host: u32, answered: u64) -> (u64, Option<Change>) {
        self.own_link.heartbeat(host, answered, Instant::now())
    }

    /// The agent of a host is up. `remote`: it is not on the launcher's host.
    pub fn joined(&mut self, host: u32, remote: bool) {
        self.own_link.joined(host, remote, Instant::now());
    }

    /// The agent of a host is gone.
    fn left(&mut self, host: u32) {
        self.own_link.left(host);
        // Another agent there begins without ways that it watches.
        self.reported.retain(|(reporter, _), _| *reporter != host);
        for ((_, other), path) in &mut self.reported {
            path.told &= *other != host;
        }
    }

    /// Whether the launcher's own link seems to be down.
    pub fn is_own_link_down(&self) -> bool {
        self.own_link.is_down()
    }
}

impl Launcher {
    /// A heartbeat of an agent came, and is answered.
    pub(super) fn heartbeat(&mut self, host: u32, answered: u64) {
        let (number, change) = self.network.heartbeat(host, answered);
        self.agents.heartbeat(host, number);
        self.report_link(change);
    }

    fn report_link(&mut self, change: Option<Change>) {
        match change {
            Some(Change::Down) => {
                let patience = self.plan.launcher_patience;
                self.printer.notice(sentences::own_link_down(patience));
            }
            Some(Change::Back(after)) => {
                self.servers_are_heard();
                self.printer.notice(sentences::own_link_back(after));
            }
            None => {}
        }
    }

    /// Hosts that no longer answer are lost, unless it is the own link that is down.
    pub(super) fn look_at_heartbeats(&mut self) {
        let now = Instant::now();
        let change = self.network.own_link.look(now);
        self.report_link(change);
        for (host, launch) in self.agents.count_heartbeats() {
            if !self.network.own_link.is_excused(host, now) {
                self.agent_silent(host, launch);
            }
        }
    }

    /// The agents that are up have changed: each hears which others there are.
    pub(super) fn tell_witnesses(&mut self) {
        let states = self.agents.all().iter().enumerate().map(|(host, state)| (host as u32, state));
        let up = states.filter(|(host, state)| state.is_up() && self.agents.is_remote(*host));
        let witnesses = up.map(|(host, _)| host).collect();
        self.agents.broadcast(&ToAgent::Witnesses(witnesses));
    }

    /// The agent of a host is gone.
    pub(super) fn host_left(&mut self, host: u32) {
        self.network.left(host);
        self.tell_witnesses();
    }

    // ---- ways between hosts -----------------------------------------------------------------

    /// The agent of a host does not reach another host.
    pub(super) fn path_lost(&mut self, host: u32, other: u32, why: String) {
        if (other as usize) < self.agents.all().len() {
            self.network.reported.insert((host, other), ReportedPath { why, told: false });
            self.look_at_paths();
        }
    }

    /// It reaches the other host again.
    pub(super) fn path_back(&mut self, host: u32, other: u32) {
        let reported = &mut self.network.reported;
        let told = reported.remove(&(host, other)).is_some_and(|path| path.told);
        if told && !reported.contains_key(&(other, host)) {
            self.notify_dispatcher(Input::CutMended { hosts: [host, other] });
        }
    }

    /// Tells the dispatcher of ways that do not work between hosts that are heard.
    pub(super) fn look_at_paths(&mut self) {
        let agents = &self.agents;
        let heard = |host: u32| {
            let state = agents.get(host);
            state.is_up() && state.missed_beats() <= HEARD_MISSED_MAX
        };
        let untold = self.network.reported.iter_mut();
        let known: Vec<([u32; 2], String)> = untold
            .filter(|((host, other), path)| !path.told && heard(*host) && heard(*other))
            .map(|((host, other), path)| {
                path.told = true;
                ([*host, *other], path.why.clone())
            })
            .collect();
        for (hosts, why) in known {
            self.notify_dispatcher(Input::Cut { hosts, why });
        }
    }
}
