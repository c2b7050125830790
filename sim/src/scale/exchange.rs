//! The exchange itself: an event heap over the ranks' protocol machines and the event logger's.
//!
//! Three acts. The program runs its steps. A protocol with waves is asked for one. One rank loses
//! its incarnation, and its next one finds out what it is to repeat.

use super::measured::Measured;
use super::model::Model;
use super::nodes::{Leaving, Node, Op};
use crate::logger::{Answer, Logger};
use crate::protocol_config::Variant;
use ftmpi_protocols::event_log::{ConnId, Promise};
use ftmpi_protocols::none::None as NoProtocol;
use ftmpi_protocols::protocol::{Command, Protocol, Readiness, SendVerdict};
use ftmpi_wire::event_log::Frame;
use ftmpi_wire::{Determinant, EventNo, Header, ImageNo, Incarnation, Rank, Ssn};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// The image of the wave that is asked for.
const IMAGE: ImageNo = ImageNo(1);

enum Event {
    /// A rank goes on with its program.
    Wake,
    Message {
        from: Rank,
        ssn: Ssn,
        piggyback: Option<Vec<u8>>,
    },
    /// A frame of the protocol's own.
    Peer {
        from: Rank,
        payload: Vec<u8>,
    },
    /// A channel is there; the peer wrote this.
    Joined {
        from: Rank,
        said: Vec<u8>,
    },
    ToLogger {
        conn: ConnId,
        frame: Frame,
    },
    /// The logger writes what it has.
    Write,
    FrameArrives {
        incarnation: Incarnation,
        frame: Frame,
    },
    /// The dispatcher orders an image.
    ImageDue,
}

struct Entry {
    at: u64,
    number: u64,
    rank: Rank,
    event: Event,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

struct Exchange<'a> {
    model: &'a Model,
    variant: Option<Variant>,
    nodes: Vec<Node>,
    incarnations: Vec<Incarnation>,
    clusters: Vec<u32>,
    logger: Logger,
    logger_busy: u64,
    write_due: bool,
    conns: Vec<ConnId>,
    /// When the last frame of each rank reaches the logger, and the logger's last one the rank.
    streams: Vec<(u64, u64)>,
    heap: BinaryHeap<Reverse<Entry>>,
    number: u64,
    now: u64,
    /// When the links of the ranks, and behind them those of channel memories, are free: out, in.
    free: Vec<(u64, u64)>,
    sum: Measured,
    messages: u64,
    /// What the new incarnation has read of its log, and what its recovery moved.
    fetched: Vec<Determinant>,
    recovering: Option<Rank>,
    log_read: bool,
    known_at: u64,
    image_ready: BTreeMap<Rank, u64>,
}

/// Runs one protocol (`None`: none) on so many ranks, a power of two.
#[must_use]
pub fn run(variant: Option<Variant>, ranks: u32, model: &Model) -> Measured {
    let mut exchange = Exchange::new(variant, ranks, model);
    exchange.steps();
    if variant.is_some_and(Variant::in_waves) {
        exchange.wave();
    }
    if variant.is_some_and(|variant| !variant.is_coordinated()) {
        exchange.lose(Rank(ranks / 2));
    }
    exchange.sum
}

impl<'a> Exchange<'a> {
    fn new(variant: Option<Variant>, ranks: u32, model: &'a Model) -> Self {
        assert!(ranks.is_power_of_two() && ranks > 1);
        let incarnations = vec![Incarnation(0); ranks as usize];
        let clusters: Vec<u32> = (0..ranks).map(|rank| rank / model.cluster).collect();
        let mut logger = Logger::new(0, Promise::Written, None);
        let (mut nodes, mut conns) = (Vec::new(), Vec::new());
        for me in (0..ranks).map(Rank) {
            let protocol: Box<dyn Protocol> = match variant {
                Some(variant) => variant.bare(true, me, &incarnations, &clusters),
                None => Box::new(NoProtocol),
            };
            let (conn, _) = logger.connect(me, Incarnation(0));
            if protocol.hooks().piggyback {
                logger.frame(conn, Frame::Watch);
            }
            conns.push(conn);
            nodes.push(Node::new(me, ranks, protocol, model));
        }
        let servers = ranks.div_ceil(model.per_server);
        Self {
            model,
            variant,
            nodes,
            incarnations,
            clusters,
            logger,
            logger_busy: 0,
            write_due: false,
            conns,
            streams: vec![(0, 0); ranks as usize],
            heap: BinaryHeap::new(),
            number: 0,
            now: 0,
            free: vec![(0, 0); (ranks + servers) as usize],
            sum: Measured::default(),
            messages: 0,
            fetched: Vec::new(),
            recovering: None,
            log_read: false,
            known_at: 0,
            image_ready: BTreeMap::new(),
        }
    }

