//! When an agent gives its ranks up by itself: the launcher is silent, and the network to it does
//! not answer.
//!
//! Guarantees: when the launcher counts a host as lost and starts its ranks elsewhere
//! ([`Times::missed_max`]), no rank runs any more on a host that was cut off. So two
//! incarnations of a rank never write the same files. A launcher that is slow, or stopped by its
//! user, costs nothing: its kernel still answers. A launcher whose own link is down is waited for:
//! then all other agents can be reached, and none has an answer ([`crate::own_link`] has the
//! proof).
//!
//! Source: leases of Gray and Cheriton (SOSP 1989). The side that may be cut off decides first, by
//! its own clock.

use crate::heartbeat::Times;
use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Heartbeats without an answer that are remembered: more than fit into any patience.
const UNANSWERED_KEPT: usize = 4096;

/// How long the ranks of this host may run.
#[derive(Debug)]
pub struct Lease {
    /// When the last heartbeat that was answered was sent. An answer may be late: the launcher's
    /// patience began no earlier than with that heartbeat.
    heard: Instant,
    /// When that answer came.
    received: Instant,
    /// The number of the last answer.
    answered: u64,
    /// Heartbeats without an answer: their numbers, and when they were sent.
    sent: VecDeque<(u64, Instant)>,
    beats: u64,
    socket: Option<u64>,
    /// How long the agent holds on when all agents are silent; none: as without them.
    patience: Option<Duration>,
    /// All other agents have said that the launcher is silent.
    all_silent: bool,
    times: Times,
}

/// What is to be done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    RunOn,
    /// The other agents are to be asked for how long the launcher has been silent to them.
    AskOthers,
    /// The ranks have to end.
    Over,
}

impl Lease {
    /// Begins with a new connection to the launcher.
    pub fn new(
        connection: impl AsFd,
        patience: Option<Duration>,
        times: Times,
        now: Instant,
    ) -> Self {
        let socket = rustix::fs::fstat(connection).ok().map(|stat| stat.st_ino);
        Self { socket, ..Self::unconnected(patience, times, now) }
    }

    /// A lease without a connection.
    pub fn unconnected(patience: Option<Duration>, times: Times, now: Instant) -> Self {
        Self {
            heard: now,
            received: now,
            answered: 0,
            sent: VecDeque::new(),
            beats: 0,
            socket: None,
            patience,
            all_silent: false,
            times,
        }
    }

    /// A heartbeat is sent.
    pub fn beat(&mut self, now: Instant) {
        self.beats += 1;
        self.sent.push_back((self.beats, now));
        if self.sent.len() > UNANSWERED_KEPT {
            self.sent.pop_front();
        }
    }

    /// The launcher answered the heartbeat of this number.
    pub fn renew(&mut self, number: u64, now: Instant) {
        while let Some((_, sent)) = self.sent.front().filter(|(beat, _)| *beat <= number) {
            self.heard = *sent;
            self.sent.pop_front();
        }
        self.answered = number;
        self.received = now;
        self.all_silent = false;
    }

    /// The number of the last answer.
    pub fn answered(&self) -> u64 {
        self.answered
    }

