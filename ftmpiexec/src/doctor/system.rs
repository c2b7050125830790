//! This host: kernel, limits, storage, the installation.

use super::Finding;
use crate::agent::libraries::library_directory;
use crate::cli::{self, Cli};
use crate::restore_facts::RestoreFacts;
use ftmpi_checkpoint::launch;
use ftmpi_options::choices::Switch;
use ftmpi_wire::{Logging, ProtocolTraits};
use rustix::process::{Resource, getrlimit};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Bytes that are written to measure the storage.
const PROBE_BYTES: usize = 64 << 20;
const GIB: f64 = (1u64 << 30) as f64;

/// Looks at this host, but for its [`storage`].
pub fn look(cli: &Cli) -> Vec<Finding> {
    let mut findings = vec![kernel(), installation()];
    match cli::traits(cli) {
        Ok(traits) => findings.push(threads(traits)),
        Err(error) => findings.push(Finding::bad("protocol", error.to_string())),
    }
    if is_tolerant(cli) {
        findings.push(layout());
        findings.push(restore());
        findings.push(overcommit());
        findings.push(address_space());
    }
    findings.push(descriptors());
    findings.push(processors(cli));
    findings
}

/// Whether the job needs images and storage.
fn is_tolerant(cli: &Cli) -> bool {
    cli::traits(cli).map_or(true, |traits| traits.is_fault_tolerant())
}

/// What `MPI_Init_thread` grants at most.
fn threads(traits: ProtocolTraits) -> Finding {
    const WHAT: &str = "threads";
    let unordered = traits.memory || traits.logging == Logging::Library;
    match (traits.replays(), unordered) {
        (true, true) => Finding::limited(
            WHAT,
            "MPI_THREAD_SERIALIZED, because this protocol does not record the order of threads; \
             --protocol coordinated grants MPI_THREAD_MULTIPLE",
        ),
        (true, false) => Finding::good(
            WHAT,
            "MPI_THREAD_MULTIPLE; where several threads call, their order is recorded, which takes \
             an event at each change",
        ),
        (false, _) => Finding::good(WHAT, "MPI_THREAD_MULTIPLE"),
    }
}

fn kernel() -> Finding {
    const WHAT: &str = "kernel";
    let uname = rustix::system::uname();
    let release = uname.release().to_string_lossy().into_owned();
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let seccomp = fs::read_to_string("/proc/self/status").is_ok_and(|status| {
        status.lines().any(|line| line.starts_with("Seccomp:") && line.ends_with('2'))
    });
    let inside = if seccomp { "; a seccomp filter is active, as in a container" } else { "" };
    if let Err(e) = crate::agent::sealed_memfd("ftmpi-doctor", 4096) {
        return Finding::bad(
            WHAT,
            format!(
                "Linux {release}: memfd_create fails ({e}){inside}; allow it in the seccomp profile"
            ),
        );
    }
    match version {
        (0..5, _) | (5, 0..4) => Finding::bad(
            WHAT,
            format!(
                "Linux {release}{inside}: too old; use Linux 5.4 or later, which has pidfd_open"
            ),
        ),
        (5, _) | (6, 0..7) => Finding::good(
            WHAT,
            format!("Linux {release}{inside}; from 6.7 on images find changed pages faster"),
        ),
        _ => Finding::good(WHAT, format!("Linux {release}{inside}")),
    }
}

fn installation() -> Finding {
    const WHAT: &str = "installation";
    let libraries = library_directory();
    let programs = std::env::current_exe().unwrap_or_default();
    let programs = programs.parent().map_or_else(PathBuf::new, Path::to_path_buf);
    let missing: Vec<String> = [launch::BOOT_LIBRARY, "libmpi.so.12"]
        .iter()
        .map(|name| libraries.join(name))
        .chain(
            ["ftmpi-event-logger", "ftmpi-channel-memory", "ftmpi-checkpoint-server"]
                .iter()
                .map(|name| programs.join(name)),
        )
        .filter(|file| !file.is_file())
        .map(|file| file.display().to_string())
        .collect();
    if missing.is_empty() {
        Finding::good(WHAT, format!("libraries in {}", libraries.display()))
    } else {
        Finding::bad(
            WHAT,
            format!("missing: {}; install ftmpi as a whole (make install)", missing.join(", ")),
        )
    }
}

fn layout() -> Finding {
    judge_layout(launch::can_place().map_err(|error| error.to_string()).err().as_deref())
}

/// `refusal`: the answer of the system, if neither the layout can be fixed nor the kernel be told
/// of another one. Jobs run all the same, but without images.
fn judge_layout(refusal: Option<&str>) -> Finding {
    const WHAT: &str = "address layout";
    match refusal {
        None => Finding::good(WHAT, "heap and stack of a restored process can be placed"),
        Some(error) => Finding::limited(
            WHAT,
            format!(
                "no rank can take an image, so after a failure ranks start again from the beginning: \
                 personality(ADDR_NO_RANDOMIZE) is refused ({error}), and the kernel is built without \
                 CONFIG_CHECKPOINT_RESTORE; allow personality in the seccomp profile of the \
                 container (Docker: --security-opt seccomp=unconfined)"
            ),
        ),
    }
}

fn restore() -> Finding {
    let here = RestoreFacts::of_this_host().summary();
    Finding::good(
        "restore",
        format!(
            "{here}; images of this host can be restored where the processor has the same \
             instructions or more (-f FILE compares hosts)"
        ),
    )
}

