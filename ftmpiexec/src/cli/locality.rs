//! Which hosts are this one.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};

/// Whether this name means the host on which this process runs.
pub fn is_here(host: &str) -> bool {
    if host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback()) {
        return true;
    }
    let uname = rustix::system::uname();
    let own = uname.nodename().to_string_lossy();
    let short = |name: &str| name.split('.').next().unwrap_or("").to_owned();
    if host == own || (short(host) == short(&own) && host.parse::<IpAddr>().is_err()) {
        return true;
    }
    // A packet to this host has the same address at both ends.
    let target = ipv4(host).map(|address| address.ip());
    target.is_some() && target == own_address_towards(host)
}

/// The address of this host on the way to another one.
pub fn own_address_towards(host: &str) -> Option<IpAddr> {
    let target = ipv4(host)?;
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    // No packet is sent: the routing table answers.
    socket.connect(target).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

fn ipv4(host: &str) -> Option<SocketAddr> {
    (host, 9).to_socket_addrs().ok()?.find(SocketAddr::is_ipv4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_is_known_by_several_names() {
        assert!(is_here("localhost"));
        assert!(is_here("127.0.0.1"));
        assert!(is_here(&rustix::system::uname().nodename().to_string_lossy()));
        assert!(!is_here("no-such-host.invalid"));
    }
}
