//! The reserved area: memory at a fixed address that belongs to this library in every incarnation.
//!
//! The constructor reserves the area. No image contains it, and no restore replaces it. It holds
//! the copy of the restorer, the stack of this library and all buffers. So the library allocates
//! nothing and does not touch the program's stack.

use crate::base::refusal::{Refusal, Refused};
use crate::base::syscalls::{self, Errno};
use crate::base::tables::{
    COPIES_MAX, Control, DATA_FILES_MAX, DataFile, FILE_NOTES, FileNote, Parking, Piece, SharedCopy,
};
use crate::base::text::Line;
use core::mem::size_of;
use core::sync::atomic::{AtomicUsize, Ordering};
use ftmpi_checkpoint::boot_abi::{RESERVED_AREA_BASE, RESERVED_AREA_LEN};
use ftmpi_checkpoint::stream::{
    Descriptor, File, FileLock, Map, ProcessState, Range, Signal, Thread, Timer, Watch, limit,
};

/// Starts of the range where copies of shared memory are made during a capture: with a fixed
/// layout; and where the kernel may have put the program into that one: above all programs, which
/// begin below 0x6556_0000_0000, and below all libraries, also with 32 random bits.
const COPIES_BASES: [usize; 2] = [0x5601_0000_0000, 0x6600_0000_0000];

/// Which of them.
static COPIES_AT: AtomicUsize = AtomicUsize::new(COPIES_BASES[0]);

/// Chooses the range of copies, before the first capture of a process.
pub fn choose_copies(randomised: bool) {
    COPIES_AT.store(COPIES_BASES[usize::from(randomised)], Ordering::Relaxed);
}

/// Start of the range of copies.
pub fn copies_base() -> usize {
    COPIES_AT.load(Ordering::Relaxed)
}

/// Its length.
pub const COPIES_LEN: usize = 0x3f_0000_0000;

const KIB: usize = 1 << 10;

const MIB: usize = 1 << 20;

/// The copy of the restorer's code.
pub const CODE: usize = RESERVED_AREA_BASE;

pub const CODE_LEN: usize = 64 * KIB;

/// What the restorer needs to know.
pub const CONTROL: usize = RESERVED_AREA_BASE + 64 * KIB;

const CONTROL_LEN: usize = 64 * KIB;

/// The library's stack, for capture, image child and restore. The page below it is inaccessible.
const STACK_GUARD: usize = RESERVED_AREA_BASE + 128 * KIB;

pub const STACK_TOP: usize = RESERVED_AREA_BASE + 640 * KIB;

/// Buffer for files of `/proc`.
const TEXT: usize = STACK_TOP;

const TEXT_LEN: usize = 128 * KIB;

/// Results of the page scanner.
const SCAN: usize = TEXT + TEXT_LEN;

const SCAN_LEN: usize = 128 * KIB;

/// The state of the process, and the line that says why there is no image.
const PROCESS: usize = RESERVED_AREA_BASE + MIB;

const PROCESS_LEN: usize = 64 * KIB;

const LINE: usize = PROCESS + PROCESS_LEN;

/// Files whose private mappings may be data.
const DATA_FILES: usize = LINE + 16 * KIB;

/// Copies of shared memory.
const COPIES: usize = LINE + 64 * KIB;

const DESCRIPTORS: usize = RESERVED_AREA_BASE + 2 * MIB;

/// Locks on files.
const LOCKS: usize = DESCRIPTORS + 512 * KIB;

/// Ranges of memory whose attributes their mappings do not tell.
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

/// The stack on which threads begin that are made again. The page below it is inaccessible.
const START_STACK_GUARD: usize = RESERVED_AREA_BASE + 23 * MIB;

pub const START_STACK_TOP: usize = START_STACK_GUARD + 256 * KIB;

const SIGNALS: usize = RESERVED_AREA_BASE + 24 * MIB;

/// What `epoll` descriptors watch.
const WATCHES: usize = RESERVED_AREA_BASE + 26 * MIB;

/// Hashes of files, which the process and its children share.
const KNOWN_HASHES: usize = RESERVED_AREA_BASE + 28 * MIB;

const KNOWN_HASHES_LEN: usize = FILE_NOTES * size_of::<FileNote>();

