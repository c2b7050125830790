//! The two chains of incremental images of one incarnation.
//!
//! An image holds what is new since the last image of its chain and names the rest
//! (`ftmpi_checkpoint::container`). Images are assigned to the chains so that images for a restart
//! are never in the same chain. These are the newest two images, or the newest wave and the image
//! under way. Such images have no chunk in common, so damage costs one of them at most.

use ftmpi_checkpoint::container::ChunkIndex;
use ftmpi_wire::ImageNo;

/// See the module's description.
#[derive(Debug, Default)]
pub struct IncrementalChains {
    chains: [Chain; 2],
    off: bool,
}

#[derive(Debug, Default)]
struct Chain {
    known: ChunkIndex,
    newest: Option<ImageNo>,
}

impl IncrementalChains {
    /// The chains of an incarnation that begins: the first image of each chain is whole. `off`: all
    /// images are whole.
    pub fn new(off: bool) -> Self {
        Self { off, ..Self::default() }
    }

    /// The chain of the next image, and the chunks that the chain knows; `None`: the image is to be
    /// whole. `keep`: the images of complete waves that are kept, where waves decide that. Until
    /// [`Self::stored`] the chain knows nothing.
    pub fn next(&mut self, keep: Option<[ImageNo; 2]>) -> (usize, Option<ChunkIndex>) {
        let spared = match keep {
            Some([a, b]) => Some(a.max(b)),
            None => self.chains.iter().filter_map(|chain| chain.newest).max(),
        };
        let chain = match spared
            .and_then(|spared| self.chains.iter().position(|chain| chain.newest == Some(spared)))
        {
            Some(of_spared) => 1 - of_spared,
            None => usize::from(self.chains[0].newest > self.chains[1].newest),
        };
        let mut known = std::mem::take(&mut self.chains[chain].known);
        // The store gives up the images of waves that did not count: nothing can rest on them.
        if let (Some(keep), Some(newest)) = (keep, self.chains[chain].newest)
            && !keep.contains(&newest)
        {
            known = ChunkIndex::default();
        }
        (chain, (!self.off).then_some(known))
    }

    /// The image of this chain is stored.
    pub fn stored(&mut self, chain: usize, image: ImageNo, known: ChunkIndex) {
        self.chains[chain] = Chain { known, newest: Some(image) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(
        chains: &mut IncrementalChains,
        image: u64,
        keep: Option<[u64; 2]>,
        stored: bool,
    ) -> usize {
        let (chain, _) = chains.next(keep.map(|keep| keep.map(ImageNo)));
        if stored {
            chains.stored(chain, ImageNo(image), ChunkIndex::default());
        }
        chain
    }

    #[test]
    fn the_newest_two_are_never_in_one_chain() {
        let mut chains = IncrementalChains::new(false);
        let (mut before, mut failed) = (usize::MAX, 0);
        for image in 1..60 {
            let stored = image % 7 != 3;
            let chain = take(&mut chains, image, None, stored);
            if stored {
                assert_ne!(chain, before, "image {image}");
                before = chain;
            } else {
                failed += 1;
            }
        }
        assert!(failed > 5);
    }

    #[test]
    fn the_newest_wave_is_in_another_chain_than_the_one_under_way() {
        let mut chains = IncrementalChains::new(false);
        let (mut kept, mut chain_of_wave) = ([0, 0], usize::MAX);
        for image in 1..60 {
            // Every third wave is void, though this rank's image of it is stored.
            let chain = take(&mut chains, image, Some(kept), true);
            assert_ne!(chain, chain_of_wave, "image {image}");
            if image % 3 != 0 {
                kept = [kept[1], image];
                chain_of_wave = chain;
            }
        }
    }

    /// The store gives up the images of void waves, so the next image of their chain is whole.
    #[test]
    fn nothing_rests_on_the_image_of_a_void_wave() {
        // Every new index has a key of its own.
        let mut stored = [String::new(), String::new()];
        let mut rests = |chains: &mut IncrementalChains, image: u64, keep: [u64; 2]| {
            let (chain, known) = chains.next(Some(keep.map(ImageNo)));
            let rests = format!("{:?}", known.expect("images are incremental")) == stored[chain];
            let index = ChunkIndex::default();
            stored[chain] = format!("{index:?}");
            chains.stored(chain, ImageNo(image), index);
            rests
        };
        let mut chains = IncrementalChains::new(false);
        assert!(!rests(&mut chains, 1, [0, 0]) && !rests(&mut chains, 2, [1, 0]));
        assert!(rests(&mut chains, 3, [2, 1]), "on image 1");
        // Wave 3 was void: its image is given up.
        assert!(!rests(&mut chains, 4, [2, 1]));
        assert!(rests(&mut chains, 5, [4, 2]), "on image 2");
    }
}
