//! Sentences about detectors, recoveries and hosts that ranks leave or come back to.

use super::{cause, ended, judged, start_of};
use crate::text::count;
use ftmpi_protocols::dispatcher::{Cause, Ending, InStandby, Notice};
use ftmpi_protocols::judge::{Ground, Named};
use ftmpi_wire::{ImageNo, Rank};
use std::time::Duration;

/// What the dispatcher reports about recoveries; empty for what [`super::notice`] has.
pub fn notice(notice: &Notice) -> String {
    match notice {
        Notice::Migrates { rank, ending, host, to, ground, named } => {
            format!("{} {}", migrates(*rank, *ending, [host, to], ground), by(*named))
        }
        Notice::Shunned { hosts, ground: why, named } => format!(
            "{}: no rank begins on {} any more {}",
            ground(why),
            hosts.join(", "),
            by(*named)
        ),
        Notice::UsedAgain { hosts } => format!("ranks may begin on {} again", hosts.join(", ")),
        Notice::SpareDown { host, why, again } => {
            let then = again.map_or_else(
                || "it is not tried again".to_owned(),
                |pause| format!("it is tried again every {} s", pause.as_secs_f32()),
            );
            format!("spare host {host}: {why}; the job begins without it, and {then}")
        }
        Notice::Restarting { rank, host, cause, image, named, standby } => {
            restarting((*rank, host), cause, *image, *named, standby)
        }
        Notice::NoStandby { rank, host, why } => format!(
            "rank {rank} has no standby any more: on {host}, {why}; after a failure it restarts from \
             its image"
        ),
        Notice::HostBack { host } => format!("host {host} is back: ranks may move to it"),
        Notice::Library { what } => format!(
            "--recovery: library {what}; the detectors after it look (build the library again)"
        ),
        Notice::NoRemedy { host, why } => format!(
            "host {host} may fail soon ({why}), and no other host takes its ranks; name a spare in \
             the machine file, or free slots"
        ),
        _ => String::new(),
    }
}

fn restarting(
    (rank, host): (Rank, &str),
    why: &Cause,
    image: Option<ImageNo>,
    named: Option<Named>,
    standby: &InStandby,
) -> String {
    let start = start_of(image);
    let what = match standby {
        InStandby::At(on) => format!("its standby on {on} takes its place, with {start}"),
        InStandby::No => format!("restarting it from {start}"),
        InStandby::Second(on) => {
            format!(
                "it waits for its host, or else its standby on {on} takes its place, with {start}"
            )
        }
    };
    format!("rank {rank} on {host}: {}; {what}{}", cause(why), judged(named))
}

/// A standby has read its image.
pub fn standby_ready(rank: Rank, host: &str, image: ImageNo) -> String {
    format!("rank {rank}: its standby on {host} has read image {image}")
}

fn migrates(rank: Rank, ending: Option<Ending>, hosts: [&str; 2], why: &Ground) -> String {
    let [from, to] = hosts;
    match (ending, why) {
        (Some(ending), Ground::SameDeath { times, .. }) => format!(
            "rank {rank}: {} {times} times at the same place on {from}, which may be broken; it tries \
             {to}, where the same death is a fault of the program",
            ended(ending)
        ),
        (Some(ending), Ground::TheFact) => {
            format!("rank {rank} on {from}: {}; it moves to {to}", ended(ending))
        }
        (_, stalled @ Ground::Stalled { .. }) => {
            format!("rank {rank} on {from}: {}; it moves to {to}", ground(stalled))
        }
        (_, why) => format!("{}; rank {rank} moves from {from} to {to}", ground(why)),
    }
}

/// A rank died by the same fault again and again, also where it went for that reason.
pub fn same_death(
    rank: Rank,
    host: &str,
    ending: Ending,
    times: u32,
    before: Option<&str>,
) -> String {
    let elsewhere = before.map_or_else(String::new, |before| format!(", also on {before}"));
    let what = match ending {
        Ending::Memory(_) => {
            "it needs more memory than it may have; raise the limit, or use fewer ranks on each host"
        }
        _ => "a fault of the program, which no restart can heal",
    };
    let ending = ended(ending);
    format!("rank {rank} on {host}: {ending} {times} times at the same place{elsewhere}: {what}")
}

/// The job is given up because a detector says so.
pub fn given_up(cause: &str, why: &Ground, named: Named) -> String {
    let text = match why {
        Ground::TheFact | Ground::Stalled { .. } => cause.to_owned(),
        other => ground(other),
    };
    format!("{text}; the job is given up {}", by(named))
}

