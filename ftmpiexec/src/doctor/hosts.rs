//! Other hosts: can they be reached, is the same ftmpi there, and can they restore images of this
//! host?

use super::Finding;
use crate::cli::{Allocation, CommandLine, Plan, Starter};
use crate::host_limits::HostLimits;
use crate::restore_facts::{self, HostFacts, RestoreFacts};
use ftmpi_checkpoint::launch::StackLimit;
use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A host answers within this time, or counts as one that cannot be reached.
const LIMIT: Duration = Duration::from_secs(20);
/// What a finding about a host is called.
const HOST: &str = "host";

/// Asks every other host for its facts, all at the same time.
pub fn look(line: &CommandLine) -> Vec<Finding> {
    let placement = &line.cli.placement;
    let named = placement.hosts.is_some() || placement.machinefile.is_some();
    if !named && Allocation::current(placement.rmk).is_ok_and(|found| found.is_none()) {
        return Vec::new();
    }
    // A plan needs a program; the hosts do not depend on it.
    let mut line = line.clone();
    for part in &mut line.parts {
        if part.command.is_empty() {
            part.command.push("true".into());
        }
    }
    let plan = match Plan::new(&line) {
        Ok(plan) => plan,
        Err(error) => return vec![Finding::bad("hosts", error.to_string())],
    };
    let asking: Vec<_> = plan
        .machines
        .iter()
        .map(|machine| {
            let (plan, name) = (plan.clone(), machine.name.clone());
            std::thread::spawn(move || ask(&plan, &name))
        })
        .collect();
    asking.into_iter().filter_map(|thread| thread.join().ok()).flatten().collect()
}

