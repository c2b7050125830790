//! Which detectors look at which facts, in which order, with which parameters: the contents of a
//! file of `--recovery`.

use super::library::{FromLibrary, Whose};
use super::{Fact, HostName};
use crate::tuning::{
    HOST_PATIENCE, HOST_RETRY, LOST_SHARE, RECENT_LOSSES, REPEATED_WINDOW, SAME_DEATHS,
};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

/// How a failure is repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Recovery {
    /// The rank begins again where it ran.
    Restart,
    /// It begins again on another host.
    Migrate,
    /// The others go on without the rank.
    Ignore,
    /// The job ends, and can be continued.
    GiveUp,
}

impl Recovery {
    /// The recoveries that there are.
    pub const ALL: [Self; 4] = [Self::Restart, Self::Migrate, Self::Ignore, Self::GiveUp];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Restart => "restart",
            Self::Migrate => "migrate",
            Self::Ignore => "ignore",
            Self::GiveUp => "give-up",
        }
    }

    /// The recovery of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|recovery| recovery.name() == name)
    }
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A model of a fault, and the recovery for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Detector {
    /// A rank died by the same fault, so often in a row on one host, without progress: the host may
    /// be broken. The same death on another host is a fault of the program.
    SameDeath {
        /// How often.
        count: u32,
        /// What then.
        recovery: Recovery,
    },
    /// So many processes of a host died within this time.
    Repeated {
        /// Their number.
        count: u32,
        /// The time.
        window: Duration,
        /// What then.
        recovery: Recovery,
    },
    /// This share of the hosts of a switch was lost, or two hosts do not reach each other.
    Network {
        /// From 0 to 1.
        share: f64,
        /// A host that was lost within this time counts although it is back.
        window: Duration,
        /// What then.
        recovery: Recovery,
    },
    /// A process died, and its host lives.
    Process {
        /// What then.
        recovery: Recovery,
    },
    /// A host was lost.
    Physical {
        /// What then.
        recovery: Recovery,
        /// How long a host that closed its connection is tried before its ranks move. A silent host
        /// is not waited for.
        patience: Duration,
    },
    /// The process of a rank has been stopped.
    Stall {
        /// At least so long.
        after: Duration,
        /// What then.
        recovery: Recovery,
    },
    /// A host is said to be about to fail.
    Health {
        /// What then.
        recovery: Recovery,
    },
    /// Not built in, or with a recovery that is not.
    Library(FromLibrary),
}

impl Detector {
    /// The names of the detectors.
    pub const NAMES: [&'static str; 7] =
        ["same-death", "repeated", "network", "process", "physical", "stall", "health"];

    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::SameDeath { .. } => "same-death",
            Self::Repeated { .. } => "repeated",
            Self::Network { .. } => "network",
            Self::Process { .. } => "process",
            Self::Physical { .. } => "physical",
            Self::Stall { .. } => "stall",
            Self::Health { .. } => "health",
            Self::Library(_) => "library",
        }
    }

    /// The detector of this name, with its defaults.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let recovery = Recovery::Migrate;
        Some(match name {
            "same-death" => Self::SameDeath { count: SAME_DEATHS, recovery },
            "repeated" => Self::Repeated { count: SAME_DEATHS, window: REPEATED_WINDOW, recovery },
            "network" => Self::Network { share: LOST_SHARE, window: RECENT_LOSSES, recovery },
            "process" => Self::Process { recovery: Recovery::Restart },
            "physical" => Self::Physical { recovery, patience: HOST_PATIENCE },
            "stall" => Self::Stall { after: Duration::ZERO, recovery: Recovery::Restart },
            "health" => Self::Health { recovery },
            _ => return None,
        })
    }

    /// What it does when it recognises its fault.
    #[must_use]
    pub const fn recovery(&self) -> Recovery {
        match self {
            Self::SameDeath { recovery, .. }
            | Self::Repeated { recovery, .. }
            | Self::Network { recovery, .. }
            | Self::Process { recovery }
            | Self::Physical { recovery, .. }
            | Self::Stall { recovery, .. }
            | Self::Health { recovery }
            | Self::Library(FromLibrary { recovery: Whose::BuiltIn(recovery), .. }) => *recovery,
            // The library says what is done.
            Self::Library(_) => Recovery::Restart,
        }
    }
}

/// Detectors for some ranks and hosts. An empty list of hosts, switches or ranks means all.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Rule {
    /// Names of hosts; `*` stands for any text.
    pub hosts: Vec<String>,
    /// Names of switches.
    pub switches: Vec<String>,
    /// Ranges of ranks. A rule for ranks does not look at facts about whole hosts.
    pub ranks: Vec<RangeInclusive<u32>>,
    /// In their order.
    pub detectors: Vec<Detector>,
}

