//! Journals against a model: after any changes, a file returns to its contents at the wave.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const JOB: u64 = 77;

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("ftmpi-undo-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// What a program can see.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap());
        let name = |entry: &fs::DirEntry| entry.file_name().into_string().unwrap();
        let seen = entries.filter(|entry| !name(entry).starts_with('.'));
        seen.map(|entry| (name(&entry), fs::read(entry.path()).unwrap())).collect()
    }

    fn hidden(&self) -> usize {
        let entries = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap());
        entries.filter(|e| e.file_name().to_str().unwrap().starts_with('.')).count()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[derive(Debug, Clone)]
enum Step {
    Write {
        rank: usize,
        file: usize,
        at: u64,
        len: usize,
        byte: u8,
    },
    Resize {
        rank: usize,
        file: usize,
        length: u64,
    },
    Delete {
        rank: usize,
        file: usize,
    },
    /// All ranks take an image.
    Wave,
    /// The newest wave is committed, the one before it is kept, or not.
    Commit {
        keep: bool,
    },
    /// A rank dies: all return, to the newest committed wave or the one before it.
    Return {
        older: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let rank = 0..3usize;
    let file = 0..2usize;
    prop_oneof![
        8 => (rank.clone(), file.clone(), 0..60u64, 1..40usize, any::<u8>())
            .prop_map(|(rank, file, at, len, byte)| Step::Write { rank, file, at, len, byte }),
        2 => (rank.clone(), file.clone(), 0..80u64)
            .prop_map(|(rank, file, length)| Step::Resize { rank, file, length }),
        2 => (rank, file).prop_map(|(rank, file)| Step::Delete { rank, file }),
        2 => Just(Step::Wave),
        2 => any::<bool>().prop_map(|keep| Step::Commit { keep }),
        1 => any::<bool>().prop_map(|older| Step::Return { older }),
    ]
}

fn write(journals: &mut Journals, path: &Path, at: u64, bytes: &[u8]) {
    if !path.exists() {
        journals.creates(path).unwrap();
    }
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path).unwrap();
    journals.opened(path).unwrap();
    journals.writes(path, &file, at, bytes.len() as u64).unwrap();
    file.write_all_at(bytes, at).unwrap();
}

fn journals_of_both(incarnation: u32, wave: u64) -> Vec<Journals> {
    (0..3).map(|rank| Journals::new(JOB, Author { rank, incarnation, wave })).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn files_return_with_their_ranks(steps in proptest::collection::vec(step(), 1..60)) {
        let folder = Folder::new();
        let path = |file: usize| folder.0.join(format!("data{file}"));
        fs::write(path(0), b"there before the job began").unwrap();
        let (mut incarnation, mut wave, mut committed) = (0, 0u64, vec![0u64]);
        let mut taken = 0;
        let mut seen = BTreeMap::from([(0, folder.files())]);
        let mut ranks = journals_of_both(0, 0);
        for step in steps {
            match step {
                Step::Write { rank, file, at, len, byte } => {
                    write(&mut ranks[rank], &path(file), at, &vec![byte; len]);
                }
                Step::Resize { rank, file, length } => {
                    let Ok(open) = OpenOptions::new().write(true).open(path(file)) else { continue };
                    ranks[rank].opened(&path(file)).unwrap();
                    ranks[rank].resizes(&path(file), &open, length).unwrap();
                    open.set_len(length).unwrap();
                }
                Step::Delete { rank, file } if path(file).exists() => {
                    ranks[rank].delete(&path(file), file == 1).unwrap();
                }
                Step::Delete { .. } => {}
                Step::Wave => {
                    wave += 1;
                    taken = wave;
                    seen.insert(wave, folder.files());
                    ranks.iter_mut().for_each(|rank| rank.image(wave));
                }
                Step::Commit { keep } => {
                    if *committed.last().unwrap() < taken {
                        committed.push(taken);
                    }
                    let kept = if keep { 2 } else { 1 };
                    let oldest = committed[committed.len().saturating_sub(kept)];
                    committed.retain(|&wave| wave >= oldest);
                    for rank in &mut ranks {
                        rank.committed(oldest).unwrap();
                    }
                }
                Step::Return { older } => {
                    if older && committed.len() > 1 {
                        committed.pop();
                    }
                    let to = *committed.last().unwrap();
                    incarnation += 1;
                    taken = to;
                    // Every agent rolls back; the first one finds changes.
                    for _ in 0..2 {
                        for file in 0..2 {
                            roll_back(&path(file), JOB, to, &|_, of| of < incarnation).unwrap();
                        }
                    }
                    prop_assert_eq!(&folder.files(), &seen[&to]);
                    ranks = journals_of_both(incarnation, to);
                }
            }
        }
        let now = folder.files();
        for file in 0..2 {
            forget(&path(file), JOB).unwrap();
        }
        prop_assert_eq!(folder.files(), now);
        prop_assert_eq!(folder.hidden(), 0);
    }
}

