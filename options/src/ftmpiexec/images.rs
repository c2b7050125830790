//! Images of ranks: when they are taken, what they hold, where they are kept.

use crate::choices::{CpuBaselineChoice, ImageLogsChoice, ImagesChoice, PolicyChoice, Switch};
use crate::values::{number, path, size, store, time};
use clap::{Args, ValueHint};
use std::path::PathBuf;
use std::time::Duration;

/// When images are taken, and what they hold.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Checkpoints")]
pub struct Checkpoints {
    /// Time between two images of a rank
    ///
    /// From the end of one transfer to the beginning of the next image; under --protocol
    /// coordinated and hierarchical from wave to wave. At least 10ms. Without this option the time
    /// grows, up to 10m, where images would take more than 2 % of the time of the ranks, or where
    /// standbys would read for more than a fifth of it. Under --protocol replicated: 1s, and 5 %.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = time)]
    pub ckpt_interval: Duration,
    /// Whether images are taken
    ///
    /// Without images the ranks that return begin at the start of the program.
    #[arg(
        long,
        value_enum,
        default_value = "on",
        value_name = "on|off",
        hide_possible_values = true
    )]
    pub ckpt: Switch,
    /// Which rank takes an image next
    ///
    /// Under --protocol coordinated and hierarchical: periodic or young-daly.
    #[arg(long, value_enum, default_value = "periodic", value_name = "POLICY")]
    pub ckpt_policy: PolicyChoice,
    /// Whether an image holds only what changed
    ///
    /// `on`: most images hold only the memory that changed since an earlier image; now and then an
    /// image is whole. `off`: every image is whole.
    #[arg(
        long,
        value_enum,
        default_value = "on",
        value_name = "on|off",
        hide_possible_values = true
    )]
    pub ckpt_incremental: Switch,
    /// How images are compressed
    ///
    /// 0: not at all. 1: LZ4. 2 to 19: Zstandard of that level. Compression uses the processors
    /// that the ranks of a host leave free.
    #[arg(long, default_value_t = 1, value_name = "LEVEL", value_parser = number::<u8>(0, 19, 1))]
    pub compress: u8,
    /// How much of its sender log an image holds
    ///
    /// `both` helps when an image is damaged and several ranks die at once. It is always in force
    /// with --object-store and without an event logger. For protocols that log messages.
    #[arg(long, value_enum, value_name = "WHICH", default_value = "newest")]
    pub image_logs: ImageLogsChoice,
    /// Instructions of the processor that ranks count on
    ///
    /// Images can then be restored where the others are missing. The C library is told. A library
    /// that asks the processor itself is not (OPENBLAS_CORETYPE and MKL_ENABLE_INSTRUCTIONS are
    /// for that): there it ends by signal 4. All hosts must save the same registers (AVX-512).
    #[arg(long, value_enum, value_name = "WHICH", default_value = "off")]
    pub cpu_baseline: CpuBaselineChoice,
    /// Encrypt the images
    ///
    /// Nobody can read or forge them without the key of --image-key.
    #[arg(long)]
    pub encrypt_images: bool,
    /// File with the key of the images
    ///
    /// ftmpiexec makes the file if it is missing. Keep it apart from the images, and do not lose
    /// it: without it nobody can continue the job. Works with --encrypt-images. Default: image-key
    /// in the job directory.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = path)]
    pub image_key: Option<PathBuf>,
}

/// Where images are kept.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Storage")]
pub struct Storage {
    /// Where images are kept
    #[arg(long, value_enum, default_value = "remote", value_name = "WHERE")]
    pub images: ImagesChoice,
    /// Where a host keeps its own images
    ///
    /// Works with --images local+remote. Default: the system's temporary directory.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, value_parser = path)]
    pub local_dir: Option<PathBuf>,
    /// Bytes that images may take on a checkpoint server
    ///
    /// Three images of each of its ranks must fit, six with --object-store. When no room is left,
    /// new images are refused and older ones stay. Copies of images on a host have the same limit.
    /// Default: images leave as much room free on the disk as they take, and older ones go first.
    /// Copies on hosts leave twice as much.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub image_space: Option<u64>,
    /// Copy images to this object store
    ///
    /// s3://BUCKET/PREFIX or file:///DIRECTORY. The servers copy in the background. Images come
    /// back when a server has lost its disk, finds a file damaged, or runs on a new host.
    /// Credentials come from the environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
    /// AWS_REGION, AWS_ENDPOINT_URL.
    #[arg(long, value_name = "ADDRESS", value_parser = store, value_hint = ValueHint::Url)]
    pub object_store: Option<String>,
}
