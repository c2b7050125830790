//! The datatypes that the program holds handles to, with their names and attributes.
//!
//! Guarantees: a type has at most one number at a time. The same type stored twice (by
//! `MPI_Type_get_contents`) gets the same number and must be freed as often. Types that Fortran's
//! precisions and ranges name are made once and stay (MPI-4.1, 19.1.5).

use super::{Builtin, Combiner, Datatype};
use crate::attribute::Attributes;
use crate::bail;
use crate::error::Result;
use crate::slab::Slab;
use crate::text::within;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// The longest name of an object, without the terminating zero.
pub const MAX_NAME: usize = 127;

/// The number of a datatype: the predefined ones first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub u32);

const FIRST_DERIVED: u32 = Builtin::ALL.len() as u32;

impl TypeId {
    /// The number of a predefined datatype.
    #[must_use]
    pub const fn builtin(builtin: Builtin) -> Self {
        Self(builtin as u32)
    }

    /// The predefined datatype with this number, if it is one.
    #[must_use]
    pub fn as_builtin(self) -> Option<Builtin> {
        Builtin::ALL.get(self.0 as usize).copied()
    }

    /// Position among the derived datatypes, if it is one.
    #[must_use]
    pub fn derived_index(self) -> Option<u32> {
        self.0.checked_sub(FIRST_DERIVED)
    }

    /// The derived datatype at this position.
    #[must_use]
    pub const fn derived(index: u32) -> Self {
        Self(FIRST_DERIVED.wrapping_add(index))
    }
}

#[derive(Debug)]
struct Entry {
    datatype: Datatype,
    name: Vec<u8>,
    attributes: Attributes,
    /// Handles that the program holds.
    handles: u32,
    /// It is predefined, though it may be without a name: it stays.
    lasting: bool,
}

/// The name of a type of `MPI_Type_create_f90_real` and its relatives: the call, precision and
/// range.
pub type Parameters = (Combiner, i64, i64);

/// All datatypes of a rank.
#[derive(Debug)]
pub struct TypeTable {
    predefined: Vec<Entry>,
    derived: Slab<Entry>,
    parametric: BTreeMap<Parameters, TypeId>,
}

impl Default for TypeTable {
    fn default() -> Self {
        let entry = |&builtin: &Builtin| Entry {
            datatype: Datatype::builtin(builtin).clone(),
            name: builtin.name().into(),
            attributes: Attributes::new(),
            handles: 1,
            lasting: true,
        };
        Self {
            predefined: Builtin::ALL.iter().map(entry).collect(),
            derived: Slab::new(),
            parametric: BTreeMap::new(),
        }
    }
}

impl TypeTable {
    fn entry(&self, id: TypeId) -> Result<&Entry> {
        let found = match id.derived_index() {
            None => self.predefined.get(id.0 as usize),
            Some(index) => self.derived.get(index),
        };
        match found {
            Some(entry) => Ok(entry),
            None => bail!(Type, "there is no datatype with this handle: was it freed?"),
        }
    }

    fn entry_mut(&mut self, id: TypeId) -> Result<&mut Entry> {
        let found = match id.derived_index() {
            None => self.predefined.get_mut(id.0 as usize),
            Some(index) => self.derived.get_mut(index),
        };
        match found {
            Some(entry) => Ok(entry),
            None => bail!(Type, "there is no datatype with this handle: was it freed?"),
        }
    }

    /// The datatype with this number.
    #[inline]
    pub fn get(&self, id: TypeId) -> Result<&Datatype> {
        Ok(&self.entry(id)?.datatype)
    }

    /// The datatype with this number, if it may be used in communication.
    #[inline]
    pub fn committed(&self, id: TypeId) -> Result<&Datatype> {
        let datatype = self.get(id)?;
        if !datatype.is_committed() {
            bail!(Type, "the datatype has not been committed: call MPI_Type_commit first");
        }
        Ok(datatype)
    }

    /// Stores a datatype, or finds it if it is stored already, and returns its number. Each time is
    /// one more handle to be freed.
    pub fn insert(&mut self, datatype: Datatype) -> Result<TypeId> {
        if let Some(id) = self.find(&datatype) {
            let entry = self.entry_mut(id)?;
            if !entry.lasting {
                entry.handles += 1;
            }
            return Ok(id);
        }
        let id = TypeId::derived(self.derived.next_index());
        datatype.0.number.store(id.0, Ordering::Relaxed);
        let (name, attributes) = (Vec::new(), Attributes::new());
        self.derived.insert(Entry { datatype, name, attributes, handles: 1, lasting: false })?;
        Ok(id)
    }

    /// The type of these parameters: `make` makes it when it is asked for the first time. It lasts:
    /// programs ask again and again, for every message perhaps, and do not free it.
    pub fn parametric(
        &mut self,
        parameters: Parameters,
        make: impl FnOnce() -> Result<Datatype>,
    ) -> Result<TypeId> {
        if let Some(id) = self.parametric.get(&parameters) {
            return Ok(*id);
        }
        let id = self.insert(make()?)?;
        self.entry_mut(id)?.lasting = true;
        self.parametric.insert(parameters, id);
        Ok(id)
    }

