//! `list`: the state of the job, and one line for each image.

use crate::job::{Job, look};
use crate::{age, size};
use anyhow::Context;
use ftmpi_servers::job_state::JobState;
use std::path::Path;

pub fn list(directory: &Path, json: bool) -> anyhow::Result<bool> {
    let job = look(directory)?;
    let state =
        JobState::of(directory).with_context(|| format!("the lock in {}", directory.display()))?;
    let restart = restart_command(directory, &job);
    if json {
        let images: Vec<_> = job
            .all()
            .map(|image| {
                serde_json::json!({
                    "rank": image.rank,
                    "image": image.image,
                    "incarnation": image.incarnation,
                    "bytes": image.bytes,
                    "damaged": image.damaged || image.note.is_err(),
                    "file": image.path.display().to_string(),
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
            "state": state_as_json(&state, &restart),
            "images": images, "events": events, "unfinished": job.parts,
        });
        println!("{}", serde_json::to_string_pretty(&all)?);
        return Ok(true);
    }
    println!("{}", state_as_text(&state, directory, &restart));
    println!(
        "{:>6} {:>6} {:>11} {:>10} {:>8} {:>10}  host",
        "rank", "image", "incarnation", "size", "age", "pause"
    );
    for image in job.all() {
        let (about, note) = match &image.note {
            _ if image.damaged => (None, "set aside: damaged".to_owned()),
            Err(why) => (None, format!("DAMAGED: {why}")),
            Ok(note) => (Some(note), note.host.clone()),
        };
        let pause = about.map_or(String::new(), |n| format!("{:.1} ms", n.pause_ns as f64 / 1e6));
        println!(
            "{:>6} {:>6} {:>11} {:>10} {:>8} {:>10}  {note}",
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

/// The command that continues the job.
fn restart_command(directory: &Path, job: &Job) -> String {
    let key = match job.all().any(|image| image.sealed) && !directory.join("image-key").exists() {
        true => " --image-key FILE",
        false => "",
    };
    format!("ftmpiexec --restart {}{key}", directory.display())
}

/// One line: the state, and what to do.
fn state_as_text(state: &JobState, directory: &Path, restart: &str) -> String {
    let directory = directory.display();
    match state {
        JobState::Running(by) => {
            let by = if by.is_empty() { "a launcher" } else { by };
            format!("The job runs ({by}). Take images now: ftmpi-ckpt request {directory}")
        }
        JobState::Ended(code) => format!(
            "The job has ended with exit code {code} and cannot be continued. Remove it: rm -r \
             {directory}"
        ),
        JobState::Interrupted => {
            format!("The job does not run and can be continued: {restart}")
        }
        JobState::Unknown => format!(
            "The state of the job is not known: {directory} is not a job directory (it holds no plan)"
        ),
    }
}

fn state_as_json(state: &JobState, restart: &str) -> serde_json::Value {
    match state {
        JobState::Running(by) => serde_json::json!({ "state": "running", "by": by }),
        JobState::Ended(code) => serde_json::json!({ "state": "ended", "exit_code": code }),
        JobState::Interrupted => {
            serde_json::json!({ "state": "interrupted", "continue": restart })
        }
        JobState::Unknown => serde_json::json!({ "state": "unknown" }),
    }
}
