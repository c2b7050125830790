use super::tests::{Collect, pair, send};
use super::tuning::*;
use super::*;
use rand::{Rng, SeedableRng};

fn collect(limit: usize) -> Collect {
    Collect { buffer: Vec::new(), limit, got: Vec::new() }
}

/// Two ends. The first announces everything early, and offers nothing.
fn early_pair() -> (Channel<u32>, Channel<u32>) {
    early(pair())
}

fn early((mut a, mut b): (Channel<u32>, Channel<u32>)) -> (Channel<u32>, Channel<u32>) {
    for end in [&mut a, &mut b] {
        (end.writer.owns_ahead, end.writer.offers.enabled) = (true, false);
        end.reader.fetches.disable();
    }
    // Lines are asked for once something like it was sent.
    let mut sink = collect(usize::MAX);
    for ssn in 0..2 {
        assert!(!a.poll(&mut sink));
        assert!(send(&mut a, ssn, &[1; 4096], &mut false, &mut 0));
        assert!(b.poll(&mut sink));
    }
    assert!(!a.poll(&mut sink));
    while a.writer.ahead > 0 {
        a.poll(&mut sink);
    }
    (a, b)
}

fn payload_of(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 + i / 256 + seed) as u8 | 1).collect()
}

const SIZES: [usize; 9] = [1024, 1025, 1031, 2048, 4095, 4096, 9001, 16_383, 16_384];

/// The writer is stopped, as it were, right after its announcement.
#[test]
fn what_is_not_whole_is_not_there_and_ends_where_it_has_begun() {
    for size in SIZES {
        for way in 0..5 {
            let (mut a, mut b) = early_pair();
            let mut sink = collect(usize::MAX);
            let (sent, mut landed) = (payload_of(size, way), vec![0; size]);
            assert!(send(&mut a, 9, &sent, &mut false, &mut 0));
            let (whole, rest) = unwhole(&a, size);
            let cannot_be_cancelled = way != 4;
            let mut exact = |b: &mut Channel<u32>| {
                let at = landed.as_mut_ptr();
                // SAFETY: so many bytes are there.
                unsafe { b.take_exact(1, Some(-5), at, size, cannot_be_cancelled, |_| true) }
            };
            assert!(!b.is_ready(), "nobody sleeps for want of it, nor goes round and round");
            for _ in 0..3 {
                match way {
                    0 => assert!(!b.poll(&mut sink)),
                    1 => assert!(!b.poll_expected(&mut sink)),
                    2 => {
                        assert!(matches!(exact(&mut b), Exact::Other), "who is posted hears of it")
                    }
                    4 => assert!(matches!(exact(&mut b), Exact::Nothing)),
                    _ => {
                        assert!(!b.poll(&mut sink));
                        assert!(matches!(exact(&mut b), Exact::Other), "it has begun elsewhere");
                    }
                }
            }
            assert!(sink.got.is_empty());
            rest.comes(whole);
            assert!(b.is_ready());
            if way == 2 || way == 4 {
                assert!(matches!(exact(&mut b), Exact::Took(header) if header.ssn == Ssn(9)));
                assert_eq!(landed, sent, "{size}");
            } else {
                assert!(if way == 1 { b.poll_expected(&mut sink) } else { b.poll(&mut sink) });
                let (header, got) = sink.got.pop().unwrap();
                assert_eq!((header.ssn, got), (Ssn(9), sent), "{size}");
            }
            assert!(b.take_incoming().is_none() && !b.is_ready());
            assert!(send(&mut a, 10, &[3; 20], &mut false, &mut 0));
            assert!(b.poll(&mut sink), "and the next one comes");
        }
    }
}

/// What the writer has not written yet.
struct Rest {
    at: *mut u8,
    bytes: Vec<u8>,
    word: u64,
}

impl Rest {
    fn comes(self, whole: &std::sync::atomic::AtomicU64) {
        // SAFETY: it lay there, and nobody else has written there since.
        unsafe { self.at.copy_from(self.bytes.as_ptr(), self.bytes.len()) };
        whole.store(self.word, Ordering::Release);
    }
}

/// The word that tells that the last piece is whole, which it is not now, and what is missing.
fn unwhole(a: &Channel<u32>, size: usize) -> (&'static std::sync::atomic::AtomicU64, Rest) {
    let line = a.writer.out.line(a.writer.written - 1).cast::<u64>();
    // SAFETY: the line of the last announcement.
    let (position, first) = unsafe { (line.add(4).read(), line.add(5).read() as usize >> 1) };
    assert_eq!(
        a.writer.out.tag(a.writer.written - 1).load(Ordering::Relaxed) >> 32,
        KIND_EARLY,
        "{size}"
    );
    let end = (size - 8) & !7;
    assert!(first > 0 && first < end);
    let whole = a.writer.out.word_of_bulk(position + end as u64);
    let word = whole.swap(0, Ordering::AcqRel);
    assert_ne!(word, 0);
    let at = a.writer.out.bulk(position).wrapping_add(first);
    // SAFETY: what was just written.
    let bytes = unsafe { std::slice::from_raw_parts(at, end - first).to_vec() };
    // SAFETY: as above; its reader is not at it.
    unsafe { at.write_bytes(0, end - first) };
    (whole, Rest { at, bytes, word })
}

