//! How this rank gets and leaves memory that it shares with others of its host.

use super::World;
use crate::control::close;
use crate::ending::die;
use crate::shared_memory::{Held, LEN_MAX, ROW, Shared, Table, map, pages};
use ftmpi_core::engine::Piece;
use ftmpi_core::engine::shared_memory_barrier::SharedMemoryBarrier;
use ftmpi_core::usermem::UserPtr;
use ftmpi_wire::control::{FromRank, SegmentName, ToRank};
use ftmpi_wire::{ImageNo, Rank};

/// Why a rank gets no memory to share.
#[derive(Debug, thiserror::Error)]
enum SegmentError {
    #[error("this process has no agent (start it with ftmpiexec)")]
    NoAgent,
    #[error("the agent gives no shared memory: {0}")]
    Refused(String),
    #[error("the part of the address space for shared memory is full")]
    WindowFull,
}

impl World {
    /// Asks the agent for a segment.
    fn segment(
        &mut self,
        name: SegmentName,
        bytes: u64,
        takers: usize,
    ) -> Result<i32, SegmentError> {
        let (control, news_of) = self.agent.question();
        let control = control.ok_or(SegmentError::NoAgent)?;
        let takers = takers as u32;
        control.send(&FromRank::Segment { name, bytes, takers }, None);
        loop {
            match control.receive(true) {
                Some((ToRank::Segment { name: other, why }, passed)) if other == name => {
                    return match passed.first() {
                        Some(&fd) => Ok(fd),
                        None => Err(SegmentError::Refused(why.unwrap_or_default())),
                    };
                }
                Some((ToRank::Die { code }, _)) => die(code),
                Some(news) => news_of.push_back(news),
                None => {}
            }
        }
    }

    /// Maps a segment where there is room; also gives whether that is inside of the reserved
    /// window.
    fn map_shared(&self, fd: i32, len: usize) -> Option<(*mut u8, bool)> {
        let window = self.boot.as_ref().map(crate::boot::Boot::window).filter(|(_, len)| *len > 0);
        let (begin, end) =
            window.map_or((0, 0), |(base, len)| (base + self.window_used(), base + len));
        match self.shared.room(begin, end, pages(len)) {
            Some(at) => map(fd, len, Some(at)).map(|at| (at, true)),
            // An image finds the segment only in the window; without images any place will do.
            None if self.shared.barrier.is_some() => None,
            None => map(fd, len, None).map(|at| (at, false)),
        }
    }

    /// See [`Link::share`](ftmpi_core::engine::Link::share).
    pub(crate) fn share_piece(&mut self, piece: Piece) -> Option<UserPtr> {
        let held = self.try_to_share(piece);
        if held.is_none()
            && let Shared { barrier: Some(barrier), board: Some(board), .. } = &mut self.shared
        {
            barrier.leave(board);
        }
        let at = held?.cast();
        // SAFETY: the mapping stays until `part`, which the window calls when nobody uses it any
        // more.
        Some(unsafe { UserPtr::new(at) })
    }

    fn try_to_share(&mut self, piece: Piece) -> Option<*mut u8> {
        let name = SegmentName { creator: piece.creator, serial: Some(piece.serial) };
        let host_of = &self.job.as_ref()?.host_of;
        let here = host_of.get(self.me.index());
        if self.shared.no_board {
            return None;
        }
        let elsewhere = |rank: &Rank| host_of.get(rank.index()) != here;
        if piece.len > LEN_MAX || piece.among.iter().any(elsewhere) {
            return None;
        }
        let bytes = pages(piece.len) as u64;
        let fd = self.segment(name, bytes, piece.among.len()).ok()?;
        let Some((at, inside)) = self.map_shared(fd, piece.len) else {
            close(fd);
            return None;
        };
        let (copy, copy_was) = (std::ptr::null_mut(), std::ptr::null_mut());
        self.shared.held.push(Held { piece, at, inside, fd, copy, copy_was });
        Some(at)
    }

    /// See [`Link::part_shared`](ftmpi_core::engine::Link::part_shared).
    pub(crate) fn share_no_more(&mut self, at: UserPtr) {
        let at: *mut u8 = at.as_ptr().cast();
        let Some(index) = self.shared.held.iter().position(|held| held.at == at) else { return };
        let held = self.shared.held.swap_remove(index);
        let len = pages(held.piece.len);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
        // SAFETY: the mapping of `map_shared`, which nobody uses any more; a place in the window
        // stays reserved.
        unsafe {
            if held.inside {
                libc::mmap(at.cast(), len, libc::PROT_NONE, flags, -1, 0);
            } else {
                libc::munmap(at.cast(), len);
            }
        }
        self.agent.send(&FromRank::SegmentOver { name: held.name() });
        close(held.fd);
        if let Shared { barrier: Some(barrier), board: Some(board), .. } = &mut self.shared {
            barrier.leave(board);
        }
    }

    /// See [`Link::join_shared_memory`](ftmpi_core::engine::Link::join_shared_memory).
    pub(crate) fn join_those_who_share(&mut self, host: &[Rank], past: ImageNo) -> bool {
        if self.shared.barrier.is_none() {
            self.shared.barrier = Some(SharedMemoryBarrier::new(self.me, host.to_vec()));
        }
        if self.shared.board.is_none() && !self.shared.no_board {
            self.shared.board = self.new_board(host.to_vec()).ok();
            // (The agent might take a second question for another rank's.)
            self.shared.no_board = self.shared.board.is_none();
        }
        // Without a board there will be no memory; all members learn that.
        let Shared { barrier: Some(barrier), board: Some(board), .. } = &mut self.shared else {
            return true;
        };
        barrier.join(board, past)
    }

    fn new_board(&mut self, ranks: Vec<Rank>) -> Result<Table, SegmentError> {
        let name = SegmentName { creator: ranks[0], serial: None };
        let bytes = ranks.len() * ROW;
        let fd = self.segment(name, pages(bytes) as u64, ranks.len())?;
        let at = self.map_shared(fd, bytes);
        close(fd);
        let (at, _) = at.ok_or(SegmentError::WindowFull)?;
        Ok(Table { at: at.cast(), ranks })
    }
}
