//! Values of Hydra's options about places: the host of each rank, the size of the universe, memory.

use thiserror::Error;

/// Ranks that a map may have: more is a mistake.
const RANKS_MAX: usize = 1 << 20;
/// NUMA nodes that Linux knows.
const NODES_MAX: u32 = 1024;

/// A value that an option about places does not accept.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlaceError {
    /// It should be a map of ranks.
    #[error(
        "`{0}` is no map of ranks; write the number of a host for each rank, such as 0,0,1,1, or blocks \
         (FIRST-HOST,HOSTS,RANKS-OF-EACH), such as (0,2,2)"
    )]
    Map(String),
    /// It should be a size of the universe.
    #[error("`{0}` is no size; write a number, SYSTEM or INFINITE")]
    Universe(String),
    /// It should be a policy for memory.
    #[error("`{0}` is unknown; write bind:0,1, interleave:0-3, interleave:all or none")]
    Memory(String),
}

/// The host of each rank (`-rankmap`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankMap(pub Vec<u32>);

/// Reads a [`RankMap`]: numbers, and blocks (first host, hosts, ranks of each).
///
/// # Errors
/// It is none.
pub fn rank_map(text: &str) -> Result<RankMap, PlaceError> {
    let wrong = || PlaceError::Map(text.to_owned());
    let mut map = Vec::new();
    // Hydra's own name before a list is no part of it.
    let own = text.strip_prefix("(vector,").and_then(|list| list.strip_suffix(')'));
    let mut rest = own.unwrap_or(text);
    loop {
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
        let (part, after) = match rest.strip_prefix('(') {
            Some(block) => block.split_once(')').ok_or_else(wrong)?,
            None => rest.split_at(rest.find(',').unwrap_or(rest.len())),
        };
        if rest.starts_with('(') {
            let numbers = part.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
            let [first, hosts, ranks] = numbers[..] else { return Err(wrong()) };
            let ranks = ranks as usize;
            if map.len() as u64 + u64::from(hosts) * ranks as u64 > RANKS_MAX as u64 {
                return Err(wrong());
            }
            for host in 0..hosts {
                let host = first.checked_add(host).ok_or_else(wrong)?;
                map.extend(std::iter::repeat_n(host, ranks));
            }
        } else {
            map.push(number(part)?);
        }
        match after.strip_prefix(',') {
            Some(more) => rest = more,
            None if after.is_empty() && map.len() <= RANKS_MAX && !map.is_empty() => break,
            None => return Err(wrong()),
        }
    }
    Ok(RankMap(map))
}

/// What `MPI_UNIVERSE_SIZE` says (`-usize`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Universe {
    /// As many processes as the hosts have slots.
    System,
    /// The largest number.
    Infinite,
    /// This number.
    Processes(u32),
}

/// Reads a [`Universe`].
///
/// # Errors
/// It is none.
pub fn universe(text: &str) -> Result<Universe, PlaceError> {
    match text.to_ascii_uppercase().as_str() {
        "SYSTEM" => Ok(Universe::System),
        "INFINITE" => Ok(Universe::Infinite),
        number => match number.parse::<i32>() {
            Ok(number) if number > 0 => Ok(Universe::Processes(number as u32)),
            _ => Err(PlaceError::Universe(text.to_owned())),
        },
    }
}

/// From which NUMA nodes ranks take memory (`-membind`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryBinding {
    /// Where a rank first touches it.
    FirstTouch,
    /// From these nodes only.
    Bind(Vec<u32>),
    /// From these nodes in turn; none: from all.
    Interleave(Vec<u32>),
}

/// Reads a [`MemoryBinding`].
///
/// # Errors
/// It is none.
pub fn memory_binding(text: &str) -> Result<MemoryBinding, PlaceError> {
    let wrong = || PlaceError::Memory(text.to_owned());
    let (word, list) = text.split_once(':').unwrap_or((text, ""));
    match (word, list) {
        ("none" | "firsttouch", "") => Ok(MemoryBinding::FirstTouch),
        ("interleave", "" | "all" | "numa") => Ok(MemoryBinding::Interleave(Vec::new())),
        ("interleave", list) => Ok(MemoryBinding::Interleave(nodes(list).ok_or_else(wrong)?)),
        ("bind", list) => Ok(MemoryBinding::Bind(nodes(list).ok_or_else(wrong)?)),
        _ => Err(wrong()),
    }
}

/// The numbers of `0,2-3`; none: it is no list of NUMA nodes.
#[must_use]
pub fn nodes(list: &str) -> Option<Vec<u32>> {
    let mut nodes = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        if first > last || last >= NODES_MAX {
            return None;
        }
        nodes.extend(first..=last);
    }
    Some(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_has_numbers_and_blocks() {
        let map = |text| rank_map(text).map(|map| map.0);
        assert_eq!(map("0,0,1,1"), Ok(vec![0, 0, 1, 1]));
        assert_eq!(map("(0,2,2)"), map("0,0,1,1"));
        assert_eq!(map("(vector,(0,2,1),1)"), Ok(vec![0, 1, 1]));
        assert_eq!(map("2,(0,1,2)"), Ok(vec![2, 0, 0]));
        for wrong in ["", "a", "0,", "(0,2)", "(0,2,2", "0;1", "(0,9999999,9999999)", "0(1,1,1)"] {
            assert_eq!(map(wrong), Err(PlaceError::Map(wrong.into())));
        }
    }

    #[test]
    fn a_universe_is_a_word_or_a_number() {
        assert_eq!(universe("SYSTEM"), Ok(Universe::System));
        assert_eq!(universe("infinite"), Ok(Universe::Infinite));
        assert_eq!(universe("12"), Ok(Universe::Processes(12)));
        for wrong in ["0", "-1", "", "many", "99999999999"] {
            assert!(universe(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn memory_has_a_policy_and_nodes() {
        assert_eq!(memory_binding("none"), Ok(MemoryBinding::FirstTouch));
        assert_eq!(memory_binding("bind:0,2-3"), Ok(MemoryBinding::Bind(vec![0, 2, 3])));
        assert_eq!(memory_binding("interleave:all"), Ok(MemoryBinding::Interleave(vec![])));
        for wrong in ["bind", "bind:", "bind:3-1", "interleave:x", "nexttouch", "bind:1024"] {
            assert!(memory_binding(wrong).is_err(), "{wrong}");
        }
    }
}
