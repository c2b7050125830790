//! Info objects: hints as ordered pairs of key and value (MPI-3.1, chapter 9).
//!
//! Guarantees: pairs keep the order in which their keys were first set; keys and values are bytes,
//! compared exactly, of bounded length.

use crate::bail;
use crate::error::Result;
use crate::slab::Slab;

/// The longest key, without the terminating zero.
pub const MAX_KEY: usize = 255;
/// The longest value, without the terminating zero.
pub const MAX_VALUE: usize = 1024;

/// Ordered pairs of key and value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Info(Vec<(Vec<u8>, Vec<u8>)>);

fn check_key(key: &[u8]) -> Result<()> {
    if key.is_empty() || key.len() > MAX_KEY {
        bail!(InfoKey, "a key has {} bytes, must have 1 to {MAX_KEY}", key.len());
    }
    Ok(())
}

impl Info {
    /// An object without pairs.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// `MPI_Info_set`
    pub fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        check_key(key)?;
        if value.len() > MAX_VALUE {
            bail!(InfoValue, "a value has {} bytes, may have {MAX_VALUE}", value.len());
        }
        match self.0.iter_mut().find(|pair| pair.0 == key) {
            Some(pair) => pair.1 = value.to_vec(),
            None => self.0.push((key.to_vec(), value.to_vec())),
        }
        Ok(())
    }

    /// `MPI_Info_get`, `MPI_Info_get_valuelen`
    pub fn get(&self, key: &[u8]) -> Result<Option<&[u8]>> {
        check_key(key)?;
        Ok(self.0.iter().find(|pair| pair.0 == key).map(|pair| pair.1.as_slice()))
    }

    /// `mpi_minimum_memory_alignment` (MPI-4.0, 9.2); 1 unless it says a power of two.
    #[must_use]
    pub fn alignment(&self) -> usize {
        let value = self.get(b"mpi_minimum_memory_alignment").ok().flatten();
        let text = value.and_then(|value| std::str::from_utf8(value).ok());
        let wanted = text.and_then(|text| text.trim().parse().ok());
        wanted.filter(|wanted: &usize| wanted.is_power_of_two()).unwrap_or(1)
    }

    /// `MPI_Info_delete`
    pub fn delete(&mut self, key: &[u8]) -> Result<()> {
        check_key(key)?;
        match self.0.iter().position(|pair| pair.0 == key) {
            Some(at) => {
                self.0.remove(at);
                Ok(())
            }
            None => bail!(InfoNokey, "there is no key '{}'", String::from_utf8_lossy(key)),
        }
    }

    /// `MPI_Info_get_nkeys`
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no pairs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `MPI_Info_get_nthkey`
    pub fn nth_key(&self, n: i64) -> Result<&[u8]> {
        match usize::try_from(n).ok().and_then(|n| self.0.get(n)) {
            Some(pair) => Ok(&pair.0),
            None => bail!(Arg, "there is no key number {n} of {}", self.0.len()),
        }
    }

    /// The pairs in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.0.iter().map(|pair| (pair.0.as_slice(), pair.1.as_slice()))
    }
}

/// The number of an info object; [`InfoId::ENV`] is `MPI_INFO_ENV`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InfoId(pub u32);

impl InfoId {
    /// `MPI_INFO_ENV`: how the job was started.
    pub const ENV: Self = Self(0);
}

/// All info objects that the program holds.
#[derive(Debug, Default)]
pub struct InfoTable {
    env: Info,
    user: Slab<Info>,
}

impl InfoTable {
    /// A table whose `MPI_INFO_ENV` says `env`.
    #[must_use]
    pub const fn new(env: Info) -> Self {
        Self { env, user: Slab::new() }
    }

    /// `MPI_Info_create`, `MPI_Info_dup` (of a clone)
    pub fn insert(&mut self, info: Info) -> Result<InfoId> {
        Ok(InfoId(1 + self.user.insert(info)?))
    }

    /// The object with this number.
    pub fn get(&self, id: InfoId) -> Result<&Info> {
        if id == InfoId::ENV {
            return Ok(&self.env);
        }
        match self.user.get(id.0 - 1) {
            Some(info) => Ok(info),
            None => bail!(Info, "there is no info object with this handle: was it freed?"),
        }
    }

    /// The object with this number, to be changed.
    pub fn get_mut(&mut self, id: InfoId) -> Result<&mut Info> {
        if id == InfoId::ENV {
            bail!(Info, "MPI_INFO_ENV cannot be changed");
        }
        match self.user.get_mut(id.0 - 1) {
            Some(info) => Ok(info),
            None => bail!(Info, "there is no info object with this handle: was it freed?"),
        }
    }

    /// `MPI_Info_free`
    pub fn free(&mut self, id: InfoId) -> Result<()> {
        if id == InfoId::ENV {
            bail!(Info, "MPI_INFO_ENV cannot be freed");
        }
        match self.user.remove(id.0 - 1) {
            Some(_) => Ok(()),
            None => bail!(Info, "there is no info object with this handle: was it freed before?"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorClass;

    #[test]
    fn pairs_keep_their_order() {
        let mut info = Info::new();
        info.set(b"b", b"1").unwrap();
        info.set(b"a", b"2").unwrap();
        info.set(b"b", b"3").unwrap();
        assert_eq!((info.nth_key(0).unwrap(), info.nth_key(1).unwrap()), (&b"b"[..], &b"a"[..]));
        assert_eq!(info.get(b"b").unwrap(), Some(&b"3"[..]));
        assert_eq!(info.get(b"B").unwrap(), None);
        info.delete(b"b").unwrap();
        assert_eq!(info.len(), 1);
        assert_eq!(info.delete(b"b").unwrap_err().class, ErrorClass::InfoNokey);
        assert!(info.nth_key(1).is_err() && info.nth_key(-1).is_err());
    }

    #[test]
    fn an_alignment_is_a_power_of_two() {
        for (value, wanted) in
            [("64", 64), (" 4096 ", 4096), ("48", 1), ("0", 1), ("-8", 1), ("page", 1)]
        {
            let mut info = Info::new();
            assert_eq!(info.alignment(), 1);
            info.set(b"mpi_minimum_memory_alignment", value.as_bytes()).unwrap();
            assert_eq!(info.alignment(), wanted, "{value}");
        }
    }

    #[test]
    fn lengths_are_bounded() {
        let mut info = Info::new();
        assert_eq!(info.set(b"", b"x").unwrap_err().class, ErrorClass::InfoKey);
        assert_eq!(info.set(&[b'k'; 256], b"x").unwrap_err().class, ErrorClass::InfoKey);
        assert_eq!(info.set(b"k", &[b'v'; 1025]).unwrap_err().class, ErrorClass::InfoValue);
        info.set(&[b'k'; 255], &[b'v'; 1024]).unwrap();
    }

    #[test]
    fn the_table_protects_the_environment() {
        let mut table = InfoTable::default();
        let id = table.insert(Info::new()).unwrap();
        table.get_mut(id).unwrap().set(b"k", b"v").unwrap();
        assert_eq!(table.get(id).unwrap().len(), 1);
        assert!(table.get(InfoId::ENV).is_ok());
        assert!(table.get_mut(InfoId::ENV).is_err());
        assert!(table.free(InfoId::ENV).is_err());
        table.free(id).unwrap();
        assert_eq!(table.free(id).unwrap_err().class, ErrorClass::Info);
    }
}
