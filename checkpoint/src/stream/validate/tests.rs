use super::*;
use proptest::prelude::*;

const NOTES: u64 = 512;
const RSEQ: (u64, u64) = (0x1a0, 32);
const RESERVED: [(u64, u64); 3] = [
    (0x100_0000_0000, 0x100_0200_0000),
    (0x7000_0000, 0x7000_4000),
    (0x7fff_ef00_0000, 0x7fff_ef7f_0000),
];

/// Tables of one's own, to be changed.
#[derive(Debug, Clone)]
struct Image {
    process: ProcessState,
    descriptors: Vec<Descriptor>,
    files: Vec<File>,
    maps: Vec<Map>,
    strings: Vec<u8>,
    threads: Vec<Thread>,
    timers: Vec<Timer>,
    signals: Vec<Signal>,
    locks: Vec<FileLock>,
    ranges: Vec<Range>,
    watches: Vec<Watch>,
}

impl Image {
    fn tables(&self) -> Tables<'_> {
        Tables {
            process: &self.process,
            descriptors: &self.descriptors,
            files: &self.files,
            maps: &self.maps,
            strings: &self.strings,
            threads: &self.threads,
            timers: &self.timers,
            signals: &self.signals,
            locks: &self.locks,
            ranges: &self.ranges,
            watches: &self.watches,
        }
    }
}

fn here() -> Here<'static> {
    Here {
        reserved: &RESERVED,
        stack_end: 0x7fff_f000_0000,
        stack_limit: 8 << 20,
        descriptors_end: 1000,
        rseq: RSEQ,
        notes_bytes: NOTES,
    }
}

/// `ProcessState` of zeros.
fn no_state() -> ProcessState {
    ProcessState {
        version: super::super::STREAM_VERSION,
        size: size_of::<ProcessState>() as u32,
        arch: super::super::ARCH_X86_64,
        page_bytes: 4096,
        boot: 7,
        image_no: 1,
        rank: 0,
        incarnation: 0,
        pid: 1,
        umask: 0,
        heap_start: 0x60_0000,
        heap_end: 0x60_2000,
        vvar_start: 0,
        vdso_start: 0,
        vdso_end: 0,
        vdso_hash: 0,
        vdso_functions: [0; super::super::VDSO_FUNCTIONS.len()],
        inside_vdso: 0,
        reserved_vdso: 0,
        stack_end: 0,
        places: [0; super::super::PLACES],
        stack_limit: 0,
        window_len: 0,
        processor: Default::default(),
        resume_ip: 0x40_0010,
        limits: [[0; 2]; super::super::LIMITS],
        limits_at_start: [[0; 2]; super::super::LIMITS],
        affinity_at_start: [0; super::super::AFFINITY_WORDS],
        nice_at_start: 0,
        reserved: 0,
        thread_attributes_at_start: Default::default(),
        attributes: Default::default(),
        attributes_at_start: Default::default(),
        timers: Default::default(),
        actions: [Default::default(); 64],
        cwd: Text { offset: 0, len: 4 },
        executable: Text { offset: 5, len: 6 },
        descriptors: 0,
        files: 0,
        maps: 0,
        strings_len: 0,
        threads: 0,
        posix_timers: 0,
        contents: 0,
        signals: 0,
        locks: 0,
        ranges: 0,
        watches: 0,
        reserved_too: 0,
        digest: 0,
    }
}

