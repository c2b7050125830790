//! What several event loggers tell all hosts (`--stable-vector broadcast`; event-logger-2005 §VI): one
//! connection of each host to each logger, and from here to the ranks.
//!
//! Guarantees: a life that begins is told everything that is known here, then what changes.

use super::rank_process::RankProcess;
use super::{Agent, AgentEvent};
use ftmpi_servers::event_logger;
use ftmpi_wire::control::ToRank;
use ftmpi_wire::{EventNo, Incarnation, Rank};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use tokio::task::JoinHandle;

/// Entries of one message to a rank.
const ENTRIES_MAX: usize = 256;

/// What is known.
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

fn tell(process: &RankProcess, clocks: &[(Rank, EventNo)]) {
    for clocks in clocks.chunks(ENTRIES_MAX) {
        process.send(&ToRank::StableClocks { clocks: clocks.to_vec() }, Vec::new(), false);
    }
}

impl Agent {
    /// A life begins.
    pub(super) fn send_clocks(&self, rank: Rank, incarnation: Incarnation) {
        if let Some(process) = self.process(rank, incarnation) {
            let known = self.clocks.known.iter();
            tell(process, &known.map(|(rank, clock)| (*rank, *clock)).collect::<Vec<_>>());
        }
    }

    /// The event loggers are known.
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
                let heard = |clocks: &[(Rank, EventNo)]| {
                    let _ = events.send(AgentEvent::Clocks(clocks.to_vec()));
                };
                event_logger::listen(address, &key, heard).await;
            }));
        }
    }

    pub(super) fn on_stable_clocks(&mut self, clocks: Vec<(Rank, EventNo)>) {
        for &(rank, clock) in &clocks {
            let known = self.clocks.known.entry(rank).or_default();
            *known = clock.max(*known);
        }
        for process in self.processes.values().filter(|process| process.is_talking()) {
            tell(process, &clocks);
        }
    }
}
