//! The barriers of `MPI_Finalize` and of the end of the program.
//!
//! Guarantees: they hold for every incarnation. A rank that comes back hears again what the others
//! have heard. The job ends when every program has ended. Worlds that began later may end before
//! ([`worlds`](super::worlds)).

use super::Dispatcher;
use super::messages::{Command, Ending};
use super::notice::EndReason;
use super::rank_state::{RankState, Stage};
use ftmpi_wire::{Incarnation, Rank};

impl Dispatcher {
    pub(super) fn finalizing(&mut self, rank: Rank, incarnation: Incarnation) {
        let Some(state) = self.living(rank, incarnation) else { return };
        state.finalizing = true;
        if self.all_finalized {
            self.commands.push_back(Command::AllFinalized { rank, incarnation });
        }
        self.look_at_barriers();
    }

    pub(super) fn exiting(&mut self, rank: Rank, incarnation: Incarnation, code: i32) {
        let Some(state) = self.living(rank, incarnation) else { return };
        state.exiting = Some(code);
        let finalized = state.finalizing;
        let ending = Ending::Code(code);
        if !finalized
            && (self.was_unborn(rank, code, || Self::unborn_end(ending))
                || self.goes_on_without(rank, ending, 0))
        {
            // The process waits for the word that it may end.
            return self.commands.push_back(Command::Die { rank, incarnation, code });
        }
        if !finalized && code != 0 {
            let (host, initialized) = (self.host_name(rank).to_owned(), true);
            let reason = EndReason::ExitedEarly { rank, host, code, initialized };
            if !self.fails_alone(rank, false, code, &reason) {
                self.end(code, Some(reason));
            }
            return;
        }
        if !finalized {
            self.has_left_early(rank);
        }
        if self.all_exiting {
            self.commands.push_back(Command::AllExiting { rank, incarnation });
        }
        self.look_at_barriers();
    }

    pub(super) fn look_at_barriers(&mut self) {
        self.look_at_parted_worlds();
        if self.joins_again() {
            return;
        }
        let over = |state: &RankState| matches!(state.stage, Stage::Done(_) | Stage::Ignored);
        if !self.all_finalized
            && self.ranks.iter().any(|state| state.finalizing)
            && self.ranks.iter().all(|state| state.finalizing || over(state))
        {
            self.all_finalized = true;
            // An image that is taken after this knows that all ranks were there; an earlier image
            // does not.
            for cluster in &mut self.clusters {
                cluster.waves.void();
            }
            for (rank, state) in self.ranks.iter().enumerate().filter(|(_, s)| !over(s)) {
                let (rank, incarnation) = (Rank(rank as u32), state.incarnation);
                self.commands.push_back(Command::AllFinalized { rank, incarnation });
            }
        }
        if !self.all_exiting
            && self.ranks.iter().all(|state| state.exiting.is_some() || over(state))
        {
            self.all_exiting = true;
            self.left_early_at = None;
            for (rank, state) in self.ranks.iter().enumerate().filter(|(_, s)| !over(s)) {
                let (rank, incarnation) = (Rank(rank as u32), state.incarnation);
                self.commands.push_back(Command::AllExiting { rank, incarnation });
            }
        }
        if self.ranks.iter().all(over) {
            // Commands that have brought processes have had the exit codes of these.
            let own = self.worlds.iter().enumerate().filter(|(_, state)| state.join.is_none());
            let codes = own.flat_map(|(index, _)| self.states_of(index));
            let codes = codes.map(|(_, state)| match state.stage {
                Stage::Done(code) => code,
                _ => 0,
            });
            let code = codes.fold(0, |first, code| if first == 0 { code } else { first });
            self.end(code, None);
        }
    }
}
