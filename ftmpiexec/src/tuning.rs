//! Constants of the launcher and its agents that decide about speed and patience.
//!
//! Every constant states its unit and the reason for its value in one line.

use std::time::Duration;

// ---- the connection between launcher and agents -------------------------------------------------

/// How long an agent tries to connect to one address of its launcher.
pub const LAUNCHER_CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Probes without an answer before the kernel ends the connection.
pub const KEEP_ALIVE_PROBES: u32 = 4;

/// Below this limit of a way between two hosts the kernel's probes, which have whole seconds, are
/// too slow.
pub const PATH_KERNEL_PROBES: Duration = Duration::from_secs(4);
/// Heartbeats that may be missing of a host which the launcher hears.
pub const HEARD_MISSED_MAX: u32 = 2;

// ---- agents, as the launcher starts and ends them -----------------------------------------------

/// From the start of an agent to its first message.
pub const AGENT_START_LIMIT: Duration = Duration::from_secs(60);
/// As [`AGENT_START_LIMIT`], for a host that was up and fell away, and for all restarts of its
/// agent together: its ranks wait to be moved.
pub const AGENT_RESTART_LIMIT: Duration = Duration::from_secs(30);
/// Failed starts in a row of the agent of a host that was up.
pub const AGENT_RESTARTS_MAX: u32 = 3;
/// A job that has not begun after this time says what it waits for.
pub const START_SILENCE: Duration = Duration::from_secs(10);
/// How long agents may take to kill their ranks at the end.
pub const FAREWELL: Duration = Duration::from_secs(5);
/// The same, where the job goes on later: agents save files that images rest on.
pub const FAREWELL_SAVING: Duration = Duration::from_secs(40);
/// How long an agent may save such files: batch systems kill what is left after half a minute.
pub const SAVED_FILES_LIMIT: Duration = Duration::from_secs(25);
/// Bytes of removed files that a running agent saves in a second: a copy of them takes little of
/// the disk from the program.
pub const SAVED_AT_ONCE_BYTES: u64 = 16 << 20;
/// How long an agent waits until its last messages have left.
pub const FAREWELL_FLUSH: Duration = Duration::from_millis(500);
/// Attempts of an agent to remove the directory of a job whose launcher died: its servers end at
/// about the same time.
pub const DIRECTORY_REMOVAL_TRIES: u32 = 50;
/// Pause between two of these attempts.
pub const DIRECTORY_REMOVAL_PAUSE: Duration = Duration::from_millis(100);
/// SIGTERM at the agents of all hosts within this time is meant for the job: a batch system reaches
/// its nodes one after the other.
pub const TERMINATION_WINDOW: Duration = Duration::from_secs(10);
/// A signal that comes again within this time is the same request: a batch system and the script
/// that it runs may both send it.
pub const SAME_REQUEST: Duration = Duration::from_secs(2);
/// How long the last line of a process that ended is waited for.
pub const LAST_LINE_LIMIT: Duration = Duration::from_millis(500);
/// Time between two looks whether a rank has ended, where the system cannot tell by itself.
pub const EXIT_POLL: Duration = Duration::from_millis(20);
/// Characters of a line that is repeated to the user.
pub const LINE_CHARS_MAX: usize = 400;

/// Bytes of a program without a build-id that are looked at, to tell it from others.
pub const HASHED_BYTES_MAX: u64 = 64 << 20;
/// Files of one path that are held, when one after the other was put there: each takes a descriptor
/// of the agent.
pub const FILE_VERSIONS_MAX: usize = 64;
/// Plug-ins of all ranks of a host that are held: each takes a descriptor of the agent.
pub const PLUGINS_MAX: usize = 256;

// ---- files that images rest on ------------------------------------------------------------------

/// One of so many descriptors that the agent may have is for files that images rest on: the others
/// are for connections of its ranks.
pub const KEPT_FILES_SHARE: usize = 4;
/// A file system has room while one of so many of its blocks is free, or [`KEPT_ROOM_BYTES`].
pub const KEPT_ROOM_SHARE: u64 = 20;
/// Bytes that are room enough on a large file system.
pub const KEPT_ROOM_BYTES: u64 = 4 << 30;

// ---- the launcher's loop ------------------------------------------------------------------------

