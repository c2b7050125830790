//! Facts about a host that decide whether it can restore the images of another host.
//!
//! An image fits where the processor has every instruction of the first one and saves its
//! registers in the same way, in many cases also where it saves more. The kernel may be another
//! one. `--doctor` shows the facts of this host and, with `-f` or `-hosts`, compares all hosts.
//! `--restart` compares the hosts of the job with the hosts that it gets. `ftmpiexec
//! --restore-facts` prints the facts as one line of JSON, so that the same question can be put to a
//! host by ssh.

use crate::host_limits::HostLimits;
use ftmpi_checkpoint::stream::{FEATURE_WORDS, Processor};
use ftmpi_checkpoint::{host, save_areas};
use serde::{Deserialize, Serialize};
use std::fs;

/// The option that prints [`RestoreFacts`] of this host.
pub const OPTION: &str = "--restore-facts";

/// What a host offers to a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoreFacts {
    /// Version of ftmpi.
    pub version: String,
    /// The processor's name for people.
    pub model: String,
    /// Instructions: [`Processor::features`].
    pub features: [u32; FEATURE_WORDS],
    /// XCR0, and length and layout of the XSAVE area.
    pub registers: (u64, u64, u64),
    /// Whether an image of a processor with fewer registers can be restored: the dynamic linker is
    /// one whose areas for registers can grow. An older version does not say.
    #[serde(default)]
    pub areas_grow: bool,
    /// Release of the kernel.
    pub kernel: String,
}

impl RestoreFacts {
    /// The facts of this host.
    pub fn of_this_host() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpuinfo.lines().find(|line| line.starts_with("model name"));
        let mut processor = host::processor();
        // A host that is to count as one with fewer instructions.
        let told = std::env::var(host::BASELINE_ENV).unwrap_or_default();
        let told = host::parse_baseline(told.as_bytes()).unwrap_or([!0; FEATURE_WORDS]);
        processor.features.iter_mut().zip(told).for_each(|(word, told)| *word &= told);
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            model: model.and_then(|line| line.split_once(": ")).map_or("", |(_, name)| name).into(),
            features: processor.features,
            registers: (processor.xcr0, processor.xsave_len, processor.xsave_layout),
            areas_grow: host::has_usual_places() && save_areas::of_this_process().is_some(),
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        }
    }

    fn processor(&self) -> Processor {
        let (xcr0, xsave_len, xsave_layout) = self.registers;
        Processor { features: self.features, xcr0, xsave_len, xsave_layout }
    }

    /// What an image of this host lacks on another one; empty: the image can be restored there.
    /// Each text reads on after "it has ".
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let (image, here) = (self.processor(), other.processor());
        let mut found = Vec::new();
        let missing: Vec<_> = host::missing(&image, &here).collect();
        if !missing.is_empty() {
            found.push(format!("no {}", missing.join(", ")));
        }
        let takes_more = other.areas_grow && host::saves_more(&image, &here);
        if !host::saves_alike(&image, &here) && !takes_more {
            found.push("other registers to save (XCR0)".to_owned());
        }
        found
    }

    /// The facts in a few words: hosts with equal words can exchange images.
    pub fn summary(&self) -> String {
        let words = self.features.iter().flat_map(|word| word.to_le_bytes());
        let (xcr0, xsave_len, layout) = self.registers;
        let rest = [xcr0, xsave_len, layout].into_iter().flat_map(u64::to_le_bytes);
        let mark = crc32c::crc32c(&words.chain(rest).collect::<Vec<u8>>());
        format!("processor {} (kind {mark:08x}), Linux {}", self.model, self.kernel)
    }
}

/// What a host says of itself when it is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Whether it can restore images.
    #[serde(flatten)]
    pub restore: RestoreFacts,
    /// What its ranks may use; an older version does not say.
    #[serde(default)]
    pub limits: Option<HostLimits>,
}

impl HostFacts {
    /// The facts of this host.
    pub fn of_this_host() -> Self {
        let limits = Some(HostLimits::of_this_host());
        Self { restore: RestoreFacts::of_this_host(), limits }
    }

    /// One line of JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Facts of a host that does not exist: AVX2 and AVX-512F may be there, and SSE4a.
#[cfg(test)]
pub fn made_up(instructions: &[&str], kernel: &str) -> RestoreFacts {
    let mut features = [0; FEATURE_WORDS];
    for (name, word, bit) in [("avx2", 2, 5), ("avx512f", 2, 16), ("sse4a", 6, 6)] {
        features[word] |= u32::from(instructions.contains(&name)) << bit;
    }
    RestoreFacts {
        version: "1".into(),
        model: "A processor".into(),
        features,
        registers: (7, 832, 1),
        areas_grow: true,
        kernel: kernel.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::made_up as facts;
    use super::*;
    use ftmpi_checkpoint::stream::Hash;

    #[test]
    fn what_a_host_lacks_is_named() {
        let here = facts(&["avx2", "avx512f"], "6.1");
        assert_eq!(here.differences(&here), [""; 0]);
        let older = facts(&["avx2"], "6.1");
        assert_eq!(here.differences(&older), ["no avx512f"]);
        assert_eq!(older.differences(&here), [""; 0], "more instructions do no harm");
        let other = RestoreFacts { registers: (7, 832, 2), ..facts(&["sse4a"], "6.8") };
        assert_eq!(
            here.differences(&other),
            ["no avx2, avx512f", "other registers to save (XCR0)"]
        );
        assert_eq!(other.differences(&here).len(), 2);
    }

    #[test]
    fn more_registers_fit_where_areas_can_grow() {
        let places = [2u32, 256, 576, 0].map(u32::to_le_bytes).concat();
        let layout = places.chunks(4).fold(Hash::new(), |hash, word| hash.with(word));
        let fewer = RestoreFacts { registers: (7, 832, layout.value()), ..facts(&[], "6.1") };
        let more = RestoreFacts { registers: (0xe7, 2440, 1), ..facts(&["avx512f"], "6.8") };
        assert_eq!(fewer.differences(&more), [""; 0]);
        assert_eq!(more.differences(&fewer), ["no avx512f", "other registers to save (XCR0)"]);
        let other_library = RestoreFacts { areas_grow: false, ..more };
        assert_eq!(fewer.differences(&other_library), ["other registers to save (XCR0)"]);
    }

    #[test]
    fn the_kernel_may_be_another_one() {
        assert_eq!(facts(&["avx2"], "6.1").differences(&facts(&["avx2"], "6.8")), [""; 0]);
    }

    #[test]
    fn facts_travel_as_one_line() {
        let facts = HostFacts::of_this_host();
        assert_eq!(serde_json::from_str::<HostFacts>(&facts.to_json()).unwrap(), facts);
        assert!(!facts.to_json().contains('\n'));
        let here = facts.restore;
        assert!(here.differences(&here).is_empty(), "{}", here.summary());
    }
}
