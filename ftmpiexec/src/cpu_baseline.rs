//! Which instructions the ranks of a job count on (`--cpu-baseline`).
//!
//! Without a baseline a rank counts on all that its first host has: its C library chooses code by
//! them, so its images fit no host with fewer. A baseline tells the C library what to leave unused
//! (`GLIBC_TUNABLES`), and the boot library what the images need.
//!
//! Guarantees: the texts depend on the baseline only, not on a host, so all incarnations of a rank
//! have the same environment. What a baseline leaves out ends a process where it is missing, by
//! signal 4; nothing computes something else (`ftmpi_checkpoint::host`).

use crate::restore_facts::RestoreFacts;
use ftmpi_checkpoint::host;
use ftmpi_checkpoint::stream::{FEATURE_WORDS, Processor};
use ftmpi_options::choices::CpuBaselineChoice;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// The variable with the settings of the C library.
pub const TUNABLES_ENV: &str = "GLIBC_TUNABLES";

/// Instructions by which the C library chooses code, beyond those of every baseline: our name, and
/// its name in `glibc.cpu.hwcaps`.
const OF_THE_C_LIBRARY: &[(&str, &str)] = &[
    ("avx512f", "AVX512F"),
    ("avx512bw", "AVX512BW"),
    ("avx512cd", "AVX512CD"),
    ("avx512dq", "AVX512DQ"),
    ("avx512er", "AVX512ER"),
    ("avx512pf", "AVX512PF"),
    ("avx512vl", "AVX512VL"),
    ("fma4", "FMA4"),
    ("rtm", "RTM"),
];
/// Those of the level x86-64-v4, beyond those of every baseline.
const V4: &[&str] = &["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"];
/// The C library's setting.
const SETTING: &str = "glibc.cpu.hwcaps=";

/// See the module's description.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuBaseline([u32; FEATURE_WORDS]);

impl CpuBaseline {
    /// What the option means on these hosts; none: ranks count on what their hosts have.
    pub fn of(choice: CpuBaselineChoice, hosts: &[&RestoreFacts]) -> Option<Self> {
        let hosts: Vec<_> = match choice {
            CpuBaselineChoice::Off => return None,
            CpuBaselineChoice::Auto => hosts.iter().map(|facts| facts.features).collect(),
            CpuBaselineChoice::V3 => vec![[0; FEATURE_WORDS]],
            CpuBaselineChoice::V4 => vec![host::features_of(V4)],
        };
        Some(Self(host::baseline(&hosts)))
    }

    /// What an image of this host needs under the baseline.
    pub fn limit(&self, facts: &RestoreFacts) -> RestoreFacts {
        let mut limited = facts.clone();
        limited.features.iter_mut().zip(self.0).for_each(|(word, counted)| *word &= counted);
        limited
    }

    /// Instructions of a host on which its ranks do not count.
    pub fn left_out(&self, facts: &RestoreFacts) -> Vec<&'static str> {
        let of =
            |facts: &RestoreFacts| Processor { features: facts.features, ..Processor::default() };
        host::missing(&of(facts), &of(&self.limit(facts))).collect()
    }

    /// Adds what a rank and its C library must know to the variables of a rank. `users`: the user's
    /// settings of the C library. All values are [`ftmpi_options::os_text`].
    pub fn add_to(&self, variables: &mut Vec<(&'static str, String)>, users: &str) {
        let known = variables.iter().position(|(name, _)| *name == TUNABLES_ENV);
        let before = known.map_or(users, |at| variables[at].1.as_str());
        if let Some(settings) = self.settings(before) {
            match known {
                Some(at) => variables[at].1 = settings,
                None => variables.push((TUNABLES_ENV, settings)),
            }
        }
        variables.push((host::BASELINE_ENV, self.text()));
    }

    /// The value of [`host::BASELINE_ENV`].
    fn text(&self) -> String {
        self.0.iter().fold(String::new(), |mut text, word| {
            let _ = write!(text, "{word:08x}");
            text
        })
    }

    /// The settings of the C library, with ours; none: they need not change.
    fn settings(&self, before: &str) -> Option<String> {
        let is_left_out = |name: &str| {
            let bits = host::features_of(&[name]);
            bits.iter().zip(self.0).any(|(bits, counted)| bits & !counted != 0)
        };
        let left_out = OF_THE_C_LIBRARY.iter().filter(|(ours, _)| is_left_out(ours));
        let list = left_out.map(|(_, name)| format!("-{name}")).collect::<Vec<_>>().join(",");
        if list.is_empty() {
            return None;
        }
        let mut settings: Vec<String> =
            before.split(':').filter(|one| !one.is_empty()).map(str::to_owned).collect();
        match settings.iter_mut().find(|setting| setting.starts_with(SETTING)) {
            Some(setting) => {
                if setting.len() > SETTING.len() {
                    setting.push(',');
                }
                setting.push_str(&list);
            }
            None => settings.push(format!("{SETTING}{list}")),
        }
        Some(settings.join(":"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::restore_facts::made_up;

    #[test]
    fn hosts_with_a_common_part_exchange_images() {
        let (one, two) = (made_up(&["avx2", "avx512f"], "6.1"), made_up(&["avx2", "sse4a"], "6.1"));
        assert!(!one.differences(&two).is_empty() && !two.differences(&one).is_empty());
        let baseline = CpuBaseline::of(CpuBaselineChoice::Auto, &[&one, &two]).unwrap();
        let limited = [&one, &two].map(|facts| baseline.limit(facts));
        assert_eq!(limited[0].differences(&two), [""; 0]);
        assert_eq!(limited[1].differences(&one), [""; 0]);
        assert_eq!(
            (baseline.left_out(&one), baseline.left_out(&two)),
            (vec!["avx512f"], vec!["sse4a"])
        );
        // What every baseline has is still missing on a host without it.
        let old = made_up(&[], "6.1");
        let baseline = CpuBaseline::of(CpuBaselineChoice::Auto, &[&one, &old]).unwrap();
        assert_eq!(baseline.limit(&one).differences(&old), ["no avx2"]);
        assert_eq!(CpuBaseline::of(CpuBaselineChoice::Off, &[&one]), None);
    }

    #[test]
    fn the_c_library_is_told() {
        let v3 = CpuBaseline::of(CpuBaselineChoice::V3, &[]).unwrap();
        let v4 = CpuBaseline::of(CpuBaselineChoice::V4, &[]).unwrap();
        let settings = |baseline: &CpuBaseline, before| baseline.settings(before).unwrap();
        assert!(settings(&v3, "").starts_with("glibc.cpu.hwcaps=-AVX512F,-AVX512BW,"));
        assert_eq!(settings(&v4, ""), "glibc.cpu.hwcaps=-AVX512ER,-AVX512PF,-FMA4,-RTM");
        let both = settings(&v4, "a.b=1:glibc.cpu.hwcaps=-ERMS");
        assert_eq!(both, "a.b=1:glibc.cpu.hwcaps=-ERMS,-AVX512ER,-AVX512PF,-FMA4,-RTM");
        let everything = CpuBaseline([!0; FEATURE_WORDS]);
        assert_eq!(everything.settings("x=1"), None);
        let mut variables = vec![(TUNABLES_ENV, "x=1".to_owned())];
        v3.add_to(&mut variables, "y=2");
        assert!(variables[0].1.starts_with("x=1:glibc.cpu.hwcaps=-"), "{variables:?}");
        let text = &variables[1].1;
        assert_eq!(host::parse_baseline(text.as_bytes()), Some(v3.0), "{text}");
    }
}
