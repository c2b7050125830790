//! Attributes of communicators, datatypes and windows, with their copy and delete functions.
//!
//! Guarantees: functions of the program run while nothing of the library is borrowed, since they
//! may call MPI again, also on the same object. A copy function that fails keeps the object from
//! being duplicated. A delete function that fails keeps the attribute.
//!
//! Values know from which language they came (MPI-4.1, 19.3.7). C and its callbacks get a pointer
//! that C set as it is. Of a value that Fortran set they get the address. A C copy function that
//! returns that address (`MPI_DUP_FN` does) makes a copy of the value, which remains Fortran's. Any
//! other pointer that it returns is a value set in C. Callbacks in Fortran get the value, or the
//! bits of the pointer, and the copy keeps the kind of the original. `MPI_COMM_DUP_FN` of Fortran
//! passes C's pointers on.

use crate::calls::{
    self, enter, job, not_running, nowhere, on_comm, on_job, on_win, raise_code, raise_on_win,
};
use crate::constants::MPI_SUCCESS;
use crate::error_codes;
use crate::handle::{Comm, Datatype, Keyval, Win};
use crate::memory::Out;
use crate::predefined_attributes;
use ftmpi_core::attribute::{
    Attributes, Call, Callbacks, KeyvalId, Keyvals, Kind, Language, Value,
};
use ftmpi_core::bail;
use ftmpi_core::error::{ErrorClass, MpiError, Result};
use ftmpi_core::mpi::CommId;
use ftmpi_entry::entry;
use ftmpi_runtime::outside;
use std::ffi::{c_int, c_void};

impl Keyval {
    pub fn id(self) -> Result<KeyvalId> {
        match self.made_index() {
            Some(index) => Ok(KeyvalId(index)),
            None if self.is_permanent() => {
                bail!(Keyval, "a predefined attribute cannot be changed by the program")
            }
            None => Err(self.refuse()),
        }
    }

    /// The key of an attribute that every communicator has.
    fn is_permanent(self) -> bool {
        self.predefined_index().is_some()
    }

    fn of(id: KeyvalId) -> Self {
        Self::made(id.0)
    }
}

/// An object that carries attributes.
#[derive(Clone, Copy)]
enum Object {
    Comm(Comm),
    Type(Datatype),
    Win(Win),
}

impl Object {
    fn kind(self) -> Kind {
        match self {
            Self::Comm(_) => Kind::Comm,
            Self::Type(_) => Kind::Type,
            Self::Win(_) => Kind::Win,
        }
    }

    /// The first argument of its callbacks.
    fn handle(self) -> u32 {
        match self {
            Self::Comm(comm) => comm.0,
            Self::Type(datatype) => datatype.0,
            Self::Win(win) => win.0,
        }
    }

    /// Runs `body` on the object's attributes and the table of keys.
    fn with<R>(self, body: impl FnOnce(&mut Attributes, &mut Keyvals) -> R) -> Result<R> {
        let Some(job) = job() else { bail!(Other, "MPI does not run") };
        let (attributes, keyvals) = match self {
            Self::Comm(comm) => job.comm_attributes_mut(comm.id()?)?,
            Self::Type(datatype) => job.type_attributes_mut(datatype.id()?)?,
            Self::Win(win) => job.win_attributes_mut(win.id()?)?,
        };
        Ok(body(attributes, keyvals))
    }

    /// Brings an error of a call on this object to a handler.
    fn raise(self, call: &'static str, error: &MpiError) -> c_int {
        match self {
            Self::Comm(comm) => calls::raise(call, comm, error),
            Self::Type(_) => calls::raise(call, nowhere(), error),
            Self::Win(win) => raise_on_win(call, win, error.class.number(), &error.text),
        }
    }

    /// A function of the program returned something else than `MPI_SUCCESS`.
    fn refused(self, call: &'static str, what: &str, code: c_int) -> c_int {
        let text = format!("the program's {what} function of an attribute returned {code}");
        let code = error_codes::class_of(code).map_or(ErrorClass::Other.number(), |_| code);
        match self {
            Self::Comm(comm) => raise_code(call, comm, code, &text),
            Self::Type(_) => raise_code(call, nowhere(), code, &text),
            Self::Win(win) => raise_on_win(call, win, code, &text),
        }
    }
}

