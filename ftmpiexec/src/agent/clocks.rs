//! The clocks of stable events that several event loggers tell all hosts (`--stable-vector
//! broadcast`; event-logger-2005 §VI). Each host has one connection to each logger and passes the
//! clocks on to its ranks.
//!
//! Guarantees: an incarnation that begins is sent all known clocks, then every change.

use super::Agent;
use super::events::AgentEvent;
use super::rank_process::RankProcess;
use crate::tuning::CLOCK_ENTRIES_MAX;
use ftmpi_servers::event_logger;
use ftmpi_wire::control::ToRank;
use ftmpi_wire::{EventNo, Incarnation, Rank};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use tokio::task::JoinHandle;

/// The clock of each rank up to which its events are stable.
#[derive(Debug, Default)]
pub struct Clocks {
    known: BTreeMap<Rank, EventNo>,
    addresses: Vec<SocketAddr>,
    listening: Vec<JoinHandle<()>>,
}

impl Drop for Clocks {
    fn drop(&mut self) {
        self.listening.iter().for_each(JoinHandle::abort);
    }
}

fn send(process: &RankProcess, clocks: &[(Rank, EventNo)]) {
    for clocks in clocks.chunks(CLOCK_ENTRIES_MAX) {
        process.send(&ToRank::StableClocks { clocks: clocks.to_vec() }, Vec::new(), false);
    }
}

impl Agent {
    /// Sends an incarnation that begins all known clocks.
    pub(super) fn send_clocks(&self, rank: Rank, incarnation: Incarnation) {
        if let Some(process) = self.ranks.get(rank, incarnation) {
            let known = self.clocks.known.iter();
            send(process, &known.map(|(rank, clock)| (*rank, *clock)).collect::<Vec<_>>());
        }
    }

    /// Listens to the event loggers, whose addresses are known now.
    pub(super) fn listen_to_loggers(&mut self) {
        let broadcasts = self.job.as_ref().is_some_and(|job| job.view.protocol.broadcasts_clocks());
        let mut addresses = self.directory.borrow().event_loggers.clone();
        addresses.sort();
        addresses.dedup();
        if !broadcasts || addresses == self.clocks.addresses {
            return;
        }
        self.clocks.listening.drain(..).for_each(|task| task.abort());
        self.clocks.addresses.clone_from(&addresses);
        for address in addresses {
            let (key, events) = (self.key.clone(), self.events.clone());
            self.clocks.listening.push(tokio::spawn(async move {
                let on_clocks = |clocks: &[(Rank, EventNo)]| {
                    let _ = events.send(AgentEvent::StableClocks(clocks.to_vec()));
                };
                event_logger::listen(address, &key, on_clocks).await;
            }));
        }
    }

    /// An event logger told which events are stable.
    pub(super) fn on_stable_clocks(&mut self, clocks: Vec<(Rank, EventNo)>) {
        for &(rank, clock) in &clocks {
            let known = self.clocks.known.entry(rank).or_default();
            *known = clock.max(*known);
        }
        for process in self.ranks.all().filter(|process| process.is_connected()) {
            send(process, &clocks);
        }
    }
}