/// Time between two looks at timed faults and at the dispatcher's clock.
pub const TICK: Duration = Duration::from_millis(50);
/// Files that return with the ranks and are kept in mind. Beyond them a file returns when a new
/// incarnation opens it.
pub const RETURNING_FILES_MAX: usize = 10_000;
/// Bytes of one piece of standard input.
pub const INPUT_PIECE_BYTES: usize = 32 << 10;
/// Bytes of standard input on the way to the program.
pub const INPUT_WINDOW_BYTES: u64 = 128 << 10;
/// How long a question to the socket of the job may take.
pub const QUESTION_LIMIT: Duration = Duration::from_secs(5);
/// Pause between two looks whether a user who says nothing more still waits for the answer.
pub const LOOK_WHO_WAITS: Duration = Duration::from_millis(500);
/// How long a health command may run, where its interval is longer.
pub const HEALTH_LIMIT: Duration = Duration::from_secs(30);
/// What is kept of the output of a health command: its last line counts.
pub const HEALTH_TEXT_BYTES: usize = 64 << 10;
/// Pause in which the last line of an answer leaves at the end of a job.
pub const ANSWER_FLUSH: Duration = Duration::from_millis(20);
/// How long the end of a job waits for commands that have brought processes (`--join`) to read the
/// last text of these.
pub const JOIN_FLUSH: Duration = Duration::from_secs(5);
/// How long a command of `--join` waits before it says that its processes have not begun.
pub const JOIN_SILENCE: Duration = Duration::from_secs(5);
/// Users at that socket at a time. A request for images takes its time.
pub const CONTROL_CONNECTIONS_MAX: usize = 64;
/// How often the process of the metrics page is started in one job: the job does without a page
/// that ends again and again.
pub const METRICS_STARTS_MAX: u32 = 5;
/// Pause before that process is started again.
pub const METRICS_RESTART_PAUSE: Duration = Duration::from_secs(1);
/// How long a page goes on after its launcher is gone, so that viewers learn of it.
pub const PAGE_LINGER: Duration = Duration::from_millis(300);
/// How long a launcher waits for the lock of a job's directory: its predecessor may be dying.
pub const LOCK_PATIENCE: Duration = Duration::from_secs(3);
/// How long a user who interrupts the end of a job waits for text without a reader.
pub const PRINT_PATIENCE: Duration = Duration::from_millis(500);
/// Files for the output of ranks that are open at a time.
pub const OUTPUT_FILES_OPEN_MAX: usize = 200;
/// A longer line is printed in pieces, so that output needs bounded memory.
pub const LINE_BYTES_MAX: usize = 64 << 10;

// ---- servers ------------------------------------------------------------------------------------

/// From the start of a server on another host until that host has its key: its ssh may hang.
pub const SERVER_REACH_LIMIT: Duration = Duration::from_secs(60);
/// Failed starts of a server in a row.
pub const SERVER_FAILURES_MAX: u32 = 10;
/// How long the removal of directories on other hosts may take.
pub const REMOTE_REMOVAL_LIMIT: Duration = Duration::from_secs(10);
/// How long the removal of images from an object store may take.
pub const OBJECT_REMOVAL_LIMIT: Duration = Duration::from_secs(65);
/// From the kill of a server to its end.
pub const SERVER_STOP_LIMIT: Duration = Duration::from_secs(5);
/// How long a server that was asked to end may take for its last sync.
pub const SERVER_ASK_LIMIT: Duration = Duration::from_secs(4);
/// How long a server may take to answer with its figures.
pub const SERVER_STATE_LIMIT: Duration = Duration::from_secs(2);
/// Pause before a server is started again, times its failures.
pub const SERVER_RESTART_PAUSE: Duration = Duration::from_millis(200);
/// A server that ran this long starts with a clean record.
pub const SERVER_GOOD_RUN: Duration = Duration::from_secs(10);
/// How long a server of an earlier run on another host may take to see that its launcher is gone.
pub const SERVER_IN_USE_PATIENCE: Duration = Duration::from_secs(90);
/// Silence of a server on another host after which it counts as away, at the least, where hosts
/// are lost sooner: it is asked each second, and has [`SERVER_PING_LIMIT`] to answer.
pub const SERVER_SILENCE_MIN: Duration = Duration::from_secs(4);
/// Silence of a server on the launcher's host, where it may only be slow, at the least: its process
/// is watched.
pub const SERVER_SILENCE_LIMIT_HERE: Duration = Duration::from_secs(30);
/// How long a server may take to answer that it is there.
pub const SERVER_PING_LIMIT: Duration = Duration::from_secs(3);
/// Longest pause before a server on another host is started again.
pub const SERVER_RESTART_PAUSE_MAX: Duration = Duration::from_secs(5);
/// How often the same kind of line of a server is printed.
pub const SERVER_LINE_REPEATS_MAX: u32 = 10;
/// Kinds of lines of a server that are distinguished.
pub const SERVER_LINE_KINDS_MAX: usize = 200;
/// Lines that are kept of a server which does not serve yet.
pub const SERVER_LINES_WAITING_MAX: usize = 2000;
/// Bytes of one line of a process that the launcher starts.
pub const CHILD_LINE_BYTES_MAX: u64 = 4096;
/// One attempt to connect to a server.
pub const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// Pause before the next attempt to connect to the checkpoint scheduler.
pub const SCHEDULER_RETRY: Duration = Duration::from_millis(100);
/// How long servers of a continued job may be unreachable before that is an error of the job.
pub const DISCOVERY_PATIENCE: Duration = Duration::from_secs(60);
/// Pause between two attempts to ask them.
pub const DISCOVERY_RETRY: Duration = Duration::from_millis(300);

