//! Lines that a rank prints about its restore: every text.

use crate::base::text::Shown;
use core::fmt;

/// What a line says. The printer puts `ftmpi: rank N: ` before it.
#[derive(Debug, Clone, Copy)]
pub enum Notice<'a> {
    // The process ends.
    AreaTaken,
    RseqNotReleased,
    /// Texts for the restorer, which runs while the address space is replaced.
    BreaksOff,
    Damaged,
    MemoryNotMapped,
    ThreadStateRefused,
    /// Another reason, whose text the reserved area holds.
    Refused(Shown<'a>),

    // The process goes on.
    /// A file with another inode is in the place of the one that the rank wrote to.
    OtherFile {
        path: Shown<'a>,
    },
    /// There was another file in the place of one that this rank alone was writing.
    SetAside {
        path: Shown<'a>,
    },
    /// A file that the rank only reads has other contents than at the image.
    WrittenSince {
        path: Shown<'a>,
    },
    /// A file that the program changes in place is too large for images.
    NotTakenBack {
        path: Shown<'a>,
    },
    NotCutOthersHaveItOpen {
        path: Shown<'a>,
    },
    NotCutOtherHosts {
        path: Shown<'a>,
    },
    NotCutWrittenSince {
        path: Shown<'a>,
    },
    /// `what` is "lock" or "lease".
    LockNotTaken {
        what: &'static str,
        why: &'static str,
        path: Shown<'a>,
    },
}

impl fmt::Display for Notice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const TWICE: &str = "it is not cut to what it was at the image, and may have twice what the \
                             rank added since";
        match *self {
            Notice::AreaTaken => f.write_str("the address range that images need is taken"),
            Notice::RseqNotReleased => f.write_str("restartable sequences cannot be switched off"),
            Notice::BreaksOff => f.write_str("the image breaks off: an older one is needed"),
            Notice::Damaged => f.write_str("the image is damaged: an older one is needed"),
            Notice::MemoryNotMapped => f.write_str("the image's memory cannot be laid out here"),
            Notice::ThreadStateRefused => {
                f.write_str("the kernel refuses the state of the image's thread")
            }
            Notice::Refused(text) => write!(f, "{text}"),
            Notice::OtherFile { path } => write!(
                f,
                "{path} is another file than the one that this rank had open when its image was \
                 taken (renamed, or replaced?): the rank goes on with the file that is there now"
            ),
            Notice::SetAside { path } => write!(
                f,
                "{path} was made anew after this rank's image: the rank goes on with the file that \
                 it was writing, and the other one is now {path}.ftmpi-set-aside"
            ),
            Notice::WrittenSince { path } => write!(
                f,
                "{path}, which this rank reads, was written to after its image: the rank may read \
                 other data than before"
            ),
            Notice::NotTakenBack { path } => write!(
                f,
                "{path}, which this rank reads and writes, was written to after its image, and its \
                 contents are not in images (16 MiB at most): what was overwritten since stays"
            ),
            Notice::NotCutOthersHaveItOpen { path } => {
                write!(f, "{path} was written to since the image, and others have it open: {TWICE}")
            }
            Notice::NotCutOtherHosts { path } => write!(
                f,
                "{path} was written to since the image, and its file system does not tell whether \
                 other hosts write to it: {TWICE}"
            ),
            Notice::NotCutWrittenSince { path } => {
                write!(f, "{path} was written to by others after this rank had died: {TWICE}")
            }
            Notice::LockNotTaken { what, why, path } => write!(
                f,
                "the {what} that it had on {path} cannot be taken again ({why}); the rank goes \
                 on without it"
            ),
        }
    }
}