    fn at(&mut self, at: u64, rank: Rank, event: Event) {
        self.number += 1;
        self.heap.push(Reverse(Entry { at, number: self.number, rank, event }));
    }

    fn wire(&self, bytes: u64) -> u64 {
        (bytes as f64 / self.model.bandwidth * 1e9) as u64
    }

    /// When so many bytes that leave one link now have come in by another.
    fn hop(&mut self, from: usize, to: usize, at: u64, bytes: u64) -> u64 {
        let wire = self.wire(bytes);
        let begin = at.max(self.free[from].0);
        self.free[from].0 = begin + wire;
        // The first byte comes in while the last is still leaving.
        let come =
            (begin + self.model.latency_ns).max(self.free[to].1) + wire + self.model.frame_ns;
        self.free[to].1 = come;
        come
    }

    fn carry(&mut self, from: Rank, to: Rank, bytes: u64, event: Event) {
        let bytes = bytes + Header::BYTES as u64;
        let mut at = self.now;
        let mut begin = from.index();
        if self.variant.is_some_and(Variant::has_memories) {
            let memory = self.nodes.len() + (to.0 / self.model.per_server) as usize;
            at = self.hop(begin, memory, at, bytes);
            begin = memory;
        }
        let come = self.hop(begin, to.index(), at, bytes);
        self.at(come, to, event);
    }

    // ---- the program ---------------------------------------------------------------------------

    fn steps(&mut self) {
        for rank in (0..self.nodes.len() as u32).map(Rank) {
            self.at(0, rank, Event::Wake);
        }
        self.until_quiet();
        let n = self.nodes.len() as f64;
        let per_step = n * f64::from(self.model.steps);
        let ends = self.nodes.iter().map(|node| node.ended.expect("every rank comes to its end"));
        let end = ends.max().expect("there are ranks");
        let sum = &mut self.sum;
        sum.step_s = end as f64 / 1e9 / f64::from(self.model.steps);
        sum.slowdown = 1.0;
        sum.piggyback_bytes /= self.messages as f64;
        sum.gate_us /= self.messages as f64 * 1e3;
        sum.events_per_step /= per_step;
        sum.clocks_per_step /= per_step;
        sum.logged_per_step /= per_step;
        let held = self.nodes.iter().map(|node| node.protocol.counts().held_events as f64);
        sum.held_events = held.sum::<f64>() / n;
    }

    fn until_quiet(&mut self) {
        while let Some(Reverse(Entry { at, rank, event, .. })) = self.heap.pop() {
            self.now = at;
            self.happen(rank, event);
        }
    }

