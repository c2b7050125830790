//! Runs the whole checkpoint server over an object store whose every call may fail: before it did
//! anything, after it did everything, or in the middle. Calls may also be late or give wrong bytes.
//! Servers start and end, disks are lost.
//!
//! Images come one by one, or as those of waves that cut logs when they are complete.
//!
//! What must hold: an offered image has the bytes that were stored under its number. The image is
//! not older than the place at which logs were cut. The program's start is never offered once logs
//! were cut.

use super::ObjectTier;
use crate::client::{ClientError, ImageStore};
use crate::files::Files;
use crate::image_note;
use crate::image_store::{Server, begin, session};
use async_trait::async_trait;
use bytes::Bytes;
use ftmpi_checkpoint::container::{ChunkIndex, Compression, Decoder, Encoder};
use ftmpi_protocols::image_catalogue::ConnId;
use ftmpi_wire::image_store::Note;
use ftmpi_wire::{ImageId, ImageNo, Incarnation, Rank};
use futures_util::stream::{self, BoxStream, StreamExt};
use object_store::memory::InMemory;
use object_store::path::Path as Key;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
    UploadPart,
};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

const R: Rank = Rank(3);
const HISTORIES: u64 = 10;
/// Servers of one history.
const SERVERS: u64 = 5;

/// Numbers that look random, and are the same for the same seed.
#[derive(Debug)]
struct Dice(Mutex<u64>);

impl Dice {
    fn below(&self, end: u64) -> u64 {
        let mut state = self.0.lock().unwrap();
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = *state;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % end
    }
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::image_store) enum Fate {
    Good,
    /// The call does nothing.
    Fails,
    /// The call does everything and reports a failure.
    Lies,
    /// The call does half of its work.
    Breaks,
}

#[derive(Debug, Clone)]
pub(in crate::image_store) struct Faulty {
    inner: Arc<InMemory>,
    dice: Arc<Dice>,
    /// One of so many calls fails. 0: none does.
    rate: Arc<AtomicU64>,
    /// Bytes that are read may be wrong.
    wrong: bool,
    /// Wrong bytes were read.
    misled: Arc<AtomicBool>,
    faults: Arc<AtomicU64>,
    /// The call with this number has this fate.
    chosen: Option<(u64, Fate)>,
    pub calls: Arc<AtomicU64>,
    is_down: Arc<AtomicBool>,
    /// Milliseconds that every object takes, and how many objects are under way.
    slow: Arc<AtomicU64>,
    coming: Arc<AtomicU64>,
}

fn failed() -> Error {
    Error::Generic { store: "Faulty", source: "an injected fault".into() }
}

impl Faulty {
    fn new(dice: Arc<Dice>, wrong: bool, chosen: Option<(u64, Fate)>) -> Self {
        Self {
            inner: Arc::new(InMemory::new()),
            dice,
            rate: Arc::new(AtomicU64::new(0)),
            wrong,
            misled: Arc::default(),
            faults: Arc::default(),
            chosen,
            calls: Arc::default(),
            is_down: Arc::default(),
            slow: Arc::default(),
            coming: Arc::default(),
        }
    }

    /// Without faults.
    pub fn good() -> Self {
        Self::new(Arc::new(Dice(Mutex::new(1))), false, None)
    }

    /// The call with this number, from 0, has this fate. The other calls succeed.
    pub fn at(call: u64, fate: Fate) -> Self {
        Self::new(Arc::new(Dice(Mutex::new(call))), false, Some((call, fate)))
    }

    /// From now on no call does anything, or every call does.
    pub fn answers(&self, answers: bool) {
        self.is_down.store(!answers, Ordering::Relaxed);
    }

    async fn fate(&self) -> Fate {
        if self.chosen.is_none() && self.dice.below(4) == 0 {
            tokio::time::sleep(Duration::from_millis(self.dice.below(4))).await;
        }
        self.fate_now()
    }

    fn fate_now(&self) -> Fate {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        if self.is_down.load(Ordering::Relaxed) {
            return Fate::Fails;
        }
        if let Some((_, fate)) = self.chosen.filter(|(chosen, _)| *chosen == call) {
            return fate;
        }
        let rate = self.rate.load(Ordering::Relaxed);
        if rate == 0 || self.dice.below(rate) != 0 {
            return Fate::Good;
        }
        self.faults.fetch_add(1, Ordering::Relaxed);
        [Fate::Fails, Fate::Lies, Fate::Breaks][self.dice.below(3) as usize]
    }
}

impl fmt::Display for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Faulty")
    }
}

