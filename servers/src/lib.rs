//! The servers: event logger, channel memory, checkpoint server and checkpoint scheduler. Each is a
//! Tokio shell around a machine in `ftmpi_protocols`.
//!
//! | module | what |
//! | --- | --- |
//! | [`event_logger`], [`event_store`] | the event logger and its files |
//! | [`channel_memory`], [`message_store`] | the channel memory and its files |
//! | [`image_store`] | the checkpoint server and its files |
//! | [`image_note`] | the facts about an image that its container holds |
//! | [`scheduler`] | the checkpoint scheduler, which stores nothing |
//! | [`client`] | what an agent asks of the servers |
//! | [`dashboard`] | the web page of a job |
//! | [`exposure`] | what would be lost if something died now |
//! | [`metrics`] | the metrics of servers and launcher, in the text format of Prometheus |
//! | [`connections`] | callers that are not known: a bounded number at a time |
//! | [`host_memory`] | memory that the job may use on a host |
//! | [`job_control`] | how users find and ask running jobs |
//! | [`job_state`] | the state of a job, as its directory tells it |
//! | [`files`], [`checksummed_file`] | the ways to change stable storage |
//! | [`private_directory`] | directories and files in places that other users reach |
//! | [`server_process`], [`socket_options`] | what all servers have in common |
//! | [`text`] | quantities in words |
//! | [`tuning`] | tuning constants |

pub mod channel_memory;
pub mod checksummed_file;
pub mod client;
pub mod connections;
pub mod dashboard;
pub mod event_logger;
pub mod event_store;
pub mod exposure;
pub mod files;
pub mod host_memory;
pub mod image_note;
pub mod image_store;
pub mod job_control;
pub mod job_state;
pub mod message_store;
pub mod metrics;
mod page_headers;
pub mod private_directory;
pub mod scheduler;
pub mod server_process;
pub mod socket_options;
#[cfg(test)]
mod storage_faults;
pub mod text;
pub mod tuning;
