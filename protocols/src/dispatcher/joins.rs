//! Worlds that commands of the user bring (`ftmpiexec --join`), and worlds that end alone.
//!
//! Guarantees:
//! - A command hears once how its world has ended.
//! - Where all ranks return to a wave, a world begins after a wave that began after its command. So
//!   what the user has seen before the command (a port, a name) is never taken back, and a world
//!   that is dropped begins again by itself, also if its command has had its answer. A new command
//!   waits until such a world has ended again: its user has seen that end.
//! - A world that has met no other one fails alone. It has met one as soon as a process of it may
//!   send to a process of another world, and for ever.

use super::Dispatcher;
use super::messages::Command;
use super::notice::EndReason;
use super::rank_state::Stage;
use super::worlds::{Course, Origin, Wanted, is_over};
use crate::scheduler::scheduler_process::Note;
use crate::tuning::{ECHO_TIME, GRACE_WITHOUT_FINALIZE, WAVES_IN_VAIN};
use ftmpi_wire::{ImageNo, Rank, new_processes};
use std::collections::BTreeMap;
use std::time::Duration;

/// The commands, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Joins(BTreeMap<u64, Join>);

#[derive(Debug)]
struct Join {
    wanted: Vec<Wanted>,
    stage: JoinStage,
    /// The wave after which its world began, once it did.
    base: Option<ImageNo>,
    /// Its processes have been there.
    born: bool,
    /// The command has heard of the end.
    told: bool,
    /// The user wants the end of its world, with this exit code.
    end_wanted: Option<i32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JoinStage {
    /// For a wave behind this one.
    Waits(ImageNo),
    /// All ranks have returned to a wave before its world began.
    Again,
    /// It has a world.
    Placed,
    /// It has none, and gets none.
    Refused,
}

impl Dispatcher {
    /// A command of the user brings processes.
    pub(super) fn join(&mut self, number: u64, wanted: Vec<Wanted>) {
        let (base, end_wanted) = (None, None);
        let stage = JoinStage::Waits(self.last_wave());
        let join = Join { wanted, stage, base, born: false, told: false, end_wanted };
        self.joins.0.insert(number, join);
        if let Some(why) = self.never_joins() {
            self.refuse_join(number, 1, Some(EndReason::Ordered(why)));
        }
    }

    /// Why no processes can join this job.
    fn never_joins(&self) -> Option<String> {
        let traits = self.settings.traits;
        if !new_processes::are_possible(traits) {
            return Some(new_processes::impossible(&self.settings.protocol));
        }
        (traits.all_return() && self.scheduler.is_none()).then(|| {
            format!(
                "the job runs under {} without images, so a failure would take back what was there \
                 before these processes; start it without --ckpt off",
                self.settings.protocol
            )
        })
    }

    fn last_wave(&self) -> ImageNo {
        self.clusters.first().map_or(ImageNo(0), |first| first.waves.last_issued())
    }

    /// Has those begin for which it is time.
    pub(super) fn look_at_joins(&mut self) {
        let numbers: Vec<u64> = self.joins.0.keys().copied().collect();
        for number in numbers {
            match self.joins.0[&number].stage {
                JoinStage::Waits(after) => self.look_at_new(number, after),
                JoinStage::Again if !self.holds_spawns() => self.begin_joined(number),
                JoinStage::Placed => self.look_at_wanted_end(number),
                JoinStage::Again | JoinStage::Refused => {}
            }
        }
    }

    fn look_at_new(&mut self, number: u64, after: ImageNo) {
        if self.suspension.is_some() || self.all_finalized || self.all_exiting {
            let reason = EndReason::Ordered("the job ends".to_owned());
            return self.refuse_join(number, 1, Some(reason));
        }
        if !self.settings.traits.all_return() {
            return self.begin_joined(number);
        }
        let unable = self.ranks.iter().position(|state| {
            state.stage == Stage::Running && !state.can_image && !state.finalizing
        });
        if let Some(rank) = unable {
            let why = format!(
                "rank {rank} of the job takes no images, so a failure would take back what was there \
                 before these processes; the job's own output says why it takes none"
            );
            return self.refuse_join(number, 1, Some(EndReason::Ordered(why)));
        }
        // The user has seen the end of a world that has not ended yet.
        let ends_again = self.joins.0.iter().any(|(other, join)| {
            join.told && (join.stage == JoinStage::Again || self.is_at_work(*other))
        });
        if ends_again {
            let last = self.last_wave();
            return self.joins.0.get_mut(&number).expect("seen").stage = JoinStage::Waits(last);
        }
        let Some(cluster) = self.clusters.first() else { return };
        if cluster.waves.newest().is_some_and(|wave| wave > after) {
            if !self.holds_spawns() {
                self.begin_joined(number);
            }
        } else if cluster.void_in_row < WAVES_IN_VAIN && !cluster.waves.is_under_way() {
            self.note(Note::HastenWave(0));
        }
    }

