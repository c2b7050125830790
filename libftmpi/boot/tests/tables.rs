//! Gives images with changed tables to new processes. The process ends with one line and one of
//! the two documented codes, or runs on as if nothing were. It never gets a signal, ends with
//! another code, or hangs.

mod driver;

use driver::{End, Job, compile, parts, raw, sign};
use ftmpi_checkpoint::boot_abi::{
    EXIT_IMAGE_DAMAGED, EXIT_IMAGE_MISFIT, RESERVED_AREA_BASE, WINDOW_BASE,
};
use ftmpi_checkpoint::stream::{
    Descriptor, File, FileLock, Map, ProcessState, Range as MemoryRange, RecordHeader, Signal,
    Thread, Timer, Watch, kind,
};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::mem::offset_of;
use std::ops::Range;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);
/// A restore of so small an image takes milliseconds.
const HANGS: Duration = Duration::from_secs(20);
const HEADER: usize = size_of::<RecordHeader>();

/// Places in a structure (an offset) and their lengths in bytes.
type Words = &'static [(usize, usize)];

macro_rules! words {
    ($type:ident; $($field:ident $(+ $more:literal)?: $bytes:literal),*) => {
        &[$((offset_of!($type, $field) $(+ $more)?, $bytes)),*]
    };
}

/// The words that decide what the restore does: kind of the table, size of an entry, places in it.
/// What only the program uses is left out: the contents of its mappings, its limits, its handlers.
#[rustfmt::skip]
const DECIDING: [(u32, usize, Words); 10] = [
    (kind::PROCESS, size_of::<ProcessState>(), words![ProcessState;
        cwd: 4, cwd + 4: 4, executable: 4, executable + 4: 4, descriptors: 4, files: 4, maps: 4,
        strings_len: 4, threads: 4, posix_timers: 4, contents: 4, signals: 4, locks: 4, ranges: 4, watches: 4,
        umask: 4, heap_start: 8, heap_end: 8, resume_ip: 8, stack_end: 8, vdso_hash: 8, vvar_start: 8,
        vdso_start: 8, vdso_end: 8, inside_vdso: 4,
        processor: 8, timers: 8, timers + 24: 8
    ]),
    (kind::DESCRIPTORS, size_of::<Descriptor>(), words![Descriptor;
        fd: 4, how: 4, other: 4, open_flags: 4, mode: 4, path: 4, path + 4: 4, offset: 8, size: 8,
        owner: 4, owner_tid: 4, signal: 4, seals: 4, state: 8, state + 8: 8, state + 16: 8,
        state + 24: 8
    ]),
    (kind::FILES, size_of::<File>(), words![File;
        path: 4, path + 4: 4, size: 8, nameless: 4
    ]),
    (kind::MAPS, size_of::<Map>(), words![Map;
        start: 8, end: 8, reserved: 4
    ]),
    (kind::THREADS, size_of::<Thread>(), words![Thread;
        resume: 8, resume + 8: 8, fs_base: 8, gs_base: 8, tid_address: 8, robust_head: 8,
        robust_len: 8, rseq_address: 8, rseq_len: 8, altstack: 8, notes: 8, nice: 4
    ]),
    (kind::TIMERS, size_of::<Timer>(), words![Timer;
        id: 4, notify: 4, signal: 4, tid: 4, clock: 4, words: 8, words + 24: 8
    ]),
    (kind::SIGNALS, size_of::<Signal>(), words![Signal;
        tid: 4, number: 4, info: 8, info + 8: 8
    ]),
    (kind::LOCKS, size_of::<FileLock>(), words![FileLock;
        fd: 4, kind: 4, writes: 4, start: 8, len: 8
    ]),
    (kind::RANGES, size_of::<MemoryRange>(), words![MemoryRange;
        start: 8, end: 8, reserved: 4
    ]),
    (kind::WATCHES, size_of::<Watch>(), words![Watch;
        holder: 4, target: 4, file: 4, events: 4
    ]),
];

/// Where the deciding words lie in an image: offset and length.
fn fields(parts: &BTreeMap<u32, Range<usize>>) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    for (kind, size, words) in DECIDING {
        let table = parts[&kind].clone();
        assert!(!table.is_empty() && table.len().is_multiple_of(size), "kind {kind}");
        for entry in table.step_by(size) {
            out.extend(words.iter().map(|(at, bytes)| (entry + at, *bytes)));
        }
    }
    // The header of the first contents: their place and their length.
    out.extend([16, 24].map(|at| (parts[&kind::CONTENTS].start - HEADER + at, 8)));
    out
}

