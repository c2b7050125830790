//! Ranks of one host that share memory (`MPI_Win_allocate_shared`) under waves: they take their
//! images at one moment.
//!
//! Messages between two cuts of a wave are counted, held or kept; loads and stores are not. So the
//! images of all ranks that share memory are taken while *all* of them stand still, threads
//! included. The memory is copied meanwhile, each rank its own part. Then the memory belongs to the
//! cut as any private memory does. What one rank stored before the cut is in the image, and what
//! another rank loaded was stored before it.
//!
//! Who takes part is written on a *board* of numbers that the ranks of a host share, one row for
//! each rank. Every number only grows within an incarnation of the job (but [`Column::Joined`]). An
//! image goes through four steps there:
//!
//! 1. *stands*: the rank is inside the library and its channels are as the wave wants them. It does
//!    not return to the program before its image is taken. While others are awaited it still
//!    receives and sends, since the others may need that to come so far.
//! 2. *stopped*: its other threads stand still, too. When all have stopped, every rank copies.
//! 3. *through*: its copy and its image child are made. When all are through, every rank goes on.
//! 4. *back*, in an incarnation that began from the image: its part of the new memory has been
//!    filled. When all are back, every rank goes on.
//!
//! A rank that refuses the image says that it is past all steps, so no rank waits for it. The wave
//! does not count then, although others may have copied.
//!
//! A rank that shares its first memory while a wave is under way joins before its cut, or behind
//! it, but never in between. Each rank writes before it reads (all accesses are sequentially
//! consistent). So there are two cases. The rank sees that another one stands for a wave that is
//! not behind it yet, and steps back; or the other one sees the rank and waits.
//!
//! The runtime's board is shared memory, the simulator's a vector.

use ftmpi_wire::{ImageNo, Rank};

/// A column of the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// One more than the last wave that was behind the rank when it joined; 0: it shares no memory.
    Joined,
    /// The last wave for which it stood still.
    Stands,
    /// The last wave for which its threads had stopped.
    Stopped,
    /// The last wave that is behind it.
    Through,
    /// One more than the wave that it came back to.
    Back,
}

/// Columns.
pub const COLUMNS: usize = 5;

/// Numbers that the ranks of a host share, all 0 at first. Accesses are sequentially consistent.
pub trait Board {
    /// Reads what a rank wrote last.
    fn read(&self, rank: Rank, word: Column) -> u64;
    /// Writes.
    fn write(&self, rank: Rank, word: Column, value: u64);
}

/// What a rank knows of the ranks that it shares memory with.
#[derive(Debug, Clone, Default)]
pub struct SharedMemoryBarrier {
    me: Rank,
    /// The ranks of this host, itself included.
    ranks: Vec<Rank>,
    /// Pieces of memory that it shares.
    pieces: u32,
    /// The ranks in the image that is being taken, or that this incarnation began from.
    members: Vec<Rank>,
}

impl SharedMemoryBarrier {
    /// The barrier of a rank and the ranks of its host.
    #[must_use]
    pub fn new(me: Rank, ranks: Vec<Rank>) -> Self {
        let members = Vec::with_capacity(ranks.len());
        Self { me, ranks, pieces: 0, members }
    }

    /// Whether this rank shares memory.
    #[must_use]
    pub fn any(&self) -> bool {
        self.pieces > 0
    }

    /// The rank is going to share one more piece; `past` is the last wave that is behind it.
    /// `false`: others stand for a wave that must be behind this rank first.
    #[must_use]
    pub fn join(&mut self, board: &dyn Board, past: ImageNo) -> bool {
        if self.pieces == 0 {
            board.write(self.me, Column::Joined, past.0 + 1);
            let beyond = |rank: &&Rank| board.read(**rank, Column::Stands) > past.0;
            if self.ranks.iter().filter(|rank| **rank != self.me).any(|rank| beyond(&rank)) {
                board.write(self.me, Column::Joined, 0);
                return false;
            }
        }
        self.pieces += 1;
        true
    }

    /// The rank shares one piece less.
    pub fn leave(&mut self, board: &dyn Board) {
        self.pieces = self.pieces.saturating_sub(1);
        if self.pieces == 0 {
            board.write(self.me, Column::Joined, 0);
        }
    }

    /// The ranks that have to be in this image.
    fn members_of(&self, board: &dyn Board, image: ImageNo) -> impl Iterator<Item = Rank> {
        let counts = move |rank: &Rank| (1..=image.0).contains(&board.read(*rank, Column::Joined));
        self.ranks.iter().copied().filter(counts)
    }

    fn all(&self, board: &dyn Board, image: ImageNo, word: Column) -> bool {
        self.members_of(board, image).all(|rank| board.read(rank, word) >= image.0)
    }

    /// This rank stands for the image; whether all do.
    #[must_use]
    pub fn stand(&self, board: &dyn Board, image: ImageNo) -> bool {
        self.pieces == 0 || {
            self.reach(board, Column::Stands, image);
            self.all(board, image, Column::Stands)
        }
    }

    /// The threads of this rank have stopped as well.
    pub fn stop(&self, board: &dyn Board, image: ImageNo) {
        self.reach(board, Column::Stopped, image);
    }

