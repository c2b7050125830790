//! Undo journals: files return to a wave together with the ranks that wrote them.
//!
//! Some protocols return all ranks to a wave. A file that was changed since would show them a later
//! state. So a rank that is about to destroy contents of a file saves them first, in a journal in
//! the same directory. The agents undo the changes before they start the new incarnations. This is
//! an undo log, as in Gray and Reuter, *Transaction Processing*, 1993, chapter 10.
//!
//! Guarantees:
//! * A change is in the journal before it is made. A change in the journal that was not made is
//!   undone without harm. An incarnation that ends while it writes a record leaves nothing of it.
//! * Changes are undone in the reverse of their order in the journal, no matter which rank made
//!   them, and each one once. An undone change is marked before the one before it is looked at.
//! * Only changes after the wave, by incarnations that are over, are undone.
//! * A deleted file is kept under another name until no wave needs it.
//! * Journals are not synced. What a loss of power took from a journal counts as not done. Any
//!   other damage, and a journal that cannot be opened, is an error.
//! * Nothing in a journal is trusted unchecked: it names no file outside of its directory.

mod journal;
mod journals;
mod record;
#[cfg(test)]
mod tests;

pub use journal::{Journal, forget, journal_of, roll_back};
pub use journals::{Deletion, Journals};
pub use record::{Author, BYTES_MAX, FileChange};
