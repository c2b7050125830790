//! The engine's link to the simulated world. All channels are in the [`world`](crate::world),
//! outside of the rank's memory, as the channels of a real rank are the kernel's.

use crate::fiber::{Pause, Stop};
use crate::invariants::single_copy::Shown;
use crate::invariants::whole_frames;
use crate::mutants::{Mutant, share_lock};
use crate::world::shared::{CELLS, Table};
use crate::world::{Item, News, SimDisk, with};
use ftmpi_core::engine::shared_memory_barrier::SharedMemoryBarrier;
use ftmpi_core::engine::{Captured, DirectReceive, Exact, Frame, Link, Push, Sink, Token};
use ftmpi_core::usermem::UserPtr;
use ftmpi_protocols::protocol::Readiness;
use ftmpi_wire::control::FromRank;
use ftmpi_wire::header::{Kind, Received};
use ftmpi_wire::{Header, ImageNo, Incarnation, Rank, Ssn, control, event_log};
use std::collections::BTreeSet;

/// Payloads above this are announced first: small, so that few bytes exercise the rendezvous.
pub const EAGER: usize = 48;

/// A link.
pub struct SimLink {
    me: usize,
    stop: Stop,
    /// Payloads of which only a part has landed, by sender.
    landing: Vec<(Rank, Header, UserPtr, usize, Token)>,
    /// Frames that have begun to leave: nothing else may come between.
    half: Vec<Half>,
    /// The latest incarnation of each peer that was heard of.
    incarnations: Vec<(Rank, Incarnation)>,
    mutant: Option<Mutant>,
    /// The other end of every channel is a memory.
    memories: bool,
    /// For a mutant: the messages that came whole.
    whole: BTreeSet<(Rank, Ssn)>,
    /// Which state of the job this is: its shared memory has that name.
    state: Incarnation,
    /// The ranks that share memory with this one, and the copy of the own part that belongs to an
    /// image.
    sharers: Option<SharedMemoryBarrier>,
    copy: Vec<u64>,
    /// The engine wants to hear of the end of every call.
    ends: bool,
    /// Which thread of the program goes on.
    thread: u32,
    /// No other thread may come in.
    alone: bool,
    disk: SimDisk,
}

/// A frame that has begun to leave.
struct Half {
    to: Rank,
    words: [u64; 3],
    /// Its payload, if the peer may be reading it where it lies.
    shown: Option<Shown>,
}

impl SimLink {
    /// For rank `me`, whose coroutine stops by `stop`; `first` is the incarnation of the first
    /// rank.
    #[must_use]
    pub fn new(
        me: usize,
        stop: Stop,
        mutant: Option<Mutant>,
        memories: bool,
        first: Incarnation,
    ) -> Self {
        let (landing, incarnations, whole) = (Vec::new(), Vec::new(), BTreeSet::new());
        let (state, sharers, copy) = (first, None, vec![0; CELLS]);
        let (half, ends) = (Vec::new(), false);
        let (thread, alone) = (1, false);
        Self {
            me,
            stop,
            landing,
            half,
            incarnations,
            mutant,
            memories,
            whole,
            state,
            sharers,
            copy,
            ends,
            thread,
            alone,
            disk: SimDisk,
        }
    }

    /// This thread of the program wants to go on; whether it may come in.
    pub fn goes_as(&mut self, thread: u32) -> bool {
        if !self.alone {
            self.thread = thread;
        }
        self.thread == thread
    }

    /// Must the program report the ends of its calls to the engine?
    #[must_use]
    pub fn tells_ends(&self) -> bool {
        self.ends
    }

