//! Where the states of a job come from, and where requests go.
//!
//! A job of this host is asked through the socket of its launcher. For a job of another host the
//! `ftmpi-top` there is started by ssh: it writes a line for each [`Answer`] and reads a line for
//! each [`Request`].

use anyhow::{Context, bail};
use ftmpi_options::top::TopArgs;
use ftmpi_servers::job_control::{self, ControlError};
use ftmpi_wire::job_control::{Answer, Request, Verb};
use ftmpi_wire::job_status::JobStatus;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long a launcher may take for an answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// What is used instead of a command of the user.
const SSH: &str = "ssh -o BatchMode=yes -o ConnectTimeout=15 -x";

/// Something new.
#[derive(Debug)]
pub enum News {
    /// The state of the job.
    Status(Box<JobStatus>),
    /// A line about a request, or about trouble.
    Said(String),
    /// Nothing more comes.
    Ended {
        /// Why.
        text: String,
        /// The job has ended; otherwise it cannot be watched.
        well: bool,
    },
}

/// News about a job.
#[derive(Debug)]
pub struct Feed {
    news: Receiver<News>,
    requests: Requests,
    /// Whom the news are about, for a title.
    pub title: String,
    child: Option<Child>,
}

/// Where requests go.
#[derive(Debug, Clone)]
pub enum Requests {
    /// To the launcher whose socket is here.
    Local(PathBuf, Sender<News>),
    /// To the `ftmpi-top` on another host.
    Remote(Arc<Mutex<ChildStdin>>),
}

impl Feed {
    /// News about the job that the command line names.
    ///
    /// # Errors
    /// The job is not there.
    pub fn open(arguments: &TopArgs) -> anyhow::Result<Self> {
        match arguments.job.as_deref().and_then(elsewhere) {
            Some((host, job)) => Self::remote(arguments, host, job),
            None => Self::local(arguments),
        }
    }

    fn local(arguments: &TopArgs) -> anyhow::Result<Self> {
        let directory = job_control::find(arguments.job.as_deref())?;
        let (sender, news) = mpsc::channel();
        let requests = Requests::Local(directory.clone(), sender.clone());
        let title = directory.display().to_string();
        let (interval, once) = (arguments.interval, arguments.once);
        std::thread::spawn(move || watch(&directory, interval, once, &sender));
        Ok(Self { news, requests, title, child: None })
    }

