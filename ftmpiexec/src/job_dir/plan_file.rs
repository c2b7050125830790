//! `plan`: what a later launcher must know to go on with the job.
//!
//! Guarantees: written in one step, with version and checksum; whatever an image depends on
//! (environment, arguments, numbers within hosts, the limit of the stack) is taken from here and not
//! from the later launcher's own surroundings.

use crate::agent_protocol::{ActualCommand, Program};
use crate::cli::{Machine, Plan};
use crate::inject::ServerKind;
use anyhow::Context;
use ftmpi_servers::checksummed_file;
use ftmpi_servers::files::Files;
use ftmpi_wire::control::ProtocolConfig;
use ftmpi_wire::{ImageNo, Rank};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

const KIND: &str = "ftmpi-plan";
const VERSION: u32 = 1;
const NAME: &str = "plan";

/// The file's contents.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Saved {
    /// The options of the first launcher, without program: the defaults of every later one.
    pub options: Vec<String>,
    /// Where relative paths among them begin.
    pub directory: PathBuf,
    /// The parts of the command line.
    pub programs: Vec<Program>,
    /// Part of each rank.
    pub program_of: Vec<u32>,
    /// Host of each rank as the program was told at its first start.
    pub node_of: Vec<u32>,
    /// Number of each rank among those of its host, likewise.
    pub local_rank_of: Vec<u32>,
    /// Some host had more ranks than processors then. A plan of before this was told says no, as its
    /// ranks were.
    #[serde(default, rename = "crowded")]
    pub oversubscribed: bool,
    /// Ranks share memory: those of a host must stay together.
    #[serde(default)]
    pub shares_memory: bool,
    /// Files that return to a wave with the ranks.
    #[serde(default)]
    pub files: Vec<String>,
    /// The oldest wave to which they can.
    #[serde(default)]
    pub files_since: ImageNo,
    /// Soft and hard limit of the stack.
    pub stack_limit: (u64, u64),
    /// The protocol.
    pub protocol: ProtocolConfig,
    /// Hosts of the latest run.
    pub machines: Vec<Machine>,
    /// Servers, and what they hold.
    pub servers: Vec<SavedServer>,
    /// How processes were executed, where not as the command line says.
    #[serde(rename = "executed")]
    pub actual_commands: Vec<(Rank, ActualCommand)>,
    /// Launchers that have worked on the job.
    pub runs: u32,
    /// A name that no other job has.
    #[serde(default)]
    pub job_id: String,
}

/// One server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SavedServer {
    /// Which kind.
    pub kind: ServerKind,
    /// Its number among those of its kind: the name of its directory.
    pub number: usize,
    /// The host that it was placed on; none: beside the launcher.
    pub host: Option<String>,
    /// Ranks that it serves.
    pub serves: Vec<Rank>,
}

/// A job that is to be continued.
#[derive(Debug, Clone)]
pub struct EarlierRun {
    /// Its directory.
    pub directory: PathBuf,
    /// Its plan.
    pub saved: Saved,
}

impl Saved {
    /// Of a new job.
    pub fn new(plan: &Plan, local_rank_of: Vec<u32>, stack_limit: (u64, u64)) -> Self {
        Self {
            options: plan.options.clone(),
            directory: std::env::current_dir().unwrap_or_default(),
            programs: plan.programs.clone(),
            program_of: plan.program_of.clone(),
            node_of: plan.placement.clone(),
            local_rank_of,
            oversubscribed: false,
            shares_memory: false,
            files: Vec::new(),
            files_since: ImageNo(0),
            stack_limit,
            protocol: plan.protocol.clone(),
            machines: plan.machines.clone(),
            servers: Vec::new(),
            actual_commands: Vec::new(),
            runs: 1,
            job_id: plan.job_id.clone(),
        }
    }

    /// A new machine file may say where the servers run now: each of them by its place in the order
    /// in which it was named at first. What each holds and serves stays the same.
    ///
    /// # Errors
    /// It names another number of servers.
    pub fn move_servers(&mut self, machines: &[Machine]) -> anyhow::Result<()> {
        for kind in
            [ServerKind::EventLogger, ServerKind::ChannelMemory, ServerKind::CheckpointServer]
        {
            let named = machines.iter().filter(|machine| match kind {
                ServerKind::EventLogger | ServerKind::ChannelMemory => {
                    machine.event_logger.is_some()
                }
                ServerKind::CheckpointServer => machine.checkpoint_server.is_some(),
                ServerKind::CheckpointScheduler => false,
            });
            let hosts: Vec<String> = named.map(|machine| machine.name.clone()).collect();
            let servers: Vec<&mut SavedServer> =
                self.servers.iter_mut().filter(|server| server.kind == kind).collect();
            if hosts.is_empty() {
                continue;
            }
            anyhow::ensure!(
                hosts.len() == servers.len(),
                "--restart: the job has {} of the kind {}, the machine file names {}",
                servers.len(),
                kind.name(),
                hosts.len()
            );
            for (server, host) in servers.into_iter().zip(hosts) {
                server.host = Some(host);
            }
        }
        Ok(())
    }