fn overcommit() -> Finding {
    const WHAT: &str = "overcommit";
    let mode = fs::read_to_string("/proc/sys/vm/overcommit_memory").unwrap_or_default();
    match mode.trim() {
        "2" => Finding::limited(
            WHAT,
            "strict (vm.overcommit_memory=2): an image briefly needs as much free commit as its rank has \
             memory; set vm.overcommit_memory to 0, or leave half of the memory free",
        ),
        "" => Finding::limited(
            WHAT,
            "/proc/sys/vm/overcommit_memory cannot be read; where it is 2, images can fail",
        ),
        _ => Finding::good(WHAT, "an image needs no extra memory when it is taken"),
    }
}

fn address_space() -> Finding {
    const WHAT: &str = "address space";
    match getrlimit(Resource::As).current {
        None => Finding::good(WHAT, "unlimited"),
        Some(bytes) if (bytes as f64) < 70.0 * GIB => Finding::limited(
            WHAT,
            format!(
                "limited to {:.1} GiB: fewer shared-memory channels fit; raise the limit (ulimit -v)",
                bytes as f64 / GIB
            ),
        ),
        Some(bytes) => Finding::good(WHAT, format!("{:.0} GiB", bytes as f64 / GIB)),
    }
}

fn descriptors() -> Finding {
    const WHAT: &str = "open files";
    match getrlimit(Resource::Nofile).maximum {
        Some(most) if most < 1024 => Finding::bad(
            WHAT,
            format!("the hard limit is {most}; raise it to 1024 or more (ulimit -Hn, limits.conf)"),
        ),
        Some(most) if most < launch::DESCRIPTORS_MIN => Finding::limited(
            WHAT,
            format!("the hard limit is {most}: a rank can have some {} connections", most - 1010),
        ),
        _ => Finding::good(WHAT, "enough"),
    }
}

fn processors(cli: &Cli) -> Finding {
    const WHAT: &str = "processors";
    let there = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let ranks = cli.part.ranks.unwrap_or(1) as usize;
    if ranks > there {
        Finding::limited(
            WHAT,
            format!("{there} for {ranks} ranks: oversubscribed, so ranks run slower"),
        )
    } else {
        Finding::good(WHAT, format!("{there}"))
    }
}

pub fn storage(cli: &Cli) -> Vec<Finding> {
    if !is_tolerant(cli) {
        return Vec::new();
    }
    const WHAT: &str = "job directory";
    let directory = cli.batch.job_dir.clone().unwrap_or_else(|| ".".into());
    let directory = directory.canonicalize().unwrap_or(directory);
    let name = directory.display();
    let Ok(space) = rustix::fs::statvfs(&directory) else {
        return vec![Finding::bad(
            WHAT,
            format!("{name} cannot be used; name another directory with --job-dir"),
        )];
    };
    let free = space.f_bavail as f64 * space.f_frsize as f64;
    let speed = match write_speed(&directory) {
        Ok(speed) => speed,
        Err(e) => {
            return vec![Finding::bad(
                WHAT,
                format!("{name} cannot be written: {e}; name another directory with --job-dir"),
            )];
        }
    };
    let text = format!(
        "{name}: {:.1} GiB free, {:.0} MB/s, a small write is durable after {:.1} ms",
        free / GIB,
        speed.bytes_per_second / 1e6,
        speed.sync.as_secs_f64() * 1e3
    );
    let mut findings = Vec::new();
    if cli.checkpoints.ckpt == Switch::On && free < GIB {
        findings.push(Finding::limited(
            WHAT,
            format!(
                "{text}; two images of every rank must fit: name a directory with more room (--job-dir)"
            ),
        ));
    } else {
        findings.push(Finding::good(WHAT, text));
    }
    findings
}

struct Speed {
    bytes_per_second: f64,
    sync: Duration,
}

fn write_speed(directory: &Path) -> std::io::Result<Speed> {
    let mut file = tempfile::tempfile_in(directory)?;
    let piece: Vec<u8> =
        (0..1 << 20).map(|n: u32| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let begin = Instant::now();
    for _ in 0..PROBE_BYTES / piece.len() {
        file.write_all(&piece)?;
    }
    file.sync_data()?;
    let bytes_per_second = PROBE_BYTES as f64 / begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    for _ in 0..5 {
        file.write_all(b"determinant")?;
        file.sync_data()?;
    }
    Ok(Speed { bytes_per_second, sync: begin.elapsed() / 5 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Grade;
    use ftmpi_wire::control::{Events, ProtocolConfig};

    #[test]
    fn the_level_of_threads_is_that_of_the_protocol() {
        let of = |name: &str| {
            let config = ProtocolConfig {
                name: name.to_owned(),
                events: Events::Nondeterministic,
                log_wtime: false,
                settings: Vec::new(),
            };
            threads(ftmpi_protocols::registry::traits(&config))
        };
        for name in ["none", "coordinated", "pessimistic", "causal", "optimistic", "hierarchical"] {
            let found = of(name);
            assert_eq!(found.grade, Grade::Good, "{name}");
            assert!(found.text.contains("MPI_THREAD_MULTIPLE"), "{name}: {}", found.text);
            let records = !matches!(name, "none" | "coordinated");
            assert_eq!(found.text.contains("is recorded"), records, "{name}: {}", found.text);
        }
        for name in ["channel-memory", "plugin:lib.so"] {
            let found = of(name);
            assert_eq!(found.grade, Grade::Limited, "{name}");
            assert!(found.text.starts_with("MPI_THREAD_SERIALIZED"), "{name}: {}", found.text);
        }
    }

    #[test]
    fn a_fixed_layout_that_is_refused_costs_images_and_nothing_else() {
        assert_eq!(judge_layout(None).grade, Grade::Good);
        let refused = judge_layout(Some("Operation not permitted"));
        assert_eq!(refused.grade, Grade::Limited);
        assert!(refused.text.contains("no rank can take an image"), "{}", refused.text);
        assert!(refused.text.contains("seccomp"), "{}", refused.text);
    }
}
