//! Shared memory of System V that this process alone has attached.
//!
//! Guarantees: a restored process has the memory at the same addresses with the contents of the
//! image, as a segment of System V: it can be detached, attached once more, inherited and removed.
//! The number by which the program knows a segment stays valid. On the same boot of a host that is
//! the segment of the previous incarnation, which outlives a process; elsewhere, and for a segment
//! that is marked for removal, it is a new one. Memory that others have attached, too, makes an
//! image impossible.
//!
//! In the image the memory is shared memory without a file ([`crate::memory::mappings`]). This file
//! puts segments in its place, in the restored process.

use crate::base::procfs::Entry;
use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls::{self, Errno};
use crate::base::text::Shown;
use crate::process::system_v::Numbers;
use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering};

/// Begin of the name that the kernel shows for such memory.
pub const NAME: &[u8] = b"/SYSV";
const ATTACHED: usize = 128;
/// `SHM_DEST`: marked for removal.
const REMOVED: u32 = 0o1000;

/// The numbers by which the program knows segments.
pub static SEGMENTS: Numbers = Numbers::new();

/// What the kernel tells about a segment.
#[derive(Clone, Copy, PartialEq, Eq)]
struct About {
    key: i32,
    mode: u32,
    size: u64,
    creator: i32,
    attached: u64,
}

/// A mapping of a segment. Part of images.
#[derive(Clone, Copy)]
struct Part {
    start: usize,
    end: usize,
    offset: usize,
    prot: u32,
    /// The kernel's number.
    segment: c_int,
    about: About,
}

impl Part {
    const NONE: Self = Self {
        start: 0,
        end: 0,
        offset: 0,
        prot: 0,
        segment: 0,
        about: About { key: 0, mode: 0, size: 0, creator: 0, attached: 0 },
    };

    /// Where the segment begins.
    fn base(&self) -> usize {
        self.start.wrapping_sub(self.offset)
    }
}

/// The mappings of the image that is being taken, or was restored.
struct Parts {
    list: UnsafeCell<[Part; ATTACHED]>,
    len: AtomicU32,
}

// SAFETY: only the thread that takes an image, or the only thread of a restored process, uses it.
unsafe impl Sync for Parts {}

static OF_IMAGE: Parts =
    Parts { list: UnsafeCell::new([Part::NONE; ATTACHED]), len: AtomicU32::new(0) };

fn about(segment: c_int) -> Result<About, Errno> {
    // struct shmid_ds, in words.
    let mut words = [0u64; 14];
    // SAFETY: struct shmid_ds has 112 bytes.
    unsafe { syscalls::call!(libc::SYS_shmctl, segment, libc::IPC_STAT, words.as_mut_ptr()) }?;
    Ok(About {
        key: words[0] as i32,
        mode: (words[2] >> 32) as u32,
        size: words[6],
        creator: words[10] as i32,
        attached: words[11],
    })
}

/// A look at all mappings begins.
pub fn begin() {
    OF_IMAGE.len.store(0, Ordering::Relaxed);
}

/// Writes down a mapping of such memory.
pub fn add_mapping(area: &ReservedArea, entry: &Entry<'_>) -> Result<(), Refused> {
    let len = OF_IMAGE.len.load(Ordering::Relaxed) as usize;
    // SAFETY: only this thread uses the list (see `Parts`).
    let list = unsafe { &mut *OF_IMAGE.list.get() };
    let Some(place) = list.get_mut(len) else {
        let (what, most) = ("pieces of System V memory", ATTACHED);
        return Err(area.refuse(Refusal::TooMany { what, most, errno: libc::EOPNOTSUPP }));
    };
    // The kernel shows the number as the inode.
    let segment = entry.inode as c_int;
    let about = about(segment).map_err(|_| shared(area))?;
    *place = Part {
        start: entry.start as usize,
        end: entry.end as usize,
        offset: entry.offset as usize,
        prot: entry.prot,
        segment,
        about,
    };
    OF_IMAGE.len.store(len as u32 + 1, Ordering::Relaxed);
    Ok(())
}

fn shared(area: &ReservedArea) -> Refused {
    let path = Shown(NAME);
    area.refuse(Refusal::MapsUnsupported { what: "memory shared with others", path })
}

fn parts() -> &'static [Part] {
    // SAFETY: only this thread uses the list (see `Parts`).
    let list = unsafe { &*OF_IMAGE.list.get() };
    &list[..(OF_IMAGE.len.load(Ordering::Relaxed) as usize).min(ATTACHED)]
}

