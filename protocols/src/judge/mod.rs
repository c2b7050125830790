//! The judge names the recovery for every failure: a list of detectors looks at each fact, and the
//! first detector that recognises it names detector and recovery.
//!
//! ```text
//! launcher ─ what happened ─► dispatcher ─ Fact, Situation ─► Judge: rules ─► detectors
//!                             dispatcher ◄──── Verdict ─────  (first one that answers)
//! ```
//!
//! Calling convention: call [`Judge::judge`] with a [`Fact`] as it becomes known; the answer is a
//! [`Verdict`], or none if no detector takes the fact. The judge remembers earlier facts, and
//! nothing else changes it. It knows no clock: the caller passes the time.
//!
//! Guarantees:
//! - The death of a process, the loss of a host and a cut always have a verdict: behind the last
//!   rule stand the detectors `process`, `physical` and, for cuts only, `network`.
//! - A detector that would move ranks hands on where no other host can take them. (`physical`
//!   answers nevertheless: the lost host is then waited for.)
//! - The same death of a rank, without progress in between, ends the job when it came on two hosts,
//!   or often enough on the only one.
//!
//! After ABARIS (Jitsumoto, Endo, Matsuoka, 2007, §2.2): a fault detector compares what is known
//! with a model of a fault and chooses a recovery protocol, or hands on to another detector.

mod detectors;
mod history;
pub mod library;
mod policy;
#[cfg(test)]
mod tests;

pub use policy::{Detector, Policy, Recovery, Rule, is_like};

use crate::ending::Ending;
use ftmpi_wire::Rank;
use history::History;
use library::{Case, Found, FromLibrary, Library, Steps, Whose};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Something that may need a recovery. Hosts are indices into the hosts of the job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Fact {
    /// The process of a rank died.
    Process {
        /// The rank.
        rank: Rank,
        /// Where it ran.
        host: u32,
        /// How it ended; this also says whether a limit of memory did it.
        ending: Ending,
        /// A number that grows while the program makes progress.
        progress: u64,
    },
    /// A host was lost with its ranks.
    Host {
        /// The host.
        host: u32,
        /// It fell silent. Otherwise its agent closed the connection, so its system may be well.
        silent: bool,
    },
    /// Two hosts that the launcher reaches do not reach each other.
    Cut {
        /// One of them.
        a: u32,
        /// The other one.
        b: u32,
        /// The one that its ranks leave, if they move: elsewhere they reach all others. None: no
        /// host reaches all.
        leaves: Option<u32>,
    },
    /// The process of a rank was stopped, and answers nobody. A rank that computes, sleeps or waits
    /// is never meant: nobody but its program knows whether that is right.
    Stall {
        /// The rank.
        rank: Rank,
        /// Where it runs.
        host: u32,
        /// For how long.
        lasts: Duration,
    },
    /// A host is said to be about to fail.
    Suspect {
        /// The host.
        host: u32,
        /// One line.
        why: String,
    },
    /// A host is said to be sound again.
    Sound {
        /// The host.
        host: u32,
    },
}

impl Fact {
    /// The rank that the fact is about, if it is about one.
    #[must_use]
    pub fn rank(&self) -> Option<Rank> {
        match self {
            Self::Process { rank, .. } | Self::Stall { rank, .. } => Some(*rank),
            _ => None,
        }
    }

    /// The hosts that the fact is about.
    #[must_use]
    pub fn hosts(&self) -> Vec<u32> {
        match self {
            Self::Cut { a, b, .. } => vec![*a, *b],
            Self::Process { host, .. }
            | Self::Host { host, .. }
            | Self::Stall { host, .. }
            | Self::Suspect { host, .. }
            | Self::Sound { host } => vec![*host],
        }
    }
}

/// What the judge must know of the present.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Situation {
    /// Since the start of the job.
    pub now: Duration,
    /// For each host: it is lost, and has not come back.
    pub lost: Vec<bool>,
    /// For each host: it can take the ranks that would move because of this fact.
    pub takes: Vec<bool>,
    /// For each host: its ranks.
    pub ranks: Vec<u32>,
}