type CopyFn =
    unsafe extern "C" fn(u32, u32, *mut c_void, *mut c_void, *mut *mut c_void, *mut c_int) -> c_int;
type DeleteFn = unsafe extern "C" fn(u32, u32, *mut c_void, *mut c_void) -> c_int;

fn pointer(value: Value) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(value.number() as usize)
}

/// The value under a key as C gets it; `None`, if there is no value (any more).
fn as_c(attributes: &mut Attributes, id: KeyvalId) -> Option<*mut c_void> {
    let value = *attributes.get(id)?;
    match value.language {
        Language::C => Some(pointer(value)),
        Language::FortranInteger | Language::FortranAddress => {
            attributes.address(id).map(<*mut i64>::cast)
        }
    }
}

/// The value under a key as the functions of that key get it.
fn as_called(attributes: &mut Attributes, what: &Call) -> Option<*mut c_void> {
    match what.callbacks.language {
        Language::C => as_c(attributes, what.keyval),
        Language::FortranInteger | Language::FortranAddress => {
            attributes.get(what.keyval).copied().map(pointer)
        }
    }
}

/// Calls a delete function; `MPI_NULL_DELETE_FN` is a null pointer.
fn run_delete(object: Object, what: &Call) -> c_int {
    if what.callbacks.delete == 0 {
        return MPI_SUCCESS;
    }
    // SAFETY: the program gave this address as a delete function with these arguments.
    let function: DeleteFn = unsafe { std::mem::transmute(what.callbacks.delete) };
    let state = std::ptr::with_exposed_provenance_mut(what.callbacks.extra_state);
    let keyval = Keyval::of(what.keyval).0;
    let value = object.with(|attributes, _| as_called(attributes, what));
    // It was there a moment ago, when the call was asked for.
    let value = value.ok().flatten().unwrap_or(pointer(what.value));
    // SAFETY: as above; nothing of ours is borrowed.
    outside(|| unsafe { function(object.handle(), keyval, value, state) })
}

/// The attributes that the copy functions of an object kept, for its copy.
pub type Kept = Vec<(KeyvalId, Value)>;

fn run_copies(call: &'static str, object: Object) -> std::result::Result<Kept, c_int> {
    let wanted = match object.with(|attributes, keyvals| attributes.copies(keyvals)) {
        Ok(wanted) => wanted,
        Err(error) => return Err(object.raise(call, &error)),
    };
    let mut kept = Vec::new();
    for copy in wanted {
        if copy.callbacks.copy == 0 {
            continue; // MPI_NULL_COPY_FN
        }
        let there = object.with(|attributes, _| {
            as_called(attributes, &copy).zip(attributes.get(copy.keyval).copied())
        });
        let (given, original) = match there {
            Ok(Some(found)) => found,
            // A copy function before this one deleted it.
            Ok(None) => continue,
            Err(error) => return Err(object.raise(call, &error)),
        };
        // SAFETY: the program gave this address as a copy function with these arguments.
        let function: CopyFn = unsafe { std::mem::transmute(copy.callbacks.copy) };
        let state = std::ptr::with_exposed_provenance_mut(copy.callbacks.extra_state);
        let (mut value, mut keep): (*mut c_void, c_int) = (std::ptr::null_mut(), 0);
        let keyval = Keyval::of(copy.keyval).0;
        // SAFETY: as above; both results are ours; nothing of ours is borrowed.
        let code = outside(|| unsafe {
            function(object.handle(), keyval, state, given, &mut value, &mut keep)
        });
        if code != MPI_SUCCESS {
            return Err(object.refused(call, "copy", code));
        }
        if keep != 0 {
            let value = match copy.callbacks.language {
                // A value that the function has written there counts.
                Language::C if original.language != Language::C && value == given => object
                    .with(|attributes, _| attributes.get(copy.keyval).copied())
                    .ok()
                    .flatten()
                    .unwrap_or(original),
                Language::C => {
                    Value { bits: value.expose_provenance() as i64, language: Language::C }
                }
                Language::FortranInteger | Language::FortranAddress => {
                    Value { bits: value.expose_provenance() as i64, ..original }
                }
            };
            kept.push((copy.keyval, value));
        }
    }
    Ok(kept)
}

