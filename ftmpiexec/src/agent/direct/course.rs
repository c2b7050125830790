//! The course of a job whose ranks another launcher started: what all ranks wait for, and when the
//! job ends. A pure machine, on the agent of rank 0's host.
//!
//! Guarantees: each order is given once. A rank that ends before all have called `MPI_Finalize`
//! ends the job; afterwards its end is an ordinary one, so nobody waits for it.

use ftmpi_wire::Rank;
use ftmpi_wire::direct_start::ENDED_EARLY;
use serde::{Deserialize, Serialize};

/// What happens to a rank, from the agent of its host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Input {
    /// It called `MPI_Finalize`.
    Finalizing(Rank),
    /// Its program ends.
    Exiting(Rank),
    /// Its process is gone.
    Gone(Rank),
    /// It called `MPI_Abort`, or the library gives up for the reason in the text.
    Abort {
        /// The rank.
        rank: Rank,
        /// Exit code of the job.
        code: i32,
        /// One line, or empty.
        text: String,
    },
    /// Nobody can serve the ranks of a host any more.
    Failed {
        /// Index of the host.
        host: u32,
        /// One line.
        why: String,
    },
}

/// To all ranks, through the agents of their hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// All are in `MPI_Finalize`.
    AllFinalized,
    /// All programs end.
    AllExiting,
    /// End with this code.
    End {
        /// The exit code.
        code: i32,
        /// The rank whose end the launcher is to see first, because launchers take the code of the
        /// first end that they see. The others end a moment later.
        by: Option<Rank>,
        /// Why, for the user.
        why: String,
    },
}

/// How far a rank is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Running,
    Finalizing,
    Exiting,
}

/// See the module.
#[derive(Debug)]
pub struct Course {
    stages: Vec<Stage>,
    /// Name of each rank's host.
    hosts: Vec<String>,
    /// Ranks that have not called `MPI_Finalize`.
    running: usize,
    /// Ranks whose programs have not ended.
    left: usize,
    over: bool,
}

impl Course {
    /// Ranks on these hosts.
    pub fn new(hosts: Vec<String>) -> Self {
        let count = hosts.len();
        Self {
            stages: vec![Stage::Running; count],
            hosts,
            running: count,
            left: count,
            over: false,
        }
    }

    /// What follows from what happened.
    pub fn on(&mut self, input: Input) -> Option<Order> {
        if self.over {
            return None;
        }
        match input {
            Input::Finalizing(rank) => {
                if !self.reach(rank, Stage::Finalizing) || self.running > 0 {
                    return None;
                }
                Some(Order::AllFinalized)
            }
            Input::Exiting(rank) => self.leave(rank),
            Input::Gone(rank) if self.running == 0 => self.leave(rank),
            Input::Gone(rank) => {
                let host = self.hosts.get(rank.index())?;
                let why = format!("rank {rank} on {host}: {ENDED_EARLY}");
                self.end(1, Some(rank), why)
            }
            Input::Abort { rank, code, text } => {
                let host = self.hosts.get(rank.index())?;
                let why = match &*text {
                    "" => format!("rank {rank} on {host}: MPI_Abort with code {code}"),
                    text => format!("rank {rank} on {host}: {text}"),
                };
                self.end(code, Some(rank), why)
            }
            Input::Failed { why, .. } => self.end(1, None, why),
        }
    }

    fn end(&mut self, code: i32, by: Option<Rank>, why: String) -> Option<Order> {
        self.over = true;
        Some(Order::End { code, by, why })
    }

    /// The rank is so far now; whether that is news.
    fn reach(&mut self, rank: Rank, stage: Stage) -> bool {
        let Some(known) = self.stages.get_mut(rank.index()) else { return false };
        if *known >= stage {
            return false;
        }
        self.running -= usize::from(*known == Stage::Running);
        self.left -= usize::from(stage == Stage::Exiting);
        *known = stage;
        true
    }

    fn leave(&mut self, rank: Rank) -> Option<Order> {
        (self.reach(rank, Stage::Exiting) && self.left == 0).then_some(Order::AllExiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course() -> Course {
        Course::new(vec!["a".into(), "b".into(), "b".into()])
    }

    #[test]
    fn ranks_leave_together() {
        let mut course = course();
        for rank in [2, 0] {
            assert_eq!(course.on(Input::Finalizing(Rank(rank))), None);
        }
        assert_eq!(course.on(Input::Finalizing(Rank(0))), None, "twice");
        assert_eq!(course.on(Input::Finalizing(Rank(1))), Some(Order::AllFinalized));
        assert_eq!(course.on(Input::Finalizing(Rank(1))), None, "a session after it");
        assert_eq!(course.on(Input::Exiting(Rank(1))), None);
        assert_eq!(course.on(Input::Gone(Rank(1))), None);
        assert_eq!(course.on(Input::Gone(Rank(0))), None, "killed behind MPI_Finalize");
        assert_eq!(course.on(Input::Exiting(Rank(2))), Some(Order::AllExiting));
    }

    #[test]
    fn a_death_ends_the_job_once() {
        let mut course = course();
        assert_eq!(course.on(Input::Finalizing(Rank(1))), None);
        let Some(Order::End { code: 1, by: Some(Rank(1)), why }) = course.on(Input::Gone(Rank(1)))
        else {
            panic!("nobody waits for it, and the launcher sees its end first")
        };
        assert!(why.contains("rank 1 on b") && why.contains("ftmpiexec"), "{why}");
        assert_eq!(course.on(Input::Gone(Rank(0))), None);
        assert_eq!(course.on(Input::Finalizing(Rank(0))), None);
    }

    #[test]
    fn abort_ends_the_job_with_its_code() {
        let abort = |text: &str| Input::Abort { rank: Rank(2), code: 7, text: text.into() };
        let Some(Order::End { code: 7, by: Some(Rank(2)), why }) = course().on(abort("")) else {
            panic!()
        };
        assert_eq!(why, "rank 2 on b: MPI_Abort with code 7");
        let Some(Order::End { code: 7, by: Some(Rank(2)), why }) = course().on(abort("no memory"))
        else {
            panic!()
        };
        assert_eq!(why, "rank 2 on b: no memory");
    }

    #[test]
    fn ranks_that_are_none_change_nothing() {
        let mut course = course();
        for input in [
            Input::Finalizing(Rank(3)),
            Input::Exiting(Rank(u32::MAX)),
            Input::Gone(Rank(3)),
            Input::Abort { rank: Rank(9), code: 1, text: String::new() },
        ] {
            assert_eq!(course.on(input), None);
        }
        assert_eq!((course.running, course.left), (3, 3));
    }
}
