//! Ranks that another launcher started: they find each other through the launcher's key-value
//! space, one of each host starts an agent, and all go on as under ftmpiexec, without fault
//! tolerance.
//!
//! Guarantees: a process that another launcher started as one of several becomes a rank among them,
//! or ends with one line that says what to type. Parsers take hostile bytes and hold a bounded
//! amount. The key of the job travels through the key-value space only, which the launcher keeps
//! to the processes of the job.
//!
//! | module | what |
//! | --- | --- |
//! | `pmi1` | PMI-1's lines: Hydra, Flux, PALS' and others |
//! | `pmi2` | PMI-2's messages: Slurm |
//! | `pmix`, `pmix_library` | PMIx, through `libpmix.so.2` that is loaded at run time |
//! | `place` | which host and CPUs this is |
//! | `agent` | the agent of this host: who starts it, and how ranks join it |

mod agent;
mod place;
mod pmi1;
mod pmi2;
mod pmix;
mod pmix_library;
mod stream;

use crate::tuning::{ERRORS_READ_LIMIT as READ_LIMIT, ERRORS_READ_PAUSE as READ_PAUSE};
use ftmpi_wire::control::{RANK_ENV, RankEnv};
use ftmpi_wire::direct_start::{
    Agents, Card, Hosts, JobCard, RANKS_MAX, Setup, decode_addresses, encode_addresses,
};
use ftmpi_wire::{DecodeError, Incarnation, Rank};
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Allows a process of another launcher to be a job of one rank.
const SINGLETON_ENV: &str = "FTMPI_SINGLETON";
/// The protocol that the user wants.
const PROTOCOL_ENV: &str = "FTMPI_PROTOCOL";

/// Who this process is among those that were started together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    rank: u32,
    size: u32,
    app_number: u32,
}

/// Why ranks cannot join one another.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    /// The connection to the launcher.
    #[error("its process manager does not answer: {0}")]
    Io(#[from] io::Error),
    /// The launcher speaks another language, or refuses.
    #[error("its process manager answered {0}")]
    Answer(String),
    /// What another rank wrote.
    #[error("{0}; do all ranks use the same ftmpi?")]
    Text(#[from] DecodeError),
    /// Two versions.
    #[error("rank 0 uses ftmpi {0}, this rank {ours}: use one version", ours = env!("CARGO_PKG_VERSION"))]
    Version(String),
    /// The library of PMIx.
    #[error("{0}")]
    Library(String),
    /// The agent of this host.
    #[error("{0}")]
    Agent(String),
    /// Fault tolerance needs our launcher.
    #[error(
        "{PROTOCOL_ENV}={protocol}: only ftmpiexec restarts ranks; start the job with: ftmpiexec -n \
         {size} --protocol {protocol} PROGRAM"
    )]
    Protocol {
        /// What was asked for.
        protocol: String,
        /// The number of ranks.
        size: u32,
    },
}

type Result<T> = std::result::Result<T, StartError>;

/// What process managers offer: texts that all processes of a job can read.
pub(crate) trait KeyValueSpace: Send {
    /// Who this process is.
    fn identity(&self) -> &Identity;
    /// Writes a text of this process. Others can read it after the next fence.
    fn put(&mut self, what: &str, text: &str) -> Result<()>;
    /// Waits until all processes are here.
    fn fence(&mut self) -> Result<()>;
    /// A text of a process.
    fn get(&mut self, what: &str, of: u32) -> Result<String>;
    /// This process ends in order.
    fn finalize(&mut self) -> Result<()>;
    /// Asks for the end of all processes.
    fn abort(&mut self, code: i32, text: &str);
}

/// The connection to the launcher, to the end of MPI.
static SPACE: Mutex<Option<Box<dyn KeyValueSpace>>> = Mutex::new(None);
/// Whether this process joined others so.
static JOINED: AtomicBool = AtomicBool::new(false);

