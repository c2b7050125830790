//! How much memory the processes of a job may use on this host, all together, and how often the
//! kernel killed processes because they used more.
//!
//! Guarantees: the result is the smallest of the host's main memory and the limits of the control
//! groups of this process, versions 1 and 2, also those of all groups above. Limits that cannot be
//! read do not count.
//!
//! Containers and batch systems set such limits. Who uses more is killed by the kernel, whatever
//! the host has.

use std::path::{Path, PathBuf};

/// Values from here on mean "no limit" in version 1.
const NO_LIMIT: u64 = 1 << 60;

/// Bytes of memory that the processes on this host may use together.
#[must_use]
pub fn of_this_host() -> u64 {
    let all = rustix::system::sysinfo();
    let all = (all.totalram as u64).saturating_mul(u64::from(all.mem_unit.max(1)));
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let limits = limits(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"), Path::new("/"));
    limits.into_iter().chain([all]).min().unwrap_or(all)
}

/// A control group that limits memory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemoryGroup {
    /// Its folder, then those of the groups above it.
    folders: Vec<PathBuf>,
    version2: bool,
}

impl MemoryGroup {
    /// The groups of a process that runs.
    #[must_use]
    pub fn of_process(pid: u32) -> Vec<Self> {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        groups(&read(&format!("/proc/{pid}/cgroup")), &read("/proc/self/mountinfo"), Path::new("/"))
    }

    /// How many processes of the group the kernel has killed for want of memory, if it tells.
    #[must_use]
    pub fn kills(&self) -> Option<u64> {
        let file = if self.version2 { "memory.events" } else { "memory.oom_control" };
        counter(&self.folders.first()?.join(file), "oom_kill")
    }

    /// The smallest limit in bytes, of this group or one above it, that was ever reached.
    #[must_use]
    pub fn reached_limit(&self) -> Option<u64> {
        self.folders.iter().filter_map(|folder| self.limit(folder, true)).min()
    }

    fn limit(&self, folder: &Path, reached: bool) -> Option<u64> {
        let is_limit = |limit: &u64| *limit < NO_LIMIT;
        if self.version2 {
            let limit = number(&folder.join("memory.max")).filter(is_limit)?;
            let is_reached =
                || counter(&folder.join("memory.events"), "max").is_some_and(|times| times > 0);
            return (!reached || is_reached()).then_some(limit);
        }
        // Where memory with swap has the same limit (`docker run --memory-swap`), that one is
        // reached first.
        let limits = ["memory", "memory.memsw"].into_iter().filter_map(|name| {
            let file = |what| folder.join(format!("{name}.{what}"));
            let limit = number(&file("limit_in_bytes")).filter(is_limit)?;
            // Kernels count how often the limit was reached, but not for memory with swap.
            let is_reached = || {
                number(&file("failcnt")).is_some_and(|times| times > 0)
                    || number(&file("max_usage_in_bytes")).is_some_and(|most| most >= limit)
            };
            (!reached || is_reached()).then_some(limit)
        });
        limits.min()
    }
}

fn number(file: &Path) -> Option<u64> {
    std::fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// The number behind a word that begins a line.
fn counter(file: &Path, word: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(name, _)| *name == word)?.1.trim().parse().ok()
}

/// The limits of the control groups in `/proc/self/cgroup` whose file systems are in
/// `/proc/self/mountinfo`. Files are read below `root`.
fn limits(names: &str, mounts: &str, root: &Path) -> Vec<u64> {
    let all = groups(names, mounts, root);
    let of = |group: &MemoryGroup| -> Vec<u64> {
        group.folders.iter().filter_map(|folder| group.limit(folder, false)).collect()
    };
    all.iter().flat_map(of).collect()
}

/// The control groups of these names that limit memory.
fn groups(names: &str, mounts: &str, root: &Path) -> Vec<MemoryGroup> {
    let mut found = Vec::new();
    for line in names.lines() {
        let mut words = line.splitn(3, ':');
        let (Some(number), Some(controllers), Some(group)) =
            (words.next(), words.next(), words.next())
        else {
            continue;
        };
        let version2 = number == "0" && controllers.is_empty();
        if !version2 && !controllers.split(',').any(|controller| controller == "memory") {
            continue;
        }
        let file_system = if version2 { "cgroup2" } else { "cgroup" };
        for mount in mounts.lines().filter_map(Mount::of).filter(|m| m.is(file_system)) {
            let folders = mount.folders_of(group);
            let below = |folder: &PathBuf| root.join(folder.strip_prefix("/").unwrap_or(folder));
            found.push(MemoryGroup { folders: folders.iter().map(below).collect(), version2 });
        }
    }
    found
}

/// A mounted file system of control groups.
#[derive(Debug)]
struct Mount<'a> {
    /// The group that is seen at the mount point.
    top: &'a Path,
    point: PathBuf,
    file_system: &'a str,
    options: &'a str,
}

impl<'a> Mount<'a> {
    /// A line of `/proc/self/mountinfo`.
    fn of(line: &'a str) -> Option<Self> {
        let (first, last) = line.split_once(" - ")?;
        let mut first = first.split(' ').skip(3);
        let (top, point) = (Path::new(first.next()?), first.next()?);
        // A space in a path is written as \040.
        let point = PathBuf::from(point.replace("\\040", " "));
        let mut last = last.split(' ');
        let (file_system, _, options) = (last.next()?, last.next()?, last.next()?);
        Some(Self { top, point, file_system, options })
    }

