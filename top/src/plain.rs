//! The state of a job as lines, for outputs that are no terminal.

use crate::view::{age, fault_line, head_line, host_line, server_line, size, wave_line};
use ftmpi_servers::exposure::exposure;
use ftmpi_wire::job_status::{JobStatus, RankState, RankStatus};
use std::fmt::Write;

/// Faults that are told.
const FAULTS: usize = 10;

/// All lines about a state, each with its end.
pub fn text(status: &JobStatus) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}", head_line(status));
    let _ = writeln!(text, "if a rank died now: {}", exposure(status).text);
    for host in &status.hosts {
        let _ = writeln!(text, "{}", host_line(host));
        let ranks = status.ranks.iter().filter(|rank| rank.host == host.name);
        for rank in ranks {
            let _ = writeln!(text, "  {}", rank_line(rank));
        }
    }
    text.extend(wave_line(status).map(|line| line + "\n"));
    for server in &status.servers {
        let _ = writeln!(text, "{}", server_line(server));
    }
    for fault in status.faults.iter().rev().take(FAULTS).rev() {
        let _ = writeln!(text, "{}", fault_line(fault));
    }
    text
}

fn rank_line(rank: &RankStatus) -> String {
    let mut line = match rank.wait.as_ref().filter(|_| rank.state == RankState::Waiting) {
        Some(wait) => format!("rank {} {}", rank.rank, wait.in_words()),
        None => format!("rank {} {} for {}", rank.rank, rank.state.name(), age(rank.state_s)),
    };
    let _ = match rank.image {
        Some(image) => match image.age_s {
            Some(old) => write!(line, "; image {}, {} old", image.image, age(old)),
            None => write!(line, "; image {} of an earlier run", image.image),
        },
        None => write!(line, "; no image"),
    };
    if rank.log_bytes > 0 {
        let _ = write!(line, "; log {}", size(rank.log_bytes));
    }
    if let Some(standby) = &rank.standby {
        let _ = write!(line, "; {}", standby.in_words());
    }
    let _ = match rank.failures {
        0 => Ok(()),
        1 => write!(line, "; failed once"),
        times => write!(line, "; failed {times} times"),
    };
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn lines_tell_ranks_by_host_and_what_they_wait_for() {
        let text = text(&samples::job());
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("./heat 4000: pessimistic, running for 4 m 10 s, 4 ranks"));
        assert!(lines[1].contains("repeats at most 4 m 10 s (rank 2)"), "{}", lines[1]);
        assert!(lines[2].starts_with("host node1: up"), "{}", lines[2]);
        assert_eq!(
            lines[4],
            "  rank 1 waits for rank 2 in MPI_Recv (tag 7) for 3 s; image 3, 8.5 s old; log 1.5 MB"
        );
        assert!(lines[6].contains("rank 2 catches up") && lines[6].contains("no image"));
        assert!(lines[7].ends_with("; standby on node1"), "{}", lines[7]);
        assert!(lines[9].contains("checkpoint server on node2 is down"), "{}", lines[9]);
        assert!(lines.last().unwrap().contains("SIGSEGV"));
    }
}
