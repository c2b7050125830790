//! The reserved area: memory at a fixed address, reserved at start, that is the engine's alone in every life:
//! never imaged, never replaced. Holds the copy of the restorer, the engine's stack and all buffers,
//! so the engine allocates nothing and does not touch the program's stack.

use crate::descriptors::contents::Piece;
use crate::memory::data_files::{DataFile, FILES_MAX};
use crate::threads::Parking;
use core::mem::size_of;
use ftmpi_checkpoint::boot_abi::{RESERVED_AREA_BASE, RESERVED_AREA_LEN};
use ftmpi_checkpoint::stream::{
    Descriptor, File, FileLock, Map, ProcessState, Range, Signal, Thread, Timer, limit,
};

/// Start of the range where copies of shared memory are made during a capture.
pub const COPIES_BASE: usize = 0x180_0000_0000;
/// Its length.
pub const COPIES_LEN: usize = 0x80_0000_0000;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// Copy of the restorer's code.
pub const CODE: usize = RESERVED_AREA_BASE;
pub const CODE_LEN: usize = 64 * KIB;
/// What the restorer needs to know.
pub const CONTROL: usize = RESERVED_AREA_BASE + 64 * KIB;
const CONTROL_LEN: usize = 64 * KIB;
/// The engine's stack, for capture, child and restore. The page below is inaccessible.
const STACK_GUARD: usize = RESERVED_AREA_BASE + 128 * KIB;
pub const STACK_TOP: usize = RESERVED_AREA_BASE + 640 * KIB;
/// Buffer for files of `/proc`.
const TEXT: usize = STACK_TOP;
const TEXT_LEN: usize = 128 * KIB;
/// Results of the page scan.
const SCAN: usize = TEXT + TEXT_LEN;
const SCAN_LEN: usize = 128 * KIB;
/// ProcessState, and the line that says why there is no image.
const PROCESS: usize = RESERVED_AREA_BASE + MIB;
const FACTS_LEN: usize = 64 * KIB;
const LINE: usize = PROCESS + FACTS_LEN;
/// Files whose private mappings are data.
const DATA_FILES: usize = LINE + 16 * KIB;
/// Copies of shared memory.
const COPIES: usize = LINE + 64 * KIB;
pub const COPIES_MAX: usize = 1024;
const DESCRIPTORS: usize = RESERVED_AREA_BASE + 2 * MIB;
/// Locks on files.
const LOCKS: usize = DESCRIPTORS + 512 * KIB;
/// Ranges of memory that there is something about.
const RANGES: usize = LOCKS + 256 * KIB;
const FILES: usize = RESERVED_AREA_BASE + 3 * MIB;
const MAPS: usize = RESERVED_AREA_BASE + 4 * MIB;
const STRINGS: usize = RESERVED_AREA_BASE + 8 * MIB;
/// Buffer for contents of files.
const CONTENT: usize = RESERVED_AREA_BASE + 17 * MIB;
const CONTENT_LEN: usize = MIB;
const THREADS: usize = RESERVED_AREA_BASE + 18 * MIB;
const PARKING: usize = RESERVED_AREA_BASE + 20 * MIB;
const TIMERS: usize = RESERVED_AREA_BASE + 21 * MIB;
const PIECES: usize = RESERVED_AREA_BASE + 22 * MIB;
/// The stack on which threads that are made again begin. The page below is inaccessible.
const START_STACK_GUARD: usize = RESERVED_AREA_BASE + 23 * MIB;
pub const START_STACK_TOP: usize = START_STACK_GUARD + 256 * KIB;
const SIGNALS: usize = RESERVED_AREA_BASE + 24 * MIB;

