//! What an earlier run left: the servers are asked, and their answers are compared with what the
//! launcher of that run stored.
//!
//! Guarantees: no incarnation of the continued job has the number of an earlier incarnation, as far
//! as a server or the launcher's own record knows. A rank does not begin from an image whose
//! program had written more than was ever printed, if an older image or the start will do. Else
//! that output would be lost.

use super::discovered::{DiscoveryError, Found};
use super::events::LauncherEvent;
use super::{Launcher, notices};
use crate::job_dir::continuations;
use crate::job_dir::progress::RankProgress;
use crate::tuning::{CONNECT_LIMIT, DISCOVERY_PATIENCE, DISCOVERY_RETRY};
use ftmpi_protocols::dispatcher::{Dispatcher, ImageFacts, Past};
use ftmpi_servers::client::{self, ImageStore};
use ftmpi_transport::auth::JobKey;
use ftmpi_wire::image_store::Stored;
use ftmpi_wire::{Incarnation, Rank};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Instant;

/// How far the discovery is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Discovery {
    /// No server was asked.
    #[default]
    Waiting,
    /// The servers were asked.
    Asked,
    /// The answers are known.
    Done,
}

impl Discovery {
    /// Whether the answers are known.
    pub fn is_done(self) -> bool {
        self == Self::Done
    }
}

impl Launcher {
    /// Asks the servers; the answer comes as [`LauncherEvent::Discovered`].
    pub(super) fn start_discovery(&mut self) {
        if self.discovery != Discovery::Waiting {
            return;
        }
        self.discovery = Discovery::Asked;
        let (loggers, stores) = self.servers.own_addresses();
        let (key, events) = (self.key.clone(), self.events.clone());
        let size = self.plan.placement.len();
        tokio::spawn(async move {
            let since = Instant::now();
            let found = loop {
                match gather(&key, size, &loggers, &stores).await {
                    Err(DiscoveryError::Unreachable(_)) if since.elapsed() < DISCOVERY_PATIENCE => {
                        tokio::time::sleep(DISCOVERY_RETRY).await;
                    }
                    outcome => break outcome,
                }
            };
            let _ = events.send(LauncherEvent::Discovered(found));
        });
    }

    /// The servers have answered: the job goes on.
    pub(super) fn on_discovery(&mut self, found: Result<Vec<Found>, DiscoveryError>) {
        if self.run.servers_up || self.dispatcher.has_ended() {
            return;
        }
        let found = match found {
            Ok(found) => found,
            Err(e) => return self.cannot_go_on(notices::discovery_failed(&e)),
        };
        let known = self.store.progress().map(|p| p.ranks().to_vec()).unwrap_or_default();
        let mut past = Vec::new();
        for (rank, found) in found.into_iter().enumerate() {
            let progress = known.get(rank).copied().unwrap_or_default();
            // The rank's agent reports output that is lost all the same.
            past.push(choose(found, progress).0);
        }
        if let Err(why) = self.may_go_on(&past) {
            return self.cannot_go_on(why);
        }
        let ranks = past.len();
        let settings = super::settings::dispatcher_settings(&self.plan);
        self.dispatcher = Dispatcher::continued(settings, past);
        self.load_libraries();
        let newest = (0..ranks as u32).filter_map(|rank| self.dispatcher.newest(Rank(rank)));
        let sizes: Vec<u64> = newest.map(|image| image.bytes).collect();
        self.printer.notice(notices::going_on(sizes.len(), ranks, sizes.iter().sum()));
        for rank in 0..self.plan.placement.len() as u32 {
            let (_, incarnation) = self.dispatcher.location(Rank(rank));
            self.job.view.incarnations[rank as usize] = incarnation;
        }
        self.discovery = Discovery::Done;
        self.carry_out();
    }

    /// Whether this run is not one too many of a script that starts the job again and again.
    fn may_go_on(&mut self, past: &[Past]) -> Result<(), String> {
        let Some(earlier) = &self.plan.continued else { return Ok(()) };
        if !earlier.same_line {
            continuations::forget(&earlier.directory);
            return Ok(());
        }
        let newest = past.iter().filter_map(|past| past.images.last()).map(|image| image.image.0);
        match continuations::count(&earlier.directory, newest.sum()) {
            Ok(true) => Ok(()),
            Ok(false) => Err(continuations::no_progress(&earlier.directory)),
            Err(e) => {
                self.printer.notice(continuations::not_counted(&e));
                Ok(())
            }
        }
    }
}

