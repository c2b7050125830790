//! The agent's signal, SIGTERM of batch systems, the program's handlers, and signals that are on
//! their way.

pub mod agent_signal;
pub mod batch_signal;
pub mod handlers;
pub mod pending_signals;
pub mod signal_frames;
pub mod sigreturn;
