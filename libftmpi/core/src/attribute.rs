//! Attributes that the program attaches to communicators, datatypes and windows (MPI-3.1, 6.7).
//!
//! Copy and delete functions may call MPI again, so nothing here calls them. A [`Call`] says which
//! function to call with which arguments. The front calls the function with no borrow held, then
//! reports the result.
//!
//! Guarantees: a freed key stays valid, also through a copy of its handle, until no object holds
//! it. (6.7.2; the program ends the references, for instance by deleting attributes under the key.)
//!
//! Attributes are copied in the order in which they were set. They are deleted in the reverse
//! order, as `MPI_Finalize` must do for those of `MPI_COMM_SELF`.
//!
//! A value that Fortran set has an address, which stays the same until the value is set again or
//! removed. What C writes at that address is the value.

use crate::bail;
use crate::error::Result;
use crate::slab::Slab;

/// The number of a key that the program made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyvalId(pub u32);

/// What kind of objects a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Communicators.
    Comm,
    /// Datatypes.
    Type,
    /// Windows.
    Win,
}

/// The language of a function or a value, which decides how it is passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// C: values are pointers.
    C,
    /// Fortran calls of MPI-1: values are default integers.
    FortranInteger,
    /// Fortran calls of MPI-2: values are address-sized integers.
    FortranAddress,
}

/// The functions of a key, opaque to the core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Callbacks {
    /// Address of the copy function, or what the front uses for a predefined one.
    pub copy: usize,
    /// Address of the delete function, or what the front uses for a predefined one.
    pub delete: usize,
    /// Passed to both.
    pub extra_state: usize,
    /// Their language.
    pub language: Language,
}

/// The value of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value {
    /// The pointer or the integer, sign-extended. See [`Value::number`].
    pub bits: i64,
    /// The language that set it.
    pub language: Language,
}

impl Value {
    /// What Fortran sees: the bits of the pointer, or the integer. Only the low half of a default
    /// integer counts: C may have written that half through the address of the value.
    #[must_use]
    pub fn number(self) -> i64 {
        match self.language {
            Language::FortranInteger => i64::from(self.bits as i32),
            Language::C | Language::FortranAddress => self.bits,
        }
    }
}

/// A function of the program that has to be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// The key, to be passed to it.
    pub keyval: KeyvalId,
    /// The functions of the key.
    pub callbacks: Callbacks,
    /// The value to copy or to delete.
    pub value: Value,
}

#[derive(Debug)]
struct Keyval {
    kind: Kind,
    callbacks: Callbacks,
    /// Attributes with this key, and one for the program's handle until it is freed.
    uses: usize,
    freed: bool,
}

/// All keys of a rank.
#[derive(Debug, Default)]
pub struct Keyvals(Slab<Keyval>);

impl Keyvals {
    /// `MPI_Comm_create_keyval` and its like.
    pub fn create(&mut self, kind: Kind, callbacks: Callbacks) -> Result<KeyvalId> {
        Ok(KeyvalId(self.0.insert(Keyval { kind, callbacks, uses: 1, freed: false })?))
    }

    /// `MPI_Comm_free_keyval` and its like.
    pub fn free(&mut self, id: KeyvalId, kind: Kind) -> Result<()> {
        self.check(id, kind)?;
        let freed = self.0.get_mut(id.0).map(|keyval| std::mem::replace(&mut keyval.freed, true));
        if freed == Some(false) {
            self.release(id);
        }
        Ok(())
    }

    /// Checks that the program may use this key for objects of this kind.
    pub fn check(&self, id: KeyvalId, kind: Kind) -> Result<&Callbacks> {
        match self.0.get(id.0) {
            Some(keyval) if keyval.kind == kind => Ok(&keyval.callbacks),
            Some(keyval) => {
                bail!(Keyval, "the key is for a {:?}, not for a {kind:?}", keyval.kind)
            }
            None => bail!(Keyval, "there is no key with this number: was it freed?"),
        }
    }

