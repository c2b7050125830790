//! Deterministic simulator: the very same engine, matching, protocol and event-log machines as in a
//! real rank, on simulated channels, clocks and failures.
//!
//! One thread, one heap of events, one random generator: a seed replays exactly. A rank is a
//! coroutine whose memory ([`arena`]) can be copied and put back, which is its image. Programs
//! ([`programs`]) are ordinary blocking code over the engine and check what they see; a run is right
//! if every program says so, and if programs without choices end with the same digests as without
//! failures. Chaos (crashes at random and at named points, delays, refused pushes, payloads broken
//! off, loggers that come and go) is followed by quiet, in which everything must finish.
//!
//! [`mutants`] are deliberate bugs; each must be caught by some seed.

pub mod arena;
pub mod campaign;
pub mod fiber;
pub mod link;
pub mod logger;
pub mod mutants;
pub mod programs;
pub mod world;

#[global_allocator]
static ALLOCATOR: arena::Arenas = arena::Arenas;
