//! A user who suspends the job. Ranks take last images within a grace that may be too short, and
//! another launcher continues with what is stored. No power is lost: servers stay, or end in order
//! and begin again.

use super::{Event, World};
use crate::mutants::Mutant;
use ftmpi_protocols::dispatcher::{EndReason, Input};
use ftmpi_wire::ImageNo;
use std::time::Duration;

/// No time at all, less than one image takes, what all mostly need, more than enough.
const GRACES: [u64; 6] = [0, 60, 400, 1500, 6000, 30_000];

impl World {
    /// The user suspends the job, as soon as there is a launcher.
    pub(super) fn suspend(&mut self) {
        if self.dispatch.end.is_some() {
            return;
        }
        if !self.is_launched() {
            return self.after(100, Event::Suspend);
        }
        let grace = GRACES[self.below(GRACES.len() as u64) as usize];
        self.note(|| format!("the user suspends the job, and gives it {grace}"));
        self.seen.suspension_ends.is_wanted(self.now, grace);
        self.seen.last_images.are_wanted();
        let grace = match self.setup.mutant {
            Some(Mutant::GraceNotKept) => u64::from(u32::MAX),
            Some(Mutant::LastImagesNotAwaited) => 0,
            _ => grace,
        };
        self.notify_dispatcher(Input::Suspend { grace: Duration::from_millis(grace) });
    }

    /// The dispatcher has heard something, or looked at the clock.
    pub(super) fn looks_at_suspension(&self) {
        if !self.dispatch.machine.has_ended() {
            self.seen.suspension_ends.goes_on(self.now);
        }
    }

    /// The job has ended so that it can be continued.
    pub(super) fn suspended(&mut self, reason: Option<&EndReason>) {
        self.note(|| format!("the job is suspended: {reason:?}"));
        let early = self.seen.suspension_ends.is_over(self.now);
        let ranks: Vec<_> = (0..self.processes.len()).map(|rank| self.goes_on_from(rank)).collect();
        self.seen.last_images.job_ends(early, ranks.into_iter());
        self.everything_ends();
        if self.below(2) == 0 {
            self.servers_begin_again();
        }
        self.logger.hosts_forget();
    }

    /// The image that a rank continues from, and whether the rank could take one until now. In a
    /// wave either all ranks can take part or none.
    fn goes_on_from(&self, rank: usize) -> (Option<ImageNo>, bool) {
        let cluster_peers = if self.in_waves() { self.cluster_peers_of(rank) } else { vec![rank] };
        let has = |cluster_peer: &usize, image: ImageNo| {
            self.processes[*cluster_peer].images.iter().any(|i| i.committed && i.number == image)
        };
        let mut images = self.processes[rank].images.iter().rev().map(|image| image.number);
        let newest =
            images.find(|image| cluster_peers.iter().all(|cluster_peer| has(cluster_peer, *image)));
        (newest, cluster_peers.iter().all(|cluster_peer| !self.processes[*cluster_peer].finalizing))
    }

    /// Servers write what they were given before they end.
    fn servers_begin_again(&mut self) {
        let answers = self.logger.write();
        self.deliver_log(answers);
        for logger in 0..self.logger.count() {
            self.logger.restart(logger, false);
            self.syncs_later(logger);
        }
        self.memories.write();
        for number in 0..self.memories.count() {
            self.memories.restart(number);
        }
    }
}