#[async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(&self, at: &Key, what: PutPayload, how: PutOptions) -> Result<PutResult> {
        let slow = self.slow.load(Ordering::SeqCst);
        if slow > 0 {
            self.coming.fetch_add(1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(slow)).await;
            let put = self.inner.put_opts(at, what, how).await;
            self.coming.fetch_sub(1, Ordering::SeqCst);
            return put;
        }
        // An object is there completely or not at all, even if the connection fails.
        match self.fate().await {
            Fate::Good => self.inner.put_opts(at, what, how).await,
            Fate::Lies => {
                self.inner.put_opts(at, what, how).await?;
                Err(failed())
            }
            _ => Err(failed()),
        }
    }

    async fn put_multipart_opts(
        &self,
        at: &Key,
        how: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        if self.fate().await != Fate::Good {
            return Err(failed());
        }
        let inner = self.inner.put_multipart_opts(at, how).await?;
        Ok(Box::new(Upload { inner, store: self.clone() }))
    }

    async fn get_opts(&self, at: &Key, how: GetOptions) -> Result<GetResult> {
        let fate = self.fate().await;
        if fate == Fate::Fails {
            return Err(failed());
        }
        let found = self.inner.get_opts(at, how).await?;
        if fate == Fate::Good {
            return Ok(found);
        }
        let GetResult { meta, range, attributes, extensions, .. } = &found;
        let (meta, range) = (meta.clone(), range.clone());
        let (attributes, extensions) = (attributes.clone(), extensions.clone());
        let mut bytes = found.bytes().await?.to_vec();
        let cut = self.dice.below(bytes.len() as u64 + 1) as usize;
        let pieces = if self.wrong && fate == Fate::Lies {
            self.misled.store(true, Ordering::Relaxed);
            // Another byte, or an early end that looks like the end.
            match bytes.get_mut(cut) {
                Some(byte) if self.dice.below(2) == 0 => *byte ^= 0x20,
                _ => bytes.truncate(cut),
            }
            vec![Ok(Bytes::from(bytes))]
        } else {
            bytes.truncate(cut);
            vec![Ok(Bytes::from(bytes)), Err(failed())]
        };
        let payload = GetResultPayload::Stream(stream::iter(pieces).boxed());
        Ok(GetResult { payload, meta, range, attributes, extensions })
    }

    fn delete_stream(
        &self,
        keys: BoxStream<'static, Result<Key>>,
    ) -> BoxStream<'static, Result<Key>> {
        let store = self.clone();
        let each = move |key: Result<Key>| {
            let store = store.clone();
            async move {
                let key = key?;
                let fate = store.fate().await;
                if matches!(fate, Fate::Good | Fate::Lies) {
                    let one = stream::iter([Ok(key.clone())]).boxed();
                    let mut done = store.inner.delete_stream(one);
                    while let Some(result) = done.next().await {
                        result?;
                    }
                }
                if fate == Fate::Good { Ok(key) } else { Err(failed()) }
            }
        };
        keys.then(each).boxed()
    }

    fn list(&self, below: Option<&Key>) -> BoxStream<'static, Result<ObjectMeta>> {
        match self.fate_now() {
            Fate::Good => self.inner.list(below),
            Fate::Fails => stream::once(async { Err(failed()) }).boxed(),
            _ => {
                let some = self.inner.list(below).take(self.dice.below(4) as usize);
                some.chain(stream::once(async { Err(failed()) })).boxed()
            }
        }
    }

    async fn list_with_delimiter(&self, below: Option<&Key>) -> Result<ListResult> {
        self.inner.list_with_delimiter(below).await
    }

    async fn copy_opts(&self, from: &Key, to: &Key, how: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, how).await
    }
}

#[derive(Debug)]
struct Upload {
    inner: Box<dyn MultipartUpload>,
    store: Faulty,
}

#[async_trait]
impl MultipartUpload for Upload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        match self.store.fate_now() {
            Fate::Good => self.inner.put_part(data),
            _ => Box::pin(async { Err(failed()) }),
        }
    }

    async fn complete(&mut self) -> Result<PutResult> {
        match self.store.fate().await {
            Fate::Good => self.inner.complete().await,
            Fate::Lies => {
                self.inner.complete().await?;
                Err(failed())
            }
            _ => Err(failed()),
        }
    }

    async fn abort(&mut self) -> Result<()> {
        match self.store.fate_now() {
            Fate::Good => self.inner.abort().await,
            _ => Err(failed()),
        }
    }
}

