use super::*;
use crate::event_log::ConnId;
use crate::protocol::*;
use ftmpi_wire::header::{Kind, Received as Wire};
use ftmpi_wire::hello::Welcome;
use ftmpi_wire::{Header, Incarnation, Rank, Ssn, control};

const A: ConnId = ConnId(1);
const B: ConnId = ConnId(2);
const HOME: ConnId = ConnId(3);

fn eager(ssn: u64) -> Header {
    Header { kind: Kind::Eager, flags: 0, context: 1, tag: 5, len: 3, ssn: Ssn(ssn) }
}

fn control_frame(kind: Kind, place: u64, cut: u64) -> (Header, Vec<u8>) {
    let wire = Wire { contiguous: Ssn(place), replies: Ssn(cut), beyond: Vec::new() };
    let payload = control::encode(&wire);
    let len = payload.len() as u64;
    (Header { kind, flags: 0, context: 0, tag: 0, len, ssn: Ssn(0) }, payload)
}

fn memory() -> Memory {
    let mut memory = Memory::default();
    for (conn, from) in [(A, 0), (B, 1), (HOME, 2)] {
        assert_eq!(memory.hello(conn, Rank(from), Incarnation(0), Rank(2)).0, Welcome::Yes);
        assert!(matches!(memory.next(conn), Some(Say::Frame(h, _)) if h.kind == Kind::Resume));
    }
    memory
}

fn says(memory: &mut Memory, conn: ConnId) -> Vec<Say> {
    std::iter::from_fn(|| memory.next(conn)).collect()
}

#[test]
fn nothing_is_acknowledged_or_given_before_it_is_written() {
    let mut memory = memory();
    let (header, payload) = control_frame(Kind::Resume, 0, 0);
    assert_eq!(memory.said(HOME, &header, &payload), None);
    for (conn, ssn, place) in [(A, 1, 1), (B, 1, 2), (A, 2, 3)] {
        let Fate::Keep(Rank(2), record) = memory.arrived(conn, &eager(ssn)) else { panic!() };
        assert_eq!(record.place, place);
    }
    assert_eq!(memory.arrived(A, &eager(2)), Fate::Drop);
    assert_eq!(says(&mut memory, HOME), []);
    assert_eq!(memory.written(Rank(2), 2), [A, B, HOME]);
    assert_eq!(says(&mut memory, HOME), [Say::Record(1), Say::Record(2)]);
    let said = says(&mut memory, A);
    let [Say::Frame(header, payload)] = &said[..] else { panic!("{said:?}") };
    let has: Wire = control::decode(payload).unwrap();
    assert_eq!((header.kind, has.contiguous), (Kind::LogCut, Ssn(1)));
    memory.written(Rank(2), 3);
    assert_eq!(says(&mut memory, HOME), [Say::Record(3)]);
}

#[test]
fn an_acknowledgement_of_a_match_is_echoed_when_it_is_kept() {
    let mut memory = memory();
    let header = Header { kind: Kind::SyncAck, len: 0, ..eager(9) };
    assert!(matches!(memory.arrived(A, &header), Fate::Keep(..)));
    assert_eq!(says(&mut memory, A), []);
    memory.written(Rank(2), 1);
    let said = says(&mut memory, A);
    assert!(matches!(&said[..], [Say::Frame(ack, _), Say::Frame(echo, _)]
            if ack.kind == Kind::LogCut && echo.kind == Kind::SyncAck && echo.ssn == Ssn(9)));
}

#[test]
fn a_later_incarnation_shuts_out_the_earlier_and_reads_again_from_where_it_says() {
    let mut memory = memory();
    for ssn in 1..=4 {
        memory.arrived(A, &eager(ssn));
    }
    memory.written(Rank(2), 4);
    let (header, payload) = control_frame(Kind::LogCut, 2, 0);
    assert_eq!(memory.said(HOME, &header, &payload), Some((Rank(2), 2)));
    let later = ConnId(8);
    let (welcome, replaced) = memory.hello(later, Rank(2), Incarnation(1), Rank(2));
    assert_eq!((welcome, replaced), (Welcome::Yes, vec![HOME]));
    assert_eq!(memory.hello(ConnId(9), Rank(2), Incarnation(0), Rank(2)).0, Welcome::Stale);
    assert_eq!(memory.arrived(HOME, &eager(1)), Fate::Senseless);
    let (header, payload) = control_frame(Kind::Resume, 3, 2);
    memory.said(later, &header, &payload);
    assert_eq!(says(&mut memory, later)[1..], [Say::Record(4)]);
}

#[test]
fn files_report_what_was_written() {
    let mut first = memory();
    let mut records = Vec::new();
    for (conn, ssn) in [(A, 1), (A, 3), (B, 1)] {
        let Fate::Keep(_, record) = first.arrived(conn, &eager(ssn)) else { panic!() };
        records.push(record);
    }
    let mut second = Memory::default();
    second.restore(Rank(2), &Summary::default());
    records.iter().for_each(|record| second.found(Rank(2), record));
    // (Of an incarnation that has sent nothing files know nothing.)
    assert_eq!(second.summary(Rank(2)).received, first.summary(Rank(2)).received);
    let mut third = Memory::default();
    third.restore(Rank(2), &second.summary(Rank(2)));
    third.hello(A, Rank(0), Incarnation(0), Rank(2));
    assert_eq!(third.arrived(A, &eager(3)), Fate::Drop);
    assert!(matches!(third.arrived(A, &eager(2)), Fate::Keep(_, Record { place: 4, .. })));
}

#[test]
fn the_ranks_side_records_answers_and_no_matches() {
    let mut p = protocol(false, true);
    assert!(p.hooks().memory && !p.hooks().wildcard_matches && p.hooks().outcomes);
    assert_eq!(p.pin(crate::protocol::NAMED | 1), Pin::Free);
    p.on_negative();
    p.settle();
    assert_eq!(p.determinants(), 1);
}