// ---- ranks --------------------------------------------------------------------------------------

/// The part of the host's memory that the sender logs of its ranks may hold together, unless the
/// user says otherwise: 1 of so many. An image of a full log needs as much again for a while.
pub const LOGS_MEMORY_SHARE: u64 = 4;
/// Bytes of a sender log at the least: a smaller one asks for images all the time.
pub const LOG_BYTES_MIN: u64 = 4 << 20;

// ---- images -------------------------------------------------------------------------------------

/// Thousandths of the time that images may take, unless the user gives an interval.
pub const IMAGE_COST_LIMIT: u32 = 20;
/// The same under `--protocol replicated`, whose user wants to repeat little.
pub const REPLICATED_COST_LIMIT: u32 = 50;
/// Time between two images of a rank under `--protocol replicated`: what a standby repeats is
/// shorter than people notice, and cheap images stay below the limit.
pub const REPLICATED_INTERVAL: Duration = Duration::from_secs(1);

/// Images that an agent carries at the same time. One image needs two of Tokio's 512 blocking
/// threads (`pack` and `write`, which wait for each other). If the first halves took all threads,
/// no second half would ever begin.
pub const IMAGES_AT_ONCE: usize = 200;
/// The part of the host's memory that images on their way may use together: 1 of so many.
pub const IMAGES_MEMORY_SHARE: u64 = 16;
/// Bytes of memory that an image on its way needs: its pipe, and pieces between the tasks.
pub const IMAGE_MEMORY_BYTES: u64 = 4 << 20;
/// Bytes of one piece of a container that is sent.
pub const IMAGE_PIECE_BYTES: usize = 256 << 10;
/// Bytes of one read of a raw stream: half of the pipe, and no more than stay in a processor's
/// cache until they are packed.
pub const IMAGE_READ_BYTES: usize = 512 << 10;
/// Pieces between the tasks of a restore.
pub const IMAGE_PIECES: usize = 8;
/// Parts of about 1 MiB between the tasks that store an image.
pub const IMAGE_PARTS: usize = 2;
/// Bytes of the pipe between a rank and its agent.
pub const IMAGE_PIPE_BYTES: usize = 1 << 20;
/// Ranks that a host restores side by side, for each processor: one reads the image of a rank while
/// the process of another one puts itself together.
pub const RESTORES_PER_CPU: usize = 2;
/// Ranks that a host restores side by side at least: some of them wait for disk and network.
pub const RESTORES_MIN: usize = 4;
/// How long a restore waits for its turn: a process that stands still must not keep others from
/// returning.
pub const RESTORE_TURN_PATIENCE: Duration = Duration::from_secs(5);
/// How long a checkpoint server may be away before an image is given up.
pub const CAPTURE_PATIENCE: Duration = Duration::from_secs(10);
/// How long a checkpoint server may be away before a restart from its images is given up.
pub const SERVER_PATIENCE: Duration = Duration::from_secs(60);
/// Pause between two attempts to reach a checkpoint server.
pub const SERVER_RETRY: Duration = Duration::from_millis(100);
/// How long the events that an image depends on may take to become durable.
pub const DURABLE_LIMIT: Duration = Duration::from_secs(40);
/// Copies of each rank's images on its host, where waves do not decide that.
pub const LOCAL_COPIES_KEPT: usize = 2;
/// Copies of images on the hosts take at most one of so many bytes that are free there: images of
/// a checkpoint server may be on the same disk, and leave as much as they take.
pub const COPIES_ROOM_SHARE: u64 = 2;

