//! Threads, their locks and their signals survive images and restores.

mod driver;

use driver::torture::{LONG, generations, one_image, seed, torture};
use driver::{Job, compile};
use std::io::Read;
use std::os::fd::AsRawFd;

/// Kills and restores a program with threads that runs for `steps` steps.
fn torture_threads(source: &str, steps: &str) {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let program = compile(source, folder.path(), &["-pthread"]);
    let data_path = data.path().canonicalize().unwrap();
    let job = Job::new(program, &[steps, data_path.to_str().unwrap()]);
    torture(&job, data.path(), generations().max(10), seed());
}

#[test]
fn threads_survive() {
    torture_threads("threads.c", "1500");
}

#[test]
fn what_threads_wait_for_is_theirs() {
    torture_threads("waiters.c", "500");
}

#[test]
fn threads_are_cancelled_in_any_incarnation() {
    torture_threads("cancels.c", "2000");
}

#[test]
fn threads_get_every_signal_once() {
    torture_threads("mailers.c", "10000");
}

#[test]
fn any_thread_may_take_images() {
    torture_threads("captor.c", "4000");
}

#[test]
fn the_thread_that_took_an_image_may_end() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("leaver.c", folder.path(), &["-pthread"]);
    let job = Job::new(program, &[]);
    let image = one_image(&job);
    let end = job.start(1, Some(&image)).end(LONG);
    assert_eq!(end.code, Some(3), "{end:?}");
}

#[test]
fn an_image_ends_with_its_process() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("leaver.c", folder.path(), &["-pthread"]);
    let job = Job::new(program, &[]);
    let mut process = job.start(0, None);
    assert_eq!(process.report(LONG).unwrap().result, 2);
    let (mut read, write) = std::io::pipe().unwrap();
    process.request(1, write.as_raw_fd());
    drop(write);
    assert_eq!(process.report(LONG).unwrap().result, 0);
    process.kill();
    process.end(LONG);
    // The child waits for a reader. Then it goes on, and finds that its parent is gone.
    let mut image = Vec::new();
    read.read_to_end(&mut image).unwrap();
    assert!(image.len() < 64 << 20, "{} bytes came", image.len());
}
