//! Sentences about jobs that are continued, and about images that may not fit their hosts.

use crate::text::{count, ranks};
use ftmpi_wire::Rank;
use std::fmt::Display;

/// The job goes on from these images.
pub fn going_on(from_images: usize, ranks: usize, bytes: u64) -> String {
    format!(
        "going on with the job: {from_images} of {} from images ({:.1} MB), {} from the beginning",
        count(ranks, "rank"),
        bytes as f64 / 1e6,
        ranks - from_images
    )
}

/// The servers do not say what the job had stored.
pub fn discovery_failed(why: &dyn Display) -> String {
    format!("what the job had stored cannot be asked for: {why}")
}

/// The images of these ranks do not fit their new host.
pub fn images_do_not_fit(list: &[Rank], host: &str, differences: &[String]) -> String {
    format!(
        "{}: images cannot be restored on {host}: it has {}; without an older image that fits \
         the ranks begin from their start, if the logs reach back to it; use a host like the one \
         of the images (ftmpiexec --doctor -f FILE compares hosts)",
        ranks(list),
        differences.join(" and ")
    )
}

/// Ranks do not count on these instructions.
pub fn left_out(instructions: &[&str]) -> String {
    format!(
        "--cpu-baseline: the C library of the ranks does not use {}, so images fit hosts without \
         them; libraries that ask the processor themselves need a setting of their own",
        instructions.join(", ")
    )
}

/// These hosts cannot take a rank of another one.
pub fn host_hindered(names: &[&str], spare: bool, first: &str, obstacles: &[String]) -> String {
    let kind = match (spare, names.len()) {
        (true, 1) => "spare host",
        (true, _) => "spare hosts",
        (false, 1) => "host",
        (false, _) => "hosts",
    };
    format!(
        "{kind} {} cannot take a rank of {first}: there is {}; raise it there, or name other hosts \
         (ftmpiexec --doctor -f FILE compares hosts)",
        names.join(", "),
        obstacles.join(" and ")
    )
}

/// Images cannot move between these hosts.
pub fn hosts_differ(from: &[&str], to: &[&str], differences: &[String]) -> String {
    format!(
        "images of ranks on {} cannot be restored on {}: the latter has {}; after the loss of a \
         host its ranks need one with the same instructions or more",
        from.join(", "),
        to.join(", "),
        differences.join(" and ")
    )
}