    /// Stores it.
    pub(super) fn write(&self, directory: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_vec_pretty(self)?;
        checksummed_file::write(&Files::default(), &directory.join(NAME), KIND, VERSION, &text)?;
        Ok(())
    }

    /// Reads the one in this directory.
    ///
    /// # Errors
    /// There is none, or it is damaged.
    pub fn read(directory: &Path) -> anyhow::Result<Self> {
        let path = directory.join(NAME);
        if !path.exists() {
            anyhow::bail!(
                "{} is not the directory of a job (there is no {})",
                directory.display(),
                path.display()
            );
        }
        let about = || format!("the plan of the job, {}", path.display());
        let text = checksummed_file::read(&path, KIND, VERSION).with_context(about)?;
        let saved: Self = serde_json::from_slice(&text).with_context(about)?;
        let ranks = saved.program_of.len();
        let sound = ranks > 0
            && saved.node_of.len() == ranks
            && saved.local_rank_of.len() == ranks
            && saved.program_of.iter().all(|part| (*part as usize) < saved.programs.len())
            && saved.servers.iter().flat_map(|s| &s.serves).all(|rank| rank.index() < ranks);
        anyhow::ensure!(sound, "{} contradicts itself", about());
        Ok(saved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_wire::control::Events;
    use proptest::prelude::*;

    fn saved() -> Saved {
        Saved {
            options: vec!["-n".into(), "3".into()],
            directory: "/somewhere".into(),
            programs: vec![Program {
                command: vec!["p".into()],
                environment: Vec::new(),
                directory: "/".into(),
            }],
            program_of: vec![0; 3],
            node_of: vec![0, 1, 0],
            local_rank_of: vec![0, 0, 1],
            oversubscribed: true,
            shares_memory: true,
            files: vec!["/somewhere/file".into()],
            files_since: ImageNo(4),
            stack_limit: (8 << 20, u64::MAX),
            protocol: ProtocolConfig {
                name: "pessimistic".into(),
                events: Events::All,
                log_wtime: true,
                settings: Vec::new(),
            },
            machines: Vec::new(),
            servers: vec![SavedServer {
                kind: ServerKind::EventLogger,
                number: 0,
                host: None,
                serves: vec![Rank(0), Rank(1), Rank(2)],
            }],
            actual_commands: Vec::new(),
            runs: 1,
            job_id: String::new(),
        }
    }

    fn read(text: &[u8]) -> anyhow::Result<Saved> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(NAME);
        checksummed_file::write(&Files::default(), &file, KIND, VERSION, text).unwrap();
        Saved::read(directory.path())
    }

    /// Nobody looks up a rank's program or place where there is none.
    fn is_sound(saved: &Saved) -> bool {
        let ranks = saved.program_of.len();
        (saved.node_of.len(), saved.local_rank_of.len()) == (ranks, ranks)
            && saved.program_of.iter().all(|part| saved.programs.get(*part as usize).is_some())
            && saved.servers.iter().flat_map(|s| &s.serves).all(|rank| rank.index() < ranks)
    }

    #[test]
    fn a_plan_that_contradicts_itself_is_refused() {
        let text = |saved: &Saved| serde_json::to_vec(saved).unwrap();
        assert!(is_sound(&read(&text(&saved())).unwrap()));
        for wrong in [
            Saved { programs: Vec::new(), ..saved() },
            Saved { node_of: vec![0; 2], ..saved() },
            Saved { program_of: Vec::new(), ..saved() },
        ] {
            let error = read(&text(&wrong)).unwrap_err();
            assert!(error.to_string().contains("contradicts itself"), "{error}");
        }
    }

    #[test]
    fn what_collectives_choose_by_is_kept() {
        for oversubscribed in [true, false] {
            let text = serde_json::to_vec(&Saved { oversubscribed, ..saved() }).unwrap();
            assert_eq!(read(&text).unwrap().oversubscribed, oversubscribed);
        }
        // The ranks of a job that began before there was a choice took what is taken without.
        let mut old = serde_json::to_value(saved()).unwrap();
        old.as_object_mut().unwrap().remove("crowded").unwrap();
        assert!(!read(&serde_json::to_vec(&old).unwrap()).unwrap().oversubscribed);
    }

    proptest! {
        #[test]
        fn hostile_bytes_give_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(read(&bytes).is_err());
            let directory = tempfile::tempdir().unwrap();
            std::fs::write(directory.path().join(NAME), bytes).unwrap();
            prop_assert!(Saved::read(directory.path()).is_err());
        }

        /// With a checksum that is right and a text that is not.
        #[test]
        fn an_altered_plan_is_sound_or_refused(at in 0_usize..600, with in "[0-9,\\[\\]{}\":a-z-]{0,6}") {
            let mut text = serde_json::to_vec(&saved()).unwrap();
            let at = at.min(text.len());
            let end = (at + with.len()).min(text.len());
            text.splice(at..end, with.bytes());
            if let Ok(saved) = read(&text) {
                prop_assert!(is_sound(&saved), "{saved:?}");
            }
        }
    }
}
