//! Socket settings that the standard library does not offer.

use socket2::{SockRef, TcpKeepalive};
use std::os::fd::AsFd;
use std::time::Duration;

/// Makes reads and writes fail when the host of the other side has answered nothing for `limit`,
/// also while both programs are silent. A live host whose program takes nothing for as long, while
/// bytes wait for it, counts as vanished too: the caller connects again.
pub fn end_when_peer_vanishes(stream: &impl AsFd, limit: Duration) {
    let socket = SockRef::from(stream);
    let every = (limit / 4).max(Duration::from_secs(1));
    let probes = TcpKeepalive::new().with_time(every).with_interval(every).with_retries(3);
    // Best effort: without these settings only a vanished host is noticed later.
    let _ = socket.set_tcp_keepalive(&probes);
    let _ = socket.set_tcp_user_timeout(Some(limit));
}