// ---- processes of ranks -------------------------------------------------------------------------

/// How long a kill that the kernel counted explains a death: the memory of a large process takes a
/// while to be freed.
pub const MEMORY_KILL_MEMORY: Duration = Duration::from_secs(10);
/// By how much the kernel rather kills a rank than an agent, a server or the launcher when memory
/// is short: as if the rank used so many thousandths of it more.
pub const RANK_OOM_SCORE: i32 = 300;
/// The same of a standby: the kernel takes it first, because nothing is lost with it.
pub const STANDBY_OOM_SCORE: i32 = 1000;
/// Between two looks whether a standby has read its image: short against the time of the reading.
pub const STANDBY_LOOK: Duration = Duration::from_millis(5);
/// Bytes of what a standby says at its end that are read.
pub const STANDBY_TEXT_BYTES: usize = 4096;
/// How long a process may run on after it closed its control socket unasked.
pub const CONTROL_GRACE: Duration = Duration::from_millis(500);
/// Pause between two requests to make text final.
pub const SETTLE_PAUSE: Duration = Duration::from_millis(20);
/// How long a rank may take to make its text final before it is woken again.
pub const SETTLE_PATIENCE: Duration = Duration::from_millis(250);
/// Held bytes of one stream of a rank: beyond them the stream is not read on.
pub const HELD_BYTES_MAX: usize = 8 << 20;
/// Bytes of one read of a rank's output.
pub const OUTPUT_CHUNK_BYTES: usize = 32 << 10;
/// Exit codes above this one mean the signal of that number, as in a shell.
pub const SIGNAL_CODE_BASE: i32 = 128;
/// Pause before a system call is repeated that failed for want of memory or descriptors.
pub const SHORTAGE_PAUSE: Duration = Duration::from_millis(10);
/// Generations of processes that are killed at the end of an agent.
pub const KILL_ROUNDS: u32 = 64;
/// Looks for the end of one generation.
pub const KILL_POLLS: u32 = 200;
/// Pause between two of these looks.
pub const KILL_POLL_PAUSE: Duration = Duration::from_millis(5);
/// Bytes of the arguments or the environment of a process that are read.
pub const BLOCK_BYTES_MAX: u64 = 4 << 20;
/// Bytes of a path that are read from the memory of a process.
pub const PATH_BYTES_MAX: usize = 4096;

// ---- channels -----------------------------------------------------------------------------------

/// How long the agent of a peer may take to answer: its rank may not have said hello.
pub const CALL_LIMIT: Duration = Duration::from_secs(20);
/// A caller whose rank does not come is refused before its own [`CALL_LIMIT`], and calls again.
pub const CALLER_WAIT_LIMIT: Duration = Duration::from_secs(15);
/// Within this time the agents and ranks of a job that another launcher started find each other: a
/// host that is full of starting processes is slow.
pub const DIRECT_LINK_LIMIT: Duration = Duration::from_secs(120);
/// Ranks of such a job that have the order to end and compute are killed after this time, if the
/// launcher has not done it.
pub const DIRECT_KILL_AFTER: Duration = Duration::from_secs(2);
/// How long the launcher waits for the resolver when a host is to join a running job: meanwhile it
/// answers no heartbeat.
pub const RESOLVE_LIMIT: Duration = Duration::from_millis(400);
/// How long such an agent waits until the launcher has read why the job ends.
pub const DIRECT_READ_LIMIT: Duration = Duration::from_secs(2);
/// Between two looks whether it has, and what it may need to pass it on.
pub const DIRECT_READ_PAUSE: Duration = Duration::from_millis(10);
/// Between two questions to Slurm whether the job has got more nodes: all jobs ask one controller.
pub const ALLOCATION_LOOK: Duration = Duration::from_secs(60);
/// How long the answer may take.
pub const ALLOCATION_ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// First pause between two attempts to make a channel.
pub const RETRY_FIRST: Duration = Duration::from_millis(20);
/// Longest pause between two attempts to make a channel.
pub const RETRY_MOST: Duration = Duration::from_secs(1);
/// Names of shared memory that are open at a time: no sensible program has more.
pub const OPEN_SEGMENTS_MAX: usize = 4096;
/// Entries of one message with stable clocks.
pub const CLOCK_ENTRIES_MAX: usize = 256;