fn image() -> Image {
    let name = Text { offset: 12, len: 4 };
    let one = |fd, how| Descriptor { fd, how, path: name, mode: REGULAR, ..Descriptor::default() };
    let other = |fd, how, other| Descriptor { other, ..one(fd, how) };
    let map = |start, end, file, prot, flags| Map {
        start,
        end,
        offset: 0,
        file,
        prot,
        flags,
        reserved: 0,
    };
    let thread = |tid, block: u64, stack| Thread {
        tid,
        resume: [stack, 0x40_0100],
        fs_base: block,
        tid_address: block + 720,
        rseq_address: block + RSEQ.0,
        rseq_len: RSEQ.1,
        notes: block + 0x200,
        ..Thread::default()
    };
    Image {
        process: no_state(),
        descriptors: vec![
            one(0, descriptor::KEEP),
            other(1, descriptor::STREAM, 2),
            one(3, descriptor::REOPEN),
            other(4, descriptor::DUPLICATE, 3),
            Descriptor { size: 8192, ..one(5, descriptor::RECREATE) },
            other(6, descriptor::AGAIN, 5),
            Descriptor { size: 65536, ..other(7, descriptor::PIPE, 8) },
            Descriptor { size: 65536, ..other(8, descriptor::PIPE_END, 7) },
            one(9, descriptor::EVENTFD),
            one(10, descriptor::REOPEN_CUT),
            one(11, descriptor::EPOLL),
            one(12, descriptor::EPOLL),
            Descriptor { size: 100, ..other(13, descriptor::PAIR, 14) },
            other(14, descriptor::PAIR, 13),
            Descriptor { size: 100, ..other(15, descriptor::PAIR, -1) },
            one(16, descriptor::SOCKET),
            Descriptor { size: 4096, ..other(17, descriptor::PIPE, -1) },
            one(18, descriptor::TIMERFD),
            other(20, descriptor::OF_THE_CALLER, 63),
            other(21, descriptor::OF_THE_RANK, 0),
        ],
        files: vec![
            File { path: name, hashed: 1, ..File::default() },
            File { path: name, nameless: 6, ..File::default() },
        ],
        maps: vec![
            map(0x40_0000, 0x40_2000, 0, 5, 0),
            map(0x40_2000, 0x40_3000, 0, 3, 0),
            map(0x60_0000, 0x60_2000, map::NO_FILE, 3, 0),
            map(0x7100_0000, 0x7110_0000, map::NO_FILE, 3, map::HUGE),
            map(0x7200_0000, 0x7200_2000, 1, 3, map::SHARED | map::MAY_WRITE),
            map(0x7fff_efff_0000, 0x7fff_f000_0000, map::NO_FILE, 3, map::STACK | map::GROWS_DOWN),
        ],
        strings: b"/tmp\0/bin/x\0name\0".to_vec(),
        threads: vec![
            thread(100, 0x7100_1000, 0x7fff_efff_8000),
            thread(101, 0x7108_1000, 0x7108_0000),
        ],
        timers: vec![Timer { signal: 10, ..Timer::default() }],
        signals: vec![Signal { number: 12, ..Signal::default() }],
        locks: vec![
            FileLock { fd: 3, kind: lock::POSIX, start: 10, len: 10, ..FileLock::default() },
            FileLock { fd: 3, kind: lock::LEASE, writes: 1, ..FileLock::default() },
            FileLock { fd: 6, kind: lock::FLOCK, writes: 1, ..FileLock::default() },
        ],
        ranges: vec![
            Range {
                start: 0x60_0000,
                end: 0x60_1000,
                flags: range::LOCKED | range::ON_FAULT,
                reserved: 0,
            },
            Range { start: 0x7100_0000, end: 0x7100_1000, flags: range::GUARD, reserved: 0 },
        ],
        watches: vec![
            Watch { holder: 11, target: 0, file: 0, ..Watch::default() },
            Watch { holder: 11, target: 40, file: 9, ..Watch::default() },
            Watch { holder: 12, target: 1, file: 11, ..Watch::default() },
        ],
    }
}