impl Situation {
    /// Whether a host but these can take the ranks.
    fn can_move_away_from(&self, from: &[u32]) -> bool {
        let mut hosts = self.takes.iter().enumerate();
        hosts.any(|(host, takes)| *takes && !from.contains(&(host as u32)))
    }
}

/// The detector and the recovery that a verdict names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named {
    /// Name of the detector.
    pub detector: &'static str,
    /// The recovery.
    pub recovery: Recovery,
    /// Its own name, if it is one of a library.
    pub own: Option<&'static str>,
}

impl Named {
    /// A recovery that is built in.
    #[must_use]
    pub const fn new(detector: &'static str, recovery: Recovery) -> Self {
        Self { detector, recovery, own: None }
    }

    /// The name of the recovery.
    #[must_use]
    pub const fn recovery_name(&self) -> &'static str {
        match self.own {
            Some(own) => own,
            None => self.recovery.name(),
        }
    }
}

/// What a detector saw beyond the fact itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ground {
    /// Nothing.
    TheFact,
    /// The rank died in the same way again and again, without progress.
    SameDeath {
        /// How often.
        times: u32,
        /// The host that the rank had left for that reason.
        before: Option<String>,
    },
    /// Processes of one host died.
    ManyFaults {
        /// Name of the host.
        host: String,
        /// Their number.
        count: u32,
        /// Within this time.
        window: Duration,
    },
    /// Hosts of one switch were lost.
    SwitchLost {
        /// Name of the switch.
        switch: String,
        /// How many.
        lost: u32,
        /// Of so many.
        of: u32,
    },
    /// Two hosts do not reach each other.
    Cut {
        /// Their names.
        ends: [String; 2],
    },
    /// The process of the rank has been stopped.
    Stalled {
        /// For how long.
        lasts: Duration,
    },
    /// A host is said to be about to fail.
    Suspect {
        /// Name of the host.
        host: String,
        /// One line.
        why: String,
    },
    /// A detector of a library says so.
    Library {
        /// One line.
        why: String,
    },
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Who says so, and what.
    pub named: Named,
    /// Why.
    pub ground: Ground,
    /// How long a lost host is tried before its ranks move.
    pub patience: Duration,
    /// Hosts that take no rank from now on.
    pub shun: Vec<u32>,
    /// Hosts whose living ranks move, too.
    pub leave: Vec<u32>,
}

/// What the judge must know of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostName {
    /// Its name.
    pub name: String,
    /// The switch that it is connected to.
    pub switch: Option<String>,
}

/// The machine.
#[derive(Debug)]
pub struct Judge {
    policy: Policy,
    hosts: Vec<HostName>,
    history: History,
    libraries: BTreeMap<String, Box<dyn Library>>,
    /// What libraries did wrong.
    complaints: VecDeque<String>,
}

impl Judge {
    /// A judge to whom nothing has happened.
    #[must_use]
    pub fn new(policy: Policy, hosts: Vec<HostName>, ranks: usize) -> Self {
        Self {
            policy,
            history: History::new(ranks, hosts.len()),
            hosts,
            libraries: BTreeMap::new(),
            complaints: VecDeque::new(),
        }
    }

    /// The library of this file.
    pub fn add_library(&mut self, file: String, library: Box<dyn Library>) {
        self.libraries.insert(file, library);
    }

    /// What a library did wrong, one line; the detector that was asked has handed on.
    pub fn next_complaint(&mut self) -> Option<String> {
        self.complaints.pop_front()
    }