#[test]
fn what_was_written_before_the_cut_stays_when_a_later_change_of_an_earlier_image_is_undone() {
    let folder = Folder::new();
    let path = folder.0.join("data");
    fs::write(&path, b"0123").unwrap();
    // Rank 0 has taken its image of wave 1, rank 1 has not yet.
    let mut early = Journals::new(JOB, Author { rank: 0, incarnation: 0, wave: 1 });
    let mut late = Journals::new(JOB, Author { rank: 1, incarnation: 0, wave: 0 });
    write(&mut early, &path, 4, b"xxxx");
    write(&mut late, &path, 10, b"kept");
    late.committed(1).unwrap();
    roll_back(&path, JOB, 1, &|_, incarnation| incarnation == 0).unwrap();
    let bytes = fs::read(&path).unwrap();
    assert_eq!((&bytes[..4], &bytes[10..]), (&b"0123"[..], &b"kept"[..]));
}

#[test]
fn a_write_that_is_under_way_elsewhere_keeps_its_length() {
    let folder = Folder::new();
    let path = folder.0.join("data");
    fs::write(&path, b"0123").unwrap();
    let open = OpenOptions::new().write(true).open(&path).unwrap();
    let mut late = Journals::new(JOB, Author { rank: 1, incarnation: 0, wave: 0 });
    let mut early = Journals::new(JOB, Author { rank: 0, incarnation: 0, wave: 1 });
    // Rank 1 has saved what it will write, and is at the first half of it when rank 0 writes
    // behind.
    late.writes(&path, &open, 4, 8).unwrap();
    open.write_all_at(b"half", 4).unwrap();
    early.writes(&path, &open, 12, 4).unwrap();
    open.write_all_at(b"past", 12).unwrap();
    open.write_all_at(b"rest", 8).unwrap();
    late.committed(1).unwrap();
    roll_back(&path, JOB, 1, &|_, incarnation| incarnation == 0).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"0123halfrest");
}