/// What must hold of tables that are sound, said in another way: everything is looked for
/// everywhere.
fn promises(image: &Image) {
    let maps = &image.maps;
    for (n, map) in maps.iter().enumerate() {
        assert!(map.start < map.end && map.end <= USER_END);
        for other in &maps[n + 1..] {
            assert!(map.end <= other.start, "{map:x?} {other:x?}");
        }
        for (from, to) in RESERVED {
            assert!(map.end <= from || map.start >= to, "{map:x?}");
        }
        assert!(map.file == map::NO_FILE || (map.file as usize) < image.files.len());
    }
    let text = |text: Text| {
        let (from, to) = (text.offset as usize, text.offset as usize + text.len as usize);
        assert!(to < image.strings.len() && image.strings[to] == 0 && from < to);
        assert!(!image.strings[from..to].contains(&0));
    };
    text(image.process.cwd);
    text(image.process.executable);
    image.files.iter().for_each(|file| text(file.path));
    let may = |address: u64, bytes: u64, prot: u32| {
        let found = maps.iter().any(|map| {
            map.start <= address
                && address.checked_add(bytes).is_some_and(|end| end <= map.end)
                && map.prot & prot == prot
        });
        assert!(found, "{address:#x}");
    };
    for thread in &image.threads {
        may(thread.resume[0], SAVED_BYTES, PROT_WRITE);
        may(thread.resume[1], 1, PROT_EXEC);
        may(thread.fs_base, 8, PROT_WRITE);
        for (address, bytes) in
            [(thread.tid_address, 4), (thread.rseq_address, RSEQ.1), (thread.notes, NOTES)]
        {
            if address != 0 {
                may(address, bytes, PROT_WRITE);
            }
        }
    }
    may(image.process.resume_ip, 1, PROT_EXEC);
    for (n, it) in image.descriptors.iter().enumerate() {
        assert!((0..1000).contains(&it.fd));
        assert!(image.descriptors[n + 1..].iter().all(|other| other.fd > it.fd));
        let named = image.descriptors.iter().find(|other| other.fd == it.other);
        match it.how {
            descriptor::KEEP => assert!(it.fd < 3),
            descriptor::STREAM => assert!((0..3).contains(&it.other)),
            descriptor::DUPLICATE => assert!(named.unwrap().fd < it.fd),
            descriptor::AGAIN => assert_eq!(named.unwrap().how, descriptor::RECREATE),
            descriptor::PIPE if it.other != -1 => {
                assert_eq!(
                    (named.unwrap().how, named.unwrap().other),
                    (descriptor::PIPE_END, it.fd)
                );
            }
            descriptor::PIPE_END if it.other != -1 => {
                assert_eq!((named.unwrap().how, named.unwrap().other), (descriptor::PIPE, it.fd));
            }
            descriptor::PAIR if it.other != -1 => {
                assert_eq!((named.unwrap().how, named.unwrap().other), (descriptor::PAIR, it.fd));
            }
            descriptor::REOPEN
            | descriptor::REOPEN_CUT
            | descriptor::REOPEN_GUARDED
            | descriptor::REOPEN_ALONE
            | descriptor::RECREATE => text(it.path),
            descriptor::OF_THE_CALLER => assert!(it.fd > 2 && (3..1000).contains(&it.other)),
            descriptor::OF_THE_RANK => assert!((0..1000).contains(&it.other)),
            descriptor::PIPE | descriptor::EVENTFD..=descriptor::SOCKET | descriptor::INOTIFY => {}
            other => panic!("{other}"),
        }
    }
    for held in &image.locks {
        let it = image.descriptors.iter().find(|it| it.fd == held.fd).unwrap();
        let made = [
            descriptor::REOPEN,
            descriptor::REOPEN_CUT,
            descriptor::REOPEN_GUARDED,
            descriptor::REOPEN_ALONE,
            descriptor::RECREATE,
            descriptor::AGAIN,
        ];
        assert!(made.contains(&it.how) && held.start.checked_add(held.len).is_some());
    }
    for watch in &image.watches {
        let holder = image.descriptors.iter().find(|it| it.fd == watch.holder).unwrap();
        assert!(holder.how == descriptor::EPOLL && (0..1000).contains(&watch.target));
        assert!(image.descriptors.iter().any(|it| it.fd == watch.file));
    }
    for range in &image.ranges {
        assert!(range.start < range.end && range.end <= USER_END);
        assert!(RESERVED.iter().all(|&(from, to)| range.end <= from || range.start >= to));
    }
    assert!(image.timers.iter().all(|timer| timer.signal != 9 || timer.notify & 1 != 0));
    assert!(image.signals.iter().all(|signal| (1..65).contains(&signal.number)));
}

