//! The ranks of `--standby`, and what `--protocol replicated` stands for.

use super::errors::PlanError;
use super::machinefile;
use crate::machine::Machine;
use crate::tuning::REPLICATED_INTERVAL;
use ftmpi_options::choices::Switch;
use ftmpi_options::ftmpiexec::Cli;
use ftmpi_protocols::registry::REPLICATED;
use std::borrow::Cow;

/// The word for all ranks.
const ALL: &str = "all";

/// The options with what `--protocol replicated` means where nothing else is said: a standby of
/// each rank, and frequent images. `keeps_interval`: a command line has `--ckpt-interval`.
pub(super) fn replicated(cli: Cow<'_, Cli>, keeps_interval: bool) -> Cow<'_, Cli> {
    if cli.fault_tolerance.protocol != REPLICATED {
        return cli;
    }
    let mut cli = cli.into_owned();
    cli.fault_tolerance.standby.get_or_insert_with(|| ALL.to_owned());
    if !keeps_interval {
        cli.checkpoints.ckpt_interval = REPLICATED_INTERVAL;
    }
    Cow::Owned(cli)
}

/// Which ranks have a standby.
///
/// # Errors
/// No images are taken, or this is no list of ranks of the job.
pub(super) fn of(cli: &Cli, ranks: usize) -> Result<Vec<bool>, PlanError> {
    let wanted = &cli.fault_tolerance;
    let Some(text) = &wanted.standby else { return Ok(Vec::new()) };
    if cli.checkpoints.ckpt == Switch::Off {
        let replicated = wanted.protocol == REPLICATED;
        let option = if replicated { "--protocol replicated" } else { "--standby" };
        return Err(PlanError::NoImages(option));
    }
    if text == ALL {
        return Ok(vec![true; ranks]);
    }
    let named = machinefile::parse_ranks(text).map_err(|what| {
        PlanError::value("--standby", format!("{what}, or all for a standby of each rank"))
    })?;
    if let Some(rank) = named.iter().find(|rank| **rank as usize >= ranks) {
        let last = ranks.saturating_sub(1);
        let what = format!(
            "there is no rank {rank}; the last one is {last} (it takes ranks, not a number of \
             standbys; all: one of each rank)"
        );
        return Err(PlanError::value("--standby", what));
    }
    Ok((0..ranks as u32).map(|rank| named.contains(&rank)).collect())
}

/// What a user may not expect of these standbys, one line each.
pub fn warnings(standbys: &[bool], machines: &[Machine]) -> Vec<String> {
    let mut lines = Vec::new();
    let ranks: Vec<usize> = (0..standbys.len()).filter(|rank| standbys[*rank]).collect();
    if let [rank] = ranks[..]
        && standbys.len() > 1
    {
        lines.push(format!(
            "--standby names ranks: rank {rank} has a standby, the others have none (--standby all: \
             each rank)"
        ));
    }
    let takes_ranks = |machine: &&Machine| machine.spare || machine.slots != Some(0);
    if !ranks.is_empty() && machines.iter().filter(takes_ranks).count() < 2 {
        lines.push(
            "standbys are on the only host: they take over when processes die, and are lost with \
             the host (--hosts names others)"
                .to_owned(),
        );
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::Plan;
    use super::*;
    use std::time::Duration;

    fn plan(line: &str) -> Result<Plan, String> {
        let words = format!("ftmpiexec {line}");
        let line = ftmpi_options::ftmpiexec::read(words.split(' ').map(str::to_owned).collect());
        Plan::of(&line.expect("it can be read")).map_err(|error| error.to_string())
    }

    /// Standbys, interval, and whether the cost of images is bounded.
    fn facts(line: &str) -> (Vec<bool>, Option<Duration>, Option<u32>) {
        let plan = plan(line).unwrap();
        (plan.standbys, plan.ckpt_interval, plan.image_cost_limit)
    }

    #[test]
    fn replicated_has_standbys_of_all_ranks_and_frequent_images() {
        let second = Some(REPLICATED_INTERVAL);
        let all = facts("--protocol replicated -n 2 ./p");
        assert_eq!(all, (vec![true, true], second, Some(50)));
        let some = facts("--protocol replicated --standby 1 -n 2 ./p");
        assert_eq!(some, (vec![false, true], second, Some(50)));
        let slow = facts("--protocol replicated --ckpt-interval 30s -n 1 ./p");
        assert_eq!(slow, (vec![true], Some(Duration::from_secs(30)), None));
        let own = facts("--protocol pessimistic --standby all -n 1 ./p");
        assert_eq!(own, (vec![true], Some(Duration::from_secs(30)), Some(20)));
        let plan = plan("--protocol replicated -n 2 ./p").unwrap();
        assert_eq!(plan.protocol.name, "replicated");
        assert!(plan.traits.is_pessimistic() && plan.traits.has_event_logger());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (line, says) in [
            (
                "--protocol replicated --ckpt off ./p",
                "--protocol replicated is for images, and --ckpt off takes none; drop one of them",
            ),
            (
                "--protocol replicated --wave blocking ./p",
                "--wave has no effect under --protocol replicated; drop it, or use it under \
                 --protocol coordinated or hierarchical",
            ),
            (
                "--protocol pessimistic --standby 2 -n 2 ./p",
                "--standby: there is no rank 2; the last one is 1 (it takes ranks, not a number of \
                 standbys; all: one of each rank)",
            ),
        ] {
            assert_eq!(plan(line).unwrap_err(), says);
        }
    }

    #[test]
    fn a_user_hears_what_standbys_do_not_cover() {
        let of = |line: &str| {
            let plan = plan(&format!("--protocol replicated {line} ./p")).unwrap();
            warnings(&plan.standbys, &plan.machines).join("; ")
        };
        assert!(of("-n 2").starts_with("standbys are on the only host"));
        assert_eq!(of("-n 2 -hosts a,b"), "");
        let one = of("--standby 1 -n 2 -hosts a,b");
        assert!(one.starts_with("--standby names ranks: rank 1 has a standby"), "{one}");
        assert_eq!(of("--standby 0,1 -n 3 -hosts a,b"), "");
        assert_eq!(warnings(&[], &[]), [] as [&str; 0]);
    }
}
