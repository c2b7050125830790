//! The user at the other end of a connection on this host.
//!
//! Every user of a host reaches its loopback addresses. The kernel lists whose socket each is
//! (`/proc/net/tcp`, proc(5)).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Whether the socket at `caller`, connected to `here`, is of this user or of the administrator.
pub(super) fn is_ours(caller: SocketAddr, here: SocketAddr) -> bool {
    let own = rustix::process::geteuid().as_raw();
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let mut tables = tables.iter().filter_map(|path| std::fs::read_to_string(path).ok());
    let owner = tables.find_map(|table| owner(&table, caller, here));
    owner.is_some_and(|owner| owner == own || owner == 0)
}

/// The owner of the socket that is `local` and has `remote` at its other end.
fn owner(table: &str, local: SocketAddr, remote: SocketAddr) -> Option<u32> {
    let same = |text: &str, address: SocketAddr| {
        parse(text)
            .is_some_and(|(ip, port)| ip == address.ip().to_canonical() && port == address.port())
    };
    table.lines().skip(1).find_map(|line| {
        let mut words = line.split_whitespace();
        let (mine, theirs) = (words.nth(1)?, words.next()?);
        let found = same(mine, local) && same(theirs, remote);
        // After the addresses: state, queues, timer, retransmissions.
        words.nth(4).filter(|_| found)?.parse().ok()
    })
}

/// `0100007F:1F90`: words of the address in the order of bytes of this machine.
fn parse(text: &str) -> Option<(IpAddr, u16)> {
    let (address, port) = text.split_once(':')?;
    let word = |at: usize| u32::from_str_radix(address.get(8 * at..8 * at + 8)?, 16).ok();
    let ip = match address.len() {
        8 => IpAddr::from(Ipv4Addr::from(word(0)?.to_ne_bytes())),
        32 => {
            let mut bytes = [0; 16];
            for (at, piece) in bytes.chunks_exact_mut(4).enumerate() {
                piece.copy_from_slice(&word(at)?.to_ne_bytes());
            }
            IpAddr::from(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some((ip.to_canonical(), u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_endian = "little")]
    #[test]
    fn the_owner_is_that_of_the_socket_with_these_ends() {
        let table = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:24B9 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 11
   1: 0100007F:24B9 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0 12
   2: 0100007F:D431 0100007F:24B9 01 00000000:00000000 00:00000000 00000000  1001        0 13
";
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let (caller, here) = (at("127.0.0.1:54321"), at("127.0.0.1:9401"));
        assert_eq!(owner(table, caller, here), Some(1001));
        assert_eq!(owner(table, here, caller), Some(1000));
        assert_eq!(owner(table, at("127.0.0.1:54322"), here), None);
        assert_eq!(parse("0000000000000000FFFF00000100007F:0050"), Some((caller.ip(), 80)));
        let loopback = (IpAddr::from(Ipv6Addr::LOCALHOST), 80);
        assert_eq!(parse("00000000000000000000000001000000:0050"), Some(loopback));
    }

    #[test]
    fn a_connection_of_this_process_is_ours() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let here = listener.local_addr().unwrap();
        let stream = std::net::TcpStream::connect(here).unwrap();
        assert!(is_ours(stream.local_addr().unwrap(), here));
        assert!(!is_ours(here, here), "there is no such connection");
    }
}
