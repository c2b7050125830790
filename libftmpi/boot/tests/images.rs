//! Takes images of C programs at arbitrary points, kills them at arbitrary points, restores them
//! again and again, also from images of restored processes, and checks what they compute.

mod driver;

use driver::{Job, compile, raw};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Nothing takes so long, unless it hangs or the machine is crowded.
const LONG: Duration = Duration::from_secs(180);

fn seed() -> u64 {
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
    let life = job.start(0, None);
    let end = life.end(LONG);
    assert_eq!((end.code, end.err.as_str()), (Some(3), ""), "{end:?}");
    end.out
}

/// Kills and restores until `generations` restores went well, then lets the program end.
fn torture(job: &Job, folder: &Path, generations: u32, seed: u64) {
    let expected = undisturbed(job, folder);
    let files = contents(folder);
    empty(folder);
    let mut rng = StdRng::seed_from_u64(seed);
    let mut images: Vec<(u64, Vec<u8>)> = Vec::new();
    let (mut next_image, mut lives, mut pauses) = (1, 0, Vec::new());
    loop {
        let last = lives >= generations;
        let image = images.last();
        let raw_image = image.map(|(_, container)| raw(container));
        if image.is_none() {
            empty(folder);
        }
        let mut life = job.start(lives, raw_image.as_deref());
        let Some(first) = life.report(LONG) else {
            panic!("life {lives} did not begin: {:?}", life.end(LONG));
        };
        assert_eq!(first.incarnation, lives);
        assert_eq!(first.pid, life.child.id() as i32);
        match image {
            Some((number, _)) => assert_eq!((first.result, first.image_no), (1, *number)),
            None => assert_eq!(first.result, 2),
        }
        if last {
            let end = life.end(LONG);
            assert_eq!((end.code, end.out.as_str(), end.err.as_str()), (Some(3), &*expected, ""));
            break;
        }
        lives += 1;
        for _ in 0..rng.random_range(1..3) {
            std::thread::sleep(Duration::from_micros(rng.random_range(0..20_000)));
            let arriving = life.ask(next_image);
            let Some(report) = life.report(LONG) else { break };
            if report.result == -libc::EBUSY {
                // A command is running.
                assert!(arriving.join().unwrap().is_err());
                continue;
            }
            assert_eq!((report.result, report.image_no), (0, next_image), "{}", report.why());
            pauses.push(report.pause_ns / 1000);
            let killed = rng.random_range(0..4) == 0;
            if killed {
                // In the middle of the image.
                std::thread::sleep(Duration::from_micros(rng.random_range(0..3000)));
                life.kill();
            }
            match arriving.join().unwrap() {
                Ok(container) => images.push((next_image, container)),
                Err(error) => {
                    let why = error.to_string();
                    // The second: its program writes a file that it maps just then.
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
        std::thread::sleep(Duration::from_micros(rng.random_range(0..20_000)));
        let _ = life.child.kill();
        let end = life.end(LONG);
        if end.code.is_some() {
            // It was faster.
            assert_eq!((end.code, end.out.as_str(), end.err.as_str()), (Some(3), &*expected, ""));
            images.clear();
        } else {
            let found = (end.signal, end.out.as_str(), end.err.as_str());
            assert!(found == (Some(9), "", "") || found == (Some(9), &*expected, ""), "{end:?}");
        }
    }
    assert!(contents(folder) == files);
    pauses.sort_unstable();
    println!(
        "{lives} lives, {} images, pause: median {} µs, longest {} µs; last image {} bytes",
        pauses.len(),
        pauses[pauses.len() / 2],
        pauses[pauses.len() - 1],
        images.last().map_or(0, |(_, container)| container.len()),
    );
}

#[test]
fn a_program_survives_many_deaths() {
    let folder = tempfile::tempdir().unwrap();
    let data = tempfile::tempdir().unwrap();
    let program = compile("churn.c", folder.path(), &[]);
    let data_path = data.path().canonicalize().unwrap();
    let job = Job::new(program, &["8000", data_path.to_str().unwrap()]);
    torture(&job, data.path(), generations().max(20), seed());
}

#[test]
fn an_ordinary_user_needs_no_privilege() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let data = tempfile::tempdir_in("/tmp").unwrap();
    let program = compile("churn.c", folder.path(), &[]);
    let data_path = data.path().canonicalize().unwrap();
    let mut job = Job::new(program, &["4000", data_path.to_str().unwrap()]);
    ordinary(&mut job, [folder.path(), &data_path]);
    torture(&job, data.path(), 15, seed());
}

#[test]
fn waits_do_not_notice_images() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("sleeper.c", folder.path(), &[]);
    let job = Job::new(program, &[]);
    let life = job.start(0, None);
    life.report(LONG).unwrap();
    let mut image = 0;
    let mut last = None;
    let asked = Instant::now();
    while asked.elapsed() < Duration::from_millis(3200) {
        std::thread::sleep(Duration::from_millis(60));
        image += 1;
        let arriving = life.ask(image);
        assert_eq!(life.report(LONG).unwrap().result, 0);
        let container = arriving.join().unwrap().unwrap();
        if asked.elapsed() < Duration::from_millis(2000) {
            last = Some(container);
        }
    }
    let end = life.end(LONG);
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

/// Gives the calling thread's children clocks that show so many seconds less than ours.
fn turn_clocks_back(seconds: u64) {
    // SAFETY: no pointers.
    assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWTIME) }, 0);
    // SAFETY: as above.
    let thread = unsafe { libc::gettid() };
    let offsets = format!("monotonic -{seconds} 0\nboottime -{seconds} 0\n");
    std::fs::write(format!("/proc/{thread}/timens_offsets"), offsets).unwrap();
}