/// Joins the processes that another launcher started together with this one. `None`: there is no
/// such launcher that we can talk to, or there are no others.
///
/// # Errors
/// There are others, and they cannot be joined. The text says who started them.
pub(crate) fn join(
    variable: impl Fn(&str) -> Option<String>,
) -> std::result::Result<Option<RankEnv>, String> {
    if variable(SINGLETON_ENV).is_some_and(|text| text == "1") {
        return Ok(None);
    }
    let (launcher, space) = if pmix::is_there(&variable) {
        ("a launcher with PMIx", pmix::connect())
    } else if pmi2::is_there(&variable) {
        ("srun", pmi2::connect(&variable))
    } else if pmi1::is_there(&variable) {
        ("another MPI's launcher", pmi1::connect(&variable))
    } else {
        return Ok(None);
    };
    let joined = space.and_then(|space| match space {
        Some(mut space) => match join_through(space.as_mut(), &variable) {
            Ok(rank) => {
                *SPACE.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(space);
                JOINED.store(true, Ordering::Relaxed);
                Ok(Some(rank))
            }
            Err(error) => {
                // Launchers kill all ranks when one closes this connection: first it says why.
                std::mem::forget(space);
                Err(error)
            }
        },
        None => Ok(None),
    });
    joined.map_err(|error| {
        format!("{launcher} started this program, and its ranks cannot be joined: {error}")
    })
}

