//! Whether the hosts of this run can restore the images of the job: compared before the first rank
//! starts, and for a spare host when its agent is ready, which may be later.
//!
//! The boot library refuses an image on a processor that lacks instructions of the first one. The
//! plan of the job keeps those facts for the newest image of each rank, and every agent reports the
//! facts of its host.

use super::{Launcher, notices};
use crate::agent_protocol::ToAgent;
use crate::cpu_baseline::CpuBaseline;
use crate::host_limits::HostLimits;
use crate::restore_facts::RestoreFacts;
use ftmpi_wire::Rank;
use std::collections::BTreeMap;

/// A host and its facts, if its agent has reported them.
type HostFacts<'a> = (&'a str, Option<&'a RestoreFacts>);

impl Launcher {
    /// Tells the user about hosts and images that do not fit; each line once. `late`: a host that
    /// joined after the first rank had started; other spare hosts were compared before.
    pub(super) fn check_restores(&mut self, late: Option<u32>) {
        if self.plan.ckpt_interval.is_none() {
            return;
        }
        for line in self.misfit_lines(late) {
            if self.misfits_told.insert(line.clone()) {
                self.printer.notice(line);
            }
        }
    }

    /// Whether this host is compared: all of them, or a late one and those that are no spares.
    fn is_compared(&self, host: u32, late: Option<u32>) -> bool {
        late.is_none_or(|late| late == host || !self.plan.machines[host as usize].spare)
    }

    fn misfit_lines(&self, late: Option<u32>) -> Vec<String> {
        let limited: Vec<Option<RestoreFacts>> = (0..self.plan.machines.len() as u32)
            .map(|host| {
                if !self.is_compared(host, late) {
                    return None;
                }
                let facts = self.agents.get(host).restore_facts.as_deref()?;
                Some(self.job.cpu_baseline.map_or_else(|| facts.clone(), |it| it.limit(facts)))
            })
            .collect();
        let hosts: Vec<HostFacts<'_>> = limited
            .iter()
            .enumerate()
            .map(|(host, facts)| (self.agents.name(host as u32), facts.as_ref()))
            .collect();
        let mut lines = Vec::new();
        if self.plan.continued.is_some() {
            let ranks = 0..self.plan.placement.len() as u32;
            let images = ranks.map(Rank).filter_map(|rank| {
                self.dispatcher.newest(rank)?;
                let (host, _) = self.dispatcher.location(rank);
                Some((rank, host as usize, self.store.saved().image_facts.get(rank)?))
            });
            lines.extend(misfits(images, &hosts));
        }
        lines.extend(different_hosts(&hosts));
        lines.extend(self.check_limits(late));
        lines
    }

    /// Decides which instructions the ranks of a new job count on (`--cpu-baseline`), and tells the
    /// agents.
    pub(super) fn choose_baseline(&mut self) {
        let facts: Vec<&RestoreFacts> =
            self.agents.all().iter().filter_map(|agent| agent.restore_facts.as_deref()).collect();
        let chosen = CpuBaseline::of(self.plan.cpu_baseline, &facts);
        let Some(baseline) = chosen.filter(|_| self.plan.continued.is_none()) else { return };
        let mut left_out: Vec<&str> =
            facts.iter().flat_map(|facts| baseline.left_out(facts)).collect();
        left_out.sort_unstable();
        left_out.dedup();
        self.job.cpu_baseline = Some(baseline);
        self.store.set_cpu_baseline(baseline);
        self.agents.broadcast(&ToAgent::CpuBaseline(baseline));
        if !left_out.is_empty() {
            self.printer.notice(notices::left_out(&left_out));
        }
    }

    /// Lines about hosts that cannot take ranks of the first host: limits differ.
    fn check_limits(&self, late: Option<u32>) -> Vec<String> {
        let hosts: Vec<_> = (0..self.plan.machines.len() as u32)
            .map(|host| Host {
                name: self.agents.name(host),
                limits: self
                    .agents
                    .get(host)
                    .limits
                    .as_deref()
                    .filter(|_| self.is_compared(host, late)),
                spare: self.plan.machines[host as usize].spare,
                ranks: self.plan.placement.iter().filter(|place| **place == host).count() as u64,
            })
            .collect();
        hindered_hosts(&hosts, self.job.stack_limit.0)
    }
}

/// What is known of a host before the first rank starts.
struct Host<'a> {
    name: &'a str,
    limits: Option<&'a HostLimits>,
    spare: bool,
    ranks: u64,
}

