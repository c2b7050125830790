//! Names, records, bases, and faults at every change of the disk.

use super::*;
use crate::image_store::record_file::encode_record;
use crate::storage_faults::{Fault, Plan};
use ftmpi_checkpoint::container::{ChunkIndex, Compression, Encoder};
use ftmpi_wire::{ImageNo, Incarnation};
use proptest::prelude::*;
use std::sync::Arc;

#[test]
fn names_and_records_survive() {
    let name = ImageId { rank: Rank(7), image: ImageNo(u64::MAX), incarnation: Incarnation(3) };
    assert_eq!(parse_image_name(&image_name(name), ".image"), Some(name));
    for start_offered in [false, true] {
        let record =
            Record { incarnation: Incarnation(12), start_offered, oldest: ImageNo(u64::MAX) };
        let text = encode_record(record);
        assert_eq!(decode_record(&text), Some(record));
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            let changed = String::from_utf8(bytes).unwrap();
            assert_ne!(decode_record(&changed), Some(record), "{changed}");
            assert!(decode_record(&text[..at]).is_none());
        }
    }
}

const R: Rank = Rank(3);

fn id(image: u64) -> ImageId {
    ImageId { rank: R, image: ImageNo(image), incarnation: Incarnation(0) }
}

/// An image of a process whose memory changes only in a few places. The chunks in `known` are its
/// bases.
fn container(image: u64, known: &mut ChunkIndex) -> Vec<u8> {
    let about = id(image);
    let mut out = Vec::new();
    let before = std::mem::take(known);
    let mut encoder = Encoder::incremental(about, Compression::Stored, before);
    for piece in 0..6 {
        let byte = if piece == image % 6 { image as u8 } else { 0 };
        let mut bytes = [byte; 1000];
        bytes[0] = piece as u8 + 100;
        encoder.push(&bytes, &mut out);
        encoder.cut(&mut out);
    }
    let bases = encoder.bases().iter().map(|base| (base.incarnation, base.image)).collect();
    let note = Note { bases, ..Note::default() };
    let (_, after) = encoder.finish_with(&image_note::encode(&note), &mut out);
    *known = after;
    out
}

/// Five images, one after the other in two chains, as the catalogue orders it. Returns the numbers
/// of those that were reported as stored, and whether the start was given up.
fn history(dir: &Path, files: Files) -> (Vec<u64>, bool) {
    let (mut published, mut given_up) = (Vec::new(), false);
    let mut catalogue = ImageCatalogue::new(u64::MAX);
    let private = PrivateDir::take(dir).unwrap();
    let Ok(disk) = Disk::open(private, files, &mut catalogue, |_| ()) else {
        return (published, given_up);
    };
    let record = |start_offered| Record { start_offered, ..Record::default() };
    let _ = disk.persist(R, record(true));
    let mut rows = [ChunkIndex::default(), ChunkIndex::default()];
    for image in 1..=5 {
        let row = &mut rows[image as usize % 2];
        let bytes = container(image, row);
        let put = || {
            let mut upload = disk.receive(ConnId(image), R)?;
            upload.write(&bytes[..1000])?;
            upload.write(&bytes[1000..])?;
            upload.finish(id(image))?;
            disk.publish(ConnId(image), id(image))
        };
        if put().is_err() {
            *row = ChunkIndex::default();
            continue;
        }
        published.push(image);
        if published.len() == 2 {
            given_up = disk.persist(R, record(false)).is_ok();
        }
        if published.len() > 2 {
            disk.remove(id(published.remove(0)));
        }
    }
    (published, given_up)
}

/// A later start offers sound images only, and all that were reported as stored.
fn is_sound(dir: &Path, said: &(Vec<u64>, bool), what: &str) {
    let mut catalogue = ImageCatalogue::new(u64::MAX);
    let private = PrivateDir::take(dir).unwrap();
    let disk = Disk::open(private, Files::default(), &mut catalogue, |line| {
        panic!("{what}: {line}");
    })
    .unwrap();
    let state = catalogue.ranks().next();
    let (images, start) = state.map_or((Vec::new(), true), |state| {
        (state.images.iter().map(|stored| stored.image.0).collect(), state.start_offered)
    });
    for image in &images {
        assert!(disk.check(id(*image)).is_ok(), "{what}: image {image} is offered and damaged");
    }
    for image in &said.0 {
        assert!(images.contains(image), "{what}: image {image} of {said:?} is lost: {images:?}");
    }
    assert!(!(said.1 && start), "{what}: the start is offered again");
    assert!(start || images.len() >= 2, "{what}: neither start nor images: {images:?}");
    let parts = std::fs::read_dir(dir).unwrap().flatten();
    let parts = parts.filter(|entry| entry.path().extension().is_some_and(|e| e == "part"));
    assert_eq!(parts.count(), 0, "{what}: unfinished files are left");
}

