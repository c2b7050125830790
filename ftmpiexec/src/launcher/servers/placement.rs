//! The servers of a job, their hosts, and the ranks that each of them serves. The machine file and
//! the options decide, or the earlier run.

use super::Server;
use super::server_stderr::ServerStderr;
use super::watch::Pulse;
use crate::cli::Plan;
use crate::inject::ServerKind;
use crate::job_dir::JobDir;
use crate::job_dir::plan_file::SavedServer;
use crate::machine::{Machine, ServerDuty};
use ftmpi_wire::Rank;
use std::time::Instant;

/// A server that has not been started and serves no rank yet.
fn server(
    kind: ServerKind,
    number: usize,
    place: Option<String>,
    plan: &Plan,
    job_dir: &JobDir,
) -> Server {
    Server {
        kind,
        number,
        host: place.clone().filter(|name| plan.is_remote(name)),
        place,
        directory: job_dir.path().join(format!("{}-{number}", kind.name())),
        address: None,
        up: false,
        launch: 0,
        started: Instant::now(),
        in_use_since: None,
        failures: 0,
        pulse: Pulse::default(),
        down: false,
        kill: None,
        starting: None,
        runs: None,
        serves: Vec::new(),
        stderr: ServerStderr::default(),
    }
}

/// A server that the earlier run had. Where this run does without the server's host, and the files
/// of the server are here as well, it runs here.
pub(super) fn again(known: &SavedServer, plan: &Plan, job_dir: &JobDir) -> Server {
    let new = |place| server(known.kind, known.number, place, plan, job_dir);
    let is_there = |host: &String| plan.machines.iter().any(|machine| machine.name == *host);
    let place = known.host.clone().filter(|host| is_there(host) || !new(None).directory.is_dir());
    Server { serves: known.serves.clone(), ..new(place) }
}

/// The servers of one kind, with the ranks that they serve.
pub(super) fn of_kind(kind: ServerKind, plan: &Plan, job_dir: &JobDir, size: usize) -> Vec<Server> {
    let duty = |machine: &Machine| match kind {
        // A line of the machine file that names an event logger places a channel memory, too.
        ServerKind::EventLogger | ServerKind::ChannelMemory => machine.event_logger.clone(),
        ServerKind::CheckpointServer => machine.checkpoint_server.clone(),
        // Only the launcher talks to the scheduler.
        ServerKind::CheckpointScheduler => None,
    };
    let new = |place: Option<String>, number: usize| server(kind, number, place, plan, job_dir);
    let mut servers: Vec<(Server, ServerDuty)> = plan
        .machines
        .iter()
        .filter_map(|machine| Some((machine, duty(machine)?)))
        .enumerate()
        .map(|(number, (machine, duty))| (new(Some(machine.name.clone()), number), duty))
        .collect();
    let claimed = |rank: Rank| servers.iter().position(|(_, duty)| duty.claims(rank));
    let claims: Vec<Option<usize>> = (0..size as u32).map(|rank| claimed(Rank(rank))).collect();
    let mut rest: Vec<usize> =
        (0..servers.len()).filter(|index| servers[*index].1 == ServerDuty::Rest).collect();
    if rest.is_empty() && claims.iter().any(Option::is_none) {
        let wanted = match kind {
            ServerKind::ChannelMemory => plan.channel_memories,
            ServerKind::EventLogger => plan.event_loggers,
            ServerKind::CheckpointServer | ServerKind::CheckpointScheduler => 1,
        };
        for _ in 0..wanted {
            rest.push(servers.len());
            servers.push((new(None, servers.len()), ServerDuty::Rest));
        }
    }
    for (rank, claim) in claims.iter().enumerate() {
        let index = claim.unwrap_or_else(|| rest[rank % rest.len()]);
        servers[index].0.serves.push(Rank(rank as u32));
    }
    servers.into_iter().map(|(server, _)| server).filter(|s| !s.serves.is_empty()).collect()
}
