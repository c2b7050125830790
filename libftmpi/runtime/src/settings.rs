//! Settings that a tool may change while the rank runs (`MPI_T_cvar_write`).
//!
//! Guarantees: none of them decides which messages are sent, so each rank may have its own, and a
//! replay does the same under others.

use crate::job::Job;

/// A setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tunable {
    /// Fruitless looks of a rank that waits before its first rest.
    Looks,
    /// Microseconds for which it spins then, before it sleeps.
    Spins,
    /// Bytes that its sender log may hold before it asks for images; 0: any number.
    LogLimit,
}

impl Tunable {
    /// Values that may be chosen.
    #[must_use]
    pub fn allows(self, value: u64) -> bool {
        match self {
            Self::Looks => (1..=1_000_000).contains(&value),
            Self::Spins => value <= 1_000_000,
            Self::LogLimit => value == 0 || value >= 1 << 20,
        }
    }

    /// What it is now. In a process of its own there is nobody to wait for.
    #[must_use]
    pub fn value(self, job: &Job) -> u64 {
        let (sleeper, view) = (job.engine.link.sleeper.as_ref(), job.engine.link.job.as_ref());
        match self {
            Self::Looks => sleeper.map_or(0, |sleeper| u64::from(sleeper.looks())),
            Self::Spins => sleeper.map_or(0, |sleeper| sleeper.spins_us()),
            Self::LogLimit => view.map_or(0, |view| view.log_limit),
        }
    }

    /// Changes it to a value that it allows.
    pub fn change(self, job: &mut Job, value: u64) {
        if let Some(sleeper) = &mut job.engine.link.sleeper {
            match self {
                Self::Looks => sleeper.choose_looks(value as u32),
                Self::Spins => sleeper.choose_spins_us(value as u32),
                Self::LogLimit => {}
            }
        }
        if let (Self::LogLimit, Some(view)) = (self, &mut job.engine.link.job) {
            view.log_limit = value;
            let limit = crate::init::log_limit(&job.engine.link);
            job.engine.set_log_limit(limit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_make_no_sense_are_refused() {
        for (tunable, good, bad) in [
            (Tunable::Looks, [1, 1000], [0, u64::MAX]),
            (Tunable::Spins, [0, 50], [1_000_001, u64::MAX]),
            (Tunable::LogLimit, [0, 1 << 20], [1, (1 << 20) - 1]),
        ] {
            assert!(good.iter().all(|&value| tunable.allows(value)), "{tunable:?}");
            assert!(!bad.iter().any(|&value| tunable.allows(value)), "{tunable:?}");
        }
    }
}