    /// Says that the functions of a key are not C's, after it was made.
    pub fn set_language(&mut self, id: KeyvalId, kind: Kind, language: Language) -> Result<()> {
        self.check(id, kind)?;
        if let Some(keyval) = self.0.get_mut(id.0) {
            keyval.callbacks.language = language;
        }
        Ok(())
    }

    /// Changes the functions of a key, after the key was made.
    pub fn replace_callbacks(&mut self, id: KeyvalId, change: impl FnOnce(Callbacks) -> Callbacks) {
        if let Some(keyval) = self.0.get_mut(id.0) {
            keyval.callbacks = change(keyval.callbacks);
        }
    }

    /// How many keys are alive.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no key is alive.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn retain(&mut self, id: KeyvalId) {
        if let Some(keyval) = self.0.get_mut(id.0) {
            keyval.uses += 1;
        }
    }

    fn release(&mut self, id: KeyvalId) {
        if let Some(keyval) = self.0.get_mut(id.0) {
            keyval.uses -= 1;
            if keyval.uses == 0 {
                self.0.remove(id.0);
            }
        }
    }

    fn call(&self, keyval: KeyvalId, value: Value) -> Option<Call> {
        let callbacks = self.0.get(keyval.0)?.callbacks;
        Some(Call { keyval, callbacks, value })
    }
}

/// The attributes of one object.
///
/// An object must not be dropped with attributes left, or their keys live for ever: see
/// [`Attributes::deletions`].
#[derive(Debug, Default)]
pub struct Attributes(Vec<(KeyvalId, Box<Value>)>);

impl Attributes {
    /// None.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The number of attributes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no attribute.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value under this key.
    #[must_use]
    pub fn get(&self, id: KeyvalId) -> Option<&Value> {
        self.0.iter().find(|entry| entry.0 == id).map(|entry| &*entry.1)
    }

    /// The address of the bits of the value under this key, valid until the value is set again or
    /// removed. C programs get this address of values that Fortran set, as that of an integer of
    /// either width, and may write there.
    #[must_use]
    pub fn address(&mut self, id: KeyvalId) -> Option<*mut i64> {
        let entry = self.0.iter_mut().find(|entry| entry.0 == id)?;
        Some(&raw mut entry.1.bits)
    }

    /// Records the language of the value under this key, after it was set; returns whether there is
    /// a value.
    pub fn set_language(&mut self, id: KeyvalId, language: Language) -> bool {
        let entry = self.0.iter_mut().find(|entry| entry.0 == id);
        entry.map(|entry| entry.1.language = language).is_some()
    }

    /// The delete function to call before the value under this key is replaced or removed.
    #[must_use]
    pub fn deletion(&self, keyvals: &Keyvals, id: KeyvalId) -> Option<Call> {
        keyvals.call(id, *self.get(id)?)
    }

    /// Sets a value, after [`Attributes::deletion`] was dealt with.
    pub fn set(&mut self, keyvals: &mut Keyvals, id: KeyvalId, value: Value) {
        match self.0.iter_mut().find(|entry| entry.0 == id) {
            Some(entry) => *entry.1 = value,
            None => {
                keyvals.retain(id);
                self.0.push((id, Box::new(value)));
            }
        }
    }

    /// Removes a value, after its delete function was called.
    pub fn remove(&mut self, keyvals: &mut Keyvals, id: KeyvalId) -> Option<Value> {
        let at = self.0.iter().position(|entry| entry.0 == id)?;
        let (id, value) = self.0.remove(at);
        keyvals.release(id);
        Some(*value)
    }

    /// The copy functions to call when the object is duplicated; set what they return in the copy.
    #[must_use]
    pub fn copies(&self, keyvals: &Keyvals) -> Vec<Call> {
        self.0.iter().filter_map(|(id, value)| keyvals.call(*id, **value)).collect()
    }

