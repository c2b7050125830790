//! How an incarnation of a rank begins: its order, its process, its hello, and the end of its
//! replay.

use super::Dispatcher;
use super::messages::Command;
use super::notice::{EndReason, Notice};
use super::rank_state::Stage;
use crate::waves::Waves;
use ftmpi_wire::{ImageNo, Incarnation, Rank};

impl Dispatcher {
    pub(super) fn start(&mut self, rank: Rank) {
        let cluster = self.cluster_of(rank).map(|cluster| &self.clusters[cluster].waves);
        let past = cluster.map_or(ImageNo(0), Waves::past);
        let state = &mut self.ranks[rank.index()];
        state.stage = Stage::Starting;
        let (images, or_beginning) = match cluster {
            // All or none. A rank that joined after the wave begins.
            Some(waves) => {
                let start = !self.settings.traits.replays() || waves.can_return_to_the_start();
                let image = waves.image_of(rank);
                (image.into_iter().collect(), image.is_none() && start)
            }
            None => (state.images.newest_first(), state.images.reach_back_to_the_start()),
        };
        let (incarnation, host, no_newer) =
            (state.incarnation, state.host, state.images.no_newer());
        let start =
            Command::Start { rank, incarnation, host, images, or_beginning, no_newer, past };
        self.commands.push_back(start);
    }

    pub(super) fn spawned(&mut self, rank: Rank, incarnation: Incarnation) {
        if let Some(state) = self.living(rank, incarnation) {
            state.stage = Stage::Spawned;
        }
    }

    /// A first start that fails is the user's mistake; later, events and images are kept.
    pub(super) fn cannot_start(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
        code: i32,
        why: String,
    ) {
        if self.is_stopping(rank, incarnation) {
            return self.stopped(rank);
        }
        if self.living(rank, incarnation).is_none() {
            return;
        }
        if self.was_unborn(rank, code, || why.clone()) {
            return;
        }
        let host = self.host_name(rank).to_owned();
        let reason = EndReason::CannotStart { rank, host, why };
        if incarnation > Incarnation(0) {
            self.give_up(code, reason);
        } else {
            self.end(code, Some(reason));
        }
    }

    pub(super) fn hello(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
        resumed: Option<ImageNo>,
        can_image: bool,
    ) {
        let now = self.now;
        let Some(state) = self.living(rank, incarnation) else { return };
        state.stage = Stage::Running;
        state.joined = true;
        state.can_image = can_image;
        state.images.begun();
        if let Some(failure) = self.failure_of(rank, incarnation) {
            failure.hello_at = Some(now);
            failure.image = resumed;
        }
        self.migration_began(rank, incarnation);
        self.look_at_birth(rank);
        let pause = self.scheduler.as_ref().is_some_and(|s| s.is_under_way(rank));
        if pause {
            self.image_ended(rank);
        }
    }

    pub(super) fn caught_up(&mut self, rank: Rank, incarnation: Incarnation, replayed: u64) {
        let now = self.now;
        let Some(state) = self.living(rank, incarnation) else { return };
        state.behind = false;
        if let Some(failure) = self.failure_of(rank, incarnation) {
            failure.caught_up_at = Some(now);
            failure.replayed = replayed;
            let (image, took) = (failure.image, now.saturating_sub(failure.at));
            self.notify(Notice::Back { rank, image, replayed, took });
        }
        self.make_standby(rank);
    }
}
