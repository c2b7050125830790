//! What an earlier run left: asked of the servers, compared with what that run's launcher wrote down.
//!
//! Guarantees: no life of the continued job has a number that any life of the job ever had, as far as
//! a server or the launcher's own record knows; a rank does not begin from an image whose program had
//! written more than was ever printed, if an older one (or the start) will do: that output would be
//! lost.

use super::{Launcher, LauncherEvent};
use crate::job_dir::progress::RankProgress;
use ftmpi_protocols::dispatcher::{Dispatcher, ImageFacts, Past};
use ftmpi_servers::client::{self, ImageStore};
use ftmpi_transport::auth::JobKey;
use ftmpi_wire::image_store::{RankImages, Stored};
use ftmpi_wire::{Incarnation, Rank};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// Servers that cannot be asked for so long are an error of the job.
const PATIENCE: Duration = Duration::from_secs(60);
const RETRY: Duration = Duration::from_millis(300);

impl Launcher {
    /// Asks the servers; the answer comes as [`Event::Past`].
    pub(super) fn start_discovery(&mut self) {
        if std::mem::replace(&mut self.discovery_asked, true) {
            return;
        }
        let (loggers, stores) = self.servers.addresses(|address| {
            if address.ip().is_unspecified() {
                SocketAddr::from((Ipv4Addr::LOCALHOST, address.port()))
            } else {
                address
            }
        });
        let (key, events) = (self.key.clone(), self.events.clone());
        let size = self.plan.placement.len();
        tokio::spawn(async move {
            let since = Instant::now();
            let past = loop {
                match gather(&key, size, &loggers, &stores).await {
                    Err(Trouble::Passing(_)) if since.elapsed() < PATIENCE => {
                        tokio::time::sleep(RETRY).await;
                    }
                    Err(Trouble::Passing(why) | Trouble::Final(why)) => break Err(why),
                    Ok(found) => break Ok(found),
                }
            };
            let _ = events.send(LauncherEvent::Discovered(past));
        });
    }

    /// The servers have told what there is: the job goes on.
    pub(super) fn on_discovery(&mut self, past: Result<Vec<Found>, String>) {
        if self.begun || self.dispatcher.has_ended() {
            return;
        }
        let found = match past {
            Ok(found) => found,
            Err(why) => {
                let text = format!("what the job had stored cannot be asked for: {why}");
                return self.cannot_go_on(text);
            }
        };
        let known = self.progress.as_ref().map(|p| p.ranks().to_vec()).unwrap_or_default();
        let mut past = Vec::new();
        for (rank, found) in found.into_iter().enumerate() {
            let progress = known.get(rank).copied().unwrap_or_default();
            // Whatever text is lost all the same, the rank's agent says.
            past.push(choose(found, progress).0);
        }
        let ranks = past.len();
        let settings = super::settings::dispatcher_settings(&self.plan);
        self.dispatcher = Dispatcher::continued(settings, past);
        let newest = (0..ranks as u32).filter_map(|rank| self.dispatcher.newest(Rank(rank)));
        let sizes: Vec<u64> = newest.map(|image| image.bytes).collect();
        self.printer.notice(format!(
            "going on with the job: {} of {ranks} ranks from images ({:.1} MB), {} from the beginning",
            sizes.len(),
            sizes.iter().sum::<u64>() as f64 / 1e6,
            ranks - sizes.len()
        ));
        for rank in 0..self.plan.placement.len() as u32 {
            let (_, incarnation) = self.dispatcher.location(Rank(rank));
            self.job.view.incarnations[rank as usize] = incarnation;
        }
        self.discovery_done = true;
        self.carry_out();
    }
}

/// Why the servers' answers are of no use.
enum Trouble {
    /// They may be restarting.
    Passing(String),
    /// They answered.
    Final(String),
}