    fn happen(&mut self, rank: Rank, event: Event) {
        let node = &mut self.nodes[rank.index()];
        match event {
            Event::Wake => self.go_on(rank),
            Event::Message { from, ssn, piggyback } => {
                if let Some(piggyback) = piggyback {
                    node.protocol.on_piggyback(from, &piggyback);
                }
                node.protocol.on_arrival(from, ssn);
                *node.received.entry(from).or_default() += 1;
                node.come.entry(from).or_default().push_back(ssn);
                if node.waits_for == Some(from) {
                    node.waits_for = None;
                    self.go_on(rank);
                }
            }
            Event::Peer { from, payload } => node.protocol.on_frame(from, &payload),
            Event::Joined { from, said } => node.protocol.on_joined(from, &said),
            Event::ToLogger { conn, frame } => {
                if let Frame::Append { records, .. } = &frame {
                    let servers = self.nodes.len().div_ceil(self.model.per_server as usize);
                    let rate = self.model.logger_rate * servers as f64;
                    let work = (records.len() as f64 / rate * 1e9) as u64;
                    self.logger_busy = self.logger_busy.max(self.now) + work;
                    if !self.write_due {
                        self.write_due = true;
                        self.at(self.logger_busy, rank, Event::Write);
                    }
                }
                let answers = self.logger.frame(conn, frame);
                self.tell(answers);
            }
            Event::Write => {
                self.write_due = false;
                let mut answers = self.logger.write();
                answers.extend(self.logger.sync());
                self.tell(answers);
            }
            Event::FrameArrives { incarnation, frame } => {
                if incarnation == self.incarnations[rank.index()] {
                    self.frame_arrives(rank, frame);
                }
            }
            Event::ImageDue => node.protocol.on_image_due(IMAGE),
        }
        self.carry_out(rank);
        self.drain(rank);
        if !self.image_ready.is_empty() {
            self.look_at_wave(rank);
        }
        if self.recovering == Some(rank)
            && self.log_read
            && !self.nodes[rank.index()].protocol.gathering()
        {
            self.known_at = self.now;
            self.recovering = None;
        }
    }

    /// The program of a rank, up to where it must wait.
    fn go_on(&mut self, rank: Rank) {
        loop {
            let node = &mut self.nodes[rank.index()];
            let step = node.at / node.script.len();
            if step == self.model.steps as usize {
                if node.ended.is_none() {
                    node.ended = Some(self.now);
                    node.protocol.settle();
                    node.protocol.flush();
                }
                return;
            }
            match node.script[node.at % node.script.len()] {
                Op::Compute => {
                    node.at += 1;
                    let differs =
                        (u64::from(rank.0) * 0x9E37_79B9 + step as u64 * 0x85EB_CA6B) % 1000;
                    let time = self.model.compute_ns * (900 + differs / 5) / 1000;
                    return self.at(self.now + time, rank, Event::Wake);
                }
                Op::Send { to, bytes } => {
                    node.at += 1;
                    self.send(rank, to, bytes);
                }
                Op::Receive { from } => {
                    let Some(ssn) = node.come.entry(from).or_default().pop_front() else {
                        node.waits_for = Some(from);
                        node.protocol.flush();
                        return;
                    };
                    node.at += 1;
                    if node.protocol.hooks().all_matches {
                        node.protocol.on_match(0, from, ssn);
                        node.matches += 1;
                    }
                    self.carry_out(rank);
                }
            }
        }
    }

    fn send(&mut self, rank: Rank, to: Rank, bytes: u64) {
        if !self.nodes[rank.index()].sent.contains_key(&to) {
            self.join(rank, to);
        }
        let node = &mut self.nodes[rank.index()];
        let sent = node.sent.entry(to).or_default();
        *sent += 1;
        let ssn = Ssn(*sent);
        let mut after = EventNo(0);
        if node.protocol.hooks().sends
            && let SendVerdict::After(event) = node.protocol.on_send(to, ssn)
        {
            after = event;
        }
        if node.protocol.logs_payload(to) {
            self.sum.logged_per_step += bytes as f64;
        }
        node.leaving.push_back(Leaving { to, ssn, bytes, after, since: self.now });
        self.drain(rank);
    }

    /// Lets go what may go, in order.
    fn drain(&mut self, rank: Rank) {
        loop {
            let node = &mut self.nodes[rank.index()];
            let Some(first) = node.leaving.front() else { return };
            if first.after > node.protocol.stable() {
                node.protocol.flush();
                self.carry_out(rank);
                return;
            }
            let Some(Leaving { to, ssn, bytes, since, .. }) = node.leaving.pop_front() else {
                return;
            };
            let mut piggyback = None;
            if node.protocol.hooks().piggyback && node.protocol.has_piggyback(to) {
                let mut out = Vec::new();
                node.protocol.piggyback(to, &mut out);
                piggyback = (!out.is_empty()).then_some(out);
            }
            let extra = piggyback.as_ref().map_or(0, |p| (p.len() + Header::BYTES) as u64);
            self.messages += 1;
            self.sum.piggyback_bytes += extra as f64;
            self.sum.gate_us += (self.now - since) as f64;
            self.carry_out(rank);
            self.carry(rank, to, bytes + extra, Event::Message { from: rank, ssn, piggyback });
        }
    }

