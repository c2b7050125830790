//! Hosts, their slots, and the servers on them, as `-hosts` and machine files name them.

use super::errors::MachineError;
use ftmpi_options::os_text::BYTE_ORDER_MARK;
use ftmpi_wire::Rank;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::Ipv6Addr;

/// Which ranks a server serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ServerDuty {
    /// All ranks that no other line names.
    Rest,
    /// These ranks.
    Ranks(BTreeSet<u32>),
}

impl ServerDuty {
    /// Whether the list of ranks has this rank.
    pub fn claims(&self, rank: Rank) -> bool {
        matches!(self, Self::Ranks(ranks) if ranks.contains(&rank.0))
    }
}

/// One host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Ranks on this host before the next host is used; 0: no rank.
    pub slots: Option<u32>,
    /// Event logger.
    pub event_logger: Option<ServerDuty>,
    /// Checkpoint server.
    pub checkpoint_server: Option<ServerDuty>,
}

/// Reads `-hosts a,b:2`.
///
/// # Errors
/// What is wrong, in one line.
pub fn parse_list(list: &str) -> Result<Vec<Machine>, MachineError> {
    list.split(',')
        .filter(|part| !part.trim().is_empty())
        .map(|part| parse_host(part.trim()))
        .collect()
}

/// Reads a machine file.
///
/// # Errors
/// What is wrong and in which line.
pub fn parse_file(text: &str) -> Result<Vec<Machine>, MachineError> {
    let mut machines = Vec::new();
    let text = text.trim_start_matches(BYTE_ORDER_MARK);
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let machine = parse_line(line)
            .map_err(|what| MachineError::Line { number: number + 1, what: Box::new(what) })?;
        machines.push(machine);
    }
    if machines.is_empty() {
        return Err(MachineError::Empty);
    }
    Ok(machines)
}

fn parse_line(line: &str) -> Result<Machine, MachineError> {
    let mut words = line.split_whitespace();
    let mut machine = parse_host(words.next().unwrap_or(""))?;
    for word in words {
        let (key, value) = match word.split_once('=') {
            Some((key, value)) => (key, Some(value)),
            None => (word, None),
        };
        let duty = || value.map_or(Ok(ServerDuty::Rest), |v| parse_ranks(v).map(ServerDuty::Ranks));
        match key {
            "event-logger" => machine.event_logger = Some(duty()?),
            "checkpoint-server" => machine.checkpoint_server = Some(duty()?),
            "slots" => {
                let count = value.and_then(|v| v.parse().ok());
                let wrong = || MachineError::Slots(word.to_owned());
                machine.slots = Some(count.ok_or_else(wrong)?);
            }
            // Attributes that Hydra knows.
            "user" | "ifname" | "binding" | "max_slots" | "max-slots" => {}
            _ => return Err(MachineError::Word(word.to_owned())),
        }
    }
    Ok(machine)
}

fn parse_host(text: &str) -> Result<Machine, MachineError> {
    let (name, slots) = match split_slots(text) {
        Some((name, slots)) => {
            let count = slots.parse().map_err(|_| MachineError::Slots(text.to_owned()))?;
            (name, Some(count))
        }
        None => (text, None),
    };
    // An address of IPv6 is the name of its host without the brackets.
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let name = bare.unwrap_or(name);
    if (bare.is_some() || name.contains(':')) && !is_ipv6(name) {
        return Err(MachineError::Name(text.to_owned()));
    }
    let strange = |c: char| !(c.is_ascii_alphanumeric() || "._-@%:".contains(c));
    // A name that begins with a dash would be an option of ssh.
    if name.is_empty() || name.starts_with('-') || name.contains(strange) {
        return Err(MachineError::Name(text.to_owned()));
    }
    Ok(Machine { name: name.into(), slots, event_logger: None, checkpoint_server: None })
}

/// Host and slots of `host:4` and `[::1]:4`. An address of IPv6 without brackets has no slots.
fn split_slots(text: &str) -> Option<(&str, &str)> {
    let (name, slots) = text.rsplit_once(':')?;
    let is_part_of_address = is_ipv6(text) || (text.starts_with('[') && !name.ends_with(']'));
    (!is_part_of_address).then_some((name, slots))
}

/// Whether this is an address of IPv6, perhaps with the interface that leads to it.
fn is_ipv6(text: &str) -> bool {
    let address = text.split_once('%').map_or(text, |(address, _)| address);
    address.parse::<Ipv6Addr>().is_ok()
}

/// `0-3,6`
fn parse_ranks(text: &str) -> Result<BTreeSet<u32>, MachineError> {
    let bad = || MachineError::Ranks(text.to_owned());
    let mut ranks = BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: u32 = first.parse().map_err(|_| bad())?;
        let last: u32 = last.parse().map_err(|_| bad())?;
        if first > last || last - first > 1_000_000 {
            return Err(bad());
        }
        ranks.extend(first..=last);
    }
    Ok(ranks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_slots_and_servers() {
        let machines = parse_file(
            "# cluster\nnode1:4\nnode2 slots=2 user=me\n\nstore:0 event-logger=0-2,5 checkpoint-server # x",
        )
        .unwrap();
        assert_eq!(machines.len(), 3);
        assert_eq!(machines[0].slots, Some(4));
        assert_eq!(machines[1].slots, Some(2));
        assert_eq!(machines[2].slots, Some(0));
        let duty = machines[2].event_logger.clone().unwrap();
        assert!(duty.claims(Rank(5)) && duty.claims(Rank(1)) && !duty.claims(Rank(3)));
        assert_eq!(machines[2].checkpoint_server, Some(ServerDuty::Rest));
        assert_eq!(parse_list("a,b:2").unwrap()[1].slots, Some(2));
    }

    #[test]
    fn addresses_of_ipv6_name_hosts() {
        let read = |list: &str| {
            let machines = parse_list(list).unwrap();
            machines.into_iter().map(|m| (m.name, m.slots)).collect::<Vec<_>>()
        };
        let host = |name: &str, slots| (name.to_owned(), slots);
        assert_eq!(
            read("::1,[::1]:2,[fe80::2%eth0],fe80::2%eth0,2001:db8::7,1.2.3.4:5"),
            [
                host("::1", None),
                host("::1", Some(2)),
                host("fe80::2%eth0", None),
                host("fe80::2%eth0", None),
                host("2001:db8::7", None),
                host("1.2.3.4", Some(5)),
            ]
        );
        for wrong in ["[::1", "::1]", "[node]", "[::1]2", "[::1]:", "a:b:2", "[]:2", "[::1]:x"] {
            assert!(parse_list(wrong).is_err(), "{wrong}");
        }
        let with_mark = parse_file("\u{feff}localhost:2\r\nb\r\n").unwrap();
        assert_eq!((with_mark[0].name.as_str(), with_mark[0].slots), ("localhost", Some(2)));
        assert_eq!(with_mark[1].name, "b");
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        assert!(parse_file("a\nb event-loger").unwrap_err().to_string().contains("line 2"));
        assert!(parse_file("# nothing").unwrap_err().to_string().contains("no host"));
        assert!(parse_list("-oProxyCommand=x").is_err());
        assert!(parse_list("a:x").is_err());
        assert!(parse_file("a event-logger=5-1").is_err());
    }
}
