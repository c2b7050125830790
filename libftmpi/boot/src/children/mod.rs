//! Children of a rank that live: the image of the rank contains them.
//!
//! Guarantees: rank and children stand still together, so what is in the pipes between them belongs
//! to one moment. A restored rank has its children again, as they were, and knows them by their old
//! numbers ([`crate::process::ended_children`]). A descriptor that several of them share is shared
//! again. What cannot be brought back refuses the image of the rank, with a line that names the
//! child, its command and the reason.
//!
//! A child answers the agent's signal with this library, which it has by `fork` or by `LD_PRELOAD`.
//! The child writes its own image into a `memfd` of the rank. That file is part of the rank's image
//! as any file without a name. A restored rank starts the program of each child with its image.
//!
//! Not covered: children that have children themselves, that share memory with the rank, or that
//! were started by `popen`.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`meeting`] | the page through which rank and child agree |
//! | [`summon`] | in the rank: asks the children to stand still, and for their images |
//! | [`shared`] | in the rank: which descriptors rank and children share |
//! | [`answer`] | in a child: stands still, and writes its image |
//! | [`again`] | in a restored rank: starts the children again |

pub mod again;
pub mod answer;
pub mod meeting;
pub mod shared;
pub mod summon;

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicI32, AtomicU32, Ordering};

/// The most living children of an image.
pub const MOST: usize = 32;

/// Bytes of the path of a program, with its zero.
pub const PROGRAM_BYTES: usize = 512;

/// A living child. Part of images.
#[derive(Clone, Copy)]
pub struct Living {
    /// The kernel's number.
    pub pid: i32,
    /// The program's number for it.
    pub called: i32,
    /// The descriptor of the rank whose file is the image of the child.
    pub stream: i32,
    /// Its program, with a zero behind; empty: that of the rank.
    pub program: [u8; PROGRAM_BYTES],
}

const NOBODY: Living = Living { pid: 0, called: 0, stream: -1, program: [0; PROGRAM_BYTES] };

/// The children of the image that is being taken, or was restored.
struct OfImage {
    list: UnsafeCell<[Living; MOST]>,
    len: AtomicU32,
}

// SAFETY: only the thread that takes an image, or the only thread of a restored process, uses it.
unsafe impl Sync for OfImage {}

static OF_IMAGE: OfImage =
    OfImage { list: UnsafeCell::new([NOBODY; MOST]), len: AtomicU32::new(0) };

/// Ends of pipes that children alone have: descriptors of the rank during the capture, and in a
/// restored rank until the children run. Part of images.
static ENDS: [AtomicI32; ENDS_MOST] = [const { AtomicI32::new(-1) }; ENDS_MOST];

const ENDS_MOST: usize = 256;

static ENDS_LEN: AtomicU32 = AtomicU32::new(0);

/// No child lives, as far as is known.
pub fn forget_all() {
    OF_IMAGE.len.store(0, Ordering::Relaxed);
    ENDS_LEN.store(0, Ordering::Relaxed);
}

/// Adds a child; `None`: there are too many.
pub fn add(pid: i32, called: i32) -> Option<()> {
    let len = OF_IMAGE.len.load(Ordering::Relaxed) as usize;
    // SAFETY: only this thread uses it (see `OfImage`).
    let slot = unsafe { &mut *OF_IMAGE.list.get() }.get_mut(len)?;
    *slot = Living { pid, called, ..NOBODY };
    OF_IMAGE.len.store(len as u32 + 1, Ordering::Relaxed);
    Some(())
}

/// The children of the image.
///
/// # Safety
/// The caller is the only user (see [`OfImage`]), and holds no other result of this function.
pub unsafe fn all() -> &'static mut [Living] {
    let len = (OF_IMAGE.len.load(Ordering::Relaxed) as usize).min(MOST);
    // SAFETY: by the caller.
    let list = unsafe { &mut *OF_IMAGE.list.get() };
    &mut list[..len]
}

/// Whether the image has living children.
pub fn any() -> bool {
    OF_IMAGE.len.load(Ordering::Relaxed) != 0
}

/// Whether this is a living child of the image, by the kernel's number.
pub fn is_one(pid: u64) -> bool {
    // SAFETY: read only, by the only user or its image child.
    any() && unsafe { all() }.iter().any(|it| it.pid as u64 == pid)
}

/// Notes the end of a pipe that children alone have; `None`: there are too many.
fn add_end(fd: i32) -> Option<()> {
    let len = ENDS_LEN.load(Ordering::Relaxed);
    ENDS.get(len as usize)?.store(fd, Ordering::Relaxed);
    ENDS_LEN.store(len + 1, Ordering::Relaxed);
    Some(())
}

/// The ends of pipes that children alone have.
fn ends() -> impl Iterator<Item = i32> {
    let len = (ENDS_LEN.load(Ordering::Relaxed) as usize).min(ENDS_MOST);
    ENDS[..len].iter().map(|fd| fd.load(Ordering::Relaxed))
}
