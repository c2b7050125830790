//! Properties of a communicator: name, error handler, attributes, hints (MPI-4.1, 7.4.4, 7.7 and
//! 7.8).

use super::{CommId, ErrhandlerId, Mpi};
use crate::attribute::{Attributes, Keyvals};
use crate::bail;
use crate::engine::{Decision, Link};
use crate::errhandler::{Errhandler, FIRST_USER, Language};
use crate::error::Result;
use crate::info::InfoId;
use crate::text::within;

/// The hints of the standard for communicators (MPI-4.1, 7.4.4).
const COMM_HINTS: [&[u8]; 6] = [
    b"mpi_assert_no_any_tag",
    b"mpi_assert_no_any_source",
    b"mpi_assert_exact_length",
    b"mpi_assert_allow_overtaking",
    b"mpi_assert_strict_persistent_collective_ordering",
    b"mpi_assert_memory_alloc_kinds",
];

/// Bytes of a fact in one recorded value.
const FACT_BYTES: usize = 7;

/// `MPI_MAX_OBJECT_NAME` without the final zero.
pub(super) const NAME_MAX: usize = 127;

impl<L: Link> Mpi<L> {
    /// `MPI_Comm_create_errhandler`
    pub fn errhandler_create(
        &mut self,
        function: usize,
        language: Language,
    ) -> Result<ErrhandlerId> {
        let index = self.handlers.0.insert((Errhandler::User { function, language }, 1))?;
        Ok(ErrhandlerId(FIRST_USER + index))
    }

    /// Says that the function of a handler is not C's, after the handler was made.
    pub fn errhandler_set_language(&mut self, id: ErrhandlerId, now: Language) {
        if let Some(index) = id.0.checked_sub(FIRST_USER)
            && let Some((Errhandler::User { language, .. }, _)) = self.handlers.0.get_mut(index)
        {
            *language = now;
        }
    }

    /// `MPI_Errhandler_free`: it goes when no communicator uses it.
    pub fn errhandler_free(&mut self, id: ErrhandlerId) -> Result<()> {
        self.handlers.get(id)?;
        self.handlers.release(id);
        Ok(())
    }

    /// `MPI_Comm_set_errhandler`
    pub fn comm_set_errhandler(&mut self, comm: CommId, id: ErrhandlerId) -> Result<()> {
        self.handlers.get(id)?;
        let old = std::mem::replace(&mut self.comm_mut(comm)?.errhandler, id);
        self.handlers.retain(id);
        self.handlers.release(old);
        Ok(())
    }

    /// `MPI_Comm_get_errhandler`; the program frees what it gets.
    pub fn comm_get_errhandler(&mut self, comm: CommId) -> Result<ErrhandlerId> {
        let id = self.comm(comm)?.errhandler.or_fatal();
        self.handlers.retain(id);
        Ok(id)
    }

    /// The error handler of this communicator; without one, that of the world.
    #[must_use]
    pub fn errhandler_of(&self, comm: CommId) -> Errhandler {
        let comm = self.comm(comm).or_else(|_| self.comm(CommId::WORLD));
        comm.map_or(Errhandler::Fatal, |comm| self.errhandler(comm.errhandler))
    }

    /// The communicator on which errors without an object are raised. It is `MPI_COMM_SELF`
    /// (MPI-4.0, 9.3), if the program gave it a handler of its own. Otherwise `MPI_COMM_SELF`
    /// follows `MPI_COMM_WORLD`, and these errors do as well.
    #[must_use]
    pub fn of_no_object(&self) -> CommId {
        match self.comm(CommId::SELF) {
            Ok(own) if own.errhandler != ErrhandlerId::DEFAULT => CommId::SELF,
            _ => CommId::WORLD,
        }
    }

    /// What a handler does.
    #[must_use]
    pub fn errhandler(&self, id: ErrhandlerId) -> Errhandler {
        let worlds =
            || self.comm(CommId::WORLD).map_or(ErrhandlerId::FATAL, |comm| comm.errhandler);
        let id = if id == ErrhandlerId::DEFAULT { worlds() } else { id };
        self.handlers.get(id.or_fatal()).unwrap_or(Errhandler::Fatal)
    }

    /// One more object has this handler.
    pub(super) fn retain_errhandler(&mut self, id: ErrhandlerId) -> Result<()> {
        self.handlers.get(id)?;
        self.handlers.retain(id);
        Ok(())
    }

