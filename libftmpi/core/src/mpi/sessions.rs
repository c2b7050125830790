//! Sessions: process sets, and communicators from groups without a parent (MPI-4.1, 11.3).
//!
//! Guarantees: a session is local. The two process sets of the standard exist in every job.
//! Communicators are agreed upon among their members alone, under the program's string tag.

use super::agreement::{Scope, TAG_BITS, private_tag};
use super::{CommId, Errhandler, ErrhandlerId, Mpi, SessionId};
use crate::bail;
use crate::comm::{Comm, GENERATION_SHIFT, Members};
use crate::engine::Link;
use crate::error::Result;
use crate::group::{Group, GroupId};
use crate::info::{Info, InfoId};
use crate::session::Session;
use crate::tuning::GENERATIONS;
use std::rc::Rc;

/// Names of the process sets, in the order of their numbers.
pub const PROCESS_SETS: [&str; 2] = ["mpi://WORLD", "mpi://SELF"];

/// What a program may ask for with the hint `thread_level` (MPI-4.1, 11.3.1).
const THREAD_LEVELS: [&str; 4] =
    ["MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"];

/// What keeps the agreements of calls apart that run at the same time, in several threads.
///
/// A message has no room for a tag of the program, which is a text. So texts are numbers of 27 bits
/// (FNV-1a): 19 are the tag of a message, and 8 are a generation of the context of
/// `MPI_COMM_WORLD`. The first generation is `MPI_COMM_WORLD`'s own for ever, and the last one is
/// where leaders meet ([`new_processes`](super::new_processes)): no text has either. Two texts of
/// one number matter only if two threads of a process use both at the same moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Apart {
    /// Added to the context of `MPI_COMM_WORLD`: never 0.
    pub(super) context: u32,
    tag: i32,
}

impl Apart {
    pub(super) fn of(text: &[u8]) -> Self {
        let hash = text.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let mixed = hash ^ hash >> 32;
        let (tag, generation) = (mixed as u32 & TAG_BITS, (mixed >> TAG_BITS.count_ones()) as u32);
        let generation = 1 + generation % (GENERATIONS as u32 - 2);
        Self { context: generation << GENERATION_SHIFT, tag: tag as i32 }
    }
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
            Some(0) => Ok(self.members(CommId::WORLD)?.local.clone()),
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
        let apart = Apart::of(tag);
        let scope = Scope {
            group: group.clone(),
            me,
            remote: None,
            context: world.collective_context() | apart.context,
            tag: private_tag(apart.tag),
        };
        // As long as the exchange lasts, the death of a member ends it.
        let apart = Rc::new(Members {
            context: scope.context & !1,
            local: group.clone(),
            me,
            remote: None,
        });
        self.engine.enter_group(&apart);
        let context = match self.agree(&scope) {
            Ok(context) => context,
            Err(error) => {
                self.release_errhandler(errhandler);
                return Err(error);
            }
        };
        self.contexts.take(context);
        let mut new = Comm::new(Members { context, local: group, me, remote: None }, errhandler);
        self.engine.enter_group(&new.members);
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
        let apart = Apart::of(&[tag, b" between"].concat());
        let across = (CommId::WORLD, leader.0);
        let made =
            self.intercomm_create_apart(intra, local_leader, across, apart.tag, apart.context);
        self.comm_free(intra)?;
        made.map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::super::new_processes::MEETING;
    use super::*;
    use std::collections::BTreeMap;

    /// `MPI_COMM_WORLD` keeps what it knows of its members, whatever text a program chooses.
    #[test]
    fn no_text_has_the_context_of_the_world_or_of_a_meeting() {
        let mut seen = std::collections::BTreeSet::new();
        for number in 0..10_000_u32 {
            for text in [format!("solver-{number}").into_bytes(), number.to_le_bytes().to_vec()] {
                let context = Apart::of(&text).context;
                assert!(context != 0 && context != MEETING & !1, "{number}: {context:#x}");
                seen.insert(context);
            }
        }
        assert_eq!(seen.len(), GENERATIONS as usize - 2, "all others are used");
    }

    /// Texts as programs make them, of which many have one tag: with that alone their agreements
    /// would mix.
    #[test]
    fn texts_are_kept_apart_by_more_than_the_tag_of_a_message() {
        let mut seen: BTreeMap<i32, Vec<u32>> = BTreeMap::new();
        for number in 0..20_000 {
            let apart = Apart::of(format!("org.example.solver/{number}").as_bytes());
            assert_eq!(private_tag(apart.tag) & !(i32::MIN | (TAG_BITS as i32) << 12), 0);
            seen.entry(apart.tag).or_default().push(apart.context);
        }
        let alike: Vec<&Vec<u32>> = seen.values().filter(|contexts| contexts.len() > 1).collect();
        assert!(alike.len() > 100, "texts with one tag exist");
        let mixed = alike.iter().filter(|contexts| {
            let mut sorted = contexts.to_vec();
            sorted.sort_unstable();
            sorted.windows(2).any(|pair| pair[0] == pair[1])
        });
        assert!(mixed.count() <= 8, "the context keeps them apart");
    }
}
