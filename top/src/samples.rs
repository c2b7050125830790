//! A job for tests: two hosts, four ranks, of which one waits and one comes back.

use ftmpi_wire::job_status::JobStatus;
use serde_json::{Value, json};

fn rank(number: u32, host: &str, state: &str, change: Value) -> Value {
    let mut rank = json!({
        "rank": number, "host": host, "incarnation": 0, "pid": 4000 + number, "state": state,
        "state_s": 12.0, "wait": null, "idle_s": 0.2,
        "image": { "image": 3, "bytes": 4_200_000, "age_s": 7.5 + f64::from(number) },
        "taking_image_s": null, "log_bytes": 1_500_000, "log_limit_bytes": 3_000_000,
        "messages_sent": 1000, "messages_received": 990, "bytes_sent": 2_000_000,
        "bytes_received": 1_900_000, "failures": 0,
    });
    for (key, value) in change.as_object().into_iter().flatten() {
        rank[key] = value.clone();
    }
    rank
}

/// The job.
pub fn job() -> JobStatus {
    let host = |name: &str, ranks: Value| {
        json!({
            "name": name, "state": "up", "drained": false, "health": "good", "health_why": null,
            "slots": 2, "processors": 2, "agent_pid": 77, "ranks": ranks,
        })
    };
    let waits = json!({ "wait": {
        "call": "MPI_Recv", "reason": "message", "peers": [2], "any_source": false,
        "one_is_enough": true, "tag": 7, "since_s": 3.25,
    } });
    let followed = json!({ "standby": { "host": "node1", "image": 3, "ready": true } });
    let returns = json!({ "incarnation": 1, "state_s": 0.4, "image": null, "failures": 2 });
    serde_json::from_value(json!({
        "version": 1,
        "job": {
            "id": "0123456789abcdef", "launcher_pid": 4242, "launcher_host": "login",
            "directory": "/scratch/job", "command": "./heat 4000", "protocol": "pessimistic",
            "phase": "running", "started_ms": 1_764_253_000_000_u64, "elapsed_s": 250.0,
            "ckpt_interval_s": 30.0, "restarts": 2, "restarts_max": 100, "images": 12,
            "image_bytes": 50_400_000,
        },
        "hosts": [host("node1", json!([0, 1])), host("node2", json!([2, 3]))],
        "ranks": [
            rank(0, "node1", "computing", json!({ "taking_image_s": 0.3 })),
            rank(1, "node1", "waiting", waits),
            rank(2, "node2", "catching_up", returns),
            rank(3, "node2", "computing", followed),
        ],
        "servers": [
            { "name": "event logger", "host": null, "up": true, "address": "127.0.0.1:4001",
              "restarts": 0, "ranks": [] },
            { "name": "checkpoint server", "host": "node2", "up": false, "address": null,
              "restarts": 3, "ranks": [] },
        ],
        "waves": null,
        "faults": [
            { "rank": 2, "at_s": 60.0, "cause": "killed by signal 9 (SIGKILL)", "image": 2,
              "back_s": 0.9 },
            { "rank": 2, "at_s": 249.6, "cause": "killed by signal 11 (SIGSEGV)", "image": null,
              "back_s": null },
        ],
        "migrations": [],
    }))
    .expect("the sample has all fields")
}