    fn join(&mut self, a: Rank, b: Rank) {
        for (me, peer) in [(a, b), (b, a)] {
            self.nodes[me.index()].sent.entry(peer).or_default();
            let mut said = Vec::new();
            self.nodes[me.index()].protocol.resume(peer, &mut said);
            if self.recovering.is_some() {
                self.sum.events_bytes += said.len() as f64;
                self.carry(me, peer, said.len() as u64, Event::Joined { from: me, said });
            } else {
                self.nodes[peer.index()].protocol.on_joined(me, &said);
            }
        }
    }

    // ---- commands and the logger ---------------------------------------------------------------

    fn carry_out(&mut self, rank: Rank) {
        while let Some(command) = self.nodes[rank.index()].protocol.next_command() {
            match command {
                Command::Log { first, clock, records } => {
                    self.sum.events_per_step += records.len() as f64;
                    self.ship(rank, Frame::Append { first, clock, records });
                }
                Command::Send { to, payload } | Command::SendFirst { to, payload } => {
                    if self.recovering.is_some() {
                        self.sum.events_bytes += payload.len() as f64;
                    }
                    self.carry(rank, to, payload.len() as u64, Event::Peer { from: rank, payload });
                }
                Command::Join { to } => self.join(rank, to),
                Command::Mark(marker) => {
                    let node = &self.nodes[rank.index()];
                    let cluster_peers: Vec<_> =
                        node.met().into_iter().filter(|&p| node.protocol.shares_waves(p)).collect();
                    for to in cluster_peers {
                        let count = self.nodes[rank.index()].sent[&to];
                        let payload =
                            ftmpi_protocols::protocol::Marker { count, ..marker }.encode().to_vec();
                        self.carry(
                            rank,
                            to,
                            payload.len() as u64,
                            Event::Peer { from: rank, payload },
                        );
                    }
                }
                Command::RollBack(why) | Command::GiveUp(why) => panic!("rank {rank}: {why}"),
                // Nothing is under way that these could be about, and nothing is cut.
                Command::Prune { .. }
                | Command::FreeHeld
                | Command::HoldSends
                | Command::HoldFrom(_)
                | Command::Release
                | Command::KeepSent
                | Command::ForgetSent => {}
            }
        }
    }

    fn ship(&mut self, rank: Rank, frame: Frame) {
        let bytes = match &frame {
            Frame::Append { records, .. } => 24 + 32 * records.len() as u64,
            _ => 24,
        };
        // The logger's link is wider than one rank's: only its rate of events counts.
        let at = self.now + self.model.latency_ns + self.wire(bytes);
        let stream = &mut self.streams[rank.index()].0;
        *stream = at.max(*stream);
        let (at, conn) = (*stream, self.conns[rank.index()]);
        self.at(at, rank, Event::ToLogger { conn, frame });
    }

    fn tell(&mut self, answers: Vec<Answer>) {
        for Answer { rank, incarnation, frame, .. } in answers {
            let Some(frame) = frame else { panic!("the logger closes rank {rank}'s connection") };
            let bytes = match &frame {
                Frame::Stable { clocks } => 8 + 12 * clocks.len() as u64,
                Frame::Events { records, .. } => 8 + 32 * records.len() as u64,
                _ => 24,
            };
            if matches!(frame, Frame::Stable { .. }) {
                self.sum.clocks_per_step += bytes as f64;
            }
            if self.recovering == Some(rank) {
                self.sum.events_bytes += bytes as f64;
            }
            let at = self.now + self.model.latency_ns + self.wire(bytes);
            let stream = &mut self.streams[rank.index()].1;
            *stream = at.max(*stream);
            let at = *stream;
            self.at(at, rank, Event::FrameArrives { incarnation, frame });
        }
    }

