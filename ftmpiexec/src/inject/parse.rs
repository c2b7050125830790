//! Reads the text of `--inject`.

use super::{Fault, POINTS, ServerKind, Span, When, Whom, ends_of, host_names};
use crate::machine::Machine;
use ftmpi_faults::{Model, ModelError};
use ftmpi_options::values::time as parse_time;
use ftmpi_wire::Rank;
use std::time::Duration;

/// What is wrong with a fault, and how it should look.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// The text cannot be read.
    #[error("`{text}`: {why}")]
    Syntax {
        /// The text of the fault.
        text: String,
        /// The reason.
        why: String,
    },
    /// The file of a model cannot be read.
    #[error("model:{file}: {why}")]
    Unreadable {
        /// Its name.
        file: String,
        /// The reason.
        why: String,
    },
    /// The file of a model is wrong, or does not fit the job.
    #[error("model: {0}")]
    Model(#[from] ModelError),
    /// The job has no host of this name.
    #[error("{0}: this job has no host of that name")]
    NoSuchHost(String),
    /// The job has no two hosts of these names.
    #[error("cut:{0}: this job has no two hosts whose names these are, joined by a hyphen")]
    NoSuchHosts(String),
    /// The text can mean several pairs of hosts.
    #[error("cut:{0}: this can be {1} or {2}; write cut:{1} or cut:{2}")]
    ManySuchHosts(String, String, String),
    /// The job has no rank of this number.
    #[error("rank={rank}: this job has ranks 0 to {last}")]
    NoSuchRank {
        /// The rank of the fault.
        rank: Rank,
        /// The last rank of the job.
        last: u32,
    },
}

/// The settings of one fault, which are taken out one after the other.
struct SettingsReader<'a> {
    text: &'a str,
    settings: Vec<(&'a str, &'a str)>,
}

impl<'a> SettingsReader<'a> {
    fn new(text: &'a str, list: &'a str) -> Result<Self, FaultError> {
        let mut reader = Self { text, settings: Vec::new() };
        for part in list.split(',').filter(|_| !list.is_empty()) {
            let Some((key, value)) = part.split_once('=') else {
                return Err(reader.wrong(&format!("`{part}` should be name=value")));
            };
            if reader.settings.iter().any(|(known, _)| *known == key) {
                return Err(reader.wrong(&format!("`{key}` is given twice")));
            }
            reader.settings.push((key, value));
        }
        Ok(reader)
    }

    fn wrong(&self, why: &str) -> FaultError {
        FaultError::Syntax { text: self.text.to_owned(), why: why.to_owned() }
    }

    fn take(&mut self, key: &str) -> Option<&'a str> {
        let at = self.settings.iter().position(|(known, _)| *known == key)?;
        Some(self.settings.remove(at).1)
    }

    fn parse_number(&self, value: &str) -> Result<u64, FaultError> {
        value.parse().map_err(|_| self.wrong(&format!("`{value}` is no number")))
    }

    fn number(&mut self, key: &str, default: u64) -> Result<u64, FaultError> {
        self.take(key).map_or(Ok(default), |value| self.parse_number(value))
    }

    fn rank(&self, value: &str) -> Result<Rank, FaultError> {
        let number = u32::try_from(self.parse_number(value)?);
        number.map(Rank).map_err(|_| self.wrong(&format!("`{value}` is no rank")))
    }

    fn time(&mut self, key: &str) -> Result<Option<Duration>, FaultError> {
        let value = self.take(key).map(parse_time).transpose();
        value.map_err(|e| self.wrong(&e.to_string()))
    }

    /// The times of a kill.
    fn when(&mut self) -> Result<When, FaultError> {
        let (at, every) = (self.time("at")?, self.time("every")?);
        if every.is_some_and(|every| every < Duration::from_millis(1)) {
            return Err(self.wrong("`every` must be at least 1ms"));
        }
        let Some(first) = at.or(every) else {
            return Err(self.wrong("when? add at=3s, or every=2s,count=10"));
        };
        let unlimited = if every.is_some() { u64::MAX } else { 1 };
        let count = self.number("count", unlimited)?;
        Ok(When { first, every, count, seed: self.number("seed", 0)? })
    }

    /// A begin, and how long it lasts.
    fn span(&mut self) -> Result<Span, FaultError> {
        let Some(at) = self.time("at")? else {
            return Err(self.wrong("when? add at=3s, and for=5s unless it lasts for ever"));
        };
        let forever = self.settings.contains(&("for", "ever"));
        let lasts = match forever {
            true => {
                self.take("for");
                None
            }
            false => self.time("for")?,
        };
        Ok(Span { at, lasts })
    }

    /// Every setting must have been taken out.
    fn finish(self) -> Result<(), FaultError> {
        match self.settings.first() {
            Some((key, _)) => Err(self.wrong(&format!("`{key}` does not belong here"))),
            None => Ok(()),
        }
    }
}

