//! Programs in C, Fortran and Python survive deaths at arbitrary points, also when an image of a
//! restored process is restored.

mod driver;

use driver::torture::{LONG, generations, one_image, ordinary, seed, torture};
use driver::{Job, Process, compile, raw};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

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

#[test]
fn openmp_survives() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let program = compile("team.c", folder.path(), &["-fopenmp"]);
    let data_path = data.path().canonicalize().unwrap();
    let job = Job::new(program, &["400", data_path.to_str().unwrap()]);
    torture(&job, data.path(), generations(), seed());
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

/// The image child of a process.
fn image_child(parent: u32) -> Option<u32> {
    let is_child = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // Behind the name and the state.
        let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
        fields.split(' ').nth(1) == Some(&parent.to_string())
    };
    let names = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.to_str()?.parse().ok()).find(is_child)
}

/// MiB that a process has in memory.
fn resident(pid: u32) -> u64 {
    let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() >> 8
}

/// The image of a process of 96 MiB. What was read of it is the program's alone: the program need
/// not copy what it writes to there.
fn image_read_slowly(job: &Job) -> Vec<u8> {
    const MIB: usize = 1 << 20;
    let mut process = job.start(0, None);
    assert_eq!(process.report(LONG).unwrap().result, 2);
    let (mut read, write) = std::io::pipe().unwrap();
    process.request(1, write.as_raw_fd());
    drop(write);
    let (mut image, mut buffer) = (Vec::new(), vec![0; MIB]);
    while image.len() < 80 * MIB {
        let got = read.read(&mut buffer).unwrap();
        assert!(got > 0, "the image ends after {} bytes", image.len());
        image.extend_from_slice(&buffer[..got]);
    }
    let child = image_child(process.child.id()).expect("it waits for its reader");
    // It may not have been scheduled since.
    let until = Instant::now() + LONG;
    while resident(child) > 48 {
        assert!(Instant::now() < until, "the image child has {} MiB", resident(child));
        std::thread::sleep(Duration::from_millis(1));
    }
    read.read_to_end(&mut image).unwrap();
    assert_eq!(process.report(LONG).unwrap().result, 0);
    process.kill();
    process.end(LONG);
    image
}

/// Bytes that the image child has read of files when most of its image has been written.
fn read_for_image(process: &Process, number: u64) -> u64 {
    let (mut read, write) = std::io::pipe().unwrap();
    process.request(number, write.as_raw_fd());
    drop(write);
    let mut most = vec![0; 8 << 20];
    read.read_exact(&mut most).unwrap();
    // It waits for its reader.
    let child = image_child(process.child.id()).expect("the image is not read to its end");
    let counts = std::fs::read_to_string(format!("/proc/{child}/io")).unwrap();
    let bytes = counts.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse().ok());
    read.read_to_end(&mut most).unwrap();
    assert_eq!(process.report(LONG).unwrap().result, 0);
    bytes.unwrap()
}

#[test]
fn only_the_first_image_reads_the_program_and_its_libraries() {
    let folder = tempfile::tempdir().unwrap();
    let job = Job::new(compile("large.c", folder.path(), &[]), &["12", "100000"]);
    let mut process = job.start(0, None);
    assert_eq!(process.report(LONG).unwrap().result, 2);
    let [first, second, third] = [1, 2, 3].map(|number| read_for_image(&process, number));
    process.kill();
    process.end(LONG);
    // The C library alone has more. The program is new, and is read twice.
    assert!(first > 1 << 20, "{first} bytes");
    assert!(second.max(third) < first / 4, "{first}, then {second} and {third} bytes");
}

#[test]
fn large_images() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("large.c", folder.path(), &[]);
    for megabytes in ["10", "96"] {
        let job = Job::new(program.clone(), &[megabytes, "20"]);
        let expected = job.start(0, None).end(LONG).out;
        let image = if megabytes == "10" { one_image(&job) } else { image_read_slowly(&job) };
        let process = job.start(1, Some(&image));
        assert_eq!(process.report(LONG).unwrap().result, 1);
        let end = process.end(LONG);
        assert_eq!((end.code, &end.out), (Some(3), &expected), "{end:?}");
    }
}

#[test]
fn useless_memory_stays_out() {
    let folder = tempfile::tempdir().unwrap();
    let job = Job::new(compile("useless.c", folder.path(), &[]), &[]);
    let mut process = job.start(0, None);
    process.report(LONG).unwrap();
    let arriving = process.ask(1);
    assert_eq!(process.report(LONG).unwrap().result, 0);
    let image = raw(&arriving.join().unwrap().unwrap());
    assert!(image.len() < 16 << 20, "{} bytes", image.len());
    // The program looks through its memory meanwhile.
    std::thread::sleep(Duration::from_millis(100));
    process.kill();
    process.end(LONG);
    let process = job.start(1, Some(&image));
    assert_eq!(process.report(LONG).unwrap().result, 1);
    let end = process.end(LONG);
    assert_eq!(end.code, Some(3), "{end:?}");
}
