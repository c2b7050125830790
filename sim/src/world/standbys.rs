//! Standbys: processes that have read an image of a rank and wait, each on a host.
//!
//! A standby has a copy of the image: it begins from that, whatever has become of the stored one.

use super::agents::Beginning;
use super::{Image, World};
use crate::invariants::promotion;
use crate::mutants::Mutant;
use ftmpi_protocols::dispatcher::{Command, Input, StandbyNews, StandbyOrder};
use ftmpi_wire::{ImageNo, Incarnation};

/// A process that waits.
pub(super) struct Standby {
    /// The agent that has it.
    agent: u64,
    incarnation: Incarnation,
    image: Image,
}

impl World {
    /// The launcher sends an order to the agent.
    pub(super) fn send_standby_order(&mut self, order: StandbyOrder) {
        let (StandbyOrder::Make { host, .. } | StandbyOrder::Drop { host, .. }) = order;
        self.order(host as usize, Command::Standby(order), 0);
    }

    /// The order reaches its agent.
    pub(super) fn standby_ordered(&mut self, host: usize, order: StandbyOrder) {
        let (rank, incarnation, image) = match order {
            StandbyOrder::Drop { rank, .. } => {
                self.processes[rank.index()].standbys.remove(&host);
                return;
            }
            StandbyOrder::Make { rank, incarnation, image, .. } => (rank, incarnation, image.image),
        };
        let agent = self.dispatch.hosts[host].agent;
        let fails = self.below(8) == 0;
        let process = &mut self.processes[rank.index()];
        let has_one = process.standbys.get(&host).is_some_and(|known| known.agent == agent);
        let keeps = has_one && self.setup.mutant == Some(Mutant::OldStandbyUsed);
        let stored =
            process.images.iter().find(|stored| stored.committed && stored.number == image);
        let news = match stored {
            _ if keeps => StandbyNews::Ready(image),
            Some(stored) if !fails => {
                let standby = Standby { agent, incarnation, image: stored.clone() };
                process.standbys.insert(host, standby);
                StandbyNews::Ready(image)
            }
            _ => {
                process.standbys.remove(&host);
                StandbyNews::Lost { image, why: "it was killed".to_owned(), for_good: false }
            }
        };
        self.report(host, Input::Standby(rank, incarnation, news));
    }

    /// An incarnation is to begin: the image of the standby that takes its place. Whether or not
    /// it does, the standby is gone.
    pub(super) fn take_standby(&mut self, beginning: &Beginning) -> Option<ImageNo> {
        let mutant = self.setup.mutant;
        let process = &mut self.processes[beginning.rank];
        let standby = process.standbys.remove(&beginning.host)?;
        let fits = standby.incarnation == beginning.incarnation
            && beginning.images.first() == Some(&standby.image.number)
            && !beginning.no_newer;
        let fits = fits || mutant == Some(Mutant::OldStandbyUsed);
        if standby.agent != beginning.agent || !fits {
            return None;
        }
        let number = standby.image.number;
        let ordered = (beginning.incarnation, &beginning.images[..]);
        let made = (standby.incarnation, number);
        promotion::begins(beginning.rank, made, ordered, process.cut_at);
        process.images.retain(|stored| stored.number != number);
        let place = process.images.partition_point(|stored| stored.number < number);
        process.images.insert(place, standby.image);
        self.outcome.promoted += 1;
        self.note(|| format!("rank {} begins in its standby", beginning.rank));
        Some(number)
    }
}
