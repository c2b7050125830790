//! What an image cannot contain is refused with one line that names it. An image that does not fit
//! is not restored: one line, the documented exit code, and nothing is destroyed.

mod driver;

use driver::{End, Job, boot_library, compile, raw};
use ftmpi_checkpoint::boot_abi::{EXIT_IMAGE_DAMAGED, EXIT_IMAGE_FILE_GONE, EXIT_IMAGE_MISFIT};
use ftmpi_wire::control::RankEnv;
use ftmpi_wire::{Incarnation, Rank};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

#[test]
fn each_obstacle_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("refused.c", folder.path(), &["-pthread", "-lrt"]);
    let cases = [
        ("t", true, "cannot be stopped"),
        ("p", true, "a pipe (pipe:["),
        ("s", true, "a socket that is connected to another process (socket:["),
        ("e", true, "a socket that is connected over the network (socket:["),
        ("j", true, "a socket that carries descriptors"),
        (
            "c",
            true,
            "which the program has started, has not ended and cannot be in images: it has a session",
        ),
        ("m", true, "/memfd:x"),
        ("P", true, "O_PATH"),
        ("D", true, "a directory that its path does not lead to any more"),
        ("W", true, "was deleted or renamed"),
        ("/", true, "a file of /proc about a process"),
        ("T", true, "processor time"),
        ("r", true, "robust mutex"),
        ("f", true, "filters of system calls"),
        ("q", true, "a message queue (mq_open)"),
        ("Q", true, "a message queue (mq_open)"),
        ("S", true, "undoes (SEM_UNDO)"),
        ("L", true, "System V message queues (number"),
        ("Y", true, "memory shared with others (/SYSV"),
        ("O", true, "(F_SETOWN)"),
        ("h", true, "huge pages (MFD_HUGETLB)"),
        ("n", true, "watches a file which is not at its path"),
        ("I", true, "has not read the events of its inotify"),
        ("g", true, "pidfd"),
        ("G", true, "a kernel object (anon_inode:[userfaultfd])"),
        ("A", true, "the same shared memory twice"),
        ("B", true, "among addresses that images need"),
        ("M", false, "its stack has no room"),
        ("d", false, "DONTFORK"),
        ("w", false, "wiped on fork"),
        ("k", false, if has_keys() { "protection key" } else { "wiped on fork" }),
        ("l", false, if has_seals() { "sealed memory (mseal)" } else { "wiped on fork" }),
    ];
    // Only root can become another user.
    let becoming = [
        ("z", true, "SCHED_DEADLINE"),
        ("N", true, "namespaces"),
        ("1", true, "user, groups or capabilities"),
        ("2", true, "user, groups or capabilities"),
        ("3", true, "user, groups or capabilities"),
        ("4", true, "user, groups or capabilities"),
        ("5", true, "root directory"),
        ("6", true, "user, groups or capabilities"),
    ];
    // SAFETY: no pointers.
    let root = unsafe { libc::geteuid() } == 0;
    let becoming = becoming.into_iter().filter(|_| root);
    // At the same time, because the programs only wait.
    std::thread::scope(|scope| {
        for (what, in_the_process, word) in cases.into_iter().chain(becoming) {
            let (program, folder) = (&program, folder.path());
            scope.spawn(move || one_obstacle(program, folder, what, in_the_process, word));
        }
    });
}

/// Whether this processor and kernel have protection keys.
fn has_keys() -> bool {
    // SAFETY: no memory involved; the key goes with this process.
    unsafe { libc::syscall(libc::SYS_pkey_alloc, 0, 0) >= 0 }
}

/// Whether this kernel seals memory.
fn has_seals() -> bool {
    // SAFETY: nothing lies in an empty range.
    unsafe { libc::syscall(462, 0, 0, 0) == 0 }
}

fn one_obstacle(program: &Path, folder: &Path, what: &str, in_the_process: bool, word: &str) {
    {
        let mut job = Job::new(program.to_path_buf(), &[what]);
        job.folder = Some(folder.to_path_buf());
        let process = job.start(0, None);
        assert_eq!(process.report(LONG).unwrap().result, 2);
        // The obstacle is there.
        assert_eq!(process.report(LONG).unwrap().result, 2);
        let arriving = process.ask(1);
        let report = process.report(LONG).unwrap();
        let verdict = arriving.join().unwrap();
        let end = process.end(LONG);
        assert_eq!(end.code, Some(0), "{what}: {end:?}");
        if in_the_process {
            assert!(report.result < 0 && report.why().contains(word), "{what}: {}", report.why());
            assert!(end.out.contains(word), "{what}: {end:?}");
        } else {
            // Only the image child can see the obstacle: the stream tells why.
            assert_eq!(report.result, 0);
        }
        let error = verdict.unwrap_err().to_string();
        assert!(in_the_process || error.contains(word), "{what}: {error}");
    }
}

