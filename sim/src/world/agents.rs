//! The agents of a job's hosts: they carry out the launcher's commands and report about their
//! ranks. The images of all ranks are here as well, as the checkpoint servers hold them.

use super::{Event, Image, News, World};
use crate::mutants::Mutant;
use crate::picture::{Mark, mark};
use ftmpi_protocols::dispatcher::{Command, Ending, ImageFacts, Input};
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::time::Duration;

/// An incarnation that is to begin.
#[derive(Debug, Clone)]
pub(super) struct Beginning {
    pub(super) rank: usize,
    pub(super) incarnation: Incarnation,
    /// The images that it may continue, newest first.
    pub(super) images: Vec<ImageNo>,
    or_beginning: bool,
    /// What the store has behind those images is given up.
    pub(super) no_newer: bool,
    /// All incarnations that the launcher let begin at one time have the same.
    round: u64,
    /// The agent that has the order, and its host.
    pub(super) agent: u64,
    pub(super) host: usize,
}

impl World {
    pub(super) fn host_of(&self, rank: usize) -> usize {
        self.processes[rank].host
    }

    /// Are images taken in waves?
    #[must_use]
    pub fn in_waves(&self) -> bool {
        self.setup.variant.in_waves()
    }

    pub(super) fn cluster_of(&self, rank: usize) -> usize {
        self.setup.clusters[rank] as usize
    }

    pub(super) fn cluster_peers_of(&self, rank: usize) -> Vec<usize> {
        let cluster = self.cluster_of(rank);
        (0..self.processes.len())
            .filter(|cluster_peer| self.cluster_of(*cluster_peer) == cluster)
            .collect()
    }

    /// A command reaches its agent.
    pub(super) fn at_host(&mut self, host: usize, command: Command, round: u64) {
        match command {
            Command::Announce { rank, incarnation, .. } => {
                self.announced(host, rank.index(), incarnation);
            }
            Command::Start { rank, incarnation, images, or_beginning, no_newer, .. } => {
                let (rank, agent) = (rank.index(), self.dispatch.hosts[host].agent);
                if self.processes[rank].fiber.is_some() && self.host_of(rank) == host {
                    // The launcher knows that it is dead, or would not start another; make sure.
                    self.bury(rank);
                }
                self.processes[rank].starting = Some(incarnation);
                self.seen.one_process.is_to_begin(rank, host);
                self.processes[rank].host = host;
                let images = images.into_iter().map(|facts| facts.image).collect();
                let beginning = Beginning {
                    rank,
                    incarnation,
                    images,
                    or_beginning,
                    no_newer,
                    round,
                    agent,
                    host,
                };
                let delay = self.below(500);
                self.after(delay, Event::Begin(beginning));
            }
            Command::Standby(order) => self.standby_ordered(host, order),
            Command::Kill { rank, incarnation } => self.kill(rank.index(), incarnation),
            Command::TakeImage { rank, incarnation, image, keep } => {
                let rank = rank.index();
                if self.is_alive((rank, incarnation)) {
                    self.processes[rank].kept = keep.map(Vec::from);
                    if self.below(25) == 0 {
                        self.image_failed(rank, image);
                    } else {
                        self.processes[rank].due = Some(image);
                        self.after(0, Event::Wake(rank, incarnation));
                    }
                }
            }
            Command::ImageCommitted { rank, incarnation, image, oldest } => {
                let cut = &mut self.processes[rank.index()].cut_at;
                *cut = oldest.max(*cut);
                self.hears_later(rank, incarnation, News::Committed(image, oldest));
            }
            Command::ImageFailed { rank, incarnation, image } => {
                self.hears_later(rank, incarnation, News::ImageFailed(image));
            }
            Command::AllFinalized { rank, incarnation } => {
                if self.is_alive((rank.index(), incarnation)) {
                    self.processes[rank.index()].all_finalized = true;
                }
            }
            Command::AllExiting { rank, incarnation } => {
                if self.is_alive((rank.index(), incarnation)) {
                    self.note(|| format!("rank {rank} exits"));
                    self.exits(rank.index());
                    self.ended(rank.index(), incarnation, Ending::Code(0));
                }
            }
            Command::Die { .. } => panic!("nobody has aborted"),
            other => unreachable!("not for an agent: {other:?}"),
        }
    }