    /// Is this the deliberate bug?
    #[must_use]
    pub fn has_mutant(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// Reads a number that ranks share.
    #[must_use]
    pub fn load(&self, at: usize) -> u64 {
        with(|world| *world.cell(self.state, at))
    }

    /// Writes one.
    pub fn store(&self, at: usize, value: u64) {
        with(|world| *world.cell(self.state, at) = value);
    }

    /// Lets others run, who may write there.
    pub fn wait_for_memory(&mut self) {
        self.stop.pause(Pause::Relax);
    }

    /// A piece of memory less is shared.
    pub fn share_no_more(&mut self) {
        if let Some(sharers) = &mut self.sharers {
            sharers.leave(&Table(self.state));
        }
    }

    fn pass(&self, image: ImageNo) {
        if let Some(sharers) = &self.sharers {
            sharers.pass(&Table(self.state), image);
        }
    }

    /// For an image: waits until all stand as still as this one, and copies the own part; false:
    /// they do not.
    fn stop_with_others(&mut self, image: ImageNo) -> bool {
        let Some(mut sharers) = self.sharers.take_if(|sharers| sharers.any()) else { return true };
        let table = Table(self.state);
        sharers.stop(&table, image);
        let mut patience = 300;
        while !sharers.have_stopped(&table, image) && patience > 0 {
            if self.mutant == Some(Mutant::SharersNotAwaited) {
                break;
            }
            patience -= 1;
            self.stop.pause(Pause::Relax);
        }
        for i in 0..CELLS {
            self.copy[i] = self.load(self.me * CELLS + i);
        }
        self.sharers = Some(sharers);
        patience > 0
    }

    /// The image is taken: waits until those of all others are.
    fn go_on_with_others(&mut self, image: ImageNo) {
        self.pass(image);
        let Some(sharers) = self.sharers.take() else { return };
        let alone = self.mutant == Some(Mutant::SharersGoOnAlone);
        while sharers.any() && !alone && !sharers.are_through(&Table(self.state), image) {
            self.stop.pause(Pause::Relax);
        }
        self.sharers = Some(sharers);
    }

    /// This incarnation began from the image: fills the own part of new memory, and waits until all
    /// others have.
    fn come_back_with_others(&mut self, image: ImageNo, first: Incarnation) {
        self.state = first;
        let Some(sharers) = self.sharers.take() else { return };
        if sharers.any() {
            for i in 0..CELLS {
                self.store(self.me * CELLS + i, self.copy[i]);
            }
            let table = Table(self.state);
            sharers.come_back(&table, image);
            let alone = self.mutant == Some(Mutant::SharersComeBackAlone);
            while !alone && !sharers.are_back(&table, image) {
                self.stop.pause(Pause::Relax);
            }
        }
        self.sharers = Some(sharers);
    }

    fn land<S: Sink>(&mut self, sink: &mut S, from: Rank, item: &Item) {
        match item {
            Item::Frame { header, payload, .. } => {
                let header = &self.received(from, header);
                let landing = sink.arrive(from, header);
                self.holds(from, header, landing.token, false);
                landing.at.write(&payload[..payload.len().min(landing.capacity)]);
                sink.landed(from, header, landing.token);
            }
            Item::First { header, payload, .. } => {
                let header = &self.received(from, header);
                let landing = sink.arrive(from, header);
                self.holds(from, header, landing.token, false);
                let half = payload.len() / 2;
                landing.at.write(&payload[..half.min(landing.capacity)]);
                self.landing.push((from, *header, landing.at, landing.capacity, landing.token));
            }
            Item::Rest { payload, .. } => {
                let Some(at) = self.landing.iter().position(|l| l.0 == from) else {
                    assert_eq!(self.mutant, Some(Mutant::IncarnationNotChecked));
                    return;
                };
                let (_, header, to, capacity, token) = self.landing.remove(at);
                let half = payload.len() / 2;
                let end = payload.len().min(capacity);
                if half < end {
                    to.offset(half as i64).write(&payload[half..end]);
                }
                self.holds(from, &header, token, true);
                sink.landed(from, &header, token);
            }
        }
    }

    fn holds(&self, from: Rank, header: &Header, token: Token, rest: bool) {
        if token == Token::Held {
            with(|world| world.holds(self.me, from, header, rest));
        }
    }

    /// The mutants' place on the way in.
    fn received(&mut self, from: Rank, header: &Header) -> Header {
        let mut header = *header;
        if self.mutant == Some(Mutant::DuplicateAccepted)
            && matches!(header.kind, Kind::Eager | Kind::RequestToSend)
            && !self.whole.insert((from, header.ssn))
        {
            header.ssn = Ssn(header.ssn.0 + (1 << 40));
        }
        header
    }

    /// The mutants' place on the way out.
    fn sending(&self, kind: Kind, payload: &mut Vec<u8>) {
        let Some(mutant) = self.mutant else { return };
        let Ok(mut received) = control::decode::<Received>(payload) else { return };
        match (mutant, kind) {
            (Mutant::LogCutTooEarly, Kind::LogCut)
            | (Mutant::ImageToldTooMuch, Kind::ImageHas)
            | (Mutant::WrongMessageDropped, Kind::Resume) => {
                received.contiguous = received.contiguous.next();
            }
            (Mutant::ReplyClaimed, Kind::Resume) => {
                received.replies = received.replies.next();
            }
            (Mutant::HoleForgotten, Kind::Resume) => {
                if let Some((_, last)) = received.beyond.pop() {
                    received.contiguous = last;
                    received.beyond.clear();
                }
            }
            _ => return,
        }
        *payload = control::encode(&received);
    }

    /// What is half landed from an earlier incarnation of `peer` never comes whole.
    fn renew<S: Sink>(&mut self, sink: &mut S, peer: Rank, incarnation: Incarnation) {
        match self.incarnations.iter_mut().find(|(rank, _)| *rank == peer) {
            Some((_, known)) if *known >= incarnation => return,
            Some((_, known)) => *known = incarnation,
            None => self.incarnations.push((peer, incarnation)),
        }
        self.break_off(sink, peer);
    }

    fn break_off<S: Sink>(&mut self, sink: &mut S, from: Rank) {
        if let Some(at) = self.landing.iter().position(|l| l.0 == from) {
            let (_, header, _, _, token) = self.landing.remove(at);
            sink.aborted(from, &header, token);
        }
    }
}

impl Link for SimLink {
    fn push(&mut self, to: Rank, frame: &mut Frame) -> Push {
        let me = self.me;
        let mut header = frame.header;
        let payload = frame.payload;
        let mut bytes = vec![0; header.len as usize];
        payload.read(&mut bytes);
        if matches!(header.kind, Kind::Resume | Kind::LogCut | Kind::ImageHas) {
            self.sending(header.kind, &mut bytes);
            header.len = bytes.len() as u64;
        }
        if self.mutant == Some(Mutant::ExclusiveLockShared) && header.kind == Kind::Eager {
            share_lock(&mut bytes);
        }
        let words = frame.header.to_words();
        let half = self.half.iter().position(|half| half.to == to);
        let half = half.map(|at| self.half.swap_remove(at));
        if let Some(half) = &half {
            whole_frames::follows(me, to, &frame.header, half.words);
            if let Some(shown) = &half.shown {
                shown.stays(me, to, payload, &bytes);
            }
        }
        let full = with(|world| {
            if world.refuses_push(me, to.index()) {
                return true;
            }
            world.send(me, to.index(), header, bytes.clone());
            false
        });
        if full {
            if let Some(half) = half {
                self.half.push(half);
            } else if !self.memories && with(|world| world.below(2)) == 0 {
                // Part of it has left, or it was shown to its receiver.
                frame.begun = true;
                with(|world| world.begins_to_leave(me, to.index(), &header));
                let message = matches!(header.kind, Kind::Eager | Kind::Data);
                let shown = message && with(|world| world.below(2)) == 0;
                let shown = shown.then(|| Shown::new(payload, &bytes));
                self.half.push(Half { to, words, shown });
            }
            return Push::Full;
        }
        if header.kind == Kind::Data {
            self.point("rendezvous");
        }
        Push::Done
    }

