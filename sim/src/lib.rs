//! Deterministic simulator: the very same engine, matching, protocol, event-log, dispatcher and
//! scheduler machines as in a real job, on simulated channels, clocks and failures.
//!
//! One thread, one heap of events, one random generator: a seed replays exactly. A rank is a
//! coroutine whose memory ([`arena`]) can be copied and put back, which is its image. Programs
//! ([`programs`]) are ordinary blocking code over the engine and check what they see. A run is
//! right if every program says so and no [invariant](invariants) is broken. A run begins with
//! chaos: crashes at random and at named points, delays, refused pushes, interrupted payloads,
//! restarts of loggers, broken hosts, users who suspend the job. Chaos is followed by quiet, in
//! which everything must finish. Only a log that a disk has damaged may end a job otherwise.
//!
//! [`mutants`] are deliberate bugs; each must be caught by some seed.
//!
//! `cargo test -p ftmpi-sim` runs a few hundred seeds and all mutants. More of them, and with what
//! was seen to fail again, line by line:
//!
//! ```text
//! cargo run --release -p ftmpi-sim -- --first 1 --seeds 100000
//! cargo run --release -p ftmpi-sim -- --protocol manetho-alone --seeds 100000
//! cargo run --release -p ftmpi-sim -- --first 1234 --seeds 1 --trace
//! cargo run --release -p ftmpi-sim -- --first 1234 --seeds 1 --svg run.svg
//! cargo run --release -p ftmpi-sim -- --mutants --seeds 3000
//! cargo run --release -p ftmpi-sim -- --mutant hole-forgotten --seeds 3000
//! ```
//!
//! Two other tools are here. [`scale`]: costs over the number of ranks, from the machines without
//! engine. [`detectors`]: what the choice of detectors is worth, with the judge of a job.
//!
//! A seed stands for the same run as long as neither the simulator nor the engine changes.

pub mod arena;
pub mod campaign;
pub mod detectors;
pub mod fault;
pub mod fiber;
pub mod going_on;
pub mod invariants;
pub mod link;
pub mod logger;
pub mod loggers;
pub mod memory;
pub mod mutants;
pub mod observed;
pub mod picture;
pub mod programs;
pub mod protocol_config;
pub mod scale;
pub mod spawns;
pub mod world;

#[global_allocator]
static ALLOCATOR: arena::Arenas = arena::Arenas;