#[test]
fn what_was_written_before_the_cut_stays_in_what_a_later_change_has_made() {
    let author = |rank, wave| Author { rank, incarnation: 0, wave };
    let returned = |changes: &dyn Fn(&mut Journals, &mut Journals, &Path)| {
        let folder = Folder::new();
        let path = folder.0.join("data");
        // Rank 0 has taken its image of wave 1, rank 1 has not yet.
        let mut early = Journals::new(JOB, author(0, 1));
        let mut late = Journals::new(JOB, author(1, 0));
        changes(&mut early, &mut late, &path);
        late.committed(1).unwrap();
        roll_back(&path, JOB, 1, &|_, incarnation| incarnation == 0).unwrap();
        fs::read(&path).ok()
    };
    let resize = |journals: &mut Journals, path: &Path, length: u64| {
        let file = OpenOptions::new().write(true).open(path).unwrap();
        journals.opened(path).unwrap();
        journals.resizes(path, &file, length).unwrap();
        file.set_len(length).unwrap();
    };
    // A rank that was too early made the file.
    let made = returned(&|early, late, path| {
        write(early, path, 0, b"early");
        write(late, path, 0, b"kept");
    });
    assert_eq!(made.as_deref(), Some(&b"kept"[..]));
    // The file was only opened.
    let opened = returned(&|early, late, path| {
        write(early, path, 0, b"early");
        late.opened(path).unwrap();
    });
    assert_eq!(opened.as_deref(), Some(&b""[..]));
    // Both ranks found that there was no file.
    let both = returned(&|early, late, path| {
        early.creates(path).unwrap();
        late.creates(path).unwrap();
        fs::write(path, b"").unwrap();
    });
    assert_eq!(both.as_deref(), Some(&b""[..]));
    let nobody = returned(&|early, _, path| write(early, path, 0, b"early"));
    assert_eq!(nobody, None);
    // A range before one by which the file had grown.
    let before = returned(&|early, late, path| {
        fs::write(path, b"01").unwrap();
        write(early, path, 10, b"early");
        write(late, path, 2, b"kept");
    });
    assert_eq!(before.as_deref(), Some(&b"01kept"[..]));
    // After the end of what was cut, and before a cut that stays.
    let behind = returned(&|early, late, path| {
        fs::write(path, b"0123").unwrap();
        resize(early, path, 1);
        write(late, path, 6, b"kept");
    });
    assert_eq!(behind.as_deref(), Some(&b"0123\0\0kept"[..]));
    let cut = returned(&|early, late, path| {
        fs::write(path, b"01").unwrap();
        write(early, path, 2, b"early");
        resize(late, path, 1);
        write(late, path, 1, b"kept");
    });
    assert_eq!(cut.as_deref(), Some(&b"0kept"[..]));
}

#[test]
fn a_name_that_is_not_ours_is_left_alone() {
    let folder = Folder::new();
    let path = folder.0.join("data");
    fs::write(&path, b"0123").unwrap();
    let mut journals = Journals::new(JOB, Author { rank: 0, incarnation: 0, wave: 0 });
    let open = OpenOptions::new().write(true).open(&path).unwrap();
    fs::write(journal_of(&path).unwrap(), b"a diary").unwrap();
    assert!(journals.writes(&path, &open, 0, 1).is_err());
    assert_eq!(roll_back(&path, JOB, 0, &|_, _| true).unwrap(), 0);
    assert_eq!(fs::read(journal_of(&path).unwrap()).unwrap(), b"a diary");
    fs::remove_file(journal_of(&path).unwrap()).unwrap();
    std::os::unix::fs::symlink(&path, journal_of(&path).unwrap()).unwrap();
    assert!(journals.writes(&path, &open, 0, 1).is_err());
    assert_eq!(roll_back(&path, JOB, 0, &|_, _| true).unwrap(), 0);
    assert_eq!(fs::read(&path).unwrap(), b"0123");
}

#[test]
fn changes_of_incarnations_that_go_on_stay() {
    let folder = Folder::new();
    let path = folder.0.join("data");
    fs::write(&path, b"0123").unwrap();
    let mut old = Journals::new(JOB, Author { rank: 0, incarnation: 0, wave: 0 });
    write(&mut old, &path, 0, b"a");
    let is_over = |_: u32, incarnation: u32| incarnation == 0;
    assert_eq!(roll_back(&path, JOB, 0, &is_over).unwrap(), 1);
    let mut new = Journals::new(JOB, Author { rank: 0, incarnation: 1, wave: 0 });
    write(&mut new, &path, 1, b"b");
    assert_eq!(roll_back(&path, JOB, 0, &is_over).unwrap(), 0);
    assert_eq!(fs::read(&path).unwrap(), b"0b23");
}

