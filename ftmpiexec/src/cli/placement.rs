//! Hosts and the ranks on them.

use super::allocation::Allocation;
use super::errors::PlanError;
use super::machinefile;
use crate::machine::Machine;
use ftmpi_options::ftmpiexec::Cli;
use ftmpi_options::places::{RankMap, Universe};
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
                known.max_slots = known.max_slots.or(machine.max_slots);
                known.spare |= machine.spare;
                known.switch = known.switch.take().or(machine.switch);
                known.user = known.user.take().or(machine.user);
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
    let slots = machines.iter().map(|m| u64::from(m.slots_at_start(cli.placement.ppn)));
    slots.sum::<u64>().max(1)
}

/// The host of each rank. Ranks fill the slots of a host, then those of the next host, and begin
/// again at the first, as under Hydra. Spare hosts get none, and no host gets more than
/// `max_slots`.
pub fn place(machines: &[Machine], ranks: usize, ppn: Option<u32>) -> Result<Vec<u32>, PlanError> {
    if machines.iter().all(|machine| machine.slots_at_start(ppn) == 0) {
        return Err(PlanError::NoSlot);
    }
    let mut placed: Vec<u32> = Vec::with_capacity(ranks);
    let mut on_host = vec![0_u32; machines.len()];
    while placed.len() < ranks {
        let before = placed.len();
        for (host, machine) in machines.iter().enumerate() {
            let room = machine.max_slots.map_or(u32::MAX, |most| most - on_host[host].min(most));
            let here = machine.slots_at_start(ppn).min(room) as usize;
            let here = here.min(ranks - placed.len());
            on_host[host] += here as u32;
            placed.extend(std::iter::repeat_n(host as u32, here));
        }
        if placed.len() == before {
            return Err(PlanError::Full { ranks, most: placed.len() });
        }
    }
    Ok(placed)
}

/// The host of each rank as the user maps them. No host gets more than `max_slots`.
pub fn place_as_told(
    machines: &[Machine],
    ranks: usize,
    RankMap(map): &RankMap,
) -> Result<Vec<u32>, PlanError> {
    let wrong = |what: String| PlanError::value("--rankmap", what);
    if map.len() != ranks {
        let text = format!("it has {} ranks, and the job has {ranks}; write -n {0}", map.len());
        return Err(wrong(text));
    }
    for (number, machine) in machines.iter().enumerate() {
        let here = map.iter().filter(|host| **host as usize == number).count();
        let name = &machine.name;
        if let Some(most) = machine.max_slots.filter(|most| here > *most as usize) {
            return Err(wrong(format!(
                "it puts {here} ranks on {name}, whose max_slots is {most}"
            )));
        }
        if here > 0 && machine.slots == Some(0) {
            return Err(wrong(format!(
                "it puts ranks on {name}, which has 0 slots; give it slots"
            )));
        }
    }
    match map.iter().find(|host| **host as usize >= machines.len()) {
        Some(host) => Err(wrong(format!(
            "host {host} is not there: the {} hosts of the job have the numbers from 0 on",
            machines.len()
        ))),
        None => Ok(map.clone()),
    }
}

/// What `MPI_UNIVERSE_SIZE` says: how many processes the hosts take as meant. These are their
/// slots, or the processors of this machine where no host has a number of slots.
pub fn universe(cli: &Cli, machines: &[Machine], ranks: usize) -> Result<u32, PlanError> {
    match cli.placement.usize {
        Some(Universe::Infinite) => return Ok(i32::MAX as u32),
        Some(Universe::Processes(number)) if number as usize >= ranks => return Ok(number),
        Some(Universe::Processes(number)) => {
            let text = format!("{number} is less than the {ranks} ranks of the job; write SYSTEM");
            return Err(PlanError::value("--usize", text));
        }
        Some(Universe::System) | None => {}
    }
    let mut slots = machines.iter().map(|machine| machine.slots.or(cli.placement.ppn));
    let slots = slots.try_fold(0_u32, |sum, slots| Some(sum.saturating_add(slots?)));
    let own = || std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    // The attribute is an `int`.
    Ok(slots.unwrap_or_else(own).max(ranks as u32).min(i32::MAX as u32))
}

/// The host of each rank where ranks of one host share memory. All ranks of an earlier host go
/// together to the host that has the fewest ranks.
pub fn together(machines: &[Machine], node_of: &[u32]) -> Vec<u32> {
    let mut load = vec![0; machines.len()];
    let mut host_of = BTreeMap::new();
    for node in node_of {
        host_of.entry(*node).or_insert_with(|| {
            let size = node_of.iter().filter(|other| *other == node).count();
            let able = (0..machines.len()).filter(|host| machines[*host].slots_at_start(None) > 0);
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
        let machines = machinefile::parse_file("a max_slots=2\nb:2 spare\nc").unwrap();
        assert_eq!(place(&machines, 5, None).unwrap(), [0, 2, 0, 2, 2]);
        let full = machinefile::parse_file("a max_slots=2\nb:2 max_slots=2").unwrap();
        assert_eq!(place(&full, 4, None).unwrap(), [0, 1, 1, 0]);
        assert!(matches!(place(&full, 5, None), Err(PlanError::Full { ranks: 5, most: 4 })));
    }

    #[test]
    fn a_map_of_the_user_decides() {
        let machines = machinefile::parse_file("a:2\nb:0\nc max_slots=1").unwrap();
        let place = |map: &[u32], ranks| {
            let placed = place_as_told(&machines, ranks, &RankMap(map.to_vec()));
            placed.map_err(|error| error.to_string())
        };
        assert_eq!(place(&[2, 0, 0, 0], 4), Ok(vec![2, 0, 0, 0]));
        for (map, text) in [
            (&[0][..], "it has 1 ranks, and the job has 2; write -n 1"),
            (&[0, 1], "it puts ranks on b, which has 0 slots"),
            (&[2, 2], "it puts 2 ranks on c, whose max_slots is 1"),
            (&[0, 3], "host 3 is not there: the 3 hosts"),
        ] {
            let error = place(map, 2).unwrap_err();
            assert!(error.starts_with("--rankmap: ") && error.contains(text), "{error}");
        }
    }

    #[test]
    fn a_universe_has_room_for_all_ranks() {
        let machines = machinefile::parse_list("a:2,b:3").unwrap();
        let size = |words: &str| {
            let line = format!("ftmpiexec {words} ./p");
            let line = line.split_whitespace().map(str::to_owned).collect();
            let cli = ftmpi_options::ftmpiexec::read(line).unwrap().cli;
            universe(&cli, &machines, 4).map_err(|error| error.to_string())
        };
        assert_eq!((size(""), size("-usize SYSTEM"), size("-usize 9")), (Ok(5), Ok(5), Ok(9)));
        assert_eq!(size("-usize INFINITE"), Ok(i32::MAX as u32));
        let many = machinefile::parse_list("a:4294967295,b:9").unwrap();
        let line = ["ftmpiexec".to_owned(), "./p".to_owned()].to_vec();
        let cli = ftmpi_options::ftmpiexec::read(line).unwrap().cli;
        assert_eq!(universe(&cli, &many, 4).unwrap(), i32::MAX as u32);
        assert!(size("-usize 3").unwrap_err().contains("3 is less than the 4 ranks"));
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
