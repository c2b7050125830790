//! Two ranks whose sockets break again and again, at any moment, while no rank dies. Every message
//! arrives once and in order, and nothing waits for ever.
//!
//! The test plays the agent: it makes the sockets that were requested and hands each side its end
//! some time later, or in another order.

use super::channels::Channel;
use super::*;
use ftmpi_core::engine::{Engine, RecvData, ReqId, SendData, SendMode, Source, Tag};
use ftmpi_core::usermem::UserPtr;
use ftmpi_protocols::pessimistic::Pessimistic;
use ftmpi_wire::ProtocolTraits;
use ftmpi_wire::control::ChannelKind;
use ftmpi_wire::control::{Events, ProtocolConfig};
use std::collections::BTreeSet;
use std::net::{TcpListener, TcpStream};
use std::os::fd::IntoRawFd;

const MESSAGES: usize = 30;
const BREAKS: usize = 8;

/// A small generator (splitmix64): the same numbers everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

fn job(size: u32) -> Box<JobView> {
    Box::new(JobView {
        size,
        worlds: vec![ftmpi_wire::new_processes::World::first(size)],
        gone: Vec::new(),
        past: ftmpi_wire::ImageNo(0),
        universe: size,
        job: 1,
        host_of: (0..size).collect(),
        node_of: (0..size).collect(),
        hosts: (0..size).map(|host| format!("host-{host}")).collect(),
        incarnations: vec![Incarnation(0); size as usize],
        app_number: 0,
        goes_on: false,
        news: Vec::new(),
        protocol: ProtocolConfig {
            name: "pessimistic".into(),
            events: Events::Nondeterministic,
            log_wtime: true,
            settings: Vec::new(),
        },
        traits: ProtocolTraits::NONE,
        processors: 2,
        local_ranks: 1,
        oversubscribed: false,
        retained: Vec::new(),
        inject: Vec::new(),
        force_tcp: true,
        images: false,
        epoch: 0,
        log_limit: 0,
        log_reserve: 0,
        lean_images: false,
        files: 0,
    })
}

fn world_of(me: Rank, size: u32) -> World {
    let mut world = World::alone();
    world.me = me;
    world.job = Some(job(size));
    world.peers = Peers::new(vec![Incarnation(0); size as usize], false);
    world
}

/// One side: its engine, what it sends and what it is to receive.
struct Side {
    engine: Engine<World>,
    out: Vec<Vec<u8>>,
    sent: usize,
    into: Vec<Vec<u8>>,
    receives: Vec<ReqId>,
}

impl Side {
    fn new(me: Rank, sizes: &[usize], random: &mut Random) -> Self {
        let world = world_of(me, 2);
        let protocol = Box::new(Pessimistic::new(false, true));
        let mut engine = Engine::new(world, me, &[Incarnation(0); 2], protocol);
        let out = (0..MESSAGES)
            .map(|_| {
                let size = sizes[random.below(sizes.len())];
                (0..size).map(|_| random.below(256) as u8).collect()
            })
            .collect();
        let mut into = vec![vec![0; 300_000]; MESSAGES];
        let receives = into
            .iter_mut()
            .map(|buffer| {
                let data = RecvData::Bytes { ptr: UserPtr::own_mut(buffer), len: buffer.len() };
                engine.irecv(data, Source::Rank(Rank(1 - me.0)), 0, Tag::Any)
            })
            .collect();
        Self { engine, out, sent: 0, into, receives }
    }

    fn send_next(&mut self) {
        let payload = &self.out[self.sent];
        let data = SendData::Bytes { ptr: UserPtr::own(payload), len: payload.len() };
        let peer = Rank(1 - self.engine.me().0);
        if let Some(request) = self.engine.isend(data, peer, 0, 7, SendMode::Standard) {
            self.engine.free_when_done(request);
        }
        self.sent += 1;
    }

    fn is_done(&self) -> bool {
        self.sent == MESSAGES && self.receives.iter().all(|&r| self.engine.is_done(r))
    }
}

fn socket_pair(listener: &TcpListener) -> [i32; 2] {
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (far, _) = listener.accept().unwrap();
    [near.into_raw_fd(), far.into_raw_fd()]
}