    /// The delete functions to call before the object is freed; remove each value after its call.
    #[must_use]
    pub fn deletions(&self, keyvals: &Keyvals) -> Vec<Call> {
        self.0.iter().rev().filter_map(|(id, value)| keyvals.call(*id, **value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorClass;

    const CALLBACKS: Callbacks =
        Callbacks { copy: 1, delete: 2, extra_state: 3, language: Language::C };

    fn value(bits: i64) -> Value {
        Value { bits, language: Language::C }
    }

    #[test]
    fn a_freed_key_stays_while_it_is_used() {
        let mut keyvals = Keyvals::default();
        let mut attributes = Attributes::new();
        let key = keyvals.create(Kind::Comm, CALLBACKS).unwrap();
        assert_eq!(keyvals.check(key, Kind::Type).unwrap_err().class, ErrorClass::Keyval);
        attributes.set(&mut keyvals, key, value(7));
        keyvals.free(key, Kind::Comm).unwrap();
        // A second handle to the key frees nothing more.
        assert!(keyvals.check(key, Kind::Comm).is_ok());
        keyvals.free(key, Kind::Comm).unwrap();
        let call = attributes.deletion(&keyvals, key).unwrap();
        assert_eq!((call.callbacks, call.value.bits), (CALLBACKS, 7));
        assert_eq!(attributes.remove(&mut keyvals, key), Some(value(7)));
        assert!(keyvals.is_empty());
        assert!(keyvals.check(key, Kind::Comm).is_err() && keyvals.free(key, Kind::Comm).is_err());
        assert_eq!(attributes.remove(&mut keyvals, key), None);
    }

    #[test]
    fn copied_in_order_deleted_in_reverse() {
        let mut keyvals = Keyvals::default();
        let mut attributes = Attributes::new();
        let keys: Vec<KeyvalId> =
            (0..4).map(|_| keyvals.create(Kind::Comm, CALLBACKS).unwrap()).collect();
        for at in [2usize, 0, 3] {
            attributes.set(&mut keyvals, keys[at], value(at as i64));
        }
        let address = attributes.address(keys[0]).unwrap();
        attributes.set(&mut keyvals, keys[2], value(22));
        attributes.set(&mut keyvals, keys[1], value(1));
        assert_eq!(attributes.address(keys[0]), Some(address));
        let bits = |calls: Vec<Call>| calls.iter().map(|c| c.value.bits).collect::<Vec<_>>();
        assert_eq!(bits(attributes.copies(&keyvals)), [22, 0, 3, 1]);
        assert_eq!(bits(attributes.deletions(&keyvals)), [1, 3, 0, 22]);
        // Freeing every key and deleting every attribute leaves nothing.
        for &key in &keys {
            keyvals.free(key, Kind::Comm).unwrap();
        }
        for call in attributes.deletions(&keyvals) {
            attributes.remove(&mut keyvals, call.keyval);
        }
        assert!(attributes.is_empty() && keyvals.is_empty());
    }

    #[test]
    fn the_language_says_what_the_bits_mean() {
        let mut keyvals = Keyvals::default();
        let mut attributes = Attributes::new();
        let key = keyvals.create(Kind::Win, CALLBACKS).unwrap();
        assert!(keyvals.set_language(key, Kind::Comm, Language::FortranAddress).is_err());
        keyvals.set_language(key, Kind::Win, Language::FortranAddress).unwrap();
        assert!(!attributes.set_language(key, Language::FortranInteger));
        attributes.set(&mut keyvals, key, value(-5));
        assert!(attributes.set_language(key, Language::FortranInteger));
        let call = attributes.deletion(&keyvals, key).unwrap();
        assert_eq!(call.callbacks.language, Language::FortranAddress);
        assert_eq!(call.value, Value { bits: -5, language: Language::FortranInteger });
        // C writes an int through the address, over half of the bits.
        let address = attributes.address(key).unwrap();
        // SAFETY: the value lives and is borrowed by nobody; its low half comes first.
        unsafe { address.cast::<i32>().write(7) };
        let got = *attributes.get(key).unwrap();
        assert_eq!(got.number(), 7);
        assert_eq!(Value { language: Language::FortranAddress, ..got }.number(), got.bits);
        // A value that is set again belongs to C until its language is recorded.
        attributes.set(&mut keyvals, key, value(1 << 40));
        assert_eq!(attributes.get(key).unwrap().number(), 1 << 40);
    }
}
