//! Hosts, their slots, and the servers on them, as `-hosts` and machine files name them.

use super::errors::MachineError;
use crate::machine::{Machine, ServerDuty};
use ftmpi_options::os_text::BYTE_ORDER_MARK;
use std::collections::BTreeSet;
use std::net::Ipv6Addr;

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
            "slots" => machine.slots = Some(number(word, value)?),
            "max_slots" | "max-slots" => machine.max_slots = Some(number(word, value)?),
            "spare" if value.is_none() => machine.spare = true,
            "switch" => machine.switch = Some(name(word, value)?),
            "user" => machine.user = Some(name(word, value)?),
            // Attributes that Hydra knows.
            "ifname" => return Err(MachineError::Interface(word.to_owned())),
            "binding" => return Err(MachineError::Binding(word.to_owned())),
            _ => return Err(MachineError::Word(word.to_owned())),
        }
    }
    if let Some(most) = machine.max_slots
        && most < machine.slots.unwrap_or(1).max(1)
    {
        return Err(MachineError::MaxSlots { most, slots: machine.slots.unwrap_or(1) });
    }
    Ok(machine)
}

fn number(word: &str, value: Option<&str>) -> Result<u32, MachineError> {
    value.and_then(|value| value.parse().ok()).ok_or_else(|| MachineError::Slots(word.to_owned()))
}

/// The name of a switch or a user. One that begins with a dash would be an option of ssh.
fn name(word: &str, value: Option<&str>) -> Result<String, MachineError> {
    let usual = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let is_name =
        |name: &&str| !name.is_empty() && !name.starts_with('-') && name.chars().all(usual);
    let name = value.filter(is_name).ok_or_else(|| MachineError::Value(word.to_owned()))?;
    Ok(name.to_owned())
}

fn parse_host(text: &str) -> Result<Machine, MachineError> {
    let (user, host) = match text.split_once('@') {
        Some((user, host)) => (Some(self::name(text, Some(user))?), host),
        None => (None, text),
    };
    let (name, slots) = match split_slots(host) {
        Some((name, slots)) => {
            let count = slots.parse().map_err(|_| MachineError::Slots(text.to_owned()))?;
            (name, Some(count))
        }
        None => (host, None),
    };
    // An address of IPv6 is the name of its host without the brackets.
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let name = bare.unwrap_or(name);
    if (bare.is_some() || name.contains(':')) && !is_ipv6(name) {
        return Err(MachineError::Name(text.to_owned()));
    }
    let strange = |c: char| !(c.is_ascii_alphanumeric() || "._-%:".contains(c));
    // A name that begins with a dash would be an option of ssh.
    if name.is_empty() || name.starts_with('-') || name.contains(strange) {
        return Err(MachineError::Name(text.to_owned()));
    }
    Ok(Machine { user, ..Machine::new(name.into(), slots) })
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
///
/// # Errors
/// It is no list of ranks.
pub(super) fn parse_ranks(text: &str) -> Result<BTreeSet<u32>, MachineError> {
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
    use ftmpi_wire::Rank;

    #[test]
    fn hosts_slots_and_servers() {
        let machines = parse_file(
            "# cluster\nnode1:4\nnode2 slots=2 user=me max_slots=3 switch=s1\n\nstore:0 event-logger=0-2,5 checkpoint-server # x",
        )
        .unwrap();
        assert_eq!(machines.len(), 3);
        assert_eq!(machines[0].slots, Some(4));
        assert_eq!(machines[1].slots, Some(2));
        assert_eq!((machines[1].user.as_deref(), machines[1].max_slots), (Some("me"), Some(3)));
        assert_eq!(machines[1].switch.as_deref(), Some("s1"));
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
    fn spares_and_users() {
        let machines = parse_file("a:2\nme@b:2 spare\n[::1]:3 user=you\nd:0 spare").unwrap();
        assert_eq!((machines[1].name.as_str(), machines[1].user.as_deref()), ("b", Some("me")));
        let slots: Vec<u32> = machines.iter().map(|m| m.slots_at_start(None)).collect();
        assert_eq!(slots, [2, 0, 3, 0]);
        assert!(machines[1].spare && machines[3].spare && !machines[0].spare);
        assert_eq!(machines[2].user.as_deref(), Some("you"));
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        assert!(parse_file("a\nb event-loger").unwrap_err().to_string().contains("line 2"));
        assert!(parse_file("# nothing").unwrap_err().to_string().contains("no host"));
        assert!(parse_list("-oProxyCommand=x").is_err());
        assert!(parse_list("a:x").is_err());
        assert!(parse_file("a event-logger=5-1").is_err());
        let text = |line: &str| parse_file(line).unwrap_err().to_string();
        assert!(text("a ifname=eth0").contains("--interface"));
        assert!(text("a binding=core").contains("--bind-to"));
        assert!(text("a:4 max_slots=2").contains("4"));
        for wrong in ["a spare=yes", "a switch", "a user=-x", "a user=", "-x@a", "a switch=a/b"] {
            assert!(parse_file(wrong).is_err(), "{wrong}");
        }
    }
}