#[test]
fn the_journal_of_another_job_is_not_ours() {
    let folder = Folder::new();
    let path = folder.0.join("data");
    fs::write(&path, b"0123").unwrap();
    let author = Author { rank: 0, incarnation: 0, wave: 0 };
    let mut theirs = Journals::new(JOB, author);
    write(&mut theirs, &path, 0, b"a");
    assert_eq!(roll_back(&path, JOB + 1, 0, &|_, _| true).unwrap(), 0);
    let mut ours = Journals::new(JOB + 1, author);
    write(&mut ours, &path, 1, b"b");
    assert_eq!(roll_back(&path, JOB + 1, 0, &|_, _| true).unwrap(), 1);
    assert_eq!(fs::read(&path).unwrap(), b"a123");
}

#[test]
fn a_record_that_was_half_written_is_none_and_a_damaged_one_is_an_error() {
    let folder = Folder::new();
    let path = folder.0.join("data");
    fs::write(&path, b"0123").unwrap();
    let mut journals = Journals::new(JOB, Author { rank: 0, incarnation: 0, wave: 0 });
    write(&mut journals, &path, 0, b"a");
    let journal = journal_of(&path).unwrap();
    let whole = fs::read(&journal).unwrap();
    let half = [whole.clone(), vec![7; 20]].concat();
    fs::write(&journal, &half).unwrap();
    assert_eq!(roll_back(&path, JOB, 0, &|_, _| true).unwrap(), 1);
    assert_eq!(fs::read(&path).unwrap(), b"0123");
    for place in 8..whole.len() {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x40;
        fs::write(&journal, &damaged).unwrap();
        fs::write(&path, b"a123").unwrap();
        // The result is the right contents or an error; or, for damage in the job's number, a file
        // of somebody else.
        let outcome = roll_back(&path, JOB, 0, &|_, _| true);
        let now = fs::read(&path).unwrap();
        assert!(now == b"0123" || now == b"a123", "{place}: {outcome:?} {now:?}");
    }
}

#[test]
fn a_copy_that_was_not_finished_is_none() {
    let folder = Folder::new();
    let path = folder.0.join("data");
    fs::write(&path, b"0123").unwrap();
    let author = Author { rank: 0, incarnation: 0, wave: 0 };
    // What a process leaves that dies while it deletes a file that it has open.
    let mut journal = Journal::open(&path, JOB, true).unwrap().unwrap();
    let hidden = journal.name_for_deleted(author);
    journal.append(author, &FileChange::Deleted { hidden: hidden.clone() }).unwrap();
    drop(journal);
    fs::write(path.with_file_name(format!("{hidden}.part")), b"01").unwrap();
    assert_eq!(roll_back(&path, JOB, 0, &|_, _| true).unwrap(), 1);
    assert_eq!(fs::read(&path).unwrap(), b"0123");
    forget(&path, JOB).unwrap();
    assert_eq!(folder.hidden(), 0);
    // A deletion that did finish.
    let mut journals = Journals::new(JOB, author);
    assert!(journals.delete(&path, true).is_ok());
    assert!(!path.exists());
    assert_eq!(roll_back(&path, JOB, 0, &|_, _| true).unwrap(), 1);
    assert_eq!(fs::read(&path).unwrap(), b"0123");
}

#[test]
fn a_journal_with_a_second_name_is_read_all_the_same() {
    let folder = Folder::new();
    let path = folder.0.join("data");
    fs::write(&path, b"0123").unwrap();
    let mut journals = Journals::new(JOB, Author { rank: 0, incarnation: 0, wave: 0 });
    write(&mut journals, &path, 0, b"a");
    fs::hard_link(journal_of(&path).unwrap(), folder.0.join("copy")).unwrap();
    assert_eq!(roll_back(&path, JOB, 0, &|_, _| true).unwrap(), 1);
    assert_eq!(fs::read(&path).unwrap(), b"0123");
}

