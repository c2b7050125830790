//! Sentences about ranks that move without a failure, and the answers to `ftmpi-ctl`.

use crate::text::count;
use ftmpi_protocols::dispatcher::{MoveCause, Notice, Refusal};
use ftmpi_wire::job_status::{MigrationState, MigrationStatus};
use std::path::Path;
use std::time::Duration;

/// What the dispatcher reports about ranks that move, and about hosts that come and go. Empty for
/// everything else.
pub(super) fn notice(notice: &Notice) -> String {
    match notice {
        Notice::Moved { rank, from, to, image, took } => {
            let image = image.map_or_else(String::new, |(image, after)| {
                format!(", with image {image}, which took {:.2} s", after.as_secs_f64())
            });
            format!(
                "rank {rank} has moved from {from} to {to} and is at full speed after {:.2} s{image}",
                took.as_secs_f64()
            )
        }
        Notice::Stays { rank, host, why } => format!("rank {rank} stays on {host}: {why}"),
        Notice::Draining { host, cause, ranks } => {
            let what = match ranks {
                0 => "no rank is there, and none will begin there".to_owned(),
                _ => format!("{} to move; none will begin there", count(*ranks, "rank")),
            };
            format!("host {host}: {}: {what}", move_cause(cause))
        }
        Notice::Drained { host } => format!("host {host} has no ranks any more"),
        Notice::Undrained { host } => format!("host {host} takes ranks again"),
        Notice::CannotDrain { host, cause, refusal } => format!(
            "host {host}: {}, and its ranks cannot leave it: {}",
            move_cause(cause),
            self::refusal(refusal)
        ),
        Notice::HostJoined { host } => format!("host {host} has joined the job and takes ranks"),
        Notice::HostCannotJoin { host, why } => {
            format!("host {host} cannot join the job: {why}; the job goes on without it")
        }
        _ => String::new(),
    }
}

/// Why a host is emptied.
fn move_cause(cause: &MoveCause) -> String {
    match cause {
        MoveCause::Asked | MoveCause::Drained => "it is drained".to_owned(),
        MoveCause::Unhealthy { why } => format!("its health is bad ({why})"),
    }
}

/// Why a request to move ranks is refused, and what to do.
pub fn refusal(refusal: &Refusal) -> String {
    match refusal {
        Refusal::NoImages { off: true, .. } => {
            "this job takes no images (--ckpt off), and ranks move with their images only"
                .to_owned()
        }
        Refusal::NoImages { protocol, off: false } => format!(
            "the protocol {protocol} has no images, and ranks move with their images only (start the \
             job with --protocol pessimistic)"
        ),
        Refusal::NoImageOf { rank } => format!(
            "no image of rank {rank} can be taken (the job's own output says why), and ranks move \
             with their images only"
        ),
        Refusal::AlreadyThere { rank, host } => format!("rank {rank} is on {host} already"),
        Refusal::Moving { rank } => {
            format!("rank {rank} is moving; ftmpi-ctl status shows how far it is")
        }
        Refusal::RankEnds { rank } => format!("the program of rank {rank} ends or has ended"),
        Refusal::Drained { host } => {
            format!("{host} is drained and takes no ranks; ftmpi-ctl undrain {host} changes that")
        }
        Refusal::Shunned { host } => format!(
            "{host} takes no ranks, because of what has failed there (the job's own output says what); \
             ftmpi-ctl undrain {host} changes that"
        ),
        Refusal::NoRoom { host } => format!(
            "{host} has no slot for one more rank; ftmpi-ctl status shows the ranks of each host"
        ),
        Refusal::NotTogether { host } => format!(
            "ranks of {host} share memory, and under this protocol each would move on its own \
             (--protocol coordinated moves them together)"
        ),
        Refusal::NotUp { host } => {
            format!(
                "{host} is not there at the moment; ftmpi-ctl status shows the hosts that are up"
            )
        }
        Refusal::NoOtherHost { host } => format!(
            "no other host can take the ranks of {host}; ftmpi-ctl add HOST lets one join the job"
        ),
        Refusal::SharesMemory { rank, host } => format!(
            "rank {rank} shares memory with other ranks of {host}, and they move together; \
             ftmpi-ctl drain {host} moves them all"
        ),
        Refusal::Ending => "the job is about to end".to_owned(),
    }
}

