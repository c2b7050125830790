//! The page through which a rank and one of its children agree to stand still.
//!
//! The page is a `memfd` of the rank. The child opens the file by the number that comes with the
//! signal. The page lies in the range of copies of both, which no image contains.

use crate::base::reserved_area::{COPIES_LEN, copies_base};
use crate::base::syscalls::{self, Errno};
use crate::base::text::Line;
use core::ffi::CStr;
use core::sync::atomic::{AtomicI32, AtomicU32, Ordering};

/// States, in their order. The rank sets [`GO`] and [`LEAVE`], the child all others.
pub const ASKED: u32 = 0;
/// All threads of the child stand still.
pub const STANDS: u32 = 1;
/// The rank has told which descriptors are shared: the child writes its image.
pub const GO: u32 = 2;
/// The image is written. The child goes on, now or soon.
pub const WRITTEN: u32 = 3;
/// There is no image, because of the text in the page.
pub const REFUSED: u32 = 4;
/// The rank has given up.
pub const LEAVE: u32 = 5;

/// The most descriptors of a child that are told.
pub const TOLD_MOST: usize = 380;

/// Bytes of a page, and of the file.
pub const BYTES: usize = 4096;

/// A descriptor of the child that it does not examine by itself.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Told {
    pub fd: i32,
    /// The descriptor of the rank that is the same open file; -1: it belongs to the library.
    pub other: i32,
}

/// The page. All zero at the begin.
#[repr(C)]
pub struct Meeting {
    state: AtomicU32,
    /// The number of the child: a signal that comes late names a page that is another one's by now.
    pub child: AtomicI32,
    /// The descriptor of the rank into whose file the child writes.
    pub stream: AtomicI32,
    /// The number of the image, in two words.
    pub image: [AtomicU32; 2],
    /// The limit on the stack that a restored child will be started with, in two words.
    stack_limit: [AtomicU32; 2],
    /// How many descriptors are told.
    pub count: AtomicU32,
    /// Bytes of the text.
    text_len: AtomicU32,
    text: [u8; 480],
    pub told: [Told; TOLD_MOST],
}

const _: () = assert!(size_of::<Meeting>() <= BYTES && size_of::<Line>() >= 480);

impl Meeting {
    pub fn state(&self) -> u32 {
        self.state.load(Ordering::SeqCst)
    }

    /// Takes a step, unless the other side has taken another one meanwhile.
    pub fn step(&self, from: u32, to: u32) -> bool {
        let done =
            self.state.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        if done {
            // SAFETY: the word lives in the shared page.
            let _ = unsafe {
                syscalls::call!(libc::SYS_futex, self.state.as_ptr(), libc::FUTEX_WAKE, i32::MAX)
            };
        }
        done
    }

    /// Waits while the state is this one, for at most so many nanoseconds.
    pub fn wait(&self, state: u32, limit_ns: u64) {
        let time = [limit_ns / 1_000_000_000, limit_ns % 1_000_000_000];
        let (word, at) = (self.state.as_ptr(), time.as_ptr());
        // SAFETY: word and time live over the call.
        let _ = unsafe { syscalls::call!(libc::SYS_futex, word, libc::FUTEX_WAIT, state, at) };
    }

    pub fn set_stack_limit(&self, bytes: u64) {
        for (word, half) in self.stack_limit.iter().zip([bytes, bytes >> 32]) {
            word.store(half as u32, Ordering::SeqCst);
        }
    }

    pub fn stack_limit(&self) -> u64 {
        let [low, high] = self.stack_limit.each_ref().map(|word| word.load(Ordering::SeqCst));
        u64::from(low) | u64::from(high) << 32
    }

    /// Refuses, with the reason.
    pub fn refuse(&mut self, from: u32, why: &[u8]) {
        let len = why.len().min(self.text.len());
        self.text[..len].copy_from_slice(&why[..len]);
        self.text_len.store(len as u32, Ordering::SeqCst);
        self.step(from, REFUSED);
    }

    /// The reason.
    pub fn why(&self) -> &[u8] {
        let len = self.text_len.load(Ordering::SeqCst) as usize;
        &self.text[..len.min(self.text.len())]
    }

    /// The descriptors that are told.
    pub fn told(&self) -> &[Told] {
        &self.told[..(self.count.load(Ordering::SeqCst) as usize).min(TOLD_MOST)]
    }
}

/// The name of the file of a page.
pub const NAME: &CStr = c"ftmpi-meeting";

/// Whether a mapping with this name, as the kernel shows it, is a page.
pub fn is_page(shown: &[u8]) -> bool {
    shown.strip_prefix(b"/memfd:").is_some_and(|name| name.starts_with(NAME.to_bytes()))
}

/// Where the page of the child with this place in the list is.
pub fn address(place: usize) -> usize {
    copies_base() + COPIES_LEN - (place + 1) * BYTES
}

/// Maps the page of an open file.
///
/// # Safety
/// Nobody else has mapped a page at this place.
pub unsafe fn map(fd: i32, place: usize) -> Result<&'static mut Meeting, Errno> {
    const FIXED_NOREPLACE: i32 = libc::MAP_FIXED_NOREPLACE;
    let (at, prot) = (address(place), libc::PROT_READ | libc::PROT_WRITE);
    // SAFETY: replaces nothing.
    let got = unsafe {
        syscalls::call!(libc::SYS_mmap, at, BYTES, prot, libc::MAP_SHARED | FIXED_NOREPLACE, fd, 0)
    }?;
    if got != at {
        // SAFETY: just mapped.
        let _ = unsafe { syscalls::unmap(got, BYTES) };
        return Err(libc::EEXIST);
    }
    // SAFETY: as long as a page; any bytes are a value. The atomic words are used by both sides,
    // the others by one side at a time.
    Ok(unsafe { &mut *(at as *mut Meeting) })
}

/// Unmaps the page at a place.
///
/// # Safety
/// Nobody uses it any more.
pub unsafe fn unmap(place: usize) {
    // SAFETY: by the caller.
    let _ = unsafe { syscalls::unmap(address(place), BYTES) };
}
