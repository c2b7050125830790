//! What a user can do about the cause of a failure, in the files of `--report`.

use ftmpi_protocols::dispatcher::{Cause, Ending};

/// What the user can do about a cause, for the report.
pub fn remedy(cause: &Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::Ended(Ending::Signal(libc::SIGKILL)) => {
            "if nobody killed it: the kernel or the batch system may have, for lack of memory \
             (dmesg, memory limits)"
        }
        Cause::Ended(Ending::Memory(_)) => {
            "raise the memory limit (sbatch --mem), or use fewer ranks on each host"
        }
        Cause::Ended(Ending::Signal(
            libc::SIGSEGV | libc::SIGBUS | libc::SIGFPE | libc::SIGILL | libc::SIGABRT,
        )) => {
            "a fault of the program, or of the host's memory: if it comes again, run the program \
             under a debugger with --protocol none"
        }
        Cause::Ended(Ending::Signal(libc::SIGXCPU)) => "raise the limit on CPU time (ulimit -t)",
        Cause::Ended(Ending::Signal(libc::SIGXFSZ)) => {
            "raise the limit on the size of files (ulimit -f)"
        }
        Cause::AgentLost { .. } | Cause::HostLost { .. } => {
            "look at the host and its network: ftmpiexec --doctor -hosts HOST"
        }
        Cause::ImageUnusable { .. } => {
            "look at the disk of the images: ftmpi-ckpt verify DIR reads all of them"
        }
        Cause::ChannelBroke { .. } => "look at the network between the hosts of these ranks",
        Cause::Cut { .. } => "look at the network, or for a firewall, between these two hosts",
        Cause::Judged(_) => "the recovery file chose this: ftmpiexec --recovery show",
        Cause::OfRank { cause, .. } => return remedy(cause),
        Cause::Ended(_)
        | Cause::LeftWithoutExit
        | Cause::LogNeeded { .. }
        | Cause::Moves { .. }
        | Cause::Orphan { .. } => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_wire::Rank;

    #[test]
    fn the_remedy_of_a_rank_is_that_of_its_cause() {
        let of = |signal| remedy(&Cause::Ended(Ending::Signal(signal)));
        assert!(of(libc::SIGKILL).is_some_and(|text| text.contains("memory")));
        assert!(of(libc::SIGSEGV).is_some_and(|text| text.contains("debugger")));
        assert_eq!(of(libc::SIGUSR1), None);
        let cause = Box::new(Cause::Ended(Ending::Signal(libc::SIGKILL)));
        let cause = Cause::OfRank { rank: Rank(1), host: "h".into(), cause };
        assert_eq!(remedy(&cause), of(libc::SIGKILL));
    }
}