const _: () = {
    assert!(size_of::<Control>() <= CONTROL_LEN);
    assert!(size_of::<ProcessState>() <= FACTS_LEN);
    assert!(SCAN + SCAN_LEN <= PROCESS);
    assert!(LINE + size_of::<crate::base::refusal::Line>() <= DATA_FILES);
    assert!(DATA_FILES + FILES_MAX * size_of::<DataFile>() <= COPIES);
    assert!(COPIES + COPIES_MAX * size_of::<SharedCopy>() <= DESCRIPTORS);
    assert!(DESCRIPTORS + limit::DESCRIPTORS * size_of::<Descriptor>() <= LOCKS);
    assert!(LOCKS + limit::LOCKS * size_of::<FileLock>() <= RANGES);
    assert!(RANGES + limit::RANGES * size_of::<Range>() <= FILES);
    assert!(FILES + limit::FILES * size_of::<File>() <= MAPS);
    assert!(MAPS + limit::MAPS * size_of::<Map>() <= STRINGS);
    assert!(STRINGS + limit::STRINGS < CONTENT);
    assert!(CONTENT + CONTENT_LEN <= THREADS);
    assert!(THREADS + limit::THREADS * size_of::<Thread>() <= PARKING);
    assert!(PARKING + size_of::<Parking>() <= TIMERS);
    assert!(TIMERS + limit::TIMERS * size_of::<Timer>() <= PIECES);
    assert!(PIECES + limit::CONTENTS * size_of::<Piece>() <= START_STACK_GUARD);
    assert!(START_STACK_TOP <= SIGNALS);
    assert!(
        SIGNALS + limit::SIGNALS * size_of::<Signal>() <= RESERVED_AREA_BASE + RESERVED_AREA_LEN
    );
};

/// A copy of shared memory, made while the process stands still.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct SharedCopy {
    pub start: usize,
    pub end: usize,
    pub copy: usize,
    /// Which memory it is, and from where on.
    pub inode: u64,
    pub offset: usize,
}

impl SharedCopy {
    /// Whether both show a piece of the same memory.
    pub fn is_alias(&self, other: &Self) -> bool {
        self.inode == other.inode
            && self.offset < other.offset + (other.end - other.start)
            && other.offset < self.offset + (self.end - self.start)
    }
}

/// A range that survives the restore.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Keep {
    pub start: u64,
    pub end: u64,
}

/// What the restorer in C needs; the same structure stands in `restorer.c`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Control {
    pub image_fd: i64,
    /// Next record's number in the stream.
    pub sequence: u64,
    pub maps: u64,
    pub map_count: u64,
    pub files: u64,
    pub strings: u64,
    pub heap_start: u64,
    pub heap_end: u64,
    pub fs_base: u64,
    pub gs_base: u64,
    pub tid_address: u64,
    pub robust_head: u64,
    pub robust_len: u64,
    pub rseq_address: u64,
    pub rseq_len: u64,
    pub resume_sp: u64,
    pub resume_ip: u64,
    pub keep_count: u64,
    pub keep: [Keep; 16],
    /// What this process was started as, for after the restore.
    pub rank: u32,
    pub incarnation: u32,
    /// [`ftmpi_wire::control::RankEnv::died`]
    pub died: u64,
    pub streams: [crate::descriptors::Stream; 3],
    /// Lines for standard error.
    pub line_broken_off: [u8; 160],
    pub line_damaged: [u8; 160],
    pub line_map: [u8; 160],
    pub line_state: [u8; 160],
}

/// The reserved area, as one thing to hold. There is only one user at a time: the thread that takes an image,
/// with all signals blocked, or the image child, or the constructor, or the main thread of a restored
/// process. ([`Parking`], and the entries of the table of threads, are shared.)
#[derive(Debug)]
pub struct ReservedArea(());

/// Reserves the reserved area at start.
pub fn reserve() -> Result<(), crate::base::syscalls::Errno> {
    let flags = libc::MAP_PRIVATE | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: MAP_FIXED_NOREPLACE replaces nothing.
    let at = unsafe {
        crate::base::syscalls::map_anonymous(RESERVED_AREA_BASE, RESERVED_AREA_LEN, prot, flags)
    }?;
    if at != RESERVED_AREA_BASE {
        // Kernels before 4.17 take the flag for a hint.
        // SAFETY: just mapped.
        let _ = unsafe { crate::base::syscalls::unmap(at, RESERVED_AREA_LEN) };
        return Err(libc::EEXIST);
    }
    // SAFETY: inside the new mapping, not in use yet.
    unsafe {
        crate::base::syscalls::protect(STACK_GUARD, 4096, libc::PROT_NONE)?;
        crate::base::syscalls::protect(START_STACK_GUARD, 4096, libc::PROT_NONE)
    }
}

impl ReservedArea {
    /// The reserved area.
    ///
    /// # Safety
    /// [`reserve`] succeeded, and nobody else holds it (see the type).
    pub unsafe fn take() -> Self {
        Self(())
    }

