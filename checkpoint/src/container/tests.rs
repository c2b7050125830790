use super::chunk::*;
use super::header::*;
use super::trailer::*;
use super::*;
use ftmpi_wire::{ImageId, ImageNo, Incarnation, Rank};
use proptest::prelude::*;

fn id() -> ImageId {
    ImageId { rank: Rank(3), incarnation: Incarnation(2), image: ImageNo(7) }
}

fn encode(raw: &[u8], step: usize, compression: Compression) -> (Vec<u8>, Summary) {
    let mut out = Vec::new();
    let mut encoder = Encoder::new(id(), compression);
    for piece in raw.chunks(step.max(1)) {
        encoder.push(piece, &mut out);
    }
    let summary = encoder.finish(&mut out);
    (out, summary)
}

fn encode_noted(raw: &[u8], note: &[u8]) -> (Vec<u8>, Summary) {
    let mut out = Vec::new();
    let mut encoder = Encoder::new(id(), Compression::Lz4);
    encoder.push(raw, &mut out);
    let (summary, _) = encoder.finish_with(note, &mut out);
    (out, summary)
}

fn decode(bytes: &[u8], step: usize) -> Result<(Vec<u8>, Summary), ContainerError> {
    let mut out = Vec::new();
    let mut decoder = Decoder::new();
    for piece in bytes.chunks(step.max(1)) {
        decoder.push(piece, &mut out)?;
    }
    Ok((out, decoder.finish()?))
}

fn verify(bytes: &[u8]) -> Result<Summary, ContainerError> {
    let mut verifier = Verifier::new();
    verifier.push(bytes)?;
    verifier.finish()
}

/// Bytes that compress in parts and not in others.
fn raw(len: usize, seed: u64) -> Vec<u8> {
    let mut x = seed | 1;
    (0..len)
        .map(|i| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            if (i >> 12) % 2 == 0 { (i >> 8) as u8 } else { x as u8 }
        })
        .collect()
}

#[test]
fn empty_and_large_streams_survive() {
    for len in [0, 1, CHUNK_BYTES_MAX - 1, CHUNK_BYTES_MAX, 3 * CHUNK_BYTES_MAX + 17] {
        for compression in [Compression::Stored, Compression::Lz4] {
            let raw = raw(len, 5);
            let (bytes, wrote) = encode(&raw, 70_000, compression);
            assert_eq!(wrote.stored_bytes, bytes.len() as u64);
            assert_eq!(wrote.raw_bytes, len as u64);
            assert_eq!(wrote.chunks, len.div_ceil(CHUNK_BYTES_MAX) as u64);
            assert_eq!(verify(&bytes), Ok(wrote));
            let (back, read) = decode(&bytes, 65_536).unwrap();
            assert!(back == raw);
            assert_eq!(read, wrote);
        }
    }
}

#[test]
fn another_version_or_another_file_is_named() {
    assert_eq!(verify(&[0; 64]), Err(ContainerError::NotAnImage));
    let mut bytes = header_bytes(id());
    bytes[8] = 9;
    let crc = crc32c::crc32c(&bytes[..36]);
    bytes[36..40].copy_from_slice(&crc.to_le_bytes());
    assert_eq!(verify(&bytes), Err(ContainerError::Version(9)));
}

#[test]
fn chunks_of_two_images_do_not_mix() {
    let raw = raw(1000, 1);
    let (first, _) = encode(&raw, 1000, Compression::Stored);
    let mut out = header_bytes(ImageId { image: ImageNo(8), ..id() }).to_vec();
    out.extend_from_slice(&first[HEADER_BYTES..]);
    assert_eq!(verify(&out), Err(ContainerError::ChunkChecksum { chunk: 0 }));
}

#[test]
fn a_note_is_found_without_reading_the_rest() {
    let raw = raw(3 * CHUNK_BYTES_MAX / 2, 4);
    for note in [&b""[..], b"n", &[7; NOTE_BYTES_MAX]] {
        let (bytes, wrote) = encode_noted(&raw, note);
        assert_eq!(verify(&bytes), Ok(wrote));
        assert!(decode(&bytes, 50_000).unwrap().0 == raw, "the note is no part of the stream");
        let mut verifier = Verifier::new();
        verifier.push(&bytes).unwrap();
        assert_eq!(verifier.note(), note);
        assert_eq!(note_of(std::io::Cursor::new(&bytes)).unwrap(), note);
        assert!(note_of(std::io::Cursor::new(&bytes[..bytes.len() - 1])).is_err());
    }
    // Only the trailer may follow the note, and there is one note.
    let (bytes, _) = encode_noted(b"", b"abc");
    let note = bytes[HEADER_BYTES..HEADER_BYTES + PREFIX_BYTES + 3].to_vec();
    let twice = [&bytes[..HEADER_BYTES], &note, &note].concat();
    assert_eq!(verify(&twice), Err(ContainerError::BadChunk { chunk: 0 }));
}

