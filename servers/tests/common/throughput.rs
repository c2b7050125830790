//! How fast a server takes what it is sent, by the clock and by its own processor time.
#![allow(dead_code, reason = "tests and the benchmark use a part each")]

use super::{RankConnection, Server, events};
use ftmpi_wire::EventNo;
use ftmpi_wire::event_log::Frame;
use std::ops::Range;
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// What was measured.
#[derive(Debug, Clone, Copy)]
pub struct Rate {
    /// Items per second.
    pub by_clock: f64,
    /// Items per second of processor time of the server.
    pub by_processor: f64,
}

/// Processor time of this process in seconds.
fn processor_seconds(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap();
    let nanoseconds: f64 = stat.split(' ').next().unwrap().parse().unwrap();
    nanoseconds / 1e9
}

/// Sends `total` determinants in frames of `per_frame`, spread over these ranks, which must have
/// empty logs, and waits for all acknowledgements.
pub async fn determinants(server: &Server, ranks: Range<u32>, per_frame: u64, total: u64) -> Rate {
    let each = total / ranks.len() as u64 / per_frame * per_frame;
    let sent = (each * ranks.len() as u64) as f64;
    let mut connections = Vec::new();
    for rank in ranks {
        let connection = RankConnection::open(server, rank, 0).await.unwrap();
        let mut bytes = Vec::new();
        for n in (0..each).step_by(per_frame as usize) {
            let records = events(n + 1..=n + per_frame);
            Frame::Append { first: EventNo(n + 1), clock: EventNo(0), records }.encode(&mut bytes);
        }
        connections.push((connection, bytes, each));
    }
    let (begun, processor) = (Instant::now(), processor_seconds(server.pid()));
    let all =
        connections.into_iter().map(|(connection, bytes, last)| exchange(connection, bytes, last));
    futures_join(all).await;
    let clock = begun.elapsed().as_secs_f64();
    let processor = (processor_seconds(server.pid()) - processor).max(1e-6);
    Rate { by_clock: sent / clock, by_processor: sent / processor }
}

async fn futures_join(all: impl Iterator<Item = impl Future<Output = ()> + 'static>) {
    let local = tokio::task::LocalSet::new();
    let tasks: Vec<_> = all.map(|one| local.spawn_local(one)).collect();
    local
        .run_until(async {
            for task in tasks {
                task.await.unwrap();
            }
        })
        .await;
}

async fn exchange(connection: RankConnection, bytes: Vec<u8>, last: u64) {
    let (mut input, mut output) = connection.stream.into_split();
    let sending = async { output.write_all(&bytes).await.unwrap() };
    let receiving = async {
        let (mut got, mut acknowledged) = (Vec::new(), 0);
        while acknowledged < last {
            input.read_buf(&mut got).await.unwrap();
            let mut taken = 0;
            while let Some((frame, n)) = Frame::decode(&got[taken..]).unwrap() {
                taken += n;
                let Frame::Ack { written, .. } = frame else { panic!("{frame:?}") };
                assert!(written.0 >= acknowledged, "acknowledgements go backwards");
                acknowledged = written.0;
            }
            got.drain(..taken);
        }
    };
    tokio::join!(sending, receiving);
}

/// Microseconds from one determinant to its acknowledgement, one at a time.
pub async fn round_trip(server: &Server, rank: u32, count: u64) -> f64 {
    let mut connection = RankConnection::open(server, rank, 0).await.unwrap();
    let begun = Instant::now();
    for n in 1..=count {
        connection.append(n..=n).await.unwrap();
        connection.written(n).await;
    }
    begun.elapsed().as_secs_f64() * 1e6 / count as f64
}
