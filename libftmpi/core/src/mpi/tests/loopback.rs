//! A world in memory: one thread and one engine per rank, channels between them.
//!
//! Only for tests of this crate: the core itself has neither threads nor channels.

use super::super::Mpi;
use crate::engine::{Engine, Frame, Landing, Link, Push, Sink};
use ftmpi_protocols::agreement::Agreements;
use ftmpi_protocols::none::None as NoProtocol;
use ftmpi_wire::group_news::{GroupNews, GroupRequest};
use ftmpi_wire::{Header, Incarnation, Rank, control::FromRank, event_log};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Payloads above this use the rendezvous.
const EAGER: usize = 1000;
/// A test that makes no progress for so long has failed.
const PATIENCE: Duration = Duration::from_secs(20);

enum Packet {
    Open(Rank),
    Frame(Rank, Header, Vec<u8>),
    News(GroupNews),
}

/// One rank's link.
pub struct Loopback {
    me: Rank,
    to: Vec<Sender<Packet>>,
    from: Receiver<Packet>,
    up: Vec<bool>,
    news: Vec<Rank>,
    began: Instant,
    idle_since: Option<Instant>,
    /// Every so often a frame does not fit.
    pushes: u32,
    /// What the launcher of a job that goes on without ranks keeps.
    agreements: Arc<Mutex<Agreements>>,
}

impl Loopback {
    /// This rank is dead: the others hear of it after all that it has sent.
    pub fn dies(&mut self) {
        self.tell_others(&GroupNews::Failed(self.me));
        let agreements = Arc::clone(&self.agreements);
        let mut agreements = agreements.lock().expect("no test panics with it");
        agreements.died(self.me);
        self.tell_outcomes(&mut agreements);
    }

    fn tell_others(&self, news: &GroupNews) {
        for (_, to) in self.to.iter().enumerate().filter(|(rank, _)| *rank != self.me.index()) {
            let _ = to.send(Packet::News(news.clone()));
        }
    }

    fn tell_outcomes(&self, agreements: &mut Agreements) {
        while let Some(outcome) = agreements.next_outcome() {
            for to in outcome.to {
                let _ = self.to[to.index()]
                    .send(Packet::News(GroupNews::Agreed(outcome.agreed.clone())));
            }
        }
    }
}

impl Link for Loopback {
    fn push(&mut self, to: Rank, frame: &mut Frame) -> Push {
        self.pushes += 1;
        if self.pushes.is_multiple_of(5) {
            return Push::Full;
        }
        let mut payload = vec![0; frame.header.len as usize];
        frame.payload.read(&mut payload);
        let packet = Packet::Frame(self.me, frame.header, payload);
        // A peer that is gone has finished, or failed and will say so itself.
        let _ = self.to[to.index()].send(packet);
        Push::Done
    }

    fn eager_limit(&self, _: Rank) -> usize {
        EAGER
    }

    fn open(&mut self, peer: Rank, _: Incarnation) {
        if !std::mem::replace(&mut self.up[peer.index()], true) {
            self.news.push(peer);
            self.to[peer.index()].send(Packet::Open(self.me)).ok();
        }
    }

    fn poll<S: Sink>(&mut self, sink: &mut S, _: Option<Rank>) -> bool {
        let mut came = false;
        for peer in std::mem::take(&mut self.news) {
            sink.channel_up(peer, Incarnation(0));
            came = true;
        }
        while let Ok(packet) = self.from.try_recv() {
            came = true;
            match packet {
                Packet::Open(peer) => {
                    if !std::mem::replace(&mut self.up[peer.index()], true) {
                        self.to[peer.index()].send(Packet::Open(self.me)).ok();
                        sink.channel_up(peer, Incarnation(0));
                    }
                }
                Packet::News(news) => sink.group_news(news),
                Packet::Frame(from, header, payload) => {
                    let landing: Landing = sink.arrive(from, &header);
                    let len = payload.len().min(landing.capacity);
                    landing.at.write(&payload[..len]);
                    sink.landed(from, &header, landing.token);
                }
            }
        }
        if came {
            self.idle_since = None;
        }
        came
    }

    fn log(&mut self, _: &event_log::Frame) -> bool {
        false
    }

    fn notify_agent(&mut self, message: FromRank) {
        match message {
            FromRank::Group(GroupRequest::Revoke(name)) => {
                self.tell_others(&GroupNews::Revoked(name));
            }
            FromRank::Group(GroupRequest::Contribute(part)) => {
                let agreements = Arc::clone(&self.agreements);
                let mut agreements = agreements.lock().expect("no test panics with it");
                agreements.contribute(self.me, part);
                self.tell_outcomes(&mut agreements);
            }
            _ => {}
        }
    }

    fn rest(&mut self) {
        let since = *self.idle_since.get_or_insert_with(Instant::now);
        assert!(since.elapsed() < PATIENCE, "rank {} waits for ever", self.me);
        std::thread::yield_now();
    }

    fn relax(&mut self) {
        std::thread::yield_now();
    }

    fn clock(&mut self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    fn abandon<S: Sink>(&mut self, _: &mut S) {}

    fn give_up(&mut self, why: String) -> ! {
        panic!("{why}")
    }

    fn roll_back(&mut self, why: String, _before: Option<ftmpi_wire::ImageNo>) -> ! {
        panic!("{why}")
    }
}

/// No rank ends before the messages of all ranks are out.
fn end_together(mpi: &mut Mpi<Loopback>, ended: &AtomicUsize, n: usize) {
    ended.fetch_add(1, Ordering::SeqCst);
    if !mpi.engine.goes_on() {
        let done = super::super::Collective::Barrier;
        mpi.collective(super::super::CommId::WORLD, done).expect("the last barrier");
    }
    while mpi.engine.goes_on() && ended.load(Ordering::SeqCst) < n {
        mpi.engine.block();
    }
    for _ in 0..100 {
        mpi.engine.progress();
    }
}

/// Runs `program` on `n` ranks.
pub fn run(n: usize, program: impl Fn(&mut Mpi<Loopback>) + Send + Sync + 'static) {
    let program = Arc::new(program);
    let (agreements, ended) =
        (Arc::new(Mutex::new(Agreements::new(n as u32))), Arc::new(AtomicUsize::new(0)));
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..n).map(|_| channel()).unzip();
    let threads: Vec<_> = receivers
        .into_iter()
        .enumerate()
        .map(|(me, from)| {
            let (program, to) = (Arc::clone(&program), senders.clone());
            let (agreements, ended) = (Arc::clone(&agreements), Arc::clone(&ended));
            std::thread::spawn(move || {
                let link = Loopback {
                    me: Rank(me as u32),
                    to,
                    from,
                    up: vec![false; n],
                    news: Vec::new(),
                    began: Instant::now(),
                    idle_since: None,
                    pushes: me as u32,
                    agreements,
                };
                let incarnations = vec![Incarnation(0); n];
                let engine =
                    Engine::new(link, Rank(me as u32), &incarnations, Box::new(NoProtocol));
                let mut mpi = Mpi::new(engine, vec![0; n], false);
                program(&mut mpi);
                assert_eq!(mpi.open_requests(), 0, "rank {me} leaves requests open");
                end_together(&mut mpi, &ended, n);
            })
        })
        .collect();
    for thread in threads {
        if let Err(panic) = thread.join() {
            std::panic::resume_unwind(panic);
        }
    }
}
