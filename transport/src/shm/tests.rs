use super::tuning::*;
use super::*;
use ftmpi_wire::header::Kind;

pub(super) struct Collect {
    pub(super) buffer: Vec<u8>,
    pub(super) limit: usize,
    pub(super) got: Vec<(Header, Vec<u8>)>,
}

impl FrameReceiver for Collect {
    type Token = u32;
    fn expects(&self, header: &Header) -> bool {
        header.len != 77
    }
    fn begin(&mut self, header: &Header) -> (*mut u8, usize, u32) {
        self.buffer = vec![0xEE; (header.len as usize).min(self.limit) + 8];
        (self.buffer.as_mut_ptr(), self.buffer.len() - 8, 7)
    }
    fn end(&mut self, header: &Header, token: u32) {
        assert_eq!(token, 7);
        let fits = self.buffer.len() - 8;
        assert_eq!(&self.buffer[fits..], [0xEE; 8], "nothing is written past the capacity");
        self.got.push((*header, self.buffer[..fits].to_vec()));
    }
}

pub(super) fn pair() -> (Channel<u32>, Channel<u32>) {
    pair_of(segment_bytes(2))
}

pub(super) fn pair_of(bytes: usize) -> (Channel<u32>, Channel<u32>) {
    // SAFETY: plain system calls with valid arguments; the two mappings get fresh addresses.
    unsafe {
        let fd = libc::memfd_create(c"test".as_ptr(), 0);
        assert!(fd >= 0 && libc::ftruncate(fd, bytes as i64) == 0);
        let side = |first| {
            assert_eq!(bytes_of(fd).unwrap(), bytes);
            // What lies behind it belongs to nobody.
            let at = libc::mmap(
                std::ptr::null_mut(),
                bytes + 4096,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            let channel = Channel::map(fd, first, at.cast(), bytes).unwrap();
            assert_eq!(channel.mapping(), (at.cast(), bytes));
            channel
        };
        let both = (side(true), side(false));
        libc::close(fd);
        both
    }
}

#[test]
fn what_is_no_segment_is_refused() {
    for bytes in
        [0, 1, 4096, segment_bytes(2) - 1, segment_bytes(2) + 4096, 2 * segment_bytes(2), 1 << 40]
    {
        // SAFETY: plain system calls with valid arguments.
        unsafe {
            let fd = libc::memfd_create(c"test".as_ptr(), 0);
            assert!(fd >= 0 && libc::ftruncate(fd, bytes as i64) == 0);
            assert!(bytes_of(fd).is_err(), "{bytes}");
            libc::close(fd);
        }
    }
    assert!(bytes_of(-1).is_err());
}

pub(super) fn send(
    channel: &mut Channel<u32>,
    ssn: u64,
    payload: &[u8],
    begun: &mut bool,
    sent: &mut u64,
) -> bool {
    let header = Header {
        kind: Kind::Eager,
        flags: 0,
        context: 1,
        tag: -5,
        len: payload.len() as u64,
        ssn: Ssn(ssn),
    };
    // SAFETY: the payload is a slice of that length.
    unsafe { channel.push(&header, payload.as_ptr(), begun, sent) }
}

#[test]
fn every_size_arrives_whole_and_in_order_over_many_laps() {
    for ranks in [2, 9, 100] {
        every_size_arrives(pair_of(segment_bytes(ranks)));
    }
}

pub(super) fn every_size_arrives((mut a, mut b): (Channel<u32>, Channel<u32>)) {
    let mut sink = Collect { buffer: Vec::new(), limit: usize::MAX, got: Vec::new() };
    let sizes = [
        0,
        1,
        3,
        7,
        8,
        15,
        16,
        31,
        32,
        33,
        88,
        89,
        500,
        INLINE_MAX,
        INLINE_MAX + 1,
        2000,
        4095,
        4096,
        4097,
        5000,
        16384,
        16385,
        100_000,
        262_144,
        1_000_003,
    ];
    let mut ssn = 0;
    for round in 0..40u64 {
        for &size in &sizes {
            ssn += 1;
            let payload: Vec<u8> = (0..size).map(|i| (i as u64 * 31 + round + ssn) as u8).collect();
            let (mut begun, mut sent) = (false, 0);
            while !send(&mut a, ssn, &payload, &mut begun, &mut sent) {
                b.poll(&mut sink);
            }
            while sink.got.is_empty() {
                b.poll(&mut sink);
            }
            let (header, got) = sink.got.remove(0);
            assert_eq!(
                (header.ssn, header.tag, got == payload),
                (Ssn(ssn), -5, true),
                "size {size}"
            );
        }
    }
}

#[test]
fn an_exact_message_is_taken_and_no_other() {
    let (mut a, mut b) = pair();
    let into = std::cell::UnsafeCell::new([0xEE_u8; 4096]);
    // SAFETY: the buffer has that length, and nothing else refers to it meanwhile.
    let take = |b: &mut Channel<u32>, tag, capacity| unsafe {
        b.take_exact(1, Some(tag), into.get().cast(), capacity, true, |ssn| ssn != Ssn(99))
    };
    assert!(matches!(take(&mut b, -5, 4096), Exact::Nothing));
    for (ssn, size) in (1..).zip([0, 8, 32, 33, 88, 89, INLINE_MAX].repeat(300)) {
        let payload: Vec<u8> = (0..size).map(|i| (i as u64 + ssn) as u8).collect();
        let ssn = if ssn % 50 == 0 { 99 } else { ssn };
        assert!(send(&mut a, ssn, &payload, &mut false, &mut 0));
        assert!(matches!(take(&mut b, 5, 4096), Exact::Other));
        if ssn == 99 || (size > 0 && matches!(take(&mut b, -5, size - 1), Exact::Took(_))) {
            assert_eq!(ssn, 99);
            assert!(matches!(take(&mut b, -5, 4096), Exact::Other));
            let mut sink = Collect { buffer: Vec::new(), limit: usize::MAX, got: Vec::new() };
            assert!(b.poll(&mut sink));
            assert_eq!(sink.got[0].1, payload);
            continue;
        }
        match take(&mut b, -5, size) {
            Exact::Took(header) => assert_eq!(header.ssn, Ssn(ssn)),
            other => panic!("{other:?}"),
        }
        // SAFETY: nothing writes it meanwhile.
        assert_eq!(unsafe { &*into.get() }[..size], payload[..]);
        assert!(matches!(take(&mut b, -5, 4096), Exact::Nothing));
        let mut sink = Collect { buffer: Vec::new(), limit: usize::MAX, got: Vec::new() };
        assert!(!b.poll(&mut sink));
    }
    // The ring of a reader that takes one message after the other is never full, however the
    // messages are placed.
    for (ssn, size) in
        (5000..).zip([89, 192, 256, 300, 1000, 4096].map(|size| [size; 700]).concat())
    {
        assert!(
            send(&mut a, ssn, &vec![7; size], &mut false, &mut 0),
            "{size} bytes, message {ssn}"
        );
        // (One that would cross the end of the bulk area comes in chunks.)
        if !matches!(take(&mut b, -5, 4096), Exact::Took(_)) {
            let mut sink = Collect { buffer: Vec::new(), limit: usize::MAX, got: Vec::new() };
            while sink.got.is_empty() {
                assert!(b.poll(&mut sink));
            }
        }
    }
    assert!(send(&mut a, 50_000, &[7; 5000], &mut false, &mut 0));
    assert!(matches!(take(&mut b, -5, 4096), Exact::Other));
}

#[test]
fn what_does_not_fit_is_cut_and_the_ring_goes_on() {
    let (mut a, mut b) = pair();
    let mut sink = Collect { buffer: Vec::new(), limit: 10, got: Vec::new() };
    for (ssn, size) in [(1, 9), (2, 20), (3, 700), (4, 40_000), (5, 3000), (6, 4)] {
        let (mut begun, mut sent) = (false, 0);
        assert!(send(&mut a, ssn, &vec![ssn as u8; size], &mut begun, &mut sent));
        b.poll(&mut sink);
        let (_, got) = sink.got.remove(0);
        assert_eq!(got, vec![ssn as u8; size.min(10)]);
    }
}

#[test]
fn a_full_ring_refuses_and_recovers() {
    let (mut a, mut b) = pair();
    let mut sink = Collect { buffer: Vec::new(), limit: 100, got: Vec::new() };
    let mut pushed = 0;
    while send(&mut a, pushed + 1, &[1; 20], &mut false, &mut 0) {
        pushed += 1;
    }
    assert_eq!(pushed, LINES);
    while b.poll(&mut sink) {}
    assert_eq!(sink.got.len() as u64, LINES);
    assert!(send(&mut a, pushed + 1, &[1; 20], &mut false, &mut 0));
}

#[test]
fn a_writer_that_found_no_room_goes_on_only_when_there_is_more() {
    // The reader has published more of what the writer is not short of; the writer need not have
    // looked at that.
    for (before, size) in [([1; 5000].as_slice(), 20), (&[1; 20], 16_000)] {
        let (mut a, mut b) = pair();
        let mut sink = Collect { buffer: Vec::new(), limit: 100, got: Vec::new() };
        for ssn in 0..80 {
            assert!(send(&mut a, ssn, before, &mut false, &mut 0));
            assert!(b.poll(&mut sink));
        }
        let payload = vec![2; size];
        let (mut ssn, mut begun, mut sent) = (80, false, 0);
        while send(&mut a, ssn, &payload, &mut begun, &mut sent) {
            (ssn, begun, sent) = (ssn + 1, false, 0);
        }
        assert!(!a.can_go_on(), "{size}");
        while b.poll(&mut sink) {}
        assert!(a.can_go_on(), "{size}");
        assert!(send(&mut a, ssn, &payload, &mut begun, &mut sent), "{size}");
        assert!(!a.can_go_on(), "{size}");
    }
}

#[test]
fn only_what_is_awaited_and_whole_is_taken_in_advance() {
    let (mut a, mut b) = pair();
    let mut sink = Collect { buffer: Vec::new(), limit: usize::MAX, got: Vec::new() };
    let lens =
        |sink: &mut Collect| -> Vec<usize> { sink.got.drain(..).map(|(_, p)| p.len()).collect() };
    assert!(!b.poll_expected(&mut sink));
    for (ssn, len) in (1..).zip([8, 0, 88, 4000, 77, 8]) {
        assert!(send(&mut a, ssn, &vec![3; len], &mut false, &mut 0));
    }
    assert!(b.poll_expected(&mut sink));
    assert_eq!(lens(&mut sink), [8, 0, 88, 4000]);
    assert!(!b.poll_expected(&mut sink), "nobody waits for the next");
    assert!(b.poll(&mut sink));
    assert_eq!(lens(&mut sink), [77, 8]);
    // A message in chunks takes its time, and is left to receives that wait.
    assert!(send(&mut a, 7, &vec![3; 20_000], &mut false, &mut 0));
    assert!(!b.poll_expected(&mut sink));
    // The writer learns that there is room, lap after lap.
    while b.poll(&mut sink) {}
    lens(&mut sink);
    for ssn in 8..2000 {
        assert!(send(&mut a, ssn, &[1; 20], &mut false, &mut 0), "message {ssn}");
        assert!(b.poll_expected(&mut sink));
    }
    assert_eq!(sink.got.len(), 1992);
}

#[test]
fn short_frames_share_lines_and_nothing_old_is_taken_for_one() {
    let (mut a, mut b) = pair();
    let mut sink = Collect { buffer: Vec::new(), limit: 100, got: Vec::new() };
    let mut ssn = 0;
    while send(&mut a, ssn + 1, &ssn.to_le_bytes(), &mut false, &mut 0) {
        ssn += 1;
    }
    assert_eq!(ssn, 2 * LINES);
    while b.poll(&mut sink) {}
    for (at, (header, payload)) in (0u64..).zip(sink.got.drain(..)) {
        assert_eq!((header.ssn, &payload[..]), (Ssn(at + 1), &at.to_le_bytes()[..]));
    }
    // Payloads that look like second halves of a later lap, then single short frames in their
    // lines.
    for _ in 0..3 {
        for _ in 0..LINES {
            let fake = (a.writer.written + LINES + 1) & 0xffff_ffff | KIND_SHORT << 32 | 8 << 40;
            let payload: Vec<u8> =
                [fake, 1, 1, 1].iter().flat_map(|word| word.to_le_bytes()).collect();
            assert!(send(&mut a, 1, &payload, &mut false, &mut 0));
            assert!(b.poll(&mut sink));
        }
        sink.got.clear();
        for line in 0..LINES {
            assert!(send(&mut a, line, &[7], &mut false, &mut 0));
            assert!(b.poll(&mut sink));
            assert!(!b.poll(&mut sink), "line {line}");
            assert_eq!(sink.got.len(), 1);
            sink.got.clear();
            // The second half stays empty.
            a.writer.half_free = false;
        }
    }
}

/// Frames of all kinds in any order, taken in all ways, while the writer is any number of frames
/// ahead.
#[test]
fn any_mixture_arrives_in_order() {
    use rand::{Rng, SeedableRng};
    for seed in 0..20 {
        let mut rng = rand::rngs::StdRng::seed_from_u64(seed);
        let (mut a, mut b) = pair();
        let mut sink = Collect { buffer: Vec::new(), limit: usize::MAX, got: Vec::new() };
        let (mut sent, mut got) = (std::collections::VecDeque::new(), 0u64);
        let (mut ssn, mut into) = (0u64, vec![0u8; 4096]);
        let mut check = |expected: &[u8], header: Header, payload: &[u8]| {
            got += 1;
            assert_eq!((header.ssn, payload), (Ssn(got), expected), "seed {seed}");
        };
        for _ in 0..20_000 {
            let short = rng.random_bool(0.7);
            let size = if short {
                rng.random_range(0..10)
            } else {
                [20, 33, 77, 88, 300, 5000][rng.random_range(0..6)]
            };
            if rng.random_bool(0.55) {
                let payload: Vec<u8> = (0..size).map(|_| rng.random()).collect();
                let (mut begun, mut progress) = (false, 0);
                while !send(&mut a, ssn + 1, &payload, &mut begun, &mut progress) {
                    b.poll(&mut sink);
                    for (header, payload) in sink.got.drain(..) {
                        let expected: Vec<u8> = sent.pop_front().unwrap();
                        check(&expected, header, &payload);
                    }
                }
                ssn += 1;
                sent.push_back(payload);
                continue;
            }
            assert_eq!(b.is_ready(), !sent.is_empty());
            match rng.random_range(0..3) {
                0 => drop(b.poll(&mut sink)),
                1 => drop(b.poll_expected(&mut sink)),
                _ => {
                    // SAFETY: so many bytes are there.
                    let exact = unsafe {
                        b.take_exact(1, Some(-5), into.as_mut_ptr(), 4096, true, |_| true)
                    };
                    match exact {
                        Exact::Took(header) => {
                            let expected: Vec<u8> = sent.pop_front().unwrap();
                            check(&expected, header, &into[..header.len as usize]);
                        }
                        Exact::Nothing => assert!(sent.is_empty()),
                        Exact::Other => {}
                    }
                }
            }
            for (header, payload) in sink.got.drain(..) {
                let expected: Vec<u8> = sent.pop_front().unwrap();
                check(&expected, header, &payload);
            }
        }
    }
}

/// Both sides send and look at the other's ring in any order. What a waiting writer asks for
/// beforehand changes nothing, also in the middle of a frame that has found no room.
#[test]
fn a_writer_that_waits_changes_nothing() {
    use rand::{Rng, SeedableRng};
    for seed in 0..10 {
        let mut rng = rand::rngs::StdRng::seed_from_u64(seed);
        let (a, b) = pair_of(segment_bytes(if seed % 2 == 0 { 2 } else { 100 }));
        let mut ends = [a, b];
        let mut sinks =
            [0, 1].map(|_| Collect { buffer: Vec::new(), limit: usize::MAX, got: Vec::new() });
        let (mut ssn, mut got) = ([0u64; 2], [0u64; 2]);
        let mut on_its_way: [Option<(Vec<u8>, bool, u64)>; 2] = [None, None];
        // As on a processor where it pays; it does no harm on others.
        ends.iter_mut().for_each(|end| end.writer.owns_ahead = true);
        let payload_of = |side: usize, ssn: u64, len: usize| -> Vec<u8> {
            (0..len).map(|i| (i as u64 * 13 + ssn * 7 + side as u64) as u8).collect()
        };
        for _ in 0..4_000 {
            let side = rng.random_range(0..2);
            if rng.random_bool(0.5) {
                let (payload, begun, sent) = on_its_way[side].get_or_insert_with(|| {
                    ssn[side] += 1;
                    let len =
                        [8, 60, 200, 1500, 4096, 9000, 40_000, 700_000][rng.random_range(0..8)];
                    (payload_of(side, ssn[side], len), false, 0)
                });
                if send(&mut ends[side], ssn[side], payload, begun, sent) {
                    on_its_way[side] = None;
                }
            } else {
                ends[side].poll(&mut sinks[side]);
                for (header, payload) in sinks[side].got.drain(..) {
                    got[side] += 1;
                    assert_eq!(header.ssn, Ssn(got[side]), "seed {seed}");
                    let expected = payload_of(1 - side, got[side], payload.len());
                    assert!(payload == expected, "seed {seed}, message {}", got[side]);
                }
            }
        }
        assert!(got[0] > 50 && got[1] > 50, "seed {seed}: {got:?}");
    }
}

/// The two ends in two threads: what is seen of a line that is written just then.
#[test]
fn halves_of_lines_pass_between_threads() {
    struct Moved(Channel<u32>);
    // SAFETY: one end is used by one thread at a time.
    unsafe impl Send for Moved {}
    let (mut a, b) = pair();
    let b = Moved(b);
    const COUNT: u64 = 300_000;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let Moved(mut b) = { b };
            let mut into = [0u8; 64];
            let mut sink = Collect { buffer: Vec::new(), limit: 100, got: Vec::new() };
            let mut next = 1;
            while next <= COUNT {
                if next % 7 == 0 {
                    b.poll(&mut sink);
                    for (header, payload) in sink.got.drain(..) {
                        assert_eq!(header.ssn, Ssn(next));
                        assert_eq!(payload[..8], next.to_le_bytes());
                        next += 1;
                    }
                    continue;
                }
                // SAFETY: so many bytes are there.
                match unsafe { b.take_exact(1, None, into.as_mut_ptr(), 64, true, |_| true) } {
                    Exact::Took(header) => {
                        assert_eq!(header.ssn, Ssn(next));
                        assert_eq!(into[..8], next.to_le_bytes());
                        next += 1;
                    }
                    Exact::Nothing => std::thread::yield_now(),
                    Exact::Other => panic!("what else?"),
                }
            }
        });
        for ssn in 1..=COUNT {
            let mut payload = [0; 24];
            payload[..8].copy_from_slice(&ssn.to_le_bytes());
            let len = if ssn % 11 == 0 { 24 } else { 8 };
            while !send(&mut a, ssn, &payload[..len], &mut false, &mut 0) {
                std::thread::yield_now();
            }
        }
    });
}

