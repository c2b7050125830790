//! Event logger, channel memory, checkpoint server and checkpoint scheduler: Tokio shells around the machines in `ftmpi_protocols`.
//!
//! | module | what |
//! | --- | --- |
//! | [`checked`], [`files`] | small whole files, and the ways in which storage is changed |
//! | [`client`] | what an agent asks of the servers |
//! | [`event_logger`], [`event_store`] | the event logger and its files |
//! | [`channel_memory`], [`memory_store`] | the channel memory, which is an event logger as well, and its files |
//! | [`image_store`] | the checkpoint server and its files |
//! | [`scheduler`] | the checkpoint scheduler, which stores nothing |
//! | [`note`] | what an image's container says beside the image |
//! | [`shell`] | what all servers have in common |
//! | [`net`] | socket settings |

pub mod channel_memory;
pub mod checked;
pub mod client;
pub mod event_logger;
pub mod event_store;
#[cfg(test)]
mod faults;
pub mod files;
pub mod image_store;
pub mod memory_store;
pub mod metrics;
pub mod net;
pub mod note;
pub mod scheduler;
pub mod shell;
