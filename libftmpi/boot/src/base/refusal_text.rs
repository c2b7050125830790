//! The text of each refusal: what happened, and what to do.

use crate::base::refusal::{Misfit, Refusal};
use crate::base::syscalls::error_text;
use core::fmt;

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, remedy) = match self {
            Misfit::Randomised => (
                "stack or heap are elsewhere than in the image, and this kernel cannot be told so",
                "allow personality(ADDR_NO_RANDOMIZE), or a kernel with CONFIG_CHECKPOINT_RESTORE",
            ),
            Misfit::Processor => (
                "the image was taken on a processor with more instructions, or with other registers",
                "restart this rank on a host whose processor has all that the first one has",
            ),
            Misfit::StackLimit => (
                "the limit on the stack is not the one of the image",
                "set the same 'ulimit -s' on all hosts",
            ),
            Misfit::AddressSpaceLimit => (
                "the limit on address space is not the one of the image",
                "set the same 'ulimit -v' on all hosts",
            ),
            Misfit::Kernel => (
                "the image was taken on another kernel, inside of a call of its vDSO",
                "restart this rank on a host with the same kernel, or from another image",
            ),
            Misfit::CLibrary => (
                "the C library is another one than in the image",
                "restart this rank on a host with the same C library",
            ),
        };
        write!(f, "{what}: {remedy}")
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
                "heap and stack of a restored process cannot be placed: allow the system call \
                 'personality' on this host, or use a kernel with CONFIG_CHECKPOINT_RESTORE",
            ),
            R::ChildProcesses => f.write_str(
                "the program has started other processes, and the kernel does not show them (a \
                 kernel with CONFIG_PROC_CHILDREN is needed)",
            ),
            R::CallAboutChildren => f.write_str(
                "the program has children, and a thread is inside of a function such as waitpid or \
                 system, or has just left it by a jump: the next image is tried as usual",
            ),
            R::ChildLives { pid, command, why } => write!(
                f,
                "process {pid} ({command}), which the program has started, has not ended and \
                 cannot be in images: {why}; wait for it, or end it"
            ),
            R::ChildHasChildren => f.write_str("it has children of its own"),
            R::SharesMemoryWithRank => {
                f.write_str("it has memory or objects that it may share with the rank")
            }
            R::RankGaveUp => f.write_str("the rank has given up"),
            R::PopenStream => {
                f.write_str("the program has more than 64 streams of 'popen' open: call 'pclose'")
            }
            R::ChildOfAnotherGroup { pid } => write!(
                f,
                "process {pid}, which the program has started and not waited for, has the process \
                 group of another process"
            ),
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
            R::SystemV { what, why, number } => {
                write!(f, "the program uses System V {what} (number {number}) {why}")
            }
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
            R::EventsNotRead { fd } => write!(
                f,
                "the program has not read the events of its inotify descriptor {fd}: an image is \
                 taken when it has"
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
            R::Misfit(misfit) => write!(f, "{misfit}"),
            R::MappedFileChanged { path } => write!(
                f,
                "{path} is not the file that it was when the image was taken: put that file back"
            ),
            R::Standby { what } => {
                write!(f, "the program has {what}, which a second process cannot have beside it")
            }
            R::WrongBuild => f.write_str("the boot library is not built as it should be"),
            R::NotExecutable { .. } => f.write_str("memory cannot be made executable here"),
            R::VdsoStays { errno } => write!(
                f,
                "the image was taken on another kernel, and this kernel does not let its vDSO move ({}): restart this \
                 rank on a host with the kernel of the image",
                error_text(errno)
            ),
            R::TooManyKernelMappings => f.write_str("the kernel has too many mappings of its own"),
            R::NotMade { fd, path, errno } => {
                write!(f, "descriptor {fd} ({path}) cannot be made again: {}", error_text(errno))
            }
            R::NotFilled { fd, errno } => {
                write!(f, "descriptor {fd} cannot be filled again: {}", error_text(errno))
            }
            R::SocketNotMade { fd, errno } => write!(
                f,
                "the socket that was descriptor {fd} cannot be made again on this host, with its \
                 address: {}",
                error_text(errno)
            ),
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
            R::NotGivenBack { path, errno } => write!(
                f,
                "{path} cannot get back the contents that it had at the image: {}; mend that (room \
                 on its disk?) and continue the job with --restart",
                error_text(errno)
            ),
            R::OtherKindOfFile { path } => write!(f, "{path} is now another kind of file"),
            R::FileReplaced { fd, path } => write!(
                f,
                "the file {path}, which was open as descriptor {fd}, is another file than when the \
                 image was taken, and nobody has kept that file: put it back, or begin anew"
            ),
            R::FileGone { fd, path } => write!(
                f,
                "the file {path}, which was open as descriptor {fd}, was removed or renamed since \
                 the image, and nobody has kept it: put it back, or begin anew"
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
            R::NoChildAgain { errno } => write!(
                f,
                "a child of the program that had ended cannot be made again: {}",
                error_text(errno)
            ),
            R::ChildNotAgain { pid, program, errno } => write!(
                f,
                "process {pid} ({program}), which the program had started, cannot be started \
                 again: {}",
                error_text(errno)
            ),
            R::SystemVNotMade { errno } => write!(
                f,
                "System V memory, semaphores or queues of the image cannot be made again: {}",
                error_text(errno)
            ),
            R::TimerNotMade { id, errno } => {
                write!(f, "timer {id} of the image cannot be made again: {}", error_text(errno))
            }
        }
    }
}