    fn world_of_join(&self, number: u64) -> Option<usize> {
        self.worlds.iter().rposition(|state| state.join == Some(number))
    }

    fn is_at_work(&self, number: u64) -> bool {
        let course = self.world_of_join(number).map(|index| self.worlds[index].course);
        matches!(course, Some(Course::Begins(_) | Course::Runs | Course::Ends(_)))
    }

    fn begin_joined(&mut self, number: u64) {
        let newest = self.clusters.first().and_then(|first| first.waves.newest());
        let all_return = self.settings.traits.all_return();
        let join = self.joins.0.get_mut(&number).expect("a known command");
        let (before, wanted) = (join.stage, join.wanted.clone());
        join.base = join.base.or(newest.filter(|_| all_return));
        join.stage = JoinStage::Placed;
        if !self.begin_world(Origin::User(number), &wanted) {
            self.joins.0.get_mut(&number).expect("seen").stage = before;
        }
    }

    /// The world of a command is there, or cannot be.
    pub(super) fn join_answered(&mut self, number: u64, outcome: Result<Rank, (i32, String)>) {
        let Some(join) = self.joins.0.get_mut(&number) else { return };
        match outcome {
            Ok(first) => {
                join.born = true;
                self.commands.push_back(Command::Joined { number, first });
            }
            Err(_) if join.stage == JoinStage::Refused => {}
            Err((_, why)) if join.born => {
                let why = format!("processes that joined the job cannot begin again: {why}");
                self.give_up(1, EndReason::Ordered(why));
            }
            Err((code, why)) => {
                // An error never looks like success.
                let code = if code == 0 { 1 } else { code };
                self.refuse_join(number, code, Some(EndReason::Ordered(why)));
            }
        }
    }

    fn refuse_join(&mut self, number: u64, code: i32, reason: Option<EndReason>) {
        let Some(join) = self.joins.0.get_mut(&number) else { return };
        join.stage = JoinStage::Refused;
        if !std::mem::replace(&mut join.told, true) {
            self.commands.push_back(Command::JoinOver { number, code, reason });
        }
    }

    /// The user wants the end of a world.
    pub(super) fn end_joined(&mut self, number: u64, code: i32) {
        let Some(join) = self.joins.0.get_mut(&number) else { return };
        join.end_wanted = Some(code);
        match join.stage {
            JoinStage::Waits(_) | JoinStage::Again => self.refuse_join(number, code, None),
            JoinStage::Placed | JoinStage::Refused => self.look_at_wanted_end(number),
        }
    }

    fn look_at_wanted_end(&mut self, number: u64) {
        let Some(code) = self.joins.0[&number].end_wanted else { return };
        let Some(index) = self.world_of_join(number) else { return };
        match self.worlds[index].course {
            Course::Begins(_) => {
                self.refuse_join(number, code, None);
                let why = "the user has ended it".to_owned();
                self.unborn_fails(index, None, (code, why));
            }
            Course::Runs if !self.worlds[index].met => self.end_alone(index, None, code, None),
            _ => {}
        }
    }

    /// Whether the user can end the world of this command without the others.
    #[must_use]
    pub fn may_end_joined(&self, number: u64) -> bool {
        self.world_of_join(number).is_none_or(|index| !self.worlds[index].met)
    }

    /// Whether worlds are to begin again: the job does not end before.
    pub(super) fn joins_again(&self) -> bool {
        self.joins.0.values().any(|join| join.stage == JoinStage::Again)
    }