const _: () = {
    assert!(size_of::<Control>() <= CONTROL_LEN);
    assert!(size_of::<ProcessState>() <= PROCESS_LEN);
    assert!(SCAN + SCAN_LEN <= PROCESS);
    assert!(LINE + size_of::<Line>() <= DATA_FILES);
    assert!(DATA_FILES + DATA_FILES_MAX * size_of::<DataFile>() <= COPIES);
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
    assert!(SIGNALS + limit::SIGNALS * size_of::<Signal>() <= WATCHES);
    assert!(WATCHES + limit::WATCHES * size_of::<Watch>() <= KNOWN_HASHES);
    assert!(KNOWN_HASHES + KNOWN_HASHES_LEN <= RESERVED_AREA_BASE + RESERVED_AREA_LEN);
};

/// The reserved area as one value.
///
/// There is one user at a time: the thread that takes an image, with all signals blocked; the image
/// child; the constructor; or the main thread of a restored process. [`Parking`] and the entries of
/// the table of threads are shared.
#[derive(Debug)]
pub struct ReservedArea(());

/// Maps the area, at start.
pub fn reserve() -> Result<(), Errno> {
    let flags = libc::MAP_PRIVATE | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: MAP_FIXED_NOREPLACE replaces nothing.
    let at =
        unsafe { syscalls::map_anonymous(RESERVED_AREA_BASE, RESERVED_AREA_LEN, prot, flags) }?;
    if at != RESERVED_AREA_BASE {
        // Kernels before 4.17 take the flag for a hint.
        // SAFETY: just mapped.
        let _ = unsafe { syscalls::unmap(at, RESERVED_AREA_LEN) };
        return Err(libc::EEXIST);
    }
    let shared = libc::MAP_SHARED | libc::MAP_FIXED;
    // If it cannot be shared, no child hands on what it has computed.
    // SAFETY: inside the new mapping, not in use yet.
    let _ = unsafe { syscalls::map_anonymous(KNOWN_HASHES, KNOWN_HASHES_LEN, prot, shared) };
    // SAFETY: the same.
    unsafe {
        syscalls::protect(STACK_GUARD, 4096, libc::PROT_NONE)?;
        syscalls::protect(START_STACK_GUARD, 4096, libc::PROT_NONE)
    }
}

impl ReservedArea {
    /// Writes the text of a refusal into the area, and gives the refusal.
    pub fn refuse(&self, refusal: Refusal<'_>) -> Refused {
        self.line().set(format_args!("{refusal}"));
        Refused(refusal.errno())
    }

    /// The refusal because a file of `/proc`, or another source, cannot be read.
    pub fn unreadable(&self, what: &str, errno: Errno) -> Refused {
        self.refuse(Refusal::Unreadable { what, errno })
    }

    /// The reserved area.
    ///
    /// # Safety
    /// [`reserve`] succeeded, and nobody else holds the area (see the type).
    pub unsafe fn take() -> Self {
        Self(())
    }

    // Each of these functions gives a separate range of the area. One user (see the type) writes
    // the range through the only value of this type, so borrows of different ranges do not
    // overlap. The ranges hold plain numbers: any bytes are a valid value.

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

    pub fn watches(&self) -> &'static mut [Watch] {
        // SAFETY: see above.
        unsafe { core::slice::from_raw_parts_mut(WATCHES as *mut Watch, limit::WATCHES) }
    }

    /// Written by several processes at the same time.
    pub fn known_hashes(&self) -> &'static [FileNote] {
        // SAFETY: see above; words that others change are atomic.
        unsafe { core::slice::from_raw_parts(KNOWN_HASHES as *const FileNote, FILE_NOTES) }
    }

    pub fn files(&self) -> &'static mut [File] {
        // SAFETY: see above.
        unsafe { core::slice::from_raw_parts_mut(FILES as *mut File, limit::FILES) }
    }

    pub fn maps(&self) -> &'static mut [Map] {
        // SAFETY: see above.
        unsafe { core::slice::from_raw_parts_mut(MAPS as *mut Map, limit::MAPS) }
    }

    /// One byte longer than the limit: there is always a terminating zero.
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

    /// Other threads write into their own entries.
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

    /// The thread that got the number of an entry writes the entry.
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
        unsafe { core::slice::from_raw_parts_mut(DATA_FILES as *mut DataFile, DATA_FILES_MAX) }
    }

    pub fn line(&self) -> &'static mut Line {
        // SAFETY: see above.
        unsafe { &mut *(LINE as *mut Line) }
    }
}

/// The rank that this process was started as, for a line about its restore.
pub fn started_rank(area: &ReservedArea) -> u32 {
    // SAFETY: written by this incarnation's constructor, in the reserved area.
    unsafe { (*area.control()).rank }
}
