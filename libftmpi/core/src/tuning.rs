//! Tuning values of the crate: each with its unit and one line of reason.
//!
//! Measurements behind them are in `docs/performance/log.md`. Values that decide which messages are
//! sent are part of what a replay repeats: all ranks of a job have the same.

// ---- Short collectives, which need no schedule (`mpi::short_collectives`)

/// Bytes of a message up to which a blocking collective is short.
pub const SHORT_BYTES: usize = 8192;
/// Ranks up to which each sends its blocks straight to all in a short collective.
pub const SHORT_EXCHANGE_RANKS: usize = 16;

// ---- Point-to-point

/// Bytes up to which `MPI_Sendrecv` sends before it receives: the message is on its way at once.
pub const SENDRECV_SHORT_BYTES: usize = 8 << 10;
/// Bytes of payload of a piece of a partitioned message; every channel takes it without a
/// rendezvous. All incarnations of a rank have the same.
pub const PARTITION_PIECE_BYTES: usize = 16 << 10;

// ---- Oversubscribed ranks

/// Ranks up to which each may send to all: channels are made on first use and take memory.
pub const DIRECT_RANKS_MAX: usize = 32;
/// Bytes of a message up to which it goes straight to its receiver: a channel holds that much.
pub const DIRECT_BYTES: usize = 64 << 10;
/// Ranks up to which a barrier by dissemination needs no more than two rounds.
pub const TWO_ROUNDS_RANKS: usize = 4;

// ---- Broadcast

/// Bytes from which a broadcast is scattered and collected: bandwidth counts more than latency.
pub const BCAST_LONG_BYTES: usize = 128 << 10;
/// The same for oversubscribed ranks: not before a message fills a channel many times.
pub const BCAST_LONG_BYTES_OVERSUBSCRIBED: usize = 2 << 20;
/// Ranks from which scattering pays; with fewer the tree is no worse.
pub const BCAST_LONG_RANKS: usize = 8;
/// Bytes of a piece of a broadcast by oversubscribed ranks: it is sent without asking the receiver.
pub const BCAST_PIECE_BYTES: usize = 64 << 10;
/// Bytes up to which oversubscribed ranks send pieces: a channel holds them without its receiver.
pub const BCAST_PIECES_BYTES: usize = 256 << 10;

// ---- Reductions

/// Bytes from which a vector is reduced in parts: bandwidth counts more than latency.
pub const ALLREDUCE_LONG_BYTES: usize = 16 << 10;
/// Bytes of all operands up to which one of the oversubscribed ranks combines them.
pub const ALLREDUCE_AT_ONE_BYTES: usize = 64 << 10;
/// Bytes from which blocks of a reduce-scatter are exchanged pairwise.
pub const REDUCE_SCATTER_LONG_BYTES: usize = 16 << 10;
/// Ranks up to which they are exchanged pairwise always: all messages leave at once.
pub const PAIRWISE_RANKS: usize = 8;

// ---- Gather, allgather, all-to-all

/// Bytes of a block up to which a gather or a scatter goes along a tree.
pub const GATHER_TREE_BYTES: usize = 4 << 10;
/// Ranks from which it does; with fewer the tree is no better.
pub const GATHER_TREE_RANKS: usize = 5;
/// Bytes of all blocks up to which an allgather packs them: latency counts more than copies.
pub const ALLGATHER_SHORT_BYTES: usize = 64 << 10;
/// Bytes of a block up to which an all-to-all goes through intermediaries.
pub const ALLTOALL_SHORT_BYTES: usize = 256;
/// Ranks from which it does; with fewer that saves nothing.
pub const ALLTOALL_SHORT_RANKS: usize = 8;
/// Exchanges of an all-to-all under way at once: more would flood the receivers.
pub const ALLTOALL_WINDOW: usize = 32;

// ---- Memory of schedules, kept between operations and part of every image (`collective::pool`)

/// Smallest size of a kept buffer, as a power of two of bytes.
pub const POOL_SMALLEST_BITS: u32 = 6;
/// Largest size of a kept buffer, as a power of two of bytes (16 MiB).
pub const POOL_LARGEST_BITS: u32 = 24;
/// Buffers kept of one size.
pub const POOL_KEPT_PER_CLASS: usize = 8;
/// Bytes kept in all.
pub const POOL_KEPT_BYTES_MAX: usize = 32 << 20;
/// Lists of steps kept.
pub const POOL_KEPT_LISTS: usize = 8;
/// Steps of a list up to which it is kept.
pub const POOL_KEPT_STEPS: usize = 4096;

// ---- Contexts of communicators

/// Processes of a group at the most: a longer list of another group is damaged.
pub const PROCESSES_MAX: usize = 1 << 22;

/// Seconds in which a process hears of another one of its job that `MPI_Comm_join` names. News of a
/// spawn take milliseconds; a number that nobody has is never heard of.
pub const JOIN_NEWS_S: f64 = 30.0;

/// Attempts with ids that no other call of the process is offered, before all ids are tried.
pub const CONTEXT_ATTEMPTS: u32 = 8;
/// Words (64 bits) of the mask of free contexts tried at a time: 1024 communicators.
pub const CONTEXT_WORDS: usize = 16;
/// Generations of context ids that a message tells apart: the 8 bits that the header has for them.
/// An id comes back with the same generation after some four million communicators, of which no
/// sender's log holds the messages any more.
pub const GENERATIONS: u64 = 1 << 8;

// ---- Datatypes and copies

/// Bytes of a piece when both sides of a copy have holes: it stays in the first-level caches.
pub const COPY_PIECE_BYTES: usize = 32 << 10;
/// Runs up to which a part of a layout is expanded into the list around it, where runs may join.
pub const LAYOUT_EXPAND_RUNS: u64 = 16;
/// Bytes from which a copy that is kept and not read soon goes past the caches.
pub const STORE_AWAY_BYTES: usize = 16 << 10;
/// Bytes up to which a copy that is sent soon goes through the caches: they have room for it.
pub const STORE_NEAR_BYTES_MAX: usize = 8 << 20;

// ---- One-sided communication

/// Bytes of data up to which they go in the message of the request.
pub const ONE_SIDED_INSIDE_BYTES: usize = 8 << 10;
/// How often readers may overtake a writer after all holders have overtaken it.
pub const LOCK_PASSES: u32 = 1000;

// ---- Files

/// Bytes at whose multiples the boundaries between nodes lie: a page, so that no two touch one.
pub const IO_NODE_ALIGN: u64 = 4096;
/// Bytes that a node handles at a time, unless a hint says otherwise.
pub const IO_WINDOW_BYTES: u64 = 16 << 20;
/// Bytes of a written piece below which pieces are exchanged: a system call costs as much.
pub const IO_SMALL_WRITE_BYTES: u64 = 256;
/// Bytes of a read piece below which pieces are exchanged: a system call costs as much.
pub const IO_SMALL_READ_BYTES: u64 = 64;
/// Bytes of the range for each byte of data up to which a range counts as dense.
pub const IO_SPARSE: u64 = 64;
/// Bytes of a hole up to which a node reads it with the data around it.
pub const IO_READ_THROUGH_BYTES: u64 = 4096;
/// Bytes of files that are recorded between two images: more costs the event logger too much.
pub const FILE_RECORDED_BYTES_MAX: u64 = 256 << 10;

// ---- Topologies

/// Steps after which the search for a better grid ends: no real machine gets there.
pub const DIMS_STEPS_MAX: usize = 2_000_000;
