//! Socket settings that the standard library does not offer.

use socket2::{SockRef, TcpKeepalive};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long the other host may be silent, in milliseconds; 0: not set.
static SILENCE_LIMIT_MS: AtomicU64 = AtomicU64::new(0);

/// Sets how long the other host of any connection of this process may be silent: once, before the
/// first connection.
pub fn set_silence_limit(limit: Duration) {
    let millis = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX).max(1);
    SILENCE_LIMIT_MS.store(millis, Ordering::Relaxed);
}

fn silence_limit() -> Duration {
    match SILENCE_LIMIT_MS.load(Ordering::Relaxed) {
        0 => crate::tuning::connection::SILENCE_LIMIT,
        millis => Duration::from_millis(millis),
    }
}

/// Makes reads and writes fail when the host of the other side has answered nothing for too long,
/// also while both programs are silent. A live host whose program takes nothing for as long, while
/// bytes wait for it, counts as vanished too: the caller connects again.
pub fn end_when_peer_vanishes(stream: &impl AsFd) {
    let limit = silence_limit();
    let socket = SockRef::from(stream);
    let every = (limit / 4).max(Duration::from_secs(1));
    let probes = TcpKeepalive::new().with_time(every).with_interval(every).with_retries(3);
    // Best effort: without these settings only a vanished host is noticed later.
    let _ = socket.set_tcp_keepalive(&probes);
    let _ = socket.set_tcp_user_timeout(Some(limit));
}