    fn withdraw(&mut self, to: Rank) -> bool {
        let mutated = self.mutant == Some(Mutant::SingleCopyNotWithdrawn);
        let Some(half) = self.half.iter_mut().find(|half| half.to == to) else { return true };
        // Now and then its reader is just at it.
        if half.shown.is_some() && !mutated && with(|world| world.below(3)) == 0 {
            return false;
        }
        if !mutated {
            half.shown = None;
        }
        true
    }

    fn eager_limit(&self, _to: Rank) -> usize {
        if self.memories { usize::MAX } else { EAGER }
    }

    fn open(&mut self, peer: Rank, incarnation: Incarnation) {
        with(|world| world.open(self.me, peer.index(), incarnation));
    }

    fn poll<S: Sink>(&mut self, sink: &mut S, _first: Option<Rank>) -> bool {
        let mut came = false;
        while let Some(news) = with(|world| world.next_news(self.me)) {
            came = true;
            match &news {
                News::Lost(peer, incarnation) => {
                    let later =
                        |(rank, known): &(Rank, Incarnation)| rank == peer && known > incarnation;
                    if !self.incarnations.iter().any(later) {
                        self.break_off(sink, *peer);
                        self.half.retain(|half| half.to != *peer);
                        sink.channel_lost(*peer);
                    }
                }
                News::Channel(peer, incarnation, _) => {
                    self.renew(sink, *peer, *incarnation);
                    self.half.retain(|half| half.to != *peer);
                    sink.channel_up(*peer, *incarnation);
                }
                News::Restarted(peer, incarnation) => {
                    self.renew(sink, *peer, *incarnation);
                    self.half.retain(|half| half.to != *peer);
                    sink.peer_restarted(*peer, *incarnation);
                }
                News::LoggerUp(_) => sink.logger_up(),
                News::LoggerLost => sink.logger_lost(),
                // The copy is made in the rank's own memory.
                News::Log(_, frame) => sink.log_frame(frame.clone()),
                News::Clocks(clocks) => {
                    sink.log_frame(event_log::Frame::Stable { clocks: clocks.clone() });
                }
                News::Committed(image, oldest) => sink.image_committed(*image, *oldest),
                News::ImageFailed(image) => {
                    self.pass(*image);
                    sink.image_failed(*image);
                }
                // The end of an earlier incarnation's channel, which is closed by now.
                News::Item(from, incarnation, _)
                    if self
                        .incarnations
                        .iter()
                        .any(|(rank, known)| rank == from && known > incarnation)
                        && self.mutant != Some(Mutant::IncarnationNotChecked) => {}
                News::Item(from, incarnation, item) => {
                    if let Item::Frame { header, .. } | Item::First { header, .. } = item {
                        with(|world| world.lands(self.me, *from, *incarnation, header));
                    }
                    self.land(sink, *from, item);
                    self.point("read");
                }
            }
            crate::arena::outside(|| drop(news));
        }
        came
    }

