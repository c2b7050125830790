//! Whether the tables of an image can be acted upon in this process.

use crate::base::context_switch::ftmpi_boot_resumed;
use crate::base::image_tables::tables;
use crate::base::procfs::{self, Lines};
use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::tables::{KEEP_MAX, Keep};
use crate::descriptors::library_descriptors::FIRST_LIBRARY;
use crate::memory::layout::Layout;
use crate::memory::mappings;
use crate::process::limits;
use crate::restore::image_reader::damaged;
use crate::restore::resume::resume;
use crate::threads::{thread_notes::ThreadNotes, thread_state};
use ftmpi_checkpoint::stream::validate;

/// The end of the addresses of a process.
const USER_END: u64 = 0x7fff_ffff_f000;

/// Refuses an image that every restore would refuse; in the image child.
pub fn refuse_invalid(area: &ReservedArea, layout: &Layout) -> Result<(), Refused> {
    validate_here(area, &tables(area, area.process_state()), layout)?
        .map_err(|what| area.refuse(Refusal::Unrestorable { what }))
}

/// Checks what the restorer and the restored process rely on.
pub fn check_tables(
    area: &ReservedArea,
    tables: &validate::Tables<'_>,
    layout: &Layout,
) -> Result<(), Refused> {
    validate_here(area, tables, layout)?.map_err(|what| damaged(area, what))
}

fn validate_here(
    area: &ReservedArea,
    tables: &validate::Tables<'_>,
    layout: &Layout,
) -> Result<Result<(), validate::Wrong>, Refused> {
    let (keep, count) = keepers(area, None)?;
    let mut reserved = [(0, 0); KEEP_MAX];
    for (slot, keep) in reserved.iter_mut().zip(keep) {
        *slot = (keep.start, keep.end);
    }
    let (rseq_address, rseq_len) = thread_state::rseq();
    let offset = if rseq_len == 0 { 0 } else { rseq_address.wrapping_sub(thread_state::fs_base()) };
    let here = validate::Here {
        reserved: &reserved[..count],
        stack_end: layout.stack_end,
        // The program may have raised its own limit.
        stack_limit: limits::stack_limit_max(),
        descriptors_end: FIRST_LIBRARY,
        rseq: (offset, rseq_len),
        notes_bytes: size_of::<ThreadNotes>() as u64,
    };
    Ok(validate::check(tables, &here))
}

/// Checks the addresses where the process is put together again and where its threads go on. Each
/// must be the same byte of this library's file, wherever the file is mapped.
pub fn check_code(area: &ReservedArea, tables: &validate::Tables<'_>) -> Result<(), Refused> {
    let failed = |errno| area.unreadable("/proc/self/maps", errno);
    let [resume, resumed] = [resume as *const () as u64, ftmpi_boot_resumed as *const () as u64];
    let (mut resume_at, mut resumed_at) = (0, 0);
    let mut lines = Lines::open(c"/proc/self/maps", area.text()).map_err(failed)?;
    while let Some(line) = lines.next().map_err(failed)? {
        let Some(entry) = procfs::entry(line) else { continue };
        for (address, at) in [(resume, &mut resume_at), (resumed, &mut resumed_at)] {
            if (entry.start..entry.end).contains(&address) {
                *at = entry.offset + (address - entry.start);
            }
        }
    }
    let is_library = |address, wanted| {
        validate::in_file(tables.maps, address).is_some_and(|(file, at)| {
            at == wanted && tables.files.get(file as usize).is_some_and(|file| file.hashed != 0)
        })
    };
    let all = is_library(tables.process.resume_ip, resume_at)
        && tables.threads.iter().all(|thread| is_library(thread.resume[1], resumed_at));
    if all { Ok(()) } else { Err(damaged(area, "nowhere to go on")) }
}

/// The ranges that survive the restore, in ascending order, and their number. They are those of
/// this library, those of the kernel, and the stack of a layout.
pub fn keepers(
    area: &ReservedArea,
    stack_of: Option<&Layout>,
) -> Result<([Keep; KEEP_MAX], usize), Refused> {
    let failed = |errno| area.unreadable("/proc/self/maps", errno);
    let (mut keep, mut count) = ([Keep::default(); KEEP_MAX], 0);
    let mut lines = Lines::open(c"/proc/self/maps", area.text()).map_err(failed)?;
    while let Some(line) = lines.next().map_err(failed)? {
        let Some(entry) = procfs::entry(line) else { continue };
        let is_stack = stack_of.is_some_and(|layout| {
            (entry.start, entry.end) == (layout.stack_start, layout.stack_end)
                || entry.name == b"[stack]"
        });
        if !(mappings::is_library(&entry) || mappings::is_kernel(&entry) || is_stack)
            || entry.end > USER_END
        {
            continue;
        }
        if count > 0 && keep[count - 1].end == entry.start {
            keep[count - 1].end = entry.end;
        } else if count < KEEP_MAX {
            keep[count] = Keep { start: entry.start, end: entry.end };
            count += 1;
        } else {
            return Err(area.refuse(Refusal::TooManyKernelMappings));
        }
    }
    Ok((keep, count))
}