fn ask(plan: &Plan, name: &str) -> Vec<Finding> {
    let command = [plan.remote_path.as_os_str(), restore_facts::OPTION.as_ref()];
    let Some(words) = plan.starter.words(&plan.target(name), &command) else {
        return vec![Finding::good(HOST, format!("{name}: its agent is started here"))];
    };
    if !plan.is_remote(name) {
        return vec![Finding::good(HOST, format!("{name}: this host"))];
    }
    let begin = Instant::now();
    let mut command = Command::new(&words[0]);
    for variable in plan.starter.hidden_variables() {
        command.env_remove(variable);
    }
    let child = command
        .args(&words[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(e) => {
            let text = format!("{name}: {} cannot be started: {e}", words[0].display());
            return vec![Finding::bad(HOST, text)];
        }
    };
    while begin.elapsed() < LIMIT {
        match child.try_wait() {
            Ok(None) => std::thread::sleep(Duration::from_millis(20)),
            _ => break,
        }
    }
    let _ = child.kill();
    let Ok(output) = child.wait_with_output() else {
        return vec![Finding::bad(HOST, format!("{name}: no answer"))];
    };
    if let Ok(there) = serde_json::from_slice::<HostFacts>(&output.stdout) {
        let here = HostFacts::of_this_host();
        let mut found = compare(name, &here.restore, &there.restore, begin.elapsed());
        if here.restore.version == there.restore.version {
            found.extend(compare_limits(name, plan, here.limits.as_ref(), there.limits.as_ref()));
        }
        return found;
    }
    let error = String::from_utf8_lossy(&output.stderr);
    let last = error.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no answer");
    vec![Finding::bad(
        HOST,
        format!(
            "{name}: {last} (tried `{}`); {}, and the same ftmpi must be at the same place: install it \
             there, or name it with --remote-path",
            words.join(OsStr::new(" ")).display(),
            match plan.starter {
                Starter::Srun(_) => "the node must be up",
                _ => "ssh must work without a password",
            }
        ),
    )]
}

/// What the answer of a host means for a job that has images on this host and on that one.
fn compare(name: &str, here: &RestoreFacts, there: &RestoreFacts, after: Duration) -> Vec<Finding> {
    if here.version != there.version {
        let text = format!(
            "{name}: it has ftmpi {}, this host has ftmpi {}; install the same on both",
            there.version, here.version
        );
        return vec![Finding::bad(HOST, text)];
    }
    let reached = format!("{name}: reached in {} ms, ftmpi {}", after.as_millis(), there.version);
    let (out, back) = (here.differences(there), there.differences(here));
    if out.is_empty() && back.is_empty() {
        let text = format!("{reached}; images of each host can be restored on the other");
        return vec![Finding::good(HOST, text)];
    }
    let mut found = vec![Finding::good(HOST, reached)];
    let remedy = "let ranks move only to hosts with the same instructions or more";
    if !out.is_empty() {
        let text = format!(
            "{name}: images of this host cannot be restored there: it has {}; {remedy}",
            out.join(" and ")
        );
        found.push(Finding::limited("restore", text));
    }
    if !back.is_empty() {
        let text = format!(
            "{name}: its images cannot be restored here: this host has {}; {remedy}",
            back.join(" and ")
        );
        found.push(Finding::limited("restore", text));
    }
    found
}

/// What the limits of a host mean for ranks that begin here and move there.
fn compare_limits(
    name: &str,
    plan: &Plan,
    here: Option<&HostLimits>,
    there: Option<&HostLimits>,
) -> Option<Finding> {
    let (here, there) = (here?, there?);
    let stack = StackLimit::current().map_or(0, |stack| stack.soft);
    let host = plan.placement.first().copied().unwrap_or(0);
    let ranks = plan.placement.iter().filter(|other| **other == host).count() as u64;
    let share = here.memory / ranks.max(1);
    let (obstacles, less) = (there.obstacles(here, stack, share), there.shortages(here));
    let is_spare = plan.machines.iter().any(|machine| machine.name == name && machine.spare);
    let kind = if is_spare { " (spare)" } else { "" };
    if obstacles.is_empty() && less.is_empty() {
        return None;
    }
    let text = match obstacles.is_empty() {
        true => format!(
            "{name}{kind}: it has less than this host: {}; a rank that needs more fails there",
            less.join(" and ")
        ),
        false => format!(
            "{name}{kind}: it cannot take a rank of this host: there is {}; raise it there, or name \
             another host",
            obstacles.join(" and ")
        ),
    };
    Some(Finding::limited("limits", text))
}

#[cfg(test)]
mod tests {
    use super::super::Grade;
    use super::*;
    use crate::restore_facts::made_up;

    #[test]
    fn a_host_with_other_limits_is_named_with_them() {
        let line = "ftmpiexec -n 4 -hosts a:4 ./p".split_whitespace().map(str::to_owned);
        let line = ftmpi_options::ftmpiexec::read(line.collect()).unwrap();
        let plan = Plan::new(&line).unwrap();
        let here = crate::host_limits::made_up();
        let look = |there: &HostLimits| compare_limits("n7", &plan, Some(&here), Some(there));
        assert!(look(&here).is_none());
        let less = look(&HostLimits { locked: Some(0), ..here.clone() }).unwrap();
        assert!(less.text.contains("less than this host") && less.grade == Grade::Limited);
        let hindered = look(&HostLimits { files: Some(300), ..here.clone() }).unwrap();
        assert!(hindered.text.contains("n7: it cannot take a rank"), "{}", hindered.text);
    }

    #[test]
    fn a_host_that_differs_is_named_with_what_differs() {
        let here = made_up(&["avx2", "avx512f"], "6.1");
        let look = |there: &RestoreFacts| compare("node7", &here, there, Duration::from_millis(3));
        let equal = look(&here);
        assert_eq!((equal.len(), equal[0].grade), (1, Grade::Good));
        assert!(equal[0].text.contains("can be restored on the other"), "{}", equal[0].text);
        assert_eq!(look(&made_up(&["avx2", "avx512f"], "6.8")).len(), 1, "another kernel");
        let back = look(&made_up(&["avx2", "avx512f", "sse4a"], "6.1"));
        assert!(back[1].text.contains("this host has no sse4a"), "{}", back[1].text);
        let other = look(&made_up(&["avx2"], "6.8"));
        assert_eq!((other.len(), other[1].grade), (2, Grade::Limited));
        for part in ["node7", "it has no avx512f", "same instructions or more"] {
            assert!(other[1].text.contains(part), "{part}: {}", other[1].text);
        }
        let old = RestoreFacts { version: "0.0.9".into(), ..here.clone() };
        assert_eq!(look(&old)[0].grade, Grade::Bad);
    }
}
