//! Coordinated jobs: waves of images, and the return of all ranks to the last complete one.
//!
//! Guarantees: no new life begins before every old one has ended, so that no message of a state that
//! was given up can meet the new one and all output of the old lives is out; all ranks return to the
//! same wave; a failure on the way only makes it begin again; waves begin only while every rank is
//! in its program.

use super::Dispatcher;
use super::messages::{Command, Failure, ImageFacts};
use super::rank_state::Stage;
use crate::waves::Over;
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::time::Duration;

/// A broken channel is mostly the first sign of a death; if none is reported within this time, the
/// network is to blame.
const LOST_CHANNEL_PATIENCE: Duration = Duration::from_secs(2);

/// A channel that broke: two ranks and their lives.
pub(super) type LostChannel = [(Rank, Incarnation); 2];

impl Dispatcher {
    // ---- waves --------------------------------------------------------------------------------

    /// Begins the wave that is due.
    pub(super) fn look_for_wave(&mut self) {
        let Some(scheduler) = &mut self.scheduler else { return };
        let Some(waves) = self.waves.as_mut().filter(|waves| !waves.is_under_way()) else { return };
        if self.rolling
            || !self.ranks.iter().all(|state| state.can_take_image())
            || !scheduler.wave_is_due(self.now)
        {
            return;
        }
        let (image, keep) = (waves.begin(self.now), Some(waves.kept()));
        for (rank, state) in self.ranks.iter().enumerate() {
            let (rank, incarnation) = (Rank(rank as u32), state.incarnation);
            self.commands.push_back(Command::TakeImage { rank, incarnation, image, keep });
        }
    }

    pub(super) fn wave_image_committed(&mut self, rank: Rank, image: ImageFacts) {
        let now = self.now;
        let over = self.waves.as_mut().and_then(|waves| waves.committed(now, rank, image));
        self.wave_over(over);
    }

    pub(super) fn wave_image_failed(&mut self, rank: Rank, image: ImageNo) {
        let now = self.now;
        let over = self.waves.as_mut().and_then(|waves| waves.failed(now, rank, image));
        self.wave_over(over);
    }

    fn wave_over(&mut self, over: Option<Over>) {
        let Some(over) = over else { return };
        if let Some(scheduler) = &mut self.scheduler {
            scheduler.wave_ended(self.now);
        }
        if let Some(oldest) = over.complete {
            self.image_trouble = None;
            let image = over.wave;
            for (rank, state) in self.ranks.iter_mut().enumerate() {
                state.same_deaths = 0;
                let (rank, incarnation) = (Rank(rank as u32), state.incarnation);
                let command = Command::ImageCommitted { rank, incarnation, image, oldest };
                self.commands.push_back(command);
            }
        }
        self.commands.push_back(Command::WaveOver(over));
    }

    // ---- the return ---------------------------------------------------------------------------

    /// These ranks are dead: everybody returns to the last wave.
    pub(super) fn roll_back(&mut self, dead: &[Rank], cause: &str, code: i32) {
        self.restarts += 1;
        if self.restarts > self.settings.restarts_max {
            let text = format!(
                "{cause}, after {} restarts, the limit of this job (--max-restarts)",
                self.settings.restarts_max
            );
            return self.give_up(code, text);
        }
        let Some(waves) = &mut self.waves else { return };
        waves.abandon();
        let target = match waves.newest() {
            Some(wave) => format!("wave {wave}"),
            None => "the beginning".to_owned(),
        };
        self.rolling = true;
        self.all_finalized = false;
        self.left_early_at = None;
        self.complaint = None;
        self.lost_channel = None;
        self.commands.push_back(Command::Say(format!("{cause}; all ranks return to {target}")));
        for (rank, state) in self.ranks.iter_mut().enumerate() {
            let rank = Rank(rank as u32);
            state.finalizing = false;
            state.exiting = None;
            state.can_image = false;
            match state.stage {
                // What never joined has nothing to return to.
                Stage::Done(_) if !state.joined => {}
                Stage::Waiting => {}
                Stage::Spawned | Stage::Running if !dead.contains(&rank) => {
                    state.stage = Stage::Stopping;
                    let incarnation = state.incarnation;
                    self.commands.push_back(Command::Kill { rank, incarnation });
                }
                Stage::Stopping if !dead.contains(&rank) => {}
                _ => state.new_life(),
            }
        }
        for &rank in dead {
            let state = &self.ranks[rank.index()];
            // Its old life ends with this; what says more about it comes too late.
            self.failures.push(Failure {
                rank,
                incarnation: state.incarnation,
                at: self.now,
                cause: cause.to_owned(),
                hello_at: None,
                image: None,
                caught_up_at: None,
                replayed: 0,
            });
        }
        self.go_on();
    }

