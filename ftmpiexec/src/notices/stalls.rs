//! The line about ranks that make no progress.

use crate::text::{count, ranks};
use ftmpi_protocols::stall::{Stall, StallNews};
use ftmpi_wire::Rank;
use ftmpi_wire::job_status::{RankState, RankStatus};

/// What is said about a stall. `all[n]` is rank `n`.
pub fn stall(news: &StallNews, all: &[RankStatus]) -> String {
    match news {
        StallNews::Begins(Stall::Deadlock(cycle)) => {
            let each: Vec<String> =
                cycle.iter().map(|rank| wait_of(&all[*rank as usize])).collect();
            format!(
                "deadlock: {}; none of them can go on: a fault of the program (said once; ftmpi-ctl \
                 waits shows all ranks, ftmpi-ctl end stops the job)",
                each.join(", ")
            )
        }
        StallNews::Begins(Stall::For { root, state, waiting }) => {
            let root = &all[*root as usize];
            let what = match state {
                RankState::Stopped => stopped(root),
                RankState::Done | RankState::Finalizing => format!(
                    "rank {} on {} {}, and is waited for: a fault of the program",
                    root.rank,
                    root.host,
                    state.name()
                ),
                RankState::Waiting => wait_of(root),
                RankState::Starting => format!(
                    "rank {} on {} has not called MPI_Init for {:.0} s",
                    root.rank, root.host, root.state_s
                ),
                // It may have much to do with others.
                _ if root.idle_s < 1.0 => wait_of(root),
                _ => format!(
                    "{} and has sent and received nothing for {:.0} s",
                    wait_of(root),
                    root.idle_s
                ),
            };
            format!("{what}; {}{}", waiters(waiting, all), advice(root, *state))
        }
        StallNews::Stopped(rank) => {
            let root = &all[*rank as usize];
            format!("{}{}", stopped(root), advice(root, RankState::Stopped))
        }
        StallNews::Ends { rank } => format!("rank {rank} goes on"),
    }
}

fn stopped(rank: &RankStatus) -> String {
    format!(
        "rank {} on {} is stopped (SIGSTOP, or a debugger) for {:.0} s",
        rank.rank, rank.host, rank.state_s
    )
}

fn advice(root: &RankStatus, state: RankState) -> String {
    match (state, root.pid) {
        (RankState::Stopped, Some(pid)) => {
            format!(" (said once; kill -CONT {pid} on {} lets it go on)", root.host)
        }
        _ => " (said once; ftmpi-ctl waits shows all ranks; --stall changes the time)".to_owned(),
    }
}

/// `rank 0 on a waits for rank 1 in MPI_Recv for 61 s, and 2 more`
fn waiters(waiting: &[u32], all: &[RankStatus]) -> String {
    let longest = |rank: &&u32| {
        let since = all[**rank as usize].wait.as_ref().map_or(0.0, |wait| wait.since_s);
        (since * 1000.0) as u64
    };
    let Some(first) = waiting.iter().max_by_key(longest) else { return String::new() };
    let more: Vec<Rank> = waiting.iter().filter(|rank| *rank != first).map(|r| Rank(*r)).collect();
    let first = wait_of(&all[*first as usize]);
    match &more[..] {
        [] => first,
        few if few.len() <= 8 => format!("{first}, and so {} {}", verb(few), ranks(few)),
        many => format!("{first}, and so do {}", count(many.len(), "more rank")),
    }
}

fn verb(of: &[Rank]) -> &'static str {
    if of.len() == 1 { "does" } else { "do" }
}

/// `rank 0 on a waits for rank 1 in MPI_Recv (tag 7) for 61 s`
fn wait_of(rank: &RankStatus) -> String {
    let begin = format!("rank {} on {}", rank.rank, rank.host);
    match &rank.wait {
        Some(wait) => format!("{begin} {}", wait.in_words()),
        None => format!("{begin} {}", rank.state.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_wire::job_status::{Wait, WaitReason};

    fn rank(number: u32, state: RankState, peers: &[u32]) -> RankStatus {
        let wait = Wait {
            call: Some("MPI_Recv".into()),
            reason: WaitReason::Message,
            peers: peers.to_vec(),
            any_source: false,
            one_is_enough: false,
            tag: Some(7),
            since_s: 61.2,
        };
        RankStatus {
            rank: number,
            host: ["a", "b", "c"][number as usize].into(),
            incarnation: 0,
            pid: Some(4711),
            state,
            state_s: 61.0,
            wait: (state == RankState::Waiting).then_some(wait),
            idle_s: 62.0,
            image: None,
            taking_image_s: None,
            log_bytes: 0,
            log_limit_bytes: None,
            messages_sent: 0,
            messages_received: 0,
            bytes_sent: 0,
            bytes_received: 0,
            failures: 0,
            standby: None,
        }
    }

    #[test]
    fn a_deadlock_names_its_ranks_calls_and_times() {
        let all = [rank(0, RankState::Waiting, &[1]), rank(1, RankState::Waiting, &[0])];
        let text = stall(&StallNews::Begins(Stall::Deadlock(vec![0, 1])), &all);
        let wanted = "deadlock: rank 0 on a waits for rank 1 in MPI_Recv (tag 7) for 61 s, rank 1 \
                      on b waits for rank 0 in MPI_Recv (tag 7) for 61 s; none of them can go on";
        assert!(text.starts_with(wanted), "{text}");
    }

    #[test]
    fn a_rank_that_talks_to_others_is_not_said_to_be_silent() {
        let mut all = [rank(0, RankState::Waiting, &[1]), rank(1, RankState::Computing, &[])];
        let state = RankState::Computing;
        let stalled = StallNews::Begins(Stall::For { root: 1, state, waiting: vec![0] });
        let name = state.name();
        let begin =
            format!("rank 1 on b {name} and has sent and received nothing for 62 s; rank 0");
        assert!(stall(&stalled, &all).starts_with(&begin), "{}", stall(&stalled, &all));
        all[1].idle_s = 0.2;
        let begin = format!("rank 1 on b {name}; rank 0");
        assert!(stall(&stalled, &all).starts_with(&begin), "{}", stall(&stalled, &all));
    }

    #[test]
    fn a_rank_that_never_comes_to_mpi_init_is_named() {
        let all = [rank(0, RankState::Waiting, &[1]), rank(1, RankState::Starting, &[])];
        let stalled = Stall::For { root: 1, state: RankState::Starting, waiting: vec![0] };
        let text = stall(&StallNews::Begins(stalled), &all);
        let wanted = "rank 1 on b has not called MPI_Init for 61 s; rank 0 on a waits for rank 1";
        assert!(text.starts_with(wanted), "{text}");
    }

    #[test]
    fn a_stopped_rank_comes_with_the_command_that_helps() {
        let all = [
            rank(0, RankState::Waiting, &[1]),
            rank(1, RankState::Stopped, &[]),
            rank(2, RankState::Waiting, &[1]),
        ];
        let state = RankState::Stopped;
        let stalled = Stall::For { root: 1, state, waiting: vec![0, 2] };
        let text = stall(&StallNews::Begins(stalled), &all);
        assert!(text.starts_with("rank 1 on b is stopped (SIGSTOP, or a debugger) for 61 s; "));
        assert!(text.contains("waits for rank 1 in MPI_Recv (tag 7) for 61 s, and so does rank"));
        assert!(text.ends_with("(said once; kill -CONT 4711 on b lets it go on)"), "{text}");
    }
}
