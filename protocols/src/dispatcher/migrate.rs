//! Ranks that move without a failure: on request, because their host is drained, or because its
//! health is bad.
//!
//! A migration takes an image at once. When the image is durable the old incarnation ends, and the
//! next one begins on another host from that image. Where images are taken in waves, the ranks of
//! the cluster do this together: a wave at once, then the return to it.
//!
//! Guarantees:
//! - No rank begins on a drained host while another host can take it.
//! - Ranks go only to hosts that take them: slots, limits, spare and shunned hosts count as they do
//!   after a failure (`hosts`).
//! - A migration is no failure: it counts in no limit, and it costs no more than one image and what
//!   was done since.
//! - A rank that fails on its way begins at its goal. A migration that cannot end (no image, the
//!   program ends, the goal is lost) leaves the rank where it is, and says why.
//! - Whoever is on a host when it is drained, or is just arriving there, leaves it or is said to
//!   stay. To drain a host once more moves those that stayed.

use super::failures::Failed;
use super::hosts::Want;
use super::messages::{Command, MoveCause};
use super::migration::{Migration, MoveFailure, MoveState, Refusal};
use super::notice::{Cause, Notice};
use super::rank_state::Stage;
use super::{Dispatcher, Place};
use crate::judge::{Fact, HostName, Recovery};
use crate::scheduler::scheduler_process::Note;
use crate::tuning::LOST_IMAGES_MAX;
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::collections::BTreeMap;
use std::time::Duration;

/// What one look at all migrations has found of each cluster.
#[derive(Debug, Default)]
struct Seen {
    staying: BTreeMap<usize, Option<MoveFailure>>,
    at_work: BTreeMap<usize, bool>,
}

impl Dispatcher {
    /// All migrations so far, oldest first.
    #[must_use]
    pub fn migrations(&self) -> &[Migration] {
        &self.migrations
    }

    /// Whether a host takes no ranks.
    #[must_use]
    pub fn is_drained(&self, host: u32) -> bool {
        self.hosts.is_drained(host)
    }

    /// Whether ranks leave a host, and none begins there while another host takes it: it is
    /// drained, or the judge says so.
    #[must_use]
    pub fn is_left(&self, host: u32) -> bool {
        self.hosts.is_left(host)
    }

    /// Whether a rank can be moved to this host, or to any other one.
    ///
    /// # Errors
    /// Why not.
    pub fn may_migrate(&self, rank: Rank, to: Option<u32>) -> Result<(), Refusal> {
        self.may_move_any()?;
        let state = &self.ranks[rank.index()];
        let host = || self.host_name(rank).to_owned();
        if let Some(to) = to {
            let name = self.settings.hosts[to as usize].clone();
            if state.host == to {
                return Err(Refusal::AlreadyThere { rank, host: name });
            }
            if self.hosts.is_drained(to) {
                return Err(Refusal::Drained { host: name });
            }
            if self.hosts.is_shunned(to) {
                return Err(Refusal::Shunned { host: name });
            }
            if !self.hosts.is_up(to) {
                return Err(Refusal::NotUp { host: name });
            }
            if !self.hosts.can_take(to, 1) {
                return Err(Refusal::NoRoom { host: name });
            }
            let alone = |other: &Rank| self.ranks[other.index()].host != state.host;
            if self.settings.together && !self.others(rank).all(|other| alone(&other)) {
                return Err(Refusal::SharesMemory { rank, host: host() });
            }
        } else if self.other_than(state.host, 1).is_none() {
            return Err(Refusal::NoOtherHost { host: host() });
        }
        let active = |m: &Migration| m.rank == rank && m.is_active();
        if state.moves_to.is_some() || self.migrations.iter().any(active) {
            return Err(Refusal::Moving { rank });
        }
        // It may have left the waves.
        for peer in std::iter::once(rank).chain(self.moves_with(rank)) {
            match self.why_it_stays(peer) {
                Some(MoveFailure::NoImage) => return Err(Refusal::NoImageOf { rank: peer }),
                Some(_) => return Err(Refusal::RankEnds { rank: peer }),
                None => {}
            }
        }
        Ok(())
    }

    /// Whether a host can be drained.
    ///
    /// # Errors
    /// Why not.
    pub fn may_drain(&self, host: u32) -> Result<(), Refusal> {
        let all = (0..self.ranks.len() as u32).map(Rank);
        let count = all.filter(|rank| self.counts_on(*rank, host)).count();
        let most = self.living_on(host).len().max(1) as u32;
        let name = || self.settings.hosts[host as usize].clone();
        if count == 0 {
            return Ok(());
        }
        let fits = match self.settings.together {
            true => self.other_than(host, count.max(1) as u32).is_some(),
            false => self.hosts.others_take(host, most),
        };
        if !fits {
            return Err(Refusal::NoOtherHost { host: name() });
        }
        if self.settings.together && most > 1 && !self.in_waves() {
            return Err(Refusal::NotTogether { host: name() });
        }
        self.may_move_any()
    }

