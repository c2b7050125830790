//! Memory that ranks of one host share, for `MPI_Win_allocate_shared`.
//!
//! The agent makes it as a `memfd`, so nothing is left in the file system after any death. It is
//! mapped inside the reserved window, at the same place in every incarnation, and is part of no
//! image itself. Under waves each rank copies its own part into private memory while all ranks that
//! share any stand still (`ftmpi_core::engine::shared_memory_barrier`). An incarnation that begins
//! from the image asks for new memory and fills its part of it. The calls of the engine are in
//! `world/sharing.rs`.

use crate::control::close;
use crate::ending::die;
use crate::tuning::{STAND_PATIENCE, STOP_PATIENCE};
use ftmpi_core::engine::Piece;
use ftmpi_core::engine::shared_memory_barrier::{Board, COLUMNS, Column, SharedMemoryBarrier};
use ftmpi_protocols::protocol::Readiness;
use ftmpi_wire::control::{self, FromRank, SegmentName, fds};
use ftmpi_wire::{ImageNo, Rank};
use std::ffi::{c_int, c_void};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

const PAGE: usize = 4096;
/// No address space has more.
pub(crate) const LEN_MAX: usize = 1 << 47;
/// A rank's row of the board: a cache line of its own.
pub(crate) const ROW: usize = 64;

/// The board of this host.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) at: *const AtomicU64,
    /// Whose row is where.
    pub(crate) ranks: Vec<Rank>,
}

impl Table {
    fn word(&self, rank: Rank, word: Column) -> &AtomicU64 {
        let row = self.ranks.binary_search(&rank).expect("a rank of this host");
        // SAFETY: the mapping has a row for each rank and stays as long as the table. All that
        // share it access it by atomic operations only.
        unsafe { &*self.at.byte_add(row * ROW).add(word as usize) }
    }
}

const _: () = assert!(COLUMNS * 8 <= ROW);

impl Board for Table {
    fn read(&self, rank: Rank, word: Column) -> u64 {
        self.word(rank, word).load(Ordering::SeqCst)
    }
    fn write(&self, rank: Rank, word: Column, value: u64) {
        self.word(rank, word).store(value, Ordering::SeqCst);
    }
}

/// A piece that this rank shares.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) piece: Piece,
    pub(crate) at: *mut u8,
    /// The piece is in the reserved window.
    pub(crate) inside: bool,
    /// To find the part of the piece that was ever written.
    pub(crate) fd: i32,
    /// Its copy for the image that is being taken, or that this incarnation began from.
    pub(crate) copy: *mut u8,
    /// Place of the last copy: at the same place the store finds what has not changed.
    pub(crate) copy_was: *mut u8,
}

/// All pieces that this rank shares.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) held: Vec<Held>,
    /// Under waves.
    pub(crate) barrier: Option<SharedMemoryBarrier>,
    pub(crate) board: Option<Table>,
    /// There is no board, perhaps because a failure has moved the ranks of a host to several hosts.
    pub(crate) no_board: bool,
    /// For which image the others are awaited, since when.
    stands_since: Option<(ImageNo, Instant)>,
}

pub(crate) fn pages(bytes: usize) -> usize {
    bytes.next_multiple_of(PAGE)
}

impl Shared {
    /// Where the part of the window begins that is used from its end.
    pub(crate) fn lowest(&self) -> Option<usize> {
        self.taken().map(|(begin, _)| begin).min()
    }

    fn taken(&self) -> impl Iterator<Item = (usize, usize)> {
        let board = self.board.iter().map(|table| (table.at.addr(), table.ranks.len() * ROW));
        let inside = self.held.iter().filter(|held| held.inside);
        let held = inside.map(|held| (held.at.addr(), held.piece.len));
        board.chain(held).map(|(at, len)| (at, at + pages(len)))
    }

    /// The highest place below `end` and not below `begin` for so many bytes.
    pub(crate) fn room(&self, begin: usize, end: usize, bytes: usize) -> Option<usize> {
        if begin >= end {
            return None;
        }
        let mut taken: Vec<_> = self.taken().collect();
        taken.sort_unstable_by(|a, b| b.cmp(a));
        let mut top = end;
        for (low, high) in taken {
            if top.checked_sub(high).is_some_and(|room| room >= bytes) {
                break;
            }
            top = low;
        }
        top.checked_sub(bytes).filter(|at| *at >= begin)
    }