/// How a migration ended, or how far it is.
pub fn migration(migration: &MigrationStatus) -> String {
    let MigrationStatus { rank, from, .. } = migration;
    let to = migration.to.as_deref().unwrap_or("another host");
    match migration.state {
        MigrationState::AwaitsImage => format!("rank {rank} on {from}: its image is being taken"),
        MigrationState::Ends => format!("rank {rank} leaves {from} for {to}"),
        MigrationState::Begins => format!("rank {rank} begins on {to}"),
        MigrationState::Done => {
            let total = migration.total_s.unwrap_or(0.0);
            let image = migration.image_s.map_or_else(String::new, |image_s| {
                format!(", of which {image_s:.2} s for its image")
            });
            format!("rank {rank} has moved from {from} to {to} in {total:.2} s{image}")
        }
        MigrationState::Failed => {
            let why = migration.why.as_deref().unwrap_or("the reason is not known");
            format!("rank {rank} stays on {from}: {why}")
        }
    }
}

/// A host that the job does not have.
pub fn no_such_host(name: &str, names: &[&str]) -> String {
    format!(
        "this job has no host `{name}`; it has {}; ftmpi-ctl add {name} lets it join",
        names.join(", ")
    )
}

/// A rank that the job does not have.
pub fn no_such_rank(rank: u32, size: usize) -> String {
    format!("this job has no rank {rank}; it has {}, from 0 on", count(size, "rank"))
}

/// A host cannot be of use to a job.
pub fn no_use_of_hosts(protocol: &str) -> String {
    format!("a job with the protocol {protocol} has no use for more hosts: its ranks cannot move")
}

/// The job listens on this machine only.
pub fn job_on_one_machine(name: &str) -> String {
    format!(
        "{name} is another machine, and this job began on one machine alone: it listens nowhere else; \
         name the host at the start (-f FILE), with the word spare if it is to have no ranks yet"
    )
}

/// The batch system gave one more node to the job.
pub fn node_joined(name: &str) -> String {
    format!("{name} has joined the allocation; it becomes a spare host")
}

/// The job takes no images.
pub fn no_images_here() -> String {
    "this job takes no images (--ckpt off, or --protocol none)".to_owned()
}

/// There would be nothing to go on from.
pub fn nothing_to_go_on_from(launcher: u32) -> String {
    format!(
        "{}; there would be nothing to go on from; to end it all the same: kill {launcher}",
        no_images_here()
    )
}

/// A user ends the job with last images.
pub fn end_asked() -> String {
    "ftmpi-ctl end: stopping the job so that it can go on later".to_owned()
}

/// The answer to that user, until the job has ended.
pub fn last_images_asked(grace: Duration) -> String {
    format!("last images are being taken, for {} s at the most", grace.as_secs_f32())
}

/// The job has ended, and a later launcher can go on.
pub fn stopped_to_go_on(directory: &Path) -> String {
    format!("the job has stopped; to go on: ftmpiexec --restart {}", directory.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_wire::Rank;

    #[test]
    fn a_refusal_says_what_to_do_instead() {
        let text = refusal(&Refusal::Drained { host: "b".into() });
        assert!(text.ends_with("ftmpi-ctl undrain b changes that"), "{text}");
        let text = refusal(&Refusal::SharesMemory { rank: Rank(3), host: "b".into() });
        assert!(text.ends_with("ftmpi-ctl drain b moves them all"), "{text}");
        let text = no_such_host("x", &["a", "b"]);
        assert!(text.contains("it has a, b; ftmpi-ctl add x"), "{text}");
    }
}
