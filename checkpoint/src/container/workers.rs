//! Threads that make chunks while their reader reads the next ones.
//!
//! Guarantees: what is given comes back, in the order in which it was given; at most two batches are on
//! their way; no thread is left when they are dropped.

use super::compression::{ChunkEncoder, ChunkOptions, EncodedChunk};
use super::{Checksums, ChunkIndex};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::JoinHandle;

/// Some chunks that one thread makes, and what came of them.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Numbers and raw bytes.
    pub chunks: Vec<(u64, Vec<u8>)>,
    /// For each of them.
    pub made: Vec<EncodedChunk>,
    /// Their bytes, where they are not the raw ones.
    pub encoded: Vec<u8>,
}

/// What all chunks of a container are made with.
#[derive(Debug, Clone)]
pub(super) struct WorkerTask {
    pub options: ChunkOptions,
    pub before: Option<Arc<ChunkIndex>>,
    pub checksums: Checksums,
}

/// See the module's description.
#[derive(Debug)]
pub(super) struct Workers {
    threads: Vec<Worker>,
    /// So many of them, from the first on, have a share.
    busy: usize,
    /// Shares to be used again.
    idle: Vec<Batch>,
}

#[derive(Debug)]
struct Worker {
    submit: Option<SyncSender<Batch>>,
    take: Receiver<Batch>,
    thread: Option<JoinHandle<()>>,
}

impl Workers {
    /// So many threads, at least one.
    pub fn new(count: usize, task: &WorkerTask) -> Self {
        let threads = (0..count.max(1)).map(|_| Worker::new(task.clone())).collect();
        Self { threads, busy: 0, idle: Vec::new() }
    }

    pub fn count(&self) -> usize {
        self.threads.len()
    }

    /// Divides chunks among the threads, which are idle.
    pub fn submit(&mut self, chunks: &mut Vec<(u64, Vec<u8>)>) {
        let each = chunks.len().div_ceil(self.count()).max(1);
        while !chunks.is_empty() {
            let mut batch = self.idle.pop().unwrap_or_default();
            batch.chunks.extend(chunks.drain(..each.min(chunks.len())));
            self.threads[self.busy].submit(batch);
            self.busy += 1;
        }
    }

    /// What became of the chunks that were given last, in their order.
    pub fn collect(&mut self) -> Vec<Batch> {
        let busy = std::mem::take(&mut self.busy);
        self.threads[..busy].iter_mut().map(Worker::collect).collect()
    }

    /// A share whose chunks are not needed any more.
    pub fn recycle(&mut self, batch: Batch) {
        self.idle.push(batch);
    }
}

impl Worker {
    fn new(task: WorkerTask) -> Self {
        let (submit, todo) = mpsc::sync_channel::<Batch>(1);
        let (tell, take) = mpsc::sync_channel(1);
        let work = move || {
            let mut chunk_encoder = ChunkEncoder::default();
            let WorkerTask { options, before, checksums } = task;
            for mut batch in todo {
                let Batch { chunks, made, encoded } = &mut batch;
                encoded.clear();
                made.clear();
                made.extend(chunks.iter().map(|(number, raw)| {
                    chunk_encoder.encode(
                        &options,
                        before.as_deref(),
                        checksums,
                        *number,
                        raw,
                        encoded,
                    )
                }));
                if tell.send(batch).is_err() {
                    return;
                }
            }
        };
        Self { submit: Some(submit), take, thread: Some(std::thread::spawn(work)) }
    }

    fn submit(&mut self, batch: Batch) {
        if self.submit.as_ref().is_none_or(|submit| submit.send(batch).is_err()) {
            self.fail();
        }
    }

    fn collect(&mut self) -> Batch {
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
        self.submit = None;
        if let Some(thread) = self.thread.take() {
            // (A panic of it was told where its share was missing.)
            let _ = thread.join();
        }
    }
}
