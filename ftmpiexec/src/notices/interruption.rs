//! Sentences for users, batch systems and time limits that end the job.

use crate::text::count;
use std::path::Path;
use std::time::Duration;

/// The name of a signal that ends a job.
fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGINT => "SIGINT",
        libc::SIGTERM => "SIGTERM",
        libc::SIGHUP => "SIGHUP",
        libc::SIGUSR1 => "SIGUSR1",
        _ => "a signal",
    }
}

/// One host of several got SIGTERM.
pub fn host_terminated(host: &str) -> String {
    format!(
        "host {host} got SIGTERM: it may go down soon; the job goes on, and its ranks move if it does"
    )
}

/// A signal stops the job so that it can go on later. The dispatcher reports the last images.
pub fn suspending(signal: i32) -> String {
    let again = if signal == libc::SIGINT { "Ctrl-C again" } else { "another signal" };
    let name = signal_name(signal);
    format!("{name}: stopping the job so that it can go on later; {again} ends it at once")
}

/// What [`interrupted`] says.
#[derive(Debug)]
pub struct Interruption<'a> {
    /// The signal that ends the job.
    pub signal: i32,
    /// Since the start of the launcher.
    pub after: Duration,
    /// Ranks whose process runs.
    pub running: usize,
    /// All ranks.
    pub ranks: usize,
    /// The directory from which a later launcher can go on.
    pub continued_from: Option<&'a Path>,
}

/// A signal ends the job.
pub fn interrupted(how: &Interruption<'_>) -> String {
    let begin = format!(
        "interrupted by {} after {:.1} s: {} of {} ran",
        signal_name(how.signal),
        how.after.as_secs_f64(),
        how.running,
        count(how.ranks, "rank")
    );
    match how.continued_from {
        Some(directory) => format!(
            "{begin}; to go on from what is stored: ftmpiexec --restart {}",
            directory.display()
        ),
        None => format!("{begin}; with --job-dir DIR a job can be continued later"),
    }
}

/// `--timeout` is over, and last images are being taken.
pub fn out_of_time_suspending() -> String {
    "the time of --timeout is over: last images are taken".to_owned()
}

/// `--timeout` is over.
pub fn out_of_time(limit: Duration) -> String {
    format!("the job has run for {limit:?}, the time of --timeout")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_who_interrupts_a_job_learns_how_to_go_on() {
        let how = |continued_from| Interruption {
            signal: libc::SIGINT,
            after: Duration::from_millis(3210),
            running: 3,
            ranks: 4,
            continued_from,
        };
        let begin = "interrupted by SIGINT after 3.2 s: 3 of 4 ranks ran; ";
        let alone = interrupted(&how(None));
        assert_eq!(alone, format!("{begin}with --job-dir DIR a job can be continued later"));
        let kept = interrupted(&how(Some(Path::new("/j"))));
        assert!(kept.starts_with(begin) && kept.ends_with("ftmpiexec --restart /j"), "{kept}");
        let first = suspending(libc::SIGINT);
        assert!(first.ends_with("Ctrl-C again ends it at once"), "{first}");
    }
}
