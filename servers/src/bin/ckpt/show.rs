//! `show`: what is in one image.

use crate::job::{look, read, secret};
use crate::{age, bar, size};
use anyhow::Context;
use ftmpi_checkpoint::stream::Inspector;
use ftmpi_wire::image_store::Note;
use std::path::Path;

/// Mappings that are shown without `--all`.
const LARGEST: usize = 12;

pub fn show(
    directory: &Path,
    key: Option<&Path>,
    (rank, number): (u32, Option<u64>),
    all: bool,
    json: bool,
) -> anyhow::Result<bool> {
    let job = look(directory)?;
    let image = job.image(rank, number)?;
    let progress = bar(image.bytes, "reading");
    let mut inspector = Inspector::new();
    let summary = read(image, &secret(directory, key)?, &progress, |raw| {
        inspector.push(raw, |_, _| ()).context("its stream")
    })?;
    progress.finish_and_clear();
    let contents = inspector.contents();
    let note = image.note.as_ref().map_or_else(|_| Note::default(), Note::clone);
    if json {
        let mappings: Vec<_> = contents
            .mappings
            .iter()
            .map(|m| {
                serde_json::json!({
                    "start": m.range.0, "end": m.range.1, "access": m.access, "name": m.name,
                    "stored": m.stored,
                })
            })
            .collect();
        let open: Vec<_> = contents
            .descriptors
            .iter()
            .map(|d| serde_json::json!({ "fd": d.fd, "path": d.path, "offset": d.offset }))
            .collect();
        let all = serde_json::json!({
            "rank": image.rank, "image": image.image, "incarnation": image.incarnation, "file": image.path.display().to_string(),
            "bytes": image.bytes, "raw_bytes": summary.raw_bytes, "chunks": summary.chunks,
            "note": note, "executable": contents.executable, "directory": contents.directory,
            "pid": contents.pid, "threads": contents.threads, "descriptors": open,
            "mappings": mappings, "page_bytes": contents.page_bytes,
        });
        println!("{}", serde_json::to_string_pretty(&all)?);
        return Ok(true);
    }
    println!(
        "image {} of rank {rank}, incarnation {}: {}",
        image.image,
        image.incarnation,
        image.path.display()
    );
    println!(
        "  {} stored, {} raw, {} of memory, {} chunks",
        size(image.bytes),
        size(summary.raw_bytes),
        size(contents.page_bytes),
        summary.chunks
    );
    println!(
        "  taken {} ago on {}, pause {:.1} ms",
        age(note.taken_ms),
        note.host,
        note.pause_ns as f64 / 1e6
    );
    println!(
        "  program {} (process {} in {})",
        contents.executable, contents.pid, contents.directory
    );
    let [out, err] = note.counts.written;
    println!("  had written {out} and {err} bytes, read {} bytes", note.counts.consumed);
    println!("  threads ({}): {}", contents.threads.len(), contents.threads.join(", "));
    println!("  open ({}):", contents.descriptors.len());
    for open in &contents.descriptors {
        println!("    {:>4}  {} at {}", open.fd, open.path, open.offset);
    }
    let mut mappings: Vec<_> = contents.mappings.iter().collect();
    let count = mappings.len();
    if !all {
        mappings.sort_by_key(|m| std::cmp::Reverse(m.stored));
        mappings.truncate(LARGEST);
        mappings.sort_by_key(|m| m.range);
    }
    println!("  mappings ({count}{}):", if all { "" } else { "; the largest, --all shows all" });
    for m in mappings {
        println!(
            "    {:012x}-{:012x} {} {:>10} of {:>10}  {}",
            m.range.0,
            m.range.1,
            m.access,
            size(m.stored),
            size(m.range.1 - m.range.0),
            m.name
        );
    }
    Ok(true)
}
