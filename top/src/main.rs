//! `ftmpi-top`: watches a running job.
//!
//! | module | what |
//! | --- | --- |
//! | [`feed`] | where states come from, and where requests go: the launcher, or a host by ssh |
//! | [`app`] | what the user has chosen, and what keys do |
//! | [`view`] | the screen |
//! | [`plain`] | the same as lines |
//! | [`terminal`] | the loop of keys and states |
//!
//! Guarantees: the program only looks, unless the user asks for an image or drains a host. A job
//! that ends, or a launcher that does not answer, is said. The terminal is as it was afterwards.

mod app;
mod feed;
mod plain;
#[cfg(test)]
mod samples;
mod terminal;
mod view;

use anyhow::Context;
use feed::{Feed, News};
use ftmpi_options::own_stack;
use ftmpi_options::terminal::{parse, refuse};
use ftmpi_options::top::TopArgs;
use ftmpi_wire::job_control::{Answer, Request};
use std::io::{BufRead, IsTerminal, Write};
use std::process::ExitCode;

const NAME: &str = "ftmpi-top";

fn main() -> ExitCode {
    own_stack::run(program)
}

fn program() -> ExitCode {
    let arguments: TopArgs = parse();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => refuse(NAME, &format!("{error:#}")),
    }
}

fn run(arguments: &TopArgs) -> anyhow::Result<()> {
    let feed = Feed::open(arguments)?;
    if arguments.serve {
        return serve(feed);
    }
    let screen = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    if screen && !arguments.json && !arguments.plain && !arguments.once {
        return terminal::run(feed, arguments.until_end);
    }
    // `ftmpi-top … | head` ends in silence.
    sigpipe::reset();
    let mut looks = 0;
    loop {
        match feed.next() {
            News::Status(status) => {
                let text = match arguments.json {
                    true => serde_json::to_string(&*status)? + "\n",
                    false => plain::text(&status),
                };
                let separator = if looks > 0 && !arguments.json { "\n" } else { "" };
                write(&format!("{separator}{text}"))?;
                looks += 1;
            }
            News::Said(text) => eprintln!("{NAME}: {text}"),
            News::Ended { text, .. } if looks > 0 => {
                eprintln!("{NAME}: {text}");
                return Ok(());
            }
            News::Ended { text, .. } => anyhow::bail!(text),
        }
        if arguments.once && looks > 0 {
            return Ok(());
        }
    }
}

/// Writes everything as answers, and passes on requests, for the `ftmpi-top` of another host.
fn serve(feed: Feed) -> anyhow::Result<()> {
    let requests = feed.requests();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            match serde_json::from_str::<Request>(&line) {
                Ok(request) => requests.ask(request.verb),
                Err(error) => eprintln!("{NAME}: a request cannot be read: {error}"),
            }
        }
        // The viewer is gone.
        std::process::exit(0);
    });
    loop {
        let (answer, last) = match feed.next() {
            News::Status(status) => (Answer::Status(status), false),
            News::Said(text) => (Answer::Line(text), false),
            News::Ended { text, well: true } => (Answer::Done(text), true),
            News::Ended { text, well: false } => (Answer::Refused(text), true),
        };
        write(&(serde_json::to_string(&answer)? + "\n"))?;
        if last {
            return Ok(());
        }
    }
}

fn write(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("standard output")
}
