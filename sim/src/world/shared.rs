//! Memory that ranks share, and the board of the ranks that share it. Both are outside of the
//! ranks' own memory, as the kernel's are. A state of the job to which all ranks return gets memory
//! of its own.

use super::{World, with};
use ftmpi_core::engine::shared_memory_barrier::{Board, COLUMNS, Column};
use ftmpi_wire::{Incarnation, Rank};
use std::collections::BTreeMap;

/// Numbers in the part of each rank.
pub const CELLS: usize = 6;

struct Memory {
    board: Vec<[u64; COLUMNS]>,
    cells: Vec<u64>,
}

/// The memory of each state, named by the incarnation of the first rank in it.
#[derive(Default)]
pub(super) struct Shared(BTreeMap<Incarnation, Memory>);

/// The board of those who share memory in a state of the job.
pub struct Table(pub Incarnation);

impl Board for Table {
    fn read(&self, rank: Rank, word: Column) -> u64 {
        with(|world| *world.on_board(self.0, rank, word))
    }
    fn write(&self, rank: Rank, word: Column, value: u64) {
        with(|world| *world.on_board(self.0, rank, word) = value);
    }
}

impl World {
    fn shared(&mut self, state: Incarnation) -> &mut Memory {
        let ranks = self.processes.len();
        self.shared.0.entry(state).or_insert_with(|| Memory {
            board: vec![[0; COLUMNS]; ranks],
            cells: vec![0; ranks * CELLS],
        })
    }

    /// A number on the board.
    pub fn on_board(&mut self, state: Incarnation, rank: Rank, word: Column) -> &mut u64 {
        &mut self.shared(state).board[rank.index()][word as usize]
    }

    /// A number that ranks share.
    pub fn cell(&mut self, state: Incarnation, at: usize) -> &mut u64 {
        &mut self.shared(state).cells[at]
    }
}
