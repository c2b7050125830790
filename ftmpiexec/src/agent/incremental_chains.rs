//! The two rows of incremental images of one life.
//!
//! An image holds what is new since the last one of its row and names the rest
//! (`ftmpi_checkpoint::container`). Images are put into the rows so that those that are kept for a
//! restart, the newest two or the newest wave and the image under way, are never in the same: they have
//! no chunk in common, and damage costs one of them at the most.

use ftmpi_checkpoint::container::Known;
use ftmpi_wire::ImageNo;

/// See the module's description.
#[derive(Debug, Default)]
pub struct Rows {
    rows: [Row; 2],
    off: bool,
}

#[derive(Debug, Default)]
struct Row {
    known: Known,
    newest: Option<ImageNo>,
}

impl Rows {
    /// Of a life that begins: its first image of each row is whole. `off`: all are.
    pub fn new(off: bool) -> Self {
        Self { off, ..Self::default() }
    }

    /// The row of the next image and what is known in it; `keep`: the images of complete waves that
    /// are kept beside it, where waves decide that. Until [`Self::stored`] nothing is known in the row.
    /// `None`: it is to be whole, and so is the next.
    pub fn next(&mut self, keep: Option<[ImageNo; 2]>) -> (usize, Option<Known>) {
        let spared = match keep {
            Some([a, b]) => Some(a.max(b)),
            None => self.rows.iter().filter_map(|row| row.newest).max(),
        };
        let row = match spared
            .and_then(|spared| self.rows.iter().position(|r| r.newest == Some(spared)))
        {
            Some(of_spared) => 1 - of_spared,
            None => usize::from(self.rows[0].newest > self.rows[1].newest),
        };
        let known = std::mem::take(&mut self.rows[row].known);
        (row, (!self.off).then_some(known))
    }

    /// The image of this row is stored.
    pub fn stored(&mut self, row: usize, image: ImageNo, known: Known) {
        self.rows[row] = Row { known, newest: Some(image) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(rows: &mut Rows, image: u64, keep: Option<[u64; 2]>, stored: bool) -> usize {
        let (row, _) = rows.next(keep.map(|keep| keep.map(ImageNo)));
        if stored {
            rows.stored(row, ImageNo(image), Known::default());
        }
        row
    }

    #[test]
    fn the_newest_two_are_never_in_one_row() {
        let mut rows = Rows::new(false);
        let (mut before, mut failed) = (usize::MAX, 0);
        for image in 1..60 {
            let stored = image % 7 != 3;
            let row = take(&mut rows, image, None, stored);
            if stored {
                assert_ne!(row, before, "image {image}");
                before = row;
            } else {
                failed += 1;
            }
        }
        assert!(failed > 5);
    }

    #[test]
    fn the_newest_wave_is_in_another_row_than_the_one_under_way() {
        let mut rows = Rows::new(false);
        let (mut kept, mut row_of_wave) = ([0, 0], usize::MAX);
        for image in 1..60 {
            // Every third wave does not count, though this rank's image of it is stored.
            let row = take(&mut rows, image, Some(kept), true);
            assert_ne!(row, row_of_wave, "image {image}");
            if image % 3 != 0 {
                kept = [kept[1], image];
                row_of_wave = row;
            }
        }
    }
}
