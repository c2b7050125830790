//! The record of a rank as a file: what must be known of a rank in addition to its images.

use crate::files::Files;
use ftmpi_protocols::image_catalogue::Record;
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::io;
use std::path::Path;

pub(in crate::image_store) fn record_name(rank: Rank) -> String {
    format!("r{:010}.record", rank.0)
}

pub(in crate::image_store) fn parse_record_name(text: &str) -> Option<Rank> {
    Some(Rank(text.strip_prefix('r')?.strip_suffix(".record")?.parse().ok()?))
}

pub(in crate::image_store) fn encode_record(record: Record) -> String {
    let Record { incarnation, start_offered, oldest } = record;
    let start = u8::from(start_offered);
    record_line(&format!("incarnation={incarnation} start_offered={start} oldest={oldest}"))
}

/// A line with its checksum.
fn record_line(line: &str) -> String {
    format!("{line} crc={:08x}\n", crc32c::crc32c(line.as_bytes()))
}

/// The line, if its checksum is right.
fn checked_line(text: &str) -> Option<&str> {
    let (line, crc) = text.strip_suffix('\n')?.rsplit_once(" crc=")?;
    (u32::from_str_radix(crc, 16).ok()? == crc32c::crc32c(line.as_bytes())).then_some(line)
}

/// The record of a rank in this directory, if there is a sound one.
pub(in crate::image_store) fn read_record(dir: &Path, rank: Rank) -> io::Result<Option<Record>> {
    match std::fs::read(dir.join(record_name(rank))) {
        Ok(text) => Ok(std::str::from_utf8(&text).ok().and_then(decode_record)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

/// Whether every record in this directory is sound.
pub(in crate::image_store) fn records_are_sound(dir: &Path) -> io::Result<bool> {
    for entry in std::fs::read_dir(dir)? {
        let name = entry?.file_name();
        let Some(rank) = name.to_str().and_then(parse_record_name) else { continue };
        if read_record(dir, rank)?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Makes a record durable.
pub(in crate::image_store) fn persist_record(
    dir: &Path,
    files: &Files,
    rank: Rank,
    record: Record,
) -> io::Result<()> {
    let path = dir.join(record_name(rank));
    let temporary = dir.join(format!("{}.part", record_name(rank)));
    files.replace(&path, &temporary, encode_record(record).as_bytes())
}

pub(in crate::image_store) fn decode_record(text: &str) -> Option<Record> {
    let mut words = checked_line(text)?.split(' ');
    let mut word = |name: &str| words.next()?.strip_prefix(name)?.strip_prefix('=');
    let record = Record {
        incarnation: Incarnation(word("incarnation")?.parse().ok()?),
        start_offered: word("start_offered")? == "1",
        oldest: ImageNo(word("oldest")?.parse().ok()?),
    };
    words.next().is_none().then_some(record)
}
