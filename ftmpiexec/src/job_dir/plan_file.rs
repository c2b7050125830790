//! `plan`: what a later launcher must know to go on with the job.
//!
//! Guarantees: the file is written in one step, with version and checksum. What an image depends on
//! comes from this file and not from the later launcher's own surroundings: environment, arguments,
//! numbers within hosts, the limit of the stack.

use crate::agent_protocol::{ActualCommand, Program};
use crate::cpu_baseline::CpuBaseline;
use crate::inject::ServerKind;
use crate::machine::Machine;
use crate::os_text::OsText;
use crate::restore_facts::RestoreFacts;
use anyhow::Context;
use ftmpi_protocols::judge::Policy;
use ftmpi_servers::checksummed_file;
use ftmpi_servers::files::Files;
use ftmpi_wire::control::ProtocolConfig;
use ftmpi_wire::new_processes::World;
use ftmpi_wire::{ImageNo, Rank};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

const KIND: &str = "ftmpi-plan";
const VERSION: u32 = 1;
const NAME: &str = "plan";

/// The contents of the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Saved {
    /// The options of the first launcher, without program. They are the defaults of every later
    /// launcher.
    pub options: Vec<String>,
    /// The directory where relative paths among the options begin.
    #[serde(with = "crate::os_text::path")]
    pub directory: PathBuf,
    /// The parts of the command line.
    pub programs: Vec<Program>,
    /// The part that each rank runs.
    pub program_of: Vec<u32>,
    /// Host of each rank, as the program heard it at its first start.
    pub node_of: Vec<u32>,
    /// Number of each rank on its host, as the program heard it at its first start.
    pub local_rank_of: Vec<u32>,
    /// Some host had more ranks than processors at the first start. A plan without this key says
    /// no, which is what its ranks heard.
    // Word: the key of plans that are already on disk.
    #[serde(default, rename = "crowded")]
    pub oversubscribed: bool,
    /// Ranks share memory, so the ranks of a host must stay together.
    #[serde(default)]
    pub shares_memory: bool,
    /// Worlds that joined the job.
    #[serde(default)]
    pub worlds: Vec<World>,
    /// A rank has opened a port or published a name, which only this launcher knows.
    #[serde(default)]
    pub had_ports: bool,
    /// Files that return to a wave with the ranks.
    #[serde(default)]
    pub files: Vec<String>,
    /// The oldest wave to which these files can return.
    #[serde(default)]
    pub files_since: ImageNo,
    /// Soft and hard limit of the stack.
    pub stack_limit: (u64, u64),
    /// The protocol with its settings.
    pub protocol: ProtocolConfig,
    /// Hosts of the latest run.
    pub machines: Vec<Machine>,
    /// The servers and their ranks.
    pub servers: Vec<SavedServer>,
    /// How ranks were executed, if not as the command line says.
    #[serde(rename = "executed")]
    pub actual_commands: Vec<(Rank, ActualCommand)>,
    /// How many launchers have worked on the job.
    pub runs: u32,
    /// A name that no other job has.
    #[serde(default)]
    pub job_id: String,
    /// Instructions that the ranks count on, if not those of their hosts.
    #[serde(default)]
    pub cpu_baseline: Option<CpuBaseline>,
    /// What the newest image of each rank needs of its host.
    #[serde(default)]
    pub image_facts: ImageFactsTable,
    /// Detectors and recoveries, as the file of `--recovery` had them.
    #[serde(default)]
    pub recovery: Policy,
}

/// What the newest image of each rank needs of its host: each set of facts once.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ImageFactsTable {
    kinds: Vec<RestoreFacts>,
    kind_of: Vec<Option<u32>>,
}

impl ImageFactsTable {
    /// What the newest image of a rank needs; `None`: not known.
    pub fn get(&self, rank: Rank) -> Option<&RestoreFacts> {
        let kind = self.kind_of.get(rank.index()).copied().flatten()?;
        self.kinds.get(kind as usize)
    }

    /// The newest image of a rank needs this. `true`: the table has changed.
    pub fn set(&mut self, rank: Rank, facts: &RestoreFacts) -> bool {
        if self.get(rank) == Some(facts) {
            return false;
        }
        let known = self.kinds.iter().position(|kind| kind == facts);
        let kind = known.unwrap_or_else(|| {
            self.kinds.push(facts.clone());
            self.kinds.len() - 1
        });
        if self.kind_of.len() <= rank.index() {
            self.kind_of.resize(rank.index() + 1, None);
        }
        self.kind_of[rank.index()] = Some(kind as u32);
        true
    }
}

/// A server of the job.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SavedServer {
    /// The kind of the server.
    pub kind: ServerKind,
    /// Number of the server among those of its kind, as in the name of its directory.
    pub number: usize,
    /// The host that the server was placed on; `None`: the launcher's.
    pub host: Option<String>,
    /// The ranks that the server serves.
    pub serves: Vec<Rank>,
}

/// A job that is to be continued.
#[derive(Debug, Clone)]
pub struct EarlierRun {
    /// The job's directory.
    pub directory: PathBuf,
    /// The job's plan.
    pub saved: Saved,
    /// The command line that began the job continues it (`--auto-restart`).
    pub same_line: bool,
}

