//! The link of a rank in [this world](super).

use super::{Item, News, Shared};
use corosensei::Yielder;
use ftmpi_core::engine::{Frame, Link, Push, Sink, Token};
use ftmpi_core::usermem::UserPtr;
use ftmpi_wire::control::FromRank;
use ftmpi_wire::group_news::GroupNews;
use ftmpi_wire::{Header, Incarnation, Rank, event_log};
use std::collections::VecDeque;

/// Payloads above this are announced first.
const EAGER: usize = 48;

/// Why a rank stopped running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Others are to go on.
    Rests,
    /// It dies here.
    Dies,
}

/// Where a rank stops.
#[derive(Clone, Copy)]
pub struct Stop(*const Yielder<(), Why>);

impl Stop {
    pub(super) fn new(yielder: &Yielder<(), Why>) -> Self {
        Self(yielder)
    }

    pub(super) fn pause(self, why: Why) {
        // SAFETY: the yielder lives as long as the coroutine that this is called in.
        unsafe { (*self.0).suspend(why) }
    }
}

pub struct GoLink {
    pub(super) me: usize,
    pub(super) world: Shared,
    stop: Stop,
    up: Vec<bool>,
    dead: Vec<bool>,
    /// A frame of a dead rank that came in part.
    landing: Option<(usize, Header, Token)>,
}

impl GoLink {
    pub(super) fn new(me: usize, world: &Shared, stop: Stop) -> Self {
        let size = world.borrow().size;
        let world = std::rc::Rc::clone(world);
        Self { me, world, stop, up: vec![false; size], dead: vec![false; size], landing: None }
    }

    /// A moment at which the rank may die.
    fn moment(&self) {
        let dies = {
            let mut world = self.world.borrow_mut();
            let life = &mut world.lives[self.me];
            life.as_mut().is_some_and(|left| {
                *left = left.saturating_sub(1);
                *left == 0
            })
        };
        if dies {
            self.stop.pause(Why::Dies);
        }
    }

    fn next_news(&self) -> Option<News> {
        let mut world = self.world.borrow_mut();
        let now = world.now;
        let queue = &mut world.news[self.me];
        if queue.front().is_some_and(|(at, _)| *at <= now) {
            queue.pop_front().map(|(_, news)| news)
        } else {
            None
        }
    }

    fn next_item(&self, from: usize, now: u64) -> Option<Item> {
        let mut world = self.world.borrow_mut();
        let queue: &mut VecDeque<Item> = world.channels.get_mut(&(from, self.me))?;
        if queue.front().is_some_and(|item| item.at <= now) { queue.pop_front() } else { None }
    }

    fn land<S: Sink>(&mut self, sink: &mut S, from: usize, item: &Item) {
        let rank = Rank(from as u32);
        let landing = sink.arrive(rank, &item.header);
        let len = item.payload.len().min(landing.capacity);
        if item.broken {
            landing.at.write(&item.payload[..len / 2]);
            self.landing = Some((from, item.header, landing.token));
        } else {
            landing.at.write(&item.payload[..len]);
            sink.landed(rank, &item.header, landing.token);
        }
    }

    fn ends<S: Sink>(&mut self, sink: &mut S, from: usize) {
        self.up[from] = false;
        if let Some((_, header, token)) = self.landing.take_if(|(of, ..)| *of == from) {
            sink.aborted(Rank(from as u32), &header, token);
        }
    }

    fn take<S: Sink>(&mut self, sink: &mut S, news: News) {
        match news {
            News::Channel(peer) if !self.dead[peer] && !self.up[peer] => {
                self.up[peer] = true;
                sink.channel_up(Rank(peer as u32), Incarnation(0));
            }
            News::Lost(peer) if self.up[peer] => {
                self.ends(sink, peer);
                sink.channel_lost(Rank(peer as u32));
            }
            News::Channel(_) | News::Lost(_) => {}
            News::Group(news) => {
                if let GroupNews::Failed(rank) = news {
                    let peer = rank.index();
                    while self.up[peer] && self.landing.is_none() {
                        let Some(item) = self.next_item(peer, u64::MAX) else { break };
                        self.land(sink, peer, &item);
                    }
                    self.ends(sink, peer);
                    self.dead[peer] = true;
                }
                sink.group_news(news);
            }
        }
    }
}

impl Link for GoLink {
    fn push(&mut self, to: Rank, frame: &mut Frame) -> Push {
        self.moment();
        let mut payload = vec![0; frame.header.len as usize];
        let at: UserPtr = frame.payload;
        at.read(&mut payload);
        let mut world = self.world.borrow_mut();
        match world.below(8) {
            0 => return Push::Full,
            1 => {
                frame.begun = true;
                return Push::Full;
            }
            _ => {}
        }
        world.send(self.me, to.index(), frame.header, payload);
        Push::Done
    }

    fn eager_limit(&self, _: Rank) -> usize {
        EAGER
    }

    fn open(&mut self, peer: Rank, _: Incarnation) {
        self.world.borrow_mut().joins(self.me, peer.index());
    }

    fn poll<S: Sink>(&mut self, sink: &mut S, _: Option<Rank>) -> bool {
        self.moment();
        let mut came = false;
        while let Some(news) = self.next_news() {
            self.take(sink, news);
            came = true;
        }
        let (now, size, first) = {
            let mut world = self.world.borrow_mut();
            let size = world.size;
            (world.now, size, world.below(size as u64) as usize)
        };
        for from in (0..size).map(|i| (first + i) % size) {
            while self.up[from]
                && self.landing.is_none_or(|(of, ..)| of != from)
                && let Some(item) = self.next_item(from, now)
            {
                self.land(sink, from, &item);
                came = true;
            }
        }
        came
    }

    fn log(&mut self, _: &event_log::Frame) -> bool {
        false
    }

    fn notify_agent(&mut self, message: FromRank) {
        self.moment();
        if let FromRank::Group(request) = message {
            self.world.borrow_mut().asks(self.me, request);
        }
        self.moment();
    }

    fn rest(&mut self) {
        self.stop.pause(Why::Rests);
    }

    fn relax(&mut self) {
        self.stop.pause(Why::Rests);
    }

    fn clock(&mut self) -> f64 {
        self.world.borrow().now as f64
    }

    fn abandon<S: Sink>(&mut self, _: &mut S) {}

    fn give_up(&mut self, why: String) -> ! {
        panic!("rank {} gives up: {why}", self.me)
    }

    fn roll_back(&mut self, why: String, _: Option<ftmpi_wire::ImageNo>) -> ! {
        panic!("rank {} rolls back: {why}", self.me)
    }
}
