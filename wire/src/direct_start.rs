//! Ranks that another launcher started (`srun --mpi=pmi2`, `mpiexec.hydra`): what each tells the
//! others through the launcher's key-value space, and what the ranks of a host tell the agent that
//! one of them starts.
//!
//! ```text
//! every rank        card ──► key-value space ──► fence
//! one of a host     starts `ftmpiexec --agent-of-ranks`, Setup ►, ◄ Ready, addresses ──► fence
//!                   Agents ►
//! every rank        Join ►, ◄ Joined (status page); from here on as under ftmpiexec
//! ```
//!
//! Guarantees: texts of the key-value space have letters, digits and `:,.[]-` only, and at most
//! [`TEXT_BYTES_MAX`] bytes. All ranks derive the same hosts from the same cards.

use crate::DecodeError;
use crate::hello::KEY_BYTES;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

/// The first argument of `ftmpiexec` as an agent of ranks that are there already.
pub const AGENT_OPTION: &str = "--agent-of-ranks";

/// What is said of a rank that ends too early.
pub const ENDED_EARLY: &str = "ended before all ranks had called MPI_Finalize, and this launcher \
    restarts none (ftmpiexec does): the job ends";

/// Bytes of a text in a key-value space: Hydra takes 1024.
pub const TEXT_BYTES_MAX: usize = 900;

/// Ranks of a job that starts so. Every rank reads the cards of all.
pub const RANKS_MAX: u32 = 1 << 20;

/// Bytes of a host's name in a card.
const NAME_BYTES_MAX: usize = 64;

/// Addresses of an agent.
const ADDRESSES_MAX: usize = 16;

/// What every rank tells the others about its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// Ranks with the same number can share memory and an agent.
    pub node: u64,
    /// Ranks with the same number share the processors of a machine.
    pub machine: u64,
    /// Digest of the set of CPUs that this rank may use.
    pub mask: u64,
    /// How many CPUs that is.
    pub cpus: u32,
    /// CPUs of the machine.
    pub online: u32,
    /// How the launcher, or else the host itself, calls the host.
    pub name: String,
}

/// What rank 0 tells all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobCard {
    /// The job's key, which keeps strangers and other jobs out.
    pub key: [u8; KEY_BYTES],
    /// When the job began, in seconds since 1970.
    pub epoch: u64,
    /// The version of the library.
    pub version: String,
}

/// The first message to the agent, from the rank that starts the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// The rank that starts the agent.
    pub rank: u32,
    /// What rank 0 tells all.
    pub job: JobCard,
    /// The cards of all ranks.
    pub cards: Vec<Card>,
}

/// The agent's answer: where it listens. No addresses, if the job has one host only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// Its addresses, the best one first, or why it cannot serve.
    pub addresses: Result<Vec<SocketAddr>, String>,
}

/// The second message to the agent: where the agents of all hosts listen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agents {
    /// Addresses of each host's agent.
    pub addresses: Vec<Vec<SocketAddr>>,
}

/// A rank to the agent of its host, as its first message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Join {
    /// The rank.
    pub rank: u32,
    /// The job's key.
    pub key: [u8; KEY_BYTES],
    /// `MPI_APPNUM`
    pub app_number: u32,
}

/// The agent's answer. With a descriptor, the status page, if the rank is welcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joined {
    /// Why not.
    pub refused: Option<String>,
}

/// The hosts of a job, as all its ranks see them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosts {
    /// Index of each rank's host, in the order of their first ranks.
    pub host_of: Vec<u32>,
    /// Their names.
    pub names: Vec<String>,
}

impl Hosts {
    /// From the cards of all ranks.
    #[must_use]
    pub fn of(cards: &[Card]) -> Self {
        let mut known: BTreeMap<u64, u32> = BTreeMap::new();
        let mut names = Vec::new();
        let host_of = cards.iter().map(|card| {
            *known.entry(card.node).or_insert_with(|| {
                names.push(card.name.clone());
                names.len() as u32 - 1
            })
        });
        let host_of = host_of.collect();
        Self { host_of, names }
    }
}

