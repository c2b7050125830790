//! Single copies within one process, which may read itself as it may read another of the same user.

use super::single_copy::Fate;
use super::tests::{Collect, pair};
use super::tuning::*;
use super::*;
use ftmpi_wire::header::Kind;

const LONG: usize = (SINGLE_COPY_MIN as usize) + 12_345;

fn payload(ssn: u64) -> Vec<u8> {
    (0..LONG).map(|at| (at as u64 * 7 + ssn * 31) as u8).collect()
}

/// A message on its way.
struct Under {
    header: Header,
    begun: bool,
    sent: u64,
}

impl Under {
    fn new(ssn: u64) -> Self {
        let (len, ssn) = (LONG as u64, Ssn(ssn));
        let header = Header { kind: Kind::Data, flags: 0, context: 1, tag: -5, len, ssn };
        Self { header, begun: false, sent: 0 }
    }

    /// One that was not announced.
    fn eager(ssn: u64) -> Self {
        let mut under = Self::new(ssn);
        under.header.kind = Kind::Eager;
        under
    }

    fn push(&mut self, channel: &mut Channel<u32>, payload: &[u8]) -> bool {
        assert_eq!(payload.len() as u64, self.header.len);
        // SAFETY: the payload is a slice of that length.
        unsafe { channel.push(&self.header, payload.as_ptr(), &mut self.begun, &mut self.sent) }
    }
}

fn sink() -> Collect {
    Collect { buffer: Vec::new(), limit: usize::MAX, got: Vec::new() }
}

/// A channel whose reader wants everything offer.
fn offering() -> (Channel<u32>, Channel<u32>) {
    let (a, b) = pair();
    b.reader.into.policy().store(u64::MAX, Ordering::Relaxed);
    (a, b)
}

/// The message comes whole, by any way that is left to it.
fn comes(a: &mut Channel<u32>, b: &mut Channel<u32>, mut message: Under, payload: &[u8]) {
    let mut sink = sink();
    while !message.push(a, payload) {
        assert!(b.poll(&mut sink), "there is something to take");
    }
    while b.poll(&mut sink) {}
    let [(header, got)] = &sink.got[..] else { panic!("one message") };
    assert!(*header == message.header && got == payload);
}

#[test]
fn both_ways_are_tried_and_every_message_is_whole() {
    let (mut a, mut b) = pair();
    let mut offered = 0;
    for ssn in 0..400 {
        offered += u32::from(a.writer.wants_single_copy(&Under::new(ssn).header));
        let message = if ssn % 2 == 0 { Under::new(ssn) } else { Under::eager(ssn) };
        comes(&mut a, &mut b, message, &payload(ssn));
    }
    assert!((10..400).contains(&offered), "{offered} of 400");
    assert!(!a.writer.offers.refused, "the kernel lets a process read itself");
}

#[test]
fn an_offered_payload_is_awaited_and_its_fetch_noticed() {
    let (mut a, mut b) = offering();
    let (mut message, bytes) = (Under::new(1), payload(1));
    assert!(!message.push(&mut a, &bytes) && message.begun && a.writer.offers.offer.is_some());
    assert!(!a.can_go_on(), "its reader has not come");
    assert!(!message.push(&mut a, &bytes) && !a.can_go_on());
    a.set_sleeping(true);
    let mut sink = sink();
    assert!(b.poll(&mut sink));
    assert!(b.must_ring_for_room(), "its writer sleeps, and waits for just that");
    assert!(a.can_go_on());
    assert!(message.push(&mut a, &bytes));
    assert_eq!(sink.got, [(message.header, bytes)]);
}

#[test]
fn a_reader_with_little_room_takes_what_fits() {
    let (mut a, mut b) = offering();
    let mut message = Under::new(1);
    let bytes = payload(1);
    assert!(!message.push(&mut a, &bytes));
    for limit in [0, 1000] {
        let mut sink = Collect { buffer: Vec::new(), limit, got: Vec::new() };
        b.poll(&mut sink);
        assert!(message.push(&mut a, &bytes));
        assert_eq!(sink.got, [(message.header, bytes[..limit].to_vec())]);
        message = Under::new(2);
        assert!(!message.push(&mut a, &bytes));
    }
}

