//! Every state machine of ftmpi, without sockets, clocks, threads or randomness of its own.
//!
//! | module | machine |
//! | --- | --- |
//! | [`protocol`] | the contract between the engine and a fault-tolerance protocol |
//! | [`none`], [`channel_memory`], [`pessimistic`], [`causal`], [`optimistic`], [`coordinated`], [`hierarchical`] | the protocols; `channel_memory` has its server beside it |
//! | [`registry`] | their names |
//! | [`received`], [`sender_log`] (in [`blocks`]), [`recorder`], [`replay`], [`determinant_sender`] | what logging protocols share |
//! | `event_log`, `image_catalogue` | the servers |
//! | `dispatcher`, `scheduler`, `waves` | the launcher's decisions |
//!
//! Input goes in by method calls, commands come out as data; time and randomness are passed in.
#![forbid(unsafe_code)]

pub mod blocks;
pub mod causal;
pub mod channel_memory;
pub mod coordinated;
pub mod determinant_sender;
pub mod dispatcher;
pub mod event_log;
pub mod hierarchical;
pub mod image_catalogue;
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
pub mod waves;
