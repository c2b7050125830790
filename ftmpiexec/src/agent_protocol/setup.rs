//! The first line that an agent reads.

use super::ProcessId;
use crate::heartbeat::Times;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

/// What a new agent reads from its standard input, as one line of JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AgentSetup {
    /// The job's key, hexadecimal.
    pub key: String,
    /// The key of encrypted images, hexadecimal; `None` if images are not encrypted.
    pub image_key: Option<String>,
    /// Index of the agent's host.
    pub host: u32,
    /// Addresses of the launcher; the agent tries them in order.
    pub launcher: Vec<SocketAddr>,
    /// At these addresses only: the user names the network.
    pub only_there: bool,
    /// Processes of an agent that died on this host. The new agent kills them first.
    pub leftovers: Vec<ProcessId>,
    /// Where the agent listens: on all interfaces if other hosts take part.
    pub listen: IpAddr,
    /// Ports of which the agent takes a free one, if not any.
    pub port_range: Option<RangeInclusive<u16>>,
    /// How long silence may last.
    pub times: Times,
    /// How long the agent holds on when no agent hears the launcher; `None`: as if it alone heard
    /// nothing.
    pub patience: Option<Duration>,
    /// The job's directory, if the agent is to remove it after the death of the launcher.
    #[serde(with = "crate::os_text::optional_path")]
    pub temporary: Option<PathBuf>,
    /// Numbers of the descriptors that the caller of the launcher passed on, and the positions in
    /// their files at the start of the job.
    pub from_caller: Vec<(i32, u64)>,
}