fn join_through(
    space: &mut dyn KeyValueSpace,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<RankEnv> {
    let Identity { rank, size, app_number } = *space.identity();
    if size > RANKS_MAX {
        return Err(StartError::Answer(format!("that there are {size} ranks")));
    }
    if let Some(protocol) = variable(PROTOCOL_ENV).filter(|name| name != "none") {
        return Err(StartError::Protocol { protocol, size });
    }
    let own = place::card(&variable);
    space.put("card", &own.encode())?;
    if rank == 0 {
        space.put("job", &agent::new_job()?.encode())?;
    }
    space.fence()?;
    let job = JobCard::decode(&space.get("job", 0)?)?;
    if job.version != env!("CARGO_PKG_VERSION") {
        return Err(StartError::Version(job.version));
    }
    let mut started = match agent::elect(&job, own.node)? {
        Some(listener) => {
            let cards = (0..size).map(|rank| Ok(Card::decode(&space.get("card", rank)?)?));
            let cards: Vec<Card> = cards.collect::<Result<_>>()?;
            let hosts = Hosts::of(&cards);
            let setup = Setup { rank, job: job.clone(), cards };
            Some((agent::Started::start(listener, &setup)?, hosts))
        }
        None => None,
    };
    let addresses = started.as_ref().map_or(&[][..], |(agent, _)| agent.addresses());
    space.put("agent", &format!("{}{}", started.is_some() as u8, encode_addresses(addresses)))?;
    space.fence()?;
    if let Some((agent, hosts)) = &mut started {
        let agents = agents(space, hosts)?;
        agent.tell(&agents)?;
    }
    agent::enter(&job, own.node, rank, app_number)?;
    let (rank, incarnation) = (Rank(rank), Incarnation(0));
    let env = RankEnv {
        rank,
        incarnation,
        restore: false,
        standby: false,
        died: 0,
        // Without a protocol nobody returns.
        together: false,
        program: 0,
    };
    // SAFETY: MPI_Init may change the environment. By this, what the process starts knows that it
    // is no rank of this job.
    unsafe { std::env::set_var(RANK_ENV, env.encode()) };
    Ok(env)
}

/// Where the agent of each host listens. Mostly the first rank of a host has started it.
fn agents(space: &mut dyn KeyValueSpace, hosts: &Hosts) -> Result<Agents> {
    let mut found = vec![None; hosts.names.len()];
    let mut left = found.len();
    for (rank, &host) in hosts.host_of.iter().enumerate() {
        if left == 0 {
            break;
        }
        if found[host as usize].is_some() {
            continue;
        }
        let text = space.get("agent", rank as u32)?;
        if let Some(addresses) = text.strip_prefix('1') {
            found[host as usize] = Some(decode_addresses(addresses)?);
            left -= 1;
        }
    }
    match found.iter().position(Option::is_none) {
        Some(host) => {
            Err(StartError::Agent(format!("no rank has started an agent on {}", hosts.names[host])))
        }
        None => Ok(Agents { addresses: found.into_iter().flatten().collect() }),
    }
}

/// Whether another launcher started this rank.
pub(crate) fn has_joined() -> bool {
    JOINED.load(Ordering::Relaxed)
}

/// Every rank is through: the launcher may see this process end.
pub(crate) fn finalize() {
    let space = SPACE.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
    if let Some(mut space) = space {
        // The launcher may be gone; then it ends this process by itself.
        let _ = space.finalize();
    }
}

/// Waits until the launcher has read what this process wrote to its standard error: launchers that
/// end ranks throw away what they have not read.
pub(crate) fn until_errors_are_read() {
    let end = Instant::now() + READ_LIMIT;
    let mut unread: libc::c_int = 0;
    // SAFETY: asks a descriptor for a number, which is written to a local.
    while unsafe { libc::ioctl(libc::STDERR_FILENO, libc::FIONREAD, &raw mut unread) } == 0
        && unread > 0
        && Instant::now() < end
    {
        std::thread::sleep(READ_PAUSE);
    }
    // Read, and on its way through the launcher.
    std::thread::sleep(READ_PAUSE);
}

/// Asks the launcher for the end of all ranks.
pub(crate) fn abort(code: i32, text: &str) {
    until_errors_are_read();
    let Ok(mut space) = SPACE.try_lock() else { return };
    if let Some(space) = space.as_mut() {
        space.abort(code, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::sync::{Arc, Barrier};

    /// Key-value spaces of several ranks in one process.
    struct Fake {
        identity: Identity,
        texts: Arc<Mutex<BTreeMap<(String, u32), String>>>,
        barrier: Arc<Barrier>,
    }

    impl KeyValueSpace for Fake {
        fn identity(&self) -> &Identity {
            &self.identity
        }
        fn put(&mut self, what: &str, text: &str) -> Result<()> {
            self.texts.lock().unwrap().insert((what.into(), self.identity.rank), text.into());
            Ok(())
        }
        fn fence(&mut self) -> Result<()> {
            self.barrier.wait();
            Ok(())
        }
        fn get(&mut self, what: &str, of: u32) -> Result<String> {
            let found = self.texts.lock().unwrap().get(&(what.into(), of)).cloned();
            found.ok_or_else(|| StartError::Answer("nothing".into()))
        }
        fn finalize(&mut self) -> Result<()> {
            Ok(())
        }
        fn abort(&mut self, _: i32, _: &str) {}
    }

    fn fake(rank: u32, size: u32, texts: &[(&str, u32, &str)]) -> Fake {
        let texts =
            texts.iter().map(|(what, of, text)| (((*what).to_owned(), *of), (*text).into()));
        Fake {
            identity: Identity { rank, size, app_number: 0 },
            texts: Arc::new(Mutex::new(texts.collect())),
            barrier: Arc::new(Barrier::new(1)),
        }
    }

    #[test]
    fn agents_are_found_wherever_the_rank_is_that_started_them() {
        let hosts = Hosts { host_of: vec![0, 1, 0, 1], names: vec!["a".into(), "b".into()] };
        let texts = [("agent", 0, "0"), ("agent", 1, "11.2.3.4:5"), ("agent", 2, "1")];
        let agents = agents(&mut fake(1, 4, &texts), &hosts).unwrap();
        assert_eq!(agents.addresses, vec![Vec::new(), vec!["1.2.3.4:5".parse().unwrap()]]);
        let none = [("agent", 0, "1"), ("agent", 1, "0"), ("agent", 3, "0")];
        let error = super::agents(&mut fake(1, 4, &none), &hosts).unwrap_err();
        assert!(error.to_string().contains("agent on b"), "{error}");
    }

    #[test]
    fn who_wants_fault_tolerance_is_told_the_launcher() {
        let wanted = |name: &str| (name == PROTOCOL_ENV).then(|| "pessimistic".to_owned());
        let error = join_through(&mut fake(0, 4, &[]), wanted).unwrap_err().to_string();
        assert!(error.contains("ftmpiexec -n 4 --protocol pessimistic PROGRAM"), "{error}");
    }

    #[test]
    fn without_a_process_manager_nothing_is_joined() {
        assert_eq!(join(|_| None), Ok(None));
        let slurm = |name: &str| (name == "SLURM_STEP_NUM_TASKS").then(|| "4".to_owned());
        assert_eq!(join(slurm), Ok(None));
        let alone = |name: &str| match name {
            "PMI_FD" => Some("7".to_owned()),
            SINGLETON_ENV => Some("1".to_owned()),
            _ => None,
        };
        assert_eq!(join(alone), Ok(None));
    }
}