impl Saved {
    /// Whether a directory has the plan of a job.
    pub fn is_in(directory: &Path) -> bool {
        directory.join(NAME).is_file()
    }

    /// The commands of the parts of the command line.
    pub fn commands(&self) -> impl Iterator<Item = &Vec<OsText>> {
        self.programs.iter().map(|program| &program.command)
    }

    /// Moves the servers to the hosts that a new machine file names: in the order in which the
    /// servers were named at first. What each server holds and serves stays the same.
    ///
    /// # Errors
    /// The machine file names another number of servers.
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

    /// Stores the plan in this directory.
    pub(super) fn write(&self, directory: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_vec_pretty(self)?;
        checksummed_file::write(&Files::default(), &directory.join(NAME), KIND, VERSION, &text)?;
        Ok(())
    }

    /// Reads the plan in this directory.
    ///
    /// # Errors
    /// There is no plan, or it is damaged.
    pub fn read(directory: &Path) -> anyhow::Result<Self> {
        let path = directory.join(NAME);
        if !path.exists() {
            anyhow::bail!(
                "{} is not the directory of a job (there is no {}); name the directory of --job-dir",
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
    use crate::restore_facts::made_up;
    use ftmpi_wire::control::Events;
    use proptest::prelude::*;

    fn saved() -> Saved {
        Saved {
            options: vec!["-n".into(), "3".into()],
            directory: "/somewhere".into(),
            programs: vec![Program {
                command: vec![OsText::of_word("p")],
                environment: Vec::new(),
                directory: "/".into(),
                search: None,
            }],
            program_of: vec![0; 3],
            node_of: vec![0, 1, 0],
            local_rank_of: vec![0, 0, 1],
            oversubscribed: true,
            shares_memory: true,
            worlds: vec![World { first: 3, size: 2, parent: Some(Rank(1)) }],
            had_ports: true,
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
            cpu_baseline: None,
            image_facts: ImageFactsTable::default(),
            recovery: Policy::default(),
        }
    }

    fn read(text: &[u8]) -> anyhow::Result<Saved> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(NAME);
        checksummed_file::write(&Files::default(), &file, KIND, VERSION, text).unwrap();
        Saved::read(directory.path())
    }

    /// Every rank has a program and a place, and servers serve ranks that exist.
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
    fn oversubscription_is_kept() {
        for oversubscribed in [true, false] {
            let text = serde_json::to_vec(&Saved { oversubscribed, ..saved() }).unwrap();
            assert_eq!(read(&text).unwrap().oversubscribed, oversubscribed);
        }
        // A plan without the key says no.
        let mut old = serde_json::to_value(saved()).unwrap();
        // Word: the key of plans that are already on disk.
        old.as_object_mut().unwrap().remove("crowded").unwrap();
        assert!(!read(&serde_json::to_vec(&old).unwrap()).unwrap().oversubscribed);
    }

    #[test]
    fn what_is_not_utf8_comes_back_and_the_rest_is_readable() {
        use std::ffi::{OsStr, OsString};
        use std::os::unix::ffi::{OsStrExt, OsStringExt};
        let word = |bytes: &[u8]| OsText::from(OsStr::from_bytes(bytes));
        let path = |bytes: &[u8]| PathBuf::from(OsString::from_vec(bytes.to_vec()));
        let program = Program {
            command: vec![word("größe".as_bytes()), word(b"data_\xe9\xff.txt")],
            environment: vec![(word(b"L\xe4"), word(b"\x80"))],
            directory: path(b"/lat\xe9in"),
            search: None,
        };
        let written =
            Saved { programs: vec![program.clone()], directory: path(b"/home/\xfc"), ..saved() };
        let text = serde_json::to_vec(&written).unwrap();
        assert!(String::from_utf8(text.clone()).unwrap().contains("größe"));
        let read = read(&text).unwrap();
        assert_eq!((read.programs, read.directory), (vec![program], written.directory));
    }

    #[test]
    fn facts_of_images_are_kept_once_for_each_kind() {
        let (one, two) = (made_up(&["avx2"], "6.1"), made_up(&[], "6.8"));
        let mut saved = saved();
        for (rank, facts) in [(2, &one), (0, &two), (1, &one)] {
            assert!(saved.image_facts.set(Rank(rank), facts));
            assert!(!saved.image_facts.set(Rank(rank), facts), "known");
        }
        let saved = read(&serde_json::to_vec(&saved).unwrap()).unwrap();
        assert_eq!(saved.image_facts.get(Rank(2)), Some(&one));
        assert_eq!(saved.image_facts.get(Rank(0)), Some(&two));
        assert_eq!(saved.image_facts.get(Rank(3)), None);
        assert_eq!(saved.image_facts.kinds.len(), 2);
    }

    proptest! {
        #[test]
        fn hostile_bytes_give_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(read(&bytes).is_err());
            let directory = tempfile::tempdir().unwrap();
            std::fs::write(directory.path().join(NAME), bytes).unwrap();
            prop_assert!(Saved::read(directory.path()).is_err());
        }

        /// The checksum is right and the text is altered.
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