/// Lines about hosts that cannot take ranks of the first host that has some.
fn hindered_hosts(hosts: &[Host<'_>], stack: u64) -> Vec<String> {
    let first = hosts.iter().find(|host| host.ranks > 0);
    let Some((first, limits)) = first.and_then(|host| Some((host, host.limits?))) else {
        return Vec::new();
    };
    let share = limits.memory / first.ranks;
    let mut groups: BTreeMap<(bool, Vec<String>), Vec<&str>> = BTreeMap::new();
    for host in hosts {
        let obstacles = host.limits.map(|other| other.obstacles(limits, stack, share));
        if let Some(obstacles) = obstacles.filter(|found| !found.is_empty()) {
            groups.entry((host.spare, obstacles)).or_default().push(host.name);
        }
    }
    let line = |((spare, obstacles), names): (&(bool, Vec<String>), &Vec<&str>)| {
        notices::host_hindered(names, *spare, first.name, obstacles)
    };
    groups.iter().map(line).collect()
}

/// Lines about images (rank, its host now, facts of the image) that do not fit their host.
fn misfits<'a>(
    images: impl Iterator<Item = (Rank, usize, &'a RestoreFacts)>,
    hosts: &[HostFacts<'_>],
) -> Vec<String> {
    let mut groups: BTreeMap<(usize, Vec<String>), Vec<Rank>> = BTreeMap::new();
    for (rank, host, image) in images {
        let Some(here) = hosts.get(host).and_then(|(_, facts)| *facts) else { continue };
        let differences = image.differences(here);
        if !differences.is_empty() {
            groups.entry((host, differences)).or_default().push(rank);
        }
    }
    let line = |((host, differences), ranks): ((usize, Vec<String>), Vec<Rank>)| {
        notices::images_do_not_fit(&ranks, hosts[host].0, &differences)
    };
    groups.into_iter().map(line).collect()
}

/// Lines about hosts between which images cannot move: each kind against the first host, in both
/// directions.
fn different_hosts(hosts: &[HostFacts<'_>]) -> Vec<String> {
    let mut known = hosts.iter().filter_map(|(name, facts)| Some((*name, (*facts)?)));
    let Some((first, facts)) = known.next() else { return Vec::new() };
    let mut groups: BTreeMap<(bool, Vec<String>), Vec<&str>> = BTreeMap::new();
    for (name, other) in known {
        for (back, differences) in
            [(false, facts.differences(other)), (true, other.differences(facts))]
        {
            if !differences.is_empty() {
                groups.entry((back, differences)).or_default().push(name);
            }
        }
    }
    let line = |((back, found), names): (&(bool, Vec<String>), &Vec<&str>)| match back {
        false => notices::hosts_differ(&[first], names, found),
        true => notices::hosts_differ(names, &[first], found),
    };
    groups.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_limits;
    use crate::restore_facts::made_up;

    #[test]
    fn spare_hosts_that_cannot_take_a_rank_are_named() {
        let good = host_limits::made_up();
        let small = HostLimits { memory: 4 << 30, ..good.clone() };
        let host = |name, limits, spare, ranks| Host { name, limits: Some(limits), spare, ranks };
        let hosts = [
            host("a", &good, false, 4),
            host("b", &small, true, 0),
            host("c", &small, true, 0),
            host("d", &good, true, 0),
        ];
        let lines = hindered_hosts(&hosts, 8 << 20);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].starts_with("spare hosts b, c cannot take a rank of a: "), "{lines:?}");
        assert!(lines[0].contains("4.3 GB of memory"), "{lines:?}");
        let lines = hindered_hosts(&hosts[3..], 8 << 20);
        assert!(lines.is_empty(), "no rank anywhere");
    }

    #[test]
    fn images_that_do_not_fit_their_host_are_named() {
        let old = made_up(&["avx2", "avx512f"], "6.1");
        let (same, other) = (old.clone(), made_up(&["avx2"], "6.8"));
        let hosts = [("a", Some(&same)), ("b", Some(&other)), ("c", None)];
        let images = [(0, 0), (1, 1), (2, 1), (3, 2), (5, 1)];
        let images = images.map(|(rank, host)| (Rank(rank), host, &old));
        let lines = misfits(images.into_iter(), &hosts);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].starts_with("ranks 1-2, 5: images cannot be restored on b"), "{lines:?}");
        assert!(lines[0].contains("it has no avx512f;"), "{lines:?}");
    }

    #[test]
    fn hosts_that_cannot_exchange_images_are_named_once() {
        let (one, two) = (made_up(&["avx2"], "6.1"), made_up(&[], "6.1"));
        let other_kernel = made_up(&[], "6.8");
        let hosts = [("a", Some(&one)), ("b", Some(&two)), ("c", Some(&one)), ("d", Some(&two))];
        let lines = different_hosts(&hosts);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].starts_with("images of ranks on a cannot be restored on b, d: "));
        let hosts = [("b", Some(&two)), ("a", Some(&one)), ("e", Some(&other_kernel))];
        let lines = different_hosts(&hosts);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].starts_with("images of ranks on a cannot be restored on b: "));
        assert!(different_hosts(&hosts[..1]).is_empty());
        assert!(different_hosts(&[("a", None), ("b", Some(&two))]).is_empty());
    }
}