    fn take_expected<S: Sink>(&mut self, sink: &mut S, from: Rank) {
        let known = self
            .incarnations
            .iter()
            .find(|(rank, _)| *rank == from)
            .map(|(_, incarnation)| *incarnation);
        while self.mutant.is_none()
            && with(|world| match world.first_news(self.me) {
                Some(News::Item(rank, incarnation, Item::Frame { header, .. })) => {
                    *rank == from && Some(*incarnation) == known && sink.expects(from, header)
                }
                _ => false,
            })
        {
            let news = with(|world| world.next_news(self.me));
            let Some(News::Item(_, incarnation, item @ Item::Frame { header, .. })) = &news else {
                unreachable!("just seen")
            };
            with(|world| world.lands(self.me, from, *incarnation, header));
            self.land(sink, from, item);
            self.point("read");
            crate::arena::outside(|| drop(news));
        }
    }

    fn take_exact(&mut self, receive: &DirectReceive, fresh: impl Fn(Ssn) -> bool) -> Exact {
        let DirectReceive { from, context, tag, into, capacity, .. } = *receive;
        let exact = |header: &Header| {
            header.kind == Kind::Eager
                && header.flags == 0
                && header.context == context
                && tag.is_none_or(|tag| header.tag == tag)
                && header.len as usize <= capacity
                && fresh(header.ssn)
        };
        let known = self
            .incarnations
            .iter()
            .find(|(rank, _)| *rank == from)
            .map(|(_, incarnation)| *incarnation);
        let next = with(|world| match world.first_news(self.me) {
            Some(News::Item(rank, incarnation, Item::Frame { header, .. })) => {
                *rank == from && Some(*incarnation) == known && exact(header)
            }
            _ => false,
        });
        if !next || self.mutant.is_some() {
            return Exact::Other;
        }
        let news = with(|world| world.next_news(self.me));
        let Some(News::Item(from, incarnation, Item::Frame { header, payload, .. })) = &news else {
            unreachable!("just seen")
        };
        with(|world| world.lands(self.me, *from, *incarnation, header));
        into.write(payload);
        let header = *header;
        crate::arena::outside(|| drop(news));
        self.point("read");
        Exact::Took(header)
    }

