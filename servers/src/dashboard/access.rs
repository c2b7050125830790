//! Who may see the dashboard. No input or output.
//!
//! | the page listens on | callers need |
//! | --- | --- |
//! | loopback | to be of the user of the job, and a `Host` that is loopback |
//! | another address | the token of the job |
//!
//! The `Host` is looked at because a site of the Internet may give its own name this address. The
//! token comes in the address once, then in a cookie; or as a bearer.
//!
//! Guarantees: tokens are compared in constant time. After the first visit the token is not in the
//! address any more, so no other site learns it from there. (A browser sends the cookie to every
//! port of this host: SECURITY.md says so.)

use std::net::IpAddr;

/// Who may see the pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// The user of the job, on this host.
    Loopback,
    /// Whoever has this token. The port tells the cookies of several jobs apart.
    Token(String, u16),
}

/// What a caller brings.
#[derive(Debug, Clone, Copy, Default)]
pub struct Caller<'a> {
    /// It is a process of this user, or of the administrator, on this host.
    pub is_ours: bool,
    /// The header `Host`.
    pub host: Option<&'a str>,
    /// The query of the address.
    pub query: Option<&'a str>,
    /// The header `Cookie`.
    pub cookie: Option<&'a str>,
    /// The header `Authorization`.
    pub authorization: Option<&'a str>,
}

/// The decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It gets what it asks for.
    Allowed,
    /// The token came in the address: it gets this cookie, and the same page without the token.
    Remember(String),
    /// It has no token, or a wrong one.
    NoToken,
    /// It was sent here by the name of another host.
    WrongHost,
    /// It is another user of this host.
    OtherUser,
}

impl Access {
    /// Of a page that listens there. `token`: for callers from other hosts.
    #[must_use]
    pub fn of(address: std::net::SocketAddr, token: Option<String>) -> Self {
        match token {
            Some(token) => Self::Token(token, address.port()),
            None => Self::Loopback,
        }
    }

    /// Decides about a caller.
    #[must_use]
    pub fn decide(&self, caller: Caller<'_>) -> Verdict {
        let Self::Token(token, port) = self else {
            return match (caller.is_ours, caller.host.is_some_and(is_loopback)) {
                (false, _) => Verdict::OtherUser,
                (true, false) => Verdict::WrongHost,
                (true, true) => Verdict::Allowed,
            };
        };
        let name = format!("ftmpi_{port}");
        let cookies = caller.cookie.into_iter().flat_map(|list| list.split(';'));
        let mut own = cookies.filter_map(|cookie| cookie.trim().split_once('='));
        let bearer = caller.authorization.and_then(|text| text.strip_prefix("Bearer "));
        if own.any(|(of, value)| of == name && same(value, token))
            || bearer.is_some_and(|value| same(value, token))
        {
            return Verdict::Allowed;
        }
        let words = caller.query.into_iter().flat_map(|query| query.split('&'));
        let mut given = words.filter_map(|word| word.strip_prefix("token="));
        match given.any(|value| same(value, token)) {
            true => Verdict::Remember(format!(
                "{name}={token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000"
            )),
            false => Verdict::NoToken,
        }
    }
}

/// Whether a `Host` is this host for nobody but itself.
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Compares in a time that tells nothing about the text.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    #[test]
    fn on_loopback_only_names_of_loopback_are_served() {
        let ours = Caller { is_ours: true, ..Caller::default() };
        let decide = |host| Access::Loopback.decide(Caller { host, ..ours });
        for host in ["localhost:9401", "127.0.0.1:9401", "127.0.0.2", "[::1]:80", "LOCALHOST"] {
            assert_eq!(decide(Some(host)), Verdict::Allowed, "{host}");
        }
        for host in ["evil.example", "localhost.evil.example:9401", "10.0.0.1:1", "[fe80::1]:1", ""]
        {
            assert_eq!(decide(Some(host)), Verdict::WrongHost, "{host}");
        }
        assert_eq!(decide(None), Verdict::WrongHost);
        let other = Caller { host: Some("localhost:9401"), ..Caller::default() };
        assert_eq!(Access::Loopback.decide(other), Verdict::OtherUser);
    }

    #[test]
    fn elsewhere_a_token_is_needed_and_remembered() {
        let access = Access::of("0.0.0.0:9401".parse().unwrap(), Some(TOKEN.into()));
        let none = Caller { host: Some("node1:9401"), ..Caller::default() };
        assert_eq!(access.decide(none), Verdict::NoToken);
        let query = format!("a=b&token={TOKEN}");
        let Verdict::Remember(cookie) = access.decide(Caller { query: Some(&query), ..none })
        else {
            panic!("the token was right");
        };
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"));
        let cookie = format!("x=y; {}", cookie.split(';').next().unwrap());
        let again = access.decide(Caller { cookie: Some(&cookie), ..none });
        assert_eq!(again, Verdict::Allowed);
        let bearer = format!("Bearer {TOKEN}");
        let scrape = access.decide(Caller { authorization: Some(&bearer), ..none });
        assert_eq!(scrape, Verdict::Allowed);
    }

    #[test]
    fn wrong_tokens_and_cookies_of_other_jobs_are_refused() {
        let access = Access::Token(TOKEN.into(), 9401);
        for query in ["token=", "token=0123456789abcdeg", "token=0123456789abcdef0", "tokens=x"] {
            let caller = Caller { query: Some(query), ..Caller::default() };
            assert_eq!(access.decide(caller), Verdict::NoToken, "{query}");
        }
        let other = format!("ftmpi_9402={TOKEN}");
        let caller = Caller { cookie: Some(&other), ..Caller::default() };
        assert_eq!(access.decide(caller), Verdict::NoToken);
    }
}
