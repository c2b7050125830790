//! The throughput of the servers: `cargo bench -p ftmpi-servers` prints a table. Goal: an event
//! logger takes a million determinants per second of one processor.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{Server, block_on, throughput};
use ftmpi_transport::auth::JobKey;

const LOGGER: &str = env!("CARGO_BIN_EXE_ftmpi-event-logger");

/// Determinants of each measurement.
const DETERMINANTS: u64 = 2_000_000;

fn main() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let server = Server::start(LOGGER, dir.path(), &JobKey::generate(), &[]);
    let microseconds = block_on(throughput::round_trip(&server, 99, 5000));
    println!("one determinant and its acknowledgement, alone: {microseconds:.1} us");
    println!("ranks  per frame  million/s  million/s of processor");
    let mut first = 100;
    for ranks in [1, 8, 64] {
        for per_frame in [1, 8, 64, 1024] {
            let total = DETERMINANTS.min(200_000 * per_frame);
            let one = throughput::determinants(&server, first..first + ranks, per_frame, total);
            first += ranks;
            let rate = block_on(one);
            let (clock, processor) = (rate.by_clock / 1e6, rate.by_processor / 1e6);
            println!("{ranks:5}  {per_frame:9}  {clock:9.2}  {processor:22.2}");
        }
    }
}
