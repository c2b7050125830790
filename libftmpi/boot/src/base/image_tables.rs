//! The tables of the image, as they lie in the reserved area.

use crate::base::reserved_area::ReservedArea;
use ftmpi_checkpoint::stream::{ProcessState, validate};

/// The tables in the reserved area, with the lengths that the process state tells.
pub fn tables(area: &ReservedArea, process: &'static ProcessState) -> validate::Tables<'static> {
    validate::Tables {
        process,
        descriptors: &area.descriptors()[..process.descriptors as usize],
        files: &area.files()[..process.files as usize],
        maps: &area.maps()[..process.maps as usize],
        strings: &area.strings()[..process.strings_len as usize],
        threads: &area.threads()[..process.threads as usize],
        timers: &area.timers()[..process.posix_timers as usize],
        signals: &area.signals()[..process.signals as usize],
        locks: &area.locks()[..process.locks as usize],
        ranges: &area.ranges()[..process.ranges as usize],
        watches: &area.watches()[..process.watches as usize],
    }
}

/// See [`validate::digest`].
pub fn digest(tables: &validate::Tables<'_>) -> u64 {
    fn bytes<T>(table: &[T]) -> &[u8] {
        // SAFETY: plain numbers without padding; every byte is one.
        unsafe { core::slice::from_raw_parts(table.as_ptr().cast(), size_of_val(table)) }
    }
    validate::digest([
        bytes(core::slice::from_ref(tables.process)),
        bytes(tables.descriptors),
        bytes(tables.files),
        bytes(tables.maps),
        tables.strings,
        bytes(tables.threads),
        bytes(tables.timers),
        bytes(tables.signals),
        bytes(tables.locks),
        bytes(tables.ranges),
        bytes(tables.watches),
    ])
}
