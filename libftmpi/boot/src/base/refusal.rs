//! Why there is no image, and why an image cannot be restored: every reason. The texts are in
//! [`crate::base::refusal_text`].
//!
//! [`ReservedArea::refuse`](crate::base::reserved_area::ReservedArea::refuse) writes the text into
//! the reserved area and gives [`Refused`], which carries the error number only.

use crate::base::syscalls::Errno;
use crate::base::text::Shown;

/// Something was refused: the error number. The text is in the reserved area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused(pub Errno);

/// What must be equal in an image and on the host that restores it.
#[derive(Debug, Clone, Copy)]
pub enum Misfit {
    /// Addresses are randomised.
    Randomised,
    Processor,
    StackLimit,
    AddressSpaceLimit,
    Kernel,
    CLibrary,
}

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
    /// The kernel does not show the children.
    ChildProcesses,
    /// A call that takes numbers of children is on its way.
    CallAboutChildren,
    /// A child lives, and cannot be part of the image.
    ChildLives {
        pid: i32,
        command: Shown<'a>,
        why: Shown<'a>,
    },
    // Of a child of a rank.
    ChildHasChildren,
    SharesMemoryWithRank,
    /// The rank does not want the image any more.
    RankGaveUp,
    /// The C library waits for the child of `popen` by itself.
    PopenStream,
    /// A child has ended whose process group cannot be made again.
    ChildOfAnotherGroup {
        pid: i32,
    },
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
        why: &'static str,
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
    /// Events of `inotify`.
    EventsNotRead {
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
    Misfit(Misfit),
    MappedFileChanged {
        path: Shown<'a>,
    },
    /// A process beside the one of the image would be noticed.
    Standby {
        what: &'static str,
    },
    WrongBuild,
    NotExecutable {
        errno: Errno,
    },
    TooManyKernelMappings,
    /// The kernel's vDSO cannot be moved, or nothing can be put where the image had its own.
    VdsoStays {
        errno: Errno,
    },

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
    SocketNotMade {
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
    /// The file is open, but its contents of the image cannot be written to it.
    NotGivenBack {
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
    /// Nothing is at its path.
    FileGone {
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
    /// Memory of System V.
    SystemVNotMade {
        errno: Errno,
    },
    /// A child that had ended.
    NoChildAgain {
        errno: Errno,
    },
    /// A child that lived.
    ChildNotAgain {
        pid: i32,
        program: Shown<'a>,
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
            | R::SocketNotMade { errno, .. }
            | R::NotSealed { errno, .. }
            | R::NotOpened { errno, .. }
            | R::NotGivenBack { errno, .. }
            | R::OwnerNotSet { errno, .. }
            | R::GuardsNotMade { errno, .. }
            | R::NoDirectory { errno, .. }
            | R::ThreadsNotMade { errno, .. }
            | R::ThreadStateRefused { errno }
            | R::TimerNotMade { errno, .. }
            | R::SystemVNotMade { errno }
            | R::NoChildAgain { errno }
            | R::ChildNotAgain { errno, .. }
            | R::VdsoStays { errno } => errno,
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
            | R::LeaseBreaking { .. }
            | R::EventsNotRead { .. } => libc::EAGAIN,
            R::NotARank => libc::ESRCH,
            R::ForkedProcess => libc::EPERM,
            R::PreviousImage
            | R::ChildProcesses
            | R::CallAboutChildren
            | R::ChildLives { .. }
            | R::ChildHasChildren
            | R::SharesMemoryWithRank
            | R::RankGaveUp
            | R::PopenStream
            | R::ChildOfAnotherGroup { .. } => libc::EBUSY,
            R::HeapUnknown => libc::EACCES,
            R::DirectoryGone { .. } => libc::ENOENT,
            R::TimersNotUnderstood | R::SharedMappingAppeared | R::Damaged { .. } => libc::EIO,
            R::MappedFileReplaced { .. } | R::FileReplaced { .. } | R::FileGone { .. } => {
                libc::ESTALE
            }
            R::NamelessFileTooLarge { .. } => libc::EFBIG,
            R::OtherVersion
            | R::OtherRank { .. }
            | R::Misfit(_)
            | R::MappedFileChanged { .. }
            | R::Standby { .. } => libc::ENOEXEC,
            R::WrongBuild | R::OtherKindOfFile { .. } => libc::EINVAL,
            R::NoReservedArea | R::TooManyKernelMappings => libc::ENOMEM,
        }
    }
}
