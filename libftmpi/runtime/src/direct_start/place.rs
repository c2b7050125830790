//! Which host and CPUs this process has, as the others must know them.
//!
//! Ranks share memory and an agent if they run on one boot of one machine, in the same namespaces
//! of network, processes and users, as the same user, under the same name of the host. (A launcher
//! may take one machine for several hosts.)

use ftmpi_wire::direct_start::Card;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The variables in which launchers name the host.
const NAME_ENVS: &[&str] = &["SLURMD_NODENAME", "FLUX_HOSTNAME"];

fn digest(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// This process's card.
pub(super) fn card(variable: impl Fn(&str) -> Option<String>) -> Card {
    let name = NAME_ENVS.iter().find_map(|name| variable(name)).unwrap_or_else(host_name);
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    // Without /proc the name of the host has to do.
    let boot = if boot.is_empty() { host_name() } else { boot };
    let namespace = |kind: &str| std::fs::read_link(format!("/proc/self/ns/{kind}")).ok();
    let namespaces = ["net", "pid", "user"].map(namespace);
    // SAFETY: plain system calls.
    let (user, online) = unsafe { (libc::geteuid(), libc::sysconf(libc::_SC_NPROCESSORS_ONLN)) };
    let cpus = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
    Card {
        node: digest((&name, &boot, &namespaces, user)),
        machine: digest(&boot),
        mask: digest(affinity()),
        cpus,
        online: u32::try_from(online).unwrap_or(cpus).max(cpus),
        name,
    }
}

/// The CPUs that this process may use; empty if the system does not tell.
fn affinity() -> Vec<u8> {
    // SAFETY: an all-zero set is valid, and the kernel fills it.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set lives over the call and has this size.
    if unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) } != 0 {
        return Vec::new();
    }
    // SAFETY: a set is plain bytes.
    unsafe { std::slice::from_raw_parts((&raw const set).cast::<u8>(), size_of_val(&set)) }.to_vec()
}

fn host_name() -> String {
    let mut buffer = [0u8; 256];
    // SAFETY: the buffer is ours and its length is passed; one byte stays zero.
    unsafe { libc::gethostname(buffer.as_mut_ptr().cast(), buffer.len() - 1) };
    let end = buffer.iter().position(|&byte| byte == 0).unwrap_or(0);
    String::from_utf8_lossy(&buffer[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_one_machine_share_it_and_hosts_have_their_names() {
        let named = |name: &'static str| {
            card(move |variable| (variable == "SLURMD_NODENAME").then(|| name.to_owned()))
        };
        let (one, two) = (named("n1"), named("n2"));
        assert_eq!(one, named("n1"));
        assert_eq!((one.machine, one.mask), (two.machine, two.mask));
        assert_ne!(one.node, two.node);
        assert_eq!(card(|_| None).name, host_name());
        assert!(one.cpus >= 1 && one.online >= one.cpus);
    }
}
