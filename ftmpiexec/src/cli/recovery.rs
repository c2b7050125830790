//! The file of `--recovery`: which detectors look at which failures, in which order, and what each
//! has done. It is TOML.
//!
//! Guarantees: a word that is unknown, a parameter that a detector does not have and a recovery
//! that does not exist are refused with one line. The defaults that `--recovery show` prints are
//! read back as the defaults.

use super::errors::PlanError;
use super::needs::Needs;
use ftmpi_options::ftmpiexec::Cli;
use ftmpi_options::values::time;
use ftmpi_plugin::judge::host::Judge;
use ftmpi_protocols::judge::library::{FromLibrary, Library, Whose};
use ftmpi_protocols::judge::{Detector, Policy, Recovery, Rule};
use ftmpi_wire::ProtocolTraits;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;
use thiserror::Error;

/// What is wrong with a file of `--recovery`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RecoveryError {
    /// It cannot be read.
    #[error("{0}; name a file that can be read, or see --recovery show")]
    Unreadable(String),
    /// Not TOML, or a key that is unknown.
    #[error("line {line}: {what}; see --recovery show")]
    Text {
        /// From 1 on.
        line: usize,
        /// One line.
        what: String,
    },
    /// A detector that does not exist.
    #[error("there is no detector `{0}`; there are {all}", all = Detector::NAMES.join(", "))]
    Detector(String),
    /// A recovery that does not exist yet.
    #[error(
        "the recovery `{0}` does not exist in this version; there are {all}",
        all = recoveries()
    )]
    Recovery(String),
    /// A parameter that the detector does not have.
    #[error("the detector {detector} has no `{parameter}`; it has {has}")]
    Parameter {
        /// The detector.
        detector: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// Those that it has.
        has: &'static str,
    },
    /// A value that makes no sense.
    #[error("{parameter} = {value} of the detector {detector}: {what}")]
    Value {
        /// The detector.
        detector: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// Its value.
        value: String,
        /// What is accepted.
        what: String,
    },
    /// There are no standbys, or another one decides where ranks go.
    #[error("the recovery `promote` is for the detector process, and needs --standby")]
    Promote,
    /// Where it is to be restarted, a host that is about to fail helps nobody.
    #[error("the detector {0} cannot `{1}`; write recovery = \"migrate\" or \"give-up\"")]
    Senseless(&'static str, Recovery),
    /// A library that cannot be used.
    #[error("library {file}: {what}")]
    Library {
        /// As in the file.
        file: String,
        /// One line.
        what: String,
    },
    /// A library that gives neither the detector nor the recovery.
    #[error("library {0}: detector and recovery are built in; leave `library` out")]
    Needless(String),
    /// Settings for nobody.
    #[error("the detector {0} has no `settings`; they are for detectors of a library")]
    Settings(String),
    /// Not a list of ranks.
    #[error("`{0}` is not a list of ranks; write for example 0-3,6")]
    Ranks(String),
    /// Not a time.
    #[error("retry = \"{0}\": write a time such as 1m, or never")]
    Retry(String),
    /// A rule that does nothing.
    #[error("a rule has no detectors; write detectors = [ ... ], see --recovery show")]
    Empty,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    oversubscribe: Option<bool>,
    retry: Option<String>,
    #[serde(default)]
    rule: Vec<RuleText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleText {
    #[serde(default)]
    hosts: Vec<String>,
    #[serde(default)]
    switches: Vec<String>,
    ranks: Option<String>,
    #[serde(default)]
    detectors: Vec<DetectorText>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct DetectorText {
    name: String,
    recovery: Option<String>,
    count: Option<u32>,
    window: Option<String>,
    share: Option<f64>,
    patience: Option<String>,
    after: Option<String>,
    library: Option<String>,
    settings: Option<String>,
}

/// The recovery of ranks that have standbys.
const PROMOTE: &str = "promote";

/// All recoveries that a file may name.
fn recoveries() -> String {
    let mut names = Recovery::ALL.map(Recovery::name).to_vec();
    // Beside the restart, of which it is a kind.
    names.insert(1, PROMOTE);
    names.join(", ")
}

/// The word that stands for a file in which every death is ignored.
pub const IGNORE: &str = "ignore";

/// The options with what Hydra's `-disable-auto-cleanup` means: under no other protocol than `none`
/// does a death end anything.
pub(super) fn without_cleanup<'a>(cli: &'a Cli, given: &[&str]) -> Result<Cow<'a, Cli>, PlanError> {
    if !cli.fault_tolerance.disable_auto_cleanup {
        return Ok(Cow::Borrowed(cli));
    }
    let mut cli = cli.clone();
    let chosen = &mut cli.fault_tolerance;
    if given.contains(&"protocol") && chosen.protocol != "none" {
        let option = "-disable-auto-cleanup".to_owned();
        return Err(PlanError::Ignores { option, protocol: chosen.protocol.clone() });
    }
    "none".clone_into(&mut chosen.protocol);
    chosen.recovery.get_or_insert_with(|| IGNORE.into());
    Ok(Cow::Owned(cli))
}

