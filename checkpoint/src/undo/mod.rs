//! Journals by which files return with the ranks that wrote them.
//!
//! Under a protocol that takes all ranks back to a wave and lets them go from there, a file that was
//! changed since would show them its future. So before a rank destroys what a file holds it writes down
//! what was there, in a journal beside the file, and the agents take it back before they start the new
//! lives. (An undo log, as in Gray and Reuter, *Transaction Processing*, 1993, chapter 10.)
//!
//! Guarantees:
//! * A deed is in the journal before it is done. What is in the journal and was not done is undone without
//!   harm; a life that ends in the middle of writing it down leaves nothing of it.
//! * Deeds are undone in the reverse of the order in which they were written down, whoever did them, and
//!   each one once: a deed that was undone is marked before the one before it is looked at.
//! * Only deeds of lives that are over, and that came after the wave, are undone.
//! * A file that is deleted is kept under another name until no wave is left to which it belongs.
//! * What a loss of power took from a journal, which is never synced, counts as not done; damage of any other
//!   kind, and a journal that cannot be opened, is an error.
//! * Nothing in a journal is believed unchecked: it names no file outside of its directory.

mod journal;
mod journals;
mod record;
#[cfg(test)]
mod tests;

pub use journal::{Journal, forget, journal_of, roll_back};
pub use journals::{Deletion, Journals};
pub use record::{Author, BYTES_MAX, FileChange};
