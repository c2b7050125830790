//! Event logger, channel memory, checkpoint server and checkpoint scheduler: Tokio shells around the machines in `ftmpi_protocols`.
//!
//! | module | what |
//! | --- | --- |
//! | [`checksummed_file`], [`files`] | small whole files, and the ways in which storage is changed |
//! | [`client`] | what an agent asks of the servers |
//! | [`event_logger`], [`event_store`] | the event logger and its files |
//! | [`channel_memory`], [`message_store`] | the channel memory, which is an event logger as well, and its files |
//! | [`image_store`] | the checkpoint server and its files |
//! | [`scheduler`] | the checkpoint scheduler, which stores nothing |
//! | [`image_note`] | what an image's container says beside the image |
//! | [`server_process`] | what all servers have in common |
//! | [`socket_options`] | socket settings |

pub mod channel_memory;
pub mod checksummed_file;
pub mod client;
pub mod event_logger;
pub mod event_store;
pub mod files;
pub mod image_note;
pub mod image_store;
pub mod job_state;
pub mod message_store;
pub mod metrics;
pub mod scheduler;
pub mod server_process;
pub mod socket_options;
#[cfg(test)]
mod storage_faults;
pub mod tuning;
