//! The key of a job: 32 random bytes, known to its launcher, agents and servers only. In files and
//! variables it is written as 64 hexadecimal digits; a file is readable by its owner only.

use ftmpi_wire::hello::KEY_BYTES;
use rand::TryRngCore;
use std::fmt;
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The variable in which a key may be handed to a process ([`JobKey::from_env`]).
pub const KEY_ENV: &str = "FTMPI_KEY";

/// The key of a job. Its `Debug` form does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct JobKey([u8; KEY_BYTES]);

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read or written.
    #[error("key file {}: {error}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// The error of the system.
        #[source]
        error: std::io::Error,
    },
    /// Others may read the file.
    #[error("key file {}: others may read it (mode {mode:o}); make it private: chmod 600", path.display())]
    Public {
        /// Which file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// What was read is no key.
    #[error("the job's key must be {} hexadecimal digits", 2 * KEY_BYTES)]
    NotAKey,
    /// The variable is not set.
    #[error("no key was given: write --key-file FILE, or set the variable {KEY_ENV}")]
    Missing,
}

impl JobKey {
    /// A fresh key from the kernel's random numbers.
    ///
    /// # Panics
    /// If the kernel has none to give.
    #[must_use]
    pub fn generate() -> Self {
        let mut bytes = [0; KEY_BYTES];
        rand::rngs::OsRng.try_fill_bytes(&mut bytes).expect("the kernel gives random bytes");
        Self(bytes)
    }

    /// This key.
    #[must_use]
    pub const fn new(bytes: [u8; KEY_BYTES]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    /// The key with these bytes, which another process of the job has drawn.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; KEY_BYTES]) -> Self {
        Self(bytes)
    }

    /// 64 hexadecimal digits.
    #[must_use]
    pub fn to_hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Reads what [`JobKey::to_hex`] wrote; white space around it is no harm.
    ///
    /// # Errors
    /// [`KeyError::NotAKey`]
    pub fn from_hex(text: &str) -> Result<Self, KeyError> {
        let digits = text.trim().as_bytes();
        let mut bytes = [0; KEY_BYTES];
        if digits.len() != 2 * KEY_BYTES {
            return Err(KeyError::NotAKey);
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |c: u8| char::from(c).to_digit(16).ok_or(KeyError::NotAKey);
            *byte = (digit(pair[0])? * 16 + digit(pair[1])?) as u8;
        }
        Ok(Self(bytes))
    }

    /// From the variable [`KEY_ENV`].
    ///
    /// # Errors
    /// Not set, or no key.
    pub fn from_env() -> Result<Self, KeyError> {
        let text = std::env::var_os(KEY_ENV).ok_or(KeyError::Missing)?;
        Self::from_hex(text.to_str().ok_or(KeyError::NotAKey)?)
    }

    /// From a private file.
    ///
    /// # Errors
    /// Unreadable, readable by others too, or no key.
    pub fn read_file(path: &Path) -> Result<Self, KeyError> {
        let failed = |error| KeyError::File { path: path.to_owned(), error };
        let file = std::fs::File::open(path).map_err(failed)?;
        let mode = file.metadata().map_err(failed)?.mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(KeyError::Public { path: path.to_owned(), mode });
        }
        let mut text = String::new();
        file.take(1024).read_to_string(&mut text).map_err(failed)?;
        Self::from_hex(&text)
    }

    /// Into a new file that only its owner may read.
    ///
    /// # Errors
    /// The file exists already or cannot be written.
    pub fn write_file(&self, path: &Path) -> Result<(), KeyError> {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .and_then(|mut file| writeln!(file, "{}", self.to_hex()))
            .map_err(|error| KeyError::File { path: path.to_owned(), error })
    }
}

impl fmt::Debug for JobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JobKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_survives_its_file_and_its_text_and_is_never_shown() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let key = JobKey::generate();
        key.write_file(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(JobKey::read_file(&path).unwrap(), key);
        assert!(key.write_file(&path).is_err(), "an existing file is not overwritten");
        assert!(!format!("{key:?}").contains(&key.to_hex()[..8]));
        assert_ne!(JobKey::generate(), key);
    }

    #[test]
    fn a_public_or_garbled_key_file_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        JobKey::generate().write_file(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(JobKey::read_file(&path), Err(KeyError::Public { .. })));
        for text in ["", "00", &"g0".repeat(32), &"0".repeat(63), &"é".repeat(32)] {
            assert!(matches!(JobKey::from_hex(text), Err(KeyError::NotAKey)), "{text}");
        }
    }
}