impl Fault {
    /// Reads one `--inject`.
    ///
    /// # Errors
    /// What is wrong with the text and how it should look.
    pub fn parse(text: &str) -> Result<Self, FaultError> {
        let wrong = |why: &str| FaultError::Syntax { text: text.to_owned(), why: why.to_owned() };
        let (action, list) = text.split_once(':').ok_or_else(|| {
            wrong("write what happens, such as kill:rank=2,at=3s (ftmpiexec --help testing lists all)")
        })?;
        if action == "model" {
            return model(list).map(Self::Model);
        }
        let (name, list) = match action {
            "cut" | "host" => list.split_once(',').unwrap_or((list, "")),
            _ => ("", list),
        };
        let mut settings = SettingsReader::new(text, list)?;
        let fault = match action {
            "delay" => delay(&mut settings)?,
            "slow" => slow(&mut settings)?,
            "stop" => stop(&mut settings)?,
            "kill" => kill(&mut settings)?,
            "cut" => Self::Cut { ends: name.to_owned(), span: settings.span()? },
            "host" => Self::HostDown { host: name.to_owned(), span: settings.span()? },
            _ => {
                let why = format!(
                    "`{action}` is unknown; there is kill, stop, delay, slow, cut, host and model (ftmpiexec \
                     --help testing)"
                );
                return Err(wrong(&why));
            }
        };
        settings.finish()?;
        Ok(fault)
    }

    /// Checks that this job has what the fault names.
    ///
    /// # Errors
    /// Names what the job does not have.
    pub fn check(&self, ranks: u32, machines: &[Machine]) -> Result<(), FaultError> {
        let rank = match self {
            Self::KillRank { whom: Whom::Rank(rank), .. } | Self::StopRank { rank, .. } => {
                Some(*rank)
            }
            Self::KillAtPoint { rank, .. } => *rank,
            Self::KillAgent { host, .. } if !machines.iter().any(|m| m.name == *host) => {
                return Err(FaultError::NoSuchHost(format!("agent={host}")));
            }
            Self::HostDown { host, .. } if !machines.iter().any(|m| m.name == *host) => {
                return Err(FaultError::NoSuchHost(format!("host:{host}")));
            }
            Self::Cut { ends, .. } => {
                ends_of(ends, machines)?;
                None
            }
            Self::Model(model) => {
                model.check(&host_names(machines))?;
                None
            }
            _ => None,
        };
        match rank {
            Some(rank) if rank.0 >= ranks => {
                Err(FaultError::NoSuchRank { rank, last: ranks.saturating_sub(1) })
            }
            _ => Ok(()),
        }
    }
}

fn delay(settings: &mut SettingsReader<'_>) -> Result<Fault, FaultError> {
    let time = settings.time("logger")?;
    time.map(Fault::DelayLogger).ok_or_else(|| settings.wrong("only delay:logger=TIME exists"))
}

fn slow(settings: &mut SettingsReader<'_>) -> Result<Fault, FaultError> {
    let time = settings.time("disk")?;
    time.map(Fault::SlowDisk).ok_or_else(|| settings.wrong("only slow:disk=TIME exists"))
}

