//! Which hosts are this one.

use socket2::{Domain, Socket, Type};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::path::Path;
use std::time::Duration;

/// Where the kernel lists the interfaces.
const INTERFACES: &str = "/sys/class/net";
/// An address that is nobody's, for documents (RFC 5737).
const SOMEWHERE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

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

/// Why an interface gives no address.
#[derive(Debug, thiserror::Error)]
pub enum InterfaceError {
    /// It is an address, of another host.
    #[error("{0} is no address of this host; write the name of an interface ({names})", names = interfaces())]
    Foreign(IpAddr),
    /// There is no such interface.
    #[error("there is no interface `{0}` on this host; write one of {names}, or an address of this host", names = interfaces())]
    Missing(String),
    /// The system does not give the address.
    #[error("the address of {0} is not known ({1}); write the address itself")]
    NoAddress(String, std::io::Error),
}

/// The address of an interface of this host, or an address of this host as it is.
pub fn address_of_interface(name: &str) -> Result<IpAddr, InterfaceError> {
    if let Ok(ip) = name.parse::<IpAddr>() {
        return match UdpSocket::bind((ip, 0)) {
            Ok(_) if !ip.is_unspecified() => Ok(ip),
            _ => Err(InterfaceError::Foreign(ip)),
        };
    }
    if name.contains('/') || !Path::new(INTERFACES).join(name).is_dir() {
        return Err(InterfaceError::Missing(name.to_owned()));
    }
    if name == "lo" {
        return Ok(Ipv4Addr::LOCALHOST.into());
    }
    // No packet is sent: the kernel takes an address of the interface, or, where the interface has
    // no network, of another one.
    let ask = || -> std::io::Result<IpAddr> {
        let routes = std::fs::read_to_string("/proc/net/route")?;
        if !routes.lines().any(|line| line.split_whitespace().next() == Some(name)) {
            return Err(std::io::ErrorKind::AddrNotAvailable.into());
        }
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
        socket.bind_device(Some(name.as_bytes()))?;
        socket.connect(&SocketAddr::from((SOMEWHERE, 9)).into())?;
        let own = socket.local_addr()?.as_socket().map(|address| address.ip());
        own.filter(|ip| !ip.is_unspecified())
            .ok_or_else(|| std::io::ErrorKind::AddrNotAvailable.into())
    };
    ask().map_err(|error| InterfaceError::NoAddress(name.to_owned(), error))
}

/// The interfaces of this host, for a message.
fn interfaces() -> String {
    let names = std::fs::read_dir(INTERFACES).into_iter().flatten().flatten();
    let mut names: Vec<_> =
        names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names.join(", ")
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
    fn an_interface_is_an_address_of_this_host() {
        let own = |name| address_of_interface(name).map_err(|error| error.to_string());
        assert_eq!(own("lo"), Ok(Ipv4Addr::LOCALHOST.into()));
        assert_eq!(own("127.0.0.1"), Ok(Ipv4Addr::LOCALHOST.into()));
        for (wrong, text) in [
            ("no-such-0", "there is no interface `no-such-0` on this host; write one of "),
            ("../lo", "there is no interface `../lo`"),
            ("192.0.2.1", "192.0.2.1 is no address of this host"),
            ("0.0.0.0", "0.0.0.0 is no address of this host"),
        ] {
            let error = own(wrong).unwrap_err();
            assert!(error.starts_with(text) && error.contains("lo"), "{error}");
        }
    }

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
