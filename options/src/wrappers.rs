//! The options of the compiler wrappers `ftmpicc`, `ftmpicxx` and `ftmpifort`, which are one shell
//! script (`tools/ftmpicc`). A test compares this table with the script.

use crate::page::{Block, Entry, Page, Section};

/// Names of the script, and what each compiles.
pub const NAMES: &[(&str, &str)] =
    &[("ftmpicc", "C"), ("ftmpicxx", "C++"), ("ftmpifort", "Fortran")];

/// What the script takes out of the command line; everything else is for the compiler.
pub const OPTIONS: &[(&str, &str)] = &[
    ("-show", "Print the whole command and do not run it"),
    ("-compile_info", "Print the command that compiles, and do not run it"),
    ("-link_info", "Print the command that links, and do not run it"),
    ("-cc=COMPILER", "Use this C compiler. The variables FTMPI_CC and MPICH_CC do the same"),
    ("-cxx=COMPILER", "Use this C++ compiler. The variables FTMPI_CXX and MPICH_CXX do the same"),
    ("-fc=COMPILER", "Use this Fortran compiler. The variables FTMPI_FC and MPICH_FC do the same"),
    ("-mpi-abi", "Link with libmpi_abi.so.1, the standard binary interface of MPI 5.0 (C and C++)"),
    (
        "-profile=NAME",
        "Link libNAME, which wraps MPI functions, before the MPI library. It is searched in the \
         installation and where the linker looks",
    ),
    (
        "-config=NAME",
        "Use the compiler of the file etc/ftmpicc-NAME.conf or etc/mpicc-NAME.conf of the \
         installation (ftmpicxx, ftmpifort: cxx, fort). The file is a shell fragment that sets CC, \
         CXX or FC",
    ),
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
            notes: vec![
                Block::Text(
                    "All other options and files go to the compiler as they are.".to_owned(),
                ),
                Block::Text(
                    "The Fortran modules of the installation fit the compiler that made them. For \
                     another compiler, ftmpifort compiles them when a source file first needs them, \
                     into $XDG_CACHE_HOME/ftmpi/fortran or ~/.cache/ftmpi/fortran."
                        .to_owned(),
                ),
            ],
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

    /// The page as the script prints it for `-help`: one text for its three names.
    fn script_page() -> String {
        let mut page = page("ftmpicc", "C");
        page.about =
            "Compiles and links programs for ftmpi, with the compiler of this machine: ftmpicc C, \
                      ftmpicxx C++, ftmpifort Fortran."
                .to_owned();
        anstream::adapter::strip_str(&crate::render::terminal::long(&page)).to_string()
    }

    #[test]
    fn the_script_prints_the_page() {
        let script = include_str!("../../tools/ftmpicc");
        let comments = script.lines().skip(1).take_while(|line| line.starts_with('#'));
        let printed: Vec<&str> =
            comments.map(|line| line.strip_prefix("# ").unwrap_or_default()).collect();
        let wanted = script_page();
        assert_eq!(printed.join("\n") + "\n", wanted, "what `tools/ftmpicc -help` prints");
    }

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
