//! Every state machine of ftmpi, without sockets, clocks, threads or randomness of its own.
//!
//! | module | machine |
//! | --- | --- |
//! | [`protocol`] | the contract between the engine and a protocol |
//! | [`registry`] | the names of the protocols, and the facts about each |
//! | [`none`], [`pessimistic`], [`causal`], [`optimistic`] | protocols |
//! | [`coordinated`], [`hierarchical`] | protocols in waves |
//! | [`channel_memory`] | a protocol, and the machine of its server |
//! | [`received`], [`sender_log`], [`log_memory`], [`blocks`] | the sender log and duplicates |
//! | [`recorder`], [`replay`], [`determinant_sender`] | what logging protocols share |
//! | [`event_log`], [`image_catalogue`] | the machines of event logger and checkpoint server |
//! | `answers`, `ending` | values that several machines share |
//! | [`dispatcher`], [`judge`], [`scheduler`], [`waves`], [`stall`] | the launcher's decisions |
//! | [`fault_cost`] | a formula: what faults leave of the time |
//!
//! Calling convention of every machine: call `on_*` (or `handle`) with what happened, then drain
//! `next_command` (or the outputs) until nothing is left. Queries never change state. The caller
//! passes in time and randomness.
#![forbid(unsafe_code)]

pub mod agreement;
mod answers;
pub mod blocks;
pub mod causal;
pub mod channel_memory;
pub mod coordinated;
pub mod determinant_sender;
pub mod dispatcher;
mod ending;
pub mod event_log;
pub mod fault_cost;
pub mod hierarchical;
pub mod image_catalogue;
pub mod judge;
pub mod log_memory;
pub mod none;
pub mod optimistic;
pub mod pessimistic;
pub mod protocol;
pub mod received;
pub mod recorder;
pub mod registry;
pub mod replay;
pub mod scheduler;
pub mod sender_log;
pub mod stall;
mod tuning;
pub mod waves;