/// What a rank may begin from, and how many bytes of its output are lost all the same.
fn choose(found: Found, progress: RankProgress) -> (Past, u64) {
    let Found { stored, logged } = found;
    let facts = |stored: &Stored| ImageFacts {
        image: stored.image,
        bytes: stored.bytes,
        written: stored.counts.written,
        consumed: stored.counts.consumed,
    };
    let unprinted = |image: &ImageFacts| {
        image.written.iter().zip(progress.printed).map(|(w, p)| w.saturating_sub(p)).sum::<u64>()
    };
    let all: Vec<ImageFacts> = stored.images.iter().map(facts).collect();
    let good: Vec<ImageFacts> = all.iter().filter(|image| unprinted(image) == 0).copied().collect();
    let lost = match all.last() {
        Some(newest) if good.is_empty() && !stored.start_offered => unprinted(newest),
        _ => 0,
    };
    let images = if lost > 0 { all } else { good };
    let incarnation = stored.incarnation.max(logged).max(progress.incarnation);
    let past =
        Past { incarnation, images, start_offered: stored.start_offered, highest: stored.highest };
    (past, lost)
}

/// Asks every checkpoint server and every event logger once.
async fn gather(
    key: &JobKey,
    size: usize,
    loggers: &[SocketAddr],
    stores: &[SocketAddr],
) -> Result<Vec<Found>, DiscoveryError> {
    let unreachable = |e: client::ClientError| DiscoveryError::Unreachable(e.to_string());
    let mut found = vec![Found::default(); size];
    // Without a checkpoint server there never were images.
    for one in &mut found {
        one.stored.start_offered = true;
    }
    let mut by_store: BTreeMap<SocketAddr, Vec<usize>> = BTreeMap::new();
    for (rank, address) in stores.iter().enumerate() {
        by_store.entry(*address).or_default().push(rank);
    }
    for (address, ranks) in by_store {
        let mut store =
            ImageStore::connect(address, key, CONNECT_LIMIT).await.map_err(unreachable)?;
        for rank in ranks {
            found[rank].stored = store.list(Rank(rank as u32)).await.map_err(unreachable)?;
        }
    }
    let mut asked = loggers.to_vec();
    asked.sort_unstable();
    asked.dedup();
    let several = asked.len() > 1;
    for address in asked {
        let status = client::status(address, key, CONNECT_LIMIT).await.map_err(unreachable)?;
        // Events of one logger may depend on lost events of another one. An event that never came
        // to a disk has left no trace there.
        let promised = status["acknowledges"] == "durable";
        if several && !promised && status["power_lost"] == true {
            return Err(DiscoveryError::PowerLost);
        }
        for rank in status["ranks"].as_array().into_iter().flatten() {
            let number = |key: &str| rank[key].as_u64().and_then(|n| u32::try_from(n).ok());
            if let (Some(rank), Some(incarnation)) = (number("rank"), number("incarnation"))
                && let Some(found) = found.get_mut(rank as usize)
            {
                found.logged = found.logged.max(Incarnation(incarnation));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_wire::ImageNo;
    use ftmpi_wire::image_store::{Counts, RankImages};

    fn found(written: &[u64], start_offered: bool) -> Found {
        let image = |(number, written): (usize, &u64)| Stored {
            image: ImageNo(number as u64 + 1),
            incarnation: Incarnation(0),
            bytes: 1,
            counts: Counts { written: [*written, 0], consumed: 0 },
        };
        let images = written.iter().enumerate().map(image).collect();
        let stored = RankImages {
            incarnation: Incarnation(1),
            start_offered,
            images,
            ..RankImages::default()
        };
        Found { stored, logged: Incarnation(3) }
    }

    #[test]
    fn no_image_that_is_ahead_of_the_output() {
        let printed = |bytes| RankProgress { printed: [bytes, 0], ..RankProgress::default() };
        let numbers = |(past, lost): (Past, u64)| {
            (past.images.iter().map(|image| image.image.0).collect::<Vec<_>>(), lost)
        };
        assert_eq!(numbers(choose(found(&[5, 9], false), printed(9))), (vec![1, 2], 0));
        assert_eq!(numbers(choose(found(&[5, 9], false), printed(8))), (vec![1], 0));
        assert_eq!(numbers(choose(found(&[5, 9], false), printed(4))), (vec![1, 2], 5));
        assert_eq!(numbers(choose(found(&[5], true), printed(4))), (vec![], 0));
        assert_eq!(choose(found(&[], true), printed(0)).0.incarnation, Incarnation(3));
    }
}
