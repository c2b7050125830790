//! Other hosts: can they be reached, is the same ftmpi there, and can they restore images of this
//! host?

use super::Finding;
use crate::cli::{Allocation, CommandLine, Plan, Starter};
use crate::host_limits::HostLimits;
use crate::restore_facts::{self, HostFacts, RestoreFacts};
use ftmpi_checkpoint::launch::StackLimit;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A host answers within this time, or counts as one that cannot be reached.
const LIMIT: Duration = Duration::from_secs(20);
/// A wait that is longer is explained.
const SILENCE: Duration = Duration::from_secs(3);
/// Between two looks whether a command has ended.
const LOOK: Duration = Duration::from_millis(20);
/// How long the end of the output of a command that has ended is waited for.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// What is kept of the output of a host: the shell there may print much.
const ANSWER_BYTES_MAX: usize = 1 << 20;
/// What a finding about a host is called.
const HOST: &str = "host";

/// Asks every other host for its facts, as many at the same time as agents are started. `say` gets
/// what is found of each host, in the order of the hosts.
pub fn look(line: &CommandLine, mut say: impl FnMut(Vec<Finding>)) {
    let placement = &line.cli.placement;
    let named = placement.hosts.is_some() || placement.machinefile.is_some();
    if !named && Allocation::current(placement.rmk).is_ok_and(|found| found.is_none()) {
        return;
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
        Err(error) => return say(vec![Finding::bad("hosts", error.to_string())]),
    };
    let names: Vec<&str> = plan.machines.iter().map(|machine| machine.name.as_str()).collect();
    let next = AtomicUsize::new(0);
    let (tell, told) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..names.len().min(plan.launch_at_once as usize) {
            let (tell, next, names, plan) = (tell.clone(), &next, &names, &plan);
            scope.spawn(move || {
                while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let _ = tell.send((*name, ask(plan, name)));
                }
            });
        }
        drop(tell);
        say_in_order(&names, &told, say);
    });
}

/// Says what is found of each host when it and all hosts before it have answered. A long silence is
/// explained.
fn say_in_order(
    names: &[&str],
    told: &mpsc::Receiver<(&str, Vec<Finding>)>,
    mut say: impl FnMut(Vec<Finding>),
) {
    let mut found: HashMap<&str, Vec<Finding>> = HashMap::new();
    let (mut said, mut explained) = (0, false);
    while said < names.len() {
        match told.recv_timeout(SILENCE) {
            Ok((name, findings)) => {
                found.insert(name, findings);
            }
            Err(RecvTimeoutError::Timeout) if !explained => {
                explained = true;
                let missing: Vec<&str> = names[said..]
                    .iter()
                    .filter(|name| !found.contains_key(*name))
                    .copied()
                    .collect();
                eprintln!(
                    "ftmpiexec: waiting for {}, {} s for each at the most",
                    missing.join(", "),
                    LIMIT.as_secs()
                );
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        while let Some(findings) = names.get(said).and_then(|name| found.remove(name)) {
            say(findings);
            said += 1;
        }
    }
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
    let answer = match answer_of(command.args(&words[1..])) {
        Ok(answer) => answer,
        Err(e) => {
            let text = format!("{name}: {} cannot be started: {e}", words[0].display());
            return vec![Finding::bad(HOST, text)];
        }
    };
    if let Some(there) = facts(&answer.output) {
        let here = HostFacts::of_this_host();
        let mut found = compare(name, &here.restore, &there.restore, begin.elapsed());
        if here.restore.version == there.restore.version {
            found.extend(compare_limits(name, plan, here.limits.as_ref(), there.limits.as_ref()));
        }
        return found;
    }
    let error = String::from_utf8_lossy(&answer.error);
    let none = match answer.in_time {
        true => "no answer".to_owned(),
        false => format!("no answer within {} s", LIMIT.as_secs()),
    };
    let last = error.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or(&none);
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

/// The facts in what a host printed. Its shell may have printed something before them.
fn facts(output: &[u8]) -> Option<HostFacts> {
    output.rsplit(|byte| *byte == b'\n').find_map(|line| serde_json::from_slice(line).ok())
}

/// What a command printed.
struct Answer {
    output: Vec<u8>,
    error: Vec<u8>,
    /// It ended by itself.
    in_time: bool,
}

/// Runs a command, for [`LIMIT`] at the most. A process that it leaves behind may hold its output
/// open; nobody waits for that process.
fn answer_of(command: &mut Command) -> std::io::Result<Answer> {
    let begin = Instant::now();
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (output, error) =
        (Gathered::begin(child.stdout.take()), Gathered::begin(child.stderr.take()));
    let mut in_time = false;
    while !in_time && begin.elapsed() < LIMIT {
        std::thread::sleep(LOOK);
        in_time = !matches!(child.try_wait(), Ok(None));
    }
    let _ = child.kill();
    let _ = child.wait();
    Ok(Answer { output: output.end(), error: error.end(), in_time })
}

/// What comes out of a pipe.
struct Gathered(Arc<Mutex<Vec<u8>>>, mpsc::Receiver<()>);

impl Gathered {
    fn begin(pipe: Option<impl Read + Send + 'static>) -> Self {
        let (text, (ended, end)) = (Arc::new(Mutex::new(Vec::new())), mpsc::channel());
        let into = text.clone();
        std::thread::spawn(move || {
            let (mut pipe, mut piece) = (pipe, [0; 4096]);
            while let Some(Ok(bytes @ 1..)) = pipe.as_mut().map(|pipe| pipe.read(&mut piece)) {
                let mut text = into.lock().unwrap_or_else(PoisonError::into_inner);
                let room = ANSWER_BYTES_MAX.saturating_sub(text.len());
                text.extend_from_slice(&piece[..bytes.min(room)]);
            }
            let _ = ended.send(());
        });
        Self(text, end)
    }

    /// What came until the pipe ended, or until now.
    fn end(self) -> Vec<u8> {
        let _ = self.1.recv_timeout(LAST_WORDS);
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
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
    fn a_process_that_is_left_behind_and_a_talkative_shell_hide_no_answer() {
        let begin = Instant::now();
        let facts_here = serde_json::to_string(&HostFacts::of_this_host()).unwrap();
        let script =
            format!("sleep 300 & echo $! >&2; echo welcome; echo '{facts_here}'; echo bye");
        let answer = answer_of(Command::new("sh").args(["-c", &script])).unwrap();
        let left = String::from_utf8(answer.error.clone()).unwrap();
        let _ = Command::new("kill").arg(left.trim()).status();
        assert!(answer.in_time && begin.elapsed() < LIMIT, "{:?}", begin.elapsed());
        assert!(facts(&answer.output).is_some(), "{}", String::from_utf8_lossy(&answer.output));
        assert!(facts(b"welcome\n").is_none());
    }

    #[test]
    fn hosts_are_named_in_their_order() {
        let (tell, told) = mpsc::channel();
        for name in ["c", "a", "b"] {
            tell.send((name, vec![Finding::good(HOST, name)])).unwrap();
        }
        drop(tell);
        let mut said = Vec::new();
        say_in_order(&["a", "b", "c"], &told, |found| said.push(found[0].text.clone()));
        assert_eq!(said, ["a", "b", "c"]);
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
