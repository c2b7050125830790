//! A queue in blocks.
//!
//! Guarantees: an element that is added or taken at an end moves no other element. One more element
//! costs at most one block of memory, however many elements there are. A queue in one piece
//! doubles, and stands still while it copies. Empty blocks are filled again.

use crate::tuning::BLOCK;
use std::collections::VecDeque;

/// The queue. All blocks but the last are full; of the first some elements may be gone.
#[derive(Debug)]
pub struct Blocks<T> {
    blocks: VecDeque<Vec<T>>,
    /// So many of the first block are gone, less than it has.
    gone: usize,
    /// Empty ones.
    spare: Vec<Vec<T>>,
}

impl<T> Default for Blocks<T> {
    fn default() -> Self {
        Self { blocks: VecDeque::new(), gone: 0, spare: Vec::new() }
    }
}

impl<T: Copy> Blocks<T> {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        let full = self.blocks.len().saturating_sub(1) * BLOCK;
        full + self.blocks.back().map_or(0, Vec::len) - self.gone
    }

    /// Is there none?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The first one.
    #[must_use]
    pub fn front(&self) -> Option<&T> {
        self.blocks.front().map(|block| &block[self.gone])
    }

    /// The last one.
    #[inline]
    #[must_use]
    pub fn back(&self) -> Option<&T> {
        self.blocks.back().and_then(|block| block.last())
    }

    /// One of them, by its place.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<&T> {
        let at = at + self.gone;
        self.blocks.get(at / BLOCK)?.get(at % BLOCK)
    }

    /// Behind all others.
    #[inline]
    pub fn push_back(&mut self, element: T) {
        if let Some(last) = self.blocks.back_mut()
            && last.len() < BLOCK
        {
            last.push(element);
            return;
        }
        let mut block = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(BLOCK));
        block.push(element);
        self.blocks.push_back(block);
    }

    /// Takes the first one.
    pub fn pop_front(&mut self) -> Option<T> {
        let first = *self.front()?;
        self.gone += 1;
        if self.gone == self.blocks[0].len() {
            self.gone = 0;
            self.spare.extend(self.blocks.pop_front().map(cleared));
        }
        Some(first)
    }

    /// Before the one at this place; what is behind it is moved.
    ///
    /// # Panics
    /// If there are less.
    pub fn insert(&mut self, at: usize, element: T) {
        assert!(at <= self.len(), "no place {at} among {}", self.len());
        let behind: Vec<T> = (at..self.len()).map(|at| *self.get(at).expect("in it")).collect();
        self.truncate(at);
        std::iter::once(element).chain(behind).for_each(|element| self.push_back(element));
    }

    /// Leaves the first `len`.
    fn truncate(&mut self, len: usize) {
        let end = len + self.gone;
        while self.blocks.len() > end.div_ceil(BLOCK) {
            self.spare.extend(self.blocks.pop_back().map(cleared));
        }
        if let Some(last) = self.blocks.back_mut()
            && !end.is_multiple_of(BLOCK)
        {
            last.truncate(end % BLOCK);
        }
        if len == 0 {
            self.spare.extend(self.blocks.drain(..).map(cleared));
            self.gone = 0;
        }
    }

    /// Leaves those of which this is true.
    pub fn retain(&mut self, mut stays: impl FnMut(&T) -> bool) {
        let blocks = std::mem::take(&mut self.blocks);
        let gone = std::mem::take(&mut self.gone);
        let mut skipped = gone;
        for block in blocks {
            for element in &block[std::mem::take(&mut skipped)..] {
                if stays(element) {
                    self.push_back(*element);
                }
            }
            self.spare.push(cleared(block));
        }
    }

    /// All, from the first one on.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.blocks.iter().flatten().skip(self.gone)
    }

    /// All, from the first one on.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.blocks.iter_mut().flatten().skip(self.gone)
    }

    /// The place of the first one of which this is not true; it is of all before that, and of none
    /// behind.
    pub fn partition_point(&self, before: impl Fn(&T) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.get(middle).is_some_and(&before) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

impl<T> IntoIterator for Blocks<T> {
    type Item = T;
    type IntoIter =
        std::iter::Skip<std::iter::Flatten<std::collections::vec_deque::IntoIter<Vec<T>>>>;

    fn into_iter(self) -> Self::IntoIter {
        self.blocks.into_iter().flatten().skip(self.gone)
    }
}

fn cleared<T>(mut block: Vec<T>) -> Vec<T> {
    block.clear();
    block
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone)]
    enum Step {
        Push(usize),
        Pop(usize),
        Insert(usize),
        Retain(u32),
        Add(u32),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => (1usize..600).prop_map(Step::Push),
            4 => (1usize..600).prop_map(Step::Pop),
            2 => (0usize..2000).prop_map(Step::Insert),
            1 => (1u32..5).prop_map(Step::Retain),
            1 => (0u32..9).prop_map(Step::Add),
        ];
        prop::collection::vec(step, 1..60)
    }

    proptest! {
        #[test]
        fn it_is_a_queue(steps in steps()) {
            let (mut ours, mut theirs) = (Blocks::default(), VecDeque::new());
            let mut next = 0u32;
            let mut fresh = || { next += 10; next };
            for step in steps {
                match step {
                    Step::Push(count) => for _ in 0..count {
                        let element = fresh();
                        ours.push_back(element);
                        theirs.push_back(element);
                    },
                    Step::Pop(count) => for _ in 0..count {
                        prop_assert_eq!(ours.pop_front(), theirs.pop_front());
                    },
                    Step::Insert(at) => {
                        let (at, element) = (at.min(theirs.len()), fresh());
                        ours.insert(at, element);
                        theirs.insert(at, element);
                    }
                    Step::Retain(nth) => {
                        ours.retain(|element| (element / 10) % nth == 0);
                        theirs.retain(|element| (element / 10) % nth == 0);
                    }
                    Step::Add(more) => {
                        ours.iter_mut().for_each(|element| *element += more);
                        theirs.iter_mut().for_each(|element| *element += more);
                    }
                }
                prop_assert_eq!(ours.len(), theirs.len());
                prop_assert_eq!(ours.is_empty(), theirs.is_empty());
                prop_assert_eq!((ours.front(), ours.back()), (theirs.front(), theirs.back()));
                prop_assert!(ours.iter().eq(theirs.iter()));
                for at in [0, 1, 255, 256, 257, theirs.len().saturating_sub(1), theirs.len()] {
                    prop_assert_eq!(ours.get(at), theirs.get(at));
                }
            }
            prop_assert!(ours.into_iter().eq(theirs));
        }

        #[test]
        fn places_are_found(count in 0usize..1500, gone in 0usize..700, wanted in 0usize..1600) {
            let mut ours = Blocks::default();
            (0..count).for_each(|element| ours.push_back(element));
            for _ in 0..gone {
                ours.pop_front();
            }
            let first = gone.min(count);
            let expected = wanted.clamp(first, count) - first;
            prop_assert_eq!(ours.partition_point(|element| *element < wanted), expected);
        }
    }

    #[test]
    fn blocks_are_filled_again() {
        let mut blocks = Blocks::default();
        for round in 0..10 {
            (0..3 * BLOCK).for_each(|element| blocks.push_back(element));
            (0..3 * BLOCK).for_each(|element| assert_eq!(blocks.pop_front(), Some(element)));
            assert!(blocks.is_empty() && blocks.spare.len() == 3, "{round}");
        }
    }
}
