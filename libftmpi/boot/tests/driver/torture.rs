//! Kills a rank and restores it, again and again, and checks what the program computes.

use super::standby::Standby;
use super::{End, Job, boot_library, compile, raw};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longer than anything takes, unless it hangs or the host is oversubscribed.
pub const LONG: Duration = Duration::from_secs(180);

pub fn seed() -> u64 {
    let seed = std::env::var("FTMPI_SEED").ok().and_then(|s| s.parse().ok());
    let seed = seed.unwrap_or_else(|| rand::rng().random());
    println!("FTMPI_SEED={seed}");
    seed
}

fn empty(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            std::fs::remove_dir_all(path).unwrap();
        } else {
            std::fs::remove_file(path).unwrap();
        }
    }
}

fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = paths.filter(|path| path.is_file());
    files.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

fn undisturbed(job: &Job, folder: &Path) -> String {
    empty(folder);
    let process = job.start(0, None);
    let end = process.end(LONG);
    assert_eq!((end.code, &*told(&end)), (Some(3), ""), "{end:?}");
    end.out
}

/// Kills and restores the rank until `generations` restores have succeeded. Then lets the program
/// end.
pub fn torture(job: &Job, folder: &Path, generations: u32, seed: u64) {
    let expected = undisturbed(job, folder);
    let files = contents(folder);
    empty(folder);
    let mut rng = StdRng::seed_from_u64(seed);
    let mut images: Vec<(u64, Vec<u8>)> = Vec::new();
    let (mut next_image, mut incarnations, mut pauses) = (1, 0, Vec::new());
    let (mut standby, mut promoted): (Option<Standby>, u32) = (None, 0);
    loop {
        let last = incarnations >= generations;
        let image = images.last();
        let raw_image = image.map(|(_, container)| raw(container));
        if image.is_none() {
            empty(folder);
        }
        let in_standby = standby.take().and_then(|standby| standby.promote(LONG));
        promoted += u32::from(in_standby.is_some());
        let begin = || job.start(incarnations, raw_image.as_deref());
        let mut process = in_standby.unwrap_or_else(begin);
        let Some(first) = process.report(LONG) else {
            panic!("process {incarnations} did not begin: {:?}", process.end(LONG));
        };
        assert_eq!(first.incarnation, incarnations);
        assert_eq!(first.pid, process.child.id() as i32);
        match image {
            Some((number, _)) => assert_eq!((first.result, first.image_no), (1, *number)),
            None => assert_eq!(first.result, 2),
        }
        if last {
            let end = process.end(LONG);
            assert_eq!((end.code, end.out.as_str(), &*told(&end)), (Some(3), &*expected, ""));
            break;
        }
        incarnations += 1;
        for _ in 0..rng.random_range(1..3) {
            std::thread::sleep(Duration::from_micros(rng.random_range(0..20_000)));
            let arriving = process.ask(next_image);
            let Some(report) = process.report(LONG) else { break };
            if report.result == -libc::EBUSY {
                // The program runs a command.
                assert!(arriving.join().unwrap().is_err());
                continue;
            }
            assert_eq!((report.result, report.image_no), (0, next_image), "{}", report.why());
            pauses.push(report.pause_ns / 1000);
            let killed = rng.random_range(0..4) == 0;
            if killed {
                // While the image is written.
                std::thread::sleep(Duration::from_micros(rng.random_range(0..3000)));
                process.kill();
            }
            match arriving.join().unwrap() {
                Ok(container) => images.push((next_image, container)),
                Err(error) => {
                    let why = error.to_string();
                    // The second text: the program writes a file that it maps at that moment.
                    assert!(why.contains("broke off") || why.contains("was written to"), "{why}");
                }
            }
            next_image += 1;
            if killed {
                break;
            }
        }
        if images.len() > 2 {
            images.drain(..images.len() - 2);
        }
        if let Some((_, container)) = images.last()
            && rng.random_range(0..2) == 0
        {
            // While the rank runs, or has just died.
            standby = Some(job.start_standby(incarnations, &raw(container)));
        }
        std::thread::sleep(Duration::from_micros(rng.random_range(0..20_000)));
        let _ = process.child.kill();
        let end = process.end(LONG);
        if end.code.is_some() {
            // The program ended before the kill.
            assert_eq!((end.code, end.out.as_str(), &*told(&end)), (Some(3), &*expected, ""));
            images.clear();
            if let Some(standby) = standby.take() {
                standby.give_up(LONG);
            }
        } else {
            let found = (end.signal, end.out.as_str(), &*told(&end));
            assert!(found == (Some(9), "", "") || found == (Some(9), &*expected, ""), "{end:?}");
        }
    }
    assert!(contents(folder) == files);
    pauses.sort_unstable();
    println!(
        "{incarnations} incarnations, {promoted} of standbys, {} images, pause: median {} µs, longest {} µs; last image {} bytes",
        pauses.len(),
        pauses[pauses.len() / 2],
        pauses[pauses.len() - 1],
        images.last().map_or(0, |(_, container)| container.len()),
    );
}

