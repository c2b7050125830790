//! Event logger and checkpoint server: Tokio shells around the machines in `ftmpi_protocols`.
//!
//! | module | what |
//! | --- | --- |
//! | [`client`] | what an agent asks of the servers |
//! | [`event_logger`], [`event_store`] | the event logger and its files |
//! | [`image_store`] | the checkpoint server and its files |
//! | [`shell`] | what both servers have in common |
//! | [`net`] | socket settings |

pub mod client;
pub mod event_logger;
pub mod event_store;
pub mod image_store;
pub mod net;
pub mod shell;
