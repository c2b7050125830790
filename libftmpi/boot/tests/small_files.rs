//! A small file that the program changes in place returns with the rank, or stays as it is and one
//! line tells.

mod driver;

use driver::torture::{LONG, one_image};
use driver::{End, Job, compile, parts, sign};
use ftmpi_checkpoint::boot_abi::EXIT_IMAGE_MISFIT;
use ftmpi_checkpoint::stream::{ProcessState, kind};
use std::fs::{File, OpenOptions};
use std::mem::offset_of;
use std::path::PathBuf;
use std::process::Command;

/// A rank with the file `base`, which had the text `image` at the image.
struct Case {
    job: Job,
    image: Vec<u8>,
    _folder: tempfile::TempDir,
    data: tempfile::TempDir,
}

impl Case {
    /// Starts the rank, takes its image and kills it.
    fn take(together: bool) -> Self {
        let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let program = compile("keeper.c", folder.path(), &[]);
        let mut job = Job::new(program, &[data.path().to_str().unwrap()]);
        job.together = together;
        let image = one_image(&job);
        Self { job, image, _folder: folder, data }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.data.path().join(name)
    }

    /// What the rank did after its image, or somebody else.
    fn write(&self, text: &str) {
        std::fs::write(self.at("base"), text).unwrap();
    }

    fn restore(&self) -> End {
        self.job.start(1, Some(&self.image)).end(LONG)
    }

    /// The file has come back.
    fn comes_back(&self) {
        let end = self.restore();
        assert_eq!((end.code, &*end.out, &*end.err), (Some(0), "image", ""), "{end:?}");
        assert_eq!(std::fs::read_to_string(self.at("base")).unwrap(), "image");
    }

    /// The file stays as it is, and the line has this text.
    fn stays(&self, text: &str, line: &str) {
        let end = self.restore();
        assert_eq!((end.code, &*end.out), (Some(0), text), "{end:?}");
        assert!(end.err.contains(line) && end.err.lines().count() == 1, "{end:?}");
        assert!(end.err.contains("may read later data than it wrote before its image"), "{end:?}");
        assert_eq!(std::fs::read_to_string(self.at("base")).unwrap(), text);
    }

    /// The same image, from an earlier start of this host.
    fn of_another_boot(&mut self) {
        let at = parts(&self.image)[&kind::PROCESS].start + offset_of!(ProcessState, boot);
        self.image[at] ^= 1;
        let parts = parts(&self.image);
        sign(&mut self.image, &parts);
    }

    fn has_contents(&self) -> bool {
        parts(&self.image).contains_key(&kind::CONTENTS)
    }
}

#[test]
fn a_small_file_returns_with_all_ranks() {
    let case = Case::take(true);
    assert!(case.has_contents());
    let then = std::fs::metadata(case.at("base")).unwrap().modified().unwrap();
    for text in ["later", "longer text", "x", ""] {
        case.write(text);
        case.comes_back();
    }
    // Size and time do not tell that it is the same.
    case.write("later");
    OpenOptions::new().write(true).open(case.at("base")).unwrap().set_modified(then).unwrap();
    case.comes_back();
    // Only the time is another one: nothing to tell, whoever has the file open.
    case.write("image");
    let _other = File::open(case.at("base")).unwrap();
    case.comes_back();
}

#[test]
fn a_file_stays_where_ranks_go_on() {
    let case = Case::take(false);
    assert!(!case.has_contents(), "no restore would use them");
    case.write("later");
    case.stays("later", "ranks that have not returned may have written to it");
    // Also if an image has the contents.
    let mut case = Case::take(true);
    case.job.together = false;
    case.write("later");
    case.stays("later", "ranks that have not returned may have written to it");
    case.write("image");
    case.comes_back();
}

#[test]
fn a_data_base_with_a_journal_beside_it_stays() {
    for end in ["-journal", "-wal", "-shm"] {
        let case = Case::take(true);
        case.write("later and longer");
        std::fs::write(case.at(&format!("base{end}")), "").unwrap();
        case.stays("later and longer", "a journal of it tells of later changes");
        std::fs::remove_file(case.at(&format!("base{end}"))).unwrap();
        case.comes_back();
    }
}

#[test]
fn a_file_that_others_have_open_stays() {
    let case = Case::take(true);
    case.write("later and longer");
    let other = File::open(case.at("base")).unwrap();
    case.stays("later and longer", "others have it open");
    drop(other);
    case.comes_back();
}

/// Also if they have closed it since: the image knows that they had it open.
#[test]
fn a_file_that_others_had_open_at_the_image_stays() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let program = compile("keeper.c", folder.path(), &[]);
    let job = Job::new(program, &[data.path().to_str().unwrap()]);
    let mut process = job.start(0, None);
    assert_eq!(process.report(LONG).unwrap().result, 2);
    let other = File::open(data.path().join("base")).unwrap();
    let arriving = process.ask(1);
    assert_eq!(process.report(LONG).unwrap().result, 0);
    let image = driver::raw(&arriving.join().unwrap().unwrap());
    process.kill();
    process.end(LONG);
    drop(other);
    let case = Case { job, image, _folder: folder, data };
    assert!(!case.has_contents());
    case.write("later");
    case.stays("later", "was open more than once when it was taken");
}

#[test]
fn elsewhere_only_the_file_of_the_image_returns() {
    let mut case = Case::take(true);
    case.of_another_boot();
    case.job.kept.lock().unwrap().clear();
    case.write("later");
    case.comes_back();
    // Another file at the path, which was made since.
    std::fs::remove_file(case.at("base")).unwrap();
    case.write("other");
    case.stays("other", "is another file: it is not known to be the one of the image here");
}

/// The disk is full meanwhile. Needs a root user, for a disk of its own.
#[test]
fn a_file_that_cannot_be_written_is_named() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mount = |args: &[&str]| Command::new(args[0]).args(&args[1..]).arg(data.path()).status();
    let disk = mount(&["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs"]);
    if !disk.is_ok_and(|status| status.success()) {
        println!("skipped: nothing can be mounted");
        return;
    }
    let program = compile("keeper.c", folder.path(), &[]);
    let job = Job::new(program, &[data.path().to_str().unwrap(), "100000"]);
    let image = one_image(&job);
    let base = data.path().join("base");
    std::fs::write(&base, "later").unwrap();
    let full = std::fs::write(data.path().join("others"), vec![1; 1 << 20]);
    let refused = job.start(1, Some(&image)).end(LONG);
    std::fs::remove_file(data.path().join("others")).unwrap();
    let restored = job.start(2, Some(&image)).end(LONG);
    let back = std::fs::read(&base);
    job.kept.lock().unwrap().clear();
    assert!(full.is_err());
    // A process that another test starts has our descriptors until it executes its program.
    let begun = std::time::Instant::now();
    while !mount(&["umount"]).is_ok_and(|status| status.success()) {
        assert!(begun.elapsed() < LONG, "something keeps a file of the disk open");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(refused.code, Some(EXIT_IMAGE_MISFIT), "{refused:?}");
    assert!(refused.err.contains("base cannot get back the contents"), "{refused:?}");
    assert!(refused.err.contains("no space left"), "{refused:?}");
    assert_eq!((restored.code, &*restored.out, &*restored.err), (Some(0), "image", ""));
    let back = back.unwrap();
    assert!(back.len() == 100_005 && back.starts_with(b"image"));
}