    /// The ranks of a host whose programs have not ended.
    #[must_use]
    pub fn living_on(&self, host: u32) -> Vec<Rank> {
        let here = (0..self.ranks.len() as u32).map(Rank);
        let here = here.filter(|rank| self.ranks[rank.index()].host == host);
        here.filter(|rank| !self.has_ended_program(*rank)).collect()
    }

    /// Another host that takes so many ranks now.
    fn other_than(&self, host: u32, ranks: u32) -> Option<u32> {
        self.hosts.target(Want { ranks, not: Some(host), up: true })
    }

    fn may_move_any(&self) -> Result<(), Refusal> {
        if self.scheduler.is_none() {
            let off = self.settings.traits.is_fault_tolerant();
            return Err(Refusal::NoImages { protocol: self.settings.protocol.clone(), off });
        }
        if self.suspension.is_some() || self.ended {
            return Err(Refusal::Ending);
        }
        Ok(())
    }

    fn others(&self, rank: Rank) -> impl Iterator<Item = Rank> + use<> {
        (0..self.ranks.len() as u32).map(Rank).filter(move |other| *other != rank)
    }

    /// The ranks whose images are taken together with the image of this one, this one among them.
    fn moves_with(&self, rank: Rank) -> Vec<Rank> {
        match self.cluster_of(rank) {
            Some(cluster) => self.clusters[cluster].waves.ranks().to_vec(),
            None => vec![rank],
        }
    }

    /// Why there will be no image of a rank any more.
    fn why_it_stays(&self, rank: Rank) -> Option<MoveFailure> {
        let state = &self.ranks[rank.index()];
        match state.stage {
            Stage::Done(_) | Stage::Ignored => Some(MoveFailure::RankEnds),
            _ if self.waits_for_other_worlds(rank) => None,
            _ if state.finalizing || state.exiting.is_some() => Some(MoveFailure::RankEnds),
            Stage::Running if !state.can_image => Some(MoveFailure::NoImage),
            _ => None,
        }
    }

    // ---- requests -------------------------------------------------------------------------------

    /// A rank is to move. A request that [`Dispatcher::may_migrate`] refuses changes nothing.
    pub(super) fn migrate(&mut self, rank: Rank, to: Option<u32>) {
        let known = rank.index() < self.ranks.len()
            && to.is_none_or(|to| (to as usize) < self.settings.hosts.len());
        if known && self.may_migrate(rank, to).is_ok() {
            self.begin_migration(rank, to, MoveCause::Asked);
            self.look_at_migrations();
        }
    }

    /// No rank is to be on this host. If it is drained already, a user takes over from monitoring,
    /// and whoever stayed is to move again.
    pub(super) fn drain(&mut self, host: u32, cause: &MoveCause) {
        let by_user = *cause == MoveCause::Drained;
        let again = self.hosts.is_known(host) && self.hosts.is_drained(host);
        if !self.hosts.is_known(host) || (again && !by_user) {
            return;
        }
        let name = self.settings.hosts[host as usize].clone();
        let here = (0..self.ranks.len() as u32).map(Rank);
        let here: Vec<Rank> = here.filter(|rank| self.counts_on(*rank, host)).collect();
        if let Err(refusal) = self.may_drain(host) {
            // Monitoring may say so of a host that cannot be emptied.
            if !by_user {
                self.notify(Notice::CannotDrain { host: name, cause: cause.clone(), refusal });
                here.iter().for_each(|rank| self.hasten_image_of(*rank));
            }
            return;
        }
        self.hosts.drain(host, by_user);
        if !again {
            let living = self.living_on(host).len();
            self.notify(Notice::Draining { host: name, cause: cause.clone(), ranks: living });
        }
        // Memory that they share is on one host.
        let together = self.settings.together.then(|| self.other_than(host, here.len() as u32));
        let together = together.flatten();
        for rank in here {
            if self.has_ended_program(rank) {
                // It may have to return with its cluster.
                if let Some(to) = together.or_else(|| self.other_than(host, 1)) {
                    self.begins_next_on(rank, to);
                    self.is_there(rank);
                }
            } else if !self.migrations.iter().any(|m| m.rank == rank && m.is_active()) {
                // Who is on the way is looked at when it arrives, or when it cannot go on.
                self.begin_migration(rank, together, cause.clone());
            }
        }
        self.look_at_migrations();
    }

