//! The line about a job that has not begun after a while: what it waits for, and for how long.

use super::Launcher;
use crate::text::count;
use crate::tuning::{AGENT_START_LIMIT, START_SILENCE};

/// Hosts that are named one by one.
const NAMED_MAX: usize = 8;

impl Launcher {
    /// What is done every second until the first rank starts: a long silence is explained once.
    pub(super) fn look_at_the_start(&mut self) {
        let quiet = self.run.started || self.run.start_explained || self.run.interrupted;
        if quiet || self.now() < START_SILENCE {
            return;
        }
        let agents = self.agents.all().iter().enumerate();
        let missing: Vec<u32> = agents
            .filter(|(_, agent)| !agent.is_up() && agent.child_runs)
            .map(|(host, _)| host as u32)
            .collect();
        let hosts: Vec<&str> = missing.iter().map(|host| self.agents.name(*host)).collect();
        let remote = missing.iter().filter(|host| self.agents.is_remote(**host));
        let mut remote: Vec<&str> = remote.map(|host| self.agents.name(*host)).collect();
        let servers = self.servers.not_up();
        remote.extend(servers.iter().filter_map(|(_, host)| *host));
        remote.dedup();
        let servers: Vec<String> = servers.into_iter().map(|(title, _)| title).collect();
        if let Some(line) = text(&hosts, &servers, &remote) {
            self.printer.notice(line);
            self.run.start_explained = true;
        }
    }
}

/// `hosts` have no agent yet, `servers` do not serve yet; `remote` can be asked by `--doctor`.
fn text(hosts: &[&str], servers: &[String], remote: &[&str]) -> Option<String> {
    let mut waits = Vec::new();
    match hosts {
        [] => {}
        [one] => waits.push(format!("the agent of {one}")),
        several => waits.push(format!("the agents of {}", named(several))),
    }
    if !servers.is_empty() {
        let servers: Vec<&str> = servers.iter().map(String::as_str).collect();
        waits.push(named(&servers));
    }
    if waits.is_empty() {
        return None;
    }
    let limit = match remote.is_empty() {
        true => String::new(),
        false => format!(
            " (a host that does not answer is waited for, {} s; ftmpiexec --doctor -hosts {} looks \
             for the cause)",
            AGENT_START_LIMIT.as_secs(),
            remote[..remote.len().min(NAMED_MAX)].join(",")
        ),
    };
    Some(format!("the job has not begun: it waits for {}{limit}", waits.join(" and ")))
}

fn named(names: &[&str]) -> String {
    let shown = names[..names.len().min(NAMED_MAX)].join(", ");
    match names.len().saturating_sub(NAMED_MAX) {
        0 => shown,
        more => format!("{shown} and {}", count(more, "other")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_start_names_what_it_waits_for() {
        assert_eq!(text(&[], &[], &[]), None);
        let here = text(&["localhost"], &[], &[]).unwrap();
        assert_eq!(here, "the job has not begun: it waits for the agent of localhost");
        let servers = ["the event-logger on store".to_owned()];
        let text = |hosts: &[&str]| text(hosts, &servers, &["b", "store"]).unwrap();
        assert_eq!(
            text(&["b"]),
            "the job has not begun: it waits for the agent of b and the event-logger on store (a host \
             that does not answer is waited for, 60 s; ftmpiexec --doctor -hosts b,store looks for the \
             cause)"
        );
        let many: Vec<String> = (0..1000).map(|number| format!("n{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(text(&many).contains("n6, n7 and 992 others and the event-logger"));
    }
}
