//! Channels between ranks. Each keeps its order, each has delays of its own, and each ends with the
//! incarnations at its ends.

use super::{Ends, Event, Item, News, World};
use crate::picture::{Mark, mark};
use ftmpi_wire::{Header, Incarnation, Rank, event_log};

impl World {
    /// A delay that keeps the order of a channel.
    pub(super) fn fifo(
        &mut self,
        key: (usize, Incarnation, usize, Incarnation),
        spread: u64,
    ) -> u64 {
        let slow = if self.below(20) == 0 { 20 } else { 1 };
        let at = self.now + 1 + self.below(spread * slow);
        let last = self.last_arrival.entry(key).or_insert(0);
        *last = at.max(*last);
        *last - self.now
    }

    pub(super) fn connect(&mut self, a: (usize, Incarnation), b: (usize, Incarnation)) {
        let key = (a.min(b), a.max(b));
        let over = |w: &Self, x: (usize, Incarnation)| w.processes[x.0].incarnation > x.1;
        if over(self, a) || over(self, b) || self.channels.contains_key(&key) {
            return;
        }
        if self.is_alive(a) && self.is_alive(b) {
            if self.broken.contains_key(&key) {
                // Not before both have heard of its end.
                return self.after(100, Event::Open { a, b });
            }
            self.order += 1;
            let way = self.order;
            self.channels.insert(key, way);
            for (x, y) in [(a, b), (b, a)] {
                let delay = 1 + self.below(50);
                let key = (y.0, y.1, x.0, x.1);
                let at = self.now + delay;
                self.last_arrival.insert(key, at + 1);
                self.after(delay, Event::News(x.0, x.1, News::Channel(Rank(y.0 as u32), y.1, way)));
            }
        } else {
            self.waiting.push((a, b));
        }
    }

    // What a rank's link asks for.

    /// Now and then a channel has no room, for a moment or for longer.
    pub fn refuses_push(&mut self, from: usize, to: usize) -> bool {
        if self.full.get(&(from, to)).is_some_and(|&until| self.now < until) {
            return true;
        }
        let full = self.below(12) == 0;
        if full && self.below(4) == 0 {
            let until = self.now + self.below(400);
            self.full.insert((from, to), until);
        }
        full
    }

    /// A first part of a frame leaves: what it brings along is what was true now.
    pub fn begins_to_leave(&mut self, from: usize, to: usize, header: &Header) {
        if let Some(&(_, way)) = self.processes[from].ways.get(&to) {
            let truth = self.truth_that_leaves(from, to, header.kind);
            self.half.insert((from, to), (way, truth));
            self.frame_begins(from, to, header);
        }
    }

    /// A frame leaves.
    pub fn send(&mut self, from: usize, to: usize, header: Header, payload: Vec<u8>) {
        if self.has_memories() {
            return self.send_to_memory(from, to, header, payload);
        }
        let a = (from, self.processes[from].incarnation);
        let Some(&(incarnation, way)) = self.processes[from].ways.get(&to) else { return };
        let b = (to, incarnation);
        self.note(|| {
            let Header { kind, context, tag, len, ssn, .. } = header;
            format!(
                "rank {from} sends rank {to} {kind:?} {ssn} context {context} tag {tag} len {len}"
            )
        });
        mark(self.now, || Mark::Sends(a, b, header.kind, header.ssn.0));
        self.seen_to_leave(from, to, &header, &payload);
        let key = (a.0, a.1, b.0, b.1);
        let truth = match self.half.remove(&(from, to)) {
            Some((of, truth)) if of == way => truth,
            _ => self.truth_that_leaves(from, to, header.kind),
        };
        let split = payload.len() > 16 && self.below(3) == 0;
        let at = self.fifo(key, 50);
        if split {
            let whole = payload.clone();
            let item = Item::First { header, payload, truth: truth.clone() };
            self.after(at, Event::Arrive { from: a, to: b, way, item });
            let at = self.fifo(key, 200);
            let item = Item::Rest { payload: whole, truth };
            self.after(at, Event::Arrive { from: a, to: b, way, item });
        } else {
            let item = Item::Frame { header, payload, truth };
            self.after(at, Event::Arrive { from: a, to: b, way, item });
        }
    }