/// What servers know of one rank.
#[derive(Debug, Clone, Default)]
pub struct Found {
    shelf: RankImages,
    /// The latest life that the event logger knows of.
    logged: Incarnation,
}

/// What the rank may begin from, and how many bytes of its output are lost all the same.
fn choose(found: Found, progress: RankProgress) -> (Past, u64) {
    let Found { shelf, logged } = found;
    let facts = |stored: &Stored| ImageFacts {
        image: stored.image,
        bytes: stored.bytes,
        written: stored.counts.written,
        consumed: stored.counts.consumed,
    };
    let unprinted = |image: &ImageFacts| {
        image.written.iter().zip(progress.printed).map(|(w, p)| w.saturating_sub(p)).sum::<u64>()
    };
    let all: Vec<ImageFacts> = shelf.images.iter().map(facts).collect();
    let good: Vec<ImageFacts> = all.iter().filter(|image| unprinted(image) == 0).copied().collect();
    let lost = match all.last() {
        Some(newest) if good.is_empty() && !shelf.start_offered => unprinted(newest),
        _ => 0,
    };
    let images = if lost > 0 { all } else { good };
    let incarnation = shelf.incarnation.max(logged).max(progress.incarnation);
    let past =
        Past { incarnation, images, start_offered: shelf.start_offered, highest: shelf.highest };
    (past, lost)
}

async fn gather(
    key: &JobKey,
    size: usize,
    loggers: &[SocketAddr],
    stores: &[SocketAddr],
) -> Result<Vec<Found>, Trouble> {
    let passing = |error: client::ClientError| Trouble::Passing(error.to_string());
    let mut found = vec![Found::default(); size];
    // Without a checkpoint server there never were images.
    for one in &mut found {
        one.shelf.start_offered = true;
    }
    let mut by_store: BTreeMap<SocketAddr, Vec<usize>> = BTreeMap::new();
    for (rank, address) in stores.iter().enumerate() {
        by_store.entry(*address).or_default().push(rank);
    }
    for (address, ranks) in by_store {
        let mut store = ImageStore::connect(address, key, CONNECT_LIMIT).await.map_err(passing)?;
        for rank in ranks {
            found[rank].shelf = store.list(Rank(rank as u32)).await.map_err(passing)?;
        }
    }
    let mut asked = loggers.to_vec();
    asked.sort_unstable();
    asked.dedup();
    let several = asked.len() > 1;
    for address in asked {
        let status = client::status(address, key, CONNECT_LIMIT).await.map_err(passing)?;
        // Events of one logger may depend on lost ones of another, and what never came to its disk has
        // left no trace there.
        let promised = status["acknowledges"] == "durable";
        if several && !promised && status["power_lost"] == true {
            return Err(Trouble::Final(
                "the power of one of several event loggers was lost, and maybe events with it, so their \
                 logs may not agree any more; start the job anew (one event logger for all ranks, or \
                 --acknowledge durable, would have survived this)"
                    .into(),
            ));
        }
        for rank in status["ranks"].as_array().into_iter().flatten() {
            let number = |key: &str| rank[key].as_u64().and_then(|n| u32::try_from(n).ok());
            if let (Some(rank), Some(life)) = (number("rank"), number("incarnation"))
                && let Some(found) = found.get_mut(rank as usize)
            {
                found.logged = found.logged.max(Incarnation(life));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_wire::ImageNo;
    use ftmpi_wire::image_store::Counts;

    fn found(written: &[u64], start_offered: bool) -> Found {
        let image = |(number, written): (usize, &u64)| Stored {
            image: ImageNo(number as u64 + 1),
            incarnation: Incarnation(0),
            bytes: 1,
            counts: Counts { written: [*written, 0], consumed: 0 },
        };
        let images = written.iter().enumerate().map(image).collect();
        let shelf = RankImages {
            incarnation: Incarnation(1),
            start_offered,
            images,
            ..RankImages::default()
        };
        Found { shelf, logged: Incarnation(3) }
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
