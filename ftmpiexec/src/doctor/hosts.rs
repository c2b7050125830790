//! Other hosts: can they be reached, and is the same ftmpi there?

use super::Finding;
use crate::cli::{Cli, Part, Plan, Starter};
use crate::launcher::shell_word;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(20);

/// Asks every other host for its version, all at the same time.
pub fn look(cli: &Cli, parts: &[Part]) -> Vec<Finding> {
    const WHAT: &str = "hosts";
    if cli.hosts.is_none() && cli.machinefile.is_none() {
        return Vec::new();
    }
    // A plan needs a program; the hosts do not depend on it.
    let mut parts = parts.to_vec();
    for part in &mut parts {
        if part.command.is_empty() {
            part.command.push("true".into());
        }
    }
    let plan = match Plan::new(cli, &parts, Vec::new()) {
        Ok(plan) => plan,
        Err(e) => return vec![Finding::bad(WHAT, format!("{e:#}"))],
    };
    let asking: Vec<_> = plan
        .machines
        .iter()
        .map(|machine| {
            let (plan, name) = (plan.clone(), machine.name.clone());
            std::thread::spawn(move || ask(&plan, &name))
        })
        .collect();
    asking.into_iter().filter_map(|thread| thread.join().ok()).collect()
}

fn ask(plan: &Plan, name: &str) -> Finding {
    const WHAT: &str = "host";
    let Starter::Remote(words) = &plan.starter else {
        return Finding::good(WHAT, format!("{name}: its agent is started here"));
    };
    if !plan.is_remote(name) {
        return Finding::good(WHAT, format!("{name}: this one"));
    }
    let begin = Instant::now();
    let program = plan.remote_path.display().to_string();
    let child = Command::new(&words[0])
        .args(&words[1..])
        .args([name, &shell_word(&program), "--version"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(e) => {
            return Finding::bad(WHAT, format!("{name}: {} cannot be started: {e}", words[0]));
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
        return Finding::bad(WHAT, format!("{name}: no answer"));
    };
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let wanted = format!("ftmpiexec {}", env!("CARGO_PKG_VERSION"));
    if said == wanted {
        return Finding::good(
            WHAT,
            format!("{name}: reached in {} ms, {said}", begin.elapsed().as_millis()),
        );
    }
    if said.starts_with("ftmpiexec ") {
        return Finding::bad(
            WHAT,
            format!("{name}: it has {said}, here is {wanted}; install the same on both"),
        );
    }
    let error = String::from_utf8_lossy(&output.stderr);
    let last = error.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no answer");
    Finding::bad(
        WHAT,
        format!(
            "{name}: {last} (tried `{} {name} {program}`; ssh must work without a password, and \
             ftmpi must be at the same place, or name it with -remote-path)",
            words.join(" ")
        ),
    )
}