/// The mappings of the segment of `first`.
fn of_segment(first: &Part) -> impl Iterator<Item = &'static Part> {
    let segment = first.segment;
    parts().iter().filter(move |part| part.segment == segment)
}

/// Refuses an image if somebody else has a segment attached, or a part of a segment was unmapped.
pub fn refuse_shared(area: &ReservedArea) -> Result<(), Refused> {
    for first in parts() {
        // The kernel counts mappings.
        if of_segment(first).count() as u64 != first.about.attached {
            return Err(shared(area));
        }
        let mapped: usize = of_segment(first).map(|part| part.end - part.start).sum();
        let alike = of_segment(first).all(|part| part.base() == first.base());
        if mapped as u64 != first.about.size.next_multiple_of(4096) || !alike {
            let (what, path) = ("a part of System V memory", Shown(NAME));
            return Err(area.refuse(Refusal::MapsUnsupported { what, path }));
        }
    }
    Ok(())
}

/// Puts segments in the place of their memory, in the restored process.
pub fn restore(area: &ReservedArea, same_boot: bool) -> Result<(), Refused> {
    for (index, first) in parts().iter().enumerate() {
        if parts()[..index].iter().all(|earlier| earlier.segment != first.segment) {
            bring_back(first, same_boot)
                .map_err(|errno| area.refuse(Refusal::SystemVNotMade { errno }))?;
        }
    }
    Ok(())
}

fn bring_back(first: &Part, same_boot: bool) -> Result<(), Errno> {
    let is_removed = first.about.mode & REMOVED != 0;
    let is_it = |now: About| {
        let of = |about: About| (about.key, about.size, about.creator);
        of(now) == of(first.about) && now.mode & REMOVED == 0
    };
    let segment = if same_boot && !is_removed && about(first.segment).is_ok_and(is_it) {
        first.segment
    } else {
        make(first, is_removed)?
    };
    let result = fill(first, segment);
    if is_removed || result.is_err() {
        // A segment that is attached stays until it is detached.
        // SAFETY: no memory involved.
        let _ = unsafe { syscalls::call!(libc::SYS_shmctl, segment, libc::IPC_RMID, 0) };
    }
    result?;
    if segment != first.segment {
        SEGMENTS.now_means(first.segment, segment);
    }
    Ok(())
}

fn make(first: &Part, is_removed: bool) -> Result<c_int, Errno> {
    let key = if is_removed { libc::IPC_PRIVATE } else { first.about.key };
    let flags = first.about.mode as i32 & 0o777 | libc::IPC_CREAT | libc::IPC_EXCL;
    // SAFETY: no memory involved.
    unsafe { syscalls::call!(libc::SYS_shmget, key, first.about.size, flags) }.map(|it| it as c_int)
}

/// Gives a segment the contents of the image, and puts it where these lie.
fn fill(first: &Part, segment: c_int) -> Result<(), Errno> {
    const REMAP: i32 = 0o40000;
    let attach = |at: usize, flags: i32| {
        // SAFETY: at 0 the kernel finds room; elsewhere the segment replaces its own memory.
        unsafe { syscalls::call!(libc::SYS_shmat, segment, at, flags) }
    };
    let temporary = attach(0, 0)?;
    for part in of_segment(first) {
        let (from, len) = (part.start as *const u8, part.end - part.start);
        // SAFETY: both are as long, and do not overlap. Memory that may not be read is made
        // readable; it is replaced soon.
        unsafe {
            syscalls::protect(part.start, len, libc::PROT_READ)?;
            core::ptr::copy_nonoverlapping(from, (temporary + part.offset) as *mut u8, len);
        }
    }
    // SAFETY: nobody uses the address any more.
    unsafe { syscalls::call!(libc::SYS_shmdt, temporary) }?;
    let readable = of_segment(first).all(|part| part.prot & libc::PROT_WRITE as u32 == 0);
    let executable = of_segment(first).any(|part| part.prot & libc::PROT_EXEC as u32 != 0);
    let flags = REMAP
        | if readable { libc::SHM_RDONLY } else { 0 }
        | if executable { libc::SHM_EXEC } else { 0 };
    attach(first.base(), flags)?;
    for part in of_segment(first) {
        // SAFETY: the memory has its contents again.
        unsafe { syscalls::protect(part.start, part.end - part.start, part.prot as i32) }?;
    }
    Ok(())
}