/// As on a host that was started later. (As root, who can have such clocks.)
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
        let mut life = job.start(0, None);
        life.report(LONG).unwrap();
        std::thread::sleep(Duration::from_millis(rng.random_range(1..1200)));
        let arriving = life.ask(1);
        let report = life.report(LONG).unwrap();
        assert_eq!(report.result, 0, "{}", report.why());
        let image = raw(&arriving.join().unwrap().unwrap());
        life.kill();
        life.end(LONG);
        let end = std::thread::scope(|scope| {
            let later = scope.spawn(|| {
                turn_clocks_back(uptime as u64 - 20);
                let life = job.start(1, Some(&image));
                assert_eq!(life.report(LONG).unwrap().result, 1);
                life.end(Duration::from_secs(40))
            });
            later.join().unwrap()
        });
        assert_eq!((end.code, end.out.as_str()), (Some(0), "1\n"), "{end:?}");
    }
}

#[test]
fn wide_registers_survive() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let flags = ["-O3", "-march=native", "-ffast-math", "-D_FORTIFY_SOURCE=2", "-fopenmp-simd"];
    let program = compile("churn.c", folder.path(), &flags);
    let data_path = data.path().canonicalize().unwrap();
    let job = Job::new(program, &["3000", data_path.to_str().unwrap()]);
    torture(&job, data.path(), 15, seed());
}

#[test]
fn the_dynamic_linker_may_be_interrupted() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let program = compile("loader.c", folder.path(), &[]);
    let data_path = data.path().canonicalize().unwrap();
    let job = Job::new(program, &["20000", data_path.to_str().unwrap()]);
    torture(&job, data.path(), 15, seed());
}

/// Restores of each thing that an image must bring back: few in a short run, `FTMPI_TORTURE=50` for a
/// long one.
fn generations() -> u32 {
    std::env::var("FTMPI_TORTURE").ok().and_then(|n| n.parse().ok()).unwrap_or(3)
}

/// As an ordinary user if we are root: nothing may need a privilege.
fn ordinary(job: &mut Job, folders: [&Path; 2]) {
    // SAFETY: no pointers.
    if unsafe { libc::geteuid() } != 0 {
        return;
    }
    let nobody = 65_534;
    for path in folders {
        std::os::unix::fs::chown(path, Some(nobody), Some(nobody)).unwrap();
    }
    let library = folders[0].join("libftmpi_boot.so");
    std::fs::copy(driver::boot_library(), &library).unwrap();
    job.user = Some(nobody);
    job.library = Some(library);
    job.folder = Some(folders[1].to_path_buf());
}

/// The items of a program, each with so many steps. `library`: what one of them loads.
fn items_come_back(program: &str, library: Option<&str>, items: &[(&str, u32)]) {
    items_come_back_where(program, library, items, false);
}