#[test]
fn what_others_rest_on_stays_as_long_as_they() {
    let dir = tempfile::tempdir().unwrap();
    let said = history(dir.path(), Files::default());
    assert_eq!(said.0, [4, 5]);
    let names = || {
        let entries = std::fs::read_dir(dir.path()).unwrap().flatten();
        let mut names: Vec<_> = entries
            .filter_map(|entry| {
                let name = entry.file_name().into_string().unwrap();
                let base_refs = parse_image_name(&name, ".ground").map(|name| name.image.0);
                base_refs.or_else(|| Some(parse_image_name(&name, ".image")?.image.0 * 10))
            })
            .collect();
        names.sort_unstable();
        names
    };
    // Image 4 has the base 2, image 5 the bases 3 and 1.
    assert_eq!(names(), [1, 2, 3, 40, 50]);
    let mut catalogue = ImageCatalogue::new(u64::MAX);
    let private = PrivateDir::take(dir.path()).unwrap();
    let disk = Disk::open(private, Files::default(), &mut catalogue, |_| ()).unwrap();
    assert!(disk.retired_bytes() > 0);
    assert_eq!(names(), [1, 2, 3, 40, 50]);
    // An image with a missing base is refused.
    let mut known = ChunkIndex::default();
    let _ = container(7, &mut known);
    let orphan = container(8, &mut known);
    let mut upload = disk.receive(ConnId(8), R).unwrap();
    let why = upload.write(&orphan).unwrap_err().to_string();
    assert!(why.contains("needs image 7"), "{why}");
    drop(upload);
    // An image that is being received holds its bases, too.
    let mut known = ChunkIndex::default();
    let bytes = container(6, &mut known);
    let mut upload = disk.receive(ConnId(6), R).unwrap();
    upload.write(&bytes).unwrap();
    upload.finish(id(6)).unwrap();
    disk.publish(ConnId(6), id(6)).unwrap();
    let mut next = disk.receive(ConnId(9), R).unwrap();
    next.write(&container(9, &mut known)).unwrap();
    disk.remove(id(6));
    assert_eq!(names(), [1, 2, 3, 6, 40, 50]);
    drop(next);
    assert_eq!(names(), [1, 2, 3, 40, 50]);
    disk.remove(id(4));
    assert_eq!(names(), [1, 3, 50]);
    // Damage in a base is damage of the image.
    let below = dir.path().join(image_name(id(1))).with_extension("ground");
    let mut bytes = std::fs::read(&below).unwrap();
    // In the third piece, which never changed.
    bytes[40 + 2 * 1016 + 500] ^= 1;
    std::fs::write(&below, bytes).unwrap();
    assert!(matches!(disk.check(id(5)), Err(CheckError::Damaged(_))));
    disk.set_aside(id(5));
    assert_eq!(names(), [0; 0]);
    assert!(matches!(disk.check(id(5)), Err(CheckError::Gone)));
}

#[test]
fn a_fault_at_any_change_leaves_the_old_or_the_new_image() {
    let begin = tempfile::tempdir().unwrap();
    let whole = Arc::new(Plan::new(None));
    let said = history(begin.path(), Files::watched(whole.clone()));
    assert_eq!(said, (vec![4, 5], true));
    let changes = whole.changes();
    assert!(changes > 20, "{changes} changes");
    let mut state = 12_345_u64;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        (state >> 33) as usize % below
    };
    for at in 0..=changes {
        for fault in [Fault::Full, Fault::Death] {
            let dir = tempfile::tempdir().unwrap();
            let plan = Arc::new(Plan::new(Some((at, fault))));
            let said = history(dir.path(), Files::watched(plan));
            is_sound(dir.path(), &said, &format!("{fault:?} at change {at}"));
        }
        for round in 0..8 {
            let dir = tempfile::tempdir().unwrap();
            let plan = Arc::new(Plan::new(Some((at, Fault::Death))));
            let said = history(dir.path(), Files::watched(plan.clone()));
            plan.lose_power(&mut draw);
            is_sound(dir.path(), &said, &format!("power lost at change {at}, {round}"));
        }
    }
}

proptest! {
    #[test]
    fn hostile_names_and_records_never_panic(text in ".{0,80}") {
        let _ = parse_image_name(&text, ".image");
        let _ = parse_record_name(&text);
        let _ = decode_record(&text);
    }
}