/// What a reader that keeps up makes its writer touch of the bulk area.
#[test]
fn laps_are_as_long_as_the_reader_is_behind() {
    for size in [100, 128, 300, 500, 1000, 2000, 4000, 4096, 5000, 8000] {
        for behind in [0, 1, 3, 40] {
            let (mut a, mut b) = pair();
            let mut sink = Collect { buffer: Vec::new(), limit: usize::MAX, got: Vec::new() };
            let payload = vec![7; size];
            let mut unread = 0;
            // Not so many laps that they grow by themselves.
            for ssn in 0..20 * LAP_MIN / size.max(256) as u64 {
                let (mut begun, mut sent) = (false, 0);
                assert!(send(&mut a, ssn, &payload, &mut begun, &mut sent), "{size} {behind}");
                unread += 1;
                if unread > behind {
                    while b.poll(&mut sink) {}
                    unread = 0;
                }
            }
            let needed = ((behind + 3) * size.max(256) as u64 * 8).next_power_of_two();
            assert!(a.writer.lap <= LAP_MIN.max(needed), "{size} {behind}: {}", a.writer.lap);
        }
    }
}

/// Its reader's processor asks for nothing behind them, and they do not go through ever more
/// memory.
#[test]
fn pieces_of_who_waits_end_with_a_page() {
    for size in [256, 300, 512, 2000, 2048, 4096, 5000, 8192, 10_000, 16_384] {
        let (mut a, mut b) = pair();
        a.writer.owns_ahead = true;
        // (Long ones may be offered.)
        a.writer.offers.disable();
        a.reader.fetches.disable();
        b.writer.offers.disable();
        b.reader.fetches.disable();
        let mut sink = Collect { buffer: Vec::new(), limit: usize::MAX, got: Vec::new() };
        let payload = vec![7; size];
        for ssn in 0..5000 {
            assert!(!a.poll(&mut sink));
            while a.writer.ahead > 0 {
                a.poll(&mut sink);
            }
            assert!(send(&mut a, ssn, &payload, &mut false, &mut 0));
            assert_eq!(a.writer.written_bulk % PAGE, 0, "{size}");
            assert!(b.poll(&mut sink));
            let (_, got) = sink.got.pop().unwrap();
            assert_eq!(got, payload);
        }
        let most = (8 * (size as u64).next_multiple_of(PAGE)).next_power_of_two();
        assert!(a.writer.lap <= most, "{size}: {}", a.writer.lap);
    }
}

#[test]
fn who_sleeps_without_waiting_for_room_is_not_woken_for_it() {
    let (mut a, mut b) = pair();
    let mut sink = Collect { buffer: Vec::new(), limit: usize::MAX, got: Vec::new() };
    let (mut ssn, mut begun, mut sent) = (0, false, 0);
    let mut read_all = |b: &mut Channel<u32>| {
        while b.poll(&mut sink) {}
        b.must_ring_for_room()
    };
    for _ in 0..20 {
        ssn += 1;
        assert!(send(&mut a, ssn, &[1; 8000], &mut false, &mut 0));
    }
    a.set_sleeping(true);
    assert!(!read_all(&mut b), "it waits for frames only");
    assert!(b.must_ring());
    a.set_sleeping(false);
    while send(&mut a, ssn, &[1; 8000], &mut begun, &mut sent) {
        (ssn, begun, sent) = (ssn + 1, false, 0);
    }
    a.set_sleeping(true);
    assert!(read_all(&mut b));
    assert!(!b.must_ring(), "once for a sleep");
}
