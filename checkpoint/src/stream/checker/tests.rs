use super::*;
use crate::stream::{Hash, SocketState};
use proptest::prelude::*;

fn record(sequence: u64, kind: u32, at: u64, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(&RECORD_MAGIC.to_le_bytes());
    out.extend_from_slice(&kind.to_le_bytes());
    for word in [sequence, at, payload.len() as u64] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.extend_from_slice(payload);
    out
}

fn process() -> Vec<u8> {
    let mut process = vec![0; size_of::<ProcessState>()];
    process[0] = STREAM_VERSION as u8;
    process[core::mem::offset_of!(ProcessState, image_no)] = 9;
    process
}

fn stream() -> Vec<u8> {
    let mut out = record(0, kind::PROCESS, 0, &process());
    out.extend(record(1, kind::DESCRIPTORS, 0, &[0; 2 * size_of::<Descriptor>()]));
    out.extend(record(2, kind::FILES, 0, &[]));
    out.extend(record(3, kind::MAPS, 0, &[0; size_of::<Map>()]));
    out.extend(record(4, kind::STRINGS, 0, b"/bin/x\0"));
    out.extend(record(5, kind::THREADS, 0, &[0; size_of::<Thread>()]));
    out.extend(record(6, kind::TIMERS, 0, &[]));
    out.extend(record(7, kind::SIGNALS, 0, &[0; size_of::<Signal>()]));
    out.extend(record(8, kind::LOCKS, 0, &[0; size_of::<FileLock>()]));
    out.extend(record(9, kind::RANGES, 0, &[0; 3 * size_of::<Range>()]));
    out.extend(record(10, kind::WATCHES, 0, &[0; size_of::<Watch>()]));
    out.extend(record(11, kind::CONTENTS, 3, b"text"));
    out.extend(record(12, kind::PAGES, 0x1000, &[7; 8192]));
    out.extend(record(13, kind::PAGES, 0x3000, &[7; 4096]));
    let mut totals = 14u64.to_le_bytes().to_vec();
    totals.extend(12_288u64.to_le_bytes());
    out.extend(record(14, kind::END, 0, &totals));
    out
}

fn watch(bytes: &[u8], step: usize) -> Result<Totals, StreamError> {
    let mut watcher = StreamChecker::new();
    for piece in bytes.chunks(step.max(1)) {
        watcher.push(piece)?;
    }
    watcher.finish()
}

#[test]
fn a_whole_stream_is_whole_and_all_else_is_not() {
    let bytes = stream();
    for step in [1, 7, 4096, usize::MAX] {
        assert_eq!(watch(&bytes, step), Ok(Totals { records: 14, page_bytes: 12_288 }));
    }
    let mut watcher = StreamChecker::new();
    watcher.push(&bytes).unwrap();
    assert!(watcher.is_complete());
    assert_eq!(watcher.image_no(), Some(9));
    for cut in 0..bytes.len() {
        assert_eq!(watch(&bytes[..cut], 999), Err(StreamError::BrokeOff { bytes: cut as u64 }));
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(watch(&longer, 999).is_err());
}

#[test]
fn a_refusal_is_reported() {
    let mut bytes = record(0, kind::PROCESS, 0, &process());
    bytes.extend(record(1, kind::REFUSED, 0, b"a socket\nis open"));
    assert_eq!(watch(&bytes, 100), Err(StreamError::Refused("a socketis open".into())));
}

#[test]
fn the_layout_is_fixed() {
    assert_eq!(size_of::<RecordHeader>(), 32);
    assert_eq!(size_of::<Descriptor>(), 128);
    assert_eq!(size_of::<File>(), 56);
    assert_eq!(size_of::<Map>(), 40);
    assert_eq!(size_of::<FileLock>(), 32);
    assert_eq!(size_of::<Range>(), 24);
    assert_eq!(size_of::<Watch>(), 24);
    assert_eq!(size_of::<SocketState>(), 384);
    assert_eq!(size_of::<ProcessState>(), 3256);
}

#[test]
fn the_hash_distinguishes_lengths_and_bytes() {
    let hash = |bytes: &[u8]| Hash::new().with(bytes).value();
    assert_eq!(hash(b"12345678abcdefgh"), Hash::new().with(b"12345678").with(b"abcdefgh").value());
    assert_ne!(hash(b"1234567"), hash(b"1234567\0"));
    assert_ne!(hash(&[0; 8]), hash(&[0; 16]));
}

proptest! {
    #[test]
    fn noise_never_panics(noise: Vec<u8>, start in 0usize..12_000, step in 1usize..500) {
        let mut bytes = stream();
        let start = start.min(bytes.len());
        for (slot, byte) in bytes[start..].iter_mut().zip(&noise) {
            *slot ^= byte;
        }
        let _ = watch(&bytes, step);
    }
}