fn stop(settings: &mut SettingsReader<'_>) -> Result<Fault, FaultError> {
    let rank = settings.take("rank").map(|value| settings.rank(value)).transpose()?;
    let Some(rank) = rank else {
        return Err(settings.wrong("which rank? write stop:rank=2,at=3s,for=10s"));
    };
    Ok(Fault::StopRank { rank, span: settings.span()? })
}

fn model(file: &str) -> Result<Model, FaultError> {
    let text = std::fs::read_to_string(file).map_err(|error| FaultError::Unreadable {
        file: file.to_owned(),
        why: error.to_string(),
    })?;
    Ok(Model::parse(&text, |text| parse_time(text).ok())?)
}

fn kill(settings: &mut SettingsReader<'_>) -> Result<Fault, FaultError> {
    let (rank, point) = (settings.take("rank"), settings.take("point"));
    let (server, agent) = (settings.take("server"), settings.take("agent"));
    let targets = [rank.is_some() || point.is_some(), server.is_some(), agent.is_some()];
    if targets.into_iter().filter(|given| *given).count() > 1 {
        return Err(settings.wrong("name only one of rank, server and agent"));
    }
    if let Some(point) = point {
        return kill_at_point(settings, rank, point);
    }
    let when = settings.when()?;
    if let Some(name) = server {
        return kill_server(settings, name, when);
    }
    if let Some(host) = agent {
        return Ok(Fault::KillAgent { host: host.to_owned(), when });
    }
    let whom = match rank {
        None | Some("random") => Whom::Random,
        Some("all") => Whom::All,
        Some(value) => Whom::Rank(settings.rank(value)?),
    };
    Ok(Fault::KillRank { whom, when })
}

fn kill_at_point(
    settings: &mut SettingsReader<'_>,
    rank: Option<&str>,
    point: &str,
) -> Result<Fault, FaultError> {
    if !POINTS.contains(&point) {
        let points = POINTS.join(", ");
        return Err(settings.wrong(&format!("there is no point {point}; they are {points}")));
    }
    let rank = match rank {
        None | Some("all") => None,
        Some(value) => Some(settings.rank(value)?),
    };
    let nth = settings.number("nth", 1)?.max(1);
    let again = settings.number("again", 0)? != 0;
    Ok(Fault::KillAtPoint { rank, point: point.to_owned(), nth, again })
}