    /// What monitoring says about a host; `bad`: why it may fail soon. A host that cannot be empty
    /// is not drained, and a host that a user has drained stays so. The judge may end the job for
    /// it; without images ranks move as it says.
    pub(super) fn health(&mut self, host: u32, bad: Option<String>) {
        if host as usize >= self.settings.hosts.len() {
            return;
        }
        match bad {
            Some(why) => {
                let fact = Fact::Suspect { host, why: why.clone() };
                let says = self.ask(&fact).map(|verdict| verdict.named.recovery);
                let has_images = self.scheduler.is_some();
                match says {
                    Some(Recovery::GiveUp) => self.noticed(&fact),
                    Some(_) if !has_images && self.settings.traits.is_fault_tolerant() => {
                        self.noticed(&fact);
                    }
                    _ => self.drain(host, &MoveCause::Unhealthy { why }),
                }
            }
            None => {
                if !self.hosts.is_drained_by_user(host) {
                    self.undrain(host);
                }
                self.noticed(&Fact::Sound { host });
            }
        }
    }

    /// A user lets a host take ranks again, whatever was the reason that it took none.
    pub(super) fn undrain_and_use(&mut self, host: u32) {
        if (host as usize) < self.settings.hosts.len() {
            self.use_again(&[host]);
            self.undrain(host);
            self.leave_drained_hosts();
            self.all_go_on();
        }
    }

    /// A host is drained no more. Ranks that have not left it stay.
    fn undrain(&mut self, host: u32) {
        if !self.hosts.is_drained(host) {
            return;
        }
        self.hosts.undrain(host);
        self.notify(Notice::Undrained { host: self.settings.hosts[host as usize].clone() });
        for number in 0..self.migrations.len() {
            let migration = &self.migrations[number];
            if migration.from == host
                && migration.cause != MoveCause::Asked
                && migration.state == MoveState::AwaitsImage
            {
                self.migrations[number].state = MoveState::Failed(MoveFailure::Undrained);
            }
        }
    }

    /// A host joins the job; its agent is started.
    pub(super) fn add_host(&mut self, name: String, place: Place) {
        self.judge.host_added(HostName { name: name.clone(), switch: place.switch.clone() });
        let host = self.hosts.add(place);
        self.settings.hosts.push(name);
        self.commands.push_back(Command::StartAgent { host });
    }

    /// Whether a rank is on this host, and was not dropped: it may have to begin again there.
    fn counts_on(&self, rank: Rank, host: u32) -> bool {
        let state = &self.ranks[rank.index()];
        state.host == host && state.stage != Stage::Ignored
    }

    /// There will be no later incarnation of a rank.
    pub(super) fn migrates_no_more(&mut self, rank: Rank) {
        let active = |m: &Migration| m.rank == rank && m.is_active();
        while let Some(number) = self.migrations.iter().position(active) {
            self.migration_fails(number, MoveFailure::RankEnds);
        }
    }

    fn has_ended_program(&self, rank: Rank) -> bool {
        matches!(self.ranks[rank.index()].stage, Stage::Done(_) | Stage::Ignored)
    }

    fn begin_migration(&mut self, rank: Rank, to: Option<u32>, cause: MoveCause) {
        let mut before = self.images_before(rank);
        let under_way = match self.cluster_of(rank) {
            Some(cluster) => self.clusters[cluster].waves.is_under_way(),
            None => self.scheduler.as_ref().is_some_and(|s| s.is_under_way(rank)),
        };
        if under_way {
            // The image that is being taken serves.
            before.0 = before.0.saturating_sub(1);
        }
        self.migrations.push(Migration {
            rank,
            from: self.ranks[rank.index()].host,
            to,
            cause,
            state: MoveState::AwaitsImage,
            asked_at: self.now,
            image: None,
            ended_at: None,
            incarnation: None,
            hello_at: None,
            back_at: None,
            before,
            lost: 0,
        });
    }

    fn hasten_image_of(&mut self, rank: Rank) {
        let wave = self.cluster_of(rank);
        self.note(wave.map_or(Note::HastenOne(rank), |wave| Note::HastenWave(wave as u32)));
    }

    // ---- progress -------------------------------------------------------------------------------

    /// Something has happened: whatever is ready goes on.
    pub(super) fn look_at_migrations(&mut self) {
        if self.suspension.is_some() || !self.migrations.iter().any(Migration::is_active) {
            return;
        }
        let mut seen = Seen::default();
        for number in 0..self.migrations.len() {
            match self.migrations[number].state {
                MoveState::AwaitsImage => self.look_for_image_of_migration(number, &mut seen),
                MoveState::Begins => self.look_at_goal(number, &mut seen),
                _ => {}
            }
        }
    }

