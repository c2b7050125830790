//! The file of a model. It is TOML.
//!
//! Guarantees: a word that is unknown, a rate that makes no sense and a host that the job does not
//! have are refused with one line.

use ftmpi_protocols::judge::{HostName, is_like};
use serde::Deserialize;
use std::time::Duration;
use thiserror::Error;

/// What is wrong with the file of a model.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ModelError {
    /// Not TOML, or a key that is unknown.
    #[error("line {line}: {what}")]
    Text {
        /// From 1 on.
        line: usize,
        /// One line.
        what: String,
    },
    /// Not a time.
    #[error("{kind}: {key} = \"{value}\" is no time; write for example 20s")]
    Time {
        /// The kind of fault.
        kind: &'static str,
        /// The key.
        key: &'static str,
        /// Its value.
        value: String,
    },
    /// The key does not belong to this kind of fault.
    #[error("{0} has no `{1}`")]
    Key(&'static str, &'static str),
    /// A pattern that no host or switch of the job is like.
    #[error("{kind}: this job has no {what} `{pattern}`")]
    Nothing {
        /// The kind of fault.
        kind: &'static str,
        /// `host` or `switch`.
        what: &'static str,
        /// The pattern.
        pattern: String,
    },
    /// There is nothing that could fail so.
    #[error("{0}: this job has too few hosts for it")]
    TooFew(&'static str),
    /// A file without faults.
    #[error(
        "there is no fault in it; write for example [[process]] and, below, every = \"20s\" \
         (docs/guide/testing-with-faults.md)"
    )]
    Empty,
}

/// What fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The process of a rank dies.
    Process,
    /// The process of a rank is stopped.
    Stop,
    /// A host is down.
    Host,
    /// All hosts of a switch are down.
    Switch,
    /// Two hosts do not reach each other.
    Cut,
}

impl Kind {
    /// The word in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Stop => "stop",
            Self::Host => "host",
            Self::Switch => "switch",
            Self::Cut => "cut",
        }
    }
}

/// A source of faults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// What fails.
    pub kind: Kind,
    /// Mean time between two faults of one process, host, switch or pair of hosts.
    pub every: Duration,
    /// How long each fault lasts; `None`: for ever. The death of a process has no length.
    pub lasts: Option<Duration>,
    /// Only on hosts with such names; `*` stands for any text. Empty: on all.
    pub hosts: Vec<String>,
    /// Only hosts of these switches. Empty: of all.
    pub switches: Vec<String>,
    /// The first fault comes after this time.
    pub from: Duration,
    /// No fault begins after this time.
    pub until: Option<Duration>,
    /// The most faults.
    pub count: u64,
}

impl Source {
    /// A source that never ends, of this kind and with this mean.
    #[must_use]
    pub const fn new(kind: Kind, every: Duration, lasts: Option<Duration>) -> Self {
        Self {
            kind,
            every,
            lasts,
            hosts: Vec::new(),
            switches: Vec::new(),
            from: Duration::ZERO,
            until: None,
            count: u64::MAX,
        }
    }

    /// Whether the source concerns this host.
    pub(crate) fn concerns(&self, host: &HostName) -> bool {
        let by_name =
            self.hosts.is_empty() || self.hosts.iter().any(|like| is_like(&host.name, like));
        let by_switch = self.switches.is_empty()
            || host.switch.as_ref().is_some_and(|switch| self.switches.contains(switch));
        by_name && by_switch
    }
}

/// Rates of faults, and the seed of what is drawn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Model {
    /// The seed.
    pub seed: u64,
    /// The sources of faults.
    pub sources: Vec<Source>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    #[serde(default)]
    seed: u64,
    #[serde(default)]
    process: Vec<SourceText>,
    #[serde(default)]
    stop: Vec<SourceText>,
    #[serde(default)]
    host: Vec<SourceText>,
    #[serde(default)]
    switch: Vec<SourceText>,
    #[serde(default)]
    cut: Vec<SourceText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceText {
    every: String,
    r#for: Option<String>,
    #[serde(default)]
    hosts: Vec<String>,
    #[serde(default)]
    switches: Vec<String>,
    from: Option<String>,
    until: Option<String>,
    count: Option<u64>,
}

impl Model {
    /// Reads a file. `time` reads a time with its unit.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(
        text: &str,
        time: impl Fn(&str) -> Option<Duration> + Copy,
    ) -> Result<Self, ModelError> {
        let file: FileText = toml::from_str(text).map_err(|error: toml::de::Error| {
            let at = error.span().map_or(0, |span| span.start).min(text.len());
            let line = text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
            let what = error.message().lines().collect::<Vec<_>>().join(" ");
            ModelError::Text { line, what }
        })?;
        let groups = [
            (Kind::Process, file.process),
            (Kind::Stop, file.stop),
            (Kind::Host, file.host),
            (Kind::Switch, file.switch),
            (Kind::Cut, file.cut),
        ];
        let mut sources = Vec::new();
        for (kind, texts) in groups {
            for text in texts {
                sources.push(source(kind, text, time)?);
            }
        }
        if sources.is_empty() {
            return Err(ModelError::Empty);
        }
        Ok(Self { seed: file.seed, sources })
    }

    /// Checks that a job with these hosts has what the model names.
    ///
    /// # Errors
    /// Names what the job does not have.
    pub fn check(&self, hosts: &[HostName]) -> Result<(), ModelError> {
        for source in &self.sources {
            let kind = source.kind.name();
            let missing = |what, pattern: &String| {
                Err(ModelError::Nothing { kind, what, pattern: pattern.clone() })
            };
            let is_host = |like: &&String| hosts.iter().any(|host| is_like(&host.name, like));
            if let Some(pattern) = source.hosts.iter().find(|pattern| !is_host(pattern)) {
                return missing("host", pattern);
            }
            let is_switch = |name: &&String| hosts.iter().any(|h| h.switch.as_ref() == Some(*name));
            if let Some(pattern) = source.switches.iter().find(|name| !is_switch(name)) {
                return missing("switch", pattern);
            }
            let concerned: Vec<&HostName> =
                hosts.iter().filter(|host| source.concerns(host)).collect();
            let enough = match source.kind {
                Kind::Process | Kind::Stop | Kind::Host => !concerned.is_empty(),
                Kind::Switch => concerned.iter().any(|host| host.switch.is_some()),
                Kind::Cut => concerned.len() > 1,
            };
            if !enough {
                return Err(ModelError::TooFew(kind));
            }
        }
        Ok(())
    }
}