#[test]
fn what_is_sound_is_accepted() {
    assert_eq!(check(&image().tables(), &here()), Ok(()));
    promises(&image());
}

/// Each rule is hurt once.
#[test]
fn what_is_not_is_named() {
    type Hurt = fn(&mut Image);
    let cases: [(&str, Hurt); 64] = [
        ("directory", |i| i.process.cwd.len = 0),
        ("directory", |i| i.process.cwd.len = 5),
        ("directory", |i| i.process.executable.offset = u32::MAX),
        ("no file", |i| i.files[0].path.offset = 13),
        ("no file", |i| i.maps[0].file = 2),
        ("out of order", |i| i.maps[1].start -= 4096),
        ("out of order", |i| i.maps[0].start += 8),
        ("out of order", |i| i.maps[2].end = i.maps[2].start),
        ("out of order", |i| i.maps[0].start = 0),
        ("out of order", |i| i.maps[5].end = !4095),
        ("end of all files", |i| i.maps[0].offset = !4095),
        ("far beyond its file", |i| (i.maps[2].end, i.maps[2].file) = (0x6000_0000, 0)),
        ("mapping of no kind", |i| i.maps[0].prot = 8),
        ("mapping of no kind", |i| i.maps[0].flags = 1024),
        ("mapping with contents and a file", |i| i.maps[0].flags |= 128),
        ("mapping of no kind", |i| i.maps[0].flags |= map::DROPPABLE),
        ("mapping of no kind", |i| i.maps[5].flags |= map::DROPPABLE),
        ("where none can be", |i| (i.maps[3].start, i.maps[3].end) = (0x6fff_f000, 0x7000_1000)),
        ("where none can be", |i| i.maps[4].end = 0x100_0000_1000),
        ("stack is elsewhere", |i| i.maps[5].end -= 4096),
        ("stack is elsewhere", |i| i.maps[5].file = 0),
        ("no room", |i| i.maps[5].start -= 8 << 20),
        ("no room", |i| (i.maps[4].start, i.maps[4].end) = (0x7fff_effe_e000, 0x7fff_effe_f000)),
        ("no room", |i| i.maps[5].start = RESERVED[2].1 + 0x2_0000),
        ("no stack", |i| i.maps[5].flags = 0),
        ("not open", |i| i.files[1].nameless = 4),
        ("heap", |i| i.process.heap_end = 0),
        ("descriptors out of order", |i| i.descriptors[2].fd = 1),
        ("descriptors out of order", |i| i.descriptors[17].fd = 1000),
        ("descriptors out of order", |i| i.descriptors[0].fd = -1),
        ("descriptor of no kind", |i| i.descriptors[3].other = 20),
        ("descriptor of no kind", |i| i.descriptors[13].other = 15),
        ("descriptor of no kind", |i| i.descriptors[12].other = 9),
        ("descriptor of no kind", |i| i.descriptors[14].size = limit::CONTENT_BYTES + 1),
        ("watch of no kind", |i| i.watches[1].file = 19),
        ("watch of no kind", |i| i.watches[1].target = 1000),
        ("watch of no kind", |i| i.watches[0].target = 11),
        ("watch of no kind", |i| i.watches[2].file = 12),
        ("watch of no kind", |i| i.watches[2].holder = 9),
        ("descriptor of no kind", |i| i.descriptors[1].other = -1),
        ("descriptor of no kind", |i| i.descriptors[6].other = 6),
        ("descriptor of no kind", |i| i.descriptors[2].how = 19),
        ("descriptor of no kind", |i| i.descriptors[18].other = 2),
        ("descriptor of no kind", |i| i.descriptors[2].owner = 4),
        ("descriptor of no kind", |i| i.descriptors[2].signal = 65),
        ("descriptor of no kind", |i| i.descriptors[2].seals = 1),
        ("lock of no kind", |i| i.locks[0].fd = 4),
        ("lock of no kind", |i| i.locks[2].fd = 3 - 3),
        ("lock of no kind", |i| i.locks[0].writes = 1),
        ("lock of no kind", |i| i.descriptors[2].open_flags |= 1),
        ("lock of no kind", |i| i.locks[1].kind = 5),
        ("lock of no kind", |i| i.locks[1].writes = 2),
        ("lock of no kind", |i| i.locks[0].len = u64::MAX),
        ("range of no kind", |i| i.ranges[0].end = i.ranges[0].start),
        ("range of no kind", |i| i.ranges[1].start += 8),
        ("range of no kind", |i| i.ranges[1].flags = 32),
        ("range of no kind", |i| i.ranges[1].end = 0x100_0000_1000),
        ("without its memory", |i| i.threads[1].resume[0] = 0x7110_0000 - 56),
        ("without its memory", |i| i.threads[0].resume[1] = 0x40_2000),
        ("without its memory", |i| i.threads[0].tid_address = 0x40_0000),
        ("without its memory", |i| i.threads[1].notes = 0x7110_0000 - 504),
        ("nowhere", |i| i.process.resume_ip = 0x60_0000),
        ("timer", |i| i.timers[0].signal = 9),
        ("cannot wait", |i| i.signals[0].number = 0),
    ];
    for (n, (word, hurt)) in cases.into_iter().enumerate() {
        let mut image = image();
        hurt(&mut image);
        let wrong = check(&image.tables(), &here()).unwrap_err();
        assert!(wrong.contains(word), "case {n}: {wrong}");
    }
}

