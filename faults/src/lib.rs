//! Models of faults: how often processes, hosts, switches and the ways between hosts fail, and the
//! faults that are drawn from that. `ftmpiexec --inject model:FILE` and the simulator draw from the
//! same code.
//!
//! ```text
//! file ─► Model ─► Draws ─ take_due(now) ─► Due: a rank dies, a host is down or back, …
//! ```
//!
//! Calling convention: call [`Draws::take_due`] with a time that grows. It answers what is due.
//!
//! Guarantees:
//! - The same seed gives the same faults at the same times. Each source of faults draws from
//!   numbers of its own, by its kind and its place among those of its kind. So a source of another
//!   kind, or one behind the others of its kind, changes no other one.
//! - Faults of one source are a Poisson process: the times in between are exponential.
//! - What fails for several reasons comes back when the last of them is over.

mod dice;
mod draws;
mod model;

pub use dice::Dice;
pub use draws::{Draws, Due};
pub use model::{Kind, Model, ModelError, Source};