    /// The number of a datatype, if the program holds a handle to it.
    #[must_use]
    pub fn find(&self, datatype: &Datatype) -> Option<TypeId> {
        if let Some(builtin) = datatype.as_builtin() {
            return Some(TypeId::builtin(builtin));
        }
        let id = TypeId(datatype.0.number.load(Ordering::Relaxed));
        self.get(id).ok().filter(|found| found.is_same(datatype)).map(|_| id)
    }

    /// `MPI_Type_free`: communication under way and derived types keep the type itself alive. The
    /// attributes must be deleted first; see [`TypeTable::is_last_handle`].
    pub fn free(&mut self, id: TypeId) -> Result<()> {
        let Some(index) = id.derived_index() else {
            let name = id.as_builtin().map_or("this", Builtin::name);
            bail!(Type, "{name} is a predefined datatype and cannot be freed");
        };
        let entry = self.entry_mut(id)?;
        if entry.lasting {
            // Erroneous, but MPICH takes it, and programs do it: their handle is gone, the type is
            // not.
            return Ok(());
        }
        entry.handles -= 1;
        if entry.handles == 0 {
            self.derived.remove(index);
        }
        Ok(())
    }

    /// Whether freeing this handle removes the type, so that its attributes must be deleted first.
    pub fn is_last_handle(&self, id: TypeId) -> Result<bool> {
        let entry = self.entry(id)?;
        Ok(!entry.lasting && entry.handles == 1)
    }

    /// `MPI_Type_get_name`
    pub fn name(&self, id: TypeId) -> Result<&[u8]> {
        Ok(&self.entry(id)?.name)
    }

    /// `MPI_Type_set_name`; longer names are cut.
    pub fn set_name(&mut self, id: TypeId, name: &[u8]) -> Result<()> {
        self.entry_mut(id)?.name = within(name, MAX_NAME).to_vec();
        Ok(())
    }

    /// The attributes of a datatype.
    pub fn attributes(&self, id: TypeId) -> Result<&Attributes> {
        Ok(&self.entry(id)?.attributes)
    }

    /// The attributes of a datatype, to be changed.
    pub fn attributes_mut(&mut self, id: TypeId) -> Result<&mut Attributes> {
        Ok(&mut self.entry_mut(id)?.attributes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorClass;

    #[test]
    fn one_type_has_one_number() {
        let mut table = TypeTable::default();
        let int = Datatype::builtin(Builtin::Int);
        assert_eq!(table.insert(int.clone()).unwrap(), TypeId::builtin(Builtin::Int));
        let three = Datatype::contiguous(3, int).unwrap();
        assert_eq!(table.find(&three), None);
        let id = table.insert(three.clone()).unwrap();
        assert_eq!(table.insert(three.clone()).unwrap(), id);
        assert_eq!(table.committed(id).unwrap_err().class, ErrorClass::Type);
        three.commit();
        assert!(table.committed(id).is_ok());
        assert!(!table.is_last_handle(id).unwrap());
        table.free(id).unwrap();
        assert_eq!(table.find(&three), Some(id));
        table.free(id).unwrap();
        assert_eq!(table.find(&three), None);
        assert_eq!(table.free(id).unwrap_err().class, ErrorClass::Type);
        // Another type takes the number; the first one is not mistaken for it.
        let four = Datatype::contiguous(4, int).unwrap();
        assert_eq!(table.insert(four).unwrap(), id);
        assert_eq!(table.find(&three), None);
        assert!(table.free(TypeId::builtin(Builtin::Int)).is_err());
    }

    #[test]
    fn parametric_types_are_made_once_and_stay() {
        let mut table = TypeTable::default();
        let mut made = 0;
        let mut real = |table: &mut TypeTable, precision| {
            table.parametric((Combiner::F90Real, precision, 30), || {
                made += 1;
                Datatype::f90_real(precision, 30, Builtin::Real4)
            })
        };
        let id = real(&mut table, 6).unwrap();
        assert_eq!(real(&mut table, 6).unwrap(), id);
        assert_ne!(real(&mut table, 5).unwrap(), id);
        assert!(!table.is_last_handle(id).unwrap());
        assert!(table.free(id).is_ok());
        let again = table.get(id).unwrap().clone();
        assert_eq!(table.insert(again).unwrap(), id, "as MPI_Type_get_contents tells it");
        assert_eq!(real(&mut table, 6).unwrap(), id);
        assert_eq!(made, 2);
    }

    #[test]
    fn names() {
        let mut table = TypeTable::default();
        let int = TypeId::builtin(Builtin::Int);
        assert_eq!(table.name(int).unwrap(), b"MPI_INT");
        table.set_name(int, &[b'x'; 300]).unwrap();
        assert_eq!(table.name(int).unwrap().len(), MAX_NAME);
        assert!(table.name(TypeId::derived(0)).is_err());
        assert!(table.name(TypeId(u32::MAX)).is_err());
    }
}
