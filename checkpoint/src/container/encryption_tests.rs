//! Encrypted containers, levels of compression, and several workers.

use super::chunk::*;
use super::header::*;
use super::trailer::*;
use super::*;
use ftmpi_wire::{ImageId, ImageNo, Incarnation, Rank};
use std::io::Cursor;

const PIECE: usize = 64 << 10;
const ALL: [Compression; 4] =
    [Compression::Stored, Compression::Lz4, Compression::Zstd(1), Compression::Zstd(9)];

fn id(image: u64) -> ImageId {
    ImageId { rank: Rank(3), incarnation: Incarnation(2), image: ImageNo(image) }
}

fn secret(of: u8) -> Secret {
    Secret::new(&[of; 32])
}

/// Bytes that compress in parts and not in others.
fn memory(pieces: usize, seed: u64) -> Vec<u8> {
    let mut x = seed | 1;
    (0..pieces * PIECE)
        .map(|i| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            if (i >> 14) % 2 == 0 { b"plain text"[i % 10] } else { x as u8 }
        })
        .collect()
}

fn encode(mut encoder: Encoder, raw: &[u8]) -> (Vec<u8>, ChunkIndex) {
    let mut out = Vec::new();
    for piece in raw.chunks(PIECE) {
        encoder.push(piece, &mut out);
        encoder.cut(&mut out);
    }
    encoder.flush(&mut out);
    let (summary, known) = encoder.finish_with(b"note", &mut out);
    assert_eq!(summary.stored_bytes, out.len() as u64);
    (out, known)
}

fn sealed(image: u64, raw: &[u8], known: ChunkIndex) -> (Vec<u8>, ChunkIndex) {
    let salt = [image as u8; SALT_BYTES];
    let encoder = Encoder::incremental(id(image), Compression::Lz4, known);
    encode(encoder.sealed(secret(7), salt), raw)
}

/// The raw bytes, also those that were given before an error.
fn decode(bytes: &[u8], of: Option<Secret>) -> (Vec<u8>, Result<Summary, ContainerError>) {
    let (mut decoder, mut out) = (Decoder::with_secret(of), Vec::new());
    for piece in bytes.chunks(9999) {
        if let Err(error) = decoder.push(piece, &mut out) {
            return (out, Err(error));
        }
    }
    (out, decoder.finish())
}