    /// Whether all have stopped: then they are this image's members. Allocates nothing.
    #[must_use]
    pub fn have_stopped(&mut self, board: &dyn Board, image: ImageNo) -> bool {
        if !self.all(board, image, Column::Stopped) {
            return false;
        }
        let mut members = std::mem::take(&mut self.members);
        members.clear();
        members.extend(self.members_of(board, image));
        self.members = members;
        true
    }

    /// An earlier image changes nothing.
    fn reach(&self, board: &dyn Board, word: Column, image: ImageNo) {
        if board.read(self.me, word) < image.0 {
            board.write(self.me, word, image.0);
        }
    }

    /// Copy and image child of this rank are made, or it takes no image. The latter also if that
    /// was decided elsewhere and this rank never knew of the image.
    pub fn pass(&self, board: &dyn Board, image: ImageNo) {
        for word in [Column::Stands, Column::Stopped, Column::Through] {
            self.reach(board, word, image);
        }
    }

    /// Whether all members of the image are through.
    #[must_use]
    pub fn are_through(&self, board: &dyn Board, image: ImageNo) -> bool {
        self.members.iter().all(|rank| board.read(*rank, Column::Through) >= image.0)
    }

    /// The ranks with which this incarnation came back, itself included.
    #[must_use]
    pub fn members(&self) -> &[Rank] {
        &self.members
    }

    /// An incarnation that began from this image has filled its part of the new memory (the board
    /// is new, too).
    pub fn come_back(&self, board: &dyn Board, image: ImageNo) {
        for word in [Column::Joined, Column::Back] {
            board.write(self.me, word, image.0 + 1);
        }
    }

    /// Whether all members are back.
    #[must_use]
    pub fn are_back(&self, board: &dyn Board, image: ImageNo) -> bool {
        self.members.iter().all(|rank| board.read(*rank, Column::Back) == image.0 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    struct Table(RefCell<Vec<[u64; COLUMNS]>>);

    impl Board for Table {
        fn read(&self, rank: Rank, word: Column) -> u64 {
            self.0.borrow()[rank.index()][word as usize]
        }
        fn write(&self, rank: Rank, word: Column, value: u64) {
            self.0.borrow_mut()[rank.index()][word as usize] = value;
        }
    }

    fn three() -> (Table, [SharedMemoryBarrier; 3]) {
        let ranks: Vec<_> = (0..3).map(Rank).collect();
        let barriers = [0, 1, 2].map(|me| SharedMemoryBarrier::new(Rank(me), ranks.clone()));
        (Table(RefCell::new(vec![[0; COLUMNS]; 3])), barriers)
    }

    const ONE: ImageNo = ImageNo(1);
    const NONE: ImageNo = ImageNo(0);

    #[test]
    fn an_image_waits_for_those_who_share_and_for_nobody_else() {
        let (board, [mut a, mut b, c]) = three();
        assert!(a.join(&board, NONE) && b.join(&board, NONE));
        assert!(c.stand(&board, ONE), "it shares nothing");
        assert!(!a.stand(&board, ONE));
        assert!(b.stand(&board, ONE) && a.stand(&board, ONE));
        a.stop(&board, ONE);
        assert!(!a.have_stopped(&board, ONE));
        b.stop(&board, ONE);
        assert!(a.have_stopped(&board, ONE) && b.have_stopped(&board, ONE));
        assert_eq!(a.members(), [Rank(0), Rank(1)]);
        a.pass(&board, ONE);
        assert!(!a.are_through(&board, ONE));
        b.pass(&board, ONE);
        assert!(a.are_through(&board, ONE) && b.are_through(&board, ONE));
        let (new, _) = three();
        a.come_back(&new, ONE);
        assert!(!a.are_back(&new, ONE));
        b.come_back(&new, ONE);
        assert!(a.are_back(&new, ONE) && b.are_back(&new, ONE));
    }

    #[test]
    fn a_rank_that_comes_late_or_leaves_is_not_awaited() {
        let (board, [mut a, mut b, mut c]) = three();
        assert!(a.join(&board, NONE));
        assert!(a.stand(&board, ONE));
        assert!(!b.join(&board, NONE), "somebody stands for a wave that is before it");
        assert!(a.stand(&board, ONE), "so it does not take part");
        assert!(b.join(&board, ONE), "but when that wave is behind it");
        a.stop(&board, ONE);
        assert!(a.have_stopped(&board, ONE));
        assert_eq!(a.members(), [Rank(0)]);
        a.pass(&board, ONE);
        assert!(a.are_through(&board, ONE));
        let two = ImageNo(2);
        assert!(!a.stand(&board, two), "from the next one on it does");
        assert!(b.join(&board, ONE), "one who shares already takes part anyhow");
        b.leave(&board);
        assert!(!a.stand(&board, two));
        b.leave(&board);
        assert!(a.stand(&board, two));
        assert!(!c.join(&board, ONE));
        // A rank that refuses is past it.
        assert!(b.join(&board, two));
        let three = ImageNo(3);
        assert!(!a.stand(&board, three));
        b.pass(&board, three);
        assert!(a.stand(&board, three));
    }
}