    fn frame_arrives(&mut self, rank: Rank, frame: Frame) {
        let protocol = &mut self.nodes[rank.index()].protocol;
        match frame {
            Frame::Ack { written, durable } => protocol.on_stable(written, durable),
            Frame::Stable { clocks } => protocol.on_stable_clocks(&clocks),
            Frame::Events { records, .. } => self.fetched.extend(records),
            Frame::End { .. } => {
                let records = std::mem::take(&mut self.fetched);
                protocol.on_restart(EventNo(0), records);
                self.log_read = true;
            }
            _ => panic!("the logger says {frame:?}"),
        }
    }

    // ---- a wave, and a death -------------------------------------------------------------------

    fn wave(&mut self) {
        let begin = self.now;
        // Only the first cluster, where there are several.
        let own = self.nodes[0].protocol.as_ref();
        let ranks = (0..self.nodes.len() as u32).map(Rank);
        let cluster_peers: Vec<_> = ranks.filter(|&r| r.0 == 0 || own.shares_waves(r)).collect();
        for (number, &rank) in cluster_peers.iter().enumerate() {
            self.image_ready.insert(rank, 0);
            let at = begin + self.model.latency_ns + number as u64 * self.model.frame_ns;
            self.at(at, rank, Event::ImageDue);
        }
        self.until_quiet();
        let last = self.image_ready.values().copied().max().unwrap_or(begin);
        assert!(self.image_ready.values().all(|&at| at > 0), "the wave ends");
        self.image_ready.clear();
        self.sum.wave_ms = (last - begin) as f64 / 1e6;
        for rank in cluster_peers {
            self.nodes[rank.index()].protocol.on_image_over(IMAGE);
            self.carry_out(rank);
        }
        self.until_quiet();
    }

    fn look_at_wave(&mut self, rank: Rank) {
        let Some(0) = self.image_ready.get(&rank) else { return };
        let node = &self.nodes[rank.index()];
        let cluster_peers = node.met().into_iter().filter(|&peer| node.protocol.shares_waves(peer));
        let mut peers =
            cluster_peers.map(|peer| (peer, node.received.get(&peer).copied().unwrap_or(0)));
        if node.protocol.image_ready(IMAGE, &mut peers) == Readiness::Now {
            self.image_ready.insert(rank, self.now);
        }
    }

    /// One rank dies after the last step; nothing of it has an image.
    fn lose(&mut self, rank: Rank) {
        let Some(variant) = self.variant else { return };
        let begin = self.now;
        self.sum.made = self.nodes[rank.index()].matches as f64;
        let incarnation = Incarnation(1);
        self.incarnations[rank.index()] = incarnation;
        for (peer, node) in self.nodes.iter_mut().enumerate() {
            if peer != rank.index() {
                node.protocol.on_parted(rank);
                node.protocol.on_peer_restart(rank, incarnation);
                // The way to the old incarnation is gone.
                node.sent.remove(&rank);
            }
        }
        let protocol = variant.bare(true, rank, &self.incarnations, &self.clusters);
        let hooks = protocol.hooks();
        self.nodes[rank.index()] = Node {
            ended: Some(begin),
            ..Node::new(rank, self.incarnations.len() as u32, protocol, self.model)
        };
        self.nodes[rank.index()].at = usize::MAX / 2;
        if !hooks.outcomes {
            return;
        }
        self.recovering = Some(rank);
        let incarnations = self.incarnations.clone();
        self.nodes[rank.index()].protocol.on_new_incarnation(EventNo(0), &incarnations);
        if hooks.logger {
            let (conn, answers) = self.logger.connect(rank, incarnation);
            self.conns[rank.index()] = conn;
            self.tell(answers);
            if hooks.piggyback {
                self.ship(rank, Frame::Watch);
            }
            self.ship(rank, Frame::Fetch { from: EventNo(1) });
        } else {
            self.nodes[rank.index()].protocol.on_restart(EventNo(0), Vec::new());
            self.log_read = true;
        }
        self.carry_out(rank);
        self.until_quiet();
        let protocol = &self.nodes[rank.index()].protocol;
        assert!(!protocol.gathering(), "a new incarnation learns what it is to repeat");
        self.sum.recovered = protocol.recorded() as f64;
        self.sum.events_ms = (self.known_at.max(begin) - begin) as f64 / 1e6;
    }
}