fn items_come_back_where(
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
        // It stays when the files of an earlier life are removed.
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
        // In a long run also as who we are.
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

#[test]
fn everything_comes_back() {
    let items = [
        ("files", 15_000),
        ("deleted", 15_000),
        ("shared", 30_000),
        ("pipes", 2_000),
        ("signals", 10_000),
        ("timers", 6_000),
        ("large", 30_000),
        ("stack", 4_000),
        ("registers", 500),
        ("limits", 30_000),
        ("attributes", 40_000),
        ("mapped", 12_000),
    ];
    items_come_back("torture.c", None, &items);
}

/// Many containers forbid the call that compares descriptors.
#[test]
fn copies_of_descriptors_are_known_without_the_call_that_tells() {
    let items = [("files", 15_000), ("deleted", 15_000), ("pipes", 2_000)];
    items_come_back_where("torture.c", None, &items, true);
}

#[test]
fn what_the_kernel_keeps_comes_back() {
    items_come_back("owned.c", None, &[("owners", 3_000), ("advice", 12_000)]);
}

#[test]
fn odd_programs_come_back() {
    let items = [
        ("alternate", 30_000),
        ("coroutines", 250_000),
        ("grown", 800),
        ("made", 100_000),
        ("many", 600),
        ("process", 100_000),
        ("library", 100_000),
        ("closing", 100_000),
    ];
    items_come_back("odd.c", Some("plugin.c"), &items);
}

#[test]
fn openmp_survives() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let program = compile("team.c", folder.path(), &["-fopenmp"]);
    let data_path = data.path().canonicalize().unwrap();
    let job = Job::new(program, &["400", data_path.to_str().unwrap()]);
    torture(&job, data.path(), generations(), seed());
}

#[test]
fn threads_survive() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let program = compile("threads.c", folder.path(), &["-pthread"]);
    let data_path = data.path().canonicalize().unwrap();
    let job = Job::new(program, &["1500", data_path.to_str().unwrap()]);
    torture(&job, data.path(), generations().max(10), seed());
}

#[test]
fn what_threads_wait_for_is_theirs() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let program = compile("waiters.c", folder.path(), &["-pthread"]);
    let data_path = data.path().canonicalize().unwrap();
    let job = Job::new(program, &["500", data_path.to_str().unwrap()]);
    torture(&job, data.path(), generations().max(10), seed());
}

#[test]
fn threads_are_cancelled_in_any_life() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let program = compile("cancels.c", folder.path(), &["-pthread"]);
    let data_path = data.path().canonicalize().unwrap();
    let job = Job::new(program, &["2000", data_path.to_str().unwrap()]);
    torture(&job, data.path(), generations().max(10), seed());
}

#[test]
fn threads_get_every_signal_once() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let program = compile("mailers.c", folder.path(), &["-pthread"]);
    let data_path = data.path().canonicalize().unwrap();
    let job = Job::new(program, &["10000", data_path.to_str().unwrap()]);
    torture(&job, data.path(), generations().max(10), seed());
}

#[test]
fn any_thread_may_take_images() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let program = compile("captor.c", folder.path(), &["-pthread"]);
    let data_path = data.path().canonicalize().unwrap();
    let job = Job::new(program, &["4000", data_path.to_str().unwrap()]);
    torture(&job, data.path(), generations().max(10), seed());
}

#[test]
fn the_thread_that_took_an_image_may_end() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("leaver.c", folder.path(), &["-pthread"]);
    let job = Job::new(program, &[]);
    let mut life = job.start(0, None);
    assert_eq!(life.report(LONG).unwrap().result, 2);
    let arriving = life.ask(1);
    assert_eq!(life.report(LONG).unwrap().result, 0);
    let image = raw(&arriving.join().unwrap().unwrap());
    life.kill();
    life.end(LONG);
    let end = job.start(1, Some(&image)).end(LONG);
    assert_eq!(end.code, Some(3), "{end:?}");
}

#[test]
fn an_image_ends_with_its_process() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("leaver.c", folder.path(), &["-pthread"]);
    let job = Job::new(program, &[]);
    let mut life = job.start(0, None);
    assert_eq!(life.report(LONG).unwrap().result, 2);
    let (mut read, write) = std::io::pipe().unwrap();
    life.request(1, write.as_raw_fd());
    drop(write);
    assert_eq!(life.report(LONG).unwrap().result, 0);
    life.kill();
    life.end(LONG);
    // The child waits for somebody who reads; then it goes on, and sees that it is alone.
    let mut image = Vec::new();
    read.read_to_end(&mut image).unwrap();
    assert!(image.len() < 64 << 20, "{} bytes came", image.len());
}