    /// Why all ranks cannot return to this wave: processes have joined for good after a later one.
    pub(super) fn joined_after(&self, wave: ImageNo) -> Option<String> {
        let all_return = self.settings.traits.all_return();
        let later = self.joins.0.values().any(|join| join.base.is_some_and(|base| base > wave));
        (all_return && later).then(|| {
            format!(
                "the images of the last waves are damaged, and wave {wave} is before processes \
                 joined the job (ftmpiexec --join), whose users cannot be asked again"
            )
        })
    }

    /// All ranks return to a wave before this world began.
    pub(super) fn is_dropped_now(&mut self, index: usize) {
        let state = &mut self.worlds[index];
        let met = std::mem::take(&mut state.met);
        let (ends, why) = (state.course, state.why.take());
        let Some(number) = state.join else { return };
        if let Course::Ends(code) = ends {
            self.tell_join(number, code, why);
        }
        if let Some(join) = self.joins.0.get_mut(&number) {
            // Nobody has seen anything of a world that has met none and is over.
            join.stage = if join.told && !met { JoinStage::Refused } else { JoinStage::Again };
        }
    }

    // ---- worlds that end alone ----------------------------------------------------------------

    /// Processes of two worlds may meet.
    pub(super) fn met(&mut self, ranks: [Rank; 2]) {
        let [one, other] = ranks.map(|rank| self.world_index(rank));
        if one != other {
            (self.worlds[one].met, self.worlds[other].met) = (true, true);
        }
    }

    /// Whether the world of this rank fails alone, if it does.
    pub(super) fn ends_alone(&self, rank: Rank) -> bool {
        let state = &self.worlds[self.world_index(rank)];
        state.join.is_some() && !state.met && state.course == Course::Runs
    }

    /// A process has failed for good. `ended`: it is gone. `true`: its world ends alone.
    pub(super) fn fails_alone(
        &mut self,
        rank: Rank,
        ended: bool,
        code: i32,
        reason: &EndReason,
    ) -> bool {
        let (index, ended) = (self.world_index(rank), ended.then_some(rank));
        if self.ends_alone(rank) {
            self.end_alone(index, ended, code, Some(reason.clone()));
            return true;
        }
        let Some(number) = self.first_begins(index) else { return false };
        self.refuse_join(number, code, Some(reason.clone()));
        self.unborn_fails(index, ended, (code, String::new()));
        true
    }

    /// The command whose world this is, if its processes begin for the first time and are not all
    /// there.
    fn first_begins(&self, index: usize) -> Option<u64> {
        let Course::Begins(Origin::User(number)) = self.worlds[index].course else { return None };
        let first = self.joins.0.get(&number).is_some_and(|join| !join.born);
        first.then_some(number)
    }

    /// A dead rank has the job given up, or its world alone.
    pub(super) fn given_up(&mut self, rank: Rank, code: i32, reason: EndReason) {
        if !self.fails_alone(rank, true, code, &reason) {
            self.give_up(code, reason);
        }
    }

    fn end_alone(&mut self, index: usize, ended: Option<Rank>, code: i32, why: Option<EndReason>) {
        let world = self.worlds[index].world;
        self.worlds[index].course = Course::Ends(code);
        (self.worlds[index].why, self.worlds[index].complaint) = (why, None);
        for rank in world.processes().map(Rank) {
            self.waits_no_more(rank);
            let state = &mut self.ranks[rank.index()];
            let incarnation = state.incarnation;
            match state.stage {
                Stage::Done(_) | Stage::Ignored => continue,
                Stage::Stopping => {}
                Stage::Waiting => state.stage = Stage::Done(code),
                _ if ended == Some(rank) => state.stage = Stage::Done(code),
                Stage::Starting | Stage::Spawned | Stage::Running => {
                    state.stage = Stage::Stopping;
                    self.commands.push_back(Command::Kill { rank, incarnation });
                }
            }
            self.left_its_groups(rank);
            self.drop_standby(rank);
            self.migrates_no_more(rank);
            self.gives_slot_back(rank);
            if self.scheduler.as_ref().is_some_and(|s| s.is_under_way(rank)) {
                self.image_ended(rank);
            }
        }
        self.left_early_at = self.left_early_at.filter(|(_, left)| !world.has(*left));
        self.without_mpi_at = self.without_mpi_at.filter(|(_, ended)| !world.has(*ended));
        for rank in world.processes().map(Rank) {
            self.owes_no_image(rank);
        }
        self.leaves_waves(world);
        self.look_at_ends(index);
    }