    /// Takes a fact; the verdict of the first detector that recognises it.
    pub fn judge(&mut self, fact: &Fact, situation: &Situation) -> Option<Verdict> {
        self.history.record(fact, situation.now);
        let tail = policy::tail();
        let Self { policy, hosts, history, libraries, complaints } = self;
        let chain = policy.rules.iter().chain([&tail]);
        let matching = chain.filter(|rule| rule.matches(fact, hosts));
        let mut detectors = matching.flat_map(|rule| &rule.detectors);
        let view = detectors::View { history, hosts, fact, situation };
        let looks = |detector: &Detector| match detector {
            Detector::Library(from) => match by_library(from, libraries, &view) {
                Ok(verdict) => verdict,
                Err(complaint) => {
                    complaints.push_back(format!("{}: {complaint}", from.file));
                    None
                }
            },
            built_in => built_in.look(&view),
        };
        let verdict = detectors.find_map(looks)?;
        self.history.judged(fact, &verdict);
        Some(verdict)
    }

    /// So many more ranks.
    pub fn ranks_added(&mut self, ranks: usize) {
        self.history.ranks_added(ranks);
    }

    /// One more host.
    pub fn host_added(&mut self, host: HostName) {
        self.hosts.push(host);
        self.history.host_added();
    }

    /// The rank has saved its progress: earlier deaths at one place count no more.
    pub fn progressed(&mut self, rank: Rank) {
        self.history.progressed(rank);
    }
}

/// What a detector says of which a part comes from a library.
fn by_library(
    from: &FromLibrary,
    libraries: &mut BTreeMap<String, Box<dyn Library>>,
    view: &detectors::View<'_>,
) -> Result<Option<Verdict>, String> {
    let library = libraries.get_mut(&from.file).ok_or("it is not loaded")?;
    let (fact, situation) = (view.fact.clone(), view.situation.clone());
    let case = Case { fact, situation, hosts: view.hosts.to_vec() };
    let name_of = |names: &[&'static str], name: &str| {
        let known = names.iter().find(|known| **known == name);
        known.copied().ok_or_else(|| format!("it has no `{name}`"))
    };
    let (mut verdict, found) = match &from.detector {
        Whose::BuiltIn(detector) => match detector.look(view) {
            // The program is at fault: no recovery helps.
            Some(verdict) if verdict.named.recovery == Recovery::GiveUp => {
                return Ok(Some(verdict));
            }
            Some(verdict) => {
                let why = format!("{:?}", verdict.ground);
                (verdict, Found { why, hosts: view.fact.hosts() })
            }
            None => return Ok(None),
        },
        Whose::Library(name) => {
            let detector = name_of(library.detectors(), name)?;
            let Some(found) = library.look(name, &from.settings, &case)? else { return Ok(None) };
            let recovery = match from.recovery {
                Whose::BuiltIn(recovery) => recovery,
                Whose::Library(_) => Recovery::Restart,
            };
            let moves = recovery == Recovery::Migrate;
            let hosts = if moves { found.hosts.clone() } else { Vec::new() };
            let verdict = Verdict {
                named: Named::new(detector, recovery),
                ground: Ground::Library { why: found.why.clone() },
                patience: Duration::ZERO,
                shun: hosts.clone(),
                leave: hosts,
            };
            (verdict, found)
        }
    };
    if let Whose::Library(name) = &from.recovery {
        let own = name_of(library.recoveries(), name)?;
        let Some(steps) = library.recover(name, &from.settings, &case, &found)? else {
            return Ok(None);
        };
        let Steps { recovery, patience, shun, leave } = steps;
        if recovery == Recovery::Ignore {
            return Err(format!("its recovery `{name}` cannot ignore failures"));
        }
        let named = Named { recovery, own: Some(own), ..verdict.named };
        verdict = Verdict { named, patience, shun, leave, ..verdict };
    }
    let exists = |host: &u32| (*host as usize) < view.hosts.len();
    verdict.shun.retain(exists);
    verdict.leave.retain(exists);
    let from: Vec<u32> = view.fact.hosts().into_iter().chain(verdict.shun.clone()).collect();
    let stuck = verdict.named.recovery == Recovery::Migrate
        && !matches!(view.fact, Fact::Host { .. })
        && !view.situation.can_move_away_from(&from);
    Ok((!stuck).then_some(verdict))
}
