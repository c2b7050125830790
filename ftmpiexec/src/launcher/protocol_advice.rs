//! What a user hears of the protocol that `--protocol auto` chose: the choice with its reason and
//! its cost, and once that the ranks exchange so little that a log of it would cost nothing.
//!
//! Guarantees: the launcher only tells. A job keeps its protocol.

use super::Launcher;
use crate::cli::{Choice, Reason};
use crate::text::size;
use crate::tuning::{LITTLE_BYTES_S, LITTLE_MESSAGES_S, LITTLE_SINCE};
use ftmpi_wire::{ProtocolTraits, Rank, Recovery};
use std::time::Duration;

/// What the ranks of a job have exchanged since its start.
#[derive(Debug, Clone, Copy)]
struct Exchange {
    ranks: usize,
    bytes: u64,
    messages: u64,
    time: Duration,
}

impl Exchange {
    /// Bytes a second of the whole job, if that is little.
    fn little(self) -> Option<f64> {
        if self.ranks < 2 || self.time < LITTLE_SINCE {
            return None;
        }
        let per_second = |count: u64| count as f64 / self.time.as_secs_f64();
        let most = |of_rank: f64| of_rank * self.ranks as f64;
        let is_little = per_second(self.bytes) <= most(LITTLE_BYTES_S)
            && per_second(self.messages) <= most(LITTLE_MESSAGES_S);
        is_little.then(|| per_second(self.bytes))
    }
}

impl Launcher {
    /// Tells once that the ranks exchange little, if they do.
    pub(super) fn look_at_exchange(&mut self) {
        if self.exchange_said || self.plan.choice.is_none() {
            return;
        }
        let (bytes, messages) = self.recorder.sent();
        let (ranks, time) = (self.plan.placement.len(), self.now());
        if let Some(bytes) = (Exchange { ranks, bytes, messages, time }).little() {
            self.exchange_said = true;
            self.printer.notice(exchange_little(bytes));
        }
    }
}

/// What `--protocol auto` chose, why, and what that costs.
pub(super) fn chosen(choice: &Choice) -> String {
    let why = match &choice.reason {
        Reason::OneHost => "all ranks are on one host".to_owned(),
        Reason::Hosts(hosts) => format!("ranks are on {hosts} hosts"),
        Reason::OneEach(hosts) => format!("each of {hosts} hosts has one rank"),
        Reason::SharedMemory => {
            "the program calls MPI_Win_allocate_shared, and no log repeats loads and stores"
                .to_owned()
        }
        Reason::NewProcesses => "the program calls MPI_Comm_spawn or connects at ports".to_owned(),
        Reason::NoImages => "there are no images".to_owned(),
        Reason::Option(option) => format!("of {option}"),
        Reason::Continued => "the job began with it".to_owned(),
    };
    let cost = match (choice.name.as_str(), &choice.reason) {
        ("coordinated", Reason::NoImages) => {
            "nothing is logged; after a failure all ranks begin again (--protocol pessimistic: only \
             the failed rank does)"
        }
        ("coordinated", _) => {
            "nothing is logged; after a failure all ranks return to their last images (--protocol \
             pessimistic: only the failed rank does)"
        }
        ("hierarchical", _) => {
            "messages between clusters are logged; after a failure the ranks of one cluster return \
             to their last images"
        }
        _ => "all messages are logged; after a failure only the failed rank returns",
    };
    format!("--protocol auto: {}, because {why}; {cost}", choice.name)
}

/// The program calls a function that this protocol refuses.
pub(super) fn shares_in_vain(protocol: &str) -> String {
    format!(
        "the program calls MPI_Win_allocate_shared, which --protocol {protocol} refuses where several \
         ranks share memory: no log repeats loads and stores; --protocol coordinated allows it"
    )
}

/// Ranks that exchange so little would be better off with logs.
fn exchange_little(bytes_per_second: f64) -> String {
    format!(
        "ranks exchange {} a second: --protocol pessimistic would log that at hardly any cost, and \
         after a failure only the failed rank would return (this is said once)",
        size(bytes_per_second as u64)
    )
}

/// A rank has no images.
pub(super) fn no_image(rank: Rank, why: &str, traits: ProtocolTraits) -> String {
    let then = match traits.recovery {
        Recovery::Waves => {
            "so there are none of any rank, and after a failure all ranks begin again (--protocol \
             pessimistic repeats only the failed rank, and takes images of the others)"
        }
        Recovery::ClusterWaves => {
            "so there are none of any rank of its cluster, and after a failure the cluster begins \
             again (--protocol pessimistic repeats only the failed rank)"
        }
        _ => "after a failure it is replayed from its last image or its start",
    };
    format!(
        "rank {rank}: no image of it can be taken ({why}); {then} (other ranks with the same \
         reason are not named)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_is_measured_for_each_rank_and_not_too_soon() {
        let job = |ranks, bytes, messages, seconds| {
            let time = Duration::from_secs(seconds);
            Exchange { ranks, bytes, messages, time }.little()
        };
        assert_eq!(job(4, 2048 * 20, 100, 20), Some(2048.0));
        assert_eq!(job(4, 2048, 100, 1), None, "too soon");
        assert_eq!(job(1, 0, 0, 20), None, "one rank returns alone in any case");
        assert_eq!(job(4, 0, 0, 20), Some(0.0), "independent workers");
        assert_eq!(job(4, 20 << 30, 100, 20), None, "much data");
        assert_eq!(job(4, 100, 20_000_000, 20), None, "many messages");
        let bytes = (LITTLE_BYTES_S * 3.0 * 20.0) as u64;
        assert!(job(3, bytes, 0, 20).is_some() && job(2, bytes, 0, 20).is_none());
    }

    #[test]
    fn a_choice_is_told_with_its_reason_and_its_cost() {
        let told = |name: &str, reason| chosen(&Choice { name: name.into(), reason });
        assert_eq!(
            told("hierarchical", Reason::Hosts(3)),
            "--protocol auto: hierarchical, because ranks are on 3 hosts; messages between clusters \
             are logged; after a failure the ranks of one cluster return to their last images"
        );
        let off = told("coordinated", Reason::NoImages);
        assert!(off.contains("after a failure all ranks begin again (--protocol pess"), "{off}");
        let by_option = told("pessimistic", Reason::Option("--events".into()));
        assert!(by_option.contains("because of --events; all messages are logged"), "{by_option}");
        let on_one = told("coordinated", Reason::OneHost);
        assert!(on_one.contains("all ranks return to their last images"), "{on_one}");
    }
}