/// What the command line says, for a protocol with these facts.
pub(super) fn of(cli: &Cli, protocol: &str, traits: ProtocolTraits) -> Result<Policy, PlanError> {
    let Some(file) = &cli.fault_tolerance.recovery else { return Ok(Policy::default()) };
    let policy = match file.as_os_str() == IGNORE {
        true => Policy::ignore(),
        false => read(file, cli.fault_tolerance.standby.is_some())?,
    };
    let protocol = protocol.to_owned();
    match (policy.ignores(), traits == ProtocolTraits::NONE) {
        (true, false) => {
            let option = format!("--recovery {}", file.display());
            Err(PlanError::Ignores { option, protocol })
        }
        (false, true) => {
            let option = "--recovery".to_owned();
            Err(PlanError::NoEffect { option, protocol, needs: Needs::RecoveryOrIgnore })
        }
        _ => Ok(policy),
    }
}

fn read(file: &Path, standbys: bool) -> Result<Policy, PlanError> {
    let wrong = |what| PlanError::Recovery { file: file.to_owned(), what };
    let text = std::fs::read_to_string(file)
        .map_err(|error| wrong(RecoveryError::Unreadable(error.to_string())))?;
    parse(&text, standbys).map_err(wrong)
}

/// The rules of a file; `standbys`: some ranks have one.
fn parse(text: &str, standbys: bool) -> Result<Policy, RecoveryError> {
    let file: FileText = toml::from_str(text).map_err(|error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start).min(text.len());
        let line = text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        let what = error.message().lines().collect::<Vec<_>>().join(" ");
        RecoveryError::Text { line, what }
    })?;
    let promotes =
        |detector: &DetectorText| detector.recovery.as_deref().is_some_and(|name| name == PROMOTE);
    let mut all = file.rule.iter().flat_map(|rule| &rule.detectors);
    if all.any(|detector| promotes(detector) && !(standbys && detector.name == "process")) {
        return Err(RecoveryError::Promote);
    }
    let defaults = Policy::default();
    let rules = file.rule.into_iter().map(rule).collect::<Result<Vec<_>, _>>()?;
    Ok(Policy {
        rules: if rules.is_empty() { defaults.rules } else { rules },
        oversubscribe: file.oversubscribe.unwrap_or(defaults.oversubscribe),
        retry: match file.retry.as_deref() {
            None => defaults.retry,
            Some("never") => None,
            Some(text) => {
                let pause = time(text).map_err(|_| RecoveryError::Retry(text.to_owned()))?;
                Some(pause.max(Duration::from_secs(1)))
            }
        },
    })
}

fn rule(text: RuleText) -> Result<Rule, RecoveryError> {
    if text.detectors.is_empty() {
        return Err(RecoveryError::Empty);
    }
    Ok(Rule {
        hosts: text.hosts,
        switches: text.switches,
        ranks: text.ranks.as_deref().map_or_else(|| Ok(Vec::new()), ranks)?,
        detectors: text.detectors.iter().map(any_detector).collect::<Result<_, _>>()?,
    })
}

/// A detector, built in or of a library.
fn any_detector(text: &DetectorText) -> Result<Detector, RecoveryError> {
    match (&text.library, &text.settings) {
        (Some(file), _) => of_library(text, file).map(Detector::Library),
        (None, Some(_)) => Err(RecoveryError::Settings(text.name.clone())),
        (None, None) => detector(text),
    }
}

