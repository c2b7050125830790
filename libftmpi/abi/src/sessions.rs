//! Sessions, process sets, communicators from groups (MPI-4.1, 11.3).
//!
//! Guarantees: a session may be opened before, during, after or instead of the time from `MPI_Init`
//! to `MPI_Finalize`, and again after all were finalized. A process leaves the job when it ends.

use crate::calls::{self, Job, enter, enter_first, job, not_running, nowhere, raise, raise_to};
use crate::constants::MPI_SUCCESS;
use crate::decode::length;
use crate::environment::{anytime, end, join_again, thread_level_name};
use crate::error_codes;
use crate::handle::{Comm, Errhandler, Group, Info, Session};
use crate::memory::{Out, OutTextOf, Text};
use ftmpi_core::bail;
use ftmpi_core::error::Result;
use ftmpi_core::mpi::{self, Language, PROCESS_SETS, SessionId};
use ftmpi_entry::entry;
use std::ffi::{c_int, c_void};

impl Session {
    /// The session that this handle names.
    pub fn id(self) -> Result<SessionId> {
        self.made_index().map(SessionId).ok_or_else(|| self.refuse())
    }
}

/// Runs the body of a call on a session: its errors go to the session's error handler.
pub fn on_session(
    call: &'static str,
    session: Session,
    body: impl FnOnce(&mut Job, SessionId) -> Result<()>,
) -> c_int {
    let Some(job) = job() else { return not_running(call) };
    let id = match session.id() {
        Ok(id) if job.has_session(id) => id,
        Ok(_) => return raise(call, nowhere(), &session.refuse()),
        Err(error) => return raise(call, nowhere(), &error),
    };
    match body(job, id) {
        Ok(()) => MPI_SUCCESS,
        Err(error) => {
            let handler = job.errhandler_of_session(id);
            raise_to(call, handler, session.0, "a session", &error)
        }
    }
}

/// The handler of an error of a call that is given a handler; fatal, if the handle names none.
fn given(job: &Job, errhandler: Errhandler) -> mpi::Errhandler {
    errhandler.id().map_or(mpi::Errhandler::Fatal, |id| job.errhandler(id))
}

