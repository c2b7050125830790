//! Collective operations (MPI-4.1, chapter 6).
//!
//! Each algorithm is written once, over [`Steps`], and has two executors: [`Plan`] writes a
//! schedule, [`Short`] carries a short blocking call out at once. Which calls are short says
//! `mpi::short_collectives`; the checks of the arguments are in `mpi::collective_arguments`.
//!
//! Guarantees: only the communicator and the arguments decide which messages are sent, in which
//! order they get their identities, and in which order operands are combined. Timing and placement
//! decide nothing, so that a repeated operation gives the same bits.
//!
//! There is one exception: if ranks outnumber processors when the job begins, messages take other
//! routes ([`Steps::is_oversubscribed`]). All ranks are given that fact alike, in all their
//! incarnations. Operands are combined in the same order as everywhere.
//!
//! | file | what |
//! | --- | --- |
//! | `allgather`, `alltoall`, `bcast`, `barrier` | data between the ranks of a group |
//! | `gather` | gather and scatter |
//! | `reduce`, `allreduce`, `reduce_scatter`, `scan` | reductions between the ranks of a group |
//! | `neighbor`, `inter` | between neighbours; between the two groups of an intercommunicator |
//! | `steps` | what an algorithm asks for |
//! | `plan`, `schedule`, `step` | the executor that writes a schedule, and what it writes |
//! | `short` | the executor that needs no schedule |
//! | `call` | a call with its arguments, to be planned |
//! | `data`, `pool` | pieces of memory, ours and the program's |

pub(crate) mod allgather;
pub(crate) mod allreduce;
pub(crate) mod alltoall;
pub(crate) mod barrier;
pub(crate) mod bcast;
mod call;
mod carrier;
mod data;
pub(crate) mod gather;
mod inter;
mod neighbor;
mod plan;
mod pool;
pub(crate) mod reduce;
pub(crate) mod reduce_scatter;
mod scan;
mod schedule;
mod short;
mod step;
mod steps;
#[cfg(test)]
mod tests;

pub use call::Call;
pub use data::{Blocks, Elements, Equal, Operands, PerRank, Piece, Scattered, Spread, TypeRef};
pub use inter::{Root, Sides};
pub use neighbor::Neighbors;
pub(crate) use plan::share_a_host;
pub use plan::{Plan, persistent_tag_of, tag_of};
pub use pool::Pool;
pub(crate) use pool::address_of;
pub use schedule::{Carrier, Schedule};
pub use short::{CollectiveCall, Short};
pub use step::Step;
pub use steps::Steps;