/// Ranks on a machine, and the CPUs that they may use together.
#[must_use]
pub fn subscription(machine: u64, cards: &[Card]) -> (u32, u32) {
    let here = || cards.iter().filter(|card| card.machine == machine);
    let masks: BTreeSet<_> = here().map(|card| (card.mask, card.cpus)).collect();
    let together: u64 = masks.iter().map(|(_, cpus)| u64::from(*cpus)).sum();
    let online = here().map(|card| card.online).max().unwrap_or(1).max(1);
    let cpus = u32::try_from(together).unwrap_or(online).clamp(1, online);
    (here().count() as u32, cpus)
}

/// Whether some machine has more ranks than CPUs for them.
#[must_use]
pub fn is_oversubscribed(cards: &[Card]) -> bool {
    let machines: BTreeSet<_> = cards.iter().map(|card| card.machine).collect();
    machines.into_iter().any(|machine| {
        let (ranks, cpus) = subscription(machine, cards);
        ranks > cpus
    })
}

fn bad(why: &'static str) -> DecodeError {
    DecodeError::new("text in the launcher's key-value space", why)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Result<Vec<u8>, DecodeError> {
    let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
    if !text.len().is_multiple_of(2) {
        return Err(bad("an odd number of hexadecimal digits"));
    }
    let pairs = text.as_bytes().chunks_exact(2);
    let bytes = pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?));
    bytes.collect::<Option<_>>().ok_or(bad("no hexadecimal digits"))
}

/// The fields of a text, if there are exactly so many.
fn fields<const N: usize>(text: &str) -> Result<[&str; N], DecodeError> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(bad("it is too long"));
    }
    let all: Vec<&str> = text.split(':').collect();
    all.try_into().map_err(|_| bad("another number of fields"))
}

fn number<T: TryFrom<u64>>(text: &str) -> Result<T, DecodeError> {
    let number = u64::from_str_radix(text, 16).map_err(|_| bad("no number"))?;
    T::try_from(number).map_err(|_| bad("a number out of range"))
}

impl Card {
    /// As a text for the key-value space.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut end = self.name.len().min(NAME_BYTES_MAX);
        while !self.name.is_char_boundary(end) {
            end -= 1;
        }
        let Self { node, machine, mask, cpus, online, name } = self;
        let name = hex(&name.as_bytes()[..end]);
        format!("{node:x}:{machine:x}:{mask:x}:{cpus:x}:{online:x}:{name}")
    }

    /// Reads what [`Card::encode`] wrote.
    ///
    /// # Errors
    /// Another text.
    pub fn decode(text: &str) -> Result<Self, DecodeError> {
        let [node, machine, mask, cpus, online, name] = fields(text)?;
        let name = String::from_utf8(from_hex(name)?).map_err(|_| bad("a name that is no text"))?;
        Ok(Self {
            node: number(node)?,
            machine: number(machine)?,
            mask: number(mask)?,
            cpus: number(cpus)?,
            online: number(online)?,
            name,
        })
    }
}

impl JobCard {
    /// As a text for the key-value space.
    #[must_use]
    pub fn encode(&self) -> String {
        let Self { key, epoch, version } = self;
        format!("{}:{epoch:x}:{}", hex(key), hex(version.as_bytes()))
    }

    /// Reads what [`JobCard::encode`] wrote.
    ///
    /// # Errors
    /// Another text.
    pub fn decode(text: &str) -> Result<Self, DecodeError> {
        let [key, epoch, version] = fields(text)?;
        let key = from_hex(key)?.try_into().map_err(|_| bad("a key of another length"))?;
        let version = String::from_utf8(from_hex(version)?).map_err(|_| bad("no version"))?;
        Ok(Self { key, epoch: number(epoch)?, version })
    }
}