/// `rank.h` as a library, for other languages.
fn rank_library(folder: &Path) -> PathBuf {
    let library = compile("rank.c", folder, &["-shared", "-fPIC"]);
    let name = folder.join("librank.so");
    std::fs::rename(library, &name).unwrap();
    name
}

#[test]
fn fortran_survives() {
    if Command::new("gfortran").arg("--version").output().is_err() {
        println!("no gfortran here: not tested");
        return;
    }
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let library = rank_library(folder.path());
    let program = folder.path().join("scribe");
    let status = Command::new("gfortran")
        .args(["-O2", "-o"])
        .arg(&program)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/scribe.f90"))
        .arg(&library)
        .arg(format!("-Wl,-rpath,{}", folder.path().display()))
        .status()
        .unwrap();
    assert!(status.success());
    let data_path = data.path().canonicalize().unwrap();
    let job = Job::new(program, &["20000", data_path.to_str().unwrap()]);
    torture(&job, data.path(), 15, seed());
}

#[test]
fn python_survives() {
    let Ok(found) =
        Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output()
    else {
        println!("no python3 here: not tested");
        return;
    };
    let python = PathBuf::from(String::from_utf8(found.stdout).unwrap().trim());
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let library = rank_library(folder.path());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/snake.py");
    let data_path = data.path().canonicalize().unwrap();
    let arguments = [&script, Path::new("30000"), &data_path, &library];
    let job = Job::new(python, &arguments.map(|path| path.to_str().unwrap()));
    torture(&job, data.path(), 15, seed());
}

#[test]
fn large_images() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("large.c", folder.path(), &[]);
    for megabytes in ["10", "60"] {
        let job = Job::new(program.clone(), &[megabytes, "20"]);
        let expected = job.start(0, None).end(LONG).out;
        let mut life = job.start(0, None);
        life.report(LONG).unwrap();
        let arriving = life.ask(1);
        life.report(LONG).unwrap();
        let image = raw(&arriving.join().unwrap().unwrap());
        life.kill();
        life.end(LONG);
        let life = job.start(1, Some(&image));
        assert_eq!(life.report(LONG).unwrap().result, 1);
        let end = life.end(LONG);
        assert_eq!((end.code, &end.out), (Some(3), &expected), "{end:?}");
    }
}

#[test]
fn useless_memory_stays_out() {
    let folder = tempfile::tempdir().unwrap();
    let job = Job::new(compile("useless.c", folder.path(), &[]), &[]);
    let mut life = job.start(0, None);
    life.report(LONG).unwrap();
    let arriving = life.ask(1);
    assert_eq!(life.report(LONG).unwrap().result, 0);
    let image = raw(&arriving.join().unwrap().unwrap());
    assert!(image.len() < 16 << 20, "{} bytes", image.len());
    // It looks through its memory meanwhile.
    std::thread::sleep(std::time::Duration::from_millis(100));
    life.kill();
    life.end(LONG);
    let life = job.start(1, Some(&image));
    assert_eq!(life.report(LONG).unwrap().result, 1);
    let end = life.end(LONG);
    assert_eq!(end.code, Some(3), "{end:?}");
}

#[test]
fn streams_and_logs_come_back() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let program = compile("streams.c", folder.path(), &[]);
    let job = Job::new(program, &[data.path().to_str().unwrap()]);
    let mut life = job.start(0, None);
    life.report(LONG).unwrap();
    // Somebody else writes to one of the logs, too.
    let common = data.path().join("common");
    let mut other = std::fs::OpenOptions::new().append(true).open(&common).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let arriving = life.ask(1);
    assert_eq!(life.report(LONG).unwrap().result, 0);
    let image = raw(&arriving.join().unwrap().unwrap());
    std::thread::sleep(Duration::from_millis(500));
    std::io::Write::write_all(&mut other, b"other\n").unwrap();
    life.kill();
    life.end(LONG);
    let end = job.start(1, Some(&image)).end(LONG);
    assert_eq!(end.code, Some(0), "{end:?}");
    assert_eq!((end.out.as_str(), end.err.as_str()), ("to the old output\n", "to the old error\n"));
    let read = |name: &str| std::fs::read_to_string(data.path().join(name)).unwrap();
    assert_eq!(read("out"), "one\ntwo\n");
    // What was written after the image is cut from the file that is ours alone, never from another.
    assert_eq!(read("own"), "one\ntwo\n");
    assert_eq!(read("common"), "one\ntwo\nother\ntwo\n");
}

