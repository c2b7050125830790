//! What would be lost if something died now, from the state of a running job.
//!
//! Under protocols that replay, a rank that dies repeats at most the time since its newest image:
//! less, because it waits for nobody while it repeats. Ranks that return to a wave lose the work
//! since that wave, all of them.

use ftmpi_wire::job_status::{JobStatus, RankState};
use serde::Serialize;

/// What would be lost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Exposure {
    /// In words.
    pub text: String,
    /// The most that one death would cost, in seconds of work.
    pub worst_s: f64,
    /// The rank whose death would cost that, where ranks come back alone.
    pub worst_rank: Option<u32>,
    /// The mean over the ranks, where ranks come back alone.
    pub mean_s: Option<f64>,
}

/// A time in words.
#[must_use]
pub fn duration(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    match whole {
        _ if seconds < 9.95 => format!("{seconds:.1} s"),
        0..=99 => format!("{whole} s"),
        100..=3599 => format!("{} m {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} m", whole / 3600, whole % 3600 / 60),
    }
}

/// What would be lost if a rank died now.
#[must_use]
pub fn exposure(status: &JobStatus) -> Exposure {
    let elapsed = status.job.elapsed_s;
    if status.job.protocol == "none" {
        let text = format!("a death ends the job: {} of all ranks are lost", duration(elapsed));
        return Exposure { text, worst_s: elapsed, worst_rank: None, mean_s: None };
    }
    if let Some(waves) = &status.waves {
        let age = waves.age_s.unwrap_or(elapsed);
        let who = if waves.newest.len() > 1 { "the ranks of its cluster" } else { "all ranks" };
        let place = match waves.newest.iter().flatten().min() {
            Some(wave) => format!("wave {wave}"),
            None => "the start".to_owned(),
        };
        let text = format!("{who} return to {place}: {} of their work is lost", duration(age));
        return Exposure { text, worst_s: age, worst_rank: None, mean_s: None };
    }
    let lives = |state: RankState| state != RankState::Done;
    let of_rank = |rank: &ftmpi_wire::job_status::RankStatus| {
        let age = rank.image.map_or(elapsed, |image| image.age_s.unwrap_or(elapsed));
        (age, rank.rank)
    };
    let ages: Vec<(f64, u32)> =
        status.ranks.iter().filter(|rank| lives(rank.state)).map(of_rank).collect();
    let Some((worst, rank)) = ages.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0)) else {
        let text = "nothing: all ranks have ended".to_owned();
        return Exposure { text, worst_s: 0.0, worst_rank: None, mean_s: None };
    };
    let mean = ages.iter().map(|(age, _)| age).sum::<f64>() / ages.len() as f64;
    let without = status.ranks.iter().filter(|rank| lives(rank.state) && rank.image.is_none());
    let without = match without.count() {
        0 => String::new(),
        1 => "; 1 rank has no image yet".to_owned(),
        several => format!("; {several} ranks have no image yet"),
    };
    let text = format!(
        "that rank repeats at most {} (rank {rank}), {} on average{without}",
        duration(worst),
        duration(mean)
    );
    Exposure { text, worst_s: worst, worst_rank: Some(rank), mean_s: Some(mean) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn rank(number: u32, state: &str, age: Option<f64>) -> Value {
        json!({
            "rank": number, "host": "a", "incarnation": 0, "pid": null, "state": state,
            "state_s": 1.0, "wait": null, "idle_s": 0.0,
            "image": age.map(|age| json!({ "image": 3, "bytes": 9, "age_s": age })),
            "taking_image_s": null, "log_bytes": 0, "log_limit_bytes": null, "messages_sent": 0,
            "messages_received": 0, "bytes_sent": 0, "bytes_received": 0, "failures": 0,
        })
    }

    fn status(protocol: &str, waves: Value, ranks: Vec<Value>) -> JobStatus {
        serde_json::from_value(json!({
            "version": 1, "hosts": [], "ranks": ranks, "servers": [], "waves": waves, "faults": [],
            "migrations": [],
            "job": {
                "id": "x", "launcher_pid": 1, "launcher_host": "a", "directory": null,
                "command": "p", "protocol": protocol, "phase": "running", "started_ms": 0,
                "elapsed_s": 250.0, "ckpt_interval_s": 30.0, "restarts": 0, "restarts_max": 100,
                "images": 0, "image_bytes": 0,
            },
        }))
        .unwrap()
    }

    #[test]
    fn a_rank_that_comes_back_alone_repeats_the_time_since_its_image() {
        let ranks = vec![
            rank(0, "computing", Some(10.0)),
            rank(1, "waiting", Some(20.0)),
            rank(2, "done", Some(99.0)),
        ];
        let found = exposure(&status("pessimistic", Value::Null, ranks));
        assert_eq!((found.worst_s, found.worst_rank, found.mean_s), (20.0, Some(1), Some(15.0)));
        assert_eq!(found.text, "that rank repeats at most 20 s (rank 1), 15 s on average");
        let ranks = vec![rank(0, "computing", None), rank(1, "computing", Some(2.0))];
        let found = exposure(&status("pessimistic", Value::Null, ranks));
        assert!(
            found.text.contains("4 m 10 s (rank 0)")
                && found.text.ends_with("1 rank has no image yet")
        );
        let found = exposure(&status("pessimistic", Value::Null, vec![rank(0, "done", None)]));
        assert_eq!(found.worst_s, 0.0);
    }

    #[test]
    fn ranks_that_return_together_lose_the_work_since_their_wave() {
        let waves = |newest: Value, age: Value| json!({ "complete": 1, "void": 0, "newest": newest, "age_s": age, "under_way": 0 });
        let text = |newest, age| exposure(&status("coordinated", waves(newest, age), vec![])).text;
        let all = text(json!([7]), json!(12.3));
        assert_eq!(all, "all ranks return to wave 7: 12 s of their work is lost");
        let clusters = text(json!([7, null]), json!(3.0));
        assert!(clusters.starts_with("the ranks of its cluster return to wave 7"));
        assert!(text(json!([null]), Value::Null).contains("the start: 4 m 10 s"));
    }

    #[test]
    fn without_protection_everything_is_lost() {
        let found = exposure(&status("none", Value::Null, vec![rank(0, "computing", None)]));
        assert_eq!(found.text, "a death ends the job: 4 m 10 s of all ranks are lost");
    }
}
