//! Faults on order: `--inject kill:rank=2,at=3s` and its relatives.
//!
//! Everything is drawn from the seed that the user gives, so a run can be repeated with the same
//! kills; nothing is injected that was not asked for.

mod clock;

pub use clock::{Due, FaultClock};

use crate::cli::{Machine, parse_time};
use ftmpi_wire::Rank;
use std::time::Duration;

/// The point at which a replayed rank stands before each recorded event.
pub const REPLAY_POINTS: [&str; 2] = ["replay", "replay-step"];

/// One `--inject`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Kill ranks at certain times.
    KillRank {
        /// Which.
        whom: Whom,
        /// When.
        when: When,
    },
    /// A rank kills itself at a named point.
    KillAtPoint {
        /// Which; all if none.
        rank: Option<Rank>,
        /// Name of the point.
        point: String,
        /// Which time it comes there.
        nth: u64,
        /// In every life, not only the first.
        again: bool,
    },
    /// Kill a server.
    KillServer {
        /// Which kind.
        kind: ServerKind,
        /// Which of them, counted from 0; all if none.
        number: Option<usize>,
        /// When.
        when: When,
    },
    /// Kill an agent and with it the ranks of its host.
    KillAgent {
        /// Name of its host.
        host: String,
        /// When.
        when: When,
    },
    /// The event logger acknowledges later.
    DelayLogger(Duration),
}

/// A kind of server.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub enum ServerKind {
    /// Event logger.
    EventLogger,
    /// Checkpoint server.
    CheckpointServer,
    /// Checkpoint scheduler.
    CheckpointScheduler,
    /// Channel memory, which also is the event logger of its ranks.
    ChannelMemory,
}

impl ServerKind {
    /// As in messages and machine files.
    pub fn name(self) -> &'static str {
        match self {
            Self::EventLogger => "event-logger",
            Self::CheckpointServer => "checkpoint-server",
            Self::CheckpointScheduler => "checkpoint-scheduler",
            Self::ChannelMemory => "channel-memory",
        }
    }
}

/// Who is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whom {
    /// This one.
    Rank(Rank),
    /// All at once.
    All,
    /// One drawn from the seed, each time anew.
    Random,
}

/// The named points of the library (`ftmpi_core::engine::Link::point`).
pub const POINTS: &[&str] = &[
    "init",
    "log-sent",
    "log-acknowledged",
    "ring-read",
    "rendezvous",
    "image",
    "replay",
    "replay-step",
    "acted",
    "wave",
    "finalize-begin",
    "finalize",
    "finalize-end",
    "exit",
];

/// When.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct When {
    /// The first time, since all ranks had started.
    pub first: Duration,
    /// Then again after this; only once if none.
    pub every: Option<Duration>,
    /// So often at the most.
    pub count: u64,
    /// Of what is drawn at random.
    pub seed: u64,
}

