//! The mappings of the process: which are part of an image, and how.

use crate::base::procfs::{self, Entry, Lines};
use crate::base::rank;
use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::{COPIES_LEN, ReservedArea, copies_base};
use crate::base::strings::Strings;
use crate::base::tables::{COPIES_MAX, SharedCopy};
use crate::base::text::Shown;
use crate::children::meeting;
use crate::memory::data_files::DataFiles;
use crate::memory::layout::Layout;
use crate::memory::mapped_files::file_of;
use crate::process::system_v_memory;
use ftmpi_checkpoint::boot_abi::{RESERVED_AREA_BASE, RESERVED_AREA_LEN, WINDOW_BASE, WINDOW_LEN};
use ftmpi_checkpoint::stream::{Hash, Map, limit, map};

/// What a mapping is for the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The kernel's or this library's: not part of the image.
    Skip,
    /// The kernel's mapping with the program's contents.
    Stack,
    /// Private memory.
    Anonymous,
    /// Shared memory without a file, or of System V: by its contents.
    SharedAnonymous,
    /// A file, with the pages that were changed, or with all pages ([`DataFiles`]).
    PrivateFile,
    /// A file that other processes may see: mapped again.
    SharedFile,
    /// A shared file without a name. The program must have it open.
    Nameless,
}

fn within(entry: &Entry<'_>, base: usize, len: usize) -> bool {
    entry.start >= base as u64 && entry.end <= (base + len) as u64
}

/// Whether a range is this library's: reserved area, window or copies. ([`refuse_among_library`]
/// refuses mappings of the program there.)
pub fn is_library(entry: &Entry<'_>) -> bool {
    within(entry, RESERVED_AREA_BASE, RESERVED_AREA_LEN)
        || within(entry, WINDOW_BASE, WINDOW_LEN)
        || within(entry, copies_base(), COPIES_LEN)
}

/// Refuses an image if the program has a mapping where this library's are. In the process itself,
/// before there are copies. Only a program that asks for such addresses gets them.
fn refuse_among_library(area: &ReservedArea, entry: &Entry<'_>) -> Result<(), Refused> {
    let ranges = [
        (RESERVED_AREA_BASE, RESERVED_AREA_LEN),
        (WINDOW_BASE, WINDOW_LEN),
        (copies_base(), COPIES_LEN),
    ];
    let meets = |&(base, len): &(usize, usize)| {
        entry.start < (base + len) as u64 && entry.end > base as u64
    };
    let is_library = within(entry, RESERVED_AREA_BASE, RESERVED_AREA_LEN)
        || within(entry, WINDOW_BASE, rank::window_len() as usize);
    if is_library || meeting::is_page(entry.name) || !ranges.iter().any(meets) {
        return Ok(());
    }
    Err(area.refuse(Refusal::AmongReserved {
        at: entry.start,
        ranges: [
            RESERVED_AREA_BASE,
            RESERVED_AREA_BASE + RESERVED_AREA_LEN,
            copies_base(),
            WINDOW_BASE + WINDOW_LEN,
        ],
    }))
}

/// Whether the kernel made the mapping by itself.
pub fn is_kernel(entry: &Entry<'_>) -> bool {
    let name = entry.name;
    name.starts_with(b"[vvar") || matches!(name, b"[vdso]" | b"[vsyscall]" | b"[uprobes]")
}

/// Tells what a mapping is, or why it makes an image impossible.
pub fn classify(area: &ReservedArea, entry: &Entry<'_>) -> Result<Kind, Refused> {
    if is_library(entry) || is_kernel(entry) {
        return Ok(Kind::Skip);
    }
    let name = entry.name;
    if name == b"[stack]" {
        return Ok(Kind::Stack);
    }
    if entry.shared && (name == b"/dev/zero (deleted)" || name.starts_with(b"[anon_shmem")) {
        return Ok(Kind::SharedAnonymous);
    }
    if entry.shared && name.starts_with(system_v_memory::NAME) {
        return Ok(Kind::SharedAnonymous);
    }
    if name.is_empty() || name.starts_with(b"[") || (name == b"/dev/zero" && !entry.shared) {
        return Ok(Kind::Anonymous);
    }
    let shown = Shown(name);
    let what = if name == b"/anon_hugepage (deleted)" {
        "huge pages of a hugetlb pool"
    } else if entry.shared && name.ends_with(b" (deleted)") {
        return Ok(Kind::Nameless);
    } else if name.ends_with(b" (deleted)") {
        // Also code of a program or library that was replaced: it is part of the image, and the
        // agent executes the program that it holds.
        return Ok(Kind::PrivateFile);
    } else if name.starts_with(b"/dev/") && !name.starts_with(b"/dev/shm/") {
        "a device"
    } else if !name.starts_with(b"/") {
        "a kernel object"
    } else if name.windows(4).any(|part| part == b"\\012") {
        "a file with a strange name"
    } else {
        return Ok(if entry.shared { Kind::SharedFile } else { Kind::PrivateFile });
    };
    Err(area.refuse(Refusal::MapsUnsupported { what, path: shown }))
}