/// Bytes of memory of each thread that the libraries of a program may want at fixed places, for an
/// auditor of the dynamic linker: well below [`THREAD_BYTES_ROOM`].
pub const AUDITED_THREAD_BYTES_MAX: u64 = 2048;
/// Bytes of such memory for which there is room beside an auditor: enough for allocators that a
/// user preloads, and little of the smallest stacks of threads.
pub const THREAD_BYTES_ROOM: u64 = 4096;

/// What the launcher keeps of the history of a job.
pub mod history {
    /// Changes of the states of ranks: some 10 MB. A job of 16 384 ranks has room for six of each.
    pub const SPANS_MAX: usize = 200_000;
    /// Images, and waves: those of 64 ranks for three hours at the default interval.
    pub const IMAGES_MAX: usize = 20_000;
    /// Lines about faults.
    pub const EVENTS_MAX: usize = 5_000;
    /// Returns to images whose time is known.
    pub const RESUMED_MAX: usize = 20_000;
    /// Images of a rank whose time is known: stores keep two, and one may be on its way.
    pub const TAKEN_KEPT: usize = 4;
}

/// Calls of MPI in a trace (`docs/internals/traces.md`).
pub mod trace {
    /// Spans of calls that an agent tells the launcher in a second: some 500 kB.
    pub const SPANS_A_SECOND: usize = 16_384;
    /// Those of one rank at the least: one host may have very many.
    pub const SPANS_A_SECOND_MIN: usize = 8;
    /// Those of one rank at the most: all, where calls take 4 ms or longer.
    pub const SPANS_A_SECOND_RANK: usize = 512;
    /// Ends of messages for each of these spans: an end takes half as much.
    pub const MESSAGE_ENDS_A_SPAN: usize = 4;
    /// The part of them that the longest ones are.
    pub const LONGEST_PART: usize = 4;
    /// Spans of calls of all ranks in the file: some 30 MB.
    pub const SPANS_MAX: usize = 200_000;
    /// Spans of calls of all ranks in a page of `--report`: some 3 MB.
    pub const PAGE_SPANS_MAX: usize = 30_000;
    /// Those of one rank at the least.
    pub const SPANS_RANK_MIN: usize = 64;
    /// Ends of messages of all ranks that the launcher keeps: some 6 MB, and 30 MB in the file.
    pub const MESSAGE_ENDS_MAX: usize = 100_000;
    /// A message may seem to come so much before it left: clocks of hosts are compared by the
    /// quickest report.
    pub const SAME_MOMENT_NS: u64 = 1_000_000;
    /// A host's clock that differs so much from what it was has begun anew.
    pub const CLOCK_JUMP_NS: i64 = 60_000_000_000;
}

/// What a job says in the output of a batch job.
pub mod batch_log {
    use std::time::Duration;

    /// Time between two lines about a job that goes well.
    pub const INTERVAL: Duration = Duration::from_secs(600);
    /// A job that says what protects it ends with a summary if it lasted so long.
    pub const SUMMARY_FROM: Duration = Duration::from_secs(60);
    /// Failures that the last lines name one by one.
    pub const FAILURES_NAMED: usize = 5;
    /// Another interval of images is advised where it saves this part of the time.
    pub const WORTH_SAVING: f64 = 0.01;
    /// Images of each rank before their costs are known well enough for advice.
    pub const IMAGES_OF_RANK_MIN: u64 = 3;
}

// ---- advice -------------------------------------------------------------------------------------

/// Bytes a second of each rank that a log holds at less than a thousandth of the time, also where
/// every page of the log is new.
pub const LITTLE_BYTES_S: f64 = (64 << 10) as f64;
/// Messages a second of each rank that a log holds at less than a thousandth of the time.
pub const LITTLE_MESSAGES_S: f64 = 500.0;
/// A job is not judged before this time: programs begin with input and setup.
pub const LITTLE_SINCE: Duration = Duration::from_secs(10);
/// Bytes of a script in which `--protocol auto` looks for spawns: longer files are data.
pub const SCRIPT_BYTES_MAX: u64 = 1 << 20;
