//! Which processors each rank of this host may use (`-bind-to`).
//!
//! Guarantees: two running ranks have the same CPU set only if there are fewer sets than ranks. A
//! rank that begins again here has the set that it had. (An image restores only what the program
//! itself chose.)

use crate::binding::{Binding, Processor};
use ftmpi_wire::Rank;
use rustix::thread::CpuSet;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// See the module's description.
#[derive(Debug)]
pub struct CpuAssignments {
    sets: Vec<Vec<usize>>,
    taken: BTreeMap<Rank, usize>,
}

impl CpuAssignments {
    /// The CPU sets of this host.
    pub fn new(binding: &Binding) -> Self {
        let allowed = rustix::thread::sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
        let numbers = (0..CpuSet::MAX_CPU).filter(|number| allowed.is_set(*number));
        let processors: Vec<_> = numbers.map(|number| processor(Path::new(CPUS), number)).collect();
        Self { sets: binding.cpu_sets(&processors), taken: BTreeMap::new() }
    }

    /// Whether this host has no such CPU set.
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// How many processors are in all CPU sets.
    pub fn processors(&self) -> usize {
        self.sets.iter().flatten().collect::<BTreeSet<_>>().len()
    }

    /// The CPU set of a rank: the set number `first`, modulo the number of sets, if no other rank
    /// has it. `is_here`: whether another rank still uses its set.
    pub fn assign(
        &mut self,
        rank: Rank,
        first: usize,
        is_here: impl Fn(Rank) -> bool,
    ) -> Option<CpuSet> {
        let count = self.sets.len();
        let set_no = match self.taken.get(&rank) {
            Some(set_no) => *set_no,
            None => {
                self.taken.retain(|other, _| is_here(*other));
                let takers = |set_no: &usize| self.taken.values().filter(|t| *t == set_no).count();
                let set_no = (0..count).map(|step| (first + step) % count).min_by_key(takers)?;
                self.taken.insert(rank, set_no);
                set_no
            }
        };
        let mut set = CpuSet::new();
        self.sets.get(set_no)?.iter().for_each(|number| set.set(*number));
        Some(set)
    }
}

const CPUS: &str = "/sys/devices/system/cpu";

/// The topology of a processor. Where the system does not tell it, each processor is a core of its
/// own in one socket.
fn processor(cpus: &Path, number: usize) -> Processor {
    let directory = cpus.join(format!("cpu{number}"));
    // A list of numbers begins with the smallest number, which names the part.
    let first = |file: &str| -> Option<usize> {
        let text = std::fs::read_to_string(directory.join(file)).ok()?;
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    };
    let core = first("topology/thread_siblings_list").unwrap_or(number);
    let socket = first("topology/physical_package_id").unwrap_or(0);
    let cache = first("cache/index3/shared_cpu_list").unwrap_or(core);
    Processor { number, parts: [number, core, cache, numa(&directory).unwrap_or(socket), socket] }
}

/// The NUMA node of a processor: the processor's directory has a link to it.
fn numa(directory: &Path) -> Option<usize> {
    std::fs::read_dir(directory)
        .ok()?
        .flatten()
        .find_map(|entry| entry.file_name().to_str()?.strip_prefix("node")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> CpuAssignments {
        CpuAssignments { sets: vec![vec![4], vec![5], vec![6, 7]], taken: BTreeMap::new() }
    }

    fn first_of(set: Option<CpuSet>) -> Option<usize> {
        (0..8).find(|number| set.as_ref().is_some_and(|set| set.is_set(*number)))
    }

    #[test]
    fn no_rank_takes_the_cpu_set_of_a_running_rank() {
        let mut sets = three();
        assert_eq!(first_of(sets.assign(Rank(7), 1, |_| true)), Some(5));
        assert_eq!(first_of(sets.assign(Rank(8), 1, |_| true)), Some(6));
        // A rank from a host with more ranks than there are sets here.
        assert_eq!(first_of(sets.assign(Rank(9), 5, |_| true)), Some(4));
        // The rank begins again.
        assert_eq!(first_of(sets.assign(Rank(7), 0, |_| true)), Some(5));
        // More ranks than sets: evenly.
        let more: Vec<_> = (1..4).map(|n| first_of(sets.assign(Rank(n), 1, |_| true))).collect();
        assert_eq!(more, [Some(5), Some(6), Some(4)]);
        // Two ranks have gone elsewhere.
        let is_here = |rank: Rank| rank != Rank(9) && rank != Rank(3);
        assert_eq!(first_of(sets.assign(Rank(4), 0, is_here)), Some(4));
        assert_eq!(sets.processors(), 4);
        assert!(
            CpuAssignments { sets: Vec::new(), taken: BTreeMap::new() }
                .assign(Rank(0), 0, |_| true)
                .is_none()
        );
    }

    #[test]
    fn the_topology_is_read_where_there_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let cpu = folder.path().join("cpu9");
        for (file, text) in [
            ("topology/thread_siblings_list", "1,9\n"),
            ("topology/physical_package_id", "1\n"),
            ("cache/index3/shared_cpu_list", "0-3,8-11\n"),
            ("node2/x", ""),
        ] {
            std::fs::create_dir_all(cpu.join(file).parent().unwrap()).unwrap();
            std::fs::write(cpu.join(file), text).unwrap();
        }
        assert_eq!(processor(folder.path(), 9).parts, [9, 1, 0, 2, 1]);
        assert_eq!(processor(folder.path(), 3).parts, [3, 3, 3, 0, 0]);
    }
}