/// What a detector saw.
pub fn ground(ground: &Ground) -> String {
    match ground {
        Ground::TheFact => "a failure".to_owned(),
        Ground::SameDeath { times, .. } => format!("{times} deaths at the same place"),
        Ground::ManyFaults { host, count: faults, window } => {
            format!("{} of processes on {host} within {}", count(*faults, "failure"), time(*window))
        }
        Ground::SwitchLost { switch, lost, of } => {
            format!("switch {switch}: {lost} of its {} lost", count(*of, "host"))
        }
        Ground::Cut { ends: [a, b] } => format!("{a} and {b} do not reach each other"),
        Ground::Stalled { lasts } => {
            format!("it has been stopped (SIGSTOP) for {:.0} s", lasts.as_secs_f64())
        }
        Ground::Library { why } => why.clone(),
        Ground::Suspect { host, why } => format!("host {host} may fail soon ({why})"),
    }
}

/// The detector and the recovery.
pub fn by(named: Named) -> String {
    format!("[{}: {}]", named.detector, named.recovery_name())
}

fn time(time: Duration) -> String {
    format!("{} s", time.as_secs_f32())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_protocols::dispatcher::MemoryLimit;
    use ftmpi_protocols::judge::Recovery;

    #[test]
    fn sentences_name_detector_and_recovery() {
        let named = |detector| Named::new(detector, Recovery::Migrate);
        let migrates = |ending, ground, detector| {
            let (host, to) = ("h1".to_owned(), "h2".to_owned());
            let named = named(detector);
            notice(&Notice::Migrates { rank: Rank(2), ending, host, to, ground, named })
        };
        let same = Ground::SameDeath { times: 3, before: None };
        assert_eq!(
            migrates(Some(Ending::Memory(MemoryLimit::Group(200 << 20))), same, "same-death"),
            "rank 2: the kernel killed it: memory limit 200 MiB (cgroup) 3 times at the same place on \
             h1, which may be broken; it tries h2, where the same death is a fault of the program \
             [same-death: migrate]"
        );
        let many =
            Ground::ManyFaults { host: "h1".into(), count: 5, window: Duration::from_secs(600) };
        assert_eq!(
            migrates(Some(Ending::Signal(9)), many.clone(), "repeated"),
            "5 failures of processes on h1 within 600 s; rank 2 moves from h1 to h2 [repeated: migrate]"
        );
        let stalled = Ground::Stalled { lasts: Duration::from_millis(60_400) };
        assert_eq!(
            migrates(None, stalled.clone(), "stall"),
            "rank 2 on h1: it has been stopped (SIGSTOP) for 60 s; it moves to h2 [stall: migrate]"
        );
        let cause = "rank 2 on h1: it has been stopped (SIGSTOP) for 60 s";
        let give_up = Named::new("stall", Recovery::GiveUp);
        assert_eq!(
            given_up(cause, &stalled, give_up),
            format!("{cause}; the job is given up [stall: give-up]")
        );
        let begins = |standby: InStandby, own| {
            let named = Some(Named { own, ..Named::new("process", Recovery::Restart) });
            let (rank, host) = (Rank(2), "h1".to_owned());
            let (cause, image) = (Cause::Ended(Ending::Signal(9)), Some(ImageNo(4)));
            notice(&Notice::Restarting { rank, host, cause, image, named, standby })
        };
        assert_eq!(
            begins(InStandby::At("h2".to_owned()), Some("promote")),
            "rank 2 on h1: killed by signal 9 (SIGKILL); its standby on h2 takes its place, with \
             image 4 [process: promote]"
        );
        assert!(begins(InStandby::Second("h2".to_owned()), None).ends_with(
            "; it waits for its host, or else its standby on h2 takes its place, with image 4 \
             [process: restart]"
        ));
        let [host, to, why] = ["h1", "h2", "it is gone"].map(str::to_owned);
        let promoted =
            Some(Named { own: Some("promote"), ..Named::new("physical", Recovery::Migrate) });
        let moves = Notice::RanksMove { host, why, ranks: vec![Rank(2)], to, promoted };
        assert_eq!(
            super::super::notice(&moves),
            "host h1: it is gone; rank 2 moves to h2, where its standby takes its place \
             [physical: promote]"
        );
        assert_eq!(
            begins(InStandby::No, None),
            "rank 2 on h1: killed by signal 9 (SIGKILL); restarting it from image 4 [process: restart]"
        );
        let (hosts, named) = (vec!["h1".to_owned()], named("repeated"));
        assert_eq!(
            notice(&Notice::Shunned { hosts, ground: many, named }),
            "5 failures of processes on h1 within 600 s: no rank begins on h1 any more \
             [repeated: migrate]"
        );
    }
}
