//! Error handlers (MPI-3.1, 8.3): the predefined ones and those of the program.

use crate::bail;
use crate::error::Result;
use crate::ids::ErrhandlerId;
use crate::slab::Slab;

/// The language of a function of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Called as C calls.
    C,
    /// Called as Fortran calls.
    Fortran,
    /// Called by the C++ bindings of MPICH.
    Cxx,
}

/// An error handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Errhandler {
    /// `MPI_ERRORS_ARE_FATAL`: the job ends.
    Fatal,
    /// `MPI_ERRORS_RETURN`: the call returns the error.
    Return,
    /// `MPI_ERRORS_ABORT`: the processes of the communicator end.
    Abort,
    /// A function of the program.
    User {
        /// Its address.
        function: usize,
        /// How to call it.
        language: Language,
    },
}

/// The program's error handlers; each with the number of its uses.
#[derive(Debug, Default)]
pub(crate) struct Handlers(pub(crate) Slab<(Errhandler, usize)>);

/// Predefined handlers have the first numbers.
pub(crate) const FIRST_USER: u32 = 4;

impl Handlers {
    pub(crate) fn get(&self, id: ErrhandlerId) -> Result<Errhandler> {
        Ok(match id {
            ErrhandlerId::FATAL => Errhandler::Fatal,
            ErrhandlerId::RETURN | ErrhandlerId::THROW => Errhandler::Return,
            ErrhandlerId::ABORT => Errhandler::Abort,
            ErrhandlerId(number) => {
                match number.checked_sub(FIRST_USER).and_then(|index| self.0.get(index)) {
                    Some((handler, _)) => *handler,
                    None => bail!(Arg, "there is no error handler with this handle: was it freed?"),
                }
            }
        })
    }

    pub(crate) fn retain(&mut self, id: ErrhandlerId) {
        if let Some(index) = id.0.checked_sub(FIRST_USER)
            && let Some((_, uses)) = self.0.get_mut(index)
        {
            *uses += 1;
        }
    }

    pub(crate) fn release(&mut self, id: ErrhandlerId) {
        if let Some(index) = id.0.checked_sub(FIRST_USER)
            && let Some((_, uses)) = self.0.get_mut(index)
        {
            *uses -= 1;
            if *uses == 0 {
                self.0.remove(index);
            }
        }
    }
}
