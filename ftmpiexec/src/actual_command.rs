//! How the process of a rank was executed, if not as the command line says.

use serde::{Deserialize, Serialize};

/// How a process was executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActualCommand {
    /// The file, as given to `execve`.
    pub file: Vec<u8>,
    /// Its arguments, from its own name on.
    pub arguments: Vec<Vec<u8>>,
    /// `NAME=value`.
    pub environment: Vec<Vec<u8>>,
    /// Its working directory.
    pub directory: Vec<u8>,
    /// It runs in other namespaces than the agent: only the command of the job leads there.
    #[serde(default)]
    pub contained: bool,
}