/// The library is loaded here to see that it has what is named.
fn of_library(text: &DetectorText, file: &str) -> Result<FromLibrary, RecoveryError> {
    let wrong = |what: String| RecoveryError::Library { file: file.to_owned(), what };
    let real = Path::new(file).canonicalize().map_err(|error| wrong(error.to_string()))?;
    let judge = Judge::load(&real).map_err(|error| wrong(error.to_string()))?;
    let known = |names: &[&'static str], name: &String| match names.contains(&name.as_str()) {
        true => Ok(name.clone()),
        false => Err(wrong(format!(
            "it has no `{name}`; it has the detectors {} and the recoveries {}",
            list(judge.detectors()),
            list(judge.recoveries())
        ))),
    };
    let recovery = match text.recovery.as_ref().map(|name| (name, Recovery::named(name))) {
        None => None,
        Some((_, Some(built_in))) => Some(Whose::BuiltIn(built_in)),
        Some((name, None)) => Some(Whose::Library(known(judge.recoveries(), name)?)),
    };
    let detector = match Detector::named(&text.name) {
        None => Whose::Library(known(judge.detectors(), &text.name)?),
        // The built-in detector recognises its fault, whatever can be done then.
        Some(_) => {
            let Some(recovery @ Whose::Library(_)) = recovery else {
                return Err(RecoveryError::Needless(file.to_owned()));
            };
            let alone = DetectorText { recovery: None, ..text.clone() };
            return Ok(FromLibrary {
                file: real.display().to_string(),
                settings: text.settings.clone().unwrap_or_default(),
                detector: Whose::BuiltIn(Box::new(detector(&alone)?)),
                recovery,
            });
        }
    };
    let own = [&text.window, &text.patience, &text.after].into_iter().any(Option::is_some)
        || text.count.is_some()
        || text.share.is_some();
    if own {
        return Err(wrong("its detectors take `settings`, and no other parameters".to_owned()));
    }
    let recovery = recovery.unwrap_or(Whose::BuiltIn(Recovery::Migrate));
    if recovery == Whose::BuiltIn(Recovery::Ignore) {
        return Err(wrong(format!("the detector {} cannot `ignore`", text.name)));
    }
    let settings = text.settings.clone().unwrap_or_default();
    Ok(FromLibrary { file: real.display().to_string(), settings, detector, recovery })
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "(none)".to_owned() } else { names.join(", ") }
}

/// A library, by its file.
type Loaded = (String, Box<dyn Library>);

/// The libraries of a job, each by its file.
///
/// # Errors
/// One of them cannot be loaded (any more).
pub fn libraries(policy: &Policy) -> Result<Vec<Loaded>, String> {
    let files: BTreeSet<&String> = policy.from_libraries().map(|from| &from.file).collect();
    let load = |file: &String| match Judge::load(Path::new(file)) {
        Ok(judge) => Ok((file.clone(), Box::new(judge) as Box<dyn Library>)),
        Err(error) => Err(format!("--recovery: library {file}: {error}")),
    };
    files.into_iter().map(load).collect()
}

/// `0-3,6`
fn ranks(text: &str) -> Result<Vec<RangeInclusive<u32>>, RecoveryError> {
    let bad = || RecoveryError::Ranks(text.to_owned());
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| bad());
        let (first, last) = (number(first)?, number(last)?);
        if first <= last { Ok(first..=last) } else { Err(bad()) }
    };
    text.split(',').map(range).collect()
}

/// The parameters of a detector, in words.
fn parameters(detector: &Detector) -> &'static str {
    match detector {
        Detector::SameDeath { .. } => "count and recovery",
        Detector::Repeated { .. } => "count, window and recovery",
        Detector::Network { .. } => "share, window and recovery",
        Detector::Process { .. } | Detector::Health { .. } => "recovery",
        Detector::Physical { .. } => "patience and recovery",
        Detector::Stall { .. } => "after and recovery",
        Detector::Library(_) => "settings and recovery",
    }
}

