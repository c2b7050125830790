//! In the place of `object_tier` where this was built without object stores (feature `objects`): there is none.

use ftmpi_protocols::image_catalogue::{ImageName, Record};
use ftmpi_wire::Rank;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::time::Duration;

/// An object store; there is none of this type.
#[derive(Debug, Clone)]
pub enum ObjectTier {}

/// What is in it.
#[derive(Debug, Default)]
pub struct Listing {
    /// Containers.
    pub containers: BTreeSet<ImageName>,
    /// Records; `None`: damaged.
    pub records: BTreeMap<Rank, Option<Record>>,
}

impl ObjectTier {
    pub fn open(address: &str) -> anyhow::Result<Self> {
        anyhow::bail!("--object-store {address}: this program was built without object stores")
    }

    pub fn address(&self) -> &str {
        match *self {}
    }

    pub async fn put_container(&self, _: ImageName, _: File) -> Result<u64, String> {
        match *self {}
    }

    pub async fn put_record(&self, _: Rank, _: Record) -> Result<(), String> {
        match *self {}
    }

    pub async fn get_container(
        &self,
        _: ImageName,
        _: impl FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<(), String> {
        match *self {}
    }

    pub async fn remove_container(&self, _: ImageName) -> Result<(), String> {
        match *self {}
    }

    pub async fn remove_all(&self) -> Result<u64, String> {
        match *self {}
    }
}

impl Listing {
    pub fn record(&self, rank: Rank) -> Option<Record> {
        self.records.get(&rank).copied().flatten()
    }

    pub fn of(&self, rank: Rank) -> impl Iterator<Item = ImageName> + '_ {
        self.containers.iter().copied().filter(move |name| name.rank == rank)
    }

    pub fn ranks(&self) -> BTreeSet<Rank> {
        self.records.keys().copied().collect()
    }
}

pub async fn reach(object_tier: &ObjectTier, _: Duration) -> anyhow::Result<Listing> {
    match *object_tier {}
}
