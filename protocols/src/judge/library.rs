//! Detectors and recoveries that are not built in: what the judge asks them.
//!
//! Calling convention: [`Library::look`] for every fact that comes to the detector, as it becomes
//! known. If the detector recognises its fault, and the recovery is a library's,
//! [`Library::recover`] follows at once.
//!
//! Guarantees: the judge takes nothing from a library that the job cannot do. Hosts that do not
//! exist are left out. An answer that cannot be understood is reported; the next detector looks.

use super::{Detector, Fact, HostName, Recovery, Situation};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// What a detector or a recovery sees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// What happened.
    pub fact: Fact,
    /// The present.
    pub situation: Situation,
    /// Names and switches of the hosts.
    pub hosts: Vec<HostName>,
}

/// A detector recognises its fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Why, in one line for the user.
    pub why: String,
    /// The hosts that the fault concerns: with the recovery `migrate` no rank begins there any
    /// more, and living ranks leave.
    pub hosts: Vec<u32>,
}

/// What a recovery does. It is made of what the dispatcher can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steps {
    /// What becomes of the ranks that the fact is about.
    pub recovery: Recovery,
    /// How long a lost host is tried before its ranks move.
    pub patience: Duration,
    /// Hosts that take no rank from now on.
    pub shun: Vec<u32>,
    /// Hosts whose living ranks move, too.
    pub leave: Vec<u32>,
}

/// Detectors and recoveries of one library. It keeps what it must remember.
pub trait Library: fmt::Debug + Send {
    /// The names of its detectors.
    fn detectors(&self) -> &[&'static str];
    /// The names of its recoveries.
    fn recoveries(&self) -> &[&'static str];
    /// Whether a detector recognises the fact.
    ///
    /// # Errors
    /// One line: the library does not answer as it should.
    fn look(
        &mut self,
        detector: &str,
        settings: &str,
        case: &Case,
    ) -> Result<Option<Found>, String>;
    /// What a recovery does about a fact; `None`: nothing, and the next detector looks.
    ///
    /// # Errors
    /// As for `look`.
    fn recover(
        &mut self,
        recovery: &str,
        settings: &str,
        case: &Case,
        found: &Found,
    ) -> Result<Option<Steps>, String>;
}

/// Something built in, or of the library.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Whose<T> {
    /// Built in.
    BuiltIn(T),
    /// The library's, by name.
    Library(String),
}

/// A detector of a rule of which a part comes from a library.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FromLibrary {
    /// The file of the library.
    pub file: String,
    /// For the library, as it stands in the file of `--recovery`.
    pub settings: String,
    /// Who recognises the fault.
    pub detector: Whose<Box<Detector>>,
    /// What then.
    pub recovery: Whose<Recovery>,
}
