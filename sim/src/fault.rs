//! What is wrong with a run: the verdict of a simulation that fails, and every text of it.

use ftmpi_protocols::dispatcher::EndReason;
use ftmpi_wire::{EventNo, Incarnation};
use thiserror::Error;

/// Why a run is not right.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fault {
    /// A program saw something wrong, an invariant is broken, or a machine panicked: the text of
    /// the panic.
    #[error("{0}")]
    Panic(String),
    /// The job ended with an error that nothing explains.
    #[error("the job ended with {code}: {reason:?}")]
    Ended {
        /// Exit code of the job.
        code: i32,
        /// The reason of the dispatcher.
        reason: Option<Box<EndReason>>,
    },
    /// The job ended in order, and a rank never came to its end.
    #[error("the job has ended, and rank {rank} never came to its end")]
    Unended {
        /// The rank.
        rank: usize,
    },
    /// At the end a rank depends on a lost event.
    #[error("invariant no-orphan-left is broken: rank {rank} depends on what is lost: {on:?}")]
    Orphan {
        /// The rank.
        rank: usize,
        /// The lost event: its rank, its incarnation and its number.
        on: (usize, Incarnation, EventNo),
    },
    /// Nothing happens any more, and ranks wait.
    #[error("hang: nothing happens any more; {0}")]
    Stuck(String),
    /// Things happen for ever.
    #[error("hang: too many events; {0}")]
    Endless(String),
    /// The results are not those of a run without failures.
    #[error("the results differ from those without failures")]
    ResultsDiffer,
}

impl Fault {
    /// The fault that a panic stands for.
    #[must_use]
    pub fn of_panic(panic: &(dyn std::any::Any + Send)) -> Self {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
        Self::Panic(text.unwrap_or_else(|| "a panic".to_owned()))
    }
}
