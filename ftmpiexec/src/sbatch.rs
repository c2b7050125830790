//! `ftmpiexec sbatch`: prints or submits a script for Slurm that puts its job back into the queue
//! until the program has ended.
//!
//! Guarantees: the script is printed only if its command line is a good one. A job that the user
//! cancels does not come back. A job that makes no new image ends with a line
//! ([`crate::job_dir::continuations`]).

use crate::shell::shell_word;
use anyhow::{Context, bail};
use ftmpi_options::ftmpiexec::{Answer, CommandLine, read};
use ftmpi_options::os_text::decode;
use ftmpi_options::sbatch::{SbatchLine, divide};
use ftmpi_options::terminal;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::process::{Command, ExitCode, Stdio};

/// What stands in every script, unless the user says otherwise: the name of the option, and the
/// line. The signal follows.
const ALWAYS: &[(&str, &str)] =
    &[("requeue", "--requeue"), ("open-mode", "--open-mode=append"), ("no-kill", "--no-kill")];
/// When the job gets SIGTERM, in seconds before its limit: at most a third of a short limit. (Slurm
/// may send it a minute earlier, and at once if the limit is shorter.)
const WARNING: u64 = 180;
const PART_OF_LIMIT: u64 = 3;

/// What follows the command: what its exit code means.
const END: &str = r#"child=$!
# Slurm sends SIGTERM before the limit: ftmpiexec takes a last image of every rank and ends with 75.
trap 'kill -TERM $child' TERM
wait $child
code=$?
# A signal interrupts `wait` while the job still runs.
while kill -0 $child 2>/dev/null; do
    wait $child
    code=$?
done
if [ $code -eq 75 ]; then
    # A busy controller may not answer at once. A job that was cancelled is no longer RUNNING, and does not come back.
    for attempt in 1 2 3 4 5 6 7 8; do
        if state=$(squeue -h -j "$SLURM_JOB_ID" -o %T); then
            [ "$state" = RUNNING ] || exit $code
            scontrol requeue "$SLURM_JOB_ID" && exit $code
        fi
        sleep 4
    done
    echo "ftmpiexec: Slurm did not put the job back into its queue; to go on: scontrol requeue $SLURM_JOB_ID" >&2
elif [ $code -eq 0 ] && [ -z "$FTMPI_JOB_DIR" ]; then
    rm -rf "$directory"
fi
exit $code
"#;

