//! Channel memories in the world. Every channel goes from a rank to a memory. Memories die and come
//! back with their files, and connections break.

use super::{Event, Item, News, World};
use crate::picture::{Mark, mark};
use ftmpi_protocols::event_log::ConnId;
use ftmpi_wire::{Header, Incarnation, Rank};
use std::rc::Rc;

/// The memories among the ends of channels, apart from ranks and the logger.
const MEMORIES: usize = 1 << 20;

impl World {
    /// Do messages go through memories?
    pub(super) fn has_memories(&self) -> bool {
        self.setup.variant.has_memories()
    }

    /// A rank wants to reach the memory of a rank.
    pub(super) fn memory_opens(&mut self, from: (usize, Incarnation), to: usize) {
        if !self.is_alive(from) {
            return;
        }
        let (conn, ended) = self.memories.connect((from.0, from.1, to));
        for old in ended {
            self.note(|| format!("a memory gives up connection {}", old.0));
        }
        let Some(conn) = conn else { return };
        let incarnation = if to == from.0 { from.1 } else { Incarnation(0) };
        let delay = 1 + self.below(50);
        let news = News::Channel(Rank(to as u32), incarnation, conn.0);
        self.last_arrival.insert(way_in(to, from), self.now + delay + 1);
        self.after(delay, Event::News(from.0, from.1, news));
        self.memories_send();
    }

    /// A frame leaves for a memory.
    pub(super) fn send_to_memory(
        &mut self,
        from: usize,
        to: usize,
        header: Header,
        payload: Vec<u8>,
    ) {
        let incarnation = self.processes[from].incarnation;
        let Some(&(_, number)) = self.processes[from].ways.get(&to) else { return };
        let at = self.fifo((from, incarnation, MEMORIES + to, Incarnation(0)), 50);
        self.after(at, Event::AtMemory(ConnId(number), header, payload));
    }

    /// It comes.
    pub(super) fn at_memory(&mut self, conn: ConnId, header: Header, payload: Vec<u8>) {
        let Some((rank, incarnation, to)) = self.memories.caller(conn) else { return };
        self.note(|| {
            let (kind, ssn) = (header.kind, header.ssn);
            format!(
                "memory of rank {to} gets {kind:?} {ssn} of rank {rank}, incarnation {incarnation}"
            )
        });
        self.memories.frame(conn, &header, payload);
        let spread = if self.setup.slow_logger { 5000 } else { 30 };
        let write = self.below(spread);
        self.after(write, Event::MemoriesWrite);
        self.memories_send();
    }

    /// What memories have to say goes on its way.
    pub(super) fn memories_send(&mut self) {
        for (conn, header, payload) in self.memories.caller_frames() {
            let Some((rank, incarnation, to)) = self.memories.caller(conn) else { continue };
            let split = payload.len() > 16 && self.below(3) == 0;
            let items = if split {
                let rest = Item::Rest { payload: payload.clone(), truth: Rc::default() };
                vec![Item::First { header, payload, truth: Rc::default() }, rest]
            } else {
                vec![Item::Frame { header, payload, truth: Rc::default() }]
            };
            for item in items {
                let at = self.fifo(way_in(to, (rank, incarnation)), 50);
                self.after(at, Event::FromMemory(conn, item));
            }
        }
    }

    /// Something reaches a rank; which one, if it takes it.
    pub(super) fn receive_from_memory(&mut self, conn: ConnId, item: Item) -> Option<usize> {
        let (rank, incarnation, to) = self.memories.caller(conn)?;
        if !self.is_alive((rank, incarnation)) {
            return None;
        }
        let end = if to == rank { incarnation } else { Incarnation(0) };
        self.processes[rank].news.push_back(News::Item(Rank(to as u32), end, item));
        Some(rank)
    }

    /// A connection ends; the rank, if it is alive, hears of it.
    fn memory_parts(&mut self, caller: (usize, Incarnation, usize)) {
        let (rank, incarnation, to) = caller;
        let end = if to == rank { incarnation } else { Incarnation(0) };
        // Not before its begin.
        let at = self.fifo(way_in(to, (rank, incarnation)), 200);
        self.after(at, Event::News(rank, incarnation, News::Lost(Rank(to as u32), end)));
    }

    /// A memory dies and starts again from its files.
    pub(super) fn memory_dies(&mut self) {
        let number = self.below(self.memories.count() as u64) as usize;
        self.note(|| format!("memory {number} dies"));
        mark(self.now, || Mark::LoggerDies);
        let before: Vec<_> = self.memory_callers();
        for conn in self.memories.restart(number) {
            if let Some((_, caller)) = before.iter().find(|(id, _)| *id == conn) {
                self.memory_parts(*caller);
            }
        }
    }

    fn memory_callers(&self) -> Vec<(ConnId, (usize, Incarnation, usize))> {
        let processes = self.processes.iter().enumerate();
        processes
            .flat_map(|(rank, process)| self.memories.of_incarnation(rank, process.incarnation))
            .filter_map(|conn| Some((conn, self.memories.caller(conn)?)))
            .collect()
    }

    /// A connection breaks between two that live on.
    pub(super) fn memory_connection_breaks(&mut self) {
        let open = self.memory_callers();
        if open.is_empty() {
            return;
        }
        let (conn, caller) = open[self.below(open.len() as u64) as usize];
        self.note(|| format!("the connection of rank {} to memory {} breaks", caller.0, caller.2));
        self.memories.lost(conn);
        self.memory_parts(caller);
    }

    /// What a dead incarnation had sent may still come for a while.
    pub(super) fn process_leaves_memories(&mut self, rank: usize, incarnation: Incarnation) {
        for conn in self.memories.of_incarnation(rank, incarnation) {
            let delay = self.below(300);
            self.after(delay, Event::MemoryHearsEnd(conn));
        }
    }
}

/// The way from a memory to an incarnation of a rank.
fn way_in(to: usize, from: (usize, Incarnation)) -> (usize, Incarnation, usize, Incarnation) {
    (MEMORIES + to, Incarnation(0), from.0, from.1)
}
