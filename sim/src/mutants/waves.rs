//! Deliberate bugs of coordinated waves.

use super::Mutant;
use ftmpi_protocols::protocol::{Command, Hooks, Marker, Protocol, Readiness};
use ftmpi_wire::{ImageNo, Rank};

/// The protocol with a bug.
pub(super) fn protocol(inner: Box<dyn Protocol>, mutant: Mutant) -> Box<dyn Protocol> {
    Box::new(Mutated { inner, mutant })
}

struct Mutated {
    inner: Box<dyn Protocol>,
    mutant: Mutant,
}

impl Protocol for Mutated {
    fn hooks(&self) -> Hooks {
        self.inner.hooks()
    }
    fn on_frame(&mut self, from: Rank, payload: &[u8]) {
        self.inner.on_frame(from, payload);
    }
    fn on_image_due(&mut self, image: ImageNo) {
        self.inner.on_image_due(image);
    }
    fn image_ready(
        &self,
        image: ImageNo,
        peers: &mut dyn Iterator<Item = (Rank, u64)>,
    ) -> Readiness {
        match (self.inner.image_ready(image, peers), self.mutant) {
            (Readiness::NotYet, Mutant::MarkersNotAwaited) => Readiness::Now,
            (readiness, _) => readiness,
        }
    }
    fn stands_still(&self) -> bool {
        self.inner.stands_still()
    }
    fn on_image_over(&mut self, image: ImageNo) {
        self.inner.on_image_over(image);
    }
    fn on_return(&mut self, image: ImageNo) {
        self.inner.on_return(image);
    }
    fn greeting(&self) -> Option<Marker> {
        self.inner.greeting()
    }
    fn next_command(&mut self) -> Option<Command> {
        match (self.inner.next_command()?, self.mutant) {
            (Command::HoldSends, Mutant::ChannelNotClosed)
            | (Command::KeepSent, Mutant::ChannelStateForgotten)
            | (Command::HoldFrom(_), Mutant::LateMessageTaken) => self.next_command(),
            (command, _) => Some(command),
        }
    }
}
