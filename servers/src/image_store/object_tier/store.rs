//! Containers and records in an object store: S3-compatible, or a directory.
//!
//! Guarantees: an object is there completely or not at all, and durable when the call returns. A
//! damaged container is not stored. Credentials come from the environment, as for other S3 tools
//! (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`, `AWS_REGION`, roles of machines), and are never part
//! of the address. `AWS_PROFILE` is not read.
//!
//! Objects have the names of the files on the server's disk. Below the user's address each job has
//! a folder, and in it each server has one. Jobs may therefore share a bucket.

use super::error::ObjectStoreError;
use crate::image_store::image_file::{image_name, parse_image_name};
use crate::image_store::record_file::{
    decode_record, encode_record, parse_record_name, record_name,
};
use crate::tuning::object_tier::{
    CONNECT_LIMIT, PART_BYTES, RANGE_BYTES, REACH_RETRY, READ_BYTES, REQUEST_LIMIT, RETRY_LIMIT,
};
use anyhow::{Context, bail};
use ftmpi_checkpoint::container::Verifier;
use ftmpi_protocols::image_catalogue::Record;
use ftmpi_wire::ImageId;
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use futures_util::TryStreamExt;
use object_store::aws::AmazonS3Builder;
use object_store::buffered::BufWriter;
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use object_store::{
    ClientOptions, Error, GetOptions, GetRange, ObjectStore, ObjectStoreExt, RetryConfig,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{DirBuilder, File};
use std::io::Read;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;

/// An object store, as one server uses it.
#[derive(Debug, Clone)]
pub struct ObjectTier {
    store: Arc<dyn ObjectStore>,
    prefix: Key,
    address: String,
}

/// Characters of an object store's answer that are shown at most.
const ERROR_CHARACTERS: usize = 300;

/// What an object store holds.
#[derive(Debug, Default)]
pub struct Listing {
    /// Containers.
    pub containers: BTreeSet<ImageId>,
    /// Records; `None`: damaged.
    pub records: BTreeMap<Rank, Option<Record>>,
}

impl ObjectTier {
    /// Opens the store at `s3://BUCKET/PREFIX` or `file:///DIRECTORY`. No request is sent yet.
    ///
    /// # Errors
    /// The address is wrong, the directory cannot be made, or settings are missing.
    pub fn open(address: &str) -> anyhow::Result<Self> {
        let about = || format!("--object-store {address}");
        let of = |store: Arc<dyn ObjectStore>, prefix: &str| -> anyhow::Result<Self> {
            let prefix = Key::parse(prefix).with_context(about)?;
            Ok(Self { store, prefix, address: address.to_owned() })
        };
        ftmpi_options::values::store(address)?;
        if let Some(path) = address.strip_prefix("file://") {
            let path = Path::new(path);
            let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
            made.with_context(about)?;
            let store = LocalFileSystem::new_with_prefix(path).with_context(about)?;
            return of(Arc::new(store.with_fsync(true)), "");
        }
        let rest = address.strip_prefix("s3://").unwrap_or_default();
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        // Chooses the library that encrypts. A second call has no effect.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = AmazonS3Builder::from_env()
            .with_bucket_name(bucket)
            .with_retry(RetryConfig { retry_timeout: RETRY_LIMIT, ..RetryConfig::default() });
        let plain = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"]
            .iter()
            .find_map(|name| std::env::var(name).ok())
            .is_some_and(|endpoint| endpoint.starts_with("http://"));
        let options = ClientOptions::new()
            .with_connect_timeout(CONNECT_LIMIT)
            .with_timeout(REQUEST_LIMIT)
            .with_allow_http(plain);
        builder = builder.with_client_options(options);
        of(Arc::new(builder.build().with_context(about)?), prefix)
    }

    /// Uses any store, for tests.
    #[cfg(test)]
    pub fn over(store: Arc<dyn ObjectStore>) -> Self {
        Self { store, prefix: Key::default(), address: "test://".into() }
    }

    /// The address that the user gave.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    fn key(&self, name: &str) -> Key {
        self.prefix.clone().join(name)
    }

    /// What the store holds.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn list(&self) -> Result<Listing, ObjectStoreError> {
        let mut listing = Listing::default();
        let mut objects = self.store.list(Some(&self.prefix));
        let mut records = Vec::new();
        while let Some(object) = objects.try_next().await.map_err(|e| self.error(&e))? {
            let Some(name) = object.location.filename() else { continue };
            if let Some(image) = parse_image_name(name, ".image") {
                listing.containers.insert(image);
            } else if let Some(rank) = parse_record_name(name) {
                records.push((rank, object.location));
            }
        }
        for (rank, key) in records {
            let found = self.store.get(&key).await.map_err(|e| self.error(&e))?;
            let bytes = found.bytes().await.map_err(|e| self.error(&e))?;
            let record = std::str::from_utf8(&bytes).ok().and_then(decode_record);
            listing.records.insert(rank, record);
        }
        Ok(listing)
    }

    /// Stores a container. A damaged container is refused.
    ///
    /// # Errors
    /// The container is not stored.
    pub async fn put_container(
        &self,
        name: ImageId,
        mut file: File,
    ) -> Result<u64, ObjectStoreError> {
        let key = self.key(&image_name(name));
        let mut writer = BufWriter::with_capacity(self.store.clone(), key, PART_BYTES);
        let mut verifier = Verifier::new();
        let mut bytes = 0;
        let sent = loop {
            let mut piece = vec![0; READ_BYTES];
            let read = tokio::task::block_in_place(|| file.read(&mut piece));
            match read {
                Ok(0) => break Ok(()),
                Ok(count) => piece.truncate(count),
                Err(e) => break Err(e.into()),
            }
            if let Err(e) = verifier.push_with(&piece, &mut |_| ()) {
                break Err(e.into());
            }
            bytes += piece.len() as u64;
            if let Err(e) = writer.put(piece.into()).await {
                break Err(self.error(&e));
            }
        };
        let sent = sent.and_then(|()| match verifier.finish() {
            Ok(_) => Ok(()),
            Err(e) => Err(e.into()),
        });
        if let Err(why) = sent {
            // Removes the parts that were sent. If that fails, too, the store's own rules remove
            // them.
            let _ = writer.abort().await;
            return Err(why);
        }
        let address = || self.address.clone();
        writer
            .shutdown()
            .await
            .map_err(|e| ObjectStoreError::Store { address: address(), text: e.to_string() })?;
        Ok(bytes)
    }

    /// Stores a record.
    ///
    /// # Errors
    /// The record is not stored.
    pub async fn put_record(&self, rank: Rank, record: Record) -> Result<(), ObjectStoreError> {
        let key = self.key(&record_name(rank));
        let text = encode_record(record);
        self.store.put(&key, text.into()).await.map_err(|e| self.error(&e))?;
        Ok(())
    }

    /// Hands the bytes of a container to `sink`, in order.
    ///
    /// # Errors
    /// The container cannot be read, or `sink` fails.
    pub async fn get_container(
        &self,
        name: ImageId,
        mut sink: impl FnMut(&[u8]) -> Result<(), ObjectStoreError>,
    ) -> Result<(), ObjectStoreError> {
        let key = self.key(&image_name(name));
        let size = match self.store.head(&key).await {
            Ok(about) => about.size,
            // No bytes come, and the reader finds that the container is incomplete.
            Err(Error::NotFound { .. }) => 0,
            Err(e) => return Err(self.error(&e)),
        };
        let mut at = 0;
        // A request has a time limit, and an image may have any size.
        while at < size {
            let begin = at;
            let range = Some(GetRange::Bounded(at..(at + RANGE_BYTES).min(size)));
            let options = GetOptions { range, ..GetOptions::default() };
            let found = self.store.get_opts(&key, options).await.map_err(|e| self.error(&e))?;
            let mut pieces = found.into_stream();
            while let Some(piece) = pieces.try_next().await.map_err(|e| self.error(&e))? {
                at += piece.len() as u64;
                tokio::task::block_in_place(|| sink(&piece))?;
            }
            if at == begin {
                // The object has become shorter. The reader finds that the container is incomplete.
                break;
            }
        }
        Ok(())
    }

    /// Removes a container. It is no error if there is none.
    ///
    /// # Errors
    /// The container may still be there.
    pub async fn remove_container(&self, name: ImageId) -> Result<(), ObjectStoreError> {
        match self.store.delete(&self.key(&image_name(name))).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(e) => Err(self.error(&e)),
        }
    }

    /// Removes everything: the job has ended.
    ///
    /// # Errors
    /// Something may be left.
    pub async fn remove_all(&self) -> Result<u64, ObjectStoreError> {
        let mut count = 0;
        // Repeated until nothing is found: the last upload of a server may arrive meanwhile.
        loop {
            let objects = self.store.list(Some(&self.prefix));
            let keys: Vec<Key> = objects
                .map_ok(|object| object.location)
                .try_collect()
                .await
                .map_err(|e| self.error(&e))?;
            if keys.is_empty() {
                break;
            }
            count += keys.len() as u64;
            for key in keys {
                match self.store.delete(&key).await {
                    Ok(()) | Err(Error::NotFound { .. }) => {}
                    Err(e) => return Err(self.error(&e)),
                }
            }
        }
        // In a directory the empty folders go as well.
        if let Some(path) = self.address.strip_prefix("file://") {
            let path = Path::new(path);
            if std::fs::remove_dir(path).is_ok()
                && let Some(job) = path.parent()
            {
                let _ = std::fs::remove_dir(job);
            }
        }
        Ok(count)
    }

    fn error(&self, error: &Error) -> ObjectStoreError {
        let mut text = error.to_string();
        // Long answers of servers do not help in one line.
        if let Some((at, _)) = text.char_indices().nth(ERROR_CHARACTERS) {
            text.truncate(at);
        }
        let text = text.replace(['\n', '\r'], " ");
        ObjectStoreError::Store { address: self.address.clone(), text }
    }
}