    fn log(&mut self, frame: &event_log::Frame) -> bool {
        let stored = with(|world| world.log(self.me, frame.clone()));
        self.point("log-sent");
        stored
    }

    fn notify_agent(&mut self, message: FromRank) {
        match message {
            FromRank::OpenEventLog => with(|world| world.open_logger(self.me)),
            FromRank::CaughtUp { replayed } => with(|world| world.caught_up(self.me, replayed)),
            FromRank::ChannelLost { peer, incarnation } => {
                with(|world| world.channel_lost(self.me, peer.index(), incarnation));
            }
            _ => {}
        }
    }

    fn refuse(&mut self, image: ImageNo, _why: &str) {
        self.pass(image);
        with(|world| world.refuse_image(self.me));
    }

    fn join_shared_memory(&mut self, host: &[Rank], past: ImageNo) -> bool {
        let me = Rank(self.me as u32);
        let sharers =
            self.sharers.get_or_insert_with(|| SharedMemoryBarrier::new(me, host.to_vec()));
        // (The mutant believes to have every wave behind it.)
        let between = self.mutant == Some(Mutant::JoinsBetween);
        let past = if between { ImageNo(past.0 + 1) } else { past };
        sharers.join(&Table(self.state), past)
    }

    fn thread(&self) -> u32 {
        if self.has_mutant(Mutant::ThreadsNotToldApart) { 1 } else { self.thread }
    }

    fn keep_threads_out(&mut self, keep: bool) -> bool {
        std::mem::replace(&mut self.alone, keep)
    }

    fn shares(&self) -> bool {
        self.sharers.as_ref().is_some_and(SharedMemoryBarrier::any)
    }

    fn stands(&mut self, image: ImageNo) -> Readiness {
        match &self.sharers {
            Some(sharers) if !sharers.stand(&Table(self.state), image) => Readiness::NotYet,
            _ => Readiness::Now,
        }
    }

    fn disk(&mut self) -> Option<&mut dyn ftmpi_core::file::disk::Disk> {
        Some(&mut self.disk)
    }

    fn report_call_ends(&mut self, wanted: bool) {
        self.ends = wanted;
    }

    fn rest(&mut self) {
        self.stop.pause(Pause::Rest);
    }

    fn relax(&mut self) {
        self.stop.pause(Pause::Relax);
    }

    fn clock(&mut self) -> f64 {
        with(|world| world.now() as f64)
    }

    fn point(&mut self, name: &'static str) {
        if with(|world| world.dies_at(self.me, name)) {
            self.stop.pause(Pause::Die);
        }
    }

    fn abandon<S: Sink>(&mut self, sink: &mut S) {
        self.half.clear();
        while let Some(&(from, ..)) = self.landing.first() {
            self.break_off(sink, from);
        }
    }

    fn give_up(&mut self, why: String) -> ! {
        panic!("rank {} gives up: {why}", self.me)
    }

    fn roll_back(&mut self, why: String, before: Option<ImageNo>) -> ! {
        with(|world| world.rolls_back(self.me, &why, before));
        loop {
            self.stop.pause(Pause::RollBack);
        }
    }

    fn image_due(&self) -> Option<ImageNo> {
        with(|world| world.image_due(self.me))
    }

    fn capture(&mut self, image: ImageNo, _useless: &mut dyn Iterator<Item = &[u8]>) -> Captured {
        if with(|world| world.refuses_image()) || !self.stop_with_others(image) {
            self.pass(image);
            with(|world| world.refuse_image(self.me));
            return Captured::Refused { lasts: false };
        }
        self.stop.pause(Pause::Image);
        // The present incarnation is not in the rank's memory: the image was taken before this
        // line.
        if with(|world| world.was_restored(self.me)) {
            // The list lies in the rank's own memory.
            let known = with(|world| world.incarnations_known_to(self.me));
            let incarnations = known.as_slice().to_vec();
            crate::arena::outside(|| drop(known));
            self.come_back_with_others(image, incarnations[0]);
            Captured::Restored(incarnations)
        } else {
            self.go_on_with_others(image);
            self.point("image");
            Captured::Running
        }
    }
}