#[test]
fn after_a_loss_of_power_a_journal_ends_where_it_can_be_read() {
    const DEEDS: usize = 60;
    const BLOCK: usize = 512;
    let folder = Folder::new();
    let path = folder.0.join("data");
    let before: Vec<u8> = (0..DEEDS as u8 * 2).collect();
    fs::write(&path, &before).unwrap();
    let mut journals = Journals::new(JOB, Author { rank: 0, incarnation: 0, wave: 0 });
    let open = OpenOptions::new().write(true).open(&path).unwrap();
    for change in 0..DEEDS as u64 {
        journals.writes(&path, &open, 2 * change, 2).unwrap();
        open.write_all_at(b"!!", 2 * change).unwrap();
    }
    let after = fs::read(&path).unwrap();
    let journal = journal_of(&path).unwrap();
    let here = fs::read(&journal).unwrap();
    let mut elsewhere = here.clone();
    elsewhere[record::BOOT_AT as usize] ^= 1;
    let record = record::RECORD + 2;
    let head = record::HEAD as usize;
    assert_eq!(here.len(), head + DEEDS * record);
    let undone = |bytes: &[u8]| {
        fs::write(&journal, bytes).unwrap();
        fs::write(&path, &after).unwrap();
        let count = roll_back(&path, JOB, 0, &|_, _| true)?;
        let now = fs::read(&path).unwrap();
        assert_eq!(now[..2 * count as usize], before[..2 * count as usize]);
        assert_eq!(now[2 * count as usize..], after[2 * count as usize..]);
        std::io::Result::Ok(count as usize)
    };
    for length in (head..here.len()).step_by(11) {
        assert_eq!(undone(&elsewhere[..length]).unwrap(), (length - head) / record);
        assert!(undone(&here[..length]).is_err());
    }
    for from in (BLOCK..here.len()).step_by(BLOCK) {
        let zeros = |bytes: &[u8]| [&bytes[..from], &vec![0; bytes.len() - from]].concat();
        assert_eq!(undone(&zeros(&elsewhere)).unwrap(), (from - head) / record);
        assert!(undone(&zeros(&here)).is_err());
    }
    // The head is older than the records.
    let mut old_head = elsewhere.clone();
    let end = (head + 3 * record) as u64;
    old_head[record::END_AT as usize..][..8].copy_from_slice(&end.to_le_bytes());
    assert_eq!(undone(&old_head).unwrap(), DEEDS);
    // Ranks of two hosts have written, and one host lost power, whichever host asks.
    let mut several = here.clone();
    several[record::BOOT_AT as usize..][..8].copy_from_slice(&[255; 8]);
    let cut = head + 7 * record + 5;
    assert_eq!(undone(&several[..cut]).unwrap(), 7);
    // The journal was recovered: the next record follows the last complete one, and the head says
    // so.
    let mended = fs::read(&journal).unwrap();
    assert_eq!(mended.len(), head + 7 * record);
    assert_eq!(mended[record::BOOT_AT as usize..][..8], here[record::BOOT_AT as usize..][..8]);
    assert_eq!(mended[record::END_AT as usize..][..8], (mended.len() as u64).to_le_bytes());
    // A rank of another host writes to a complete journal. That needs no look at the records, and
    // is noted.
    let mut other = here.clone();
    other[record::BOOT_AT as usize] ^= 1;
    other[head + record + 20] ^= 4;
    fs::write(&journal, &other).unwrap();
    let mut journals = Journals::new(JOB, Author { rank: 1, incarnation: 0, wave: 0 });
    journals.writes(&path, &open, 0, 1).unwrap();
    let saved = fs::read(&journal).unwrap();
    assert_eq!(saved[record::BOOT_AT as usize..][..8], [255; 8]);
    assert!(saved.len() > other.len());
    // Wrong bytes in the middle that are not zero are damage all the same.
    let mut damaged = elsewhere;
    damaged[head + 5 * record + 20] ^= 4;
    assert!(undone(&damaged).is_err());
}
