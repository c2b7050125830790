//! Standard streams, logs and locks on files after a restore, also when others write to the files.

mod driver;

use driver::torture::LONG;
use driver::{Job, compile, raw};
use std::os::fd::AsRawFd;
use std::time::Duration;

#[test]
fn streams_and_logs_come_back() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let program = compile("streams.c", folder.path(), &[]);
    let job = Job::new(program, &[data.path().to_str().unwrap()]);
    let mut process = job.start(0, None);
    process.report(LONG).unwrap();
    // Another process writes to one of the logs, too.
    let common = data.path().join("common");
    let mut other = std::fs::OpenOptions::new().append(true).open(&common).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let arriving = process.ask(1);
    assert_eq!(process.report(LONG).unwrap().result, 0);
    let image = raw(&arriving.join().unwrap().unwrap());
    std::thread::sleep(Duration::from_millis(500));
    std::io::Write::write_all(&mut other, b"other\n").unwrap();
    process.kill();
    process.end(LONG);
    let end = job.start(1, Some(&image)).end(LONG);
    assert_eq!(end.code, Some(0), "{end:?}");
    assert_eq!((end.out.as_str(), end.err.as_str()), ("to the old output\n", "to the old error\n"));
    let read = |name: &str| std::fs::read_to_string(data.path().join(name)).unwrap();
    assert_eq!(read("out"), "one\ntwo\n");
    // Only the file that nobody else writes is cut to its size at the image.
    assert_eq!(read("own"), "one\ntwo\n");
    assert_eq!(read("common"), "one\ntwo\nother\ntwo\n");
}

/// If a process opens a file, appends and closes it again, only the file shows it: at the image, or
/// after the rank has died.
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
    let mut process = job.start(0, None);
    process.report(LONG).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    append("common", b"early\n");
    let arriving = process.ask(1);
    assert_eq!(process.report(LONG).unwrap().result, 0);
    let image = raw(&arriving.join().unwrap().unwrap());
    std::thread::sleep(Duration::from_millis(500));
    process.kill();
    process.end(LONG);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    job.died = now.as_nanos() as u64;
    // Times of files are those of the last tick of the kernel.
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
    let mut process = job.start(0, None);
    process.report(LONG).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let arriving = process.ask(1);
    assert_eq!(process.report(LONG).unwrap().result, 0);
    let image = raw(&arriving.join().unwrap().unwrap());
    process.kill();
    process.end(LONG);
    // A program that only writes goes on in the new file, and a line tells so.
    let at = |name: &str| data.path().join(name);
    std::fs::rename(at("own"), at("own.1")).unwrap();
    std::fs::write(at("own"), "").unwrap();
    job.kept.lock().unwrap().clear();
    let end = job.start(1, Some(&image)).end(LONG);
    assert_eq!(end.code, Some(0), "{end:?}");
    assert!(
        end.err.contains("own is another file than the one that this rank had open"),
        "{end:?}"
    );
    assert_eq!(std::fs::read_to_string(at("own")).unwrap(), "two\n");
}

/// An image rests on open files, whatever the program does with them afterwards.
#[test]
fn files_that_an_image_rests_on_stay() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let program = compile("remaker.c", folder.path(), &[]);
    let job = Job::new(program, &[data.path().to_str().unwrap()]);
    let mut process = job.start(0, None);
    process.report(LONG).unwrap();
    let arriving = process.ask(1);
    assert_eq!(process.report(LONG).unwrap().result, 0);
    let image = raw(&arriving.join().unwrap().unwrap());
    let read = |name: &str| std::fs::read_to_string(data.path().join(name)).unwrap();
    for _ in 0..1000 {
        if data.path().join("log.1").exists() && read("log.1") == "one\ntwo\n" {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    process.kill();
    process.end(LONG);
    for incarnation in 1..=2 {
        let end = job.start(incarnation, Some(&image)).end(LONG);
        assert_eq!(end.code, Some(0), "{end:?}");
        assert_eq!(read("scratch"), "FIRST HALF, SECOND HALF");
        assert_eq!(read("result"), "one\ntwo\n");
        assert!(!data.path().join("result.tmp").exists());
        // The log was cut to what it was at the image, under its new name.
        assert_eq!(read("log.1"), "one\ntwo\n");
    }
    // Without the agent's help no other file is taken for one of these.
    job.kept.lock().unwrap().clear();
    let end = job.start(3, Some(&image)).end(LONG);
    assert_eq!(end.code, Some(119), "{end:?}");
    assert!(end.err.contains("the file") && end.err.contains("scratch"), "{end:?}");
}

#[test]
fn locks_on_files_are_held_again() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let program = compile("locker.c", folder.path(), &["-D_GNU_SOURCE"]);
    let job = Job::new(program, &[data.path().to_str().unwrap()]);
    let mut process = job.start(0, None);
    process.report(LONG).unwrap();
    let arriving = process.ask(1);
    assert_eq!(process.report(LONG).unwrap().result, 0);
    let image = raw(&arriving.join().unwrap().unwrap());
    // Who holds which lock: `flock` locks a whole file, the others lock parts.
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
    process.kill();
    process.end(LONG);
    assert!(!held().0, "nobody holds it");
    let process = job.start(1, Some(&image));
    while !data.path().join("here").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(held(), expected);
    std::fs::write(data.path().join("go"), "").unwrap();
    assert_eq!(process.end(LONG).code, Some(0));
}
