//! Which processors each rank of a host may use: `-bind-to` and `-map-by`, as in Hydra.
//!
//! Guarantees: every CPU set has at least one processor. If there are more ranks than sets, the
//! ranks begin with the first set again. Only processors that the agent itself may use are in a
//! set. Pure: the caller gives the host's topology (`agent/cpu_binding.rs`).

use ftmpi_options::places::MemoryBinding;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::str::FromStr;

/// Parts of a host, from the smallest to the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Level {
    /// A processor, as the system counts them.
    Thread,
    /// The threads of one execution unit.
    Core,
    /// The cores that share a last-level cache.
    Cache,
    /// The cores that share a memory controller.
    Numa,
    /// The cores of one socket.
    Socket,
}

/// So many neighbouring parts of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unit {
    level: Level,
    count: usize,
}

/// The value of `-bind-to`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum BindTo {
    /// Ranks use all processors.
    None,
    /// Each rank has one such unit.
    Unit(Unit),
    /// The ranks of a host have these processors in turn.
    These(Vec<usize>),
}

/// How the ranks of a host are bound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// What ranks are bound to.
    pub to: BindTo,
    /// Successive ranks go to successive units of this kind.
    pub by: Unit,
}

/// A processor and the parts that it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Processor {
    /// The system's number.
    pub number: usize,
    /// Number of the part at each [`Level`], unique on the host.
    pub parts: [usize; 5],
}

/// From which NUMA nodes ranks take memory (`-membind`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum MemoryPolicy {
    /// From these only.
    Bind(Vec<u32>),
    /// From these in turn; none: from all of the host.
    Interleave(Vec<u32>),
}

impl MemoryPolicy {
    /// What the option says; none: where a rank first touches memory.
    pub fn of(option: &MemoryBinding) -> Option<Self> {
        match option {
            MemoryBinding::FirstTouch => None,
            MemoryBinding::Bind(nodes) => Some(Self::Bind(nodes.clone())),
            MemoryBinding::Interleave(nodes) => Some(Self::Interleave(nodes.clone())),
        }
    }
}

const NAMES: [(&str, Level); 12] = [
    ("hwthread", Level::Thread),
    ("hwt", Level::Thread),
    ("core", Level::Core),
    ("l1cache", Level::Core),
    ("l2cache", Level::Core),
    ("l3cache", Level::Cache),
    ("cache", Level::Cache),
    ("numa", Level::Numa),
    ("numanode", Level::Numa),
    ("socket", Level::Socket),
    ("package", Level::Socket),
    ("sockets", Level::Socket),
];

/// Why the value of `-bind-to` or `-map-by` cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BindingError {
    /// `-map-by` has an unknown unit.
    #[error(
        "`{0}` is unknown; write hwthread, core, l3cache, numa or socket (core:2: two of them)"
    )]
    Unit(String),
    /// `-map-by` counts ranks for each resource, as Open MPI's does.
    #[error("`{0}` is for Open MPI; write --ppn N for N ranks on each host")]
    PerResource(String),
    /// `-bind-to` has an unknown value.
    #[error(
        "`{0}` is unknown; write none, hwthread, core, l3cache, numa or socket (core:2: two of \
         them), or user:0,2,4"
    )]
    Target(String),
    /// The list after `user:` is wrong.
    #[error("`{0}` names no processors; write for example user:0,2,4")]
    Numbers(String),
}

impl FromStr for Unit {
    type Err = BindingError;

    fn from_str(text: &str) -> Result<Self, BindingError> {
        if text.starts_with("ppr:") {
            return Err(BindingError::PerResource(text.to_owned()));
        }
        let (name, count) = match text.split_once(':') {
            Some((name, count)) => (name, count.parse().ok().filter(|count| *count > 0)),
            None => (text, Some(1)),
        };
        let level = NAMES.iter().find(|(known, _)| *known == name).map(|(_, level)| *level);
        match (level, count) {
            (Some(level), Some(count)) => Ok(Self { level, count }),
            _ => Err(BindingError::Unit(text.to_owned())),
        }
    }
}

impl FromStr for BindTo {
    type Err = BindingError;

    fn from_str(text: &str) -> Result<Self, BindingError> {
        if let Some(list) = text.strip_prefix("user:") {
            let numbers: Result<Vec<usize>, _> = list.split(',').map(str::parse).collect();
            return match numbers {
                Ok(numbers) => Ok(Self::These(numbers)),
                Err(_) => Err(BindingError::Numbers(text.to_owned())),
            };
        }
        match text {
            "none" | "board" | "machine" => Ok(Self::None),
            _ => text.parse().map(Self::Unit).map_err(|_| BindingError::Target(text.to_owned())),
        }
    }
}

impl Binding {
    /// What the options say. Without `-map-by`, successive ranks go to successive units of
    /// `-bind-to`.
    pub fn of(to: Option<&BindTo>, by: Option<Unit>) -> Option<Self> {
        match to? {
            BindTo::None => None,
            BindTo::Unit(unit) => Some(Self { to: BindTo::Unit(*unit), by: by.unwrap_or(*unit) }),
            these @ BindTo::These(_) => {
                Some(Self { to: these.clone(), by: Unit { level: Level::Thread, count: 1 } })
            }
        }
    }