    /// The process of a world that ends alone has ended. `false`: the rank is of no such world.
    pub(super) fn has_ended_alone(&mut self, rank: Rank) -> bool {
        let index = self.world_index(rank);
        let Course::Ends(code) = self.worlds[index].course else { return false };
        self.ranks[rank.index()].stage = Stage::Done(code);
        self.look_at_ends(index);
        true
    }

    fn look_at_ends(&mut self, index: usize) {
        let Course::Ends(_) = self.worlds[index].course else { return };
        if self.states_of(index).all(|(_, state)| is_over(state)) {
            let (world, why) = (self.worlds[index].world, self.worlds[index].why.take());
            self.join_over(index, why);
            self.worlds[index].course = Course::Over;
            self.commands.push_back(Command::WorldOver(world));
            self.look_at_barriers();
        }
    }

    /// All processes of a world have ended, or have nothing more to do.
    pub(super) fn join_over(&mut self, index: usize, why: Option<EndReason>) {
        let Some(number) = self.worlds[index].join else { return };
        if self.states_of(index).all(|(_, state)| state.stage == Stage::Ignored) {
            // The others go on without all of them.
            return self.tell_join(number, 1, Some(EndReason::NoRankLeft));
        }
        let of = self.states_of(index).find_map(|(_, state)| match (state.stage, state.exiting) {
            (Stage::Done(code), _) | (_, Some(code)) => Some(code).filter(|code| *code != 0),
            _ => None,
        });
        let code = match self.worlds[index].course {
            Course::Ends(code) => code,
            _ => of.unwrap_or(0),
        };
        self.tell_join(number, code, why);
    }

    fn tell_join(&mut self, number: u64, code: i32, reason: Option<EndReason>) {
        if let Some(join) = self.joins.0.get_mut(&number)
            && !std::mem::replace(&mut join.told, true)
        {
            self.commands.push_back(Command::JoinOver { number, code, reason });
        }
    }

    /// Whether the logs of this rank serve nobody: its world has ended, and has met no other one.
    pub(super) fn has_met_no_world(&self, rank: Rank) -> bool {
        let state = &self.worlds[self.world_index(rank)];
        let over = matches!(state.course, Course::Over | Course::Ends(_));
        state.join.is_some() && !state.met && (over || self.is_released(rank))
    }

    // ---- complaints ---------------------------------------------------------------------------

    /// A rank has ended well without `MPI_Finalize`.
    pub(super) fn has_left_early(&mut self, rank: Rank) {
        let now = self.now;
        if !self.ends_alone(rank) {
            self.left_early_at.get_or_insert((now, rank));
            return;
        }
        let reason = EndReason::LeftEarly { rank, grace: GRACE_WITHOUT_FINALIZE };
        self.complains_alone(rank, now + GRACE_WITHOUT_FINALIZE, 1, reason);
    }

    /// The library of a rank has found an error: perhaps the echo of a death.
    pub(super) fn has_complained(&mut self, rank: Rank, code: i32, reason: EndReason) {
        if self.ends_alone(rank) {
            return self.complains_alone(rank, self.now + ECHO_TIME, code, reason);
        }
        let unborn = self.first_begins(self.world_index(rank)).is_some();
        if !unborn || !self.fails_alone(rank, false, code, &reason) {
            self.complaint.get_or_insert((self.now, code, reason));
        }
    }

    fn complains_alone(&mut self, rank: Rank, due: Duration, code: i32, reason: EndReason) {
        let index = self.world_index(rank);
        let known = &mut self.worlds[index].complaint;
        if known.as_ref().is_none_or(|(known, ..)| due < *known) {
            *known = Some((due, code, reason));
        }
    }

    /// Worlds whose complaint is no echo end.
    pub(super) fn look_at_complaints(&mut self) {
        for index in 1..self.worlds.len() {
            let now = self.now;
            let due = self.worlds[index].complaint.take_if(|(due, ..)| now >= *due);
            let Some((_, code, reason)) = due else { continue };
            let first = Rank(self.worlds[index].world.first);
            let runs = self.worlds[index].course == Course::Runs;
            if runs && !self.fails_alone(first, false, code, &reason) {
                return self.end(code, Some(reason));
            }
        }
    }
}