#[test]
fn it_ends_with_its_channel() {
    let (mut a, mut b) = early_pair();
    assert!(send(&mut a, 9, &[5; 3000], &mut false, &mut 0));
    unwhole(&a, 3000);
    assert!(!b.poll(&mut collect(usize::MAX)));
    assert!(b.take_incoming().is_some_and(|(header, token)| header.ssn == Ssn(9) && token == 7));
}

#[test]
fn as_much_of_it_lands_as_fits() {
    for size in SIZES {
        let some = [0, 1, 15, 63, 64, size / 4, size / 2];
        for limit in some.into_iter().chain(size - 20..=size + 1) {
            let (mut a, mut b) = early_pair();
            let mut sink = collect(limit);
            let sent = payload_of(size, limit);
            assert!(send(&mut a, 9, &sent, &mut false, &mut 0));
            assert!(b.poll(&mut sink));
            let (_, got) = sink.got.pop().unwrap();
            assert_eq!(got, sent[..limit.min(size)], "{size}, {limit}");
        }
    }
}

/// An announcement that makes no sense is one line of which nothing is read.
#[test]
fn nonsense_stays_in_the_segment() {
    let mut rng = rand::rngs::StdRng::seed_from_u64(7);
    let mut dropped = 0;
    for round in 0..3_000 {
        // Behind what the second of them writes there is no memory.
        let (b, a) = pair();
        let (mut a, mut b) = early((a, b));
        let mut sink = collect(100_000);
        let sent = payload_of(4096, round);
        assert!(send(&mut a, 9, &sent, &mut false, &mut 0));
        let word = rng.random_range(2..6);
        let value = match rng.random_range(0..4) {
            0 => rng.random(),
            1 => u64::MAX - rng.random_range(0..70_000),
            2 => a.writer.out.bulk - 64 * rng.random_range(0..80),
            _ => rng.random_range(0..20_000),
        };
        // SAFETY: the line of the last announcement.
        unsafe { a.writer.out.line(a.writer.written - 1).cast::<u64>().add(word).write(value) };
        // (Lengths are bounded by the code that allocates for them.)
        if word != 2 || value < EARLY_MAX {
            b.poll(&mut sink);
            for (_, got) in &sink.got {
                // Nothing, or as many bytes of the segment.
                dropped += u32::from(*got == vec![0xEE; got.len()]);
            }
        }
    }
    assert!(dropped > 100, "{dropped}");
}

/// What two processors make of it: each writes while the other one reads.
#[test]
fn nothing_is_read_before_it_is_there() {
    const ROUNDS: usize = 20_000;
    let (a, b) = early_pair();
    let size_of = |round: usize| 1024 + round * 7919 % 15_361;
    let side = move |mut end: Channel<u32>, first: bool| {
        let mut sink = collect(usize::MAX);
        let mut early = 0;
        for round in 0..ROUNDS {
            if (round % 2 == 0) == first {
                // It waits for a while.
                assert!(!end.poll(&mut sink));
                while end.writer.ahead > 0 {
                    end.poll(&mut sink);
                }
                let sent = payload_of(size_of(round), round);
                let (mut begun, mut progress) = (false, 0);
                while !send(&mut end, round as u64, &sent, &mut begun, &mut progress) {
                    end.poll(&mut sink);
                }
                early += u32::from(
                    end.writer.out.tag(end.writer.written - 1).load(Ordering::Relaxed) >> 32
                        == KIND_EARLY,
                );
                continue;
            }
            while sink.got.is_empty() {
                if !end.poll(&mut sink) {
                    std::thread::yield_now();
                }
            }
            let (header, got) = sink.got.remove(0);
            assert_eq!(header.ssn, Ssn(round as u64));
            assert!(got == payload_of(size_of(round), round), "message {round}");
        }
        early
    };
    struct End(Channel<u32>);
    // SAFETY: each end has its own mapping of the segment, and belongs to one thread only.
    unsafe impl Send for End {}
    let (a, b) = (End(a), End(b));
    std::thread::scope(|scope| {
        let other = scope.spawn(move || {
            let b = b;
            side(b.0, false)
        });
        let a = a;
        let early = side(a.0, true) + other.join().unwrap();
        assert_eq!(early, ROUNDS as u32);
    });
}