    fn hears_later(&mut self, rank: Rank, incarnation: Incarnation, news: News) {
        let delay = self.below(40);
        self.after(delay, Event::News(rank.index(), incarnation, news));
    }

    /// A rank has a new incarnation: the ranks here hear of it.
    fn announced(&mut self, host: usize, rank: usize, incarnation: Incarnation) {
        let known = &mut self.dispatch.hosts[host].known[rank];
        *known = incarnation.max(*known);
        if self.has_memories() {
            // To memories incarnations of ranks make no difference.
            return;
        }
        for other in (0..self.processes.len()).filter(|other| *other != rank) {
            if self.host_of(other) == host && self.processes[other].fiber.is_some() {
                let present = self.processes[other].incarnation;
                let news = News::Restarted(Rank(rank as u32), incarnation);
                let delay = self.below(40);
                self.after(delay, Event::News(other, present, news));
            }
        }
    }

    /// The incarnations of all ranks, as a rank's agent knows them.
    #[must_use]
    pub fn incarnations_known_to(&self, rank: usize) -> Vec<Incarnation> {
        let mut known = self.dispatch.hosts[self.host_of(rank)].known.clone();
        known[rank] = self.processes[rank].incarnation;
        known
    }

    // ---- how incarnations begin -----------------------------------------------------------------

    /// The image is there, and the process can be started; answers with a rank that runs.
    pub(super) fn begin(&mut self, mut beginning: Beginning) -> Option<usize> {
        let (rank, incarnation) = (beginning.rank, beginning.incarnation);
        let host = beginning.host;
        let state = &self.dispatch.hosts[host];
        if state.agent != beginning.agent || state.known[rank] != incarnation {
            return None;
        }
        if self.processes[rank].starting != Some(incarnation)
            && self.setup.mutant != Some(Mutant::GivenUpIncarnationBegins)
        {
            return None;
        }
        self.processes[rank].starting = None;
        let name = Rank(rank as u32);
        if let Some(image) = self.take_standby(&beginning) {
            return self.start(rank, incarnation, Some(image), beginning.round);
        }
        if beginning.no_newer {
            let newest = beginning.images.first().copied().unwrap_or_default();
            self.processes[rank].images.retain(|image| image.number <= newest);
        }
        let stored = |world: &Self, image: &ImageNo| {
            world.processes[rank].images.iter().any(|i| i.committed && i.number == *image)
        };
        while let Some(&image) = beginning.images.first() {
            let why = if !stored(self, &image) {
                if self.in_waves() {
                    self.seen.whole_waves.lacks(rank, image);
                }
                "it is not there any more"
            } else if self.below(8) == 0 && self.can_spare(&beginning) {
                self.seen.whole_waves.is_damaged(rank, image);
                let who = if self.in_waves() { self.cluster_peers_of(rank) } else { vec![rank] };
                self.seen.image_damaged = true;
                self.seen.last_images.are_damaged(&who);
                "it is damaged"
            } else {
                return self.start(rank, incarnation, Some(image), beginning.round);
            };
            self.note(|| format!("image {image} of rank {rank}: {why}"));
            self.fails_to_begin(rank);
            self.processes[rank].images.retain(|i| i.number != image);
            beginning.images.remove(0);
            let incarnation = beginning.incarnation;
            if why == "it is damaged" && self.below(2) == 0 {
                // Only the process itself finds out.
                self.report(host, Input::Spawned { rank: name, incarnation });
                self.processes[rank].starting = Some(incarnation);
                let delay = self.below(200);
                self.after(delay, Event::Tried(image, beginning));
                return None;
            }
            let why = why.to_owned();
            self.report(host, Input::ImageUnusable { rank: name, incarnation, image, why });
        }
        if !beginning.or_beginning
            && !self.in_waves()
            && !beginning.no_newer
            && let Some(newest) = self.processes[rank].images.iter().rev().find(|i| i.committed)
        {
            // Committed when its rank was dying: the launcher did not hear of it.
            let newest = newest.number;
            return self.start(rank, incarnation, Some(newest), beginning.round);
        }
        if !beginning.or_beginning {
            let (code, why) = (1, "no image is left".to_owned());
            self.report(host, Input::CannotStart { rank: name, incarnation, code, why });
            return None;
        }
        self.start(rank, incarnation, None, beginning.round)
    }