impl Listing {
    /// The record of a rank, as far as it can be relied upon. If it is damaged, logs were cut at
    /// the second newest image at most.
    #[must_use]
    pub fn record(&self, rank: Rank) -> Option<Record> {
        match self.records.get(&rank)? {
            Some(record) => Some(*record),
            None => {
                let mut numbers: Vec<ImageNo> = self.of(rank).map(|name| name.image).collect();
                numbers.sort_unstable();
                let oldest = numbers.iter().rev().nth(1).or(numbers.last()).copied();
                Some(Record {
                    incarnation: Incarnation(0),
                    start_offered: false,
                    oldest: oldest.unwrap_or(ImageNo(u64::MAX)),
                })
            }
        }
    }

    /// Containers of a rank.
    pub fn of(&self, rank: Rank) -> impl Iterator<Item = ImageId> + '_ {
        self.containers.iter().copied().filter(move |name| name.rank == rank)
    }

    /// Ranks that the store holds anything of.
    #[must_use]
    pub fn ranks(&self) -> BTreeSet<Rank> {
        self.containers.iter().map(|name| name.rank).chain(self.records.keys().copied()).collect()
    }
}

/// Lists the store, with patience. A server calls it that cannot start without the store.
///
/// # Errors
/// The store did not answer within `patience`.
pub async fn reach(object_tier: &ObjectTier, patience: Duration) -> anyhow::Result<Listing> {
    let since = std::time::Instant::now();
    loop {
        let why = match tokio::time::timeout(patience, object_tier.list()).await {
            Ok(Ok(listing)) => return Ok(listing),
            Ok(Err(why)) => why.to_string(),
            Err(_) => format!("{}: no answer", object_tier.address),
        };
        if since.elapsed() >= patience {
            bail!("the object store cannot be reached: {why}");
        }
        tokio::time::sleep(REACH_RETRY).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_record_promises_nothing() {
        let name =
            |image| ImageId { rank: Rank(1), image: ImageNo(image), incarnation: Incarnation(0) };
        let listing = Listing {
            containers: BTreeSet::from([name(3), name(7), name(9)]),
            records: BTreeMap::from([(Rank(1), None)]),
        };
        let record = listing.record(Rank(1)).unwrap();
        assert!(!record.start_offered && !record.offers(ImageNo(3)) && record.offers(ImageNo(7)));
    }
}