    /// A channel is wanted.
    pub fn open(&mut self, from: usize, to: usize, incarnation: Incarnation) {
        let a = (from, self.processes[from].incarnation);
        let delay = 1 + self.below(100);
        self.after(delay, Event::Open { a, b: (to, incarnation) });
    }

    /// What comes next.
    #[must_use]
    pub fn first_news(&self, rank: usize) -> Option<&News> {
        self.processes[rank].news.front()
    }

    /// What has come.
    pub fn next_news(&mut self, rank: usize) -> Option<News> {
        let mut news = self.processes[rank].news.pop_front();
        while let Some(News::Log(conn, _)) = &news
            && self.processes[rank].logger != Some(*conn)
        {
            // Of a connection that was lost meanwhile.
            news = self.processes[rank].news.pop_front();
        }
        if let Some(News::Log(_, event_log::Frame::Ack { written, .. })) = &news {
            self.acknowledged(rank, *written);
        }
        match &news {
            Some(News::Item(
                from,
                incarnation,
                Item::Frame { header, truth, .. } | Item::First { header, truth, .. },
            )) => {
                self.takes(rank, truth);
                let ends = ((from.index(), *incarnation), (rank, self.processes[rank].incarnation));
                mark(self.now, || Mark::Gets(ends.0, ends.1, header.kind, header.ssn.0));
                self.note(|| {
                    format!("rank {rank} gets {:?} {} of {from}", header.kind, header.ssn)
                });
            }
            Some(other) => {
                if let News::Item(_, _, Item::Rest { truth, .. }) = other {
                    self.takes(rank, truth);
                }
                self.note(|| format!("rank {rank} hears {}", name_of(other)));
            }
            None => {}
        }
        if let Some(News::LoggerUp(conn)) = &news {
            self.logger_is_up(rank, *conn);
        }
        if let Some(News::Channel(peer, incarnation, _) | News::Restarted(peer, incarnation)) =
            &news
        {
            self.seen.old_incarnations.hears(rank, *peer, *incarnation);
        }
        if let Some(News::Channel(peer, incarnation, number)) = &news {
            // Old news may come after new ones.
            let way =
                self.processes[rank].ways.entry(peer.index()).or_insert((*incarnation, *number));
            *way = (*incarnation, *number).max(*way);
        }
        if let Some(News::Lost(peer, incarnation)) = &news {
            let (a, b) = ((rank, self.processes[rank].incarnation), (peer.index(), *incarnation));
            if let Some(left) = self.broken.get_mut(&(a.min(b), a.max(b))) {
                *left -= 1;
                if *left == 0 {
                    self.broken.remove(&(a.min(b), a.max(b)));
                }
            }
        }
        news
    }

    /// A channel breaks between two that live on: what is under way is lost.
    pub(super) fn channel_breaks(&mut self) {
        let alive: Vec<_> = self
            .channels
            .keys()
            .filter(|(a, b)| self.is_alive(*a) && self.is_alive(*b))
            .copied()
            .collect();
        if alive.is_empty() {
            return;
        }
        let ends = alive[self.below(alive.len() as u64) as usize];
        self.break_channel(ends);
    }

    /// Breaks a channel that both ends know of.
    pub(super) fn break_channel(&mut self, ends: Ends) {
        let (a, b) = ends;
        // A rank that has not heard of the incarnation's begin yet hears of that first.
        let known = |w: &Self, x: (usize, Incarnation), y: (usize, Incarnation)| {
            w.processes[x.0].ways.get(&y.0) == w.channels.get(&ends).map(|&way| (y.1, way)).as_ref()
        };
        if !known(self, a, b) || !known(self, b, a) {
            return;
        }
        self.note(|| format!("the channel of ranks {} and {} breaks", a.0, b.0));
        self.channels.remove(&ends);
        self.broken.insert(ends, 2);
        for (x, y) in [(a, b), (b, a)] {
            let delay = 1 + self.below(200);
            self.after(delay, Event::News(x.0, x.1, News::Lost(Rank(y.0 as u32), y.1)));
        }
    }
}

fn name_of(news: &News) -> String {
    match news {
        News::Item(from, ..) => format!("the rest of a frame of {from}"),
        News::Log(..) | News::Clocks(_) => "the logger".to_owned(),
        other => format!("{other:?}"),
    }
}