#[test]
fn contents_belong_to_what_is_made_again() {
    let table = image().descriptors;
    let at = super::super::content_at;
    assert!(content_fits(&table, None, at(4, 0), 8192));
    assert!(content_fits(&table, Some((at(4, 0), 4096)), at(4, 4096), 4096));
    assert!(content_fits(&table, Some((at(4, 0), 8192)), at(6, 0), 65536));
    let with_contents = Descriptor { size: 9, state: [1, 0, 0, 0], ..table[2] };
    assert!(content_fits(&[with_contents], None, at(0, 0), 9));
    assert!(!content_fits(&[with_contents], None, at(0, 0), 8));
    assert!(!content_fits(&[with_contents], None, at(0, 1), 8));
    for (before, at, len) in [
        (None, at(4, 1), 8192),
        (None, at(4, 0), 0),
        (None, at(4, 0), u64::MAX),
        (None, at(3, 0), 1),
        (None, at(9, 0), 1),
        (None, at(10, 0), 1),
        (None, at(15, 0), 1),
        (None, at(6, 0), 65537),
        (None, at(6, 1), 1),
        (Some((at(6, 0), 1)), at(6, 0), 1),
        (Some((at(6, 0), 1)), at(4, 0), 1),
        (Some((at(4, 0), 4096)), at(4, 4095), 1),
    ] {
        assert!(!content_fits(&table, before, at, len), "{before:?} {at:#x} {len}");
    }
}

#[test]
fn the_digest_sees_every_byte() {
    let tables: [&[u8]; 11] = [
        &[1; size_of::<ProcessState>()],
        &[2; 64],
        &[3; 48],
        &[4; 80],
        b"/tmp\0",
        &[6; 8],
        &[],
        &[7; 8],
        &[8; 32],
        &[9; 24],
        &[10; 32],
    ];
    let whole = digest(tables);
    for (n, table) in tables.iter().enumerate() {
        for at in 0..table.len() {
            let mut other = table.to_vec();
            other[at] ^= 0x40;
            let mut changed = tables;
            changed[n] = &other;
            let is_digest = n == 0 && at >= core::mem::offset_of!(ProcessState, digest);
            assert_eq!(digest(changed) == whole, is_digest, "table {n}, byte {at}");
        }
    }
    let mut moved = tables;
    (moved[5], moved[6]) = (&[], &[6; 8]);
    assert_ne!(digest(moved), whole);
}

