//! The built-in detectors: when each recognises its fault, and what it then says.

use super::history::History;
use super::{Detector, Fact, Ground, HostName, Named, Recovery, Situation, Verdict};
use crate::ending::Ending;
use std::time::Duration;

/// What a detector looks at.
pub(super) struct View<'a> {
    pub(super) history: &'a History,
    pub(super) hosts: &'a [HostName],
    pub(super) fact: &'a Fact,
    pub(super) situation: &'a Situation,
}

impl View<'_> {
    fn name(&self, host: u32) -> String {
        self.hosts[host as usize].name.clone()
    }
}

impl Detector {
    /// The verdict, if this is the detector's fault.
    pub(super) fn look(&self, view: &View<'_>) -> Option<Verdict> {
        match *self {
            Self::SameDeath { count, .. } => self.same_death(view, count),
            Self::Repeated { count, window, .. } => self.repeated(view, count, window),
            Self::Network { share, window, .. } => match *view.fact {
                Fact::Host { host, .. } => self.switch_lost(view, host, share, window),
                Fact::Cut { a, b, leaves } => Some(self.cut(view, [a, b], leaves)),
                _ => None,
            },
            Self::Process { .. } => {
                let Fact::Process { host, .. } = *view.fact else { return None };
                self.unless_stuck(view, &[host], Ground::TheFact)
            }
            Self::Physical { patience, .. } => {
                let Fact::Host { silent, .. } = *view.fact else { return None };
                let patience = if silent { Duration::ZERO } else { patience };
                Some(Verdict { patience, ..self.says(Ground::TheFact) })
            }
            Self::Stall { after, .. } => {
                let Fact::Stall { host, lasts, .. } = *view.fact else { return None };
                let ground = Ground::Stalled { lasts };
                (lasts >= after).then(|| self.unless_stuck(view, &[host], ground)).flatten()
            }
            Self::Health { .. } => {
                let Fact::Suspect { host, why } = view.fact else { return None };
                let ground = Ground::Suspect { host: view.name(*host), why: why.clone() };
                let verdict = self.unless_stuck(view, &[*host], ground)?;
                Some(match verdict.named.recovery {
                    Recovery::Migrate => {
                        Verdict { shun: vec![*host], leave: vec![*host], ..verdict }
                    }
                    _ => verdict,
                })
            }
            // The judge asks libraries.
            Self::Library(_) => None,
        }
    }

    fn says(&self, ground: Ground) -> Verdict {
        let named = Named::new(self.name(), self.recovery());
        let (patience, shun, leave) = (Duration::ZERO, Vec::new(), Vec::new());
        Verdict { named, ground, patience, shun, leave }
    }

    /// The verdict, unless ranks would have to move and cannot.
    fn unless_stuck(&self, view: &View<'_>, from: &[u32], ground: Ground) -> Option<Verdict> {
        let stuck =
            self.recovery() == Recovery::Migrate && !view.situation.can_move_away_from(from);
        (!stuck).then(|| self.says(ground))
    }

    fn same_death(&self, view: &View<'_>, count: u32) -> Option<Verdict> {
        let Fact::Process { rank, host, ending, .. } = *view.fact else { return None };
        // A crash of the program itself comes back again and again, and so does the end by a limit
        // of memory. Other kills come from outside.
        if matches!(ending, Ending::Signal(9 | 15 | 1 | 2 | 3)) {
            return None;
        }
        let deaths = view.history.deaths(rank);
        let before = deaths.left.filter(|left| *left != host);
        if before.is_none() && deaths.times_here < count {
            return None;
        }
        let before = before.map(|left| view.name(left));
        let ground = Ground::SameDeath { times: deaths.times, before: before.clone() };
        let mut verdict = self.says(ground);
        if before.is_some() || !view.situation.can_move_away_from(&[host]) {
            verdict.named.recovery = Recovery::GiveUp;
        }
        Some(verdict)
    }

    fn repeated(&self, view: &View<'_>, count: u32, window: Duration) -> Option<Verdict> {
        let Fact::Process { host, .. } = *view.fact else { return None };
        let faults = view.history.faults(host, view.situation.now, window);
        if faults < count {
            return None;
        }
        let ground = Ground::ManyFaults { host: view.name(host), count: faults, window };
        let verdict = self.unless_stuck(view, &[host], ground)?;
        Some(match verdict.named.recovery {
            Recovery::Migrate => Verdict { shun: vec![host], ..verdict },
            _ => verdict,
        })
    }

    /// A switch is bad when so many of its hosts are lost, or were lost recently. One host is no
    /// switch.
    fn switch_lost(
        &self,
        view: &View<'_>,
        host: u32,
        share: f64,
        window: Duration,
    ) -> Option<Verdict> {
        let switch = view.hosts[host as usize].switch.as_ref()?;
        let all = 0..view.hosts.len() as u32;
        let on_switch = |host: &u32| view.hosts[*host as usize].switch.as_ref() == Some(switch);
        let hosts: Vec<u32> = all.filter(on_switch).collect();
        let now = view.situation.now;
        let is_lost = |host: &&u32| {
            view.situation.lost[**host as usize] || view.history.was_lost(**host, now, window)
        };
        let lost = hosts.iter().filter(is_lost).count();
        if lost < 2 || (lost as f64) < share * hosts.len() as f64 {
            return None;
        }
        let (lost, of) = (lost as u32, hosts.len() as u32);
        let ground = Ground::SwitchLost { switch: switch.clone(), lost, of };
        let verdict = self.unless_stuck(view, &hosts, ground)?;
        Some(match verdict.named.recovery {
            Recovery::Migrate => Verdict { shun: hosts.clone(), leave: hosts, ..verdict },
            _ => verdict,
        })
    }

    /// Where ranks cannot move so that they reach each other, they would wait for ever.
    fn cut(&self, view: &View<'_>, ends: [u32; 2], leaves: Option<u32>) -> Verdict {
        let mut verdict = self.says(Ground::Cut { ends: ends.map(|host| view.name(host)) });
        match leaves {
            Some(host) if verdict.named.recovery == Recovery::Migrate => verdict.leave = vec![host],
            Some(_) => {}
            None => verdict.named.recovery = Recovery::GiveUp,
        }
        verdict
    }
}