/// A hash over all mappings of a process. The image child finds out by it whether it has them all.
#[derive(Debug, Clone, Copy)]
pub struct Fingerprint(Hash);

impl Fingerprint {
    fn new() -> Self {
        Self(Hash::new())
    }

    fn add(&mut self, entry: &Entry<'_>) {
        let mut words = [0u8; 24];
        words[..8].copy_from_slice(&entry.start.to_le_bytes());
        words[8..16].copy_from_slice(&entry.end.to_le_bytes());
        words[16..].copy_from_slice(&u64::from(entry.prot).to_le_bytes());
        self.0 = self.0.with(&words);
    }
}

/// What the look at all mappings finds, in the process itself.
#[derive(Debug)]
pub struct Survey {
    pub layout: Layout,
    pub fingerprint: u64,
    pub data_files: DataFiles,
    /// Shared mappings that must be copied while the process stands still.
    pub copies: usize,
}

/// Looks at all mappings.
pub fn survey(area: &ReservedArea) -> Result<Survey, Refused> {
    let failed = |errno| area.unreadable("/proc/self/maps", errno);
    let mut found = Survey {
        layout: Layout::default(),
        fingerprint: 0,
        data_files: DataFiles::default(),
        copies: 0,
    };
    system_v_memory::begin();
    let mut fingerprint = Fingerprint::new();
    let mut lines = Lines::open(c"/proc/self/maps", area.text()).map_err(failed)?;
    while let Some(line) = lines.next().map_err(failed)? {
        let Some(entry) = procfs::entry(line) else { continue };
        found.layout.add_mapping(&entry);
        refuse_among_library(area, &entry)?;
        match classify(area, &entry)? {
            Kind::Skip => continue,
            Kind::SharedAnonymous => {
                let of_system_v = entry.name.starts_with(system_v_memory::NAME);
                if of_system_v {
                    system_v_memory::add_mapping(area, &entry)?;
                }
                if found.copies == COPIES_MAX {
                    return Err(area.refuse(Refusal::TooMany {
                        what: "shared mappings",
                        most: COPIES_MAX,
                        errno: libc::ENOMEM,
                    }));
                }
                let new = SharedCopy {
                    start: entry.start as usize,
                    end: entry.end as usize,
                    copy: 0,
                    // Numbers of segments and inodes may be the same.
                    inode: entry.inode | u64::from(of_system_v) << 63,
                    offset: entry.offset as usize,
                };
                if area.copies()[..found.copies].iter().any(|other| other.is_alias(&new)) {
                    return Err(area.refuse(Refusal::SharedMemoryMappedTwice { at: entry.start }));
                }
                area.copies()[found.copies] = new;
                found.copies += 1;
            }
            Kind::Nameless if descriptor_of(area, &entry).is_none() => {
                return Err(area.refuse(Refusal::MapsNamelessFile { path: Shown(entry.name) }));
            }
            Kind::PrivateFile => found.data_files.add_mapping(area, &entry)?,
            _ => {}
        }
        fingerprint.add(&entry);
    }
    system_v_memory::refuse_shared(area)?;
    found.fingerprint = fingerprint.0.value();
    Ok(found)
}

/// The descriptor whose file is mapped, if the file's contents are part of the image.
fn descriptor_of(area: &ReservedArea, entry: &Entry<'_>) -> Option<i32> {
    let table = &area.descriptors()[..area.process_state().descriptors as usize];
    let found = table.iter().find(|d| {
        d.how == ftmpi_checkpoint::stream::descriptor::RECREATE
            && (d.device, d.inode) == (entry.device, entry.inode)
    });
    found.map(|d| d.fd)
}

/// What the image child finds.
#[derive(Debug, Clone, Copy)]
pub struct Inventory {
    pub maps: usize,
    pub files: usize,
    pub fingerprint: u64,
}