    /// A rank that had to end has ended.
    pub(super) fn stopped(&mut self, rank: Rank) {
        self.ranks[rank.index()].new_life();
        self.go_on();
    }

    /// Everybody begins anew, as soon as all old lives have ended and all hosts are there.
    pub(super) fn go_on(&mut self) {
        let ready = |this: &Self| {
            this.ranks.iter().all(|state| match state.stage {
                Stage::Stopping => false,
                Stage::Waiting => this.hosts.is_up(state.host),
                _ => true,
            })
        };
        if !self.rolling || self.ended || !self.hosts.all_settled() || !ready(self) {
            return;
        }
        self.rolling = false;
        if let Some(scheduler) = &mut self.scheduler {
            scheduler.wave_ended(self.now);
        }
        let waiting: Vec<Rank> = (0..self.ranks.len() as u32)
            .map(Rank)
            .filter(|rank| self.ranks[rank.index()].stage == Stage::Waiting)
            .collect();
        for &rank in &waiting {
            let state = &self.ranks[rank.index()];
            let (incarnation, host) = (state.incarnation, state.host);
            if incarnation > Incarnation(0) {
                self.commands.push_back(Command::Announce { rank, incarnation, host });
            }
        }
        for rank in waiting {
            self.start(rank);
        }
    }

    /// An image of the wave to which all returned cannot be read: the wave before it serves.
    pub(super) fn wave_unusable(&mut self, rank: Rank, image: ImageNo, why: &str) {
        if let Some(waves) = &mut self.waves {
            waves.condemn(image);
            let cause = format!("image {image} of rank {rank} cannot be restored ({why})");
            self.roll_back(&[rank], &cause, 1);
        }
    }

    /// The agent of a host is gone with its ranks.
    pub(super) fn roll_back_from_host(&mut self, victims: &[Rank], cause: &str) {
        let (stopping, dead): (Vec<Rank>, Vec<Rank>) =
            victims.iter().partition(|rank| self.ranks[rank.index()].stage == Stage::Stopping);
        for rank in stopping {
            self.ranks[rank.index()].new_life();
        }
        if !dead.is_empty() {
            self.roll_back(&dead, cause, 1);
        }
    }

    // ---- broken channels ----------------------------------------------------------------------

    pub(super) fn channel_lost(&mut self, ends: LostChannel) {
        let both_live = ends.iter().all(|&(rank, incarnation)| {
            self.ranks.get(rank.index()).is_some_and(|state| {
                state.incarnation == incarnation && state.stage == Stage::Running
            })
        });
        if both_live && self.waves.is_some() && !self.all_exiting {
            self.lost_channel.get_or_insert((self.now, ends));
        }
    }

    pub(super) fn look_at_lost_channel(&mut self) {
        let now = self.now;
        let Some((_, ends)) =
            self.lost_channel.take_if(|(since, _)| now >= *since + LOST_CHANNEL_PATIENCE)
        else {
            return;
        };
        if !self.all_exiting {
            let [(a, _), (b, _)] = ends;
            let cause = format!("the connection between rank {a} and rank {b} broke");
            self.roll_back(&[], &cause, 1);
        }
    }
}