/// The contents of an image: most of it is as in the image before. Some images are larger than one
/// part of an upload.
fn memory(image: u64, large: bool) -> Vec<u8> {
    // In words, because single bytes were most of the time of these tests.
    let words = if large { 312_500 } else { 3_750 };
    let mut bytes = Vec::with_capacity(4 * 8 * words as usize);
    for number in 0..4 {
        let changed = if number == image % 4 { image } else { 0 };
        for n in 0..words {
            let word = (n + 1u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            bytes.extend_from_slice(&word.wrapping_add(number * 77 + changed * 13).to_le_bytes());
        }
    }
    bytes
}

pub(in crate::image_store) fn container(
    image: u64,
    large: bool,
    known: &mut ChunkIndex,
) -> Vec<u8> {
    let id = ImageId { rank: R, incarnation: Incarnation(0), image: ImageNo(image) };
    let mut out = Vec::new();
    let mut encoder = Encoder::incremental(id, Compression::Stored, std::mem::take(known));
    for piece in memory(image, large).chunks(15_000) {
        encoder.push(piece, &mut out);
        encoder.cut(&mut out);
    }
    let bases = encoder.bases().iter().map(|base| (base.incarnation, base.image)).collect();
    let about = Note { bases, ..Note::default() };
    *known = encoder.finish_with(&image_note::encode(&about), &mut out).1;
    out
}

pub(in crate::image_store) async fn connect(server: &Arc<Server>, conn: u64) -> ImageStore {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (near, far) =
        tokio::join!(TcpStream::connect(listener.local_addr().unwrap()), listener.accept());
    let server = server.clone();
    let far = far.unwrap().0;
    tokio::spawn(async move { session::run(&server, ConnId(conn), far).await });
    ImageStore::over(near.unwrap())
}

/// In main memory, if possible: the faults decide what a sync is good for.
pub(in crate::image_store) fn directory() -> tempfile::TempDir {
    let mut folder = tempfile::Builder::new();
    folder.prefix("ftmpi-unit-test-");
    folder.tempdir_in("/dev/shm").or_else(|_| folder.tempdir()).unwrap()
}

/// The images of a job, and what its ranks have heard about them.
#[derive(Debug, Default)]
pub(in crate::image_store) struct Truth {
    /// By number; whether the image is a large one.
    put: BTreeMap<u64, bool>,
    /// The image at which logs are cut.
    cut: u64,
    /// The two newest complete waves.
    complete: Vec<u64>,
    waves: bool,
}

impl Truth {
    pub fn new(waves: bool) -> Self {
        Self { waves, ..Self::default() }
    }

    /// This image is being stored.
    pub fn begins(&mut self, image: u64, large: bool) {
        self.put.insert(image, large);
    }

    /// The complete waves that are to be kept.
    pub fn kept(&self) -> [ImageNo; 2] {
        let mut kept = [ImageNo(0); 2];
        for (kept, complete) in kept.iter_mut().zip(self.complete.iter().rev()) {
            *kept = ImageNo(*complete);
        }
        kept
    }

    /// The image is stored, and so its wave is complete.
    pub fn committed(&mut self, image: u64, oldest: u64) {
        if !self.waves {
            self.cut = self.cut.max(oldest);
            return;
        }
        self.complete.push(image);
        if let [.., second, _] = self.complete[..] {
            self.complete.retain(|wave| *wave >= second);
            self.cut = second;
        }
    }

    /// Checks what a rank that restarts now would be given. `false`: nothing.
    pub async fn judge(&self, images: &mut ImageStore, about: &str) -> bool {
        let mut bytes = Vec::new();
        match images.get(R, ImageNo(u64::MAX), &mut bytes).await {
            Ok(Some(stored)) => {
                let number = stored.image.0;
                assert!(number >= self.cut, "{about}: {number} before {}", self.cut);
                let mut raw = Vec::new();
                Decoder::new().push(&bytes, &mut raw).unwrap();
                assert!(raw == memory(number, self.put[&number]), "{about}: image {number}");
                true
            }
            // The start is given up with the third wave. A rank that restarts before knows that two
            // waves were complete, and takes no start.
            Ok(None) if self.waves && self.complete.first().is_some_and(|first| *first <= 2) => {
                false
            }
            Ok(None) => {
                assert_eq!(self.cut, 0, "{about}: the start is offered");
                true
            }
            Err(ClientError::Refused { .. }) => false,
            Err(error) => panic!("{about}: {error}"),
        }
    }
}

/// One job whose servers start, end and lose their disks. Returns whether every rank was served.
fn history(seed: u64, wrong: bool, waves: bool) -> (bool, Faulty) {
    let dice = Arc::new(Dice(Mutex::new(seed)));
    let store = Faulty::new(dice.clone(), wrong, None);
    let dir = directory();
    let (mut truth, mut next, mut served) = (Truth::new(waves), 1, true);
    for number in 0..SERVERS {
        store.rate.store(2 + dice.below(8), Ordering::Relaxed);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let server = begin_at_last(&store, dir.path(), waves).await;
            let mut images = connect(&server, 1).await;
            served &= truth.judge(&mut images, &format!("seed {seed}")).await;
            let mut rows = [ChunkIndex::default(), ChunkIndex::default()];
            for _ in 0..if number + 1 == SERVERS { 0 } else { 1 + dice.below(4) } {
                let large = dice.below(12) == 0;
                let bytes = container(next, large, &mut rows[next as usize % 2]);
                if waves {
                    images.keep(R, Incarnation(0), truth.kept()).await.unwrap();
                }
                truth.begins(next, large);
                let put = images.put(R, Incarnation(0), ImageNo(next), bytes.as_slice()).await;
                match put {
                    Ok(committed) => truth.committed(next, committed.oldest.0),
                    // A wave that does not count. The chain begins again.
                    Err(ClientError::Refused { .. }) if waves => {
                        rows[next as usize % 2] = ChunkIndex::default();
                    }
                    Err(error) => panic!("seed {seed}: {error}"),
                }
                next += 1;
                tokio::time::sleep(Duration::from_millis(dice.below(30))).await;
            }
        });
        // The server ends in the middle of its work.
        runtime.shutdown_timeout(Duration::from_secs(10));
        if dice.below(2) == 0 {
            for entry in std::fs::read_dir(dir.path()).unwrap().flatten() {
                std::fs::remove_file(entry.path()).unwrap();
            }
        }
    }
    (served, store)
}

