//! What the process of a standby must not have: everything that its rank, or somebody else, would
//! notice while the rank runs.
//!
//! Guarantee: a standby that passes [`check`] reads its image and maps memory, and nothing else
//! happens before the end of the image comes. What is private to a process (memory, pipes, event
//! counters, files without a name) may be made early. All other descriptors are opened when the
//! image has ended.

use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use ftmpi_checkpoint::stream::{Map, ProcessState, descriptor, lock, map};

/// Refuses an image of a program that has something which a second process cannot have.
pub fn check(area: &ReservedArea, process: &ProcessState) -> Result<(), Refused> {
    match in_the_way(area, process) {
        Some(what) => Err(area.refuse(Refusal::Standby { what })),
        None => Ok(()),
    }
}

fn in_the_way(area: &ReservedArea, process: &ProcessState) -> Option<&'static str> {
    let table = &area.descriptors()[..process.descriptors as usize];
    let maps = &area.maps()[..process.maps as usize];
    let files = &area.files()[..process.files as usize];
    let locks = &area.locks()[..process.locks as usize];
    let is_others = |map: &Map| {
        let file = files.get(map.file as usize);
        map.flags & map::SHARED != 0 && file.is_some_and(|file| file.nameless == 0)
    };
    if table.iter().any(|entry| entry.how == descriptor::SOCKET) {
        // It is bound before the memory is read.
        Some("a socket")
    } else if maps.iter().any(is_others) {
        Some("a shared mapping of a file")
    } else if locks.iter().any(|held| held.kind == lock::LEASE) {
        // An open of the file would break it.
        Some("a lease on a file")
    } else {
        None
    }
}