impl Fault {
    /// Reads one `--inject`.
    ///
    /// # Errors
    /// What is wrong with it and how it should look.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("`{text}`: {why}");
        let (action, rest) = text.split_once(':').ok_or_else(|| {
            wrong("write kill:… or delay:…, for example kill:rank=2,at=3s (see --help)")
        })?;
        let mut settings = Vec::new();
        for part in rest.split(',') {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| wrong(&format!("`{part}` should be name=value")))?;
            if settings.iter().any(|(known, _)| *known == key) {
                return Err(wrong(&format!("`{key}` is given twice")));
            }
            settings.push((key, value));
        }
        let mut take = |key: &str| {
            let at = settings.iter().position(|(known, _)| *known == key)?;
            Some(settings.remove(at).1)
        };
        let fault = match action {
            "delay" => {
                let value = take("logger").ok_or_else(|| wrong("only delay:logger=TIME exists"))?;
                Self::DelayLogger(parse_time(value).map_err(|e| wrong(&e.to_string()))?)
            }
            "kill" => {
                let (rank, point) = (take("rank"), take("point"));
                let (server, agent) = (take("server"), take("agent"));
                if [rank.is_some() || point.is_some(), server.is_some(), agent.is_some()]
                    .into_iter()
                    .filter(|given| *given)
                    .count()
                    > 1
                {
                    return Err(wrong("name only one of rank, server and agent"));
                }
                let number = |value: Option<&str>, default: u64| match value {
                    None => Ok(default),
                    Some(v) => v.parse().map_err(|_| wrong(&format!("`{v}` is no number"))),
                };
                if let Some(point) = point {
                    if !POINTS.contains(&point) {
                        let points = POINTS.join(", ");
                        return Err(wrong(&format!(
                            "there is no point {point}; they are {points}"
                        )));
                    }
                    let rank = match rank {
                        None | Some("all") => None,
                        Some(value) => Some(Rank(number(Some(value), 0)? as u32)),
                    };
                    let nth = number(take("nth"), 1)?.max(1);
                    let again = number(take("again"), 0)? != 0;
                    Self::KillAtPoint { rank, point: point.to_owned(), nth, again }
                } else {
                    let time = |value: Option<&str>| {
                        value.map(parse_time).transpose().map_err(|e| wrong(&e.to_string()))
                    };
                    let (at, every) = (time(take("at"))?, time(take("every"))?);
                    if every.is_some_and(|every| every < Duration::from_millis(1)) {
                        return Err(wrong("`every` must be at least 1ms"));
                    }
                    let first = at
                        .or(every)
                        .ok_or_else(|| wrong("when? add at=3s, or every=2s,count=10"))?;
                    let unlimited = if every.is_some() { u64::MAX } else { 1 };
                    let count = number(take("count"), unlimited)?;
                    let seed = number(take("seed"), 0)?;
                    let when = When { first, every, count, seed };
                    match (server, agent) {
                        (Some(name), _) => {
                            let kind = match name {
                                "event-logger" => ServerKind::EventLogger,
                                "checkpoint-server" => ServerKind::CheckpointServer,
                                "checkpoint-scheduler" => ServerKind::CheckpointScheduler,
                                "channel-memory" => ServerKind::ChannelMemory,
                                _ => {
                                    return Err(wrong(
                                        "servers are event-logger, checkpoint-server, \
                                         checkpoint-scheduler and channel-memory",
                                    ));
                                }
                            };
                            let which = take("number").map(|v| number(Some(v), 0)).transpose()?;
                            let number = which.map(|n| n as usize);
                            Self::KillServer { kind, number, when }
                        }
                        (None, Some(host)) => Self::KillAgent { host: host.to_owned(), when },
                        (None, None) => {
                            let whom = match rank {
                                None | Some("random") => Whom::Random,
                                Some("all") => Whom::All,
                                Some(value) => Whom::Rank(Rank(number(Some(value), 0)? as u32)),
                            };
                            Self::KillRank { whom, when }
                        }
                    }
                }
            }
            _ => return Err(wrong(&format!("`{action}` is unknown; there is kill and delay"))),
        };
        match settings.first() {
            Some((key, _)) => Err(wrong(&format!("`{key}` does not belong here"))),
            None => Ok(fault),
        }
    }

    /// Whether what it names exists in this job.
    ///
    /// # Errors
    /// What does not exist.
    pub fn check(&self, ranks: u32, machines: &[Machine]) -> Result<(), String> {
        let rank = match self {
            Self::KillRank { whom: Whom::Rank(rank), .. } => Some(*rank),
            Self::KillAtPoint { rank, .. } => *rank,
            Self::KillAgent { host, .. } if !machines.iter().any(|m| m.name == *host) => {
                return Err(format!("agent={host}: this job has no host of that name"));
            }
            _ => None,
        };
        match rank {
            Some(rank) if rank.0 >= ranks => {
                Err(format!("rank={rank}: this job has ranks 0 to {}", ranks - 1))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_documented_form_is_read() {
        let second = Duration::from_secs(1);
        let once =
            |seconds: u64| When { first: second * seconds as u32, every: None, count: 1, seed: 0 };
        assert_eq!(
            Fault::parse("kill:rank=2,at=3s"),
            Ok(Fault::KillRank { whom: Whom::Rank(Rank(2)), when: once(3) })
        );
        assert_eq!(
            Fault::parse("kill:every=2s,count=10,seed=7"),
            Ok(Fault::KillRank {
                whom: Whom::Random,
                when: When { first: second * 2, every: Some(second * 2), count: 10, seed: 7 }
            })
        );
        assert_eq!(
            Fault::parse("kill:rank=all,at=5s"),
            Ok(Fault::KillRank { whom: Whom::All, when: once(5) })
        );
        assert_eq!(
            Fault::parse("kill:rank=1,point=ring-read,nth=500"),
            Ok(Fault::KillAtPoint {
                rank: Some(Rank(1)),
                point: "ring-read".into(),
                nth: 500,
                again: false
            })
        );
        assert_eq!(
            Fault::parse("kill:server=event-logger,at=2s"),
            Ok(Fault::KillServer { kind: ServerKind::EventLogger, number: None, when: once(2) })
        );
        assert_eq!(
            Fault::parse("kill:server=event-logger,number=1,at=2s"),
            Ok(Fault::KillServer { kind: ServerKind::EventLogger, number: Some(1), when: once(2) })
        );
        assert_eq!(
            Fault::parse("kill:agent=node1,at=2s"),
            Ok(Fault::KillAgent { host: "node1".into(), when: once(2) })
        );
        assert_eq!(
            Fault::parse("delay:logger=50ms"),
            Ok(Fault::DelayLogger(Duration::from_millis(50)))
        );
    }

    #[test]
    fn mistakes_are_explained() {
        for (text, part) in [
            ("kill", "kill:"),
            ("kill:rank=2", "when?"),
            ("kill:rank=x,at=1s", "no number"),
            ("kill:server=x,at=1s", "event-logger"),
            ("kill:server=event-logger,number=x,at=1s", "no number"),
            ("kill:rank=1,number=2,at=1s", "does not belong"),
            ("kill:rank=1,server=event-logger,at=1s", "only one"),
            ("kill:rank=1,at=1s,colour=red", "colour"),
            ("burn:rank=1", "unknown"),
            ("delay:disk=1s", "delay:logger"),
        ] {
            let error = Fault::parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        let fault = Fault::parse("kill:rank=4,at=1s").unwrap();
        assert!(fault.check(4, &[]).is_err());
        assert!(fault.check(5, &[]).is_ok());
    }
}