/// A word that an attacker might write, or that is wrong by one.
fn hostile(rng: &mut StdRng, old: u64, bytes: usize) -> u64 {
    let absolute = [
        0,
        2,
        9,
        4095,
        4096,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        RESERVED_AREA_BASE as u64,
        WINDOW_BASE as u64,
        0x7fff_ffff_f000,
        0xffff_8000_0000_0000,
        i64::MAX as u64,
        u64::MAX - 1,
        u64::MAX,
        old.wrapping_add(1),
        old.wrapping_sub(1),
        old << 48,
        !old,
    ];
    let word = *absolute.choose(rng).unwrap();
    if bytes == 4 { word & 0xffff_ffff } else { word }
}

fn is_refusal(end: &End) -> bool {
    matches!(end.code, Some(EXIT_IMAGE_DAMAGED | EXIT_IMAGE_MISFIT))
        && end.out.is_empty()
        && end.err.lines().count() == 1
        && end.err.starts_with("ftmpi: rank 5: ")
}

fn is_restored(end: &End) -> bool {
    end.code == Some(3) && end.err.is_empty()
}

/// Whether the program runs again and notices that its descriptors are others. A checker cannot
/// object to a standard stream that is a duplicate of another one.
fn notices(end: &End) -> bool {
    end.code == Some(98) && end.err.lines().count() == 1 && end.err.ends_with("restores 1)\n")
}

#[test]
fn wrong_tables_are_refused_or_do_no_harm() {
    let seed = std::env::var("FTMPI_SEED").ok().and_then(|s| s.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| rand::rng().random());
    println!("FTMPI_SEED={seed}");
    let cases = std::env::var("FTMPI_CASES").ok().and_then(|s| s.parse().ok()).unwrap_or(150);
    let mut rng = StdRng::seed_from_u64(seed);
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let program = compile("rich.c", folder.path(), &["-pthread", "-lrt"]);
    let data = data.path().canonicalize().unwrap();
    let job = Job::new(program, &[data.to_str().unwrap()]);
    let mut process = job.start(0, None);
    assert_eq!(process.report(LONG).unwrap().result, 2);
    let arriving = process.ask(1);
    let report = process.report(LONG).unwrap();
    assert_eq!(report.result, 0, "{}", report.why());
    let image = raw(&arriving.join().unwrap().unwrap());
    process.kill();
    process.end(LONG);
    let end = job.start(1, Some(&image)).end(LONG);
    assert!(is_restored(&end), "{end:?}");

    let parts = parts(&image);
    // A byte that was changed on the way: the image is never restored. Headers are included.
    let tables_end = parts[&kind::LAST_TABLE].end;
    for _ in 0..cases / 3 {
        let at = rng.random_range(0..tables_end);
        let mut wrong = image.clone();
        wrong[at] ^= rng.random_range(1..=255u8);
        let end = job.start(1, Some(&wrong)).end(HANGS);
        assert!(is_refusal(&end), "byte {at}: {end:?}");
    }
    // Changed words with a matching digest.
    let fields = fields(&parts);
    let (mut refused, mut restored) = (0, 0);
    for _ in 0..cases {
        let &(at, bytes) = fields.choose(&mut rng).unwrap();
        let mut word = [0; 8];
        word[..bytes].copy_from_slice(&image[at..at + bytes]);
        let new = hostile(&mut rng, u64::from_le_bytes(word), bytes);
        let mut wrong = image.clone();
        wrong[at..at + bytes].copy_from_slice(&new.to_le_bytes()[..bytes]);
        sign(&mut wrong, &parts);
        let end = job.start(1, Some(&wrong)).end(HANGS);
        let (part, range) = parts.iter().rfind(|(_, range)| range.start - HEADER <= at).unwrap();
        let place = at as isize - range.start as isize;
        let what = format!("kind {part}, byte {place}: {word:x?} became {new:#x}: {end:?}");
        let noticed = *part == kind::DESCRIPTORS && notices(&end);
        assert!(is_refusal(&end) || is_restored(&end) || noticed, "{what}");
        refused += usize::from(is_refusal(&end));
        restored += usize::from(is_restored(&end) || noticed);
    }
    println!("{refused} refused, {restored} restored");
    assert!(refused > cases / 4, "{refused} of {cases} refused: do they arrive at all?");
}
