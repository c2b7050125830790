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
    /// A file is not cut to what it was at the image.
    NotCut {
        path: Shown<'a>,
        why: Stays,
    },
    /// A file that the program changes in place does not get its contents back.
    NotGivenBack {
        path: Shown<'a>,
        why: Stays,
    },
    /// `what` is "lock" or "lease".
    LockNotTaken {
        what: &'static str,
        why: &'static str,
        path: Shown<'a>,
    },
}

/// Why a file that was written to since the image stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stays {
    OthersHaveItOpen,
    /// At the image.
    OpenMoreThanOnce,
    /// As shared memory, by this rank.
    Mapped,
    OtherHosts,
    WrittenSince,
    /// A journal or the like lies beside it.
    Companion,
    /// Only this rank has returned, or its cluster.
    OthersGoOn,
    /// On another host, or after a start of this one: its time of birth does not tell that it is
    /// the same.
    OtherBirth,
    /// Too large, or it could not be read.
    NotInImage,
}

impl fmt::Display for Stays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stays::OthersHaveItOpen => "was written to since the image, and others have it open",
            Stays::OpenMoreThanOnce => {
                "was written to since the image, and was open more than once when it was taken"
            }
            Stays::Mapped => {
                "was written to since the image, and is shared memory that this rank has mapped"
            }
            Stays::OtherHosts => {
                "was written to since the image, and its file system does not tell whether other \
                 hosts write to it"
            }
            Stays::WrittenSince => "was written to by others after this rank had died",
            Stays::Companion => {
                "was written to since the image, and a journal of it tells of later changes"
            }
            Stays::OthersGoOn => {
                "was written to since the image, and ranks that have not returned may have written \
                 to it"
            }
            Stays::OtherBirth => {
                "was written to since the image, or is another file: it is not known to be the one \
                 of the image here"
            }
            Stays::NotInImage => {
                "was written to since the image, and its contents are not in images (16 MiB at \
                 most)"
            }
        })
    }
}

impl fmt::Display for Notice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
            Notice::NotCut { path, why } => write!(
                f,
                "{path} {why}: it is not cut to what it was at the image, and may have twice what \
                 the rank added since"
            ),
            Notice::NotGivenBack { path, why } => write!(
                f,
                "{path}, which this rank changes in place, {why}: the rank may read later data than \
                 it wrote before its image ({})",
                match why {
                    Stays::OthersGoOn => "files of MPI, or the protocol coordinated, avoid that",
                    _ => "files of MPI avoid that",
                }
            ),
            Notice::LockNotTaken { what, why, path } => write!(
                f,
                "the {what} that it had on {path} cannot be taken again ({why}); the rank goes \
                 on without it"
            ),
        }
    }
}
