//! A detector and a recovery as a library, which a file of `--recovery` names:
//!
//! ```toml
//! [[rule]]
//! detectors = [
//!     { name = "feed", library = "FILE", settings = "2", recovery = "leave-switch" },
//! ]
//! ```
//!
//! `feed` counts the deaths of processes on the hosts of one switch, which share a power feed. It
//! recognises the fault when there were as many as the settings say. `leave-switch` moves all ranks
//! away from the switch, also the living ones.

use ftmpi_plugin::guest::Memory;
use ftmpi_plugin::judge::Table;
use ftmpi_plugin::judge::guest::{Judge, table};
use ftmpi_protocols::judge::library::{Case, Found, Steps};
use ftmpi_protocols::judge::{Fact, Recovery};
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::time::Duration;

/// Deaths of processes, by switch.
#[derive(Default)]
struct Feeds(BTreeMap<String, u32>);

/// The hosts that share the switch of this host.
fn neighbours(case: &Case, host: u32) -> Vec<u32> {
    let switch = &case.hosts[host as usize].switch;
    let all = 0..case.hosts.len() as u32;
    all.filter(|other| case.hosts[*other as usize].switch == *switch).collect()
}

impl Judge for Feeds {
    const NAME: &'static CStr = c"feeds";
    const DETECTORS: &'static [&'static str] = &["feed"];
    const RECOVERIES: &'static [&'static str] = &["leave-switch"];

    fn look(&mut self, _: &str, settings: &str, case: &Case) -> Option<Found> {
        let Fact::Process { host, .. } = case.fact else { return None };
        let switch = case.hosts[host as usize].switch.clone()?;
        let deaths = self.0.entry(switch.clone()).or_default();
        *deaths += 1;
        let most: u32 = settings.trim().parse().unwrap_or(2);
        let why = format!("{deaths} processes died on the feed of switch {switch}");
        (*deaths >= most).then(|| Found { why, hosts: neighbours(case, host) })
    }

    fn recover(&mut self, _: &str, _: &str, case: &Case, found: &Found) -> Option<Steps> {
        let elsewhere = case.situation.takes.iter().enumerate();
        let mut elsewhere = elsewhere.filter(|(host, _)| !found.hosts.contains(&(*host as u32)));
        elsewhere.any(|(_, takes)| *takes).then(|| Steps {
            recovery: Recovery::Migrate,
            patience: Duration::ZERO,
            shun: found.hosts.clone(),
            leave: found.hosts.clone(),
        })
    }
}

#[global_allocator]
static MEMORY: Memory = Memory;

static TABLE: Table = table::<Feeds>();

/// The symbol of this library.
#[unsafe(no_mangle)]
pub extern "C" fn ftmpi_judge() -> *const Table {
    &raw const TABLE
}
