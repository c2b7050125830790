//! Storage that fails, dies or loses power before any chosen change; for tests.
//!
//! A [`Switch`] lets all changes of a kind fail for a while.
//!
//! A [`Plan`] counts the changes and decides what happens to the n-th. After a sync that failed the
//! system takes what it could not write for written: no later sync brings it to the disk. After a
//! death nothing changes any more. After a loss of power [`Plan::lose_power`] puts the directory
//! into a state that a file system may show then. Names are those of the last synced directory plus
//! a part of the later changes, in their order. Contents are those of the last sync of the file, or
//! anything between that and what was written.

use crate::files::{Op, Watch};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// What happens at the chosen change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The change fails, for lack of space. The next ones do not.
    Full,
    /// The change and all later ones fail and do nothing: the process died before it.
    Death,
}

#[derive(Debug, Clone, Default)]
struct Inode {
    now: Vec<u8>,
    durable: Vec<u8>,
    /// Bytes of `now` that a sync brings to the disk. They may overlap, and lie behind its end.
    dirty: Vec<Range<usize>>,
}

impl Inode {
    /// What a sync makes durable now.
    fn synced(&self) -> Vec<u8> {
        let mut bytes = self.durable.clone();
        bytes.resize(self.now.len(), 0);
        for written in &self.dirty {
            let end = written.end.min(self.now.len());
            let written = written.start.min(end)..end;
            bytes[written.clone()].copy_from_slice(&self.now[written]);
        }
        bytes
    }
}

#[derive(Debug, Clone)]
enum NameChange {
    Add(PathBuf, usize),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
}

#[derive(Debug, Default)]
struct Model {
    changes: u64,
    dead: bool,
    inodes: Vec<Inode>,
    names: BTreeMap<PathBuf, usize>,
    durable_names: BTreeMap<PathBuf, usize>,
    pending: Vec<NameChange>,
}

/// Counts changes, and decides what happens to one of them.
#[derive(Debug)]
pub struct Plan {
    fault: Option<(u64, Fault)>,
    model: Mutex<Model>,
}

impl Plan {
    /// `fault` at the change with this number, from 0.
    pub fn new(fault: Option<(u64, Fault)>) -> Self {
        Self { fault, model: Mutex::new(Model::default()) }
    }

    /// The number of changes so far.
    pub fn changes(&self) -> u64 {
        self.model.lock().unwrap().changes
    }

    /// Whether the process died.
    pub fn is_dead(&self) -> bool {
        self.model.lock().unwrap().dead
    }

    /// Makes the directory what it may be after a loss of power. `choose(n)` gives a number below
    /// n.
    pub fn lose_power(&self, mut choose: impl FnMut(usize) -> usize) {
        let mut model = self.model.lock().unwrap();
        let mut names = model.durable_names.clone();
        let kept = choose(model.pending.len() + 1);
        for change in &model.pending[..kept] {
            apply(&mut names, change);
        }
        for path in model.names.keys().chain(model.durable_names.keys()) {
            let _ = std::fs::remove_file(path);
        }
        for (path, inode) in names {
            let inode = &mut model.inodes[inode];
            let mut bytes = inode.durable.clone();
            let synced = inode.synced();
            match choose(4) {
                0 => {}
                1 => bytes.clone_from(&synced),
                // The length arrived, the bytes did not.
                2 if synced.len() > bytes.len() => bytes.resize(synced.len(), 0),
                _ if synced.len() > bytes.len() => {
                    let more = choose(synced.len() - bytes.len() + 1);
                    let from = bytes.len();
                    bytes.extend_from_slice(&synced[from..from + more]);
                }
                _ => {}
            }
            std::fs::write(&path, bytes).unwrap();
        }
    }
}

fn apply(names: &mut BTreeMap<PathBuf, usize>, change: &NameChange) {
    match change {
        NameChange::Add(path, inode) => {
            names.insert(path.clone(), *inode);
        }
        NameChange::Rename(from, to) => {
            if let Some(inode) = names.remove(from) {
                names.insert(to.clone(), inode);
            }
        }
        NameChange::Remove(path) => {
            names.remove(path);
        }
    }
}

impl Model {
    fn inode(&mut self, path: &Path) -> &mut Inode {
        let known = self.names.get(path).copied();
        let place = known.unwrap_or_else(|| {
            // A file that was there from the start counts as durable.
            let now = std::fs::read(path).unwrap_or_default();
            self.inodes.push(Inode { durable: now.clone(), now, dirty: Vec::new() });
            let place = self.inodes.len() - 1;
            self.names.insert(path.to_owned(), place);
            self.durable_names.insert(path.to_owned(), place);
            place
        });
        &mut self.inodes[place]
    }

    fn change_names(&mut self, change: NameChange) {
        apply(&mut self.names, &change);
        self.pending.push(change);
    }
}

/// While it is on, the chosen changes fail for lack of space.
#[derive(Debug)]
pub struct Switch {
    on: AtomicBool,
    fails: fn(&Op<'_>) -> bool,
}

impl Switch {
    /// Begins switched off.
    pub fn new(fails: fn(&Op<'_>) -> bool) -> Self {
        Self { on: AtomicBool::new(false), fails }
    }

    pub fn set(&self, on: bool) {
        self.on.store(on, Ordering::SeqCst);
    }
}

impl Watch for Switch {
    fn before(&self, op: Op<'_>) -> io::Result<()> {
        if self.on.load(Ordering::SeqCst) && (self.fails)(&op) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }
}

impl Watch for Plan {
    fn before(&self, op: Op<'_>) -> io::Result<()> {
        let mut model = self.model.lock().unwrap();
        // The file must be known before it is changed.
        if let Op::Write { path, .. } | Op::Cut { path, .. } | Op::Sync(path) = op {
            model.inode(path);
        }
        let number = model.changes;
        model.changes += 1;
        match self.fault {
            Some((at, Fault::Full)) if at == number => {
                if let Op::Sync(path) = op {
                    model.inode(path).dirty.clear();
                }
                return Err(io::ErrorKind::StorageFull.into());
            }
            Some((at, Fault::Death)) if at <= number => model.dead = true,
            _ => {}
        }
        if model.dead { Err(io::Error::other("the process is dead")) } else { Ok(()) }
    }

    fn after(&self, op: Op<'_>) {
        let mut model = self.model.lock().unwrap();
        match op {
            Op::Create(path) => {
                model.inodes.push(Inode::default());
                let inode = model.inodes.len() - 1;
                model.change_names(NameChange::Add(path.to_owned(), inode));
            }
            Op::Write { path, offset, bytes } => {
                let Inode { now, dirty, .. } = model.inode(path);
                let end = offset as usize + bytes.len();
                if now.len() < end {
                    now.resize(end, 0);
                }
                now[offset as usize..end].copy_from_slice(bytes);
                dirty.push(offset as usize..end);
            }
            Op::Cut { path, bytes } => model.inode(path).now.resize(bytes as usize, 0),
            Op::Sync(path) => {
                let inode = model.inode(path);
                inode.durable = inode.synced();
                inode.dirty.clear();
            }
            Op::Rename { from, to } => {
                model.change_names(NameChange::Rename(from.to_owned(), to.to_owned()));
            }
            Op::Remove(path) => model.change_names(NameChange::Remove(path.to_owned())),
            Op::SyncDir(_) => {
                model.durable_names = model.names.clone();
                model.pending.clear();
            }
        }
    }
}