fn kill_server(
    settings: &mut SettingsReader<'_>,
    name: &str,
    when: When,
) -> Result<Fault, FaultError> {
    let kinds = [
        ServerKind::EventLogger,
        ServerKind::CheckpointServer,
        ServerKind::CheckpointScheduler,
        ServerKind::ChannelMemory,
    ];
    let Some(kind) = kinds.into_iter().find(|kind| kind.name() == name) else {
        return Err(settings.wrong(
            "servers are event-logger, checkpoint-server, checkpoint-scheduler and channel-memory",
        ));
    };
    let number = settings.take("number").map(|value| settings.parse_number(value)).transpose()?;
    Ok(Fault::KillServer { kind, number: number.map(|number| number as usize), when })
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
        let (at, lasts) = (second * 3, Some(second * 5));
        assert_eq!(
            Fault::parse("cut:a-b,at=3s,for=5s"),
            Ok(Fault::Cut { ends: "a-b".into(), span: Span { at, lasts } })
        );
        assert_eq!(
            Fault::parse("host:node-1,at=3s"),
            Ok(Fault::HostDown { host: "node-1".into(), span: Span { at, lasts: None } })
        );
        assert_eq!(
            Fault::parse("delay:logger=50ms"),
            Ok(Fault::DelayLogger(Duration::from_millis(50)))
        );
        assert_eq!(Fault::parse("slow:disk=50ms"), Ok(Fault::SlowDisk(Duration::from_millis(50))));
        assert_eq!(
            Fault::parse("stop:rank=2,at=3s,for=5s"),
            Ok(Fault::StopRank { rank: Rank(2), span: Span { at, lasts } })
        );
    }

    #[test]
    fn mistakes_are_explained() {
        for (text, part) in [
            ("kill", "kill:"),
            ("kill:rank=2", "when?"),
            ("kill:rank=x,at=1s", "no number"),
            ("kill:rank=4294967298,at=1s", "no rank"),
            ("kill:server=x,at=1s", "event-logger"),
            ("kill:server=event-logger,number=x,at=1s", "no number"),
            ("kill:rank=1,number=2,at=1s", "does not belong"),
            ("kill:rank=1,server=event-logger,at=1s", "only one"),
            ("kill:rank=1,at=1s,colour=red", "colour"),
            ("burn:rank=1", "unknown"),
            ("cut:a-b,for=5s", "when?"),
            ("host:b,at=1s,for=some", "some"),
            ("host:b,at=1s,colour=red", "colour"),
            ("delay:disk=1s", "delay:logger"),
            ("slow:logger=1s", "slow:disk"),
            ("stop:at=3s", "which rank?"),
            ("stop:rank=1", "when?"),
            ("model:", "model:"),
            ("model:/nowhere/at/all", "No such file"),
        ] {
            let error = Fault::parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        let fault = Fault::parse("kill:rank=4,at=1s").unwrap();
        assert!(fault.check(4, &[]).is_err());
        assert!(fault.check(5, &[]).is_ok());
        let Ok(machines) = crate::cli::parse_list("n,n-1,n-1-n") else { panic!("three hosts") };
        for (ends, found) in [
            ("n-n-1", Some([0, 1])),
            ("n-1-n", Some([1, 0])),
            ("n-n", None),
            ("n-1", None),
            ("n-1-n-n-1", Some([2, 1])),
            ("n/n-1", Some([0, 1])),
        ] {
            assert_eq!(ends_of(ends, &machines).ok(), found, "{ends}");
        }
        let Ok(several) = crate::cli::parse_list("a,a-b,b-c,c") else { panic!("four hosts") };
        let fault = Fault::parse("cut:a-b-c,at=1s").unwrap();
        let why = fault.check(1, &several).unwrap_err().to_string();
        assert!(why.contains("cut:a/b-c or cut:a-b/c"), "{why}");
        assert_eq!(ends_of("a-b/c", &several), Ok([1, 3]));
        let Ok(turned) = crate::cli::parse_list("n,n-n") else { panic!("two hosts") };
        assert_eq!(ends_of("n-n-n", &turned), Ok([0, 1]), "both readings are the same pair");
        let fault = Fault::parse("host:x,at=1s").unwrap();
        assert!(fault.check(5, &machines).is_err());
        let fault = Fault::parse("stop:rank=5,at=1s").unwrap();
        assert!(fault.check(5, &machines).is_err() && fault.check(6, &machines).is_ok());
    }

    #[test]
    fn a_model_is_read_from_its_file_and_fits_the_job() {
        let (Ok(dir), Ok(machines)) = (tempfile::tempdir(), crate::cli::parse_list("a,b")) else {
            panic!("a directory, and two hosts")
        };
        let file = dir.path().join("model");
        let read = |text: &str| {
            std::fs::write(&file, text).unwrap();
            Fault::parse(&format!("model:{}", file.display()))
        };
        let fault = read("seed = 3\n[[host]]\nevery = \"20s\"\nfor = \"1500ms\"\n").unwrap();
        assert_eq!(fault.check(1, &machines), Ok(()));
        let Fault::Model(model) = fault else { panic!("{fault:?}") };
        assert_eq!(model.sources[0].lasts, Some(Duration::from_millis(1500)));
        let fault = read("[[host]]\nevery = \"20s\"\nhosts = [\"c\"]\n").unwrap();
        assert!(fault.check(1, &machines).unwrap_err().to_string().contains("no host `c`"));
        assert!(read("[[host]]\n").unwrap_err().to_string().contains("every"));
    }
}