    /// The process has found that its image is damaged, if it was not killed meanwhile.
    pub(super) fn tried(&mut self, image: ImageNo, beginning: Beginning) -> Option<usize> {
        let (rank, incarnation) = (beginning.rank, beginning.incarnation);
        let host = beginning.host;
        if self.dispatch.hosts[host].agent != beginning.agent
            || self.processes[rank].starting != Some(incarnation)
        {
            return None;
        }
        let (name, why) = (Rank(rank as u32), "the process found it damaged".to_owned());
        self.report(host, Input::ImageUnusable { rank: name, incarnation, image, why });
        let delay = self.below(200);
        self.after(delay, Event::Begin(beginning));
        None
    }

    /// Is there another way than by its first image?
    fn can_spare(&self, beginning: &Beginning) -> bool {
        match self.in_waves() {
            // A launcher that went on with the job may offer what was good before logs were cut,
            // when it cannot know.
            true => {
                let cut = self.processes[beginning.rank].cut_at;
                let older = |i: &Image| {
                    i.committed && i.number >= cut && Some(&i.number) < beginning.images.first()
                };
                let reached =
                    cut == ImageNo(0) || self.processes[beginning.rank].images.iter().any(older);
                reached && self.dispatch.machine.can_do_without_newest(Rank(beginning.rank as u32))
            }
            false => {
                let images = self.processes[beginning.rank].images.iter();
                images.filter(|image| image.committed).count() > 1 || beginning.or_beginning
            }
        }
    }

    /// Its cluster returns once more.
    fn fails_to_begin(&mut self, rank: usize) {
        self.seen.last_images.fails();
        if self.in_waves() {
            let cluster = self.cluster_of(rank);
            self.seen.failed_clusters.fails(cluster);
        }
    }

    // ---- how they end ---------------------------------------------------------------------------

    /// A process is gone: its agent reports it.
    pub(super) fn ended(&mut self, rank: usize, incarnation: Incarnation, ending: Ending) {
        let (host, progress) = (self.host_of(rank), self.now);
        let rank = Rank(rank as u32);
        self.report(host, Input::Ended { rank, incarnation, ending, progress });
    }

    fn kill(&mut self, rank: usize, incarnation: Incarnation) {
        if self.is_alive((rank, incarnation)) {
            mark(self.now, || Mark::Dies(rank));
            self.end_process(rank);
            self.ended(rank, incarnation, Ending::Signal(9));
        } else if self.processes[rank]
            .starting
            .take_if(|starting| *starting == incarnation)
            .is_some()
        {
            self.ended(rank, incarnation, Ending::Signal(9));
        }
    }

    fn bury(&mut self, rank: usize) {
        self.note(|| format!("an old process of rank {rank} is buried"));
        self.fails_to_begin(rank);
        self.end_process(rank);
    }

