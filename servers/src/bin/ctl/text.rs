//! The status of a job as text.

use crate::table::Table;
use ftmpi_protocols::stall::{Stall, explain};
use ftmpi_servers::job_control::{ControlError, RunningJob};
use ftmpi_servers::text::size;
use ftmpi_wire::job_status::{
    Health, HostState, HostStatus, JobPhase, JobStatus, MigrationState, RankState, RankStatus,
    StandbyStatus,
};

/// `63 s`, `12 min`, `3.5 h`
fn time(seconds: f64) -> String {
    match seconds {
        _ if seconds < 120.0 => format!("{seconds:.0} s"),
        _ if seconds < 7200.0 => format!("{:.0} min", seconds / 60.0),
        _ if seconds < 172_800.0 => format!("{:.1} h", seconds / 3600.0),
        _ => format!("{:.1} days", seconds / 86_400.0),
    }
}

fn ranks(list: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for rank in list {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *rank => *last = *rank,
            _ => ranges.push((*rank, *rank)),
        }
    }
    let one = |(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    let ranges: Vec<String> = ranges.iter().map(one).collect();
    if ranges.is_empty() { "-".to_owned() } else { ranges.join(",") }
}

fn phase(phase: JobPhase) -> &'static str {
    match phase {
        JobPhase::Starting => "starts",
        JobPhase::Running => "runs",
        JobPhase::Suspending => "takes its last images",
    }
}

fn host_state(host: &HostStatus) -> &'static str {
    match (host.state, host.drained) {
        (HostState::Starting, _) => "starting",
        (HostState::Gone, _) => "gone",
        (HostState::Up, true) => "drained",
        (HostState::Up, false) => "up",
    }
}

fn health(host: &HostStatus) -> String {
    match (&host.health_why, host.health) {
        (Some(why), Health::Bad | Health::Drain) => format!("{} ({why})", host.health.name()),
        _ => host.health.name().to_owned(),
    }
}

/// All of a job.
pub fn status(status: &JobStatus) -> String {
    let job = &status.job;
    let mut text = format!(
        "job {} on {}: {} ({}), {} for {}\n",
        job.launcher_pid,
        job.launcher_host,
        job.command,
        job.protocol,
        phase(job.phase),
        time(job.elapsed_s)
    );
    if let Some(directory) = &job.directory {
        text += &format!("directory {directory}\n");
    }
    let images = match job.ckpt_interval_s {
        Some(interval) => format!(
            "{} images ({}), one of each rank every {}",
            job.images,
            size(job.image_bytes),
            time(interval)
        ),
        None => "no images".to_owned(),
    };
    text += &format!("{images}; {} of at most {} restarts\n", job.restarts, job.restarts_max);
    if let Some(waves) = &status.waves {
        let age =
            waves.age_s.map_or_else(String::new, |age| format!(", the last one {} ago", time(age)));
        text += &format!("{} waves complete{age}, {} void\n", waves.complete, waves.void);
    }
    for part in [hosts(status), all_ranks(status), servers(status), faults(status), moves(status)] {
        if !part.is_empty() {
            text += "\n";
            text += &part;
        }
    }
    text
}

fn hosts(status: &JobStatus) -> String {
    let mut table = Table::new(&["HOST", "STATE", "HEALTH", "CPUS", "RANKS"]);
    for host in &status.hosts {
        table.row(vec![
            host.name.clone(),
            host_state(host).to_owned(),
            health(host),
            host.processors.map_or_else(|| "-".to_owned(), |number| number.to_string()),
            ranks(&host.ranks),
        ]);
    }
    table.text()
}

fn what(rank: &RankStatus) -> String {
    let doing = match &rank.wait {
        Some(wait) if rank.state == RankState::Waiting => wait.in_words(),
        _ => format!("{} for {}", rank.state.name(), time(rank.state_s)),
    };
    let image = rank
        .taking_image_s
        .map_or_else(String::new, |since| format!("; image under way for {}", time(since)));
    let standby = rank.standby.as_ref().map(StandbyStatus::in_words);
    let standby = standby.map_or_else(String::new, |words| format!("; {words}"));
    format!("{doing}{image}{standby}")
}

fn all_ranks(status: &JobStatus) -> String {
    let mut table =
        Table::new(&["RANK", "HOST", "PID", "INC", "FAILED", "IMAGE", "AGE", "LOG", "DOES"]);
    for rank in &status.ranks {
        let dash = || "-".to_owned();
        let image = rank.image.as_ref();
        table.row(vec![
            rank.rank.to_string(),
            rank.host.clone(),
            rank.pid.map_or_else(dash, |pid| pid.to_string()),
            rank.incarnation.to_string(),
            rank.failures.to_string(),
            image.map_or_else(dash, |image| format!("{} ({})", image.image, size(image.bytes))),
            image.and_then(|image| image.age_s).map_or_else(dash, time),
            size(rank.log_bytes),
            what(rank),
        ]);
    }
    table.text()
}

