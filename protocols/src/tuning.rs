//! Constants of the machines that decide about speed and patience.
//!
//! Every constant states its unit and the reason for its value in one line. Measurements are in
//! `docs/performance/log.md`.

use ftmpi_wire::event_log::RECORDS_MAX;
use std::time::Duration;

// ---- determinants on their way to the logger ----------------------------------------------------

/// Records that are gathered before they are sent without a reason: a quarter of a frame.
pub(crate) const BATCH_RECORDS: u64 = RECORDS_MAX as u64 / 4;
/// Events that causal logging gathers while an acknowledgement is awaited: batches grow under load.
pub(crate) const CAUSAL_GATHER: u64 = 256;
/// Records that optimistic logging gathers then: fewer, because what is not stable may be lost.
pub(crate) const OPTIMISTIC_GATHER: u64 = 32;
/// Events of other ranks that are held before the logger is asked whether they are stable. Without
/// this limit a rank that only receives would hold them for ever.
pub(crate) const HELD_UNASKED: u64 = 1024;
/// Bytes of an answer to a recovering rank in one frame: other frames must not wait for long.
pub(crate) const ANSWER_PART_BYTES: usize = 4 << 20;

// ---- sender logs --------------------------------------------------------------------------------

/// Bytes of the first slab. Each new slab is twice as large: small jobs stay small.
pub(crate) const SLAB_MIN: usize = 64 << 10;
/// Bytes up to which slabs double with every new one.
pub(crate) const SLAB_USUAL: usize = 4 << 20;
/// Bytes of the largest slab for short blocks.
pub(crate) const SLAB_MAX: usize = 32 << 20;
/// Above [`SLAB_USUAL`] a slab has at most this part of all memory of the log (one sixteenth).
pub(crate) const SLAB_SHARE: usize = 16;
/// Bytes from which a block gets a slab of its own: it would waste the rest of a usual slab.
pub(crate) const OWN_MIN: usize = SLAB_USUAL / 4;
/// Bytes in empty slabs that are kept at least: fresh pages cost many times a copy.
pub(crate) const KEPT_MIN: usize = 16 << 20;
/// Of a log that grows, this part of what is held is wanted ready beyond it (a quarter): a wait is
/// seldom followed by more.
pub(crate) const AHEAD_SHARE: u64 = 4;
/// Bytes that are ready at least, or as much as is held: a huge page.
pub(crate) const AHEAD_MIN: u64 = 2 << 20;
/// Bytes that are ready at the most: they may be for nothing.
pub(crate) const AHEAD_MAX: usize = 32 << 20;
/// Bytes of a unit in which an image's need is counted: a page.
pub(crate) const UNIT: usize = 4 << 10;
/// Units in a row that are worth being left out of an image: each gap costs a record.
pub(crate) const UNITS_MIN: usize = 4;
/// Elements of a block of a queue: one allocation for many messages.
pub(crate) const BLOCK: usize = 256;

// ---- the dispatcher -----------------------------------------------------------------------------

/// How long the other ranks may take to end after one left without `MPI_Finalize`.
pub(crate) const GRACE_WITHOUT_FINALIZE: Duration = Duration::from_secs(30);
/// How long the dispatcher waits before it reports that they still run: where all ranks leave
/// without `MPI_Finalize`, nothing is reported.
pub(crate) const SILENCE_WITHOUT_FINALIZE: Duration = Duration::from_secs(3);
/// Incarnations of a rank that may have been announced and be on no disk when the power is lost.
pub(crate) const INCARNATIONS_UNKNOWN: u32 = 16;
/// A death is reported at most this long after the first complaint about it.
pub(crate) const ECHO_TIME: Duration = Duration::from_millis(300);
/// A broken channel is mostly the first sign of a death. After this time without a report of one,
/// the network is to blame.
pub(crate) const LOST_CHANNEL_PATIENCE: Duration = Duration::from_secs(2);
/// How long a wave that is due keeps new processes waiting: a world needs less to begin or to end,
/// and a program that spawns all the time would never have a wave.
pub(crate) const SPAWN_PATIENCE: Duration = Duration::from_secs(2);
/// Lost images after which a rank that was to move stays: the fault will not go soon.
pub(crate) const LOST_IMAGES_MAX: u32 = 3;

// ---- the judge ----------------------------------------------------------------------------------

/// Equal deaths of a rank on one host, without progress, before the host or the program is to
/// blame: two may be chance.
pub(crate) const SAME_DEATHS: u32 = 3;
/// Time in which process faults of a host are counted by the detector `repeated`.
pub(crate) const REPEATED_WINDOW: Duration = Duration::from_secs(600);
/// Share of the hosts of a switch whose loss means that the switch is bad: half of them.
pub(crate) const LOST_SHARE: f64 = 0.5;
/// Time for which the loss of a host that came back still counts against its switch.
pub(crate) const RECENT_LOSSES: Duration = Duration::from_secs(600);
/// How long a host whose agent closed its connection is tried before its ranks move: a new agent
/// needs less than a second.
pub(crate) const HOST_PATIENCE: Duration = Duration::from_secs(5);
/// Time after which a host that was given up is tried again: a reboot takes minutes.
pub(crate) const HOST_RETRY: Duration = Duration::from_secs(60);
/// Times of process faults that are kept of each host: more than any sensible count.
pub(crate) const FAULT_TIMES_KEPT: usize = 1000;

/// Standbys of a rank that may be lost in a row before no other is made: what kills five of them
/// kills the next one, too.
pub(crate) const STANDBYS_LOST_MAX: u32 = 5;

/// After the loss of a standby, before another one is made of the same image.
pub(crate) const STANDBY_RETRY: Duration = Duration::from_secs(1);

/// How long a standby may read its image and hold up the next image, and the recovery of its rank:
/// its host may be slow, or its checkpoint server away.
pub(crate) const STANDBY_PATIENCE: Duration = Duration::from_secs(60);

// ---- the scheduler ------------------------------------------------------------------------------

/// A rank whose image takes longer (it may be stopped) no longer holds up the others.
pub(crate) const IMAGE_PATIENCE: Duration = Duration::from_secs(60);
/// The newest cost of an image is one of so many parts of the cost that counts.
pub(crate) const OLD_COSTS: u32 = 8;
/// Where the cost of images is bounded, they are so many times as far apart as a standby takes to
/// read one: it is ready for four fifths of the time.
pub(crate) const READINGS_APART: u32 = 5;
/// The longest interval where the cost of images is bounded: work that a failure may cost.
pub(crate) const LIMITED_INTERVAL_MAX: Duration = Duration::from_secs(600);
/// The shortest interval of `young-daly`: its formula has no lower bound.
pub(crate) const INTERVAL_MIN: Duration = Duration::from_secs(1);
/// The longest interval of `young-daly`: a job without failures still takes images.
pub(crate) const INTERVAL_MAX: Duration = Duration::from_secs(3600);

/// Intervals of images for which a rank outside of MPI may keep waves from beginning before that is
/// reported. A program that calls `MPI_Init` late does so within the first.
pub(crate) const WITHOUT_WAVES_INTERVALS: u32 = 2;
/// Waves in a row without an image of some rank after which full logs do not wait for the next: a
/// reason that passes has passed by then, or nearly.
pub(crate) const WAVES_IN_VAIN: u32 = 3;
