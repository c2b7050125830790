//! Sentences about the network and about servers that do not answer.

use super::recovery::by;
use crate::text;
use ftmpi_protocols::dispatcher::{NetworkEnd, NetworkNotice};
use std::time::Duration;

/// No host answers.
pub fn own_link_down(patience: Duration) -> String {
    format!(
        "no host answers: the link of this host seems to be down; the ranks go on, and the hosts are \
         waited for, {} s in all (--launcher-patience)",
        patience.as_secs_f32()
    )
}

/// A host that the job needs from its start has no agent.
pub fn unreachable(host: &str, why: &str) -> String {
    format!("host {host}: {why}; ftmpiexec --doctor -hosts {host} looks for the cause")
}

/// Hosts answer again.
pub fn own_link_back(after: Duration) -> String {
    format!("hosts answer again, after {} s", after.as_secs())
}

/// What the dispatcher reports to the user.
pub fn notice(notice: &NetworkNotice) -> String {
    match notice {
        NetworkNotice::Cut { hosts, why } => {
            format!("{}, and both are up: {why}", cut_hosts(hosts))
        }
        NetworkNotice::CutMended { hosts: [a, b] } => {
            format!("hosts {a} and {b} reach each other again")
        }
        NetworkNotice::MovedAway { ranks, host, to, named } => {
            let (verb, by) = (if ranks.len() == 1 { "moves" } else { "move" }, by(*named));
            format!("{} {verb} from {host} to {} {by}", text::ranks(ranks), to.join(", "))
        }
        NetworkNotice::ServerAway { server, why, patience } => format!(
            "{server} does not answer: {why}; if it does not come back within {} s \
             (--storage-patience), the job ends and can be continued later",
            patience.as_secs_f32()
        ),
        NetworkNotice::ServerBack { server } => format!("{server} answers again"),
    }
}

/// Why the job ends.
pub fn end_reason(reason: &NetworkEnd) -> String {
    match reason {
        NetworkEnd::NoWayRound { hosts, why } => format!(
            "{} ({why}), and no other host reaches all that have ranks; mend the network, or go on \
             with other hosts (-f FILE)",
            cut_hosts(hosts)
        ),
        NetworkEnd::CutForGood { hosts, why, protocol } => format!(
            "{} ({why}); the protocol {protocol} cannot move ranks (use --protocol pessimistic)",
            cut_hosts(hosts)
        ),
        NetworkEnd::ServerLost { server, why, patience } => {
            format!("{server} has not answered for {} s: {why}", patience.as_secs_f32())
        }
    }
}

/// Which hosts a cut separates.
pub fn cut_hosts([a, b]: &[String; 2]) -> String {
    format!("hosts {a} and {b} do not reach each other")
}

/// Fault injection cuts the way between two hosts, or mends it.
pub fn injected_cut([a, b]: &[String; 2], cut: bool) -> String {
    let what = if cut { "cutting" } else { "mending" };
    format!("{what} the way between {a} and {b} (--inject)")
}

/// Fault injection takes a host down, or brings it back.
pub fn injected_host(host: &str, down: bool) -> String {
    let what = if down { "taking" } else { "bringing" };
    let whither = if down { "down" } else { "back" };
    format!("{what} host {host} {whither} (--inject)")
}