    /// Whether this rank has to stand still with others.
    pub(crate) fn any(&self) -> bool {
        self.barrier.as_ref().is_some_and(SharedMemoryBarrier::any)
    }

    /// Whether this rank has a board, which each incarnation must map again.
    pub(crate) fn has_board(&self) -> bool {
        self.board.is_some()
    }

    /// The image is behind this rank.
    pub(crate) fn pass(&self, image: ImageNo) {
        if let (Some(barrier), Some(board)) = (&self.barrier, &self.board) {
            barrier.pass(board, image);
        }
    }

    /// This rank stands still; whether all do.
    pub(crate) fn stand(&mut self, image: ImageNo) -> Readiness {
        let (Some(barrier), Some(board)) = (&self.barrier, &self.board) else {
            return Readiness::Now;
        };
        if barrier.stand(board, image) {
            self.stands_since = None;
            return Readiness::Now;
        }
        match self.stands_since {
            Some((for_image, since)) if for_image == image => {
                if since.elapsed() < STAND_PATIENCE {
                    Readiness::NotYet
                } else {
                    Readiness::Never
                }
            }
            _ => {
                self.stands_since = Some((image, Instant::now()));
                Readiness::NotYet
            }
        }
    }

    /// Reserves memory for the copies; it takes up no more than what is copied. `false`: there is
    /// none.
    pub(crate) fn make_room(&mut self) -> bool {
        for held in &mut self.held {
            let copy = anonymous(held.piece.mine.len(), held.copy_was);
            held.copy = copy.unwrap_or(std::ptr::null_mut());
            held.copy_was = held.copy;
        }
        self.held.iter().all(|held| !held.copy.is_null())
    }

    /// The copies are not needed any more.
    pub(crate) fn drop_room(&mut self) {
        for held in &mut self.held {
            let copy = std::mem::replace(&mut held.copy, std::ptr::null_mut());
            if !copy.is_null() {
                // SAFETY: the mapping of `make_room`, which nobody else knows.
                unsafe { libc::munmap(copy.cast(), pages(held.piece.mine.len()).max(PAGE)) };
            }
        }
    }
}

/// New memory, at `there` if that place is free.
fn anonymous(len: usize, there: *mut u8) -> Option<*mut u8> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: new memory; the place is a hint.
    let at = unsafe { libc::mmap(there.cast(), pages(len).max(PAGE), prot, flags, -1, 0) };
    (at != libc::MAP_FAILED).then_some(at.cast())
}

impl Held {
    pub(crate) fn name(&self) -> SegmentName {
        SegmentName { creator: self.piece.creator, serial: Some(self.piece.serial) }
    }

    /// Copies what was ever written of this rank's part.
    fn copy_out(&self) {
        let (begin, end) = (self.piece.mine.start, self.piece.mine.end);
        let mut at = begin;
        while at < end {
            // SAFETY: plain system calls on a descriptor of ours.
            let data = unsafe { libc::lseek(self.fd, at as libc::off_t, libc::SEEK_DATA) };
            if data < 0 {
                return;
            }
            // SAFETY: as above.
            let hole = unsafe { libc::lseek(self.fd, data, libc::SEEK_HOLE) };
            let from = (data as usize).max(at);
            let to = if hole < 0 { end } else { (hole as usize).min(end) };
            if from >= to {
                return;
            }
            // SAFETY: within this rank's part of the mapping and within its copy, which is as long.
            // All that could write to it stand still.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    self.at.add(from),
                    self.copy.add(from - begin),
                    to - from,
                );
            }
            at = to;
        }
    }

    /// Fills this rank's part of new memory, which is all zeros.
    fn copy_in(&self) {
        let len = self.piece.mine.len();
        for at in (0..len).step_by(PAGE) {
            let bytes = PAGE.min(len - at);
            // SAFETY: within the copy, which nobody writes to.
            let page = unsafe { std::slice::from_raw_parts(self.copy.add(at), bytes) };
            if page.iter().any(|&byte| byte != 0) {
                // SAFETY: within this rank's part of the mapping; nobody else touches it before all
                // are back.
                unsafe {
                    let to = self.at.add(self.piece.mine.start + at);
                    std::ptr::copy_nonoverlapping(page.as_ptr(), to, bytes);
                }
            }
        }
    }
}