    // Each of these is a separate range of the reserved area, written by one user (see the type) through a
    // value of which there is one at a time; borrows of different ranges do not overlap. They are
    // plain numbers: any bytes are a valid value.

    pub fn control(&self) -> *mut Control {
        CONTROL as *mut Control
    }

    pub fn process_state(&self) -> &'static mut ProcessState {
        // SAFETY: see above.
        unsafe { &mut *(PROCESS as *mut ProcessState) }
    }

    pub fn descriptors(&self) -> &'static mut [Descriptor] {
        // SAFETY: see above.
        unsafe {
            core::slice::from_raw_parts_mut(DESCRIPTORS as *mut Descriptor, limit::DESCRIPTORS)
        }
    }

    pub fn locks(&self) -> &'static mut [FileLock] {
        // SAFETY: see above.
        unsafe { core::slice::from_raw_parts_mut(LOCKS as *mut FileLock, limit::LOCKS) }
    }

    pub fn ranges(&self) -> &'static mut [Range] {
        // SAFETY: see above.
        unsafe { core::slice::from_raw_parts_mut(RANGES as *mut Range, limit::RANGES) }
    }

    pub fn files(&self) -> &'static mut [File] {
        // SAFETY: see above.
        unsafe { core::slice::from_raw_parts_mut(FILES as *mut File, limit::FILES) }
    }

    pub fn maps(&self) -> &'static mut [Map] {
        // SAFETY: see above.
        unsafe { core::slice::from_raw_parts_mut(MAPS as *mut Map, limit::MAPS) }
    }

    /// One byte more than the limit: there is always a terminating zero.
    pub fn strings(&self) -> &'static mut [u8] {
        // SAFETY: see above.
        unsafe { core::slice::from_raw_parts_mut(STRINGS as *mut u8, limit::STRINGS + 1) }
    }

    pub fn text(&self) -> &'static mut [u8] {
        // SAFETY: see above.
        unsafe { core::slice::from_raw_parts_mut(TEXT as *mut u8, TEXT_LEN) }
    }

    pub fn content(&self) -> &'static mut [u8] {
        // SAFETY: see above.
        unsafe { core::slice::from_raw_parts_mut(CONTENT as *mut u8, CONTENT_LEN) }
    }

    pub fn scan(&self) -> &'static mut [u64] {
        // SAFETY: see above.
        unsafe { core::slice::from_raw_parts_mut(SCAN as *mut u64, SCAN_LEN / 8) }
    }

    pub fn copies(&self) -> &'static mut [SharedCopy] {
        // SAFETY: see above.
        unsafe { core::slice::from_raw_parts_mut(COPIES as *mut SharedCopy, COPIES_MAX) }
    }

    /// Other threads write to their own entries.
    pub fn threads(&self) -> &'static mut [Thread] {
        // SAFETY: see above.
        unsafe { core::slice::from_raw_parts_mut(THREADS as *mut Thread, limit::THREADS) }
    }

    /// Shared by all threads.
    pub fn parking(&self) -> &'static Parking {
        // SAFETY: atomics only; zero is a valid value.
        unsafe { &*(PARKING as *const Parking) }
    }

    pub fn timers(&self) -> &'static mut [Timer] {
        // SAFETY: see above.
        unsafe { core::slice::from_raw_parts_mut(TIMERS as *mut Timer, limit::TIMERS) }
    }

    /// Each entry is written by the thread that got its number.
    pub fn signals(&self) -> &'static mut [Signal] {
        // SAFETY: see above.
        unsafe { core::slice::from_raw_parts_mut(SIGNALS as *mut Signal, limit::SIGNALS) }
    }

    pub fn pieces(&self) -> &'static mut [Piece] {
        // SAFETY: see above.
        unsafe { core::slice::from_raw_parts_mut(PIECES as *mut Piece, limit::CONTENTS) }
    }

    pub fn data_files(&self) -> &'static mut [DataFile] {
        // SAFETY: see above.
        unsafe { core::slice::from_raw_parts_mut(DATA_FILES as *mut DataFile, FILES_MAX) }
    }

    pub fn line(&self) -> &'static mut crate::base::refusal::Line {
        // SAFETY: see above.
        unsafe { &mut *(LINE as *mut crate::base::refusal::Line) }
    }
}
