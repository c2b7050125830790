//! Info objects, which may be used before MPI begins and after it has ended (MPI-4.1, 11.4.1).

use crate::calls::{Job, enter_first};
use crate::constants::MPI_MAX_INFO_KEY;
use crate::environment::anytime;
use crate::handle::Info;
use crate::memory::{Out, OutText, OutTextOf, Text};
use ftmpi_core::error::Result;
use ftmpi_core::info::{self as core, InfoId};
use ftmpi_entry::entry;
use std::ffi::{c_char, c_int};

impl Info {
    /// The object that this handle names.
    pub fn id(self) -> Result<InfoId> {
        match (self, self.made_index()) {
            (Self::ENV, _) => Ok(InfoId::ENV),
            (_, Some(index)) if index > InfoId::ENV.0 => Ok(InfoId(index)),
            _ => Err(self.refuse()),
        }
    }

    /// The same where `MPI_INFO_NULL` is allowed.
    pub fn optional_id(self) -> Result<Option<InfoId>> {
        if self == Self::NULL { Ok(None) } else { self.id().map(Some) }
    }

    pub fn of(id: InfoId) -> Self {
        if id == InfoId::ENV { Self::ENV } else { Self::made(id.0) }
    }

    fn look(self, job: &Job) -> Result<&core::Info> {
        job.infos.get(self.id()?)
    }
}

#[entry(guard = enter_first)]
pub extern "C" fn MPI_Info_create(info: Out<Info>) -> c_int {
    anytime("MPI_Info_create", |job| info.put(Info::of(job.infos.insert(core::Info::new())?)))
}

#[entry(guard = enter_first)]
pub extern "C" fn MPI_Info_create_env(
    _argc: c_int,
    _argv: *mut *mut c_char,
    info: Out<Info>,
) -> c_int {
    anytime("MPI_Info_create_env", |job| {
        let copy = job.infos.get(InfoId::ENV)?.clone();
        info.put(Info::of(job.infos.insert(copy)?))
    })
}

#[entry(guard = enter_first)]
pub extern "C" fn MPI_Info_dup(info: Info, newinfo: Out<Info>) -> c_int {
    anytime("MPI_Info_dup", |job| {
        let copy = info.look(job)?.clone();
        newinfo.put(Info::of(job.infos.insert(copy)?))
    })
}

#[entry(guard = enter_first)]
pub extern "C" fn MPI_Info_free(info: Out<Info>) -> c_int {
    anytime("MPI_Info_free", |job| {
        job.infos.free(info.get()?.id()?)?;
        info.put(Info::NULL)
    })
}

#[entry(guard = enter_first)]
pub extern "C" fn MPI_Info_set(info: Info, key: Text, value: Text) -> c_int {
    anytime("MPI_Info_set", |job| {
        let (key, value) = (key.get("key")?, value.get("value")?);
        job.infos.get_mut(info.id()?)?.set(key, value)
    })
}

#[entry(guard = enter_first)]
pub extern "C" fn MPI_Info_delete(info: Info, key: Text) -> c_int {
    anytime("MPI_Info_delete", |job| job.infos.get_mut(info.id()?)?.delete(key.get("key")?))
}

/// The value under a key.
fn value(job: &Job, info: Info, key: Text) -> Result<Option<&[u8]>> {
    info.look(job)?.get(key.get("key")?)
}

#[entry(guard = enter_first)]
pub extern "C" fn MPI_Info_get(
    info: Info,
    key: Text,
    valuelen: c_int,
    place: OutTextOf,
    flag: Out<c_int>,
) -> c_int {
    anytime("MPI_Info_get", |job| {
        let found = value(job, info, key)?;
        if let Some(text) = found {
            // `valuelen` does not count the zero byte.
            place.put(crate::decode::length("valuelen", valuelen)?.saturating_add(1), text)?;
        }
        flag.put(c_int::from(found.is_some()))
    })
}

#[entry(guard = enter_first)]
pub extern "C" fn MPI_Info_get_string(
    info: Info,
    key: Text,
    buflen: Out<c_int>,
    place: OutTextOf,
    flag: Out<c_int>,
) -> c_int {
    anytime("MPI_Info_get_string", |job| {
        let found = value(job, info, key)?;
        if let Some(text) = found {
            // `buflen` counts the zero byte; 0 asks for the length only.
            let room = crate::decode::length("buflen", buflen.get()?)?;
            if room > 0 {
                place.put(room, text)?;
            }
            buflen.put(text.len() as c_int + 1)?;
        }
        flag.put(c_int::from(found.is_some()))
    })
}

#[entry(guard = enter_first)]
pub extern "C" fn MPI_Info_get_valuelen(
    info: Info,
    key: Text,
    valuelen: Out<c_int>,
    flag: Out<c_int>,
) -> c_int {
    anytime("MPI_Info_get_valuelen", |job| {
        let found = value(job, info, key)?;
        if let Some(text) = found {
            valuelen.put(text.len() as c_int)?;
        }
        flag.put(c_int::from(found.is_some()))
    })
}

#[entry(guard = enter_first)]
pub extern "C" fn MPI_Info_get_nkeys(info: Info, nkeys: Out<c_int>) -> c_int {
    anytime("MPI_Info_get_nkeys", |job| nkeys.put(info.look(job)?.len() as c_int))
}

#[entry(guard = enter_first)]
pub extern "C" fn MPI_Info_get_nthkey(
    info: Info,
    n: c_int,
    key: OutText<{ MPI_MAX_INFO_KEY + 1 }>,
) -> c_int {
    anytime("MPI_Info_get_nthkey", |job| {
        let found = info.look(job)?.nth_key(i64::from(n))?;
        key.put(found)?;
        Ok(())
    })
}