fn detector(text: &DetectorText) -> Result<Detector, RecoveryError> {
    let mut detector =
        Detector::named(&text.name).ok_or_else(|| RecoveryError::Detector(text.name.clone()))?;
    let (name, has) = (detector.name(), parameters(&detector));
    let wrong = |parameter, value: String, what: String| RecoveryError::Value {
        detector: name,
        parameter,
        value,
        what,
    };
    let duration = |parameter, value: &Option<String>| match value {
        None => Ok(None),
        Some(text) => match time(text) {
            Ok(time) => Ok(Some(time)),
            Err(error) => Err(wrong(parameter, text.clone(), error.to_string())),
        },
    };
    let (window, patience, after) = (
        duration("window", &text.window)?,
        duration("patience", &text.patience)?,
        duration("after", &text.after)?,
    );
    let recovery = match text.recovery.as_deref() {
        None => detector.recovery(),
        // In the standby where there is one: what a restart does anyway.
        Some(PROMOTE) => Recovery::Restart,
        Some(name) => {
            Recovery::named(name).ok_or_else(|| RecoveryError::Recovery(name.to_owned()))?
        }
    };
    if let Some(count) = text.count.filter(|count| *count == 0) {
        return Err(wrong("count", count.to_string(), "write a number from 1 on".into()));
    }
    if let Some(share) = text.share.filter(|share| !(0.0..=1.0).contains(share)) {
        return Err(wrong("share", share.to_string(), "write a number from 0 to 1".into()));
    }
    let mut left = vec![
        ("count", text.count.is_some()),
        ("window", window.is_some()),
        ("share", text.share.is_some()),
        ("patience", patience.is_some()),
        ("after", after.is_some()),
    ];
    left.retain(|(parameter, given)| *given && !has.contains(parameter));
    if let Some((parameter, _)) = left.first() {
        return Err(RecoveryError::Parameter { detector: name, parameter, has });
    }
    let moves = matches!(
        detector,
        Detector::SameDeath { .. }
            | Detector::Repeated { .. }
            | Detector::Network { .. }
            | Detector::Health { .. }
    );
    let dies = matches!(detector, Detector::Process { .. } | Detector::Physical { .. });
    if (moves && recovery == Recovery::Restart) || (!dies && recovery == Recovery::Ignore) {
        return Err(RecoveryError::Senseless(name, recovery));
    }
    match &mut detector {
        Detector::SameDeath { count, recovery: then } => {
            (*count, *then) = (text.count.unwrap_or(*count), recovery);
        }
        Detector::Repeated { count, window: within, recovery: then } => {
            (*count, *then) = (text.count.unwrap_or(*count), recovery);
            *within = window.unwrap_or(*within);
        }
        Detector::Network { share, window: within, recovery: then } => {
            (*share, *then) = (text.share.unwrap_or(*share), recovery);
            *within = window.unwrap_or(*within);
        }
        Detector::Physical { patience: wait, recovery: then } => {
            (*wait, *then) = (patience.unwrap_or(*wait), recovery);
        }
        Detector::Stall { after: least, recovery: then } => {
            (*least, *then) = (after.unwrap_or(*least), recovery);
        }
        Detector::Process { recovery: then } | Detector::Health { recovery: then } => {
            *then = recovery;
        }
        Detector::Library(_) => {}
    }
    Ok(detector)
}

// ---- --recovery show ----------------------------------------------------------------------------

/// A file with the defaults.
pub fn default_file() -> String {
    show(&Policy::default())
}

fn show(policy: &Policy) -> String {
    let mut text = String::from(
        "# Which failure is repaired how: ftmpiexec --recovery FILE\n\
         # Detectors look at each failure in this order; the first one that recognises it decides.\n\
         # Recoveries: restart, promote (with --standby), migrate, ignore (under --protocol none), give-up. docs/reference/recovery-file.md explains all.\n\n\
         # Ranks may move to hosts without a free slot.\n",
    );
    let retry = policy.retry.map_or_else(|| "never".to_owned(), time_text);
    let _ = writeln!(text, "oversubscribe = {}", policy.oversubscribe);
    let _ = writeln!(text, "# A host that was given up is tried again after this time, or never.");
    let _ = writeln!(text, "retry = \"{retry}\"");
    for rule in &policy.rules {
        text.push_str(
            "\n[[rule]]\n# A rule may be for some hosts or ranks only:\n# hosts = [\"rack1-*\"]\n\
             # switches = [\"s1\"]\n# ranks = \"0-3,8\"\ndetectors = [\n",
        );
        for detector in &rule.detectors {
            let _ = writeln!(text, "    {{ {} }},", detector_text(detector));
        }
        text.push_str(
            "    # Others: so many failures of processes on one host; a rank that was stopped.\n    \
             # { name = \"repeated\", count = 3, window = \"10m\", recovery = \"migrate\" },\n    \
             # { name = \"stall\", after = \"5m\", recovery = \"restart\" },\n]\n",
        );
    }
    text
}

fn detector_text(detector: &Detector) -> String {
    let parameters = match detector {
        Detector::SameDeath { count, .. } => format!("count = {count}, "),
        Detector::Repeated { count, window, .. } => {
            format!("count = {count}, window = \"{}\", ", time_text(*window))
        }
        Detector::Network { share, window, .. } => {
            format!("share = {share:?}, window = \"{}\", ", time_text(*window))
        }
        Detector::Physical { patience, .. } => format!("patience = \"{}\", ", time_text(*patience)),
        Detector::Stall { after, .. } => format!("after = \"{}\", ", time_text(*after)),
        Detector::Process { .. } | Detector::Health { .. } | Detector::Library(_) => String::new(),
    };
    format!("name = \"{}\", {parameters}recovery = \"{}\"", detector.name(), detector.recovery())
}