/// Who opens a file, appends and closes it again is seen only by what he leaves: at the image, or after the
/// rank has died.
#[test]
fn what_others_append_is_not_cut() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let program = compile("streams.c", folder.path(), &[]);
    let mut job = Job::new(program, &[data.path().to_str().unwrap()]);
    let append = |name: &str, text: &[u8]| {
        let mut file =
            std::fs::OpenOptions::new().append(true).open(data.path().join(name)).unwrap();
        std::io::Write::write_all(&mut file, text).unwrap();
    };
    let mut life = job.start(0, None);
    life.report(LONG).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    append("common", b"early\n");
    let arriving = life.ask(1);
    assert_eq!(life.report(LONG).unwrap().result, 0);
    let image = raw(&arriving.join().unwrap().unwrap());
    std::thread::sleep(Duration::from_millis(500));
    life.kill();
    life.end(LONG);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    job.died = now.as_nanos() as u64;
    // Times of files are those of the last tick.
    std::thread::sleep(Duration::from_millis(50));
    append("own", b"late\n");
    let end = job.start(1, Some(&image)).end(LONG);
    assert_eq!(end.code, Some(0), "{end:?}");
    assert!(end.err.contains("own was written to by others after this rank had died"), "{end:?}");
    assert!(!end.err.contains("common"), "{end:?}");
    let read = |name: &str| std::fs::read_to_string(data.path().join(name)).unwrap();
    assert_eq!(read("out"), "one\ntwo\n");
    assert_eq!(read("own"), "one\ntwo\nlate\ntwo\n");
    assert_eq!(read("common"), "one\nearly\ntwo\ntwo\n");
}

#[test]
fn a_file_in_another_ones_place_is_not_taken_for_it() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let program = compile("streams.c", folder.path(), &[]);
    let job = Job::new(program, &[data.path().to_str().unwrap()]);
    let mut life = job.start(0, None);
    life.report(LONG).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let arriving = life.ask(1);
    assert_eq!(life.report(LONG).unwrap().result, 0);
    let image = raw(&arriving.join().unwrap().unwrap());
    life.kill();
    life.end(LONG);
    // Where it only writes it goes on in the new file, and says so.
    let at = |name: &str| data.path().join(name);
    std::fs::rename(at("own"), at("own.1")).unwrap();
    std::fs::write(at("own"), "").unwrap();
    let end = job.start(1, Some(&image)).end(LONG);
    assert_eq!(end.code, Some(0), "{end:?}");
    assert!(
        end.err.contains("own is another file than the one that this rank had open"),
        "{end:?}"
    );
    assert_eq!(std::fs::read_to_string(at("own")).unwrap(), "two\n");
}

#[test]
fn locks_on_files_are_held_again() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let program = compile("locker.c", folder.path(), &["-D_GNU_SOURCE"]);
    let job = Job::new(program, &[data.path().to_str().unwrap()]);
    let mut life = job.start(0, None);
    life.report(LONG).unwrap();
    let arriving = life.ask(1);
    assert_eq!(life.report(LONG).unwrap().result, 0);
    let image = raw(&arriving.join().unwrap().unwrap());
    // Who holds what: with `flock` files are locked as wholes, with the others in parts.
    let held = || {
        let open = |name: &str| {
            std::fs::OpenOptions::new().read(true).write(true).open(data.path().join(name)).unwrap()
        };
        let (a, b, c) = (open("a"), open("b"), open("c"));
        // SAFETY: plain system calls; the structures live over them.
        unsafe {
            let whole = libc::flock(a.as_raw_fd(), libc::LOCK_SH | libc::LOCK_NB) != 0;
            let part = |file: &std::fs::File, from: i64| {
                let mut asked: libc::flock = std::mem::zeroed();
                asked.l_type = libc::F_WRLCK as i16;
                asked.l_start = from;
                assert_eq!(libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut asked), 0);
                (i32::from(asked.l_type), asked.l_start, asked.l_len)
            };
            (whole, part(&b, 0), part(&b, 20), part(&c, 0))
        }
    };
    let written = |from| (libc::F_WRLCK, from, 10);
    let expected = (true, written(10), written(30), (libc::F_RDLCK, 100, 0));
    assert_eq!(held(), expected);
    life.kill();
    life.end(LONG);
    assert!(!held().0, "nobody holds it");
    let life = job.start(1, Some(&image));
    while !data.path().join("here").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(held(), expected);
    std::fs::write(data.path().join("go"), "").unwrap();
    assert_eq!(life.end(LONG).code, Some(0));
}