    /// Two that live lost their channel, and nothing repairs it.
    pub fn channel_lost(&mut self, rank: usize, peer: usize, peer_incarnation: Incarnation) {
        self.note(|| format!("rank {rank} has lost its channel to rank {peer}"));
        let (host, incarnation) = (self.host_of(rank), self.processes[rank].incarnation);
        if self.in_waves() && self.processes[peer].incarnation == peer_incarnation {
            assert!(self.cluster_of(rank) == self.cluster_of(peer), "the log repairs this channel");
            self.fails_to_begin(rank);
        }
        let (rank, peer) = (Rank(rank as u32), Rank(peer as u32));
        self.report(host, Input::ChannelLost { rank, incarnation, peer, peer_incarnation });
    }

    // ---- images ---------------------------------------------------------------------------------

    /// There will be no image of this rank of this number; the launcher hears of it, and then the
    /// rank.
    pub fn image_failed(&mut self, rank: usize, image: ImageNo) {
        self.note(|| format!("no image {image} of rank {rank}"));
        self.seen.last_images.fails();
        self.processes[rank].due = None;
        self.processes[rank].images.retain(|i| i.number != image);
        let (host, incarnation) = (self.host_of(rank), self.processes[rank].incarnation);
        let (rank, why) = (Rank(rank as u32), "it was refused".to_owned());
        self.report(host, Input::ImageFailed { rank, incarnation, image, why });
    }

    /// Now and then an image is refused.
    pub fn refuses_image(&mut self) -> bool {
        self.in_waves() && self.below(25) == 0
    }

    /// An image is durable, if nothing has come between.
    pub(super) fn commit(&mut self, rank: usize, incarnation: Incarnation, image: ImageNo) {
        if !self.is_alive((rank, incarnation)) {
            // Of an incarnation that was declared dead.
            self.processes[rank].images.retain(|i| i.number != image || i.committed);
            return;
        }
        if !self.processes[rank].images.iter().any(|i| i.number == image) {
            return;
        }
        if self.below(25) == 0 {
            return self.image_failed(rank, image);
        }
        self.loggers_sync_for_an_image();
        let mutant = self.setup.mutant;
        let at_once = self.below(3) > 0;
        let process = &mut self.processes[rank];
        for stored in &mut process.images {
            stored.committed |= stored.number == image;
        }
        let committed: Vec<_> =
            process.images.iter().filter(|i| i.committed).map(|i| i.number).collect();
        match &process.kept {
            Some(kept) => {
                let old = mutant == Some(Mutant::OldWaveRemoved);
                let keep = |i: &Image| {
                    i.number == image || !i.committed || (kept.contains(&i.number) && !old)
                };
                process.images.retain(keep);
            }
            None => {
                let oldest = committed[committed.len().saturating_sub(2)];
                process.images.retain(|i| i.number >= oldest);
            }
        }
        process.highest = image.max(process.highest);
        process.start_given_up |= match &process.kept {
            Some(kept) => self.setup.variant.has_clusters() && kept.iter().all(|k| *k > ImageNo(0)),
            None => at_once && committed.len() >= 2,
        };
        let oldest = match process.images.iter().find(|i| i.committed) {
            Some(oldest) if process.start_given_up => oldest.number,
            _ => ImageNo(0),
        };
        self.outcome.images += 1;
        self.seen.whole_waves.is_durable(rank, image);
        let facts = ImageFacts { image, bytes: 1, written: [0; 2], consumed: 0 };
        let mut whose = vec![rank];
        if mutant == Some(Mutant::IncompleteWave) && self.in_waves() {
            whose = self.cluster_peers_of(rank);
        }
        for rank in whose {
            let (host, incarnation) = (self.host_of(rank), self.processes[rank].incarnation);
            let rank = Rank(rank as u32);
            // Cheap or dear, by the number: it must not matter but for the time of the next image.
            let cost = Duration::from_millis(image.0 % 7);
            self.report(host, Input::ImageCost { cost });
            self.report(host, Input::ImageCommitted { rank, incarnation, image: facts, oldest });
        }
        if mutant == Some(Mutant::LogCutAtIncompleteWave) {
            self.after(0, Event::News(rank, incarnation, News::Committed(image, image)));
        }
    }
}
