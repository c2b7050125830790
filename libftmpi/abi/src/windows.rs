//! Windows: making, freeing, synchronising, queries (MPI-4.1, 12.2 and 12.5).

use crate::attributes;
use crate::calls::{anywhere, enter, on_comm, on_win, raise_on_win};
use crate::constants::{
    MPI_LOCK_EXCLUSIVE, MPI_LOCK_SHARED, MPI_MAX_OBJECT_NAME, MPI_MODE_NOCHECK, MPI_MODE_NOPRECEDE,
    MPI_MODE_NOSUCCEED, MPI_PROC_NULL, MPI_SUCCESS,
};
use crate::decode::{self, Number, fit};
use crate::error_codes;
use crate::handle::{Comm, Errhandler, Group, Info, Win};
use crate::memory::{Buf, BufMut, Out, OutText, Text};
use ftmpi_core::bail;
use ftmpi_core::mpi::{Assert, Peer};
use ftmpi_entry::entry;
use std::ffi::{c_int, c_void};

fn assertions(assert: c_int) -> Assert {
    Assert {
        no_precede: assert & MPI_MODE_NOPRECEDE != 0,
        no_succeed: assert & MPI_MODE_NOSUCCEED != 0,
        no_check: assert & MPI_MODE_NOCHECK != 0,
    }
}

/// Making windows with a unit of displacement of either width.
macro_rules! making {
    ($(fn $create:ident, fn $allocate:ident, fn $shared:ident, fn $query:ident, $unit:ty;)*) => { $(
        #[entry(guard = enter)]
        pub extern "C" fn $create(
            base: BufMut, size: isize, unit: $unit, info: Info, comm: Comm, win: Out<Win>,
        ) -> c_int {
            on_comm(stringify!($create), comm, |job, comm| {
                let info = info.optional_id()?;
                let base = decode::at(base);
                win.put(Win::of(job.win_create(base, size as i64, unit.n(), info, comm)?))
            })
        }

        #[entry(guard = enter)]
        pub extern "C" fn $allocate(
            size: isize, unit: $unit, info: Info, comm: Comm, base: Out<*mut c_void>, win: Out<Win>,
        ) -> c_int {
            on_comm(stringify!($allocate), comm, |job, comm| {
                let info = info.optional_id()?;
                let (id, at) = job.win_allocate(size as i64, unit.n(), info, comm)?;
                base.put(at.as_ptr())?;
                win.put(Win::of(id))
            })
        }

        #[entry(guard = enter)]
        pub extern "C" fn $shared(
            size: isize, unit: $unit, info: Info, comm: Comm, base: Out<*mut c_void>, win: Out<Win>,
        ) -> c_int {
            on_comm(stringify!($shared), comm, |job, comm| {
                let info = info.optional_id()?;
                let (id, at) = job.win_allocate_shared(size as i64, unit.n(), info, comm)?;
                base.put(at.as_ptr())?;
                win.put(Win::of(id))
            })
        }

        #[entry(guard = enter)]
        pub extern "C" fn $query(
            win: Win, rank: c_int, size: Out<isize>, unit: Out<$unit>, base: Out<*mut c_void>,
        ) -> c_int {
            on_win(stringify!($query), win, |job, id| {
                let rank = (rank != MPI_PROC_NULL).then_some(rank as u32);
                let (part, at) = job.win_shared_query(id, rank)?;
                size.put(part.size as isize)?;
                unit.put(fit(part.unit)?)?;
                base.put(at.as_ptr())
            })
        }
    )* };
}

