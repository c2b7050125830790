//! Why there is no image, and why an image cannot be restored: every reason and its text.
//!
//! [`ReservedArea::refuse`](crate::base::reserved_area::ReservedArea::refuse) writes the text into
//! the reserved area and gives [`Refused`], which carries the error number only.

use crate::base::syscalls::{Errno, error_text};
use crate::base::text::Shown;
use core::fmt;

/// Something was refused: the error number. The text is in the reserved area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused(pub Errno);

/// The reasons. `fd` is a descriptor of the program, `at` an address, and `path` what the kernel
/// shows.
#[derive(Debug, Clone, Copy)]
pub enum Refusal<'a> {
    // Capture and restore.
    /// A file of `/proc` or another source cannot be read.
    Unreadable {
        what: &'a str,
        errno: Errno,
    },
    /// More than the tables of an image hold.
    TooMany {
        what: &'static str,
        most: usize,
        errno: Errno,
    },
    /// The pages of a mapping cannot be looked at.
    Pages {
        at: u64,
        errno: Errno,
    },
    /// A file that is mapped cannot be read.
    MappedFileUnreadable {
        path: Shown<'a>,
        errno: Errno,
    },

    // Capture: what is known before the process is looked at.
    NotARank,
    /// A process that a rank has forked.
    ForkedProcess,
    NoReservedArea,
    /// The image child of the previous image still runs.
    PreviousImage,

    // Capture: the process as a whole.
    LayoutNotFixed,
    ChildProcesses,
    /// Ranks that share memory with this one did not stand still.
    SharersNotStopped {
        errno: Errno,
    },
    TooManySignals,
    TimerFired,
    NoImageChild {
        errno: Errno,
    },
    HeapUnknown,
    DirectoryGone {
        path: Shown<'a>,
    },
    RootChanged,
    NamespacesChanged,
    ProcessorState,
    CredentialsChanged {
        what: &'static str,
    },
    SystemV {
        what: &'static str,
        number: i32,
    },
    Unrestorable {
        what: &'a str,
    },

    // Capture: threads and timers.
    DeadlineScheduling {
        tid: i32,
    },
    TakingRobustMutex {
        tid: i32,
    },
    MainThreadEnded,
    MainThreadEndedNow,
    ThreadNotStopped {
        tid: i32,
        name: Shown<'a>,
    },
    TooManyLocksHeld {
        tid: i32,
    },
    TimersNotUnderstood,
    ProcessorTimeTimer,

    // Capture: memory.
    /// The image child lacks memory.
    NotForked,
    SharedMappingAppeared,
    SharedMemoryNotCopied {
        errno: Errno,
    },
    DeletedFilesTooLarge {
        most_mib: u64,
        path: Shown<'a>,
    },
    PathsTooLong {
        errno: Errno,
    },
    MappedFileWritten {
        path: Shown<'a>,
    },
    MappedFileReplaced {
        path: Shown<'a>,
    },
    AmongReserved {
        at: u64,
        ranges: [usize; 4],
    },
    MapsUnsupported {
        what: &'static str,
        path: Shown<'a>,
    },
    SharedMemoryMappedTwice {
        at: u64,
    },
    MapsNamelessFile {
        path: Shown<'a>,
    },
    MemoryUnsupported {
        what: &'static str,
        at: u64,
    },

    // Capture: descriptors.
    DescriptorUnreadable {
        fd: i32,
        errno: Errno,
    },
    DescriptorUnsupported {
        fd: i32,
        what: &'a str,
        path: Shown<'a>,
    },
    DescriptorAmongLibrary {
        fd: i32,
        first: i32,
        path: Shown<'a>,
    },
    PipeToOthers {
        fd: i32,
        path: Shown<'a>,
    },
    PipeOpenedTwice {
        fd: i32,
        path: Shown<'a>,
    },
    NamelessFileTooLarge {
        fd: i32,
        path: Shown<'a>,
        mib: u64,
        most_mib: u64,
    },
    NamelessFileShared {
        fd: i32,
        path: Shown<'a>,
        process: u64,
    },
    ContentsNotCopied {
        fd: i32,
        path: Shown<'a>,
        errno: Errno,
    },
    SignalsToOthers {
        fd: i32,
        path: Shown<'a>,
        number: i32,
    },
    LeaseBreaking {
        fd: i32,
    },
    LockUnknown {
        fd: i32,
    },

    // Restore: the image and this host.
    /// The image is not as it was written.
    Damaged {
        what: &'a str,
    },
    OtherVersion,
    OtherRank {
        rank: u32,
    },
    /// The image does not fit this host.
    Misfit {
        what: &'static str,
        remedy: &'static str,
    },
    MappedFileChanged {
        path: Shown<'a>,
    },
    WrongBuild,
    NotExecutable {
        errno: Errno,
    },
    TooManyKernelMappings,

    // Restore: the parts of the process.
    NotMade {
        fd: i32,
        path: Shown<'a>,
        errno: Errno,
    },
    NotFilled {
        fd: i32,
        errno: Errno,
    },
    NotSealed {
        fd: i32,
        errno: Errno,
    },
    NotOpened {
        fd: i32,
        path: Shown<'a>,
        errno: Errno,
    },
    OtherKindOfFile {
        path: Shown<'a>,
    },
    FileReplaced {
        fd: i32,
        path: Shown<'a>,
    },
    OwnerNotSet {
        fd: i32,
        errno: Errno,
    },
    GuardsNotMade {
        at: u64,
        errno: Errno,
    },
    NoDirectory {
        path: Shown<'a>,
        errno: Errno,
    },
    ThreadsNotMade {
        count: u32,
        errno: Errno,
    },
    ThreadStateRefused {
        errno: Errno,
    },
    TimerNotMade {
        id: i32,
        errno: Errno,
    },
}

