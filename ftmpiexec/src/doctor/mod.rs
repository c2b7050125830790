//! `ftmpiexec --doctor [program]`: looks for what could stand in the way of a job, and says what
//! to do about it. Changes nothing; what it writes for a measurement is removed.

mod hosts;
mod program;
mod system;

use crate::cli::{Cli, Part};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// As it should be.
    Good,
    /// Works, but with a limit that the text names.
    Limited,
    /// A job would fail.
    Bad,
}

/// One thing that was looked at.
#[derive(Debug, Clone)]
pub struct Finding {
    grade: Grade,
    what: &'static str,
    text: String,
}

impl Finding {
    fn good(what: &'static str, text: impl Into<String>) -> Self {
        Self { grade: Grade::Good, what, text: text.into() }
    }

    fn limited(what: &'static str, text: impl Into<String>) -> Self {
        Self { grade: Grade::Limited, what, text: text.into() }
    }

    fn bad(what: &'static str, text: impl Into<String>) -> Self {
        Self { grade: Grade::Bad, what, text: text.into() }
    }
}

/// Looks at everything and prints it; the exit code: 0, or 1 if a job would fail.
pub fn run(cli: &Cli, parts: &[Part]) -> i32 {
    let mut findings = system::look(cli);
    findings.extend(hosts::look(cli, parts));
    for part in parts.iter().filter(|part| !part.command.is_empty()) {
        findings.extend(program::look(part));
    }
    for finding in &findings {
        let mark = match finding.grade {
            Grade::Good => "ok     ",
            Grade::Limited => "LIMITED",
            Grade::Bad => "BAD    ",
        };
        println!("{mark}  {:<18} {}", finding.what, finding.text);
    }
    let worst = findings.iter().map(|finding| finding.grade).max().unwrap_or(Grade::Good);
    println!(
        "{}",
        match worst {
            Grade::Good => "Nothing stands in the way.",
            Grade::Limited => "Jobs will run, with the limits named above.",
            Grade::Bad => "Jobs will fail until what is marked BAD is mended.",
        }
    );
    i32::from(worst == Grade::Bad)
}
