//! Limits of a host that decide whether it can take a rank of another host: `ulimit`, memory,
//! `/dev/shm`.
//!
//! The launcher and `--doctor` compare them before the first rank starts. An image needs the same
//! soft limit on the stack and the same window of addresses; a rank needs descriptors and memory.

use crate::text::size;
use ftmpi_checkpoint::boot_abi::WINDOW_LEN;
use ftmpi_servers::host_memory;
use rustix::process::{Resource, getrlimit};
use serde::{Deserialize, Serialize};

/// Descriptors without which no rank starts.
const FILES_MIN: u64 = 1024;
/// The window takes so much of a limited address space: 1 of so many.
const WINDOW_SHARE: u64 = 8;
/// A host with less than this part of another one's resources has less.
const MUCH_LESS: f64 = 0.9;

/// Limits of a host; none: unlimited.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostLimits {
    /// Bytes of memory that the processes may use together.
    pub memory: u64,
    /// Hard limit on the stack, in bytes.
    pub stack: Option<u64>,
    /// Soft limit on the address space, in bytes.
    pub address_space: Option<u64>,
    /// Soft limit on locked memory, in bytes.
    pub locked: Option<u64>,
    /// Hard limit on open files.
    pub files: Option<u64>,
    /// Bytes of `/dev/shm`; 0: it is not there.
    pub shared_memory: u64,
}

impl HostLimits {
    /// The limits of this host, as its ranks have them.
    pub fn of_this_host() -> Self {
        let shm = rustix::fs::statvfs("/dev/shm").map(|fs| fs.f_blocks.saturating_mul(fs.f_frsize));
        Self {
            memory: host_memory::of_this_host(),
            stack: getrlimit(Resource::Stack).maximum,
            address_space: getrlimit(Resource::As).current,
            locked: getrlimit(Resource::Memlock).current,
            files: getrlimit(Resource::Nofile).maximum,
            shared_memory: shm.unwrap_or(0),
        }
    }

    /// Why this host cannot take a rank that began on another one. Each text reads on after "it
    /// has ". `stack`: the soft limit that the ranks of the job have; `share`: bytes of memory for
    /// one rank there.
    pub fn obstacles(&self, there: &Self, stack: u64, share: u64) -> Vec<String> {
        let mut found = Vec::new();
        if self.stack.is_some_and(|hard| hard < stack) {
            let limit = text_of(self.stack);
            found.push(format!(
                "a hard limit of {limit} on the stack (ulimit -Hs), below the job's"
            ));
        }
        if self.window() != there.window() {
            found.push(format!(
                "{} of address space (ulimit -v), there {}",
                text_of(self.address_space),
                text_of(there.address_space)
            ));
        }
        if self.files.is_some_and(|most| most < FILES_MIN) {
            let files = self.files.unwrap_or(0);
            found.push(format!(
                "a hard limit of {files} open files (ulimit -Hn); {FILES_MIN} are needed"
            ));
        }
        if self.memory < share {
            let (memory, share) = (size(self.memory), size(share));
            found.push(format!("{memory} of memory, less than one rank's part there ({share})"));
        }
        found
    }

    /// What this host has less of than another one, so that a rank may not find what it had.
    pub fn shortages(&self, there: &Self) -> Vec<String> {
        let mut found = Vec::new();
        let mut less = |what: &str, here: Option<u64>, there: Option<u64>| {
            let [small, large] = [here, there].map(|limit| limit.unwrap_or(u64::MAX));
            if (small as f64) < large as f64 * MUCH_LESS {
                found.push(format!("{} {what}, there {}", text_of(here), text_of(there)));
            }
        };
        less("of memory", Some(self.memory), Some(there.memory));
        less("of locked memory (ulimit -l)", self.locked, there.locked);
        less("in /dev/shm", Some(self.shared_memory), Some(there.shared_memory));
        if let Some(most) = self.files
            && there.files.is_none_or(|other| most < other)
        {
            let other = there.files.map_or_else(|| "unlimited".to_owned(), |n| n.to_string());
            found.push(format!("{most} open files at most (ulimit -Hn), there {other}"));
        }
        found
    }

    /// The length of the window of addresses that ranks reserve: an image needs the same.
    fn window(&self) -> u64 {
        let mut len = WINDOW_LEN as u64;
        while len > self.address_space.unwrap_or(u64::MAX) / WINDOW_SHARE {
            len /= 2;
        }
        len
    }
}

fn text_of(limit: Option<u64>) -> String {
    limit.map_or_else(|| "unlimited".to_owned(), size)
}

/// Limits of a host that does not exist.
#[cfg(test)]
pub fn made_up() -> HostLimits {
    HostLimits {
        memory: 64 << 30,
        stack: None,
        address_space: None,
        locked: Some(8 << 20),
        files: Some(1 << 20),
        shared_memory: 32 << 30,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STACK: u64 = 8 << 20;

    #[test]
    fn a_host_that_cannot_take_a_rank_says_why() {
        let first = made_up();
        let why = |change: fn(&mut HostLimits)| {
            let mut other = made_up();
            change(&mut other);
            other.obstacles(&first, STACK, 16 << 30).join("; ")
        };
        assert_eq!(why(|_| {}), "");
        // Less of what a rank does not need.
        assert_eq!(why(|host| (host.locked, host.shared_memory) = (Some(0), 0)), "");
        assert!(why(|host| host.stack = Some(1 << 20)).contains("ulimit -Hs"));
        assert!(why(|host| host.address_space = Some(1 << 30)).contains("ulimit -v"));
        assert_eq!(why(|host| host.address_space = Some(1 << 50)), "", "the window is the same");
        assert!(why(|host| host.files = Some(512)).contains("512 open files"));
        let short = why(|host| host.memory = 8 << 30);
        assert!(short.contains("less than one rank's part"), "{short}");
    }

    #[test]
    fn what_a_host_has_less_of_is_named() {
        let first = made_up();
        let small = HostLimits {
            memory: 32 << 30,
            locked: Some(64 << 10),
            files: Some(4096),
            shared_memory: 64 << 20,
            ..made_up()
        };
        let found = small.shortages(&first);
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found[1].contains("ulimit -l") && found[2].contains("/dev/shm"), "{found:?}");
        assert!(first.shortages(&small).is_empty() && first.shortages(&first).is_empty());
    }

    #[test]
    fn this_host_has_limits() {
        let here = HostLimits::of_this_host();
        assert!(here.memory > 0 && here.obstacles(&here, 0, 0).is_empty());
        let text = serde_json::to_string(&here).unwrap();
        assert_eq!(serde_json::from_str::<HostLimits>(&text).unwrap(), here);
    }
}