fn contains(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

#[test]
fn every_level_and_any_number_of_workers_give_the_same_back() {
    let raw = memory(70, 5);
    let mut sizes = Vec::new();
    for how in ALL {
        let (alone, _) = encode(Encoder::new(id(1), how), &raw);
        for workers in [1, 2, 8] {
            let (together, _) = encode(Encoder::new(id(1), how).with_workers(workers), &raw);
            assert!(alone == together, "{how:?} by {workers}");
        }
        assert!(decode(&alone, None).0 == raw, "{how:?}");
        sizes.push(alone.len());
    }
    assert!(sizes[1] < sizes[0] * 2 / 3 && sizes[2] < sizes[1], "{sizes:?}");
    assert_eq!([0, 1, 2, 200].map(Compression::of_level)[1..3], [ALL[1], Compression::Zstd(2)]);
}

#[test]
fn only_the_key_opens_it_and_everybody_can_check_it() {
    let raw = memory(5, 5);
    let (bytes, _) = sealed(1, &raw, ChunkIndex::default());
    assert!(contains(&raw, b"plain textplain text"));
    assert!(!contains(&bytes, b"plain textplain text"));
    assert!(decode(&bytes, Some(secret(7))).0 == raw);
    assert_eq!(decode(&bytes, None).1, Err(ContainerError::Sealed { chunk: 0 }));
    assert_eq!(decode(&bytes, Some(secret(8))).1, Err(ContainerError::Opened { chunk: 0 }));
    let (plain, _) = encode(Encoder::new(id(1), Compression::Lz4), &raw);
    assert_eq!(decode(&plain, Some(secret(7))).1, Err(ContainerError::NotSealed { chunk: 0 }));
    let mut verifier = Verifier::new();
    verifier.push(&bytes).unwrap();
    verifier.finish().unwrap();
    // The same memory again looks different.
    let (again, _) = sealed(2, &raw, ChunkIndex::default());
    assert!(
        bytes[HEADER_BYTES + PREFIX_BYTES..][..500] != again[HEADER_BYTES + PREFIX_BYTES..][..500]
    );
}

#[test]
fn incremental_ones_are_made_whole_without_the_key() {
    let mut raw = memory(6, 5);
    let (first, known) = sealed(1, &raw, ChunkIndex::default());
    raw[2 * PIECE + 9] ^= 1;
    let (second, _) = sealed(2, &raw, known);
    assert!(second.len() < first.len() / 3);
    let mut whole = Assembler::new(Cursor::new(&second), |_| Ok(Cursor::new(&first)));
    let mut out = Vec::new();
    while whole.read(&mut out).unwrap() {}
    let (back, summary) = decode(&out, Some(secret(7)));
    assert!(back == raw);
    assert_eq!(summary.unwrap().id, id(2));
    assert_eq!(note_of(Cursor::new(&out)).unwrap(), b"note");
}

/// A container that is put together from these chunks, with right checksums.
fn forge(of: ImageId, chunks: &[(u32, u32, Vec<u8>)], seal: &[u8], note: &[u8]) -> Vec<u8> {
    let mut out = header_bytes(of).to_vec();
    let mut checksums = Checksums::new(u32_at(&out, 36));
    for (raw_len, flags, stored) in chunks {
        let crc = checksums.chunk(*raw_len, *flags, stored);
        out.extend_from_slice(&prefix(*raw_len, stored.len() as u32, *flags, crc));
        out.extend_from_slice(stored);
        checksums.count(*raw_len, crc);
    }
    if let Ok(seal) = seal.try_into() {
        trailer::emit_seal(seal, &mut checksums, &mut out);
    }
    trailer::emit_note(note, &mut checksums, &mut out);
    trailer::emit_trailer(&checksums, &mut out);
    out
}

#[test]
fn without_the_key_no_container_can_be_made() {
    let raw = memory(4, 5);
    let (good, _) = sealed(1, &raw, ChunkIndex::default());
    let (mut chunks, mut at) = (Vec::new(), HEADER_BYTES);
    while u32_at(&good, at + 8) & FLAG_SEALED != 0 && u32_at(&good, at) > 0 {
        let (raw_len, len, flags) =
            (u32_at(&good, at), u32_at(&good, at + 4), u32_at(&good, at + 8));
        let body = at + PREFIX_BYTES;
        chunks.push((raw_len, flags, good[body..body + len as usize].to_vec()));
        at = body + len as usize;
    }
    assert_eq!((chunks.len(), u32_at(&good, at + 8)), (4, FLAG_SEAL));
    let seal = good[at + PREFIX_BYTES..][..32].to_vec();
    assert!(forge(id(1), &chunks, &seal, b"note") == good);
    let mut swapped = chunks.clone();
    swapped.swap(0, 2);
    let mut shorter = chunks.clone();
    shorter.pop();
    let forged = [
        forge(id(1), &swapped, &seal, b"note"),
        forge(id(1), &shorter, &seal, b"note"),
        forge(id(2), &chunks, &seal, b"note"),
        forge(id(1), &chunks, &seal, b"another"),
        forge(id(1), &chunks, &[], b"note"),
    ];
    for (number, bytes) in forged.iter().enumerate() {
        let (given, outcome) = decode(bytes, Some(secret(7)));
        assert!(matches!(outcome, Err(ContainerError::Seal { .. })), "{number}: {outcome:?}");
        // A reader never gets the end.
        assert!(given.len() < raw.len() - PIECE / 2, "{number}");
    }
    chunks[1].2[100] ^= 1;
    let outcome = decode(&forge(id(1), &chunks, &seal, b"note"), Some(secret(7))).1;
    assert_eq!(outcome, Err(ContainerError::Opened { chunk: 1 }));
}
