//! Event logger and checkpoint server: Tokio shells around the machines in `ftmpi_protocols`.
//!
//! | module | what |
//! | --- | --- |
//! | [`client`] | what an agent asks of the servers |
//! | [`net`] | socket settings |

pub mod client;
pub mod net;
