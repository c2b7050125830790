//! Hosts and the ranks on them.

use super::allocation::Allocation;
use super::errors::PlanError;
use super::machinefile::{self, Machine};
use ftmpi_options::ftmpiexec::Cli;
use std::collections::BTreeMap;

/// The hosts that the command line names, or else those of the allocation.
pub fn machines(
    cli: &Cli,
    allocation: Option<&Allocation>,
) -> Result<Option<Vec<Machine>>, PlanError> {
    let wrong = |place: String| move |what| PlanError::Machines { place, what };
    Ok(match (&cli.placement.hosts, &cli.placement.machinefile) {
        (Some(_), Some(_)) => return Err(PlanError::HostsTwice),
        (Some(list), None) => {
            Some(machinefile::parse_list(list).map_err(wrong("--hosts".to_owned()))?)
        }
        (None, Some(file)) => {
            let text = std::fs::read(file).map_err(|error| PlanError::File {
                what: "machine file",
                file: file.clone(),
                error,
            })?;
            let place = format!("machine file {}", file.display());
            Some(machinefile::parse_file(&String::from_utf8_lossy(&text)).map_err(wrong(place))?)
        }
        (None, None) => allocation.map(|found| found.machines.clone()),
    })
}

/// A host that is named twice gives the sum of its slots.
pub fn merge(machines: Vec<Machine>) -> Vec<Machine> {
    let mut merged: Vec<Machine> = Vec::new();
    for machine in machines {
        match merged.iter_mut().find(|known| known.name == machine.name) {
            Some(known) => {
                let slots = known.slots.unwrap_or(1).saturating_add(machine.slots.unwrap_or(1));
                known.slots = Some(slots);
                known.event_logger = known.event_logger.take().or(machine.event_logger);
                known.checkpoint_server =
                    known.checkpoint_server.take().or(machine.checkpoint_server);
            }
            None => merged.push(machine),
        }
    }
    merged
}

/// Number of ranks where the command line gives none: what the user asked the batch system for, or
/// the slots of the hosts, as under Hydra.
pub fn slots(cli: &Cli, machines: &[Machine], allocation: Option<&Allocation>) -> u64 {
    let named = cli.placement.hosts.is_some() || cli.placement.machinefile.is_some();
    if let (false, None, Some(ranks)) =
        (named, cli.placement.ppn, allocation.and_then(|found| found.ranks))
    {
        return u64::from(ranks).max(1);
    }
    let slots = machines.iter().map(|machine| match (machine.slots, cli.placement.ppn) {
        (Some(0), _) => 0,
        (slots, ppn) => u64::from(ppn.or(slots).unwrap_or(1)),
    });
    slots.sum::<u64>().max(1)
}

/// The host of each rank. Ranks fill the slots of a host, then those of the next host, and begin
/// again at the first, as under Hydra.
pub fn place(machines: &[Machine], ranks: usize, ppn: Option<u32>) -> Result<Vec<u32>, PlanError> {
    let round: Vec<u32> = machines
        .iter()
        .enumerate()
        .flat_map(|(host, machine)| {
            let slots = match (machine.slots, ppn) {
                (Some(0), _) => 0,
                (_, Some(ppn)) => ppn,
                (Some(slots), None) => slots,
                (None, None) => 1,
            };
            std::iter::repeat_n(host as u32, slots as usize)
        })
        .take(ranks)
        .collect();
    if round.is_empty() {
        return Err(PlanError::NoSlot);
    }
    Ok(round.iter().copied().cycle().take(ranks).collect())
}

/// The host of each rank where ranks of one host share memory. All ranks of an earlier host go
/// together to the host that has the fewest ranks.
pub fn together(machines: &[Machine], node_of: &[u32]) -> Vec<u32> {
    let mut load = vec![0; machines.len()];
    let mut host_of = BTreeMap::new();
    for node in node_of {
        host_of.entry(*node).or_insert_with(|| {
            let size = node_of.iter().filter(|other| *other == node).count();
            let able = (0..machines.len()).filter(|host| machines[*host].slots != Some(0));
            let host = able.min_by_key(|host| load[*host]).unwrap_or(0);
            load[host] += size;
            host as u32
        });
    }
    node_of.iter().map(|node| host_of[node]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_fill_hosts_as_under_hydra() {
        let machines = machinefile::parse_list("a,b").unwrap();
        assert_eq!(place(&machines, 4, None).unwrap(), [0, 1, 0, 1]);
        assert_eq!(place(&machines, 4, Some(2)).unwrap(), [0, 0, 1, 1]);
        let machines = machinefile::parse_list("a:2,b:1,c:0").unwrap();
        assert_eq!(place(&machines, 5, None).unwrap(), [0, 0, 1, 0, 0]);
        assert!(place(&machinefile::parse_list("a:0").unwrap(), 1, None).is_err());
    }

    #[test]
    fn ranks_that_share_memory_stay_together_on_other_hosts() {
        let machines = |list| machinefile::parse_list(list).unwrap();
        assert_eq!(together(&machines("a,b"), &[0, 1, 0, 1]), [0, 1, 0, 1]);
        assert_eq!(together(&machines("a"), &[0, 1, 0, 1]), [0, 0, 0, 0]);
        assert_eq!(together(&machines("a,b,c"), &[0, 0, 1, 1]), [0, 0, 1, 1]);
        assert_eq!(together(&machines("a:0,b,c"), &[0, 0, 0, 1, 2]), [1, 1, 1, 2, 2]);
    }
}