making! {
    fn MPI_Win_create, fn MPI_Win_allocate, fn MPI_Win_allocate_shared, fn MPI_Win_shared_query, c_int;
    fn MPI_Win_create_c, fn MPI_Win_allocate_c, fn MPI_Win_allocate_shared_c, fn MPI_Win_shared_query_c, i64;
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Win_create_dynamic(info: Info, comm: Comm, win: Out<Win>) -> c_int {
    on_comm("MPI_Win_create_dynamic", comm, |job, comm| {
        win.put(Win::of(job.win_create_dynamic(info.optional_id()?, comm)?))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Win_attach(win: Win, base: BufMut, size: isize) -> c_int {
    on_win("MPI_Win_attach", win, |job, id| job.win_attach(id, decode::at(base), size as i64))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Win_detach(win: Win, base: Buf) -> c_int {
    on_win("MPI_Win_detach", win, |job, id| job.win_detach(id, decode::at(base)))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Win_free(win: Out<Win>) -> c_int {
    let handle = win.get().unwrap_or(Win::NULL);
    if let Err(code) = attributes::win_delete_all("MPI_Win_free", handle) {
        return code;
    }
    on_win("MPI_Win_free", handle, |job, id| {
        job.win_free(id)?;
        win.put(Win::NULL)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Win_fence(assert: c_int, win: Win) -> c_int {
    on_win("MPI_Win_fence", win, |job, id| job.win_fence(id, assertions(assert)))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Win_post(group: Group, _assert: c_int, win: Win) -> c_int {
    on_win("MPI_Win_post", win, |job, id| job.win_post(id, group.id()?))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Win_start(group: Group, _assert: c_int, win: Win) -> c_int {
    on_win("MPI_Win_start", win, |job, id| job.win_start(id, group.id()?))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Win_complete(win: Win) -> c_int {
    on_win("MPI_Win_complete", win, |job, id| job.win_complete(id))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Win_wait(win: Win) -> c_int {
    on_win("MPI_Win_wait", win, |job, id| job.win_wait(id))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Win_test(win: Win, flag: Out<c_int>) -> c_int {
    on_win("MPI_Win_test", win, |job, id| flag.put(c_int::from(job.win_test(id)?)))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Win_lock(lock_type: c_int, rank: c_int, assert: c_int, win: Win) -> c_int {
    on_win("MPI_Win_lock", win, |job, id| {
        let exclusive = match lock_type {
            MPI_LOCK_EXCLUSIVE => true,
            MPI_LOCK_SHARED => false,
            other => bail!(
                Locktype,
                "lock_type is {other}, must be MPI_LOCK_EXCLUSIVE or MPI_LOCK_SHARED"
            ),
        };
        job.win_lock(id, decode::destination(rank), exclusive, assertions(assert))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Win_unlock(rank: c_int, win: Win) -> c_int {
    on_win("MPI_Win_unlock", win, |job, id| job.win_unlock(id, decode::destination(rank)))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Win_lock_all(assert: c_int, win: Win) -> c_int {
    on_win("MPI_Win_lock_all", win, |job, id| job.win_lock_all(id, assertions(assert)))
}

/// Calls with a window only, or with a rank and a window.
macro_rules! simple {
    ($(fn $name:ident, $method:ident $(, $rank:ident)?;)*) => { $(
        #[entry(guard = enter)]
        pub extern "C" fn $name($($rank: c_int,)? win: Win) -> c_int {
            on_win(stringify!($name), win, |job, id| {
                let rank: Option<Peer> = None;
                $(let rank = rank.or(Some(decode::destination($rank)));)?
                job.$method(id, rank)
            })
        }
    )* };
}

simple! {
    fn MPI_Win_flush, win_flush, rank;
    fn MPI_Win_flush_all, win_flush;
    fn MPI_Win_flush_local, win_flush_local, rank;
    fn MPI_Win_flush_local_all, win_flush_local;
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Win_unlock_all(win: Win) -> c_int {
    on_win("MPI_Win_unlock_all", win, |job, id| job.win_unlock_all(id))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Win_sync(win: Win) -> c_int {
    on_win("MPI_Win_sync", win, |job, id| job.win_sync(id))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Win_get_group(win: Win, group: Out<Group>) -> c_int {
    on_win("MPI_Win_get_group", win, |job, id| group.put(Group::of(job.win_get_group(id)?)))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Win_set_name(win: Win, name: Text) -> c_int {
    on_win("MPI_Win_set_name", win, |job, id| job.win_set_name(id, name.get("win_name")?))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Win_get_name(
    win: Win,
    name: OutText<MPI_MAX_OBJECT_NAME>,
    length: Out<c_int>,
) -> c_int {
    if win == Win::NULL {
        return anywhere("MPI_Win_get_name", || length.put(name.put("MPI_WIN_NULL")? as c_int));
    }
    on_win("MPI_Win_get_name", win, |job, id| {
        let stored = name.put(job.win_get_name(id)?)?;
        length.put(stored as c_int)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Win_set_info(win: Win, info: Info) -> c_int {
    on_win("MPI_Win_set_info", win, |job, id| match info.optional_id()? {
        Some(info) => job.win_set_info(id, info),
        None => Ok(()),
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Win_get_info(win: Win, info: Out<Info>) -> c_int {
    on_win("MPI_Win_get_info", win, |job, id| info.put(Info::of(job.win_get_info(id)?)))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Win_set_errhandler(win: Win, handler: Errhandler) -> c_int {
    on_win("MPI_Win_set_errhandler", win, |job, id| job.win_set_errhandler(id, handler.id()?))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Win_get_errhandler(win: Win, handler: Out<Errhandler>) -> c_int {
    on_win("MPI_Win_get_errhandler", win, |job, id| {
        handler.put(Errhandler::of(job.win_get_errhandler(id)?))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Win_call_errhandler(win: Win, code: c_int) -> c_int {
    let valid = on_win("MPI_Win_call_errhandler", win, |job, id| {
        job.win_values(id)?;
        if error_codes::class_of(code).is_none() {
            bail!(Arg, "{code} is no error code");
        }
        Ok(())
    });
    if valid == MPI_SUCCESS {
        raise_on_win("MPI_Win_call_errhandler", win, code, &error_codes::text_of(code));
    }
    valid
}