    /// For how long no answer of the launcher has come.
    pub fn silence(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.received)
    }

    /// All other agents were reached, and each said for how long the launcher has been silent to
    /// it; `asked` is when the first of them was.
    pub fn others_said(&mut self, asked: Instant, shortest: Option<Duration>) {
        let here = self.silence(asked);
        let limit = self.times.all_silent();
        self.all_silent |= shortest.is_some_and(|shortest| shortest.min(here) >= limit);
    }

    /// What is to be done now.
    pub fn look(&self, now: Instant) -> Verdict {
        self.verdict(now, || {
            self.socket.is_some_and(|socket| {
                ["/proc/self/net/tcp", "/proc/self/net/tcp6"]
                    .iter()
                    .filter_map(|table| std::fs::read_to_string(table).ok())
                    .filter_map(|table| unanswered(&table, socket))
                    .any(|again| again >= self.times.unanswered_min())
            })
        })
    }

    /// As [`Self::look`]; `cut_off`: the network to the launcher does not answer.
    pub(super) fn verdict(&self, now: Instant, cut_off: impl FnOnce() -> bool) -> Verdict {
        let silence = now.saturating_duration_since(self.heard);
        if silence < self.times.all_silent() || !cut_off() {
            return Verdict::RunOn;
        }
        let limit = self.patience.filter(|_| self.all_silent).unwrap_or(self.times.lease());
        match self.patience {
            _ if silence >= limit => Verdict::Over,
            Some(_) if !self.all_silent => Verdict::AskOthers,
            _ => Verdict::RunOn,
        }
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

    const S: Duration = Duration::from_secs(1);
    const TIMES: Times = Times::of(Duration::from_secs(10));

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

    /// A lease without a connection, begun at the returned instant.
    fn lease(patience: Option<Duration>) -> (Lease, Instant) {
        let begin = Instant::now();
        (Lease::unconnected(patience, TIMES, begin), begin)
    }

    #[test]
    fn a_host_that_alone_is_cut_off_gives_up() {
        let (mut lease, begin) = lease(Some(55 * S));
        let at = |lease: &Lease, seconds: u32| lease.verdict(begin + S * seconds, || true);
        assert_eq!(at(&lease, 5), Verdict::RunOn);
        assert_eq!(at(&lease, 6), Verdict::AskOthers);
        // One of them has an answer that is fresh.
        lease.others_said(begin + 7 * S, Some(S));
        assert_eq!(at(&lease, 7), Verdict::AskOthers);
        // One of them cannot be reached.
        lease.others_said(begin + 7 * S, None);
        assert_eq!(at(&lease, 8), Verdict::Over);
        assert_eq!(lease.verdict(begin + 100 * S, || false), Verdict::RunOn, "a slow launcher");
    }

    #[test]
    fn a_launcher_that_no_host_hears_is_waited_for() {
        let (mut lease, begin) = lease(Some(55 * S));
        let at = |lease: &Lease, seconds: u32| lease.verdict(begin + S * seconds, || true);
        lease.others_said(begin + 7 * S, Some(6 * S));
        assert_eq!(at(&lease, 8), Verdict::RunOn);
        assert_eq!(at(&lease, 54), Verdict::RunOn);
        assert_eq!(at(&lease, 55), Verdict::Over);
        lease.beat(begin + 54 * S);
        lease.renew(1, begin + 54 * S);
        assert_eq!(lease.answered(), 1);
        assert_eq!(at(&lease, 61), Verdict::AskOthers, "each time anew");
        assert_eq!(at(&lease, 62), Verdict::Over);
    }

    #[test]
    fn without_patience_nobody_is_asked() {
        let (mut lease, begin) = lease(None);
        assert_eq!(lease.verdict(begin + 7 * S, || true), Verdict::RunOn);
        lease.others_said(begin + 7 * S, Some(100 * S));
        assert_eq!(lease.verdict(begin + 8 * S, || true), Verdict::Over);
    }

    /// The answers of the others are from a time when this agent still had one.
    #[test]
    fn an_agent_counts_its_own_silence_as_well() {
        let (mut lease, begin) = lease(Some(55 * S));
        lease.others_said(begin + 5 * S, Some(100 * S));
        assert_eq!(lease.verdict(begin + 8 * S, || true), Verdict::Over);
    }

    /// The launcher may have begun to count long before its answer came.
    #[test]
    fn a_lease_begins_with_the_heartbeat_that_was_answered() {
        let (mut lease, begin) = lease(Some(55 * S));
        for second in 1..=20 {
            lease.beat(begin + S * second);
        }
        lease.renew(12, begin + 20 * S);
        assert_eq!(lease.verdict(begin + S * 20, || true), Verdict::Over, "8 s after heartbeat 12");
        assert_eq!(lease.silence(begin + S * 20), Duration::ZERO, "what others are told");
        lease.renew(20, begin + 21 * S);
        assert_eq!(lease.verdict(begin + S * 25, || true), Verdict::RunOn);
    }

    /// The process at the other end does not read, but its kernel answers.
    #[test]
    fn a_launcher_that_is_stopped_costs_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut agent = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _launcher = listener.accept().unwrap();
        let begin = Instant::now();
        let mut lease = Lease::new(&agent, None, TIMES, begin);
        assert!(lease.socket.is_some());
        agent.write_all(&[0; 4096]).unwrap();
        assert_eq!(lease.look(begin), Verdict::RunOn);
        let later = begin + 10 * TIMES.lease();
        assert_eq!(lease.look(later), Verdict::RunOn, "answered");
        // The table has the connection, so the comparison was made.
        let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
        assert_eq!(unanswered(&table, lease.socket.unwrap()), Some(0));
        lease.renew(1, later);
        assert_eq!(lease.look(later), Verdict::RunOn);
    }
}
