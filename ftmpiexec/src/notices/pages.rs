//! Sentences about the pages of `--metrics` and `--dashboard`.

use crate::page_process::{Ended, Page};
use std::net::SocketAddr;

/// The metrics of the job are served at this address.
pub fn metrics_at(address: SocketAddr) -> String {
    format!("metrics at http://{}/metrics", reached_at(address))
}

/// The dashboard of the job is at this address.
pub fn dashboard_at(address: SocketAddr, token: Option<&str>) -> String {
    let token = token.map_or(String::new(), |token| format!("?token={token}"));
    format!("dashboard at http://{}/{token}", reached_at(address))
}

/// Host and port for a browser: the name of this host, if a page listens on all its addresses.
fn reached_at(address: SocketAddr) -> String {
    let host = match address.ip().is_unspecified() {
        true => rustix::system::uname().nodename().to_string_lossy().into_owned(),
        false if address.is_ipv6() => format!("[{}]", address.ip()),
        false => address.ip().to_string(),
    };
    format!("{host}:{}", address.port())
}

/// The process of a page ended, and why.
pub fn page_ended(page: Page, ended: Ended, why: &str) -> String {
    let then = match ended {
        Ended::StartsAgain => "it is started again",
        Ended::ForGood => "the job goes on without it",
    };
    format!("{} ended ({why}); {then}", page.title())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_on_all_addresses_is_named_by_the_host() {
        let at = |address: &str| metrics_at(address.parse().unwrap());
        assert_eq!(at("127.0.0.1:9400"), "metrics at http://127.0.0.1:9400/metrics");
        assert_eq!(at("[::1]:9400"), "metrics at http://[::1]:9400/metrics");
        for everywhere in ["0.0.0.0:9400", "[::]:9400"] {
            let text = at(everywhere);
            assert!(!text.contains("0.0.0.0") && !text.contains("::"), "{text}");
            assert!(text.ends_with(":9400/metrics"), "{text}");
        }
    }
}
