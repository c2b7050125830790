//! `list`: one line for each image.

use crate::job::look;
use crate::{age, size};
use std::path::Path;

pub fn list(directory: &Path, json: bool) -> anyhow::Result<bool> {
    let job = look(directory)?;
    if json {
        let images: Vec<_> = job
            .all()
            .map(|image| {
                serde_json::json!({
                    "rank": image.rank,
                    "image": image.image,
                    "life": image.incarnation,
                    "bytes": image.bytes,
                    "damaged": image.damaged || image.note.is_err(),
                    "file": image.path,
                    "note": image.note.as_ref().ok(),
                })
            })
            .collect();
        let events: Vec<_> = job
            .events
            .iter()
            .map(|(rank, bytes)| serde_json::json!({ "rank": rank, "bytes": bytes }))
            .collect();
        let all = serde_json::json!({
            "images": images, "events": events, "unfinished": job.parts,
        });
        println!("{}", serde_json::to_string_pretty(&all)?);
        return Ok(true);
    }
    println!(
        "{:>6} {:>6} {:>5} {:>10} {:>8} {:>10}  host",
        "rank", "image", "life", "size", "age", "pause"
    );
    for image in job.all() {
        let (about, state) = match &image.note {
            _ if image.damaged => (None, "set aside: damaged".to_owned()),
            Err(why) => (None, format!("DAMAGED: {why}")),
            Ok(note) => (Some(note), note.host.clone()),
        };
        let pause = about.map_or(String::new(), |n| format!("{:.1} ms", n.pause_ns as f64 / 1e6));
        println!(
            "{:>6} {:>6} {:>5} {:>10} {:>8} {:>10}  {state}",
            image.rank.0,
            image.image.0,
            image.incarnation,
            size(image.bytes),
            about.map_or(String::new(), |note| age(note.taken_ms)),
            pause
        );
    }
    let images: u64 = job.all().map(|image| image.bytes).sum();
    println!(
        "{} images, {}; events of {} ranks, {}{}",
        job.all().count(),
        size(images),
        job.events.len(),
        size(job.events.values().sum()),
        if job.parts.is_empty() {
            String::new()
        } else {
            format!("; {} unfinished files", job.parts.len())
        }
    );
    Ok(true)
}
