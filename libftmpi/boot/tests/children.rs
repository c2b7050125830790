//! Living children of a rank are part of its images: the rank is killed, and goes on with its
//! children where the image was taken.

mod driver;

use driver::torture::LONG;
use driver::{Job, compile, raw};
use std::path::Path;
use std::time::Duration;

const GENERATIONS: u32 = 4;

#[test]
fn forked_children_come_back() {
    comes_back("forked", 2_000);
}

#[test]
fn children_with_programs_of_their_own_come_back() {
    comes_back("executed", 2_000);
}

#[test]
fn pipes_between_children_come_back() {
    comes_back("row", 2_000);
}

#[test]
fn files_that_rank_and_child_share_come_back() {
    comes_back("file", 3_000);
}

#[test]
fn streams_of_popen_come_back() {
    comes_back("streams", 3_000);
}

fn comes_back(item: &str, steps: u32) {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let program = compile("children.c", folder.path(), &["-pthread"]);
    let place = folder.path().join("data");
    std::fs::create_dir(&place).unwrap();
    let job = Job::new(program, &[item, &steps.to_string(), place.to_str().unwrap()]);
    let end = job.start(0, None).end(LONG);
    assert_eq!((end.code, end.err.as_str()), (Some(3), ""), "{end:?}");
    let (expected, log) = (end.out, contents(&place));
    let mut image: Option<Vec<u8>> = None;
    for generation in 0..GENERATIONS {
        let mut process = job.start(generation, image.as_deref());
        let first = process.report(LONG);
        let Some(first) = first else { panic!("{item} {generation}: {:?}", process.end(LONG)) };
        assert_eq!(first.result, if image.is_some() { 1 } else { 2 }, "{item} {generation}");
        std::thread::sleep(Duration::from_millis(40));
        image = Some(loop {
            let arriving = process.ask(u64::from(generation) + 1);
            let report = process.report(LONG);
            let Some(report) = report else { panic!("{item}: {:?}", process.end(LONG)) };
            if report.result == 0 {
                match arriving.join().unwrap() {
                    Ok(image) => break raw(&image),
                    Err(error) => panic!("{item}: {error}: {:?}", process.end(LONG)),
                }
            }
            // A moment at which there is no image.
            let moments =
                ["inside of a function", "has just ended", "it is just starting", "blocks the"];
            let moment = moments.iter().any(|moment| report.why().contains(moment));
            assert!(report.result == -libc::EBUSY && moment, "{item}: {}", report.why());
            std::thread::sleep(Duration::from_millis(3));
        });
        std::thread::sleep(Duration::from_millis(30));
        if generation + 1 < GENERATIONS {
            process.kill_group();
            process.end(LONG);
        } else {
            let end = process.end(LONG);
            assert_eq!((end.code, end.out.as_str(), end.err.as_str()), (Some(3), &*expected, ""));
        }
    }
    assert!(contents(&place) == log, "{item}: the file is another one");
}

fn contents(place: &Path) -> Vec<u8> {
    std::fs::read(place.join("log")).unwrap_or_default()
}