fn servers(status: &JobStatus) -> String {
    let mut table = Table::new(&["SERVER", "HOST", "STATE", "RESTARTS", "RANKS"]);
    for server in &status.servers {
        table.row(vec![
            server.name.clone(),
            server.host.clone().unwrap_or_else(|| status.job.launcher_host.clone()),
            if server.up { "up" } else { "down" }.to_owned(),
            server.restarts.to_string(),
            if server.ranks.is_empty() { "all".to_owned() } else { ranks(&server.ranks) },
        ]);
    }
    table.text()
}

fn faults(status: &JobStatus) -> String {
    let mut table = Table::new(&["FAILURE AT", "RANK", "BACK AFTER", "CAUSE"]);
    for fault in &status.faults {
        let back = fault.back_s.map_or_else(|| "-".to_owned(), |back| format!("{back:.2} s"));
        let at = format!("{:.1} s", fault.at_s);
        table.row(vec![at, fault.rank.to_string(), back, fault.cause.clone()]);
    }
    table.text()
}

fn moves(status: &JobStatus) -> String {
    let mut table = Table::new(&["MOVE AT", "RANK", "FROM", "TO", "STATE", "TOOK"]);
    for migration in &status.migrations {
        let state = match (migration.state, &migration.why) {
            (MigrationState::AwaitsImage, _) => "takes its image".to_owned(),
            (MigrationState::Ends, _) => "leaves".to_owned(),
            (MigrationState::Begins, _) => "begins".to_owned(),
            (MigrationState::Done, _) => "done".to_owned(),
            (MigrationState::Failed, why) => {
                format!("stays: {}", why.as_deref().unwrap_or("the reason is not known"))
            }
        };
        let took = migration.total_s.map_or_else(|| "-".to_owned(), |took| format!("{took:.2} s"));
        table.row(vec![
            format!("{:.1} s", migration.at_s),
            migration.rank.to_string(),
            migration.from.clone(),
            migration.to.clone().unwrap_or_else(|| "-".to_owned()),
            state,
            took,
        ]);
    }
    table.text()
}

/// Who waits for whom.
pub fn waits(status: &JobStatus) -> String {
    let mut text = String::new();
    for rank in status.ranks.iter().filter(|rank| rank.state != RankState::Computing) {
        text += &format!("rank {} on {} {}\n", rank.rank, rank.host, what(rank));
    }
    let computing = status.count(RankState::Computing);
    if computing > 0 {
        let list: Vec<u32> = status
            .ranks
            .iter()
            .filter(|rank| rank.state == RankState::Computing)
            .map(|rank| rank.rank)
            .collect();
        text += &format!("computing, or polling: {}\n", ranks(&list));
    }
    for stall in explain(&status.ranks) {
        text += &match stall {
            Stall::Deadlock(cycle) => format!(
                "deadlock: ranks {} wait for each other in a circle, and none of them can go on\n",
                ranks(&cycle)
            ),
            Stall::For { root, state, waiting } => format!(
                "{} {} for rank {root}, which {}\n",
                if waiting.len() == 1 {
                    format!("rank {}", ranks(&waiting))
                } else {
                    format!("ranks {}", ranks(&waiting))
                },
                if waiting.len() == 1 { "waits" } else { "wait" },
                state.name()
            ),
        };
    }
    text
}

/// The jobs that run here.
pub fn list(jobs: &[(RunningJob, Result<JobStatus, ControlError>)]) -> String {
    if jobs.is_empty() {
        return "no job of yours runs on this host\n".to_owned();
    }
    let mut table = Table::new(&["JOB", "RANKS", "HOSTS", "FOR", "PROTOCOL", "PROGRAM"]);
    for (job, status) in jobs {
        table.row(match status {
            Ok(status) => vec![
                job.process.to_string(),
                status.ranks.len().to_string(),
                status.hosts.len().to_string(),
                time(status.job.elapsed_s),
                status.job.protocol.clone(),
                status.job.command.clone(),
            ],
            Err(why) => {
                let dash = || "-".to_owned();
                vec![job.process.to_string(), dash(), dash(), dash(), dash(), why.to_string()]
            }
        });
    }
    table.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_ranks_are_short() {
        assert_eq!(
            (time(119.4), time(600.0), time(9000.0)),
            ("119 s".into(), "10 min".into(), "2.5 h".into())
        );
        assert_eq!((ranks(&[0, 1, 2, 5]), ranks(&[])), ("0-2,5".into(), "-".into()));
    }
}
