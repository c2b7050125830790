//! A process that goes on on a processor with more registers: AVX-512 behind AVX.
//!
//! Three things know how many bytes the registers of the first processor take:
//!
//! | what | on the new processor |
//! | --- | --- |
//! | the kernel's signal frames on the stacks | the kernel resets what is not in a frame |
//! | areas of the dynamic linker | grow here, before a function is called for the first time |
//! | alternative stacks for signals | where one is too short, the image is refused |
//!
//! The size of a frame also stands in the auxiliary vector and in the dynamic linker, where
//! programs ask before they make such a stack. Both get the new size.
//!
//! A thread that has made an area of the old size and would save its registers next would write
//! behind it. Guarantee: an image with such a thread is refused. (The moment lasts some
//! instructions. The next image is another one.)

use crate::base::refusal::{Misfit, Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls::{self, Errno};
use ftmpi_checkpoint::host::{has_usual_places, processor, save_len, saves_alike, saves_more};
use ftmpi_checkpoint::save_areas::{self, SaveAreas};
use ftmpi_checkpoint::stream::{Map, ProcessState, Processor, Thread};

/// Where the start of the stack is among [`ProcessState::places`].
const STACK_START: usize = 4;
/// Bytes of a thread's stack in which frames of signals are looked for.
const STACK_LOOKED_AT: u64 = 1 << 20;
const PAGE: usize = 4096;

/// Whether an image of the first processor can go on on the second, which is this host's. In the
/// new process, before anything is destroyed.
pub fn can_grow(image: &Processor, here: &Processor, threads: &[Thread]) -> bool {
    // SAFETY: asks for a value that the kernel gave to this process.
    let frame = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) };
    saves_more(image, here)
        && has_usual_places()
        && save_areas::of_this_process().is_some()
        && threads
            .iter()
            .all(|thread| save_areas::has_room(thread, frame, here.xsave_len - image.xsave_len))
}

/// In the restored process: makes the areas as large as this processor needs. No other thread runs.
pub fn restore(area: &ReservedArea, process: &ProcessState) -> Result<(), Refused> {
    let image = &process.processor;
    let here = processor();
    if saves_alike(image, &here) {
        return Ok(());
    }
    match grow(area, process, (save_len() - image.xsave_len, here.xsave_len - image.xsave_len)) {
        Some(Ok(())) => Ok(()),
        Some(Err(_)) | None => Err(area.refuse(Refusal::Misfit(Misfit::Processor))),
    }
}

/// `longer`: bytes by which areas and frames are longer.
fn grow(
    area: &ReservedArea,
    process: &ProcessState,
    longer: (u64, u64),
) -> Option<Result<(), Errno>> {
    let maps = &area.maps()[..process.maps as usize];
    let threads = &area.threads()[..process.threads as usize];
    let (start, end) = (process.places[STACK_START], process.stack_end);
    let is_stack = |map: &&Map| start.is_multiple_of(8) && (map.start..map.end).contains(&start);
    let len = maps.iter().find(is_stack)?.end.min(end).checked_sub(start)? / 8;
    // SAFETY: the begin of the stack, which was restored.
    let stack = unsafe { core::slice::from_raw_parts_mut(start as *mut u64, len as usize) };
    let [base, frame] = save_areas::auxiliary(stack, [libc::AT_BASE, libc::AT_MINSIGSTKSZ])?;
    let (base, old) = (stack[base] as usize, stack[frame]);
    // SAFETY: the dynamic linker of the image is loaded there.
    let found = unsafe { save_areas::find(base, old) }?;
    if threads.iter().any(|thread| is_saving(thread, maps, base, &found)) {
        return None;
    }
    let mut done = Ok(());
    for place in found.sizes.iter().filter(|&&place| place != 0).map(|place| base + place) {
        // SAFETY: a variable of the dynamic linker.
        let size = unsafe { *(place as *const u64) };
        done = done.and_then(|()| write(maps, place, save_areas::grown(size, longer.0)));
    }
    if found.frame != 0 {
        done = done.and_then(|()| write(maps, base + found.frame, old + longer.1));
    }
    stack[frame] = old + longer.1;
    Some(done)
}

/// Whether a thread goes on where it has made an area and saves its registers next: such an address
/// is on its stack, in the frame of the agent's signal or of a signal below it.
fn is_saving(thread: &Thread, maps: &[Map], base: usize, found: &SaveAreas) -> bool {
    let sp = thread.resume[0].next_multiple_of(8);
    let Some(map) = maps.iter().find(|map| (map.start..map.end).contains(&sp)) else {
        return true;
    };
    let len = (map.end - sp).min(STACK_LOOKED_AT) / 8;
    // SAFETY: the part of the mapping that the thread's stack uses; the thread does not run.
    let words = unsafe { core::slice::from_raw_parts(sp as *const u64, len as usize) };
    words.iter().any(|&word| found.is_before_saving((word as usize).wrapping_sub(base)))
}

/// Changes a variable of the dynamic linker, which made it read-only.
fn write(maps: &[Map], place: usize, value: u64) -> Result<(), Errno> {
    let page = place & !(PAGE - 1);
    let mut around = maps.iter().filter(|map| (map.start..map.end).contains(&(place as u64)));
    let prot = around.next().ok_or(libc::EFAULT)?.prot as i32;
    // SAFETY: a page of the dynamic linker's data.
    unsafe {
        syscalls::protect(page, PAGE, libc::PROT_READ | libc::PROT_WRITE)?;
        (place as *mut u64).write_volatile(value);
        syscalls::protect(page, PAGE, prot)
    }
}