    /// A new communicator takes over the error handler of its parent.
    pub(super) fn inherited_errhandler(&mut self, parent: CommId) -> ErrhandlerId {
        let id = self.comm(parent).map_or(ErrhandlerId::DEFAULT, |comm| comm.errhandler);
        self.handlers.retain(id);
        id
    }

    pub(super) fn release_errhandler(&mut self, id: ErrhandlerId) {
        self.handlers.release(id);
    }

    /// `MPI_Get_processor_name`: the first answer of `ask`, in every incarnation of this rank.
    pub fn processor_name(&mut self, ask: impl FnOnce() -> Result<Vec<u8>>) -> Result<&[u8]> {
        if self.processor_name.is_none() {
            let live = ask()?;
            self.processor_name = Some(self.fact(&live));
        }
        Ok(self.processor_name.as_deref().unwrap_or_default())
    }

    /// A number that depends on timing, as the program gets it: recorded, and repeated in a replay.
    pub fn observed(&mut self, live: u64) -> u64 {
        match self.engine.decide() {
            Decision::Positive(value) => value,
            Decision::Live | Decision::Negative => {
                self.engine.answered(live);
                live
            }
        }
    }

    /// Bytes about the outside world, recorded like the answers of calls: seven at a time, each
    /// with how many there are and whether more follow.
    fn fact(&mut self, live: &[u8]) -> Vec<u8> {
        let mut known = Vec::new();
        loop {
            let rest = live.get(known.len()..).unwrap_or_default();
            let piece = &rest[..rest.len().min(FACT_BYTES)];
            let head = piece.len() as u64 | u64::from(rest.len() > FACT_BYTES) << 3;
            let value = piece.iter().rev().fold(0, |v, &byte| v << 8 | u64::from(byte));
            let value = self.observed(value << 8 | head);
            let len = (value & 7) as usize;
            known.extend(&value.to_le_bytes()[1..=len]);
            if value >> 3 & 1 == 0 {
                return known;
            }
        }
    }

    /// `MPI_Comm_set_name`; longer names are cut.
    pub fn comm_set_name(&mut self, comm: CommId, name: &[u8]) -> Result<()> {
        self.comm_mut(comm)?.name = within(name, NAME_MAX).to_vec();
        Ok(())
    }

    /// `MPI_Comm_get_name`
    pub fn comm_get_name(&self, comm: CommId) -> Result<&[u8]> {
        Ok(&self.comm(comm)?.name)
    }

    /// `MPI_Comm_set_info`: hints of the standard are added to those that were set before (MPI-4.1,
    /// 7.4.4), all others are ignored. None changes anything.
    pub fn comm_set_info(&mut self, comm: CommId, info: InfoId) -> Result<()> {
        let wanted = self.infos.get(info)?.clone();
        let hints = &mut self.comm_mut(comm)?.info;
        for (key, value) in wanted.iter().filter(|(key, _)| COMM_HINTS.contains(key)) {
            hints.set(key, value)?;
        }
        Ok(())
    }

    /// `MPI_Comm_get_info`: a new object, which the program frees.
    pub fn comm_get_info(&mut self, comm: CommId) -> Result<InfoId> {
        let info = self.comm(comm)?.info.clone();
        self.infos.insert(info)
    }

    /// The attributes of a communicator. Copy and delete functions are called by the front, with no
    /// borrow held: see [`crate::attribute`].
    pub fn comm_attributes(&self, comm: CommId) -> Result<&Attributes> {
        Ok(&self.comm(comm)?.attributes)
    }

    /// The attributes of a communicator and the keys, to be changed.
    pub fn comm_attributes_mut(&mut self, comm: CommId) -> Result<(&mut Attributes, &mut Keyvals)> {
        match self.comms.get_mut(comm.0) {
            Some(found) => Ok((&mut found.attributes, &mut self.keyvals)),
            None => bail!(Comm, "there is no communicator number {}: was it freed?", comm.0),
        }
    }

    /// The attributes of a datatype and the keys, to be changed.
    pub fn type_attributes_mut(
        &mut self,
        datatype: crate::datatype::TypeId,
    ) -> Result<(&mut Attributes, &mut Keyvals)> {
        Ok((self.types.attributes_mut(datatype)?, &mut self.keyvals))
    }
}