/// Files without their names that the agent keeps, and code of a file that was replaced.
#[test]
fn what_the_agent_keeps_is_no_obstacle() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("refused.c", folder.path(), &["-pthread", "-lrt"]);
    for what in ["u", "U", "H", "x"] {
        let mut job = Job::new(program.clone(), &[what]);
        job.folder = Some(folder.path().to_path_buf());
        let process = job.start(0, None);
        assert_eq!(process.report(LONG).unwrap().result, 2);
        assert_eq!(process.report(LONG).unwrap().result, 2);
        let arriving = process.ask(1);
        let report = process.report(LONG).unwrap();
        assert_eq!(report.result, 0, "{what}: {}", report.why());
        arriving.join().unwrap().unwrap();
        process.end(LONG);
    }
}

#[test]
fn descriptors_among_those_of_the_library_are_refused_and_its_own_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("refused.c", folder.path(), &["-pthread", "-lrt"]);
    let cases = [("7", Some("descriptor 1500 of")), ("8", Some("descriptor 1002 of")), ("9", None)];
    for (what, word) in cases {
        let mut job = Job::new(program.clone(), &[what]);
        job.folder = Some(folder.path().to_path_buf());
        let process = job.start(0, None);
        assert_eq!(process.report(LONG).unwrap().result, 2);
        // The obstacle is there.
        assert_eq!(process.report(LONG).unwrap().result, 2);
        let arriving = process.ask(1);
        let report = process.report(LONG).unwrap();
        assert_eq!(report.result < 0, word.is_some(), "{what}: {}", report.why());
        assert!(report.why().contains(word.unwrap_or_default()), "{what}: {}", report.why());
        assert_eq!(arriving.join().unwrap().is_ok(), word.is_none());
        assert_eq!(process.end(LONG).code, Some(0), "{what}");
    }
}

#[test]
fn a_process_without_its_main_thread_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("refused.c", folder.path(), &["-pthread", "-lrt"]);
    let mut job = Job::new(program, &["E"]);
    job.folder = Some(folder.path().to_path_buf());
    let process = job.start(0, None);
    assert_eq!(process.report(LONG).unwrap().result, 2);
    let end = process.end(LONG);
    assert_eq!(end.code, Some(0), "{end:?}");
    assert!(end.out.contains("main thread has ended (pthread_exit)"), "{end:?}");
}