impl Refusal<'_> {
    /// The error number that `capture` gives its caller.
    pub fn errno(&self) -> Errno {
        use Refusal as R;
        match *self {
            R::Unreadable { errno, .. }
            | R::TooMany { errno, .. }
            | R::Pages { errno, .. }
            | R::MappedFileUnreadable { errno, .. }
            | R::SharersNotStopped { errno }
            | R::NoImageChild { errno }
            | R::SharedMemoryNotCopied { errno }
            | R::PathsTooLong { errno }
            | R::DescriptorUnreadable { errno, .. }
            | R::ContentsNotCopied { errno, .. }
            | R::NotExecutable { errno }
            | R::NotMade { errno, .. }
            | R::NotFilled { errno, .. }
            | R::NotSealed { errno, .. }
            | R::NotOpened { errno, .. }
            | R::OwnerNotSet { errno, .. }
            | R::GuardsNotMade { errno, .. }
            | R::NoDirectory { errno, .. }
            | R::ThreadsNotMade { errno, .. }
            | R::ThreadStateRefused { errno }
            | R::TimerNotMade { errno, .. } => errno,
            R::LayoutNotFixed
            | R::RootChanged
            | R::NamespacesChanged
            | R::ProcessorState
            | R::CredentialsChanged { .. }
            | R::SystemV { .. }
            | R::Unrestorable { .. }
            | R::DeadlineScheduling { .. }
            | R::MainThreadEnded
            | R::ProcessorTimeTimer
            | R::NotForked
            | R::DeletedFilesTooLarge { .. }
            | R::AmongReserved { .. }
            | R::MapsUnsupported { .. }
            | R::SharedMemoryMappedTwice { .. }
            | R::MapsNamelessFile { .. }
            | R::MemoryUnsupported { .. }
            | R::DescriptorUnsupported { .. }
            | R::DescriptorAmongLibrary { .. }
            | R::PipeToOthers { .. }
            | R::PipeOpenedTwice { .. }
            | R::NamelessFileShared { .. }
            | R::SignalsToOthers { .. }
            | R::LockUnknown { .. } => libc::EOPNOTSUPP,
            // These reasons pass: the caller tries again later.
            R::TooManySignals
            | R::TimerFired
            | R::TakingRobustMutex { .. }
            | R::MainThreadEndedNow
            | R::ThreadNotStopped { .. }
            | R::TooManyLocksHeld { .. }
            | R::MappedFileWritten { .. }
            | R::LeaseBreaking { .. } => libc::EAGAIN,
            R::NotARank => libc::ESRCH,
            R::ForkedProcess => libc::EPERM,
            R::PreviousImage | R::ChildProcesses => libc::EBUSY,
            R::HeapUnknown => libc::EACCES,
            R::DirectoryGone { .. } => libc::ENOENT,
            R::TimersNotUnderstood | R::SharedMappingAppeared | R::Damaged { .. } => libc::EIO,
            R::MappedFileReplaced { .. } | R::FileReplaced { .. } => libc::ESTALE,
            R::NamelessFileTooLarge { .. } => libc::EFBIG,
            R::OtherVersion
            | R::OtherRank { .. }
            | R::Misfit { .. }
            | R::MappedFileChanged { .. } => libc::ENOEXEC,
            R::WrongBuild | R::OtherKindOfFile { .. } => libc::EINVAL,
            R::NoReservedArea | R::TooManyKernelMappings => libc::ENOMEM,
        }
    }
}

