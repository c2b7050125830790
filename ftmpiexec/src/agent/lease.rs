//! When an agent gives its ranks up by itself: the launcher is silent, and the network to it does
//! not answer.
//!
//! Guarantees: when the launcher counts a host as lost and starts its ranks elsewhere
//! ([`crate::heartbeat::MISSED_MAX`]), no rank runs any more on a host that was cut off. So two
//! incarnations of a rank never write the same files. A launcher that is slow, or stopped by its
//! user, costs nothing: its kernel still answers.
//!
//! Source: leases of Gray and Cheriton (SOSP 1989). The side that may be cut off decides first, by
//! its own clock.

use crate::heartbeat::{LEASE, UNANSWERED_MIN};
use std::os::fd::AsFd;
use std::time::Instant;

/// How long the ranks of this host may run.
#[derive(Debug)]
pub struct Lease {
    heard: Instant,
    socket: Option<u64>,
}

impl Lease {
    /// Begins with a new connection to the launcher.
    pub fn new(connection: impl AsFd, now: Instant) -> Self {
        let socket = rustix::fs::fstat(connection).ok().map(|stat| stat.st_ino);
        Self { heard: now, socket }
    }

    /// The launcher answered.
    pub fn renew(&mut self, now: Instant) {
        self.heard = now;
    }

    /// Whether the ranks have to end now.
    pub fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.heard) >= LEASE
            && self.socket.is_some_and(|socket| {
                ["/proc/self/net/tcp", "/proc/self/net/tcp6"]
                    .iter()
                    .filter_map(|table| std::fs::read_to_string(table).ok())
                    .filter_map(|table| unanswered(&table, socket))
                    .any(|times| times >= UNANSWERED_MIN)
            })
    }
}

/// How often data or probes were sent in vain since the other side of a connection last answered.
/// The source is proc_net_tcp, columns `retrnsmt` and `timeout`, in the line with this inode.
fn unanswered(table: &str, socket: u64) -> Option<u64> {
    table.lines().skip(1).find_map(|line| {
        let mut words = line.split_ascii_whitespace().skip(6);
        let again = u64::from_str_radix(words.next()?, 16).ok()?;
        let probes: u64 = words.nth(1)?.parse().ok()?;
        (words.next()?.parse() == Ok(socket)).then_some(again.max(probes))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
        0: 0100007F:0BB8 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 7001 1 0 100 0 0 10 0\n\
        1: 0100007F:0BB8 0100007F:D431 01 00000400:00000000 01:00000112 0000000B     0        0 7002 2 0 20 4 30 10 -1\n\
        2: 0100007F:0BB8 0100007F:D432 01 00000400:00000000 04:00000112 00000000     0        3 7003 2 0 20 4 30 10 -1\n";

    #[test]
    fn the_kernel_counts_what_was_sent_in_vain() {
        assert_eq!(unanswered(TABLE, 7001), Some(0));
        assert_eq!(unanswered(TABLE, 7002), Some(11));
        assert_eq!(unanswered(TABLE, 7003), Some(3));
        assert_eq!(unanswered(TABLE, 7004), None);
        assert_eq!(unanswered("", 7001), None);
        assert_eq!(unanswered("x\ny z\n1: 2 3 4 5 6 g\n", 7001), None);
    }

    /// The process at the other end does not read, but its kernel answers.
    #[test]
    fn a_launcher_that_is_stopped_costs_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut agent = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _launcher = listener.accept().unwrap();
        let begin = Instant::now();
        let mut lease = Lease::new(&agent, begin);
        assert!(lease.socket.is_some());
        agent.write_all(&[0; 4096]).unwrap();
        assert!(!lease.is_over(begin));
        let later = begin + 10 * LEASE;
        assert!(!lease.is_over(later), "answered");
        // The table has the connection, so the comparison was made.
        let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
        assert_eq!(unanswered(&table, lease.socket.unwrap()), Some(0));
        lease.renew(later);
        assert!(!lease.is_over(later));
    }
}
