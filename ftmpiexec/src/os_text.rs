//! Arguments, variables and paths in messages and in the plan: bytes for the system, text in
//! between ([`ftmpi_options::os_text`]).

use ftmpi_options::os_text;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::fmt;

/// A word for the system.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OsText(String);

impl OsText {
    /// A word of a command line that was read as [`os_text`].
    pub fn of_word(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The word as [`os_text`].
    pub fn as_text(&self) -> &str {
        &self.0
    }

    /// The word's bytes.
    pub fn to_os(&self) -> OsString {
        os_text::decode(&self.0)
    }
}

impl From<&OsStr> for OsText {
    fn from(bytes: &OsStr) -> Self {
        Self(os_text::encode(bytes))
    }
}

impl PartialEq<str> for OsText {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

/// With a word of a command line that was read as [`os_text`].
impl PartialEq<OsText> for String {
    fn eq(&self, other: &OsText) -> bool {
        *self == other.0
    }
}

impl fmt::Display for OsText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&os_text::shown(&self.0))
    }
}

/// A path as a text, for `#[serde(with)]`.
pub mod path {
    use super::os_text;
    use serde::{Deserialize, Deserializer, Serializer};
    use std::path::{Path, PathBuf};

    pub fn serialize<S: Serializer>(path: &Path, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&os_text::of_path(path))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        String::deserialize(from).map(|text| os_text::to_path(&text))
    }
}

/// As [`path`], for a path that may be missing.
pub mod optional_path {
    use super::os_text;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::path::PathBuf;

    pub fn serialize<S: Serializer>(path: &Option<PathBuf>, out: S) -> Result<S::Ok, S::Error> {
        path.as_deref().map(os_text::of_path).serialize(out)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<PathBuf>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        Ok(text.map(|text| os_text::to_path(&text)))
    }
}