#[test]
fn an_error_stays() {
    let (mut bytes, _) = encode(&raw(100, 1), 100, Compression::Stored);
    bytes[HEADER_BYTES + PREFIX_BYTES] ^= 1;
    let mut verifier = Verifier::new();
    assert!(verifier.push(&bytes).is_err());
    assert!(verifier.push(&[]).is_err());
    assert!(!verifier.is_complete());
    assert!(verifier.finish().is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_cut_of_the_stream_gives_the_same(
        len in 0usize..40_000, seed: u64, write in 1usize..9_000, read in 1usize..9_000,
    ) {
        let raw = raw(len, seed);
        let (bytes, wrote) = encode(&raw, write, Compression::Lz4);
        let (back, summary) = decode(&bytes, read).unwrap();
        prop_assert!(back == raw);
        prop_assert_eq!(summary, wrote);
    }

    #[test]
    fn truncation_is_seen(len in 0usize..20_000, seed: u64, cut: prop::sample::Index) {
        let (bytes, _) = encode(&raw(len, seed), 5000, Compression::Lz4);
        let at = cut.index(bytes.len());
        prop_assert_eq!(verify(&bytes[..at]), Err(ContainerError::Truncated { bytes: at as u64 }));
        prop_assert!(decode(&bytes[..at], 777).is_err());
    }

    #[test]
    fn a_flipped_bit_is_seen(
        len in 0usize..20_000, seed: u64, at: prop::sample::Index, bit in 0u8..8,
    ) {
        let (mut bytes, _) = encode(&raw(len, seed), 5000, Compression::Lz4);
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        prop_assert!(verify(&bytes).is_err());
        prop_assert!(decode(&bytes, 4096).is_err());
    }

    #[test]
    fn a_flipped_bit_of_a_note_is_seen(len in 0usize..300, at: prop::sample::Index, bit in 0u8..8) {
        let (mut bytes, _) = encode_noted(&raw(len, 3), b"some note of an image");
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        prop_assert!(verify(&bytes).is_err());
        prop_assert!(decode(&bytes, 4096).is_err());
        let found = note_of(std::io::Cursor::new(&bytes));
        prop_assert!(found.is_err() || found.unwrap() == b"some note of an image");
    }

    #[test]
    fn appended_bytes_are_seen(seed: u64, extra in 1usize..50) {
        let (mut bytes, _) = encode(&raw(300, seed), 300, Compression::Lz4);
        bytes.resize(bytes.len() + extra, 0);
        prop_assert_eq!(verify(&bytes), Err(ContainerError::TrailingBytes));
    }

    #[test]
    fn noise_never_panics(bytes: Vec<u8>, behind_a_header: bool) {
        let mut input = if behind_a_header { header_bytes(id()).to_vec() } else { Vec::new() };
        input.extend_from_slice(&bytes);
        prop_assert!(verify(&input).is_err());
        prop_assert!(decode(&input, 7).is_err());
        prop_assert!(note_of(std::io::Cursor::new(&input)).is_err());
    }
}

/// The containers of a chain of images, as a store has them.
#[derive(Default)]
struct Incremental {
    files: std::collections::HashMap<ImageId, Vec<u8>>,
    known: ChunkIndex,
}

const PIECE: usize = 4096;

impl Incremental {
    fn put(&mut self, image: u64, raw: &[u8]) -> (ImageId, Vec<ImageId>) {
        let id = ImageId { image: ImageNo(image), ..id() };
        let known = std::mem::take(&mut self.known);
        let mut encoder = Encoder::incremental(id, Compression::Lz4, known);
        let mut out = Vec::new();
        for (at, piece) in raw.chunks(PIECE).enumerate() {
            if at > 0 {
                encoder.cut(&mut out);
            }
            encoder.push(piece, &mut out);
        }
        // The last piece is flushed, too: the note names its bases.
        encoder.flush(&mut out);
        let bases = encoder.bases();
        let (summary, known) = encoder.finish_with(b"note", &mut out);
        assert_eq!(summary.stored_bytes, out.len() as u64);
        assert_eq!(summary.raw_bytes, raw.len() as u64);
        self.known = known;
        self.files.insert(id, out);
        (id, bases)
    }

    fn whole(&self, id: ImageId) -> Result<Vec<u8>, AssembleError> {
        let missing = || std::io::Error::new(std::io::ErrorKind::NotFound, "gone");
        let file = |id| Ok(std::io::Cursor::new(self.files.get(&id).ok_or_else(missing)?));
        let mut whole = Assembler::new(file(id).unwrap(), file);
        let mut poured = Ok(Vec::new());
        let mut reader = Assembler::new(file(id).unwrap(), file);
        while let Ok(raw) = &mut poured {
            match reader.read_raw(raw) {
                Ok(true) => assert!(reader.id().is_none_or(|found| found == id)),
                Ok(false) => break,
                Err(why) => poured = Err(why),
            }
        }
        let checked = whole.check();
        // Both ways refuse the same bytes.
        assert_eq!(checked.is_ok(), poured.is_ok());
        let summary = checked?;
        let mut out = Vec::new();
        while whole.read(&mut out)? {}
        let mut raw = Vec::new();
        Decoder::new().push(&out, &mut raw)?;
        assert!(raw == poured?);
        assert_eq!(summary.stored_bytes, out.len() as u64);
        Ok(out)
    }
}

/// The end of a stream is not cut like its pieces, and is the same in many images.
#[test]
fn what_only_the_end_rests_on_is_reported() {
    let mut incremental = Incremental::default();
    let end = raw(100, 1);
    let before = raw(8 * PIECE, 2);
    let (first, _) = incremental.put(1, &[&before[..], &end].concat());
    let changed: Vec<u8> = before.iter().map(|byte| !byte).collect();
    let memory = [&changed[..], &end].concat();
    let (second, bases) = incremental.put(2, &memory);
    assert_eq!(bases, [first]);
    assert!(decode(&incremental.whole(second).unwrap(), 1 << 20).unwrap().0 == memory);
}

#[test]
fn what_did_not_change_is_named_and_found() {
    let mut incremental = Incremental::default();
    let mut memory = raw(40 * PIECE, 3);
    let (first, bases) = incremental.put(1, &memory);
    assert!(bases.is_empty());
    memory[5 * PIECE + 7] ^= 1;
    memory[30 * PIECE..32 * PIECE].fill(9);
    let (second, bases) = incremental.put(2, &memory);
    assert_eq!(bases, [first]);
    assert!(incremental.files[&second].len() < incremental.files[&first].len() / 3);
    // Alone the container is no image.
    assert_eq!(
        decode(&incremental.files[&second], 999).unwrap_err(),
        ContainerError::Elsewhere { chunk: 0 }
    );
    let whole = incremental.whole(second).unwrap();
    let (raw_again, summary) = decode(&whole, 999).unwrap();
    assert!(raw_again == memory && summary.id == second);
    assert_eq!(note_of(std::io::Cursor::new(&whole)).unwrap(), b"note");
    // The third image finds what was new in the second one there.
    let (third, bases) = incremental.put(3, &memory);
    assert_eq!(bases, [first, second]);
    assert!(decode(&incremental.whole(third).unwrap(), 1 << 20).unwrap().0 == memory);
    // A complete container is given as it is.
    assert!(incremental.whole(first).unwrap() == incremental.files[&first]);
}

#[test]
fn damage_anywhere_below_is_found() {
    let mut incremental = Incremental::default();
    let memory = raw(6 * PIECE, 3);
    let (first, _) = incremental.put(1, &memory);
    let (second, _) = incremental.put(2, &memory);
    let good = incremental.files.clone();
    for id in [first, second] {
        for at in 0..good[&id].len() {
            incremental.files.get_mut(&id).unwrap()[at] ^= 0x10;
            // Header, note and end of a base concern only the base.
            match incremental.whole(second) {
                Ok(whole) => assert!(id == first && decode(&whole, 1 << 20).unwrap().0 == memory),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
            incremental.files = good.clone();
        }
        incremental.files.get_mut(&id).unwrap().truncate(good[&id].len() / 2);
        incremental.whole(second).unwrap_err();
        incremental.files = good.clone();
    }
    incremental.files.remove(&first);
    assert!(incremental.whole(second).unwrap_err().to_string().contains("image 1"));
}

#[test]
fn a_row_ends_when_too_much_of_it_is_waste() {
    let mut incremental = Incremental::default();
    let mut whole = 0;
    for image in 1..=40_u64 {
        // A fifth of the memory changes every time.
        let mut memory = raw(40 * PIECE, 3);
        for piece in memory.chunks_mut(PIECE).skip(image as usize % 5).step_by(5) {
            piece.fill(image as u8);
            piece[..8].copy_from_slice(&(image ^ 0x5555).to_le_bytes());
        }
        let (id, bases) = incremental.put(image, &memory);
        whole += u32::from(bases.is_empty());
        assert!(bases.len() <= 16);
        assert!(decode(&incremental.whole(id).unwrap(), 1 << 20).unwrap().0 == memory);
    }
    // About every third image is complete.
    assert!((10..=16).contains(&whole), "{whole}");
}

proptest! {
    #[test]
    fn any_changes_come_back(seeds in prop::collection::vec((0usize..30, any::<u8>(), 1usize..40), 1..12)) {
        let mut incremental = Incremental::default();
        let mut memory = raw(20 * PIECE, 11);
        for (image, (at, byte, pieces)) in seeds.into_iter().enumerate() {
            memory.resize(pieces * PIECE, byte);
            if let Some(slot) = memory.get_mut(at * 1000) {
                *slot = byte;
            }
            let (id, _) = incremental.put(image as u64 + 1, &memory);
            prop_assert!(decode(&incremental.whole(id).unwrap(), 7777).unwrap().0 == memory);
        }
    }
}

/// Whole chunks make the same container as bytes that are pushed and cut.
#[test]
fn a_whole_chunk_is_pushing_and_cutting() {
    let raw: Vec<u8> = (0..3 * CHUNK_BYTES_MAX + 4321).map(|i| ((i * i) >> 7) as u8).collect();
    for workers in [0, 1, 3] {
        for step in [1000, 65_536, CHUNK_BYTES_MAX, 5 * CHUNK_BYTES_MAX] {
            let encoder = || Encoder::new(id(), Compression::Lz4).with_workers(workers);
            let (mut pushed, mut whole) = (encoder(), encoder());
            let (mut one, mut other) = (Vec::new(), Vec::new());
            for (number, piece) in raw.chunks(step).enumerate() {
                pushed.push(piece, &mut one);
                if number % 3 == 0 {
                    whole.push(piece, &mut other);
                } else {
                    pushed.cut(&mut one);
                    whole.push_chunk(piece, &mut other);
                }
            }
            assert_eq!(pushed.finish(&mut one), whole.finish(&mut other));
            assert!(one == other, "{workers} workers, steps of {step}");
        }
    }
}

/// A writer tells the places that it has put into the container.
#[test]
fn places_are_those_in_the_container() {
    let mut known = ChunkIndex::default();
    for image in 1..4 {
        let id = ImageId { image: ImageNo(image), ..id() };
        let mut encoder = Encoder::incremental(id, Compression::Lz4, known);
        let (mut out, mut told) = (Vec::new(), Vec::new());
        for piece in raw(20 * PIECE, 3 + image / 3).chunks(PIECE) {
            encoder.push_chunk(piece, &mut out);
            told.extend(encoder.take_places());
        }
        encoder.flush(&mut out);
        told.extend(encoder.take_places());
        known = encoder.finish_with(b"", &mut out).1;
        let mut verifier = Verifier::new();
        let mut found = Vec::new();
        verifier.push_with(&out, &mut |place| place.append_to(&mut found)).unwrap();
        assert!(told == found && told.is_empty() == (image == 1));
    }
}

/// With fewer samples a writer still finds what becomes smaller.
#[test]
fn noise_is_stored_and_what_is_none_is_found() {
    let noise = |at: usize| (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).swap_bytes() as u8;
    let chunk = |of_zeros: usize| -> Vec<u8> {
        (0..65_536).map(|at| if at < of_zeros { 0 } else { noise(at * at) }).collect()
    };
    let encode = |chunks: &[Vec<u8>], expecting: bool, workers: usize| {
        let mut encoder = Encoder::new(id(), Compression::Lz4).with_workers(workers);
        if expecting {
            encoder = encoder.expecting_noise();
        }
        let mut out = Vec::new();
        chunks.iter().for_each(|chunk| encoder.push_chunk(chunk, &mut out));
        encoder.flush(&mut out);
        let shrinks = encoder.shrinks();
        let _ = encoder.finish(&mut out);
        (out, shrinks)
    };
    assert_eq!(encode(&[], true, 0).1, None);
    let noisy = vec![chunk(0); 40];
    assert_eq!(encode(&noisy, false, 0).1, Some(false));
    assert_eq!(encode(&noisy, true, 0), encode(&noisy, false, 2));
    // The begin of a chunk is tried in every third one.
    let half = vec![chunk(30_000); 40];
    let (out, shrinks) = encode(&half, true, 0);
    assert_eq!((&out, shrinks), (&encode(&half, true, 2).0, Some(true)));
    assert!(decode(&out, 1 << 20).unwrap().0 == half.concat());
    assert!(encode(&half, false, 0).0.len() < out.len());
}