fn time_text(time: Duration) -> String {
    let seconds = time.as_secs();
    match time.subsec_millis() {
        0 if seconds > 0 && seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        0 => format!("{seconds}s"),
        _ => format!("{}ms", time.as_millis()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<Policy, RecoveryError> {
        super::parse(text, false)
    }

    #[test]
    fn promote_is_a_restart_that_needs_a_standby() {
        let of = |name: &str| {
            format!("[[rule]]\ndetectors = [{{ name = \"{name}\", recovery = \"promote\" }}]")
        };
        let with = super::parse(&of("process"), true).unwrap();
        assert_eq!(with.rules[0].detectors[0].recovery(), Recovery::Restart);
        assert_eq!(parse(&of("process")), Err(RecoveryError::Promote));
        assert_eq!(super::parse(&of("physical"), true), Err(RecoveryError::Promote));
    }

    #[test]
    fn the_defaults_come_back() {
        assert_eq!(parse(&default_file()).unwrap(), Policy::default());
        assert_eq!(parse("").unwrap(), Policy::default());
        // Also with what is shown as a comment.
        let all = default_file().replace("    # {", "    {").replace("# ranks", "ranks");
        let all = parse(&all).unwrap();
        assert_eq!(
            (all.rules[0].detectors.len(), &all.rules[0].ranks[..]),
            (7, &[0..=3, 8..=8][..])
        );
    }

    #[test]
    fn rules_are_for_hosts_and_ranks() {
        let policy = parse(
            "oversubscribe = false\nretry = \"never\"\n[[rule]]\nhosts = [\"a*\"]\nranks = \"1-2\"\n\
             detectors = [{ name = \"process\", recovery = \"migrate\" }]\n[[rule]]\n\
             detectors = [{ name = \"physical\", patience = \"1s\" }]",
        )
        .unwrap();
        assert_eq!((policy.oversubscribe, policy.retry, policy.rules.len()), (false, None, 2));
        assert_eq!(policy.rules[0].detectors[0].recovery(), Recovery::Migrate);
        let patience = Duration::from_secs(1);
        let physical = Detector::Physical { recovery: Recovery::Migrate, patience };
        assert_eq!(policy.rules[1].detectors, [physical]);
    }

    /// Each file and its whole answer.
    const REFUSED: &[(&str, &str)] = &[
        ("x = 1", "line 1: unknown field `x`"),
        (
            "[[rule]]\ndetectors = [{ name = \"luck\" }]",
            "there is no detector `luck`; there are same-",
        ),
        ("[[rule]]\n\ndetectors = [{ nam = 1 }]", "line 3: unknown field `nam`"),
        ("[[rule]]\n", "a rule has no detectors"),
        ("oversubscribe = 1", "line 1: invalid type"),
        ("retry = \"soon\"", "retry = \"soon\": write a time such as 1m, or never"),
        ("[[rule]", "line 1: "),
    ];

    #[test]
    fn mistakes_are_answered_in_one_line() {
        for (text, answer) in REFUSED {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(answer) && !error.contains('\n'), "{text}: {error}");
        }
        let one = |detector: &str| {
            parse(&format!("[[rule]]\ndetectors = [{{ {detector} }}]")).unwrap_err().to_string()
        };
        assert_eq!(
            one("name = \"process\", recovery = \"hope\""),
            "the recovery `hope` does not exist in this version; there are restart, promote, \
             migrate, ignore, give-up"
        );
        assert_eq!(
            one("name = \"process\", count = 3"),
            "the detector process has no `count`; it has recovery"
        );
        assert!(one("name = \"network\", share = 2.0").starts_with("share = 2 of the detector"));
        assert!(one("name = \"same-death\", count = 0").contains("from 1 on"));
        assert!(one("name = \"physical\", patience = \"long\"").contains("is not a time"));
        assert!(one("name = \"health\", recovery = \"restart\"").contains("migrate"));
        assert!(one("name = \"stall\", recovery = \"ignore\"").contains("cannot `ignore`"));
        assert!(parse("[[rule]]\nranks = \"3-1\"\ndetectors = [{ name = \"process\" }]").is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_a_policy_or_refused(text in "[a-z\\[\\]{}=\", 0-9\n]{0,120}") {
            if let Err(error) = parse(&text) {
                prop_assert!(!error.to_string().contains('\n'));
            }
        }
    }
}