#[test]
fn what_the_kernel_refuses_comes_through_the_ring_and_so_does_all_that_follows() {
    // An address of nobody, just now and long ago; and an earlier incarnation of the process.
    for (word, value, incarnation) in [(4, 8, 0), (5, 0, 2)] {
        for long_ago in [false, true] {
            let (mut a, mut b) = offering();
            let (mut message, bytes) = (Under::new(1), payload(1));
            assert!(!message.push(&mut a, &bytes));
            let line = a.writer.offers.offer.unwrap().line;
            let line = a.writer.out.line(line).cast::<u64>();
            // SAFETY: nobody reads the line meanwhile; it has eight words.
            unsafe {
                if long_ago {
                    line.add(5).write(line.add(5).read().wrapping_sub(1 << 40));
                }
                line.add(word).write(value);
            }
            assert!(b.reader.source().is_some());
            b.reader.fetches.source.as_mut().unwrap().as_mut().unwrap().word ^= incarnation;
            comes(&mut a, &mut b, message, &bytes);
            assert!(a.writer.offers.refused && a.writer.offers.offer.is_none(), "{word}");
            comes(&mut a, &mut b, Under::new(2), &payload(2));
        }
    }
}

#[test]
fn a_buffer_can_be_had_back() {
    let (mut a, mut b) = offering();
    let mut bytes = payload(1);
    let mut message = Under::new(1);
    assert!(a.withdraw(), "nothing is offered");
    assert!(!message.push(&mut a, &bytes));
    assert!(a.withdraw() && a.withdraw());
    let copy = bytes.clone();
    bytes.fill(0);
    comes(&mut a, &mut b, message, &copy);
    assert!(!a.writer.offers.refused, "nothing speaks against it next time");

    // Its reader was quicker.
    let mut message = Under::new(2);
    assert!(!message.push(&mut a, &copy));
    let line = a.writer.offers.offer.unwrap().line;
    b.reader.into.offer_state().store(Fate::Taken.of(line), Ordering::Relaxed);
    assert!(!a.withdraw());
    b.reader.into.offer_state().store(Fate::Offered.of(line), Ordering::Relaxed);
    comes(&mut a, &mut b, message, &copy);
}

#[test]
fn a_send_that_need_not_wait_for_its_receiver_does_not() {
    let (mut a, mut b) = offering();
    let mut ssn = 0;
    for pause in [1, 2, 4] {
        let (mut message, bytes) = (Under::eager(ssn), payload(ssn));
        assert!(!message.push(&mut a, &bytes) && a.writer.offers.offer.is_some());
        assert!(a.can_go_on(), "its writer must not sleep");
        while !message.push(&mut a, &bytes) {}
        assert!(a.writer.offers.offer.is_none() && !a.writer.offers.refused);
        ssn += 1;
        for _ in 0..pause {
            assert!(Under::eager(ssn).push(&mut a, &payload(ssn)), "this one is not offered");
            ssn += 1;
        }
        let mut sink = sink();
        while b.poll(&mut sink) {}
        for ((header, got), ssn) in sink.got.iter().zip(ssn - pause - 1..) {
            assert!(header.ssn == Ssn(ssn) && *got == payload(ssn));
        }
        assert_eq!(sink.got.len() as u64, pause + 1);
    }
    // A reader that comes in time gets offers again.
    for ssn in ssn..ssn + 2 {
        let (mut message, bytes) = (Under::eager(ssn), payload(ssn));
        assert!(!message.push(&mut a, &bytes));
        let mut sink = sink();
        b.poll(&mut sink);
        assert!(message.push(&mut a, &bytes));
        assert_eq!(sink.got, [(message.header, bytes)]);
    }
}

#[test]
fn where_the_kernel_refuses_nothing_is_offered_at_all() {
    for (word, value) in [(0, 0), (0, u64::MAX), (1, 4096), (2, 0), (2, 3)] {
        let (mut a, mut b) = pair();
        a.writer.out.introduction()[word].store(value, Ordering::Relaxed);
        for ssn in 0..200 {
            assert!(!a.writer.wants_single_copy(&Under::new(ssn).header));
            comes(&mut a, &mut b, Under::new(ssn), &payload(ssn));
        }
        assert!(matches!(b.reader.fetches.source, Some(None)), "{word} {value}");
    }
}
