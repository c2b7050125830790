//! Sessions: process sets, and communicators from groups without a parent (MPI-4.1, 11.3).
//!
//! Guarantees: a session is local. The two process sets of the standard exist in every job.
//! Communicators are agreed upon among their members alone, under the program's string tag.

use super::agreement::{Scope, private_tag};
use super::{CommId, Errhandler, ErrhandlerId, Mpi, SessionId};
use crate::bail;
use crate::comm::{Comm, Members};
use crate::engine::Link;
use crate::error::Result;
use crate::group::{Group, GroupId};
use crate::info::{Info, InfoId};
use crate::session::Session;

/// Names of the process sets, in the order of their numbers.
pub const PROCESS_SETS: [&str; 2] = ["mpi://WORLD", "mpi://SELF"];

/// What a program may ask for with the hint `thread_level` (MPI-4.1, 11.3.1).
const THREAD_LEVELS: [&str; 4] =
    ["MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"];

/// A number for the program's tag, the same on all ranks (FNV-1a).
fn number_of(tag: &[u8]) -> u32 {
    tag.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

impl<L: Link> Mpi<L> {
    /// `MPI_Session_init`
    pub fn session_init(
        &mut self,
        info: Option<InfoId>,
        errhandler: ErrhandlerId,
    ) -> Result<SessionId> {
        let info = match info {
            Some(info) => self.infos.get(info)?.clone(),
            None => Info::default(),
        };
        if let Some(level) = info.get(b"thread_level")?
            && !THREAD_LEVELS.iter().any(|known| known.as_bytes() == level)
        {
            bail!(
                InfoValue,
                "thread_level is '{}': it must be one of {}",
                String::from_utf8_lossy(level),
                THREAD_LEVELS.join(", ")
            );
        }
        self.retain_errhandler(errhandler)?;
        Ok(SessionId(self.sessions.insert(Session { errhandler, info })?))
    }

    /// `MPI_Session_finalize`
    pub fn session_finalize(&mut self, session: SessionId) -> Result<()> {
        self.buffer_detach(super::BufferOwner::Session(session))?;
        if let Some(session) = self.sessions.remove(session.0) {
            self.release_errhandler(session.errhandler);
        }
        Ok(())
    }

    pub(super) fn session(&self, id: SessionId) -> Result<&Session> {
        match self.sessions.get(id.0) {
            Some(session) => Ok(session),
            None => bail!(Session, "there is no session number {}: was it finalized?", id.0),
        }
    }

    /// Whether there is this session.
    #[must_use]
    pub fn has_session(&self, id: SessionId) -> bool {
        self.sessions.contains(id.0)
    }

    /// How many sessions are open.
    #[must_use]
    pub fn open_sessions(&self) -> usize {
        self.sessions.len()
    }

    /// `MPI_Session_get_info`: a new object, which the program frees.
    pub fn session_get_info(&mut self, session: SessionId) -> Result<InfoId> {
        let info = self.session(session)?.info.clone();
        self.infos.insert(info)
    }

    /// `MPI_Session_get_errhandler`; the program frees what it gets.
    pub fn session_get_errhandler(&mut self, session: SessionId) -> Result<ErrhandlerId> {
        let id = self.session(session)?.errhandler;
        self.retain_errhandler(id)?;
        Ok(id)
    }

    /// `MPI_Session_set_errhandler`
    pub fn session_set_errhandler(&mut self, session: SessionId, id: ErrhandlerId) -> Result<()> {
        self.session(session)?;
        self.retain_errhandler(id)?;
        if let Some(session) = self.sessions.get_mut(session.0) {
            let old = std::mem::replace(&mut session.errhandler, id);
            self.release_errhandler(old);
        }
        Ok(())
    }

    /// The error handler of this session.
    #[must_use]
    pub fn errhandler_of_session(&self, session: SessionId) -> Errhandler {
        let id = self.session(session).map_or(ErrhandlerId::FATAL, |session| session.errhandler);
        self.errhandler(id)
    }

    fn process_set(&self, name: &[u8]) -> Result<Group> {
        match PROCESS_SETS.iter().position(|known| known.as_bytes().eq_ignore_ascii_case(name)) {
            Some(0) => Ok(Group::identity(self.engine.size())),
            Some(_) => Group::new(&[self.engine.me()]),
            None => bail!(
                Arg,
                "there is no process set '{}': there are {} and {}",
                String::from_utf8_lossy(name),
                PROCESS_SETS[0],
                PROCESS_SETS[1]
            ),
        }
    }

    /// `MPI_Session_get_pset_info`: a new object, which the program frees.
    pub fn process_set_info(&mut self, session: SessionId, name: &[u8]) -> Result<InfoId> {
        self.session(session)?;
        let size = self.process_set(name)?.len().to_string();
        let mut info = Info::default();
        info.set(b"mpi_size", size.as_bytes())?;
        self.infos.insert(info)
    }

    /// `MPI_Group_from_session_pset`
    pub fn group_from_process_set(&mut self, session: SessionId, name: &[u8]) -> Result<GroupId> {
        self.session(session)?;
        let group = self.process_set(name)?;
        self.groups.insert_of(group, Some(session))
    }

    /// `MPI_Comm_create_from_group`; `None` for an empty group. The communicator belongs to the
    /// session of the group (whose buffer it may use).
    pub fn comm_create_from_group(
        &mut self,
        group: GroupId,
        tag: &[u8],
        info: Option<InfoId>,
        errhandler: ErrhandlerId,
    ) -> Result<Option<CommId>> {
        let session = self.groups.session(group)?;
        let group = self.groups.get(group)?.clone();
        if group.is_empty() {
            return Ok(None);
        }
        let Some(me) = group.local(self.engine.me()) else {
            bail!(Group, "this process is not in the group");
        };
        let info = match info {
            Some(info) => self.infos.get(info)?.clone(),
            None => Info::default(),
        };
        self.retain_errhandler(errhandler)?;
        let world = self.members(CommId::WORLD)?;
        let scope = Scope {
            group: group.clone(),
            me,
            remote: None,
            context: world.collective_context(),
            tag: private_tag(number_of(tag) as i32),
        };
        let context = match self.agree(&scope) {
            Ok(context) => context,
            Err(error) => {
                self.release_errhandler(errhandler);
                return Err(error);
            }
        };
        self.contexts.take(context);
        let mut new = Comm::new(Members { context, local: group, me, remote: None }, errhandler);
        new.info = info;
        new.session = session;
        Ok(Some(CommId(self.comms.insert(new)?)))
    }

    /// `MPI_Intercomm_create_from_groups`
    #[allow(clippy::too_many_arguments)]
    pub fn intercomm_create_from_groups(
        &mut self,
        local: GroupId,
        local_leader: u32,
        remote: GroupId,
        remote_leader: u32,
        tag: &[u8],
        info: Option<InfoId>,
        errhandler: ErrhandlerId,
    ) -> Result<Option<CommId>> {
        let Some(leader) = self.groups.get(remote)?.world(remote_leader) else {
            bail!(Rank, "remote leader {} is not in the remote group", remote_leader as i32);
        };
        let Some(intra) = self.comm_create_from_group(local, tag, info, errhandler)? else {
            return Ok(None);
        };
        // Other messages than those of the local agreement: another number.
        let number = number_of(tag).rotate_left(13) & i32::MAX as u32;
        let made =
            self.intercomm_create(intra, local_leader, CommId::WORLD, leader.0, number as i32);
        self.comm_free(intra)?;
        made.map(Some)
    }
}