#[entry(guard = enter_first)]
pub extern "C" fn MPI_Session_init(
    info: Info,
    errhandler: Errhandler,
    session: Out<Session>,
) -> c_int {
    const CALL: &str = "MPI_Session_init";
    if let Err(error) = join_again() {
        return raise(CALL, nowhere(), &error);
    }
    let Some(job) = job() else { return not_running(CALL) };
    let outcome = || -> Result<()> {
        let id = job.session_init(info.optional_id()?, errhandler.id()?)?;
        session.put(Session::made(id.0))
    }();
    match outcome {
        Ok(()) => {
            ftmpi_runtime::finalize_at_exit(false);
            MPI_SUCCESS
        }
        Err(error) => {
            let handler = given(job, errhandler);
            let code = raise_to(CALL, handler, Session::NULL.0, "a session", &error);
            if calls::is_finalized() && job.open_sessions() == 0 {
                end();
            }
            code
        }
    }
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Session_finalize(session: Out<Session>) -> c_int {
    let handle = session.get().unwrap_or(Session::NULL);
    let code = on_session("MPI_Session_finalize", handle, |job, id| {
        session.put(Session::NULL)?;
        job.session_finalize(id)
    });
    if job().is_some_and(|job| job.open_sessions() == 0) {
        if calls::is_finalized() {
            end();
        } else if !calls::is_initialized() {
            ftmpi_runtime::finalize_at_exit(true);
        }
    }
    code
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Session_get_info(session: Session, info: Out<Info>) -> c_int {
    on_session("MPI_Session_get_info", session, |job, session| {
        let hints = job.session_get_info(session)?;
        // The level that was granted, independent of what was asked for (MPI-4.1, 11.3.1).
        job.infos.get_mut(hints)?.set(b"thread_level", thread_level_name().as_bytes())?;
        info.put(Info::of(hints))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Session_get_num_psets(
    session: Session,
    info: Info,
    number: Out<c_int>,
) -> c_int {
    on_session("MPI_Session_get_num_psets", session, |_, _| {
        info.optional_id()?;
        number.put(PROCESS_SETS.len() as c_int)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Session_get_nth_pset(
    session: Session,
    info: Info,
    n: c_int,
    pset_len: Out<c_int>,
    name: OutTextOf,
) -> c_int {
    on_session("MPI_Session_get_nth_pset", session, |_, _| {
        info.optional_id()?;
        let Some(found) = usize::try_from(n).ok().and_then(|n| PROCESS_SETS.get(n)) else {
            bail!(Arg, "n is {n}, but there are {} process sets", PROCESS_SETS.len());
        };
        // `pset_len` counts the zero byte; 0 asks for the length only.
        let room = length("pset_len", pset_len.get()?)?;
        if room > 0 {
            name.put(room, found)?;
        }
        pset_len.put(found.len() as c_int + 1)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Session_get_pset_info(
    session: Session,
    name: Text,
    info: Out<Info>,
) -> c_int {
    on_session("MPI_Session_get_pset_info", session, |job, session| {
        info.put(Info::of(job.process_set_info(session, name.get("pset_name")?)?))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Group_from_session_pset(
    session: Session,
    name: Text,
    group: Out<Group>,
) -> c_int {
    on_session("MPI_Group_from_session_pset", session, |job, session| {
        group.put(Group::of(job.group_from_process_set(session, name.get("pset_name")?)?))
    })
}

/// `MPI_MAX_STRINGTAG_LEN` of the standard ABI; with the other one programs have 256.
const TAG_MAX: usize = 1024;

fn string_tag<'a>(tag: Text) -> Result<&'a [u8]> {
    let tag = tag.get("stringtag")?;
    if tag.len() >= TAG_MAX {
        bail!(Arg, "stringtag has {} characters, at most {} are allowed", tag.len(), TAG_MAX - 1);
    }
    Ok(tag)
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_create_from_group(
    group: Group,
    tag: Text,
    info: Info,
    errhandler: Errhandler,
    newcomm: Out<Comm>,
) -> c_int {
    const CALL: &str = "MPI_Comm_create_from_group";
    let Some(job) = job() else { return not_running(CALL) };
    let outcome = || -> Result<()> {
        let (info, handler) = (info.optional_id()?, errhandler.id()?);
        let new = job.comm_create_from_group(group.id()?, string_tag(tag)?, info, handler)?;
        newcomm.put(Comm::of_member(new))
    }();
    match outcome {
        Ok(()) => MPI_SUCCESS,
        Err(error) => {
            let handler = given(job, errhandler);
            raise_to(CALL, handler, Comm::NULL.0, "a group", &error)
        }
    }
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Intercomm_create_from_groups(
    local_group: Group,
    local_leader: c_int,
    remote_group: Group,
    remote_leader: c_int,
    tag: Text,
    info: Info,
    errhandler: Errhandler,
    newcomm: Out<Comm>,
) -> c_int {
    const CALL: &str = "MPI_Intercomm_create_from_groups";
    let Some(job) = job() else { return not_running(CALL) };
    let outcome = || -> Result<()> {
        let (info, handler) = (info.optional_id()?, errhandler.id()?);
        let new = job.intercomm_create_from_groups(
            local_group.id()?,
            local_leader as u32,
            remote_group.id()?,
            remote_leader as u32,
            string_tag(tag)?,
            info,
            handler,
        )?;
        newcomm.put(Comm::of_member(new))
    }();
    match outcome {
        Ok(()) => MPI_SUCCESS,
        Err(error) => {
            let handler = given(job, errhandler);
            raise_to(CALL, handler, Comm::NULL.0, "two groups", &error)
        }
    }
}

#[entry(guard = enter_first)]
pub extern "C" fn MPI_Session_create_errhandler(
    function: *mut c_void,
    handler: Out<Errhandler>,
) -> c_int {
    anytime("MPI_Session_create_errhandler", |job| {
        if function.is_null() {
            bail!(Arg, "the function of an error handler is a null pointer");
        }
        handler.put(Errhandler::of(job.errhandler_create(function as usize, Language::C)?))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Session_set_errhandler(session: Session, handler: Errhandler) -> c_int {
    on_session("MPI_Session_set_errhandler", session, |job, session| {
        job.session_set_errhandler(session, handler.id()?)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Session_get_errhandler(session: Session, handler: Out<Errhandler>) -> c_int {
    on_session("MPI_Session_get_errhandler", session, |job, session| {
        handler.put(Errhandler::of(job.session_get_errhandler(session)?))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Session_call_errhandler(session: Session, code: c_int) -> c_int {
    const CALL: &str = "MPI_Session_call_errhandler";
    let mut handler = mpi::Errhandler::Fatal;
    let valid = on_session(CALL, session, |job, id| {
        if error_codes::class_of(code).is_none() {
            bail!(Arg, "{code} is no error code");
        }
        handler = job.errhandler_of_session(id);
        Ok(())
    });
    if valid == MPI_SUCCESS {
        calls::raise_code_to(
            CALL,
            handler,
            session.0,
            "a session",
            code,
            &error_codes::text_of(code),
        );
    }
    valid
}