    /// Why there will be no image of one of the ranks that move with this one.
    fn why_they_stay(&self, rank: Rank, seen: &mut Seen) -> Option<MoveFailure> {
        match self.cluster_of(rank) {
            None => self.why_it_stays(rank),
            Some(cluster) => {
                let look = || {
                    let ranks = self.clusters[cluster].waves.ranks().iter();
                    ranks.copied().find_map(|peer| self.why_it_stays(peer))
                };
                // It may have left the waves.
                let own = self.why_it_stays(rank);
                own.or_else(|| seen.staying.entry(cluster).or_insert_with(look).clone())
            }
        }
    }

    /// Whether everything that the migration of a rank had interrupted is as fast as before.
    fn are_at_work(&self, rank: Rank, seen: &mut Seen) -> bool {
        let at_work = |rank: &Rank| {
            let state = &self.ranks[rank.index()];
            match state.stage {
                Stage::Running => !state.behind || state.finalizing,
                Stage::Done(_) | Stage::Ignored => true,
                _ => false,
            }
        };
        match self.cluster_of(rank) {
            None => at_work(&rank),
            Some(cluster) => {
                let look = || self.clusters[cluster].waves.ranks().iter().all(at_work);
                *seen.at_work.entry(cluster).or_insert_with(look)
            }
        }
    }

    fn look_for_image_of_migration(&mut self, number: usize, seen: &mut Seen) {
        let (rank, before) = (self.migrations[number].rank, self.migrations[number].before);
        if let Some(why) = self.why_they_stay(rank, seen) {
            return self.migration_fails(number, why);
        }
        // An incarnation that waits for a host can as well wait for another one.
        if self.ranks[rank.index()].stage == Stage::Waiting {
            self.migration_goes_on(rank, self.ranks[rank.index()].incarnation);
            self.settle(rank);
            return self.all_go_on();
        }
        let newest = self.newest_image(rank);
        if newest <= before || self.ranks[rank.index()].stage != Stage::Running {
            return self.hasten_image_of(rank);
        }
        if self.goal_of(&self.migrations[number]).is_none() {
            return self.migration_fails(number, MoveFailure::NoOtherHost);
        }
        match self.cluster_of(rank) {
            Some(cluster) => self.cluster_moves(cluster),
            None => self.rank_moves(number, newest),
        }
    }

    /// The old incarnation of a rank ends.
    fn rank_moves(&mut self, number: usize, image: ImageNo) {
        let migration = &mut self.migrations[number];
        let rank = migration.rank;
        (migration.state, migration.image) = (MoveState::Ends, Some((image, self.now)));
        self.end_one(rank);
        self.bring_back_who_left();
    }

    /// A wave is complete: its cluster returns to it, with ranks on other hosts.
    fn cluster_moves(&mut self, cluster: usize) {
        let (now, mut moving) = (self.now, Vec::new());
        for number in 0..self.migrations.len() {
            let migration = &self.migrations[number];
            let rank = migration.rank;
            let newest = self.newest_image(rank);
            if migration.state == MoveState::AwaitsImage
                && self.cluster_of(rank) == Some(cluster)
                && newest > migration.before
            {
                let migration = &mut self.migrations[number];
                (migration.state, migration.image) = (MoveState::Ends, Some((newest, now)));
                moving.push(rank);
            }
        }
        let failed = Failed { cause: Cause::Moves { ranks: moving }, named: None, code: 1 };
        if self.return_cluster(cluster, &[], &failed) {
            self.go_on(cluster);
            self.return_those_who_left(failed.code);
        }
    }

    /// If the rank and all that returned with it are at work, the migration is over.
    fn look_at_goal(&mut self, number: usize, seen: &mut Seen) {
        let rank = self.migrations[number].rank;
        if !self.are_at_work(rank, seen) {
            return;
        }
        let (now, at) = (self.now, self.ranks[rank.index()].host);
        if at == self.migrations[number].from {
            return self.migration_fails(number, MoveFailure::GoalLost);
        }
        let migration = &mut self.migrations[number];
        (migration.state, migration.back_at, migration.to) = (MoveState::Done, Some(now), Some(at));
        let migration = migration.clone();
        let name = |host: u32| self.settings.hosts[host as usize].clone();
        let (from, to) = (name(migration.from), name(at));
        let since = |at: Duration| at.saturating_sub(migration.asked_at);
        let image = migration.image.map(|(image, at)| (image, since(at)));
        self.notify(Notice::Moved { rank, from, to, image, took: since(now) });
        if self.hosts.is_drained(at) && !self.has_ended_program(rank) {
            // The host was drained while the rank was on its way to it.
            self.begin_migration(rank, None, MoveCause::Drained);
        }
        self.say_if_empty(migration.from);
    }