/// Fills the tables of mappings and files from `smaps`, in the image child.
pub fn inventory(
    area: &ReservedArea,
    strings: &mut Strings,
    data_files: DataFiles,
) -> Result<Inventory, Refused> {
    let failed = |errno| area.unreadable("/proc/self/smaps", errno);
    let maps = area.maps();
    let mut found = Inventory { maps: 0, files: 0, fingerprint: 0 };
    let mut fingerprint = Fingerprint::new();
    // Whether the flags that follow belong to a mapping of the image.
    let mut current = false;
    let mut lines = Lines::open(c"/proc/self/smaps", area.text()).map_err(failed)?;
    while let Some(line) = lines.next().map_err(failed)? {
        if let Some(flags) = line.strip_prefix(b"VmFlags:") {
            if current {
                let start = maps[found.maps - 1].start;
                maps[found.maps - 1].flags |= vm_flags(area, start, flags)?;
            }
            continue;
        }
        if let Some(key) = line.strip_prefix(b"ProtectionKey:") {
            let at = key.iter().position(u8::is_ascii_digit).unwrap_or(key.len());
            let has_key = procfs::decimal(&key[at..]).is_some_and(|(number, _)| number != 0);
            // The kernel itself gives a key to memory that may only be executed.
            if current && has_key && maps[found.maps - 1].prot != libc::PROT_EXEC as u32 {
                return Err(area.refuse(Refusal::MemoryUnsupported {
                    what: "memory with a protection key (pkey_mprotect)",
                    at: maps[found.maps - 1].start,
                }));
            }
            continue;
        }
        let Some(entry) = procfs::entry(line) else { continue };
        let kind = classify(area, &entry)?;
        current = kind != Kind::Skip;
        if !current {
            continue;
        }
        if found.maps == limit::MAPS {
            return Err(area.refuse(Refusal::TooMany {
                what: "mappings",
                most: limit::MAPS,
                errno: libc::ENOMEM,
            }));
        }
        let shown = match kind {
            Kind::PrivateFile => data_files.shown(area, strings, &entry)?,
            _ => None,
        };
        let is_data = shown.is_some();
        let has_file =
            !is_data && matches!(kind, Kind::PrivateFile | Kind::SharedFile | Kind::Nameless);
        let file = if kind == Kind::Nameless {
            let fd = descriptor_of(area, &entry).unwrap_or(-1);
            let mut name = [0; 64];
            let path = procfs::numbered("fd", fd as u32, &mut name).to_bytes();
            let by_descriptor = Entry { name: path, ..entry };
            let file = file_of(area, strings, &mut found.files, &by_descriptor, false)?;
            area.files()[file as usize].nameless = fd as u32 + 1;
            file
        } else if has_file {
            file_of(area, strings, &mut found.files, &entry, kind == Kind::PrivateFile)?
        } else {
            map::NO_FILE
        };
        maps[found.maps] = Map {
            start: entry.start,
            end: entry.end,
            offset: if has_file { entry.offset } else { shown.unwrap_or(0) },
            file,
            prot: entry.prot,
            flags: if entry.shared { map::SHARED } else { 0 }
                | if kind == Kind::Stack { map::STACK } else { 0 }
                | if is_data { map::CONTENTS } else { 0 },
            reserved: 0,
        };
        found.maps += 1;
        fingerprint.add(&entry);
    }
    found.fingerprint = fingerprint.0.value();
    found.maps = join_stack(maps, found.maps);
    Ok(found)
}

/// Joins the mappings of the stack, and gives the number of all mappings. Locked parts of a stack
/// are mappings of their own; neither the image child nor a new process has them locked.
fn join_stack(maps: &mut [Map], mut count: usize) -> usize {
    let Some(mut stack) = maps[..count].iter().position(|m| m.flags & map::STACK != 0) else {
        return count;
    };
    let mut join = |below: usize| {
        let (lower, upper) = (maps[below], maps[below + 1]);
        let alike = lower.end == upper.start
            && lower.prot == upper.prot
            && lower.file == map::NO_FILE
            && (lower.flags ^ upper.flags) & !map::STACK == 0
            && upper.flags & map::GROWS_DOWN != 0;
        if alike {
            maps[below].end = upper.end;
            maps[below].flags |= map::STACK;
            maps.copy_within(below + 2..count, below + 1);
            count -= 1;
        }
        alike
    };
    while stack > 0 && join(stack - 1) {
        stack -= 1;
    }
    count
}

fn vm_flags(area: &ReservedArea, start: u64, text: &[u8]) -> Result<u32, Refused> {
    let (mut flags, mut wiped) = (0, false);
    for word in text.split(|&b| b == b' ') {
        let cannot = match word {
            b"gd" => {
                flags |= map::GROWS_DOWN;
                continue;
            }
            b"mw" => {
                flags |= map::MAY_WRITE;
                continue;
            }
            b"hg" => {
                flags |= map::HUGE;
                continue;
            }
            b"nh" => {
                flags |= map::NO_HUGE;
                continue;
            }
            b"dd" => {
                flags |= map::DONT_DUMP;
                continue;
            }
            b"mg" => {
                flags |= map::MERGEABLE;
                continue;
            }
            b"wf" => {
                wiped = true;
                continue;
            }
            b"dp" => {
                flags |= map::DROPPABLE;
                continue;
            }
            b"io" | b"pf" => "memory of a device",
            b"ht" => "huge pages of a hugetlb pool",
            b"sl" => "sealed memory (mseal)",
            b"um" | b"uw" | b"ui" => "memory under userfaultfd",
            b"ss" => "a shadow stack",
            _ => continue,
        };
        return Err(area.refuse(Refusal::MemoryUnsupported { what: cannot, at: start }));
    }
    // Advice that the program gave through the C library was taken back before the image child was
    // made ([`crate::memory::page_attributes`]). Droppable memory may be gone at any time.
    if wiped && flags & map::DROPPABLE == 0 {
        return Err(area.refuse(Refusal::MemoryUnsupported {
            what: "memory that is wiped on fork",
            at: start,
        }));
    }
    Ok(flags)
}
