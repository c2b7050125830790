//! Waits, clocks and signals of the program do not notice images.

mod driver;

use driver::torture::{LONG, generations, seed};
use driver::{Job, compile, raw};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::path::Path;
use std::time::{Duration, Instant};

#[test]
fn waits_do_not_notice_images() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("sleeper.c", folder.path(), &[]);
    let job = Job::new(program, &[]);
    let process = job.start(0, None);
    process.report(LONG).unwrap();
    let mut image = 0;
    let mut last = None;
    let asked = Instant::now();
    while asked.elapsed() < Duration::from_millis(3200) {
        std::thread::sleep(Duration::from_millis(60));
        image += 1;
        let arriving = process.ask(image);
        assert_eq!(process.report(LONG).unwrap().result, 0);
        let container = arriving.join().unwrap().unwrap();
        if asked.elapsed() < Duration::from_millis(2000) {
            last = Some(container);
        }
    }
    let end = process.end(LONG);
    assert_eq!((end.code, end.out.as_str()), (Some(0), "slept\n"), "{end:?}");
    let end = job.start(1, Some(&raw(&last.unwrap()))).end(LONG);
    assert_eq!((end.code, end.out.as_str()), (Some(0), "slept\n"), "{end:?}");
}

#[test]
fn the_programs_own_signals_are_not_disturbed() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("disturbed.c", folder.path(), &["-pthread"]);
    let end = Job::new(program, &[]).start(0, None).end(LONG);
    assert_eq!((end.code, end.out.as_str()), (Some(0), "undisturbed\n"), "{end:?}");
}

/// Gives the children of the calling thread clocks that show so many seconds less.
fn turn_clocks_back(seconds: u64) {
    // SAFETY: no pointers.
    assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWTIME) }, 0);
    // SAFETY: as above.
    let thread = unsafe { libc::gettid() };
    let offsets = format!("monotonic -{seconds} 0\nboottime -{seconds} 0\n");
    std::fs::write(format!("/proc/{thread}/timens_offsets"), offsets).unwrap();
}

/// The same as on a host that was started later. Only root can have such clocks.
#[test]
fn clocks_do_not_run_backwards() {
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap();
    let uptime: f64 = uptime.split(' ').next().unwrap().parse().unwrap();
    // SAFETY: no pointers.
    let root = unsafe { libc::geteuid() } == 0;
    if !root || !Path::new("/proc/self/timens_offsets").exists() || uptime < 60.0 {
        println!("no clocks that show less can be had here: not tested");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = compile("clocks.c", folder.path(), &["-pthread"]);
    let job = Job::new(program, &[]);
    let end = job.start(0, None).end(LONG);
    assert_eq!((end.code, end.out.as_str()), (Some(0), "0\n"), "{end:?}");
    let mut rng = StdRng::seed_from_u64(seed());
    for _ in 0..generations() {
        let mut process = job.start(0, None);
        process.report(LONG).unwrap();
        std::thread::sleep(Duration::from_millis(rng.random_range(1..1200)));
        let arriving = process.ask(1);
        let report = process.report(LONG).unwrap();
        assert_eq!(report.result, 0, "{}", report.why());
        let image = raw(&arriving.join().unwrap().unwrap());
        process.kill();
        process.end(LONG);
        let end = std::thread::scope(|scope| {
            let later = scope.spawn(|| {
                turn_clocks_back(uptime as u64 - 20);
                let process = job.start(1, Some(&image));
                assert_eq!(process.report(LONG).unwrap().result, 1);
                process.end(Duration::from_secs(40))
            });
            later.join().unwrap()
        });
        assert_eq!((end.code, end.out.as_str()), (Some(0), "1\n"), "{end:?}");
    }
}