    fn remote(arguments: &TopArgs, host: &str, job: &str) -> anyhow::Result<Self> {
        let own = std::env::current_exe().context("the path of this program")?;
        let program = arguments.remote_path.as_deref().unwrap_or(&own);
        let line = format!(
            "exec {} --serve --interval {}ms -- {}",
            quoted(&program.display().to_string()),
            arguments.interval.as_millis(),
            quoted(job)
        );
        let rsh = arguments.rsh.as_deref().unwrap_or(SSH);
        let mut words = rsh.split_whitespace();
        let first = words.next().context("--rsh: the command is empty")?;
        let mut child = Command::new(first)
            .args(words)
            .arg(host)
            .arg(line)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("{first} cannot be started"))?;
        let (Some(input), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            bail!("{first} has no pipes");
        };
        let (sender, news) = mpsc::channel();
        let host = host.to_owned();
        let title = format!("{host}:{job}");
        std::thread::spawn(move || read_answers(&host, BufReader::new(output), errors, &sender));
        let requests = Requests::Remote(Arc::new(Mutex::new(input)));
        Ok(Self { news, requests, title, child: Some(child) })
    }

    /// The next news; waits for them.
    pub fn next(&self) -> News {
        self.news.recv().unwrap_or_else(|_| gone())
    }

    /// The next news, if there are any within this time.
    pub fn next_within(&self, time: Duration) -> Option<News> {
        match self.news.recv_timeout(time) {
            Ok(news) => Some(news),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(gone()),
        }
    }

    /// Where requests go.
    pub fn requests(&self) -> Requests {
        self.requests.clone()
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn gone() -> News {
    News::Ended { text: "nothing more is heard of the job".to_owned(), well: false }
}

impl Requests {
    /// Asks for something; what becomes of it is news.
    pub fn ask(&self, verb: Verb) {
        match self {
            Self::Local(directory, news) => {
                let (directory, news) = (directory.clone(), news.clone());
                std::thread::spawn(move || {
                    // Images take their time.
                    match job_control::ask(&directory, verb, None) {
                        Ok(answers) => answers.for_each(|answer| {
                            let _ = news.send(News::Said(said(answer)));
                        }),
                        Err(error) => {
                            let _ = news.send(News::Said(error.to_string()));
                        }
                    }
                });
            }
            Self::Remote(input) => {
                let request = serde_json::to_string(&Request::new(verb)).unwrap_or_default();
                if let Ok(mut input) = input.lock() {
                    let _ = input.write_all((request + "\n").as_bytes());
                }
            }
        }
    }
}

/// An answer in words.
fn said(answer: Result<Answer, ControlError>) -> String {
    match answer {
        Ok(Answer::Image { rank, image, .. }) => format!("image {image} of rank {rank} is durable"),
        Ok(Answer::NoImage { rank, why }) => format!("rank {rank} has no new image: {why}"),
        Ok(Answer::Line(text) | Answer::Done(text) | Answer::Refused(text)) => text,
        // The others are for `ftmpiexec --join`.
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    }
}

/// Asks for the state again and again, until the job has ended.
fn watch(directory: &Path, interval: Duration, once: bool, news: &Sender<News>) {
    let mut seen = false;
    loop {
        match status(directory) {
            Ok(status) => {
                seen = true;
                if news.send(News::Status(status)).is_err() || once {
                    return;
                }
            }
            // A stopped launcher may go on.
            Err(ControlError::Silent(text)) if seen => {
                let text = format!("no answer from the launcher: {text}");
                if news.send(News::Said(text)).is_err() {
                    return;
                }
            }
            Err(error) => {
                let text = if seen { "the job has ended".to_owned() } else { error.to_string() };
                let _ = news.send(News::Ended { text, well: seen });
                return;
            }
        }
        std::thread::sleep(interval);
    }
}

fn status(directory: &Path) -> Result<Box<JobStatus>, ControlError> {
    for answer in job_control::ask(directory, Verb::Status, Some(ANSWER_LIMIT))? {
        if let Answer::Status(status) = answer? {
            return Ok(status);
        }
    }
    Err(ControlError::Ended)
}

/// Reads the answers of another host until they end.
fn read_answers(host: &str, output: impl BufRead, mut errors: impl Read, news: &Sender<News>) {
    for line in output.lines() {
        let Ok(line) = line else { break };
        let sent = match serde_json::from_str::<Answer>(&line) {
            Ok(Answer::Status(status)) => news.send(News::Status(status)),
            Ok(Answer::Done(text)) => {
                let _ = news.send(News::Ended { text, well: true });
                return;
            }
            Ok(Answer::Refused(text)) => {
                let _ = news.send(News::Ended { text: format!("{host}: {text}"), well: false });
                return;
            }
            Ok(answer) => news.send(News::Said(said(Ok(answer)))),
            Err(_) => {
                let text = format!("{host}: ftmpi-top there is of another version");
                let _ = news.send(News::Ended { text, well: false });
                return;
            }
        };
        if sent.is_err() {
            return;
        }
    }
    let mut text = String::new();
    let _ = errors.read_to_string(&mut text);
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    let last = last.unwrap_or("the connection ended");
    // The program there names itself, and so does this one.
    let last = last.strip_prefix("ftmpi-top: ").unwrap_or(last);
    let _ = news.send(News::Ended { text: format!("{host}: {last}"), well: false });
}

/// `HOST:JOB`, where the text is that and no file of this host.
fn elsewhere(job: &str) -> Option<(&str, &str)> {
    if Path::new(job).exists() {
        return None;
    }
    // An IPv6 address stands in brackets.
    let end = match job.strip_prefix('[') {
        Some(_) => job.find("]:")? + 1,
        None => job.find(':')?,
    };
    let (host, directory) = (&job[..end], &job[end + 1..]);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    (!host.is_empty() && !host.contains('/') && !host.starts_with('-') && !directory.is_empty())
        .then_some((host, directory))
}

/// A word for the shell of another host.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn a_job_of_another_host_is_told_from_a_directory() {
        assert_eq!(elsewhere("node1:/scratch/job"), Some(("node1", "/scratch/job")));
        assert_eq!(elsewhere("me@node1:job"), Some(("me@node1", "job")));
        assert_eq!(elsewhere("[fe80::1]:/j"), Some(("fe80::1", "/j")));
        for here in ["/scratch/no:such", "job", "1234", ":x", "node1:", "-oProxyCommand=x:y"] {
            assert_eq!(elsewhere(here), None, "{here}");
        }
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }

    fn news_of(lines: &str, errors: &str) -> Vec<News> {
        let (sender, news) = mpsc::channel();
        read_answers("h", lines.as_bytes(), errors.as_bytes(), &sender);
        drop(sender);
        news.into_iter().collect()
    }

    #[test]
    fn answers_of_another_host_become_news_and_their_end_says_why() {
        let status = serde_json::to_string(&Answer::Status(Box::new(samples::job()))).unwrap();
        let news =
            news_of(&format!("{status}\n{{\"line\":\"a\"}}\n{{\"done\":\"over\"}}\nx\n"), "");
        assert!(
            matches!(&news[..], [News::Status(_), News::Said(a), News::Ended { text, well: true }]
            if a == "a" && text == "over")
        );
        let news = news_of("", "warning\nssh: connect to host h: refused\n\n");
        assert!(matches!(&news[..], [News::Ended { text, well: false }]
            if text == "h: ssh: connect to host h: refused"));
        let news = news_of("", "ftmpi-top: there is no job\n");
        assert!(matches!(&news[..], [News::Ended { text, .. }] if text == "h: there is no job"));
        let news = news_of("{\"life\":3}\n", "");
        assert!(
            matches!(&news[..], [News::Ended { text, .. }] if text.contains("another version"))
        );
    }
}
