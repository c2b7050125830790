//! Nodes that join the Slurm allocation of a running job (`scontrol update`, an expanded job): each
//! becomes a spare host.
//!
//! Slurm tells nobody that a job has got more nodes, so the launcher asks from time to time, and
//! rarely: all jobs of a cluster ask the same controller. `ftmpi-ctl add` needs no question.
//!
//! Guarantee: only nodes that join count. A node of the allocation at the start that the job does
//! not use, because the user names the hosts, stays unused.

use super::Launcher;
use super::events::LauncherEvent;
use super::notices;
use crate::cli::{Plan, Starter, nodes_of_list};
use crate::machine::Machine;
use crate::tuning::{ALLOCATION_ANSWER_LIMIT, ALLOCATION_LOOK};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tokio::process::Command;
use tokio::sync::mpsc;

/// Asks Slurm from time to time, and reports the nodes when they are not those of the last time.
pub(super) fn watch(plan: &Plan, events: &mpsc::UnboundedSender<LauncherEvent>) {
    let Starter::Srun(srun) = &plan.starter else { return };
    let at_start = std::env::var("SLURM_JOB_NODELIST").ok().and_then(|list| nodes_of_list(&list));
    let (Ok(job), Some(at_start)) = (std::env::var("SLURM_JOB_ID"), at_start) else { return };
    let all_used = at_start.iter().all(|node| plan.machines.iter().any(|m| m.name == *node));
    if !plan.traits.is_fault_tolerant() || !all_used {
        return;
    }
    tokio::spawn(ask_again(beside(&srun[0]), job, at_start, events.clone()));
}

/// `squeue` where this `srun` is.
fn beside(srun: &str) -> PathBuf {
    Path::new(srun).with_file_name("squeue")
}

async fn ask_again(
    squeue: PathBuf,
    job: String,
    at_start: Vec<String>,
    events: mpsc::UnboundedSender<LauncherEvent>,
) {
    let mut known: HashSet<String> = at_start.into_iter().collect();
    loop {
        tokio::time::sleep(ALLOCATION_LOOK).await;
        let Some(nodes) = ask(&squeue, &job).await else { continue };
        let joined: Vec<String> =
            nodes.iter().filter(|node| !known.contains(*node)).cloned().collect();
        // A node that leaves and comes again joins again.
        known = nodes.into_iter().collect();
        if !joined.is_empty() && events.send(LauncherEvent::NodesJoined(joined)).is_err() {
            return;
        }
    }
}

/// The nodes of the job now; `None`: no answer that can be understood.
async fn ask(squeue: &Path, job: &str) -> Option<Vec<String>> {
    let mut command = Command::new(squeue);
    command.args(["-h", "-j", job, "-t", "RUNNING", "-o", "%N"]);
    command.stdin(Stdio::null()).process_group(0).kill_on_drop(true);
    let answer = tokio::time::timeout(ALLOCATION_ANSWER_LIMIT, command.output()).await;
    let output = answer.ok()?.ok()?;
    if !output.status.success() {
        return None;
    }
    nodes_of_list(String::from_utf8(output.stdout).ok()?.trim())
}

impl Launcher {
    /// Nodes have joined the allocation.
    pub(super) fn nodes_joined(&mut self, nodes: Vec<String>) {
        if !self.run.started || self.run.suspending || self.run.interrupted {
            return;
        }
        for name in nodes {
            if self.plan.machines.iter().any(|known| known.name == name) {
                continue;
            }
            if !self.plan.is_anything_remote() {
                self.printer.notice(notices::job_on_one_machine(&name));
                continue;
            }
            // As many as on the others: Slurm gives a job nodes of one kind.
            let slots = self.plan.machines.iter().filter_map(|machine| machine.slots).max();
            self.printer.notice(notices::node_joined(&name));
            self.plan.add_remote(&name);
            self.add_host(Machine { spare: true, ..Machine::new(name, slots) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squeue_is_beside_srun() {
        assert_eq!(beside("srun"), Path::new("squeue"));
        assert_eq!(beside("/opt/slurm/bin/srun"), Path::new("/opt/slurm/bin/squeue"));
    }

    #[tokio::test]
    async fn what_is_no_list_of_nodes_is_no_answer() {
        for squeue in ["/bin/false", "/bin/echo", "/bin/true", "/nowhere/squeue"] {
            assert_eq!(ask(Path::new(squeue), "7").await, None, "{squeue}");
        }
    }
}