impl Rule {
    /// Whether the rule looks at this fact.
    pub(super) fn matches(&self, fact: &Fact, hosts: &[HostName]) -> bool {
        let is_meant = |host: u32| {
            let host = &hosts[host as usize];
            let by_name = self.hosts.is_empty()
                || self.hosts.iter().any(|pattern| is_like(&host.name, pattern));
            let by_switch = self.switches.is_empty()
                || host.switch.as_ref().is_some_and(|switch| self.switches.contains(switch));
            by_name && by_switch
        };
        let by_rank = self.ranks.is_empty()
            || fact.rank().is_some_and(|rank| self.ranks.iter().any(|some| some.contains(&rank.0)));
        by_rank && fact.hosts().into_iter().any(is_meant)
    }
}

/// All rules of a job, and what concerns hosts as such.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// In their order: a fact goes through the detectors of all rules that match.
    pub rules: Vec<Rule>,
    /// Ranks may move to hosts that have no free slot.
    pub oversubscribe: bool,
    /// Time after which a host that was given up is tried again; `None`: never.
    pub retry: Option<Duration>,
}

impl Default for Policy {
    fn default() -> Self {
        let names = ["same-death", "network", "health", "process", "physical"];
        let detectors = names.into_iter().filter_map(Detector::named).collect();
        Self {
            rules: vec![Rule { detectors, ..Rule::default() }],
            oversubscribe: true,
            retry: Some(HOST_RETRY),
        }
    }
}

impl Policy {
    /// The others go on without every rank that dies.
    #[must_use]
    pub fn ignore() -> Self {
        let recovery = Recovery::Ignore;
        let patience = Duration::ZERO;
        let detectors =
            vec![Detector::Process { recovery }, Detector::Physical { recovery, patience }];
        Self { rules: vec![Rule { detectors, ..Rule::default() }], ..Self::default() }
    }

    /// Whether some detector has the others go on.
    #[must_use]
    pub fn ignores(&self) -> bool {
        let mut detectors = self.rules.iter().flat_map(|rule| &rule.detectors);
        detectors.any(|detector| detector.recovery() == Recovery::Ignore)
    }

    /// Whether a detector looks at ranks that stand still.
    #[must_use]
    pub fn looks_at_stalls(&self) -> bool {
        let detectors = self.rules.iter().flat_map(|rule| &rule.detectors);
        // What a library looks at is not known.
        let looks = |detector: &Detector| match detector {
            Detector::Stall { .. } => true,
            Detector::Library(FromLibrary { detector: Whose::BuiltIn(detector), .. }) => {
                matches!(**detector, Detector::Stall { .. })
            }
            Detector::Library(_) => true,
            _ => false,
        };
        detectors.into_iter().any(looks)
    }

    /// The parts that come from libraries.
    pub fn from_libraries(&self) -> impl Iterator<Item = &FromLibrary> {
        self.rules.iter().flat_map(|rule| &rule.detectors).filter_map(|detector| match detector {
            Detector::Library(from) => Some(from),
            _ => None,
        })
    }
}

/// What stands behind the last rule. `network` has no say there about hosts of a switch: no share
/// of them is more than all.
pub(super) fn tail() -> Rule {
    let (window, recovery) = (RECENT_LOSSES, Recovery::Migrate);
    let cuts = Detector::Network { share: f64::INFINITY, window, recovery };
    let others = ["process", "physical"].into_iter().filter_map(Detector::named);
    Rule { detectors: [cuts].into_iter().chain(others).collect(), ..Rule::default() }
}

/// Whether a name is like a pattern, in which `*` stands for any text.
#[must_use]
pub fn is_like(name: &str, pattern: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return name == pattern };
    let Some(rest) = name.strip_prefix(head) else { return false };
    let mut ends = (0..=rest.len()).filter(|at| rest.is_char_boundary(*at));
    ends.any(|at| is_like(&rest[at..], tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for name in Detector::NAMES {
            assert_eq!(Detector::named(name).unwrap().name(), name);
        }
        for recovery in Recovery::ALL {
            assert_eq!(Recovery::named(recovery.name()), Some(recovery));
        }
        assert_eq!((Detector::named("luck"), Recovery::named("promote")), (None, None));
    }

    #[test]
    fn a_star_stands_for_any_text() {
        let yes = [("a", "a"), ("rack1-07", "rack1-*"), ("abc", "*"), ("abcb", "a*b"), ("", "*")];
        let no = [("a", "b"), ("rack2-07", "rack1-*"), ("abc", "a*b"), ("ab", "a*b*c")];
        assert!(yes.into_iter().all(|(name, pattern)| is_like(name, pattern)));
        assert!(!no.into_iter().any(|(name, pattern)| is_like(name, pattern)));
    }
}
