//! Ranks that the kernel kills because a limit of memory is reached: such a death comes back at
//! every restart, so it is told from kills by somebody.
//!
//! Guarantees: only a process that died by SIGKILL is explained so, and each kill that the kernel
//! counted explains one death at the most, within [`MEMORY_KILL_MEMORY`]. Where the kernel counts
//! nothing, nothing is explained.
//!
//! Source: memory.events of version 2, memory.oom_control of version 1 of control groups.

use crate::tuning::MEMORY_KILL_MEMORY;
use ftmpi_protocols::dispatcher::MemoryLimit;
use ftmpi_servers::host_memory::MemoryGroup;
use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

/// Kills in one group.
#[derive(Debug, Default)]
struct Kills {
    counted: u64,
    /// When those were seen that explain no death yet.
    unexplained: VecDeque<Instant>,
}

impl Kills {
    fn look(&mut self, counted: u64, now: Instant) {
        for _ in self.counted..counted {
            self.unexplained.push_back(now);
        }
        self.counted = counted;
        self.unexplained.retain(|seen| now.duration_since(*seen) < MEMORY_KILL_MEMORY);
    }
}

/// The groups of this host's ranks.
#[derive(Debug, Default)]
pub struct MemoryKills {
    groups: BTreeMap<MemoryGroup, Kills>,
    of_process: BTreeMap<u32, Vec<MemoryGroup>>,
}

impl MemoryKills {
    /// A process has begun, or has turned out to be a rank.
    pub fn watch(&mut self, pid: u32) {
        let groups = MemoryGroup::of_process(pid);
        for group in &groups {
            if !self.groups.contains_key(group)
                && let Some(counted) = group.kills()
            {
                self.groups.insert(group.clone(), Kills { counted, ..Kills::default() });
            }
        }
        self.of_process.insert(pid, groups);
    }

    /// Time has passed.
    pub fn look(&mut self, now: Instant) {
        for (group, kills) in &mut self.groups {
            if let Some(counted) = group.kills() {
                kills.look(counted, now);
            }
        }
    }

    /// A process has ended; `killed`: by SIGKILL, and not from here. The limit that explains it.
    pub fn ended(&mut self, pids: &[u32], killed: bool, now: Instant) -> Option<MemoryLimit> {
        let groups: Vec<MemoryGroup> =
            pids.iter().filter_map(|pid| self.of_process.remove(pid)).flatten().collect();
        if !killed {
            return None;
        }
        self.look(now);
        let explains = |group: &&MemoryGroup| {
            self.groups.get(*group).is_some_and(|k| !k.unexplained.is_empty())
        };
        let group = groups.iter().find(explains)?;
        self.groups.get_mut(group)?.unexplained.pop_front();
        Some(group.reached_limit().map_or(MemoryLimit::Host, MemoryLimit::Group))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kill_explains_one_death_for_a_while() {
        let (mut kills, begin) = (Kills { counted: 4, ..Kills::default() }, Instant::now());
        kills.look(4, begin);
        assert!(kills.unexplained.is_empty(), "those before the job are not ours");
        kills.look(6, begin);
        assert_eq!(kills.unexplained.len(), 2);
        kills.look(6, begin + MEMORY_KILL_MEMORY);
        assert!(kills.unexplained.is_empty());
    }

    #[test]
    fn a_process_that_the_kernel_did_not_kill_is_not_explained() {
        let mut kills = MemoryKills::default();
        let own = std::process::id();
        kills.watch(own);
        assert_eq!(kills.ended(&[own], false, Instant::now()), None);
        kills.watch(own);
        assert_eq!(kills.ended(&[own], true, Instant::now()), None);
        assert_eq!(kills.ended(&[own], true, Instant::now()), None, "unknown by now");
    }
}
