//! Standbys: a second process of a rank, which has read the rank's newest image and waits. After a
//! failure it takes the rank's place: it is the next incarnation, and no image is fetched.
//!
//! Guarantees:
//! - A standby is of the newest image of its rank and of the next incarnation, or it is not used.
//! - An incarnation that begins in a standby begins as any other one: announced, declared, after
//!   the end of the one before, on a host that takes ranks.
//! - Whatever else happens, the rank begins from its images as if there were no standby.
//! - The next image of a rank waits until its standby has read the last one: a standby that always
//!   reads helps nobody. Images that are wanted at once do not wait.
//! - It is on another host than its rank if one takes it. A host is preferred where it would be
//!   within the slots, ranks and standbys counted.

use super::Dispatcher;
use super::messages::{Command, ImageFacts};
use super::notice::Notice;
use super::rank_state::Stage;
use crate::judge::Named;
use crate::scheduler::scheduler_process::Note;
use crate::tuning::{STANDBY_PATIENCE, STANDBY_RETRY, STANDBYS_LOST_MAX};
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// The recovery that gives a rank the process of its standby.
const PROMOTE: &str = "promote";

/// What is named where a standby takes the place of its rank.
pub(super) fn promoting(named: Named) -> Named {
    Named { own: Some(PROMOTE), ..named }
}

/// What the dispatcher knows of the standby of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Standby {
    pub(super) host: u32,
    incarnation: Incarnation,
    image: ImageNo,
    /// It has read its image.
    ready: bool,
    /// When it was ordered.
    since: Duration,
    /// The next image of the rank waits until it is ready.
    awaited: bool,
    /// The host of its rank has closed its connection: the rank waits for that host first. (Its
    /// process may live as long as that host is not known to be lost.)
    second: bool,
}

impl Standby {
    /// Whether it reads its image, and not for longer than a standby should.
    fn reads(&self, now: Duration) -> bool {
        !self.ready && now < self.since + STANDBY_PATIENCE
    }
}

/// What is to be done about a standby.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StandbyOrder {
    /// Make one, in place of an earlier one of this rank on this host.
    Make {
        /// Of which rank.
        rank: Rank,
        /// The incarnation that begins in it.
        incarnation: Incarnation,
        /// Index of the host.
        host: u32,
        /// The image that it continues.
        image: ImageFacts,
    },
    /// Drop it.
    Drop {
        /// Of which rank.
        rank: Rank,
        /// Where it is.
        host: u32,
    },
}

/// What became of a standby.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum StandbyNews {
    /// It has read this image.
    Ready(ImageNo),
    /// It is gone.
    Lost {
        /// Its image.
        image: ImageNo,
        /// One line.
        why: String,
        /// The next one would have the same fate.
        for_good: bool,
    },
}

impl Dispatcher {
    /// Has a standby made from the newest image of a rank, if the rank is to have one.
    pub(super) fn make_standby(&mut self, rank: Rank) {
        let state = &self.ranks[rank.index()];
        let wanted = self.settings.standbys.get(rank.index()).is_some_and(|wanted| *wanted);
        let goes_on = state.stage == Stage::Running
            && !state.finalizing
            && state.exiting.is_none()
            && state.moves_to.is_none();
        let ends = self.ended || self.all_finalized || self.suspension.is_some();
        if !wanted || !goes_on || ends || state.lost_standbys.is_none() {
            return;
        }
        let Some(image) = state.images.newest_first().first().copied() else { return };
        let (incarnation, before) = (state.incarnation.next(), state.standby);
        if before.is_some_and(|it| (it.incarnation, it.image) == (incarnation, image.image)) {
            return;
        }
        let Some(host) = self.standby_host(rank) else { return self.drop_standby(rank) };
        if before.is_some_and(|before| before.host != host) {
            self.drop_standby(rank);
        }
        let (since, image_no) = (self.now, image.image);
        let (ready, awaited, second) = (false, true, false);
        let standby = Standby { host, incarnation, image: image_no, ready, since, awaited, second };
        self.ranks[rank.index()].standby = Some(standby);
        let order = StandbyOrder::Make { rank, incarnation, host, image };
        self.commands.push_back(Command::Standby(order));
    }

    /// The host for the standby of a rank: where it has one already, else another host, else its
    /// own.
    fn standby_host(&self, rank: Rank) -> Option<u32> {
        let state = &self.ranks[rank.index()];
        let here = state.host;
        let own = self.hosts.is_up(here).then_some(here);
        if self.settings.together {
            return own;
        }
        let takes = |host: u32| host != here && self.hosts.can_take(host, 1);
        if let Some(known) = state.standby.filter(|known| takes(known.host)) {
            return Some(known.host);
        }
        let mut others = BTreeMap::new();
        for other in self.ranks.iter().filter_map(|state| state.standby) {
            *others.entry(other.host).or_insert(0) += 1;
        }
        self.hosts.least_loaded_of(&others, takes).or(own)
    }

    /// The standby of a rank is of no use any more.
    pub(super) fn drop_standby(&mut self, rank: Rank) {
        if let Some(Standby { host, .. }) = self.ranks[rank.index()].standby.take() {
            self.commands.push_back(Command::Standby(StandbyOrder::Drop { rank, host }));
        }
    }

    /// A host is lost, and the standbys with it. Others are made elsewhere.
    pub(super) fn standbys_are_gone(&mut self, host: u32) {
        let now = self.now;
        for state in &mut self.ranks {
            if state.standby.take_if(|standby| standby.host == host).is_some() {
                state.standby_again = Some(now);
            }
        }
    }