impl fmt::Display for Refusal<'_> {
    // Long: one text for each reason, and the compiler sees that none is missing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use Refusal as R;
        match *self {
            R::Unreadable { what, errno } => {
                write!(f, "{what} cannot be read: {}", error_text(errno))
            }
            R::TooMany { what, most, .. } => {
                write!(f, "the program has more than {most} {what}, which an image cannot contain")
            }
            R::Pages { at, errno } => {
                write!(f, "the pages at {at:#x} cannot be read: {}", error_text(errno))
            }
            R::MappedFileUnreadable { path, errno } => {
                write!(f, "{path}, which the program maps, cannot be read: {}", error_text(errno))
            }
            R::NotARank => f.write_str("this process is not a rank"),
            R::ForkedProcess => f.write_str("a process that a rank has started is not the rank"),
            R::NoReservedArea => f.write_str(
                "the address range that images need is taken (a sanitizer, or a limit on address \
                 space)",
            ),
            R::PreviousImage => f.write_str("the image before this one is still being written"),
            R::LayoutNotFixed => f.write_str(
                "the address layout of this process is not fixed: no image of it could be \
                 restored; allow the system call 'personality' on this host",
            ),
            R::ChildProcesses => {
                f.write_str("the program has started other processes that have not ended yet")
            }
            R::SharersNotStopped { .. } => {
                f.write_str("ranks that share memory with this rank did not all stop in time")
            }
            R::TooManySignals => f.write_str("too many signals are pending for the program"),
            R::TimerFired => f.write_str("a timer of the program fired just now"),
            R::NoImageChild { errno } => {
                write!(f, "no process for the image can be made: {}", error_text(errno))
            }
            R::HeapUnknown => f.write_str("the kernel does not tell where the heap begins"),
            R::DirectoryGone { path } => write!(
                f,
                "the working directory ({path}) was deleted or renamed: no other process could \
                 go there"
            ),
            R::RootChanged => f.write_str(
                "the program has changed its root directory since it began: an image would come \
                 back with the old one",
            ),
            R::NamespacesChanged => f.write_str(
                "the program has changed its namespaces since it began (unshare, setns): an \
                 image would come back in the old ones",
            ),
            R::ProcessorState => f.write_str(
                "the program has asked for processor state that an image cannot contain (tiles \
                 of AMX): switch the use of AMX off",
            ),
            R::CredentialsChanged { what } => write!(
                f,
                "the program has changed its {what} since it began: an image would come back \
                 with the old ones"
            ),
            R::SystemV { what, number } => write!(
                f,
                "the program uses System V {what} {number}), which an image cannot contain"
            ),
            R::Unrestorable { what } => {
                write!(f, "an image of this process could not be restored: {what}")
            }
            R::DeadlineScheduling { tid } => write!(
                f,
                "thread {tid} of the program is scheduled by deadline (SCHED_DEADLINE), which an \
                 image cannot contain"
            ),
            R::TakingRobustMutex { tid } => write!(
                f,
                "thread {tid} of the program is in pthread_cond_wait and takes its robust mutex \
                 again, or gives it back"
            ),
            R::MainThreadEnded => f.write_str(
                "the program's main thread has ended (pthread_exit) before the others, which an \
                 image cannot contain",
            ),
            R::MainThreadEndedNow => f.write_str("the program's main thread has just ended"),
            R::ThreadNotStopped { tid, name } => write!(
                f,
                "thread {tid} of the program ({name}) cannot be stopped: it blocks all signals, \
                 as helper threads of the C library do, or waits in the kernel"
            ),
            R::TooManyLocksHeld { tid } => {
                write!(f, "thread {tid} of the program holds too many recursive locks")
            }
            R::TimersNotUnderstood => f.write_str("/proc/self/timers cannot be understood"),
            R::ProcessorTimeTimer => f.write_str(
                "the program has a timer on the processor time of a process or thread \
                 (timer_create), which an image cannot contain",
            ),
            R::NotForked => f.write_str(
                "the program has memory that a copy of the process does not get (madvise \
                 DONTFORK), as drivers of network cards make it",
            ),
            R::SharedMappingAppeared => {
                f.write_str("a shared mapping appeared while the image was taken")
            }
            R::SharedMemoryNotCopied { errno } => {
                write!(f, "shared memory cannot be copied: {}", error_text(errno))
            }
            R::DeletedFilesTooLarge { most_mib, path } => write!(
                f,
                "the program maps more than {most_mib} MiB of files that were deleted ({path})"
            ),
            R::PathsTooLong { .. } => f.write_str("the paths of the mapped files are too long"),
            R::MappedFileWritten { path } => write!(
                f,
                "{path}, which the program maps, was written to while the image was taken"
            ),
            R::MappedFileReplaced { path } => {
                write!(f, "{path}, which the program maps, was replaced by another file")
            }
            R::AmongReserved { at, ranges: [area, area_end, copies, window_end] } => write!(
                f,
                "the program has memory of its own at {at:#x}, among addresses that images need \
                 ({area:#x} to {area_end:#x}, {copies:#x} to {window_end:#x})"
            ),
            R::MapsUnsupported { what, path } => {
                write!(f, "the program maps {what} ({path}), which an image cannot contain")
            }
            R::SharedMemoryMappedTwice { at } => write!(
                f,
                "the program has mapped the same shared memory twice (mremap, at {at:#x}), which \
                 an image cannot contain"
            ),
            R::MapsNamelessFile { path } => write!(
                f,
                "the program maps a file without a name ({path}) that it does not have open \
                 itself, or that others share; an image cannot contain it"
            ),
            R::MemoryUnsupported { what, at } => {
                write!(f, "the program has {what} at {at:#x}, which an image cannot contain")
            }
            R::DescriptorUnreadable { fd, errno } => {
                write!(f, "descriptor {fd} cannot be examined: {}", error_text(errno))
            }
            R::DescriptorUnsupported { fd, what, path } => write!(
                f,
                "descriptor {fd} of the program is {what} ({path}), which an image cannot contain"
            ),
            R::DescriptorAmongLibrary { fd, first, path } => write!(
                f,
                "descriptor {fd} of the program ({path}) has a number from {first} on, where the \
                 library keeps its own: keep fewer files open at once, or duplicate them to \
                 lower numbers"
            ),
            R::PipeToOthers { fd, path } => write!(
                f,
                "descriptor {fd} of the program is a pipe ({path}) whose other end is not the \
                 program's, which an image cannot contain"
            ),
            R::PipeOpenedTwice { fd, path } => write!(
                f,
                "descriptor {fd} of the program is a pipe ({path}) that was opened several \
                 times, which an image cannot contain"
            ),
            R::NamelessFileTooLarge { fd, path, mib, most_mib } => write!(
                f,
                "descriptor {fd} of the program is a file without a name ({path}) of {mib} MiB: \
                 up to {most_mib} MiB can be part of an image"
            ),
            R::NamelessFileShared { fd, path, process } => write!(
                f,
                "descriptor {fd} of the program is a file without a name ({path}) that process \
                 {process} has open, too; an image cannot contain it"
            ),
            R::ContentsNotCopied { fd, path, errno } => write!(
                f,
                "the contents of descriptor {fd} ({path}) cannot be copied: {}",
                error_text(errno)
            ),
            R::SignalsToOthers { fd, path, number } => write!(
                f,
                "descriptor {fd} of the program ({path}) sends its signals to process {number} \
                 (F_SETOWN), which an image cannot contain"
            ),
            R::LeaseBreaking { fd } => write!(
                f,
                "another process breaks the lease that the program has on descriptor {fd}"
            ),
            R::LockUnknown { fd } => write!(
                f,
                "descriptor {fd} of the program has a lock of an unknown kind, which an image \
                 cannot contain"
            ),
            R::Damaged { what } => {
                write!(f, "the image is damaged ({what}): an older one is needed")
            }
            R::OtherVersion => f.write_str(
                "the image was made by another version of ftmpi, or for another machine: use the \
                 ftmpi that made it",
            ),
            R::OtherRank { rank } => write!(f, "the image is of rank {rank}"),
            R::Misfit { what, remedy } => write!(f, "{what}: {remedy}"),
            R::MappedFileChanged { path } => write!(
                f,
                "{path} is not the file that it was when the image was taken: put that file back"
            ),
            R::WrongBuild => f.write_str("the boot library is not built as it should be"),
            R::NotExecutable { .. } => f.write_str("memory cannot be made executable here"),
            R::TooManyKernelMappings => f.write_str("the kernel has too many mappings of its own"),
            R::NotMade { fd, path, errno } => {
                write!(f, "descriptor {fd} ({path}) cannot be made again: {}", error_text(errno))
            }
            R::NotFilled { fd, errno } => {
                write!(f, "descriptor {fd} cannot be filled again: {}", error_text(errno))
            }
            R::NotSealed { fd, errno } => write!(
                f,
                "mode and seals of descriptor {fd} cannot be set again: {}",
                error_text(errno)
            ),
            R::NotOpened { fd, path, errno } => write!(
                f,
                "{path}, which was open as descriptor {fd}, cannot be opened again: {}",
                error_text(errno)
            ),
            R::OtherKindOfFile { path } => write!(f, "{path} is now another kind of file"),
            R::FileReplaced { fd, path } => write!(
                f,
                "{path}, which was open as descriptor {fd}, is not the file that it was when the \
                 image was taken: it was replaced since"
            ),
            R::OwnerNotSet { fd, errno } => write!(
                f,
                "the owner of descriptor {fd} (F_SETOWN) cannot be set again: {}",
                error_text(errno)
            ),
            R::GuardsNotMade { at, errno } => {
                write!(f, "the guard pages at {at:#x} cannot be made again: {}", error_text(errno))
            }
            R::NoDirectory { path, errno } => {
                write!(f, "the working directory {path} is gone: {}", error_text(errno))
            }
            R::ThreadsNotMade { count, errno } => write!(
                f,
                "the {count} threads of the image cannot be made: {} (is 'ulimit -u' too low \
                 here?)",
                error_text(errno)
            ),
            R::ThreadStateRefused { errno } => write!(
                f,
                "the kernel refuses the state of a thread of the image: {}",
                error_text(errno)
            ),
            R::TimerNotMade { id, errno } => {
                write!(f, "timer {id} of the image cannot be made again: {}", error_text(errno))
            }
        }
    }
}
