//! The ranks of `--standby`.

use super::errors::PlanError;
use super::machinefile;
use ftmpi_options::choices::Switch;
use ftmpi_options::ftmpiexec::Cli;

/// Which ranks have a standby.
///
/// # Errors
/// No images are taken, or this is no list of ranks of the job.
pub(super) fn of(cli: &Cli, ranks: usize) -> Result<Vec<bool>, PlanError> {
    let Some(text) = &cli.fault_tolerance.standby else { return Ok(Vec::new()) };
    if cli.checkpoints.ckpt == Switch::Off {
        return Err(PlanError::NoImages("--standby"));
    }
    if text == "all" {
        return Ok(vec![true; ranks]);
    }
    let named = machinefile::parse_ranks(text)
        .map_err(|what| PlanError::value("--standby", format!("{what}, or all")))?;
    if let Some(rank) = named.iter().find(|rank| **rank as usize >= ranks) {
        let last = ranks.saturating_sub(1);
        let what = format!("there is no rank {rank}; the last one is {last}");
        return Err(PlanError::value("--standby", what));
    }
    Ok((0..ranks as u32).map(|rank| named.contains(&rank)).collect())
}
