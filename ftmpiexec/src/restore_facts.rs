//! Facts about a host that decide whether it can restore the images of another host.
//!
//! An image fits only where the processor features and the vDSO are identical. `--doctor` shows
//! the facts of this host and, with `-f` or `-hosts`, compares all hosts. `--restart` compares the
//! hosts of the job with the hosts that it gets. `ftmpiexec --restore-facts` prints the facts as
//! one line of JSON, so that the same question can be put to a host by ssh.

use ftmpi_checkpoint::host;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;

/// The option that prints [`RestoreFacts`] of this host.
pub const OPTION: &str = "--restore-facts";

/// What must be equal on two hosts, and names for what differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoreFacts {
    /// Version of ftmpi.
    pub version: String,
    /// The processor's name for people.
    pub model: String,
    /// Feature words, XCR0 and length of the XSAVE area.
    pub processor: ([u32; 8], u64, u64),
    /// Names of the features, as `/proc/cpuinfo` has them.
    pub flags: BTreeSet<String>,
    /// Release of the kernel.
    pub kernel: String,
    /// Hash of the vDSO; `None` if it could not be read.
    pub vdso: Option<u64>,
}

impl RestoreFacts {
    /// The facts of this host.
    pub fn of_this_host() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let field = |name: &str| {
            let line = cpuinfo.lines().find(|line| line.starts_with(name));
            line.and_then(|line| line.split_once(':')).map_or("", |(_, value)| value.trim())
        };
        let processor = host::processor();
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            model: field("model name").to_owned(),
            processor: (processor.features, processor.xcr0, processor.xsave_len),
            flags: field("flags").split_whitespace().map(str::to_owned).collect(),
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            vdso: host::vdso_hash_here(),
        }
    }

    /// What an image of this host finds different on another one; empty: the image can be restored
    /// there. Each text reads on after "different: ".
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let mut found = Vec::new();
        if self.processor != other.processor {
            let only = |one: &Self, another: &Self| {
                one.flags.difference(&another.flags).cloned().collect::<Vec<_>>().join(", ")
            };
            let (missing, added) = (only(self, other), only(other, self));
            found.push(match (missing.is_empty(), added.is_empty()) {
                (true, true) => "processor features".to_owned(),
                (false, true) => format!("processor features (without {missing})"),
                (true, false) => format!("processor features (in addition {added})"),
                (false, false) => {
                    format!("processor features (without {missing}; in addition {added})")
                }
            });
        }
        if self.vdso.is_none() || self.vdso != other.vdso {
            found.push(match self.kernel == other.kernel {
                true => format!("vDSO (both run Linux {})", self.kernel),
                false => format!("vDSO (Linux {} and Linux {})", self.kernel, other.kernel),
            });
        }
        found
    }

    /// The facts in a few words: hosts with equal words can exchange images.
    pub fn summary(&self) -> String {
        let (features, xcr0, xsave) = &self.processor;
        let words = features.iter().flat_map(|word| word.to_le_bytes());
        let rest = [*xcr0, *xsave].into_iter().flat_map(u64::to_le_bytes);
        let mark = crc32c::crc32c(&words.chain(rest).collect::<Vec<u8>>());
        let vdso = self.vdso.map_or("unknown".to_owned(), |hash| format!("{hash:016x}"));
        format!(
            "processor {} (features {mark:08x}), vDSO {vdso} (Linux {})",
            self.model, self.kernel
        )
    }

    /// One line of JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Facts of a host that does not exist.
#[cfg(test)]
pub fn made_up(flags: &[&str], feature: u32, kernel: &str, vdso: u64) -> RestoreFacts {
    RestoreFacts {
        version: "1".into(),
        model: "A processor".into(),
        processor: ([feature; 8], 7, 832),
        flags: flags.iter().map(|&flag| flag.to_owned()).collect(),
        kernel: kernel.into(),
        vdso: Some(vdso),
    }
}

#[cfg(test)]
mod tests {
    use super::made_up as facts;
    use super::*;

    #[test]
    fn a_host_that_differs_is_described() {
        let here = facts(&["avx2", "avx512f", "sse2"], 3, "6.1", 5);
        assert_eq!(here.differences(&here), [""; 0]);
        let older = facts(&["avx2", "sse2"], 1, "6.1", 5);
        assert_eq!(here.differences(&older), ["processor features (without avx512f)"]);
        assert_eq!(older.differences(&here), ["processor features (in addition avx512f)"]);
        let other = facts(&["avx2", "sse2", "sse4a"], 2, "6.8", 6);
        assert_eq!(
            here.differences(&other),
            [
                "processor features (without avx512f; in addition sse4a)",
                "vDSO (Linux 6.1 and Linux 6.8)"
            ]
        );
        let unnamed = facts(&["avx2", "avx512f", "sse2"], 9, "6.1", 8);
        assert_eq!(here.differences(&unnamed), ["processor features", "vDSO (both run Linux 6.1)"]);
    }

    #[test]
    fn a_vdso_that_nobody_could_read_is_not_taken_for_equal() {
        let unknown = RestoreFacts { vdso: None, ..facts(&[], 1, "6.1", 5) };
        assert_eq!(unknown.differences(&unknown), ["vDSO (both run Linux 6.1)"]);
    }

    #[test]
    fn facts_travel_as_one_line() {
        let here = RestoreFacts::of_this_host();
        assert_eq!(serde_json::from_str::<RestoreFacts>(&here.to_json()).unwrap(), here);
        assert!(!here.to_json().contains('\n'));
        assert!(here.differences(&here).is_empty(), "{}", here.summary());
    }
}