fn run(seed: u64, listener: &TcpListener) {
    let mut random = Random(seed);
    let sizes = [0, 8, 500, 40_000, 70_000, 250_000];
    let mut sides =
        [Rank(0), Rank(1)].map(|rank| Side::new(rank, &sizes[..3 + random.below(4)], &mut random));
    let mut asked = BTreeSet::new();
    // Ends of sockets on their way to a side.
    let mut under_way: Vec<(usize, u32, i32)> = Vec::new();
    let (mut breaks, mut steps) = (0, 0);
    while !sides.iter().all(Side::is_done) {
        steps += 1;
        assert!(steps < 200_000, "seed {seed}: no progress after {breaks} breaks");
        let at = random.below(2);
        match random.below(20) {
            0..=3 if sides[at].sent < MESSAGES => sides[at].send_next(),
            4..=6 if !under_way.is_empty() => {
                let (to, round, fd) = under_way.swap_remove(random.below(under_way.len()));
                let peer = Rank(1 - to as u32);
                let kind = ChannelKind::Tcp { round };
                let channel = ToRank::Channel { peer, incarnation: Incarnation(0), kind };
                sides[to].engine.link.agent.hand_over((channel, vec![fd]));
            }
            7 if breaks < BREAKS && random.below(8) == 0 => {
                let channels = &sides[at].engine.link.peers.channels;
                if !channels.is_empty()
                    && let Channel::Tcp(channel) = &channels[random.below(channels.len())].channel
                {
                    breaks += 1;
                    // SAFETY: a plain system call on an open socket.
                    unsafe { libc::shutdown(channel.fd(), libc::SHUT_RDWR) };
                }
            }
            _ => {
                sides[at].engine.progress();
            }
        }
        for (from, side) in sides.iter().enumerate() {
            let world = &side.engine.link;
            let peer = Rank(1 - from as u32);
            let round = world.peers.round_of(peer, Incarnation(0));
            if world.peers.has_asked(peer) && asked.insert((from, round)) {
                let [near, far] = socket_pair(listener);
                under_way.extend([(from, round, near), (1 - from, round, far)]);
            }
        }
    }
    for at in 0..2 {
        for i in 0..MESSAGES {
            let request = sides[at].receives[i];
            let bytes = sides[at].engine.finish(request).bytes as usize;
            let expected = &sides[1 - at].out[i];
            assert!(
                sides[at].into[i][..bytes] == expected[..],
                "seed {seed}: message {i} to rank {at} is not what was sent"
            );
        }
        while let Some(way) = sides[at].engine.link.peers.channels.pop() {
            if let Channel::Tcp(channel) = way.channel {
                close(channel.fd());
            }
        }
    }
    under_way.into_iter().for_each(|(_, _, fd)| close(fd));
}

#[test]
fn sockets_that_break_lose_nothing_and_hold_up_nobody() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    for seed in 0..60 {
        run(seed, &listener);
    }
}

#[test]
fn one_rank_that_sends_and_sends_does_not_hide_the_others() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut engines = [0, 1, 2].map(|me| {
        let protocol = Box::new(ftmpi_protocols::none::None);
        Engine::new(world_of(Rank(me), 3), Rank(me), &[Incarnation(0); 3], protocol)
    });
    let mut far = [0; 3];
    for (peer, far) in far.iter_mut().enumerate().skip(1) {
        let [near, other] = socket_pair(&listener);
        for (me, to, fd) in [(0, peer, near), (peer, 0, other)] {
            let kind = ChannelKind::Tcp { round: 0 };
            let channel =
                ToRank::Channel { peer: Rank(to as u32), incarnation: Incarnation(0), kind };
            engines[me].link.agent.hand_over((channel, vec![fd]));
            engines[me].progress();
        }
        *far = near;
    }
    let mut into = [0; 8];
    for peer in [1, 2] {
        // A first message, to be sure that both sides are past their greetings.
        let data = SendData::Bytes { ptr: UserPtr::own(&[0; 8]), len: 8 };
        let request = engines[peer].isend(data, Rank(0), 0, 9, SendMode::Standard);
        while request.is_some_and(|request| !engines[peer].is_done(request)) {
            engines.iter_mut().for_each(|engine| {
                engine.progress();
            });
        }
        request.into_iter().for_each(|request| engines[peer].free_when_done(request));
        let data = RecvData::Bytes { ptr: UserPtr::own_mut(&mut into), len: into.len() };
        engines[0].recv(data, Source::Rank(Rank(peer as u32)), 0, Tag::Is(9));
    }
    let send = |engine: &mut Engine<World>, payload: &[u8]| {
        let data = SendData::Bytes { ptr: UserPtr::own(payload), len: payload.len() };
        let request = engine.isend(data, Rank(0), 0, 7, SendMode::Standard);
        assert!(request.is_none(), "its socket has room");
    };
    let waits_in = |fd: i32| {
        let mut bytes = 0;
        // SAFETY: asks an open socket for a number, which lives over the call.
        assert_eq!(unsafe { libc::ioctl(fd, libc::FIONREAD, &raw mut bytes) }, 0);
        bytes
    };
    send(&mut engines[2], b"from two");
    while waits_in(far[2]) == 0 {
        std::thread::yield_now();
    }
    for round in 0..100_u64 {
        send(&mut engines[1], &round.to_le_bytes());
        while waits_in(far[1]) == 0 {
            std::thread::yield_now();
        }
        let data = RecvData::Bytes { ptr: UserPtr::own_mut(&mut into), len: into.len() };
        engines[0].recv(data, Source::Rank(Rank(1)), 0, Tag::Is(7));
        assert_eq!(into, round.to_le_bytes());
    }
    assert_eq!(waits_in(far[2]), 0, "nobody looked at rank 2");
}
