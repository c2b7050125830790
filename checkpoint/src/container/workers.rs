//! Threads that make chunks while their reader reads the next ones.
//!
//! Guarantees: what is given comes back, in the order in which it was given; at most two batches are on
//! their way; no thread is left when they are dropped.

use super::compression::{Made, Packer, Recipe};
use super::{Known, Sums};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::JoinHandle;

/// Some chunks that one thread makes, and what came of them.
#[derive(Debug, Default)]
pub(super) struct Share {
    /// Numbers and raw bytes.
    pub chunks: Vec<(u64, Vec<u8>)>,
    /// For each of them.
    pub made: Vec<Made>,
    /// Their bytes, where they are not the raw ones.
    pub packed: Vec<u8>,
}

/// What all chunks of a container are made with.
#[derive(Debug, Clone)]
pub(super) struct Task {
    pub recipe: Recipe,
    pub before: Option<Arc<Known>>,
    pub sums: Sums,
}

/// See the module's description.
#[derive(Debug)]
pub(super) struct Workers {
    threads: Vec<Worker>,
    /// So many of them, from the first on, have a share.
    busy: usize,
    /// Shares to be used again.
    idle: Vec<Share>,
}

#[derive(Debug)]
struct Worker {
    give: Option<SyncSender<Share>>,
    take: Receiver<Share>,
    thread: Option<JoinHandle<()>>,
}

impl Workers {
    /// So many threads, at least one.
    pub fn new(count: usize, task: &Task) -> Self {
        let threads = (0..count.max(1)).map(|_| Worker::new(task.clone())).collect();
        Self { threads, busy: 0, idle: Vec::new() }
    }

    pub fn count(&self) -> usize {
        self.threads.len()
    }

    /// Divides chunks among the threads, which are idle.
    pub fn give(&mut self, chunks: &mut Vec<(u64, Vec<u8>)>) {
        let each = chunks.len().div_ceil(self.count()).max(1);
        while !chunks.is_empty() {
            let mut share = self.idle.pop().unwrap_or_default();
            share.chunks.extend(chunks.drain(..each.min(chunks.len())));
            self.threads[self.busy].give(share);
            self.busy += 1;
        }
    }

    /// What became of the chunks that were given last, in their order.
    pub fn take(&mut self) -> Vec<Share> {
        let busy = std::mem::take(&mut self.busy);
        self.threads[..busy].iter_mut().map(Worker::take).collect()
    }

    /// A share whose chunks are not needed any more.
    pub fn give_back(&mut self, share: Share) {
        self.idle.push(share);
    }
}

impl Worker {
    fn new(task: Task) -> Self {
        let (give, todo) = mpsc::sync_channel::<Share>(1);
        let (tell, take) = mpsc::sync_channel(1);
        let work = move || {
            let mut packer = Packer::default();
            let Task { recipe, before, sums } = task;
            for mut share in todo {
                let Share { chunks, made, packed } = &mut share;
                packed.clear();
                made.clear();
                made.extend(chunks.iter().map(|(number, raw)| {
                    packer.make(&recipe, before.as_deref(), sums, *number, raw, packed)
                }));
                if tell.send(share).is_err() {
                    return;
                }
            }
        };
        Self { give: Some(give), take, thread: Some(std::thread::spawn(work)) }
    }

    fn give(&mut self, share: Share) {
        if self.give.as_ref().is_none_or(|give| give.send(share).is_err()) {
            self.fail();
        }
    }

    fn take(&mut self) -> Share {
        self.take.recv().unwrap_or_else(|_| self.fail())
    }

    /// It ends before it is told only by a panic, which goes on here.
    fn fail(&mut self) -> ! {
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
            std::panic::resume_unwind(panic);
        }
        panic!("a thread that makes chunks has ended");
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.give = None;
        if let Some(thread) = self.thread.take() {
            // (A panic of it was told where its share was missing.)
            let _ = thread.join();
        }
    }
}
