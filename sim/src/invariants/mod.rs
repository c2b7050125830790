//! What must be true in every run: one file for each invariant, with its source.
//!
//! The invariants look from outside. They hear from [`crate::observed`] what the ranks'
//! protocols do. The [`world`](crate::world) reports what ranks send, receive and take images of.
//! The loggers' files show what is stored. They tell nothing back, so a run is the same with and
//! without them. A broken invariant ends the run at the very step that broke it, with the name of
//! the invariant.
//!
//! | invariant | of | what |
//! | --- | --- | --- |
//! | [`same_results`] | all | a run with failures ends with the results of one without |
//! | [`recovery_ends`] | all | when nothing fails any more, everything finishes |
//! | [`cut_noticed`] | all | ranks whose hosts do not reach each other do not stay so |
//! | [`old_incarnations`] | all | no frame of an earlier incarnation after news of a later |
//! | [`whole_frames`] | all | nothing comes between the parts of a frame |
//! | [`single_copy`] | all | what a peer may be reading stays as it is |
//! | [`own_objects`] | all | an object takes what was sent on it, and nothing of another one |
//! | [`sends_wait`] | pessimistic | a message leaves after the events that it may reveal |
//! | [`replay_repeats`] | logging | a receive takes again the message that was recorded of it |
//! | [`stable_images`] | with a logger | no image contains an event that could be lost |
//! | [`whole_logs`] | with a logger | logs have no holes, and keep what they acknowledged |
//! | [`refused`] | with a logger | a rank that is refused for ever ends the job, with the reason |
//! | [`log_cuts`] | logging | nothing is forgotten that an offered image needs |
//! | [`only_orphans`] | optimistic | only a rank that depends on what is lost rolls back |
//! | [`no_orphan_left`] | optimistic | at the end no rank depends on what is lost |
//! | [`greatest_state`] | optimistic | all of a log is repeated that depends on nothing lost |
//! | [`consistent_cut`] | waves | no rank has received what its sender's image has not sent |
//! | [`whole_waves`] | waves | a wave counts when every image of it is durable |
//! | [`failed_clusters`] | waves | only ranks of clusters in which something failed return |
//! | [`one_process`] | all | a rank has one process, and each is of a later incarnation |
//! | [`placement`] | all | ranks begin only on hosts that take them, and slots are respected |
//! | [`promotion`] | alone | who begins in a standby has all that its rank had stored |
//! | [`drained_hosts`] | all | no rank begins on a host that is being emptied |
//! | [`suspension_ends`] | all | a suspended job has ended when its grace is over |
//! | [`last_images`] | all | a job that was suspended in order goes on from its last images |
//! | [`one_incarnation`] | waves | no incarnation begins while an old one of its cluster runs |

pub mod consistent_cut;
pub mod cut_noticed;
pub mod dependencies;
pub mod drained_hosts;
pub mod failed_clusters;
pub mod greatest_state;
pub mod last_images;
pub mod log_cuts;
pub mod no_orphan_left;
pub mod old_incarnations;
pub mod one_incarnation;
pub mod one_process;
pub mod only_orphans;
pub mod own_objects;
pub mod placement;
pub mod promotion;
pub mod recovery_ends;
pub mod refused;
pub mod replay_repeats;
pub mod same_results;
pub mod sends_wait;
pub mod single_copy;
pub mod stable_images;
pub mod suspension_ends;
pub mod whole_frames;
pub mod whole_logs;
pub mod whole_waves;

/// Ends the run: this invariant does not hold.
pub(crate) fn broken(name: &str, how: &str) -> ! {
    panic!("invariant {name} is broken: {how}")
}
