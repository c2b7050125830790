//! A file system: files with bytes, outside of all ranks, which no failure takes back.
//!
//! Under protocols that return to waves, and where nothing outside is judged
//! ([`World::judges_outside`]), an incarnation may do again what was done already: nothing of that
//! is refused.

use super::{World, with};
use ftmpi_core::error::{ErrorClass, Result};
use ftmpi_core::file::disk::{Disk, Handle, Open};
use ftmpi_core::usermem::UserPtr;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The files.
#[derive(Debug, Default)]
pub struct SimFiles {
    names: BTreeMap<PathBuf, u64>,
    /// By number, from 2 on; a file that lost its name keeps its bytes.
    bytes: BTreeMap<u64, Vec<u8>>,
}

impl SimFiles {
    fn make(&mut self) -> u64 {
        let number = self.bytes.len() as u64 + 2;
        self.bytes.insert(number, Vec::new());
        number
    }

    fn of(&mut self, file: Handle) -> &mut Vec<u8> {
        self.bytes.entry(u64::from(file.0)).or_default()
    }
}

impl World {
    fn open_file(&mut self, path: &Path, how: Open) -> Option<u64> {
        let may_make = how.create || !self.judges_outside();
        let files = &mut self.files;
        match files.names.get(path) {
            Some(_) if how.exclusive => None,
            Some(number) => Some(*number),
            None if may_make => {
                let number = files.make();
                files.names.insert(path.to_owned(), number);
                Some(number)
            }
            None => None,
        }
    }

    fn delete_file(&mut self, path: &Path) -> bool {
        let there = self.files.names.remove(path).is_some();
        there || !self.judges_outside()
    }
}

/// A rank's way to the files.
#[derive(Debug, Clone, Copy)]
pub struct SimDisk;

impl Disk for SimDisk {
    fn open(&mut self, path: &Path, how: Open) -> Result<Handle> {
        match with(|world| world.open_file(path, how)) {
            Some(number) => Ok(Handle(number as u32)),
            None => Err(ErrorClass::NoSuchFile.because("the simulated file cannot be opened")),
        }
    }

    fn close(&mut self, _file: Handle) {}

    fn identity(&mut self, path: &Path) -> u64 {
        with(|world| world.files.names.get(path).copied().unwrap_or(0))
    }

    fn unnamed(&mut self, _path: &Path, _how: Open) -> Option<(Handle, u64)> {
        let number = with(|world| world.files.make());
        Some((Handle(number as u32), number))
    }

    fn keep(&mut self, file: Handle) -> u64 {
        u64::from(file.0)
    }

    /// A file that lost its name is kept.
    fn open_again(&mut self, path: &Path, how: Open, identity: u64) -> Result<Handle> {
        match with(|world| world.files.bytes.contains_key(&identity)) {
            true => Ok(Handle(identity as u32)),
            false => self.open(path, how),
        }
    }

    fn name(&mut self, file: Handle, path: &Path) -> Result<()> {
        with(|world| world.files.names.insert(path.to_owned(), u64::from(file.0)));
        Ok(())
    }

    fn delete(&mut self, path: &Path) -> Result<()> {
        match with(|world| world.delete_file(path)) {
            true => Ok(()),
            false => Err(ErrorClass::NoSuchFile.because("the simulated file is not there")),
        }
    }

    fn read(&mut self, file: Handle, at: u64, into: UserPtr, len: usize) -> Result<usize> {
        let bytes = with(|world| {
            let bytes = world.files.of(file);
            let from = bytes.len().min(at as usize);
            bytes[from..bytes.len().min(from + len)].to_vec()
        });
        into.write(&bytes);
        Ok(bytes.len())
    }

    fn write(&mut self, file: Handle, at: u64, from: UserPtr, len: usize) -> Result<()> {
        let mut data = vec![0; len];
        from.read(&mut data);
        with(|world| {
            let bytes = world.files.of(file);
            let end = at as usize + len;
            bytes.resize(bytes.len().max(end), 0);
            bytes[at as usize..end].copy_from_slice(&data);
        });
        Ok(())
    }

    fn size(&mut self, file: Handle) -> Result<u64> {
        Ok(with(|world| world.files.of(file).len() as u64))
    }

    fn set_size(&mut self, file: Handle, bytes: u64) -> Result<()> {
        with(|world| world.files.of(file).resize(bytes as usize, 0));
        Ok(())
    }

    fn preallocate(&mut self, _file: Handle, _bytes: u64) -> Result<()> {
        Ok(())
    }

    fn sync(&mut self, _file: Handle) -> Result<()> {
        Ok(())
    }

    fn lock(&mut self, _file: Handle, _from: u64, _to: u64, _shared: bool) -> Result<()> {
        Ok(())
    }

    fn unlock(&mut self, _file: Handle, _from: u64, _to: u64) {}
}
