//! Shared-memory rings and TCP channels between ranks; authenticated connections between hosts.
//!
//! The hot paths ([`shm`], [`tcp`]) are raw memory and system calls and link no Tokio. Feature
//! `setup` adds what agents, launcher and servers need to make a connection. [`auth`] proves the
//! job's key on a fresh TCP connection; [`framed`] carries typed messages over it afterwards.
//! Constants of a transport are in its `tuning`.

#[cfg(feature = "setup")]
pub mod auth;
pub mod event_ring;
#[cfg(feature = "setup")]
pub mod framed;
mod incoming;
pub mod shm;
pub mod silence;
pub mod tcp;

pub use incoming::FrameReceiver;
