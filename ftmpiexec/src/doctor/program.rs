//! The program: whether it can be a rank, and whether it gets the MPI library of ftmpi.

use super::Finding;
use crate::agent::libraries::{self, library_directory};
use crate::cli::Part;
use crate::program::{self, ProgramFacts};
use ftmpi_options::os_text::decode;
use std::path::Path;
use std::process::Command;

const WHAT: &str = "program";

/// Looks at one program.
pub fn look(part: &Part) -> Vec<Finding> {
    let here = std::env::current_dir().unwrap_or_default();
    let directory = here.join(part.wdir.clone().unwrap_or_default());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let file = match program::find(&decode(&part.command[0]), &directory, &path) {
        Ok(file) => file,
        Err(e) => return vec![Finding::bad(WHAT, e.to_string())],
    };
    let facts = match program::inspect(&file, &directory) {
        Ok(facts) => facts,
        Err(e) => return vec![Finding::bad(WHAT, e.to_string())],
    };
    let name = file.display();
    if facts.script {
        return vec![Finding::good(
            WHAT,
            format!(
                "{name}: a script; the program that it starts and that calls MPI_Init becomes the rank"
            ),
        )];
    }
    vec![mpi(&file, &facts)]
}

/// Which MPI the program gets.
fn mpi(file: &Path, facts: &ProgramFacts) -> Finding {
    let name = file.display();
    let libraries = library_directory();
    let named: Vec<&str> = facts
        .needed
        .iter()
        .map(String::as_str)
        .filter(|library| library.starts_with("libmpi") || library.starts_with("libfmpich"))
        .collect();
    let search = if facts.search.is_empty() {
        String::new()
    } else {
        format!("; its own search path ({}) comes second", facts.search.join(":"))
    };
    // The dynamic linker lists the libraries that it would map.
    let traced = Command::new(file)
        .env("LD_TRACE_LOADED_OBJECTS", "1")
        .envs(libraries::variables(&libraries, facts, |_| "").iter().map(|(n, v)| (n, decode(v))))
        .output();
    let text = traced.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let text = text.unwrap_or_default();
    if let Some(line) = text.lines().find(|line| line.contains("not found")) {
        return Finding::bad(WHAT, format!("{name}: {}; install that library", line.trim()));
    }
    if text.contains("libmpi.so.40") || text.contains("libopen-pal") {
        return Finding::bad(
            WHAT,
            format!(
                "{name}: a library that it uses was built for Open MPI; build that library with ftmpicc"
            ),
        );
    }
    let foreign = text.lines().find(|line| {
        line.contains("libmpi.so.12") && !line.contains(&*libraries.to_string_lossy())
    });
    if let Some(line) = foreign {
        return Finding::bad(
            WHAT,
            format!("{name} gets another MPI: {}; rename or remove that library", line.trim()),
        );
    }
    if !named.is_empty() {
        Finding::good(
            WHAT,
            format!("{name}: built for MPICH ({}), gets ftmpi{search}", named.join(", ")),
        )
    } else if text.contains("libmpi.so.12") {
        Finding::good(
            WHAT,
            format!("{name}: a library that it uses was built for MPICH, gets ftmpi"),
        )
    } else {
        Finding::good(
            WHAT,
            format!("{name}: names no MPI library; if it loads one while it runs, it gets ftmpi"),
        )
    }
}