fn source(
    kind: Kind,
    text: SourceText,
    time: impl Fn(&str) -> Option<Duration>,
) -> Result<Source, ModelError> {
    let name = kind.name();
    let read = |key, value: &str| {
        let wrong = || ModelError::Time { kind: name, key, value: value.to_owned() };
        time(value).ok_or_else(wrong)
    };
    let every = read("every", &text.every)?;
    if every < Duration::from_millis(1) {
        return Err(ModelError::Time { kind: name, key: "every", value: text.every });
    }
    if kind == Kind::Process && text.r#for.is_some() {
        return Err(ModelError::Key(name, "for"));
    }
    let lasts = match text.r#for.as_deref() {
        None | Some("ever") => None,
        Some(value) => Some(read("for", value)?),
    };
    Ok(Source {
        kind,
        every,
        lasts,
        hosts: text.hosts,
        switches: text.switches,
        from: text.from.map_or(Ok(Duration::ZERO), |value| read("from", &value))?,
        until: text.until.map(|value| read("until", &value)).transpose()?,
        count: text.count.unwrap_or(u64::MAX),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(text: &str) -> Option<Duration> {
        text.strip_suffix('s')?.parse().ok().map(Duration::from_secs)
    }

    fn host(name: &str, switch: Option<&str>) -> HostName {
        HostName { name: name.to_owned(), switch: switch.map(str::to_owned) }
    }

    #[test]
    fn a_file_is_read() {
        let model = Model::parse(
            "seed = 7\n[[process]]\nevery = \"20s\"\nhosts = [\"a*\"]\ncount = 3\n[[host]]\n\
             every = \"60s\"\nfor = \"5s\"\nfrom = \"2s\"\nuntil = \"90s\"\n[[switch]]\n\
             every = \"9s\"\nswitches = [\"s1\"]\nfor = \"ever\"\n[[cut]]\nevery = \"5s\"\n\
             [[stop]]\nevery = \"4s\"\nfor = \"1s\"\n",
            seconds,
        );
        let Ok(model) = model else { panic!("{model:?}") };
        let kinds: Vec<Kind> = model.sources.iter().map(|source| source.kind).collect();
        assert_eq!(kinds, [Kind::Process, Kind::Stop, Kind::Host, Kind::Switch, Kind::Cut]);
        let second = Duration::from_secs(1);
        let of_host = &model.sources[2];
        assert_eq!((model.seed, of_host.lasts), (7, Some(second * 5)));
        assert_eq!((of_host.from, of_host.until), (second * 2, Some(second * 90)));
        assert_eq!((model.sources[3].lasts, model.sources[0].count), (None, 3));
        let hosts = [host("a1", Some("s1")), host("b", None)];
        assert_eq!(model.check(&hosts), Ok(()));
        assert_eq!(model.check(&hosts[..1]), Err(ModelError::TooFew("cut")));
    }

    #[test]
    fn mistakes_are_explained() {
        for (text, part) in [
            ("", "[[process]]"),
            ("seed = 1\nseeds = 2", "line 2"),
            ("[[process]]\nevery = \"soon\"", "every = \"soon\""),
            ("[[process]]\nevery = \"0s\"", "every"),
            ("[[process]]\nevery = \"2s\"\nfor = \"1s\"", "process has no `for`"),
            ("[[host]]\nfor = \"1s\"", "every"),
            ("[[host]]\nevery = \"1s\"\ncolour = 2", "colour"),
        ] {
            let Err(error) = Model::parse(text, seconds) else { panic!("{text} is read") };
            assert!(error.to_string().contains(part), "{text}: {error}");
        }
        let hosts = [host("a", None), host("b", None)];
        for (text, part) in [
            ("[[host]]\nevery = \"1s\"\nhosts = [\"c\"]", "no host `c`"),
            ("[[host]]\nevery = \"1s\"\nswitches = [\"s\"]", "no switch `s`"),
            ("[[switch]]\nevery = \"1s\"", "too few"),
            ("[[cut]]\nevery = \"1s\"\nhosts = [\"a\"]", "too few"),
        ] {
            let checked = Model::parse(text, seconds).and_then(|model| model.check(&hosts));
            let Err(error) = checked else { panic!("{text} is good") };
            assert!(error.to_string().contains(part), "{text}: {error}");
        }
    }
}