/// A word that is wrong by a little, or by all.
fn word() -> impl Strategy<Value = (u64, bool)> {
    let known = prop::sample::select(vec![
        0u64,
        1,
        4,
        8,
        4096,
        0x1_0000,
        0x40_0000,
        0x7000_0000,
        0x100_0000_0000,
        USER_END,
        1 << 63,
        u64::MAX,
    ]);
    (prop_oneof![known, any::<u64>()], any::<bool>())
}

/// Changes one word of one table; `relative`: by so much.
fn change(image: &mut Image, which: (usize, usize, usize), (value, relative): (u64, bool)) {
    let (table, row, field) = which;
    let long = |slot: &mut u64| *slot = if relative { slot.wrapping_add(value) } else { value };
    let short = |slot: &mut u32| {
        *slot = if relative { slot.wrapping_add(value as u32) } else { value as u32 };
    };
    let number = |slot: &mut i32| {
        *slot = if relative { slot.wrapping_add(value as i32) } else { value as i32 };
    };
    macro_rules! row {
        ($table:expr) => {{
            let len = $table.len();
            &mut $table[row % len]
        }};
    }
    match (table % 10, field) {
        (0, 0) => short(&mut image.process.cwd.offset),
        (0, 1) => short(&mut image.process.executable.len),
        (0, 2) => long(&mut image.process.heap_end),
        (0, _) => long(&mut image.process.resume_ip),
        (1, 0) => number(&mut row!(image.descriptors).fd),
        (1, 1) => short(&mut row!(image.descriptors).how),
        (1, 2) => number(&mut row!(image.descriptors).other),
        (1, 3) => short(&mut row!(image.descriptors).path.len),
        (1, 4) => short(&mut row!(image.descriptors).path.offset),
        (1, _) => long(&mut row!(image.descriptors).size),
        (2, 0) => short(&mut row!(image.files).path.offset),
        (2, 1) => short(&mut row!(image.files).nameless),
        (2, _) => short(&mut row!(image.files).path.len),
        (3, 0) => long(&mut row!(image.maps).start),
        (3, 1) => long(&mut row!(image.maps).end),
        (3, 2) => long(&mut row!(image.maps).offset),
        (3, 3) => short(&mut row!(image.maps).file),
        (3, 4) => short(&mut row!(image.maps).flags),
        (3, _) => short(&mut row!(image.maps).prot),
        (4, 0) => long(&mut row!(image.threads).resume[0]),
        (4, 1) => long(&mut row!(image.threads).resume[1]),
        (4, 2) => long(&mut row!(image.threads).fs_base),
        (4, 3) => long(&mut row!(image.threads).tid_address),
        (4, 4) => long(&mut row!(image.threads).rseq_address),
        (4, _) => long(&mut row!(image.threads).notes),
        (5, 0) => number(&mut row!(image.signals).number),
        (5, 1) => number(&mut row!(image.timers).signal),
        (5, _) => number(&mut row!(image.timers).notify),
        (6, 0) => number(&mut row!(image.locks).fd),
        (6, 1) => short(&mut row!(image.locks).kind),
        (6, 2) => long(&mut row!(image.locks).start),
        (6, _) => long(&mut row!(image.locks).len),
        (7, 0) => long(&mut row!(image.ranges).start),
        (7, 1) => long(&mut row!(image.ranges).end),
        (7, _) => short(&mut row!(image.ranges).flags),
        (8, 0) => number(&mut row!(image.watches).holder),
        (8, 1) => number(&mut row!(image.watches).target),
        (8, 2) => number(&mut row!(image.watches).file),
        (8, _) => short(&mut row!(image.watches).events),
        (_, _) => {
            let at = row % image.strings.len();
            image.strings[at] = value as u8;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]
    /// For any contents of the tables: no panic, and what is accepted keeps all promises.
    #[test]
    fn nonsense_is_refused_or_harmless(
        changes in prop::collection::vec(((0usize..10, 0usize..16, 0usize..6), word()), 1..5),
    ) {
        let mut image = image();
        for (which, value) in changes {
            change(&mut image, which, value);
        }
        if check(&image.tables(), &here()).is_ok() {
            promises(&image);
        }
    }
}
