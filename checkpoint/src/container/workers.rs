//! Threads that encode chunks while the writer reads the next ones.
//!
//! Guarantees: chunks come back in the order in which they were submitted. At most two batches are
//! under way. No thread is left when the workers are dropped.

use super::chunk::Checksums;
use super::chunk_index::ChunkIndex;
use super::compression::{ChunkEncoder, ChunkOptions, EncodedChunk};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::JoinHandle;

/// Chunks that one thread encodes, and the result.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Numbers and raw bytes.
    pub chunks: Vec<(u64, Vec<u8>)>,
    /// The encoded chunks, one for each raw one.
    pub made: Vec<EncodedChunk>,
    /// The stored bytes of the chunks, except of those that are stored raw.
    pub encoded: Vec<u8>,
}

/// What a thread needs to encode chunks of one container.
#[derive(Debug, Clone)]
pub(super) struct WorkerTask {
    pub options: ChunkOptions,
    pub before: Option<Arc<ChunkIndex>>,
    pub checksums: Checksums,
}

/// The threads of one encoder.
#[derive(Debug)]
pub(super) struct Workers {
    threads: Vec<Worker>,
    /// The number of threads, from the first on, that have a batch.
    busy: usize,
    /// Batches to be used again.
    idle: Vec<Batch>,
}

#[derive(Debug)]
struct Worker {
    submit: Option<SyncSender<Batch>>,
    take: Receiver<Batch>,
    thread: Option<JoinHandle<()>>,
}

impl Workers {
    /// Starts this number of threads, at least one.
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

    /// The chunks that were submitted last, encoded, in their order.
    pub fn collect(&mut self) -> Vec<Batch> {
        let busy = std::mem::take(&mut self.busy);
        self.threads[..busy].iter_mut().map(Worker::collect).collect()
    }

    /// Takes back a batch whose chunks are not needed any more.
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

    /// A thread ends early only by a panic. The panic goes on in the calling thread.
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
            // A panic of the thread was passed on where its batch was missing.
            let _ = thread.join();
        }
    }
}
