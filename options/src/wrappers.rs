//! The options of the compiler wrappers `ftmpicc`, `ftmpicxx` and `ftmpifort`, which are one shell
//! script (`tools/ftmpicc`). A test compares this table with the script.

use crate::page::{Block, Entry, Page, Section};

/// Names of the script, and what each compiles.
pub const NAMES: &[(&str, &str)] =
    &[("ftmpicc", "C"), ("ftmpicxx", "C++"), ("ftmpifort", "Fortran")];

/// What the script takes out of the command line; everything else is for the compiler.
pub const OPTIONS: &[(&str, &str)] = &[
    ("-show", "Print the command and do not run it"),
    ("-compile_info", "Print the command that compiles, and do not run it"),
    ("-link_info", "Print the command that links, and do not run it"),
    ("-cc=COMPILER", "Use this C compiler; FTMPI_CC and MPICH_CC do the same"),
    ("-cxx=COMPILER", "Use this C++ compiler; FTMPI_CXX and MPICH_CXX do the same"),
    ("-fc=COMPILER", "Use this Fortran compiler; FTMPI_FC and MPICH_FC do the same"),
    ("-mpi-abi", "Link with the standard binary interface of MPI 5.0, libmpi_abi.so.1 (C and C++)"),
    ("-profile=NAME", "Link libNAME, which wraps MPI functions, before the MPI library"),
    ("-config=NAME", "Use the compiler that etc/ftmpicc-NAME.conf in the installation names"),
    ("-nativelinking", "Link with the libraries of the compiler only"),
    ("-echo", "Print each step of the script"),
    ("-help", "Print these options"),
];

/// The page of one wrapper.
#[must_use]
pub fn page(name: &str, language: &str) -> Page {
    let entry = |&(form, what): &(&str, &str)| Entry {
        names: vec![form.to_owned()],
        value: String::new(),
        text: vec![format!("{what}.")],
        values: Vec::new(),
        facts: String::new(),
        common: None,
    };
    Page {
        name: name.to_owned(),
        about: format!(
            "Compiles and links {language} programs for ftmpi, with the compiler of this machine."
        ),
        usage: "[options] [options of the compiler] file ...".to_owned(),
        commands: Vec::new(),
        sections: vec![Section {
            heading: "Options".to_owned(),
            topic: "options".to_owned(),
            entries: OPTIONS.iter().map(entry).collect(),
            notes: vec![Block::Text(
                "All other options and files go to the compiler as they are.".to_owned(),
            )],
        }],
        examples: vec![Block::Code(vec![format!(
            "{name} -O2 prog.{} -o prog",
            match language {
                "C" => "c",
                "C++" => "cc",
                _ => "f90",
            }
        )])],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_has_these_options() {
        let script = include_str!("../../tools/ftmpicc");
        for (form, _) in OPTIONS {
            let word = form.find('=').map_or(*form, |at| &form[..=at]);
            assert!(
                script.contains(&format!("{word}*"))
                    || script.contains(&format!("{word})"))
                    || script.contains(&format!("{word} |")),
                "{form}"
            );
        }
    }
}
