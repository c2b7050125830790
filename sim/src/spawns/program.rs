//! What simulated processes do: they work, and the first process of each world has others spawned.
//!
//! A process is known by its path: the steps of the spawns that led to it, and its place in its
//! world. Another execution of a process does the same.

use ftmpi_wire::Rank;
use std::collections::BTreeMap;

/// A step of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// For so long.
    Work(u64),
    /// This many processes; `bad`: their program ends before `MPI_Init`.
    Spawn {
        /// Their number.
        count: u32,
        /// Whether the spawn must fail.
        bad: bool,
    },
}

/// A process: the steps of the spawns that led to its world, and its place there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// Of its world.
    pub path: Vec<usize>,
    /// In its world.
    pub place: u32,
}

/// How deep worlds are below the first.
const DEPTH_MAX: usize = 2;

fn mixed(seed: u64, identity: &Identity) -> u64 {
    let mut state = seed ^ u64::from(identity.place) << 32;
    for step in &identity.path {
        state = super::draw(&mut state).wrapping_add(*step as u64 + 1);
    }
    state
}

/// What this process does.
pub fn steps(seed: u64, identity: &Identity) -> Vec<Step> {
    let mut random = mixed(seed, identity);
    let mut below = |bound: u64| super::draw(&mut random) % bound;
    let may_spawn = identity.place == 0 && identity.path.len() < DEPTH_MAX;
    let count = 1 + below(if identity.path.is_empty() { 6 } else { 3 });
    (0..count)
        .map(|_| match below(3) {
            0 if may_spawn => Step::Spawn { count: 1 + below(3) as u32, bad: below(8) == 0 },
            _ => Step::Work(1 + below(1200)),
        })
        .collect()
}

/// Whether this world gives its communicator with its parents back before it ends.
pub fn disconnects(seed: u64, path: &[usize]) -> bool {
    mixed(seed, &Identity { path: path.to_vec(), place: 99 }).is_multiple_of(2)
}

/// Where a process is in its course: what an image has of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Course {
    /// Which process it is.
    pub identity: Identity,
    /// The step that it is in.
    pub at: usize,
    /// The question that is open.
    pub open: Option<u32>,
    /// So many questions were asked.
    pub asked: u32,
    /// How many more processes than usual it chose to ask for.
    pub choices: BTreeMap<u32, u32>,
    /// Of each spawn: the first process, unless it failed.
    pub children: Vec<(usize, Option<Rank>)>,
    /// It is in `MPI_Finalize`.
    pub finalizing: bool,
    /// It has heard that it may leave `MPI_Finalize`.
    pub finalized: bool,
}

impl Course {
    /// The begin.
    pub fn new(identity: Identity) -> Self {
        let children = Vec::new();
        let (finalizing, finalized, choices) = (false, false, BTreeMap::new());
        Self { identity, at: 0, open: None, asked: 0, choices, children, finalizing, finalized }
    }
}