fn give_all(object: Object, kept: Kept) -> Result<()> {
    if kept.is_empty() {
        return Ok(());
    }
    object.with(|attributes, keyvals| {
        for (key, value) in kept {
            attributes.set(keyvals, key, value);
        }
    })
}

fn run_deletions(call: &'static str, object: Object) -> std::result::Result<(), c_int> {
    loop {
        // One at a time: a delete function may itself delete others.
        let next = match object
            .with(|attributes, keyvals| attributes.deletions(keyvals).first().copied())
        {
            Ok(Some(next)) => next,
            Ok(None) => return Ok(()),
            Err(error) => return Err(object.raise(call, &error)),
        };
        let code = run_delete(object, &next);
        if code != MPI_SUCCESS {
            return Err(object.refused(call, "delete", code));
        }
        let removed = object.with(|attributes, keyvals| attributes.remove(keyvals, next.keyval));
        if let Err(error) = removed {
            return Err(object.raise(call, &error));
        }
    }
}

/// Calls the copy functions of a communicator that is to be duplicated.
pub fn copies(call: &'static str, comm: Comm) -> std::result::Result<Kept, c_int> {
    if job().is_none() {
        return Err(not_running(call));
    }
    run_copies(call, Object::Comm(comm))
}

/// Gives what they kept to the new communicator.
pub fn give(new: CommId, kept: Kept) -> Result<()> {
    give_all(Object::Comm(Comm::of(new)), kept)
}

/// Calls the delete functions of a communicator that is to be freed.
pub fn delete_all(call: &'static str, comm: Comm) -> std::result::Result<(), c_int> {
    if job().is_none() {
        return Err(not_running(call));
    }
    run_deletions(call, Object::Comm(comm))
}

/// The same for a window.
pub fn win_delete_all(call: &'static str, win: Win) -> std::result::Result<(), c_int> {
    if job().is_none() {
        return Err(not_running(call));
    }
    run_deletions(call, Object::Win(win))
}

/// The same for a datatype.
pub fn type_copies(call: &'static str, datatype: Datatype) -> std::result::Result<Kept, c_int> {
    if job().is_none() {
        return Err(not_running(call));
    }
    run_copies(call, Object::Type(datatype))
}

/// The same for a datatype.
pub fn type_give(new: Datatype, kept: Kept) -> Result<()> {
    give_all(Object::Type(new), kept)
}

/// The same for a datatype, if this is the program's last handle to it.
pub fn type_delete_all(call: &'static str, datatype: Datatype) -> std::result::Result<(), c_int> {
    let Some(job) = job() else { return Err(not_running(call)) };
    match datatype.id().and_then(|id| job.types.is_last_handle(id)) {
        Ok(true) => run_deletions(call, Object::Type(datatype)),
        Ok(false) => Ok(()),
        Err(error) => Err(Object::Type(datatype).raise(call, &error)),
    }
}

/// Making and freeing keys.
macro_rules! keys {
    ($(fn $create:ident, fn $free:ident, $kind:ident;)*) => { $(
        #[entry(guard = enter)]
        pub extern "C" fn $create(
            copy: *mut c_void, delete: *mut c_void, keyval: Out<Keyval>, state: *mut c_void,
        ) -> c_int {
            on_job(stringify!($create), |job| {
                let callbacks = Callbacks {
                    copy: copy as usize,
                    delete: delete as usize,
                    extra_state: state.expose_provenance(),
                    language: Language::C,
                };
                keyval.put(Keyval::of(job.keyvals.create(Kind::$kind, callbacks)?))
            })
        }

        #[entry(guard = enter)]
        pub extern "C" fn $free(keyval: Out<Keyval>) -> c_int {
            on_job(stringify!($free), |job| {
                job.keyvals.free(keyval.get()?.id()?, Kind::$kind)?;
                keyval.put(Keyval::NULL)
            })
        }
    )* };
}

