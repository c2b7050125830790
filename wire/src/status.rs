//! The status page: a `memfd` that a rank and its agent share. It carries counters without messages
//! and stays readable after the rank has died. Offsets count 8-byte words; each word has one
//! writer.
//!
//! Standard output and error are pipes that the agent reads. An image must contain how much the
//! program had written by then. The rank adds what the agent has read to what still lies in the
//! pipe (`FIONREAD`). The words `*_BUSY` are odd while the agent is between reading and counting.
//!
//! A new counter is one line of [`Counters`] and the place that counts. The rank writes all
//! counters with [`Counters::store`], the agent reads them with [`Counters::load`].

use serde::{Deserialize, Serialize};

/// Bytes of the page.
pub const PAGE_BYTES: usize = 4096;

/// Indices of the words that are not [`Counters`].
pub mod word {
    /// Agent: sequence, odd while a read of standard output is being counted.
    pub const STDOUT_BUSY: usize = 0;
    /// Agent: bytes of standard output read, in the numbering of the program (a restored rank
    /// starts at the count of its image).
    pub const STDOUT_READ: usize = 1;
    /// Agent: like `STDOUT_BUSY`, for standard error.
    pub const STDERR_BUSY: usize = 2;
    /// Agent: like `STDOUT_READ`, for standard error.
    pub const STDERR_READ: usize = 3;
    /// Agent: sequence, odd while a write to standard input is being counted.
    pub const STDIN_BUSY: usize = 4;
    /// Agent: bytes written to the rank's standard input.
    pub const STDIN_FED: usize = 5;
    /// Agent: bytes of `BOOT_STDERR` that it has read.
    pub const BOOT_STDERR_READ: usize = 6;
    /// Agent: how many of this host's CPUs processes outside the job used in the last second, in
    /// thousandths of one CPU. 0 where ranks do not outnumber CPUs.
    pub const EXTERNAL_LOAD: usize = 7;
    /// Agent: datagrams that lie, or have lain, on the rank's control socket. A waiting rank learns
    /// of a new one without a system call. On a cache line of its own.
    pub const CONTROL_DATAGRAMS: usize = 8;
    /// Agent: one bit for each descriptor below [`fds::CONTROL`](crate::control::fds::CONTROL) that
    /// the caller of the launcher passed on and that this process was given. Written before the
    /// process starts.
    pub const FROM_CALLER: usize = 16;
    /// Words of [`FROM_CALLER`].
    pub const FROM_CALLER_WORDS: usize = 16;
    /// Agent: what the rank records for a trace ([`crate::call_trace`]); 0: nothing. Written before
    /// the process starts.
    pub const TRACE: usize = 32;
    /// Agent: as `RankEnv::died`, for a standby, which was started before that time. Written before
    /// the end of its image comes.
    pub const DIED: usize = 33;
    /// Rank: a value of [`Phase`](super::Phase).
    pub const PHASE: usize = 64;
    /// Rank: one more than the number of the fault (`control::InjectPoint`) by which it kills
    /// itself at this moment.
    pub const FAULT: usize = 95;
    /// Boot layer: bytes of its own messages on standard error in this incarnation. They come
    /// before the program's and are not part of them. Counted before they are written.
    pub const BOOT_STDERR: usize = 94;
    /// Rank: what it waits for, if it sleeps inside of a call ([`crate::waiting`]).
    pub const WAITING: usize = 96;
    /// Words of [`WAITING`].
    pub const WAITING_WORDS: usize = 24;
    /// Rank: grows while the program polls (`MPI_Test`, `MPI_Iprobe`).
    pub const POLLS: usize = 120;
    /// Auditor of the dynamic linker (`libftmpi_loads.so`): the process that has loaded an MPI
    /// library that is not ours; 0: none has. Written after the path.
    pub const STRANGER_PID: usize = 255;
    /// Auditor: the path of that library, a text of at most [`super::STRANGER_BYTES`] bytes that a
    /// zero ends.
    pub const STRANGER: usize = 256;
}

