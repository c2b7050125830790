//! `ftmpiexec --doctor [program]`: looks for what could stand in the way of a job, and says what
//! to do.
//!
//! Guarantee: nothing is changed; what is written to measure the storage is removed.

mod hosts;
mod program;
mod system;

use crate::cli::CommandLine;
use anstyle::AnsiColor;
use std::fmt::Write as _;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// A job needs nothing else.
    Good,
    /// A job works, within the limit that the text names.
    Limited,
    /// A job would fail.
    Bad,
}

/// What was found about one subject.
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

/// Looks at everything and prints each finding when it is known: hosts and slow disks take their
/// time. Returns the exit code: 0, or 1 if a job would fail.
pub fn run(line: &CommandLine) -> i32 {
    let mut findings = Vec::new();
    let mut say = |found: Vec<Finding>| {
        ftmpi_options::terminal::print(&text(&found));
        findings.extend(found);
    };
    say(system::look(&line.cli));
    say(system::storage(&line.cli));
    hosts::look(line, &mut say);
    for part in line.parts.iter().filter(|part| !part.command.is_empty()) {
        say(program::look(part));
    }
    ftmpi_options::terminal::print(verdict(&findings));
    i32::from(worst(&findings) == Grade::Bad)
}

fn worst(findings: &[Finding]) -> Grade {
    findings.iter().map(|finding| finding.grade).max().unwrap_or(Grade::Good)
}

/// One finding on each line.
fn text(findings: &[Finding]) -> String {
    let mut out = String::new();
    for finding in findings {
        let (mark, style) = match finding.grade {
            Grade::Good => ("ok", AnsiColor::Green.on_default()),
            Grade::Limited => ("LIMITED", AnsiColor::Yellow.on_default().bold()),
            Grade::Bad => ("BAD", AnsiColor::Red.on_default().bold()),
        };
        let _ = writeln!(out, "{style}{mark:<7}{style:#}  {:<18} {}", finding.what, finding.text);
    }
    out
}

/// What follows from the findings.
fn verdict(findings: &[Finding]) -> &'static str {
    match worst(findings) {
        Grade::Good => "Nothing stands in the way.\n",
        Grade::Limited => "Jobs will run, with the limits named above.\n",
        Grade::Bad => "Jobs will fail until what is marked BAD is repaired.\n",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_finding_decides() {
        let mut findings = vec![Finding::good("kernel", "Linux")];
        assert_eq!(verdict(&findings), "Nothing stands in the way.\n");
        findings.push(Finding::limited("restore", "node7: different"));
        assert!(verdict(&findings).contains("with the limits named above"));
        findings.push(Finding::bad("host", "node8: no answer"));
        assert_eq!(worst(&findings), Grade::Bad);
        let lines: Vec<_> = text(&findings).lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[2].contains("BAD") && lines[2].contains("node8: no answer"), "{}", lines[2]);
    }
}
