//! Which hosts are this one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::time::Duration;

/// Whether this name means the host on which this process runs.
pub fn is_here(host: &str) -> bool {
    let loopback = |ip: IpAddr| ip.to_canonical().is_loopback();
    if host == "localhost" || host.parse().is_ok_and(loopback) {
        return true;
    }
    let uname = rustix::system::uname();
    let own = uname.nodename().to_string_lossy();
    let short = |name: &str| name.split('.').next().unwrap_or("").to_owned();
    let is_name = !host.contains(':') && host.parse::<IpAddr>().is_err();
    if host == own || (is_name && short(host) == short(&own)) {
        return true;
    }
    // A packet to this host has the same address at both ends.
    let target = target(host).map(|address| address.ip());
    target.is_some() && target == own_address_towards(host)
}

/// The same within a time limit; `None`: the network did not say who that is. A resolver may take
/// half a minute.
pub fn is_here_within(host: &str, limit: Duration) -> Option<bool> {
    let (answer, answered) = std::sync::mpsc::channel();
    let name = host.to_owned();
    std::thread::spawn(move || answer.send(is_here(&name)));
    answered.recv_timeout(limit).ok()
}

/// The address of this host on the way to another one.
pub fn own_address_towards(host: &str) -> Option<IpAddr> {
    let target = target(host)?;
    let any: IpAddr = match target {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    // No packet is sent: the routing table answers.
    socket.connect(target).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// Whether a host has addresses of IPv6 only.
pub fn is_ipv6_only(host: &str) -> bool {
    target(host).is_some_and(|address| address.is_ipv6())
}

/// An address of a host, of IPv4 if it has one.
fn target(host: &str) -> Option<SocketAddr> {
    let found: Vec<SocketAddr> = (host, 9).to_socket_addrs().ok()?.collect();
    found.iter().find(|address| address.is_ipv4()).or(found.first()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_is_known_by_several_names() {
        assert!(is_here("localhost"));
        assert_eq!(is_here_within("localhost", Duration::from_secs(9)), Some(true));
        for address in ["127.0.0.1", "127.9.8.7", "::1", "::ffff:127.0.0.1"] {
            assert!(is_here(address), "{address}");
        }
        // An address that is nobody's, for documents.
        assert!(!is_here("2001:db8::7"));
        assert!(is_here(&rustix::system::uname().nodename().to_string_lossy()));
        assert!(!is_here("no-such-host.invalid"));
    }
}
