//! Runs a short history of a checkpoint server with an object tier again and again. Each time
//! another single call of the store, or another single change of the disk, fails. Or the server
//! dies, or loses power, directly before that change.
//!
//! [`super::fault_tests`] says what must hold. One disk is lost in between, so the recovery is
//! among what fails.

use super::ObjectTier;
use super::fault_tests::{Fate, Faulty, Truth, connect, container, directory};
use crate::client::ClientError;
use crate::files::Files;
use crate::image_store::{Server, begin};
use crate::storage_faults::{Fault, Plan};
use ftmpi_checkpoint::container::ChunkIndex;
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const R: Rank = Rank(3);
/// Images between two starts of the server; more than are kept.
const IMAGES: [u64; 3] = [3, 2, 0];
/// Time that a test waits for an upload; the upload may have failed for ever.
const FLUSH_LIMIT: Duration = Duration::from_millis(100);

/// Returns when this image is in the object tier.
async fn flushed(server: &Server, image: u64) {
    let since = Instant::now();
    while since.elapsed() < FLUSH_LIMIT {
        let there = {
            let catalogue = server.catalogue.lock().unwrap();
            catalogue.ranks().any(|state| state.newest_in_object_store == Some(ImageNo(image)))
        };
        if there {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// A launcher starts a server again that fails to start.
async fn begin_at_last(store: &Faulty, dir: &Path, files: &Files, waves: bool) -> Arc<Server> {
    let object_tier = || Some(ObjectTier::over(Arc::new(store.clone())));
    match begin(object_tier(), dir, None, waves, files.clone()).await {
        Ok(server) => server,
        // The chosen fault has happened. A dead process needs no further watching.
        Err(_) => begin(object_tier(), dir, None, waves, Files::default()).await.unwrap(),
    }
}

/// Runs histories concurrently: most of their time is waiting.
fn all(numbers: std::ops::Range<u64>, history: impl Fn(u64) + Sync) {
    const LANES: usize = 4;
    std::thread::scope(|scope| {
        for lane in 0..LANES {
            let (numbers, history) = (numbers.clone(), &history);
            scope.spawn(move || numbers.skip(lane).step_by(LANES).for_each(history));
        }
    });
}

/// One history; `about` names it.
fn history(store: &Faulty, plan: &Arc<Plan>, waves: bool, power: Option<u64>, about: &str) {
    let dir = directory();
    let (mut files, mut watched) = (Files::watched(plan.clone()), true);
    let (mut truth, mut next) = (Truth::new(waves), 1);
    for (number, images) in IMAGES.into_iter().enumerate() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let server = begin_at_last(store, dir.path(), &files, waves).await;
            let mut conn = connect(&server, 1).await;
            assert!(truth.judge(&mut conn, about).await, "{about}: nothing was offered");
            let mut rows = [ChunkIndex::default(), ChunkIndex::default()];
            for call in 0..images {
                let row = &mut rows[next as usize % 2];
                let bytes = container(next, false, row);
                truth.begins(next, false);
                let put = async {
                    if waves {
                        conn.keep(R, Incarnation(0), truth.kept()).await?;
                    }
                    conn.put(R, Incarnation(0), ImageNo(next), bytes.as_slice()).await
                };
                let put = put.await;
                let comes = put.is_ok() && !(watched && plan.is_dead());
                match put {
                    Ok(committed) => truth.committed(next, committed.oldest.0),
                    Err(ClientError::Refused { .. }) => *row = ChunkIndex::default(),
                    Err(_) => {
                        *row = ChunkIndex::default();
                        conn = connect(&server, 2 + call).await;
                    }
                }
                if comes {
                    flushed(&server, next).await;
                }
                next += 1;
            }
        });
        runtime.shutdown_timeout(Duration::from_secs(10));
        if number == 0 {
            for entry in std::fs::read_dir(dir.path()).unwrap().flatten() {
                files.remove(&entry.path()).unwrap_or_else(|_| {
                    let _ = std::fs::remove_file(entry.path());
                });
            }
            let _ = files.sync_dir(dir.path());
        }
        if watched && plan.is_dead() {
            if let Some(mut state) = power {
                plan.lose_power(|below| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (state >> 33) as usize % below
                });
            }
            (files, watched) = (Files::default(), false);
        }
    }
}

#[test]
fn a_single_call_that_fails_costs_no_image() {
    for waves in [false, true] {
        let store = Faulty::good();
        history(&store, &Arc::new(Plan::new(None)), waves, None, "no fault");
        let calls = store.calls.load(Ordering::Relaxed);
        assert!(calls > 15, "{calls} calls");
        all(0..calls, |at| {
            for fate in [Fate::Fails, Fate::Lies, Fate::Breaks] {
                let store = Faulty::at(at, fate);
                let about = format!("waves {waves}: {fate:?} at call {at}");
                history(&store, &Arc::new(Plan::new(None)), waves, None, &about);
            }
        });
    }
}

#[test]
fn a_single_change_that_fails_costs_no_image() {
    for waves in [false, true] {
        let plan = Arc::new(Plan::new(None));
        history(&Faulty::good(), &plan, waves, None, "no fault");
        let changes = plan.changes();
        assert!(changes > 40, "{changes} changes");
        all(0..changes, |at| {
            // Each change is combined with two of the three.
            let (fault, power) = match (at + u64::from(waves)) % 3 {
                0 => (Fault::Full, None),
                1 => (Fault::Death, None),
                _ => (Fault::Death, Some(at)),
            };
            let plan = Arc::new(Plan::new(Some((at, fault))));
            let about = format!("waves {waves}: {fault:?} at change {at}, power {power:?}");
            history(&Faulty::good(), &plan, waves, power, &about);
        });
    }
}