keys! {
    fn MPI_Comm_create_keyval, fn MPI_Comm_free_keyval, Comm;
    fn MPI_Keyval_create, fn MPI_Keyval_free, Comm;
    fn MPI_Type_create_keyval, fn MPI_Type_free_keyval, Type;
    fn MPI_Win_create_keyval, fn MPI_Win_free_keyval, Win;
}

/// `MPI_Comm_set_attr` and its like: the old value is deleted first.
fn set(call: &'static str, object: Object, keyval: Keyval, value: *mut c_void) -> c_int {
    if job().is_none() {
        return not_running(call);
    }
    let old = || -> Result<(KeyvalId, Option<Call>)> {
        let id = keyval.id()?;
        let old = object.with(|attributes, keyvals| -> Result<Option<Call>> {
            keyvals.check(id, object.kind())?;
            Ok(attributes.deletion(keyvals, id))
        })??;
        Ok((id, old))
    }();
    let (id, old) = match old {
        Ok(found) => found,
        Err(error) => return object.raise(call, &error),
    };
    if let Some(old) = old {
        let code = run_delete(object, &old);
        if code != MPI_SUCCESS {
            return object.refused(call, "delete", code);
        }
    }
    let value = Value { bits: value.expose_provenance() as i64, language: Language::C };
    match object.with(|attributes, keyvals| attributes.set(keyvals, id, value)) {
        Ok(()) => MPI_SUCCESS,
        Err(error) => object.raise(call, &error),
    }
}

fn delete(call: &'static str, object: Object, keyval: Keyval) -> c_int {
    if job().is_none() {
        return not_running(call);
    }
    let found = || -> Result<(KeyvalId, Option<Call>)> {
        let id = keyval.id()?;
        let found = object.with(|attributes, keyvals| -> Result<Option<Call>> {
            keyvals.check(id, object.kind())?;
            Ok(attributes.deletion(keyvals, id))
        })??;
        Ok((id, found))
    }();
    let (id, found) = match found {
        Ok((id, Some(found))) => (id, found),
        Ok((_, None)) => {
            let error = ErrorClass::Other.because("the object has no attribute under this key");
            return object.raise(call, &error);
        }
        Err(error) => return object.raise(call, &error),
    };
    let code = run_delete(object, &found);
    if code != MPI_SUCCESS {
        return object.refused(call, "delete", code);
    }
    match object.with(|attributes, keyvals| attributes.remove(keyvals, id)) {
        Ok(_) => MPI_SUCCESS,
        Err(error) => object.raise(call, &error),
    }
}

fn get(object: Object, keyval: Keyval, value: Out<*mut c_void>, flag: Out<c_int>) -> Result<()> {
    if let (Object::Comm(_), true) = (object, keyval.is_permanent()) {
        let Some(address) = predefined_attributes::permanent(keyval) else {
            return Err(keyval.refuse());
        };
        value.put(address)?;
        return flag.put(1);
    }
    if let (Object::Win(win), true) = (object, keyval.is_permanent()) {
        let Some(address) = predefined_attributes::of_window(win, keyval)? else {
            return Err(keyval.refuse());
        };
        value.put(address)?;
        return flag.put(1);
    }
    let id = keyval.id()?;
    let found = object.with(|attributes, keyvals| -> Result<Option<*mut c_void>> {
        keyvals.check(id, object.kind())?;
        Ok(as_c(attributes, id))
    })??;
    if let Some(found) = found {
        value.put(found)?;
    }
    flag.put(c_int::from(found.is_some()))
}

