//! From which NUMA nodes the ranks of this host take memory (`-membind`).
//!
//! Guarantees: a host that refuses the policy is named once, and its ranks run without it. Every
//! incarnation begins under the policy: an image does not bring it.

use crate::binding::MemoryPolicy;
use std::io;

/// Bits of a mask of nodes, as many as Linux can have.
const NODES: usize = 1024;
const WORDS: usize = NODES / 64;
/// Where the kernel lists the nodes.
const ONLINE: &str = "/sys/devices/system/node/online";

/// A policy in the kernel's form.
#[derive(Debug, Clone, Copy)]
pub struct KernelPolicy {
    mode: libc::c_int,
    nodes: [u64; WORDS],
}

impl KernelPolicy {
    /// The policy for this host, if the kernel takes it.
    ///
    /// # Errors
    /// The kernel's answer: there are no such nodes, or a container forbids it.
    pub fn of(policy: &MemoryPolicy) -> io::Result<Self> {
        let all = || {
            let text = std::fs::read_to_string(ONLINE).unwrap_or_default();
            ftmpi_options::places::nodes(text.trim()).unwrap_or_else(|| vec![0])
        };
        let (mode, nodes) = match policy {
            MemoryPolicy::Bind(nodes) => (libc::MPOL_BIND, nodes.clone()),
            MemoryPolicy::Interleave(nodes) if nodes.is_empty() => (libc::MPOL_INTERLEAVE, all()),
            MemoryPolicy::Interleave(nodes) => (libc::MPOL_INTERLEAVE, nodes.clone()),
        };
        let mut mask = [0; WORDS];
        for node in nodes.into_iter().filter(|node| (*node as usize) < NODES) {
            mask[node as usize / 64] |= 1 << (node % 64);
        }
        let found = Self { mode, nodes: mask };
        // Another thread than the agent's tries it, and ends.
        std::thread::spawn(move || found.apply())
            .join()
            .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
        Ok(found)
    }

    /// Puts the calling thread under the policy, and what it executes.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn apply(&self) -> io::Result<()> {
        // SAFETY: the mask has so many bits; the kernel counts one more than it reads.
        let answer = unsafe {
            libc::syscall(libc::SYS_set_mempolicy, self.mode, self.nodes.as_ptr(), NODES + 1)
        };
        if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_that_are_not_there_are_refused() {
        // A kernel without NUMA, and some containers, know no policies.
        let first = KernelPolicy::of(&MemoryPolicy::Bind(vec![0]));
        let Ok(first) = first else { return };
        assert_eq!((first.mode, first.nodes[0]), (libc::MPOL_BIND, 1));
        assert!(KernelPolicy::of(&MemoryPolicy::Bind(vec![1023])).is_err());
        let all = KernelPolicy::of(&MemoryPolicy::Interleave(Vec::new())).unwrap();
        assert!(all.mode == libc::MPOL_INTERLEAVE && all.nodes[0] & 1 == 1);
    }
}