/// Runs with the words behind `ftmpiexec sbatch`.
///
/// # Errors
/// The script cannot be printed or submitted.
pub fn run(words: Vec<String>) -> anyhow::Result<ExitCode> {
    if words.is_empty() || matches!(words[0].as_str(), "-h" | "--help" | "-help") {
        terminal::print(
            "ftmpiexec sbatch [options of sbatch] [--submit] [options of ftmpiexec] program \
             [arguments]\n\nPrints a script for Slurm's sbatch, or submits it (--submit). The job \
             goes back into the queue when its time is over, and goes on from its last images.\n",
        );
        return Ok(ExitCode::SUCCESS);
    }
    let line = divide(words)?;
    let whole = std::iter::once("ftmpiexec".to_owned()).chain(line.command.iter().cloned());
    let parsed = match read(whole.collect()) {
        Ok(parsed) => parsed,
        Err(Answer::Help(text)) => {
            terminal::print(&text);
            return Ok(ExitCode::SUCCESS);
        }
        Err(Answer::Wrong(error)) => bail!("{error}"),
    };
    if parsed.gave("restart") {
        bail!("--restart: the script continues the job by itself; write the program instead");
    }
    if parsed.parts.iter().any(|part| part.command.is_empty()) {
        bail!("which program? write for example: ftmpiexec sbatch -N 2 -t 1:00:00 ./prog");
    }
    let own = std::env::current_exe().context("finding this program")?;
    let script = script(&line, &parsed, own.as_os_str());
    if !line.submit {
        std::io::stdout().write_all(&script)?;
        return Ok(ExitCode::SUCCESS);
    }
    let sbatch = Command::new("sbatch").stdin(Stdio::piped()).spawn();
    let mut sbatch =
        sbatch.context("sbatch cannot be called; without --submit the script is printed")?;
    sbatch.stdin.take().context("no way to sbatch")?.write_all(&script)?;
    let code = sbatch.wait()?.code().unwrap_or(1);
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

/// The whole script.
fn script(line: &SbatchLine, parsed: &CommandLine, own: &std::ffi::OsStr) -> Vec<u8> {
    let mut text =
        b"#!/bin/bash\n# Written by ftmpiexec sbatch. Each run continues where the last \
                     one stopped, until the program has ended.\n"
            .to_vec();
    for option in &line.options {
        text.extend(format!("#SBATCH {option}\n").bytes());
    }
    let is_given = |name: &str| {
        line.options.iter().any(|option| {
            let long = option.trim_start_matches("--");
            long == name || long.split('=').next() == Some(name)
        })
    };
    for (name, option) in ALWAYS {
        if !is_given(name) {
            text.extend(format!("#SBATCH {option}\n").bytes());
        }
    }
    let limit = line.options.iter().find_map(|option| option.strip_prefix("--time="));
    let limit = limit.and_then(limit_in_seconds).unwrap_or(u64::MAX);
    let warning = WARNING.min(limit / PART_OF_LIMIT).max(1);
    if !is_given("signal") {
        text.extend(format!("#SBATCH --signal=B:TERM@{warning}\n").bytes());
    }
    text.extend(
        b"\n# It keeps events and images between two runs: on a file system of all nodes.\n",
    );
    let mut command = shell_word(own);
    match &parsed.cli.batch.job_dir {
        Some(directory) => {
            text.extend(b"FTMPI_JOB_DIR=");
            text.extend(shell_word(directory.as_os_str()).into_vec());
            text.extend(b"\ndirectory=$FTMPI_JOB_DIR\n");
        }
        None => {
            text.extend(b"directory=${FTMPI_JOB_DIR:-$SLURM_SUBMIT_DIR/ftmpi-job-$SLURM_JOB_ID}\n");
            command.push(" --job-dir \"$directory\"");
        }
    }
    let grace = format!(" --grace {}s", (warning * 2 / 3).max(1));
    for (name, option) in [("auto_restart", " --auto-restart"), ("grace", grace.as_str())] {
        if !parsed.gave(name) {
            command.push(option);
        }
    }
    for word in &line.command {
        command.push(" ");
        command.push(shell_word(&decode(word)));
    }
    text.extend(command.into_vec());
    text.extend(b" &\n");
    text.extend(END.bytes());
    text
}

/// A time limit as Slurm understands it: minutes, minutes:seconds, hours:minutes:seconds, or days-
/// and hours, which minutes and seconds may follow. `None`: there is no limit, or no such text.
fn limit_in_seconds(text: &str) -> Option<u64> {
    let (days, rest) = match text.split_once('-') {
        Some((days, rest)) => (Some(days.parse::<u64>().ok()?), rest),
        None => (None, text),
    };
    let parts: Vec<u64> = rest.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [hours, minutes, seconds] = match (days.is_some(), parts.as_slice()) {
        (true, [h]) => [*h, 0, 0],
        (true, [h, m]) => [*h, *m, 0],
        (_, [h, m, s]) => [*h, *m, *s],
        (false, [m, s]) => [0, *m, *s],
        (false, [m]) => [0, *m, 0],
        _ => return None,
    };
    let days = days.unwrap_or(0).checked_mul(24)?;
    let minutes = days.checked_add(hours)?.checked_mul(60)?.checked_add(minutes)?;
    minutes.checked_mul(60)?.checked_add(seconds).filter(|limit| *limit > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_limit_leaves_time_to_run() {
        for (time, signal, grace) in [
            ("10", 180, 120),
            ("4:00:00", 180, 120),
            ("1-0", 180, 120),
            ("3", 60, 40),
            ("0:30", 10, 6),
            ("UNLIMITED", 180, 120),
        ] {
            let text = of(&format!("-t {time} ./prog"));
            assert!(text.contains(&format!("#SBATCH --signal=B:TERM@{signal}\n")), "{text}");
            assert!(text.contains(&format!(" --grace {grace}s ")), "{text}");
        }
        assert_eq!(limit_in_seconds("1-02:03:04"), Some(93784));
        for none in ["0", "", "a", "1:2:3:4", "1-", "-1"] {
            assert_eq!(limit_in_seconds(none), None, "{none}");
        }
    }

    #[test]
    fn what_the_script_says_anyway_may_be_said() {
        let text = of("--requeue -k -N 2 ./prog");
        assert_eq!(text.matches("--requeue\n").count(), 1, "{text}");
        assert_eq!(text.matches("--no-kill\n").count(), 1, "{text}");
    }

    fn of(words: &str) -> String {
        let line = divide(words.split_whitespace().map(str::to_owned).collect()).unwrap();
        let whole = std::iter::once("ftmpiexec".to_owned()).chain(line.command.iter().cloned());
        let parsed = read(whole.collect()).unwrap();
        String::from_utf8(script(&line, &parsed, "/opt/f t/ftmpiexec".as_ref())).unwrap()
    }

    #[test]
    fn the_script_begins_and_continues_the_job() {
        let text = of("-N 2 -t 10 --protocol causal ./prog a$b");
        for line in [
            "#SBATCH --nodes=2",
            "#SBATCH --time=10",
            "#SBATCH --requeue",
            "#SBATCH --signal=B:TERM@180",
            "'/opt/f t/ftmpiexec' --job-dir \"$directory\" --auto-restart --grace 120s --protocol \
             causal ./prog 'a$b' &",
        ] {
            assert!(text.lines().any(|known| known == line), "{line}: {text}");
        }
    }

    #[test]
    fn what_the_user_says_is_not_said_twice() {
        let text = of("--signal=B:TERM@60 --job-dir d --grace 5s ./prog");
        assert_eq!(text.matches("--signal").count(), 1, "{text}");
        assert!(
            text.contains("ftmpiexec' --auto-restart --job-dir d --grace 5s ./prog &"),
            "{text}"
        );
        assert!(text.contains("FTMPI_JOB_DIR=d\n"), "{text}");
    }

    #[test]
    fn a_shell_can_read_the_script() {
        let mut shell = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
        shell.stdin.take().unwrap().write_all(of("-N 1 ./p (x)").as_bytes()).unwrap();
        assert!(shell.wait().unwrap().success());
    }
}
