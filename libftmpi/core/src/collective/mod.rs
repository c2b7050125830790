//! Collective operations as schedules.
//!
//! Guarantees: which messages are sent, in which order they get their identities, and in which
//! order operands are combined depends on the communicator and the arguments only, never on timing
//! or placement: a repeated operation gives the same bits. The one exception: where ranks outnumbered
//! processors when the job began, which every rank is told alike in all its lives, messages take other
//! ways ([`Plan::is_crowded`]); operands are combined as everywhere.
//!
//! | file | what |
//! | --- | --- |
//! | `schedule` | steps and their executor |
//! | `plan` | writing a schedule down |
//! | `call` | a call with its arguments, to be planned |
//! | `bcast` … `neighbor` | algorithms between the ranks of one group |
//! | `inter` | between the two groups of an intercommunicator |
//! | `data`, `pool` | pieces of memory, ours and the program's |

pub(crate) mod allgather;
pub(crate) mod alltoall;
mod bcast;
mod call;
mod carrier;
mod data;
pub(crate) mod gather;
mod inter;
mod neighbor;
mod plan;
mod pool;
pub(crate) mod reduce;
mod scan;
mod schedule;
#[cfg(test)]
mod tests;

/// In a crowd of more ranks a message from everybody to everybody is too much: channels are made on first use.
pub(crate) const CROWD_MAX: usize = 32;

pub(crate) use bcast::{SMALL_CROWD, from_root};
pub use call::Call;
pub use data::{Blocks, Elements, Piece, Spread, TypeRef};
pub use inter::{Root, Sides};
pub use neighbor::Neighbors;
pub(crate) use plan::share_a_host;
pub use plan::{Plan, persistent_tag_of, tag_of};
pub use pool::Pool;
pub(crate) use pool::lend;
pub(crate) use scan::PAIRWISE_RANKS;
pub use schedule::{Carrier, Schedule, Step};