    /// Standbys are made in place of those that were lost.
    pub(super) fn look_for_standbys(&mut self) {
        for rank in (0..self.ranks.len() as u32).map(Rank) {
            let again = &mut self.ranks[rank.index()].standby_again;
            if again.take_if(|at| *at <= self.now).is_some() {
                self.make_standby(rank);
            }
        }
    }

    /// Whether the next image of a rank waits until its standby has read the last one.
    pub(super) fn waits_for_standby(&self, rank: Rank) -> bool {
        let standby = self.ranks[rank.index()].standby;
        standby.is_some_and(|it| it.awaited && it.reads(self.now))
    }

    /// An image of a rank, or of each, is wanted at once.
    pub(super) fn wait_for_no_standby(&mut self, rank: Option<Rank>) {
        let ranks = self.ranks.iter_mut().enumerate();
        let wanted = ranks.filter(|(at, _)| rank.is_none_or(|rank| rank.index() == *at));
        for standby in wanted.filter_map(|(_, state)| state.standby.as_mut()) {
            standby.awaited = false;
        }
    }

    /// The standby of a rank, for people: its host, its image, and whether it has read that.
    #[must_use]
    pub fn standby(&self, rank: Rank) -> Option<(u32, ImageNo, bool)> {
        let standby = self.ranks.get(rank.index())?.standby?;
        Some((standby.host, standby.image, standby.ready))
    }

    /// The connection to a host was closed, and not for silence: a new agent is tried there before
    /// its ranks move.
    pub(super) fn standbys_come_second(&mut self, host: u32) {
        for state in self.ranks.iter_mut().filter(|state| state.host == host) {
            if let Some(standby) = &mut state.standby {
                standby.second = true;
            }
        }
    }

    /// A rank has a new incarnation. If its standby comes second, that waits; any other is used or
    /// dropped.
    pub(super) fn keep_second(&mut self, rank: Rank) {
        let state = &mut self.ranks[rank.index()];
        let next = state.incarnation;
        state.standby = state.standby.filter(|it| it.second && it.incarnation == next);
    }

    /// A rank that waits for a lost host moves: the host of its standby, if that takes the rank.
    pub(super) fn second_host(&mut self, rank: Rank) -> Option<u32> {
        let state = &mut self.ranks[rank.index()];
        let standby = state.standby.take().filter(|it| it.second)?;
        let is_newest = state.images.newest() == Some(standby.image) && !state.images.no_newer();
        let takes = is_newest && self.hosts.can_take(standby.host, 1);
        takes.then_some(standby.host)
    }

    pub(super) fn standby_news(&mut self, rank: Rank, incarnation: Incarnation, news: StandbyNews) {
        let Some(state) = self.ranks.get_mut(rank.index()) else { return };
        let Some(standby) = state.standby.as_mut().filter(|it| it.incarnation == incarnation)
        else {
            return;
        };
        match news {
            StandbyNews::Ready(image) => {
                let took = self.now.saturating_sub(standby.since);
                let has_read = !standby.ready && standby.image == image;
                standby.ready |= has_read;
                state.lost_standbys = state.lost_standbys.map(|_| 0);
                if has_read {
                    self.note(Note::Read(took));
                }
            }
            StandbyNews::Lost { image, .. } if standby.image != image => {}
            StandbyNews::Lost { why, for_good, .. } => {
                let host = self.settings.hosts[standby.host as usize].clone();
                state.standby = None;
                let lost = state.lost_standbys.map_or(1, |lost| lost + 1);
                let over = for_good || lost >= STANDBYS_LOST_MAX;
                state.lost_standbys = (!over).then_some(lost);
                state.standby_again = (!over).then_some(self.now + STANDBY_RETRY);
                if over {
                    self.notify(Notice::NoStandby { rank, host, why });
                }
            }
        }
    }

    /// Whether a rank has a standby that need not wait for the rank's host.
    pub(super) fn has_first_standby(&self, rank: Rank) -> bool {
        self.ranks[rank.index()].standby.is_some_and(|standby| !standby.second)
    }

    /// The host of the standby that a rank begins in if its own host does not come back.
    pub(super) fn second_standby(&self, rank: Rank) -> Option<String> {
        let standby = self.ranks[rank.index()].standby.filter(|standby| standby.second)?;
        Some(self.settings.hosts[standby.host as usize].clone())
    }

    /// The host of the standby that can take the place of its rank now. A standby that still reads
    /// its image is awaited: it has begun, and a restart would begin to read. Where it reads for
    /// very long, it is awaited only if the rank begins on that host anyway, or must leave its own.
    pub(super) fn fit_standby(&self, rank: Rank) -> Option<u32> {
        let state = &self.ranks[rank.index()];
        let standby = state.standby.filter(|standby| !standby.second)?;
        let (to, here) = (standby.host, state.host);
        let is_stuck = !standby.ready && !standby.reads(self.now);
        if is_stuck && to != here && state.moves_to.is_none() && self.hosts.is_up(here) {
            return None;
        }
        let is_next = standby.incarnation == state.incarnation.next()
            && state.images.newest() == Some(standby.image)
            && !state.images.no_newer();
        let goes_there = match state.moves_to {
            Some(planned) => planned == to,
            None if to == here => !self.hosts.is_left(to),
            None => !self.settings.together && self.hosts.can_take(to, 1),
        };
        (is_next && goes_there && self.hosts.is_up(to)).then_some(to)
    }

    /// A rank is to begin its next incarnation: in its standby, if that can take its place. Gives
    /// the name of its host then.
    pub(super) fn promote(&mut self, rank: Rank) -> Option<String> {
        let (to, here) = (self.fit_standby(rank)?, self.ranks[rank.index()].host);
        if self.ranks[rank.index()].moves_to.is_none() && to != here {
            self.begins_next_on(rank, to);
        }
        Some(self.settings.hosts[to as usize].clone())
    }
}