/// Addresses as a text for the key-value space; those that do not fit are left out.
#[must_use]
pub fn encode_addresses(addresses: &[SocketAddr]) -> String {
    let mut text = String::new();
    for address in addresses.iter().take(ADDRESSES_MAX) {
        let one = address.to_string();
        if text.len() + one.len() < TEXT_BYTES_MAX {
            if !text.is_empty() {
                text.push(',');
            }
            text.push_str(&one);
        }
    }
    text
}

/// Reads what [`encode_addresses`] wrote.
///
/// # Errors
/// Another text.
pub fn decode_addresses(text: &str) -> Result<Vec<SocketAddr>, DecodeError> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(bad("it is too long"));
    }
    let parts = text.split(',').filter(|part| !part.is_empty());
    parts.map(|part| part.parse().map_err(|_| bad("no address"))).take(ADDRESSES_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(node: u64, machine: u64, mask: u64, cpus: u32) -> Card {
        Card { node, machine, mask, cpus, online: 8, name: format!("n{node}") }
    }

    #[test]
    fn texts_survive_and_others_are_refused() {
        let long = Card { name: "ü".repeat(99), ..card(u64::MAX, 1, 2, 3) };
        let text = long.encode();
        assert!(text.len() < TEXT_BYTES_MAX);
        let back = Card::decode(&text).unwrap();
        assert_eq!((back.node, back.name), (u64::MAX, "ü".repeat(32)));
        let job = JobCard { key: [7; KEY_BYTES], epoch: 99, version: "0.1.0".into() };
        assert_eq!(JobCard::decode(&job.encode()), Ok(job.clone()));
        let addresses: Vec<SocketAddr> =
            vec!["10.0.0.1:4000".parse().unwrap(), "[fe80::1]:70".parse().unwrap()];
        assert_eq!(decode_addresses(&encode_addresses(&addresses)), Ok(addresses));
        assert_eq!(decode_addresses(""), Ok(Vec::new()));
        // Every text that is cut or changed gives an error or another value, never a panic.
        for text in [text, job.encode(), "10.0.0.1:4000,x".into(), "é".repeat(2000)] {
            for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
                let cut = &text[..at];
                let changed = format!("{cut}\u{e9}:{}", &text[at..]);
                for text in [cut, &changed] {
                    let _ = (Card::decode(text), JobCard::decode(text), decode_addresses(text));
                }
            }
        }
        for text in ["", "1:2:3:4:5", "1:2:3:4:5:6:7", "1:2:3:100000000:5:", "1:2:3:4:5:f", "x:"] {
            assert!(Card::decode(text).is_err(), "{text}");
        }
        assert!(JobCard::decode("00:1:").is_err());
        assert!(decode_addresses(&"1.2.3.4:5,".repeat(200)).is_err());
    }

    #[test]
    fn hosts_come_in_the_order_of_their_first_ranks() {
        let cards = [card(9, 1, 0, 2), card(4, 1, 0, 2), card(9, 1, 0, 2)];
        let hosts = Hosts::of(&cards);
        assert_eq!((hosts.host_of, hosts.names), (vec![0, 1, 0], vec!["n9".into(), "n4".into()]));
    }

    #[test]
    fn ranks_that_are_bound_one_by_one_are_not_oversubscribed() {
        // Two "hosts" on one machine share its CPUs.
        let bound: Vec<_> = (0..4).map(|rank| card(rank % 2, 1, rank, 1)).collect();
        assert_eq!(subscription(1, &bound), (4, 4));
        assert!(!is_oversubscribed(&bound));
        let free: Vec<_> = (0..4).map(|_| card(0, 1, 7, 2)).collect();
        assert_eq!(subscription(1, &free), (4, 2));
        assert!(is_oversubscribed(&free));
        let many: Vec<_> = (0..4).map(|rank| card(0, 1, rank, 6)).collect();
        assert_eq!(subscription(1, &many), (4, 8), "no more than the machine has");
    }
}
