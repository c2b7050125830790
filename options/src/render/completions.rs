//! Completions for bash, zsh and fish.

use crate::wrappers;
use clap::Command;
use clap_complete::{Shell, generate};

/// The shells, and where each looks for completions below `share`.
const SHELLS: &[(Shell, &str)] = &[
    (Shell::Bash, "bash-completion/completions/NAME"),
    (Shell::Zsh, "zsh/site-functions/_NAME"),
    (Shell::Fish, "fish/vendor_completions.d/NAME.fish"),
];

/// Files below `share` and their contents, for a program with a table of options.
#[must_use]
pub fn of_program(command: &Command, name: &str) -> Vec<(String, String)> {
    let file = |&(shell, path): &(Shell, &str)| {
        let mut out = Vec::new();
        generate(shell, &mut command.clone(), name, &mut out);
        (path.replace("NAME", name), String::from_utf8_lossy(&out).into_owned())
    };
    SHELLS.iter().map(file).collect()
}

/// The same for the compiler wrappers, whose options have one dash.
#[must_use]
pub fn of_wrapper(name: &str) -> Vec<(String, String)> {
    let options = wrappers::OPTIONS.iter();
    let words: Vec<_> = options.clone().map(|(form, _)| word_of(form)).collect();
    let bash = format!("complete -o default -W '{}' {name}\n", words.join(" "));
    let lines = options.clone().map(|(form, what)| {
        format!("  '{}[{}]'", word_of(form), what.replace(['[', ']', '\''], ""))
    });
    let zsh = format!(
        "#compdef {name}\n_arguments \\\n{} \\\n  '*:file:_files'\n",
        lines.collect::<Vec<_>>().join(" \\\n")
    );
    let lines = options.map(|(form, what)| {
        let word = word_of(form);
        let word = word.trim_start_matches('-').trim_end_matches('=');
        format!("complete -c {name} -o {word} -d '{}'\n", what.replace('\'', "\\'"))
    });
    let contents = [bash, zsh, lines.collect()];
    let paths = SHELLS.iter().map(|(_, path)| path.replace("NAME", name));
    paths.zip(contents).collect()
}

/// What is typed of an option: `-cc=` of `-cc=COMPILER`.
fn word_of(form: &str) -> &str {
    form.find('=').map_or(form, |at| &form[..=at])
}
