//! Constants of connections between hosts: unit, and one line of reason each.

use std::time::Duration;

/// How long the host of a peer or of an event logger may be silent on the connection of a rank.
/// Longer than the agents take to find a cut: what they find says more.
pub const RANK_SILENCE_LIMIT: Duration = Duration::from_secs(20);