/// A launcher starts a server that fails to start, until the store answers.
async fn begin_at_last(store: &Faulty, dir: &Path, waves: bool) -> Arc<Server> {
    let object_tier = || Some(ObjectTier::over(Arc::new(store.clone())));
    for _ in 0..4 {
        if let Ok(server) = begin(object_tier(), dir, None, waves, Files::default()).await {
            return server;
        }
    }
    store.rate.store(0, Ordering::Relaxed);
    begin(object_tier(), dir, None, waves, Files::default()).await.unwrap()
}

fn histories(wrong: bool, waves: bool) {
    let first = std::env::var("FTMPI_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let (mut faults, mut misled) = (0, 0);
    for seed in first..first + HISTORIES {
        let (served, store) = history(seed, wrong, waves);
        let was_misled = store.misled.load(Ordering::Relaxed);
        // Neither the old nor the new image is offered only where the store gave wrong bytes for
        // both.
        assert!(served || was_misled, "seed {seed}: nothing was offered");
        faults += store.faults.load(Ordering::Relaxed);
        misled += u64::from(was_misled);
    }
    assert!(faults > 5 * HISTORIES, "{faults} faults");
    assert!(!wrong || misled > HISTORIES / 4, "wrong bytes in {misled} histories");
}

#[test]
fn calls_that_fail_cost_no_image() {
    histories(false, false);
}

#[test]
fn wrong_bytes_are_never_an_image() {
    histories(true, false);
}

#[test]
fn calls_that_fail_cost_no_wave() {
    histories(false, true);
}

#[test]
fn wrong_bytes_are_never_a_wave() {
    histories(true, true);
}

/// A store that has received an object may keep it after the death of its sender, and after
/// everything was removed.
#[test]
fn nothing_is_on_its_way_when_a_server_has_ended() {
    let (store, dir) = (Faulty::good(), directory());
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let server = begin_at_last(&store, dir.path(), false).await;
        let mut images = connect(&server, 1).await;
        store.slow.store(50, Ordering::SeqCst);
        let (mut known, mut met) = (ChunkIndex::default(), 0);
        for image in 1..4 {
            let bytes = container(image, false, &mut known);
            images.put(R, Incarnation(0), ImageNo(image), bytes.as_slice()).await.unwrap();
            for _ in 0..200 {
                met = store.coming.load(Ordering::SeqCst);
                if met > 0 {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        assert!(met > 0, "nothing was ever on its way");
        let flusher = server.flusher.as_ref().unwrap();
        flusher.end(Duration::from_secs(10)).await;
        for _ in 0..20 {
            assert_eq!(store.coming.load(Ordering::SeqCst), 0);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
}