    fn is(&self, file_system: &str) -> bool {
        self.file_system == file_system
            && (file_system == "cgroup2" || self.options.split(',').any(|o| o == "memory"))
    }

    /// The folders of a group and of the groups above it, as far as they are seen here.
    fn folders_of(&self, group: &str) -> Vec<PathBuf> {
        let group = Path::new(group);
        // In a container the group's name may be that of the host, where only a part is seen.
        let below = group.strip_prefix(self.top).or_else(|_| group.strip_prefix("/"));
        let mut folder = self.point.join(below.unwrap_or(Path::new("")));
        let mut folders = vec![folder.clone()];
        while folder != self.point && folder.pop() {
            folders.push(folder.clone());
        }
        folders
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files below a new folder, and their contents.
    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        root
    }

    const V1: &str = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
        32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n";
    const V2: &str = "41 31 0:38 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";

    #[test]
    fn limits_of_version_1_count_with_those_of_the_groups_above() {
        let root = tree(&[
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/batch/memory.limit_in_bytes", "536870912\n"),
            ("sys/fs/cgroup/memory/batch/job 7/memory.limit_in_bytes", "1073741824\n"),
            ("sys/fs/cgroup/cpu/memory.limit_in_bytes", "1\n"),
        ]);
        let of = |groups| limits(groups, V1, root.path());
        assert_eq!(of("4:memory:/batch/job 7\n1:cpu:/\n0::/\n"), [1 << 30, 512 << 20]);
        assert_eq!(of("4:cpu,memory:/\n"), [0_u64; 0]);
        assert_eq!(of("1:cpu:/\n"), [0_u64; 0]);
    }

    #[test]
    fn limits_of_version_2_count_with_those_of_the_groups_above() {
        let root = tree(&[
            ("sys/fs/cgroup/slurm/memory.max", "max\n"),
            ("sys/fs/cgroup/slurm/job/memory.max", "8589934592\n"),
            ("sys/fs/cgroup/slurm/job/step/memory.max", "4294967296\n"),
        ]);
        let of = |groups| limits(groups, V2, root.path());
        assert_eq!(of("0::/slurm/job/step\n"), [4 << 30, 8 << 30]);
        assert_eq!(of("0::/slurm\n"), [0_u64; 0]);
        assert_eq!(of("0::/elsewhere\n"), [0_u64; 0]);
    }

    /// A container sees its own group at the mount point, under the host's name or as `/`.
    #[test]
    fn a_container_sees_its_own_group() {
        let mounts = "9 8 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
        let root = tree(&[("sys/fs/cgroup/memory/memory.limit_in_bytes", "1000000\n")]);
        assert_eq!(limits("4:memory:/docker/abc\n", mounts, root.path()), [1_000_000]);
        let root = tree(&[("sys/fs/cgroup/memory.max", "2000000\n")]);
        assert_eq!(limits("0::/\n", V2, root.path()), [2_000_000]);
    }

    #[test]
    fn nonsense_is_no_limit() {
        let root = tree(&[("sys/fs/cgroup/memory.max", "many\n")]);
        for (groups, mounts) in [("0::/\n", V2), ("", ""), ("x\n::\n", "a - b\n1 2 3 / /x - c\n")] {
            assert_eq!(limits(groups, mounts, root.path()), [0_u64; 0]);
        }
        assert!(of_this_host() > 1 << 20);
    }

    #[test]
    fn kills_for_want_of_memory_are_counted_with_the_limit_that_was_reached() {
        let root = tree(&[
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/batch/memory.limit_in_bytes", "104857600\n"),
            ("sys/fs/cgroup/memory/batch/memory.failcnt", "0\n"),
            ("sys/fs/cgroup/memory/batch/job/memory.limit_in_bytes", "209715200\n"),
            ("sys/fs/cgroup/memory/batch/job/memory.failcnt", "31\n"),
            (
                "sys/fs/cgroup/memory/batch/job/memory.oom_control",
                "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
            ),
        ]);
        let found = groups("4:memory:/batch/job\n1:cpu:/\n", V1, root.path());
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].kills(), found[0].reached_limit()), (Some(2), Some(200 << 20)));
        let root = tree(&[
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "104857600\n"),
            ("sys/fs/cgroup/memory/memory.failcnt", "0\n"),
            ("sys/fs/cgroup/memory/memory.memsw.limit_in_bytes", "104857600\n"),
            ("sys/fs/cgroup/memory/memory.memsw.failcnt", "0\n"),
            ("sys/fs/cgroup/memory/memory.memsw.max_usage_in_bytes", "104857600\n"),
        ]);
        let found = groups("4:memory:/\n", V1, root.path());
        assert_eq!(found[0].reached_limit(), Some(100 << 20), "memory with swap");
        let root = tree(&[
            ("sys/fs/cgroup/slurm/memory.max", "max\n"),
            ("sys/fs/cgroup/slurm/job/memory.max", "4294967296\n"),
            ("sys/fs/cgroup/slurm/job/memory.events", "low 0\nhigh 0\nmax 7\noom 1\noom_kill 1\n"),
        ]);
        let found = groups("0::/slurm/job\n", V2, root.path());
        assert_eq!((found[0].kills(), found[0].reached_limit()), (Some(1), Some(4 << 30)));
        let none = groups("0::/other\n", V2, root.path());
        assert_eq!((none[0].kills(), none[0].reached_limit()), (None, None));
    }
}