    /// The CPU sets of a host in the order in which its ranks take them; none if there is no such
    /// processor.
    pub fn cpu_sets(&self, processors: &[Processor]) -> Vec<Vec<usize>> {
        let to = match &self.to {
            BindTo::None => return Vec::new(),
            BindTo::Unit(unit) => *unit,
            BindTo::These(numbers) => {
                let known = |number: &&usize| processors.iter().any(|p| p.number == **number);
                return numbers.iter().filter(known).map(|number| vec![*number]).collect();
            }
        };
        let (sets, turns) = (units(processors, to), units(processors, self.by));
        let set_of = |number: usize| sets.iter().position(|place| place.contains(&number));
        let largest = |units: &[Vec<usize>]| units.iter().map(Vec::len).max();
        if largest(&sets) >= largest(&turns) {
            // The unit that a rank is mapped to lies in the unit that it is bound to.
            return turns
                .iter()
                .filter_map(|turn| set_of(turn[0]))
                .map(|place| sets[place].clone())
                .collect();
        }
        // The sets that begin in each turn; the first set of every turn comes first.
        let mut of_turn = vec![Vec::new(); turns.len()];
        for place in sets {
            if let Some(turn) = turns.iter().position(|turn| turn.contains(&place[0])) {
                of_turn[turn].push(place);
            }
        }
        let most = of_turn.iter().map(Vec::len).max().unwrap_or(0);
        (0..most).flat_map(|k| of_turn.iter().filter_map(move |t| t.get(k).cloned())).collect()
    }
}

/// The processors of each unit, in the order of sockets, NUMA nodes, caches, cores.
fn units(processors: &[Processor], unit: Unit) -> Vec<Vec<usize>> {
    let mut parts: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
    for processor in processors {
        let path = processor.parts[unit.level as usize..].iter().rev().copied().collect();
        parts.entry(path).or_default().push(processor.number);
    }
    let parts: Vec<_> = parts.into_values().collect();
    parts.chunks(unit.count).map(<[_]>::concat).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sockets of two caches of two cores of two threads. Threads of a core are numbered 8
    /// apart.
    fn host() -> Vec<Processor> {
        (0..16)
            .map(|number| {
                let core = number % 8;
                Processor { number, parts: [number, core, core / 2, core / 4, core / 4] }
            })
            .collect()
    }

    fn places(to: &str, by: &str) -> Vec<Vec<usize>> {
        let by = (!by.is_empty()).then(|| by.parse().unwrap());
        Binding::of(Some(&to.parse().unwrap()), by).unwrap().cpu_sets(&host())
    }

    #[test]
    fn each_rank_has_its_unit() {
        assert_eq!(places("core", "")[..3], [[0, 8], [1, 9], [2, 10]]);
        assert_eq!(places("core", "").len(), 8);
        assert_eq!(places("hwthread", "")[..3], [[0], [8], [1]]);
        assert_eq!(places("core:2", "")[1], [2, 10, 3, 11]);
        assert_eq!(
            places("socket", ""),
            [[0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]]
        );
        assert_eq!(places("user:3,1,99", ""), [[3], [1]]);
    }

    #[test]
    fn successive_ranks_go_where_they_are_mapped() {
        // One rank to each socket, in turn.
        assert_eq!(places("core", "socket")[..4], [[0, 8], [4, 12], [1, 9], [5, 13]]);
        // Cores first, second threads last.
        let spread = places("hwthread", "core");
        assert_eq!((spread[0][0], spread[7][0], spread[8][0], spread.len()), (0, 7, 8, 16));
        // A socket for each rank, filled core by core.
        let filled = places("socket", "core");
        assert_eq!((filled.len(), filled[0].len()), (8, 8));
        assert!(filled[3].contains(&0) && filled[4].contains(&4));
        // The larger unit counts, no matter what its name is.
        assert_eq!(places("core", "hwthread:4")[..3], [[0, 8], [2, 10], [4, 12]]);
        assert_eq!(places("core", "hwthread:4").len(), 8);
        assert_eq!(places("socket", "core:8").len(), 2);
    }

    #[test]
    fn a_missing_processor_is_in_no_cpu_set() {
        let few = &host()[..1];
        for to in ["hwthread", "core", "core:4", "l3cache", "numa", "socket"] {
            let binding = Binding::of(Some(&to.parse().unwrap()), None).unwrap();
            assert_eq!(binding.cpu_sets(few), [[0]], "{to}");
            assert!(binding.cpu_sets(&[]).is_empty());
        }
    }

    #[test]
    fn values_are_read_or_refused() {
        assert!(Binding::of(Some(&"none".parse().unwrap()), None).is_none());
        for wrong in ["", "cores", "core:0", "core:x", "user:", "user:1,x", "none:2"] {
            assert!(wrong.parse::<BindTo>().is_err(), "{wrong}");
        }
        assert!("user:1".parse::<Unit>().is_err() && "none".parse::<Unit>().is_err());
    }
}
