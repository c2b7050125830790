//! Reads the records of an image from its stream.

use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls;
use ftmpi_checkpoint::stream::{ProcessState, RECORD_MAGIC, RecordHeader, STREAM_VERSION, kind};
use ftmpi_wire::control::fds;

/// The refusal of an image that is not as it was written.
pub fn damaged(area: &ReservedArea, what: &str) -> Refused {
    area.refuse(Refusal::Damaged { what })
}

/// The next record's header.
pub fn read_header(area: &ReservedArea) -> Result<RecordHeader, Refused> {
    let mut header = RecordHeader::default();
    // SAFETY: plain numbers; any bytes are a valid value.
    let bytes = unsafe {
        core::slice::from_raw_parts_mut((&raw mut header).cast::<u8>(), size_of::<RecordHeader>())
    };
    if syscalls::read_full(fds::IMAGE, bytes) != Ok(size_of::<RecordHeader>()) {
        return Err(damaged(area, "it breaks off"));
    }
    if header.magic != RECORD_MAGIC {
        return Err(damaged(area, "it is no image"));
    }
    Ok(header)
}

/// Reads the state of the process. Of another version it reads the version only.
pub fn read_process_state(area: &ReservedArea, process: &mut ProcessState) -> Result<(), Refused> {
    let header = read_header(area)?;
    if header.len == size_of::<ProcessState>() as u64 || header.kind != kind::PROCESS {
        return read_rest(area, header, kind::PROCESS, core::slice::from_mut(process));
    }
    let mut begin = [0; 8];
    let len = begin.len();
    if syscalls::read_full(fds::IMAGE, &mut begin) == Ok(len) {
        let version = u32::from_le_bytes([begin[0], begin[1], begin[2], begin[3]]);
        if (1..1000).contains(&version) && version != STREAM_VERSION {
            process.version = version;
            return Ok(());
        }
    }
    Err(damaged(area, "its parts are not as they should be"))
}

pub fn read_table<T>(area: &ReservedArea, wanted: u32, table: &mut [T]) -> Result<(), Refused> {
    let header = read_header(area)?;
    read_rest(area, header, wanted, table)
}

/// Reads a table after its header.
fn read_rest<T>(
    area: &ReservedArea,
    header: RecordHeader,
    wanted: u32,
    table: &mut [T],
) -> Result<(), Refused> {
    if header.kind != wanted
        || header.sequence != u64::from(wanted - 1)
        || header.at != 0
        || header.len != size_of_val(table) as u64
    {
        return Err(damaged(area, "its parts are not as they should be"));
    }
    // SAFETY: plain numbers; any bytes are a valid value.
    let bytes = unsafe {
        core::slice::from_raw_parts_mut(table.as_mut_ptr().cast::<u8>(), size_of_val(table))
    };
    if syscalls::read_full(fds::IMAGE, bytes) == Ok(bytes.len()) {
        Ok(())
    } else {
        Err(damaged(area, "it breaks off"))
    }
}
