//! Constants of the runtime: unit, and one line of reason each. Measurements are in
//! `docs/performance/log.md`, "Waiting of ranks that share processors".

use std::time::Duration;

/// Polls between two looks at the control socket while neither the page nor a signal announces
/// anything.
pub(crate) const CONTROL_EVERY: u32 = 512;
/// Polls between two looks at the socket while nothing is expected there. It is also looked at
/// after each sleep: what comes then is not urgent, but what is left there ends every sleep at
/// once.
pub(crate) const SOCKET_EVERY: u32 = 4096;
/// Sleeps after which a wait is shown to people, though something woke the rank each time.
pub(crate) const SLEEPS_PER_NOTE: u32 = 64;
/// Time for which ranks stand still for others that do not come into the library.
pub(crate) const STAND_PATIENCE: Duration = Duration::from_secs(30);
/// Time for which ranks stand still for others that are in the library and only have to stop their
/// threads.
pub(crate) const STOP_PATIENCE: Duration = Duration::from_secs(3);

/// Records of calls for `--trace` (`docs/internals/traces.md`).
pub(crate) mod trace {
    /// Nanoseconds between two records, where calls come faster: a record costs some 200 ns.
    pub(crate) const PERIOD_NS: u64 = 200_000;
    /// Calls between two that are recorded, on average, at the most: a program whose calls become
    /// slow is soon recorded call by call.
    pub(crate) const GAP_MAX: u64 = 4096;
    /// Nanoseconds from which on a wait is recorded in any case.
    pub(crate) const LONG_NS: u64 = 200_000;
    /// Nanoseconds after which a rank considers again which of its messages it records.
    pub(crate) const MESSAGES_NS: u64 = 64_000_000;
    /// Ends of messages in that time that it records at the most: with its calls, the ring has room
    /// for what comes in a second.
    pub(crate) const MESSAGES_MAX: u32 = 256;
    /// Messages that are not recorded between two looks at the clock.
    pub(crate) const MESSAGES_LOOK: u32 = 64;
    /// Ticks below which a wait is shorter than that on any processor.
    pub(crate) const LONG_TICKS: u64 = 200_000;
}

/// How long a rank that another launcher started waits for an answer of its host's agent. The agent
/// answers at once; a host that is full of starting processes is slow.
pub(crate) const AGENT_PATIENCE: Duration = Duration::from_secs(60);

/// Ticks of a microsecond, about: what a tool chooses need not be exact.
pub(crate) const TICKS_PER_US: u64 = 3000;
/// Ticks to spin at the least; a tick is about a third of a nanosecond.
pub(crate) const BUDGET_MIN: u64 = 12_000;
/// Ticks to spin at the most: some times what it takes to wake a rank.
pub(crate) const BUDGET_MAX: u64 = 1_500_000;
/// Looks before a rank rests for the first time.
pub(crate) const LOOKS_ROOMY: u32 = 16;
/// Looks before a rank rests for the first time where ranks outnumber processors: it gives way at
/// once. What it waits for mostly comes from a rank that waits for this processor. Yielding in vain
/// takes no longer than a few looks.
pub(crate) const LOOKS_OVERSUBSCRIBED: u32 = 1;
/// Ticks for which a rank yields before it sleeps, where ranks outnumber processors. The ranks that
/// are to answer run at once, and none needs to be woken. It is longer than one rank that computes
/// has the processor for, or ranks would sleep that should not.
pub(crate) const YIELDING: u64 = 10_000_000;
/// Ticks between two looks from which on somebody else had the processor.
pub(crate) const GAP: u64 = 150_000;
/// Ticks of a turn that took too long: more than some turns of others.
pub(crate) const GIVEN_LONG: u64 = 30_000_000;
/// Ticks of a turn that took too long where other programs use the processors: one turn.
pub(crate) const GIVEN_LONG_TO_OTHERS: u64 = 3_000_000;
/// Load from which other programs count, in thousandths of a processor (`word::EXTERNAL_LOAD`).
/// The job's own servers use less.
pub(crate) const EXTERNAL_LOAD: u64 = 300;
/// Waits in which a rank sleeps at once after a turn took too long; each further time twice as
/// many.
pub(crate) const HASTE_MIN: u32 = 16;
/// Waits in which a rank sleeps at once, at the most.
pub(crate) const HASTE_MAX: u32 = 4096;

/// How long a rank that another launcher started waits until its agent has said why the job ends.
pub(crate) const AGENT_SAYS_WHY: Duration = Duration::from_secs(3);
/// How long such a rank, before it ends by an error, waits until the launcher has read the error.
pub(crate) const ERRORS_READ_LIMIT: Duration = Duration::from_secs(2);
/// Between two looks whether it has, and what it may need to pass it on.
pub(crate) const ERRORS_READ_PAUSE: Duration = Duration::from_millis(10);