/// Bytes of the text at [`word::STRANGER`], with its zero.
pub const STRANGER_BYTES: usize = 2040;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident = $index:literal,)*) => {
        /// What a rank counts in its present incarnation. A restored rank begins with the counters
        /// of its image.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct Counters {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Counters {
            /// Writes every counter to its word.
            pub fn store(&self, mut write: impl FnMut(usize, u64)) {
                $(write($index, self.$name);)*
            }

            /// Reads every counter from its word.
            pub fn load(mut read: impl FnMut(usize) -> u64) -> Self {
                Self { $($name: read($index),)* }
            }
        }
    };
}

counters! {
    /// Messages sent by the program.
    messages_sent = 65,
    /// Payload bytes of the messages sent.
    bytes_sent = 66,
    /// Messages delivered to the program.
    messages_received = 67,
    /// Determinants made.
    determinants = 68,
    /// Bytes of payload in the sender log.
    log_bytes = 69,
    /// The most that `log_bytes` ever was.
    log_bytes_peak = 70,
    /// Nanoseconds that sends waited for determinants.
    gate_wait_ns = 71,
    /// Sends that waited for determinants.
    gate_waits = 72,
    /// Duplicates dropped.
    duplicates = 73,
    /// Messages sent again from the log.
    resent = 74,
    /// Determinants and messages replayed.
    replayed = 75,
    /// Payload bytes delivered to the program.
    bytes_received = 76,
    /// Bytes that the protocol put before messages, headers included.
    piggyback_bytes = 77,
    /// Events that the protocol put before messages.
    piggyback_events = 78,
    /// Nanoseconds in which piggybacks were chosen and encoded.
    piggyback_build_ns = 79,
    /// Nanoseconds in which the piggybacks of peers were taken over.
    piggyback_merge_ns = 80,
    /// Events of all ranks that this rank holds because they are not known to be stable.
    held_events = 81,
    /// Batches of determinants whose way to the logger and back was measured.
    logger_round_trips = 82,
    /// Nanoseconds of those ways.
    logger_round_trip_ns = 83,
    /// Events that this incarnation had from the logger.
    recovered_from_logger = 84,
    /// Events that this incarnation had from its peers.
    recovered_from_peers = 85,
    /// Nanoseconds until this incarnation had all events that it repeats.
    recovery_ns = 86,
    /// Payload bytes that images contain as state of outgoing channels.
    channel_state_bytes = 87,
    /// Nanoseconds from the order of an image to its begin, while other ranks were waited for.
    wave_wait_ns = 88,
    /// Frames that came behind a marker and waited for the image.
    held_frames = 89,
    /// Messages whose way into a channel memory was measured.
    puts_measured = 90,
    /// Nanoseconds from each of these sends to the acknowledgement of the memory.
    put_ns = 91,
    /// Messages that were refused because their senders were orphans.
    orphan_messages = 92,
    /// Events stored in the ring of an event logger on the same host.
    stored_same_host = 93,
    /// Messages before which the protocol put something.
    piggyback_messages = 121,
}

/// What a rank is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Phase {
    /// Before `MPI_Init`.
    Starting = 0,
    /// In the program.
    Running = 1,
    /// Repeating what was recorded.
    Replaying = 2,
    /// In `MPI_Finalize`.
    Finalizing = 3,
    /// After it.
    Finalized = 4,
    /// In `exit`.
    Exiting = 5,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_have_words_of_their_own_and_come_back() {
        let mut page = [0u64; PAGE_BYTES / 8];
        let mut taken = vec![word::PHASE, word::BOOT_STDERR, word::FAULT, word::POLLS];
        taken.extend(word::WAITING..word::WAITING + word::WAITING_WORDS);
        assert!(taken.iter().all(|index| *index < word::STRANGER_PID));
        let mut used = Vec::new();
        Counters::default().store(|index, _| used.push(index));
        assert!(used.iter().all(|index| !taken.contains(index) && *index > word::PHASE));
        let count = used.len();
        used.sort_unstable();
        used.dedup();
        assert_eq!(used.len(), count, "two counters have one word");
        let counters = Counters::load(|index| index as u64);
        counters.store(|index, value| page[index] = value);
        assert_eq!(Counters::load(|index| page[index]), counters);
    }
}