/// A function of the library must not search for the C library's function while the dynamic linker
/// works.
#[test]
fn a_constructor_may_wait_for_a_thread() {
    let folder = tempfile::tempdir().unwrap();
    let library = compile("starter.c", folder.path(), &["-shared", "-fPIC", "-pthread"]);
    let program = compile("opener.c", folder.path(), &[]);
    let mut child =
        Command::new(program).arg(library).env("LD_PRELOAD", boot_library()).spawn().unwrap();
    let begun = std::time::Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > LONG {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(status.code(), Some(0));
}

/// One image of a simple program, and the job to restore it with.
fn one_image(folder: &Path, data: &Path) -> (Job, Vec<u8>) {
    let program = compile("churn.c", folder, &[]);
    let data = data.canonicalize().unwrap();
    let job = Job::new(program, &["1500", data.to_str().unwrap()]);
    let process = job.start(0, None);
    process.report(LONG).unwrap();
    std::thread::sleep(Duration::from_millis(30));
    let arriving = process.ask(1);
    assert_eq!(process.report(LONG).unwrap().result, 0);
    let image = raw(&arriving.join().unwrap().unwrap());
    assert_eq!(process.end(LONG).code, Some(3));
    (job, image)
}

fn restore(job: &Job, image: &[u8]) -> End {
    job.start(1, Some(image)).end(LONG)
}

fn refused(end: &End, code: i32, words: &str) {
    assert_eq!(end.code, Some(code), "{end:?}");
    assert!(end.out.is_empty() && end.err.lines().count() == 1, "{end:?}");
    assert!(end.err.starts_with("ftmpi: rank 5: ") && end.err.contains(words), "{end:?}");
}

#[test]
fn damaged_and_foreign_images_are_refused() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (job, image) = one_image(folder.path(), data.path());
    let end = restore(&job, &image);
    assert_eq!(end.code, Some(3), "{end:?}");
    for cut in [0, 10, 31, 32, 500, 5000, 20_000, image.len() / 2, image.len() - 1] {
        refused(&restore(&job, &image[..cut]), EXIT_IMAGE_DAMAGED, "image");
    }
    let mut noise = image.clone();
    noise[40] = 0xff; // page size, in the process state
    noise[41] = 0xff;
    for (at, code, words) in [
        (0, EXIT_IMAGE_DAMAGED, "no image"),
        (24, EXIT_IMAGE_DAMAGED, "parts"),
        (32, EXIT_IMAGE_MISFIT, "another version"),
        (40, EXIT_IMAGE_MISFIT, "another machine"),
        (image.len() - 8, EXIT_IMAGE_DAMAGED, "damaged"),
        (image.len() - 16, EXIT_IMAGE_DAMAGED, "damaged"),
    ] {
        let mut wrong = image.clone();
        wrong[at] ^= 0x55;
        refused(&restore(&job, &wrong), code, words);
    }
    // As an earlier version made it, with a shorter process state.
    let mut earlier = image.clone();
    let len = u64::from_le_bytes(image[24..32].try_into().unwrap());
    earlier[24..32].copy_from_slice(&(len - 8).to_le_bytes());
    earlier[32] = 4;
    earlier.drain(32 + len as usize - 8..32 + len as usize);
    refused(&restore(&job, &earlier), EXIT_IMAGE_MISFIT, "another version");
    let mut other = job.clone();
    other.stack.soft = 16 << 20;
    refused(&restore(&other, &image), EXIT_IMAGE_MISFIT, "limit on the stack");
    // Another build of the program under the same name.
    let program = std::fs::read(&job.program).unwrap();
    let mut patched = program.clone();
    let last = patched.len() - 1;
    patched[last] ^= 1;
    std::fs::write(&job.program, &patched).unwrap();
    refused(&restore(&job, &image), EXIT_IMAGE_MISFIT, "is not the file");
    std::fs::write(&job.program, &program).unwrap();
    assert_eq!(restore(&job, &image).code, Some(3));
    // A file that the program had open is gone.
    std::fs::remove_file(data.path().join("log")).unwrap();
    assert_eq!(restore(&job, &image).code, Some(3), "the agent has kept it");
    job.kept.lock().unwrap().clear();
    refused(&restore(&job, &image), EXIT_IMAGE_FILE_GONE, "was removed or renamed since");
}

#[test]
fn children_and_shells_do_not_notice_the_library() {
    let sane = |command: &mut Command| {
        let output = command.env("LD_PRELOAD", boot_library()).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let shell = "echo x | cat; sleep 0.01; grep -c 10000000000- /proc/self/maps; true";
    assert_eq!(sane(Command::new("sh").args(["-c", shell])), "x\n0\n");
    // A variable without the descriptors, and values that are no variable.
    let (rank, incarnation) = (Rank(1), Incarnation(0));
    let env = RankEnv {
        rank,
        incarnation,
        restore: true,
        standby: false,
        died: 0,
        together: false,
        program: 0,
    };
    for value in [env.encode().as_str(), "x", ""] {
        let shell = "echo ok";
        let command = &mut Command::new("sh");
        assert_eq!(sane(command.env("FTMPI_RANK", value).args(["-c", shell])), "ok\n");
    }
}

#[test]
fn the_restorer_needs_nothing_but_itself() {
    // The section holds code without relocations and without references out of it: everything else
    // is unmapped while the code runs.
    let output = Command::new("objdump")
        .args(["-d", "--no-show-raw-insn", "-j", "ftmpi_restorer"])
        .arg(boot_library())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("<ftmpi_restorer_main>:"), "{text}");
    let mut addresses = Vec::new();
    let mut targets = Vec::new();
    for line in text.lines() {
        let Some((address, code)) = line.split_once(":\t") else { continue };
        addresses.push(u64::from_str_radix(address.trim(), 16).unwrap());
        for bad in ["(%rip)", "%fs:", "%gs:", "%xmm", "%ymm"] {
            assert!(!code.contains(bad), "{line}");
        }
        let mut words = code.split_whitespace();
        let name = words.next().unwrap_or("");
        let operand = words.next().unwrap_or("");
        if name == "call" || name.starts_with('j') {
            if let Ok(target) = u64::from_str_radix(operand, 16) {
                targets.push((target, line));
            } else {
                // The only other jump is the one into the restored process.
                assert!(name == "jmp" && operand.starts_with("*%r"), "{line}");
            }
        }
    }
    let (first, last) = (addresses[0], *addresses.last().unwrap());
    for (target, line) in targets {
        assert!((first..=last).contains(&target), "{line}");
    }
}
