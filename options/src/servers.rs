//! The options of the four servers.

use crate::choices::AcknowledgeChoice;
use crate::values::{address, number, ports, size, store, time};
use clap::{Args, Parser, ValueHint};
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

/// Options of every server.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options of every server")]
pub struct ServerArgs {
    /// Address to listen on
    ///
    /// Port 0 takes a free port; the first line of output says which.
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:0", value_parser = address)]
    pub listen: SocketAddr,
    /// Ports of which port 0 takes a free one
    ///
    /// Default: the system chooses.
    #[arg(long, value_name = "FIRST-LAST", value_parser = ports)]
    pub port_range: Option<RangeInclusive<u16>>,
    /// File with the key of the job
    ///
    /// 64 hexadecimal digits in a file of mode 0600. Default: the variable FTMPI_KEY.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub key_file: Option<PathBuf>,
    /// Descriptor for the line `listening on IP:PORT`
    ///
    /// The descriptor is inherited. Default: standard output.
    #[arg(long, value_name = "N", value_parser = number::<u32>(0, 1 << 20, 3))]
    pub announce_fd: Option<u32>,
    /// End when the parent process ends
    ///
    /// With PID the server also ends if that parent is gone before the server looks.
    #[arg(long, value_name = "PID", num_args = 0..=1, default_missing_value = "0",
          value_parser = number::<i32>(0, i32::MAX as u64, 4711))]
    pub exit_with_parent: Option<i32>,
    /// How long the host of a caller may answer nothing
    ///
    /// Not even its kernel. Then its connection is ended.
    #[arg(long, value_name = "TIME", default_value = "12s", value_parser = time)]
    pub silence: Duration,
    /// Each write and each sync of a file takes so much longer (fault injection)
    #[arg(long, value_name = "TIME", default_value = "0ms", value_parser = time)]
    pub slow_disk: Duration,
    /// Show the state of the server to Prometheus
    ///
    /// At http://IP:PORT/metrics.
    #[arg(long, value_name = "IP:PORT", value_parser = address)]
    pub metrics: Option<SocketAddr>,
}

/// Stores the events of the ranks of one job, so that a restarted rank can repeat them.
#[derive(Debug, Clone, Parser)]
#[command(name = "ftmpi-event-logger", version)]
pub struct EventLoggerArgs {
    /// Private directory for the events
    ///
    /// The server makes it if it is missing, and finds the events again after a restart.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// When events are acknowledged
    #[arg(long, value_enum, value_name = "WHEN", default_value = "written")]
    pub acknowledge: AcknowledgeChoice,
    /// Longest time between two syncs of the files
    ///
    /// Events are on the disk after this time.
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = time)]
    pub sync_interval: Duration,
    /// Share memory with the ranks of this host
    ///
    /// Their events are stored at once, and no acknowledgement is needed. Not with --delay or
    /// --acknowledge durable.
    #[arg(long)]
    pub rings: bool,
    /// Accept events only after this time (fault injection)
    ///
    /// Events are acknowledged late, and lost if their sender dies before.
    #[arg(long, value_name = "TIME", default_value = "0ms", value_parser = time)]
    pub delay: Duration,
    /// Options of every server.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// Stores the messages for some ranks of one job, in order, and the events of these ranks.
#[derive(Debug, Clone, Parser)]
#[command(name = "ftmpi-channel-memory", version)]
pub struct ChannelMemoryArgs {
    /// Private directory for messages and events
    ///
    /// The server makes it if it is missing, and finds everything again after a restart.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// MiB of messages that wait in main memory
    ///
    /// Further messages are read from the disk. Default: 256, and less where the host or its
    /// control group has little memory.
    #[arg(long, value_name = "MIB", value_parser = number::<u64>(0, u64::MAX, 256))]
    pub memory_limit: Option<u64>,
    /// Number of channel memories that share this host
    ///
    /// The default of --memory-limit leaves room for the others.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::<u32>(1, 1024, 2))]
    pub neighbours: u32,
    /// Longest time between two syncs of the files of events
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = time)]
    pub sync_interval: Duration,
    /// Hold acknowledgements of events back for this time (fault injection)
    #[arg(long, value_name = "TIME", default_value = "0ms", value_parser = time)]
    pub delay: Duration,
    /// Options of every server.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// Stores the images of the ranks of one job, from which a rank can be restarted.
#[derive(Debug, Clone, Parser)]
#[command(name = "ftmpi-checkpoint-server", version)]
pub struct CheckpointServerArgs {
    /// Private directory for the images
    ///
    /// The server makes it if it is missing, and finds the images again after a restart.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Bytes that the images may take
    ///
    /// Three images of each rank must fit, six with --object-store. Default: images leave as much
    /// room free on the disk as they take, and older ones go first.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_bytes: Option<u64>,
    /// Copy images to this object store
    ///
    /// s3://BUCKET/PREFIX or file:///DIRECTORY. Images come back from there when the directory has
    /// lost them. Credentials come from the environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
    /// AWS_REGION, AWS_ENDPOINT_URL. Default: no copies.
    #[arg(long, value_name = "ADDRESS", value_parser = store, value_hint = ValueHint::Url)]
    pub object_store: Option<String>,
    /// Logs are cut when a wave of images is complete
    ///
    /// A wave then counts only when the object store has it, if there is one. The start of the
    /// program is given up when there are two waves.
    #[arg(long)]
    pub waves_cut_logs: bool,
    /// Remove all images from the object store, and end.
    #[arg(long, requires = "object_store", hide = true)]
    pub forget: bool,
    /// Options of every server.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// Decides when which rank of one job takes its next image.
#[derive(Debug, Clone, Parser)]
#[command(name = "ftmpi-checkpoint-scheduler", version)]
pub struct CheckpointSchedulerArgs {
    /// Options of every server.
    #[command(flatten)]
    pub server: ServerArgs,
}