/// What the hooks of `capture` need.
pub(crate) struct Taking<'a> {
    pub(crate) shared: &'a mut Shared,
    pub(crate) image: ImageNo,
}

/// All other threads of this process stand still. When those of all other ranks do, too, copies the
/// memory.
pub(crate) extern "C" fn stopped(context: *mut c_void) -> c_int {
    // SAFETY: `image::capture` passes a `Taking`, which nobody else uses meanwhile.
    let taking = unsafe { &mut *context.cast::<Taking<'_>>() };
    let Shared { held, barrier, board, .. } = &mut *taking.shared;
    let (Some(barrier), Some(board)) = (barrier, board) else { return 0 };
    if !barrier.any() {
        return 0;
    }
    barrier.stop(board, taking.image);
    let begin = Instant::now();
    if !wait_until(Some(begin + STOP_PATIENCE), || barrier.have_stopped(board, taking.image)) {
        return libc::EAGAIN;
    }
    held.iter().for_each(Held::copy_out);
    0
}

/// The image child is made: goes on when those of all other ranks are.
pub(crate) extern "C" fn made(context: *mut c_void) {
    // SAFETY: as in `stopped`.
    let taking = unsafe { &mut *context.cast::<Taking<'_>>() };
    taking.shared.pass(taking.image);
    if let Shared { barrier: Some(barrier), board: Some(board), .. } = &*taking.shared
        && barrier.any()
    {
        wait_until(None, || barrier.are_through(board, taking.image));
    }
}

/// Looks again and again, without the engine. A rank that has lost its agent ends, as it would
/// elsewhere.
fn wait_until(limit: Option<Instant>, mut done: impl FnMut() -> bool) -> bool {
    let mut looks = 0u32;
    while !done() {
        if limit.is_some_and(|limit| Instant::now() > limit) {
            return false;
        }
        looks += 1;
        if looks < 64 {
            crate::sleep::give_way();
            continue;
        }
        let mut agent = libc::pollfd { fd: fds::CONTROL, events: 0, revents: 0 };
        // The system call itself. To find the C library's function may take a lock of the dynamic
        // linker, which a thread that stands still may hold. It is also a pause of a millisecond at
        // the most.
        // SAFETY: one structure, which lives over the call.
        let hung_up = unsafe { libc::syscall(libc::SYS_poll, &raw mut agent, 1, 1) } > 0;
        if hung_up && agent.revents & (libc::POLLHUP | libc::POLLERR) != 0 {
            die(1);
        }
    }
    true
}

/// Maps a segment, at this place in the reserved window or anywhere.
pub(crate) fn map(fd: i32, len: usize, at: Option<usize>) -> Option<*mut u8> {
    let flags = libc::MAP_SHARED | if at.is_some() { libc::MAP_FIXED } else { 0 };
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    let address = std::ptr::without_provenance_mut(at.unwrap_or(0));
    // SAFETY: a mapping of a file that is at least so long (the agent has sealed it), at a place in
    // the reserved window that nothing else uses, or at none in particular.
    let at = unsafe { libc::mmap(address, pages(len), prot, flags, fd, 0) };
    (at != libc::MAP_FAILED).then_some(at.cast())
}

/// This incarnation began from the image, and its other threads wait. Makes the memory again at its
/// old places, and goes on when all ranks that share it have filled their parts. Allocates nothing.
pub(crate) extern "C" fn restored(context: *mut c_void) {
    // SAFETY: as in `stopped`; this is the image's copy of it.
    let taking = unsafe { &mut *context.cast::<Taking<'_>>() };
    crate::control::begin_own();
    if let Err((rank, errno)) = taking.shared.come_back(taking.image) {
        give_up(rank, errno);
    }
}

/// Ends the job, and waits for the end. Allocates nothing: another thread may hold the allocator's
/// lock.
fn give_up(rank: Rank, errno: i32) -> ! {
    use std::io::Write;
    let mut line = [0u8; 256];
    let mut rest = &mut line[..];
    let why = match errno {
        NOT_HERE => "that rank is on another host now, or its host has no memory left",
        _ => "its place in the address space is not free",
    };
    let _ = writeln!(
        rest,
        "ftmpi: memory that this rank shares with rank {rank} cannot be had again (error {errno}): {why}"
    );
    let left = rest.len();
    let abort = FromRank::Abort { code: 1, text: String::new() };
    let mut request = [0; 64];
    let request = control::encode_into(&abort, &mut request).unwrap_or_default();
    // SAFETY: both pieces of memory live over the calls.
    unsafe {
        libc::write(2, line.as_ptr().cast(), line.len() - left);
        libc::send(fds::CONTROL, request.as_ptr().cast(), request.len(), libc::MSG_NOSIGNAL);
    }
    // The agent ends this process; if it does not, that is no reason to hang.
    wait_until(Some(Instant::now() + STAND_PATIENCE), || false);
    die(1)
}

/// The agent gives no descriptor.
const NOT_HERE: i32 = 0;

/// Asks for a segment, and maps it, without allocating; the error of the mapping, or [`NOT_HERE`].
fn map_again(name: SegmentName, at: usize, len: usize, takers: usize) -> Result<i32, (Rank, i32)> {
    let (mut request, mut answer) = ([0; 64], [0; 512]);
    let (bytes, takers) = (pages(len) as u64, takers as u32);
    let segment = FromRank::Segment { name, bytes, takers };
    let request = control::encode_into(&segment, &mut request).unwrap_or_default();
    // (The text of a refusal would need memory.)
    let (_, Some(fd)) = crate::control::ask(request, &mut answer) else {
        return Err((name.creator, NOT_HERE));
    };
    match map(fd, len, Some(at)) {
        Some(_) => Ok(fd),
        None => Err((name.creator, io::Error::last_os_error().raw_os_error().unwrap_or(-1))),
    }
}

impl Shared {
    fn come_back(&mut self, image: ImageNo) -> Result<(), (Rank, i32)> {
        let Self { held, barrier: Some(barrier), board: Some(board), .. } = self else {
            return Ok(());
        };
        let (creator, count) = (board.ranks[0], board.ranks.len());
        let name = SegmentName { creator, serial: None };
        close(map_again(name, board.at.addr(), count * ROW, count)?);
        for held in held.iter_mut() {
            held.fd =
                map_again(held.name(), held.at.addr(), held.piece.len, held.piece.among.len())?;
            held.copy_in();
        }
        if barrier.any() {
            barrier.come_back(board, image);
            wait_until(None, || barrier.are_back(board, image));
        }
        self.drop_room();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_lie_at_the_end_of_the_window_and_their_room_is_used_again() {
        let mut shared = Shared::default();
        let hold = |shared: &mut Shared, len: usize| {
            let at = shared.room(0x1000, 0x10000, pages(len))?;
            let piece = Piece { creator: Rank(0), serial: 0, len, mine: 0..0, among: Vec::new() };
            let at_pointer = std::ptr::without_provenance_mut(at);
            let copy = std::ptr::null_mut();
            let inside = true;
            let held = Held { piece, at: at_pointer, inside, fd: -1, copy, copy_was: copy };
            shared.held.push(held);
            Some(at)
        };
        assert_eq!(hold(&mut shared, 0x2000), Some(0xe000));
        assert_eq!(hold(&mut shared, 1), Some(0xd000));
        assert_eq!(hold(&mut shared, 0x1001), Some(0xb000));
        assert_eq!(shared.lowest(), Some(0xb000));
        shared.held.remove(0);
        assert_eq!(hold(&mut shared, 0x1000), Some(0xf000));
        assert_eq!(hold(&mut shared, 0x1000), Some(0xe000));
        assert_eq!(shared.room(0, 0, 0x1000), None, "there is no window");
        assert_eq!(hold(&mut shared, 0xb000), None);
        assert_eq!(hold(&mut shared, 0xa000), Some(0x1000));
        // What is elsewhere is not in the way.
        for held in &mut shared.held {
            held.inside = false;
        }
        assert_eq!((shared.lowest(), shared.room(0x1000, 0x10000, 0x1000)), (None, Some(0xf000)));
    }
}