    fn say_if_empty(&mut self, host: u32) {
        let left = |state: &super::RankState| {
            state.host == host && !matches!(state.stage, Stage::Done(_) | Stage::Ignored)
        };
        let moving = |m: &Migration| m.from == host && m.is_active();
        if self.hosts.is_drained(host)
            && !self.ranks.iter().any(left)
            && !self.migrations.iter().any(moving)
        {
            self.notify(Notice::Drained { host: self.settings.hosts[host as usize].clone() });
        }
    }

    fn migration_fails(&mut self, number: usize, why: MoveFailure) {
        self.migrations[number].state = MoveState::Failed(why.clone());
        let (rank, asked) = (self.migrations[number].rank, &self.migrations[number].cause);
        let asked = *asked == MoveCause::Asked;
        let host = self.host_name(rank).to_owned();
        let will_have_image = !matches!(why, MoveFailure::RankEnds | MoveFailure::NoImage);
        self.notify(Notice::Stays { rank, host, why });
        if asked && will_have_image && self.hosts.is_drained(self.ranks[rank.index()].host) {
            // Its host was drained meanwhile: any other host serves.
            self.begin_migration(rank, None, MoveCause::Drained);
        }
    }

    /// An image was lost: whoever waited for it stays.
    pub(super) fn migration_image_failed(&mut self, rank: Rank, image: ImageNo, why: &str) {
        for number in 0..self.migrations.len() {
            let migration = &self.migrations[number];
            let concerned = migration.state == MoveState::AwaitsImage
                && image > migration.before
                && self.moves_with(migration.rank).contains(&rank);
            if !concerned {
                continue;
            }
            let migration = &mut self.migrations[number];
            (migration.before, migration.lost) = (image, migration.lost + 1);
            if migration.lost == LOST_IMAGES_MAX {
                self.migration_fails(number, MoveFailure::ImageLost(why.to_owned()));
            }
        }
    }

    /// An incarnation has said hello.
    pub(super) fn migration_began(&mut self, rank: Rank, incarnation: Incarnation) {
        let now = self.now;
        let mine = |m: &&mut Migration| m.rank == rank && m.incarnation == Some(incarnation);
        if let Some(migration) = self.migrations.iter_mut().rev().find(mine) {
            migration.hello_at = Some(now);
        }
    }

    // ---- places ---------------------------------------------------------------------------------

    fn goal_of(&self, migration: &Migration) -> Option<u32> {
        let host = self.ranks[migration.rank.index()].host;
        match migration.to {
            Some(to) => Some(to).filter(|to| *to == host || self.hosts.can_take(*to, 1)),
            // It has left meanwhile, because something failed.
            None if host != migration.from && !self.hosts.is_left(host) => Some(host),
            None => self.other_than(migration.from, 1),
        }
    }

    /// The old incarnation of a rank has ended, and this one has not begun: if the rank migrates,
    /// its goal is the host of this one.
    pub(super) fn migration_goes_on(&mut self, rank: Rank, incarnation: Incarnation) {
        let active = |m: &Migration| m.rank == rank && m.is_active();
        let Some(number) = self.migrations.iter().position(active) else { return };
        if self.migrations[number].state == MoveState::Begins {
            self.migrations[number].incarnation = Some(incarnation);
            return;
        }
        // What a failure has planned since goes first.
        let planned = self.ranks[rank.index()].moves_to;
        let Some(to) = planned.or_else(|| self.goal_of(&self.migrations[number])) else {
            return self.migration_fails(number, MoveFailure::GoalLost);
        };
        self.begins_next_on(rank, to);
        let migration = &mut self.migrations[number];
        migration.to = Some(to);
        migration.ended_at = Some(self.now);
        migration.incarnation = Some(incarnation);
        migration.state = MoveState::Begins;
    }

    /// Hosts take ranks again: those that wait for a drained one go there.
    pub(super) fn leave_drained_hosts(&mut self) {
        for rank in (0..self.ranks.len() as u32).map(Rank) {
            let state = &self.ranks[rank.index()];
            let waits = state.stage == Stage::Waiting && self.hosts.is_drained(state.host);
            if waits && self.plan_move(rank).is_some() {
                self.settle(rank);
            }
        }
    }
}
