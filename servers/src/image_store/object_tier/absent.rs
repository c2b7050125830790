//! In the place of `store` in programs that are built without object stores (feature
//! `object-store`): there is none, and a request for one is refused.

use super::error::ObjectStoreError;
use ftmpi_protocols::image_catalogue::Record;
use ftmpi_wire::ImageId;
use ftmpi_wire::Rank;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::time::Duration;

/// An object store. There is no value of this type.
#[derive(Debug, Clone)]
pub enum ObjectTier {}

/// What an object store holds.
#[derive(Debug, Default)]
pub struct Listing {
    /// Containers.
    pub containers: BTreeSet<ImageId>,
    /// Records; `None`: damaged.
    pub records: BTreeMap<Rank, Option<Record>>,
}

impl ObjectTier {
    /// # Errors
    /// Always: one line that says how to get a program that can.
    pub fn open(address: &str) -> anyhow::Result<Self> {
        anyhow::bail!(
            "--object-store {address}: this program is built without object stores; build it with \
             `make`, or with `cargo build --release -p ftmpi-servers`"
        )
    }

    pub fn address(&self) -> &str {
        match *self {}
    }

    pub async fn put_container(&self, _: ImageId, _: File) -> Result<u64, ObjectStoreError> {
        match *self {}
    }

    pub async fn put_record(&self, _: Rank, _: Record) -> Result<(), ObjectStoreError> {
        match *self {}
    }

    pub async fn get_container(
        &self,
        _: ImageId,
        _: impl FnMut(&[u8]) -> Result<(), ObjectStoreError>,
    ) -> Result<(), ObjectStoreError> {
        match *self {}
    }

    pub async fn remove_container(&self, _: ImageId) -> Result<(), ObjectStoreError> {
        match *self {}
    }

    pub async fn remove_all(&self) -> Result<u64, ObjectStoreError> {
        match *self {}
    }
}

impl Listing {
    pub fn record(&self, rank: Rank) -> Option<Record> {
        self.records.get(&rank).copied().flatten()
    }

    pub fn of(&self, rank: Rank) -> impl Iterator<Item = ImageId> + '_ {
        self.containers.iter().copied().filter(move |name| name.rank == rank)
    }

    pub fn ranks(&self) -> BTreeSet<Rank> {
        self.records.keys().copied().collect()
    }
}

pub async fn reach(object_tier: &ObjectTier, _: Duration) -> anyhow::Result<Listing> {
    match *object_tier {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_for_an_object_store_is_refused_with_the_remedy() {
        let refused = ObjectTier::open("s3://bucket/x").unwrap_err().to_string();
        assert!(refused.contains("s3://bucket/x") && refused.contains("make"), "{refused}");
        assert!(!refused.contains('\n'));
    }
}