macro_rules! comm_attributes {
    ($(fn $set:ident, fn $get:ident, fn $delete:ident;)*) => { $(
        #[entry(guard = enter)]
        pub extern "C" fn $set(comm: Comm, keyval: Keyval, value: *mut c_void) -> c_int {
            set(stringify!($set), Object::Comm(comm), keyval, value)
        }

        #[entry(guard = enter)]
        pub extern "C" fn $get(
            comm: Comm, keyval: Keyval, value: Out<*mut c_void>, flag: Out<c_int>,
        ) -> c_int {
            on_comm(stringify!($get), comm, |_, _| get(Object::Comm(comm), keyval, value, flag))
        }

        #[entry(guard = enter)]
        pub extern "C" fn $delete(comm: Comm, keyval: Keyval) -> c_int {
            delete(stringify!($delete), Object::Comm(comm), keyval)
        }
    )* };
}

comm_attributes! {
    fn MPI_Comm_set_attr, fn MPI_Comm_get_attr, fn MPI_Comm_delete_attr;
    fn MPI_Attr_put, fn MPI_Attr_get, fn MPI_Attr_delete;
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Type_set_attr(
    datatype: Datatype,
    keyval: Keyval,
    value: *mut c_void,
) -> c_int {
    set("MPI_Type_set_attr", Object::Type(datatype), keyval, value)
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Type_get_attr(
    datatype: Datatype,
    keyval: Keyval,
    value: Out<*mut c_void>,
    flag: Out<c_int>,
) -> c_int {
    on_job("MPI_Type_get_attr", |_| get(Object::Type(datatype), keyval, value, flag))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Type_delete_attr(datatype: Datatype, keyval: Keyval) -> c_int {
    delete("MPI_Type_delete_attr", Object::Type(datatype), keyval)
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Win_set_attr(win: Win, keyval: Keyval, value: *mut c_void) -> c_int {
    set("MPI_Win_set_attr", Object::Win(win), keyval, value)
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Win_get_attr(
    win: Win,
    keyval: Keyval,
    value: Out<*mut c_void>,
    flag: Out<c_int>,
) -> c_int {
    on_win("MPI_Win_get_attr", win, |_, _| get(Object::Win(win), keyval, value, flag))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Win_delete_attr(win: Win, keyval: Keyval) -> c_int {
    delete("MPI_Win_delete_attr", Object::Win(win), keyval)
}

/// The requests of the Fortran library beyond the calls of C, through functions of
/// [`crate::fortran`]. The Fortran library calls the C function first, so that tools see the call.
/// These functions refuse nothing that the C function let pass. If they find no such key or value,
/// a tool with handles of its own stands between: then values are C's, in both directions.
pub mod from_fortran {
    use super::*;

    /// The kind of an object, as the two libraries number it: communicator 0, datatype 1, window 2.
    #[derive(Clone, Copy)]
    #[repr(transparent)]
    pub struct KindNumber(c_int);

    impl KindNumber {
        fn kind(self) -> Kind {
            match self.0 {
                0 => Kind::Comm,
                1 => Kind::Type,
                _ => Kind::Win,
            }
        }

        fn object(self, handle: u32) -> Object {
            match self.kind() {
                Kind::Comm => Object::Comm(Comm(handle)),
                Kind::Type => Object::Type(Datatype(handle)),
                Kind::Win => Object::Win(Win(handle)),
            }
        }
    }

    fn language(is_address: c_int) -> Language {
        if is_address != 0 { Language::FortranAddress } else { Language::FortranInteger }
    }

    /// The functions of this key are Fortran's.
    pub fn keyval(kind: KindNumber, keyval: Keyval, is_address: c_int) {
        if let (Ok(id), Some(job)) = (keyval.id(), job()) {
            let _ = job.keyvals.set_language(id, kind.kind(), language(is_address));
        }
    }

    /// The value that was set last under this key is Fortran's.
    pub fn set(kind: KindNumber, handle: u32, keyval: Keyval, is_address: c_int) {
        if let Ok(id) = keyval.id() {
            let language = language(is_address);
            let _ = kind.object(handle).with(|attributes, _| attributes.set_language(id, language));
        }
    }

    /// The value as Fortran has it.
    pub fn get(kind: KindNumber, handle: u32, keyval: Keyval) -> Option<i64> {
        let id = keyval.id().ok()?;
        let found = kind.object(handle).with(|attributes, _| attributes.get(id).copied());
        found.ok().flatten().map(Value::number)
    }
}