/// What the process says on standard error, but for the line about a file that it has mapped.
fn told(end: &End) -> String {
    let mapped = |line: &&str| !line.contains("is shared memory that this rank has mapped");
    end.err.lines().filter(mapped).collect()
}

/// How often each program is restored: few times in a short run, `FTMPI_TORTURE=50` for a long
/// one.
pub fn generations() -> u32 {
    std::env::var("FTMPI_TORTURE").ok().and_then(|n| n.parse().ok()).unwrap_or(3)
}

/// Runs the job as an ordinary user, if the test is root: no restore may need a privilege.
pub fn ordinary(job: &mut Job, folders: [&Path; 2]) {
    // SAFETY: no pointers.
    if unsafe { libc::geteuid() } != 0 {
        return;
    }
    let nobody = 65_534;
    for path in folders {
        std::os::unix::fs::chown(path, Some(nobody), Some(nobody)).unwrap();
    }
    let library = folders[0].join("libftmpi_boot.so");
    std::fs::copy(boot_library(), &library).unwrap();
    job.user = Some(nobody);
    job.library = Some(library);
    job.folder = Some(folders[1].to_path_buf());
}

/// Runs the items of a program, each with a number of steps. `library`: one of the items loads it.
pub fn items_come_back(program: &str, library: Option<&str>, items: &[(&str, u32)]) {
    items_come_back_where(program, library, items, false);
}

pub fn items_come_back_where(
    program: &str,
    library: Option<&str>,
    items: &[(&str, u32)],
    without_kcmp: bool,
) {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let program = compile(program, folder.path(), &["-lrt", "-pthread"]);
    let library = library.map(|name| compile(name, folder.path(), &["-shared", "-fPIC"]));
    let only = std::env::var("FTMPI_TORTURE_ITEM").ok();
    for (number, (item, steps)) in items.iter().enumerate() {
        if only.as_ref().is_some_and(|only| only != item) {
            continue;
        }
        // This folder stays when the files of an earlier incarnation are removed.
        let place = tempfile::tempdir_in("/tmp").unwrap();
        let path = place.path().canonicalize().unwrap().join("data");
        std::fs::create_dir(&path).unwrap();
        if let Some(library) = &library {
            std::fs::copy(library, path.with_file_name("libodd.so")).unwrap();
        }
        for path in [place.path(), &path] {
            let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(path, all).unwrap();
        }
        let steps = steps.to_string();
        let mut job = Job::new(program.clone(), &[item, &steps, path.to_str().unwrap()]);
        job.without_kcmp = without_kcmp;
        // In a long run each item runs as both users.
        if number % 2 == 0 || generations() > 10 {
            println!("{item}, as we are");
            torture(&job, &path, generations(), seed());
        }
        if number % 2 == 1 || generations() > 10 {
            println!("{item}, as an ordinary user");
            ordinary(&mut job, [folder.path(), &path]);
            torture(&job, &path, generations(), seed());
        }
    }
}

/// Starts the program, takes one image of it, and kills it. Gives the raw stream of the image.
pub fn one_image(job: &Job) -> Vec<u8> {
    let mut process = job.start(0, None);
    assert_eq!(process.report(LONG).unwrap().result, 2);
    let arriving = process.ask(1);
    let report = process.report(LONG).unwrap();
    assert_eq!(report.result, 0, "{}", report.why());
    let image = raw(&arriving.join().unwrap().unwrap());
    process.kill();
    process.end(LONG);
    image
}
