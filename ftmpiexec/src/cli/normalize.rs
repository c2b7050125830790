//! Hydra's spelling (`-np 4`, `-prepend-rank`, `:`) made into what the argument parser reads.

use clap::CommandFactory;

/// Splits at `:` arguments; the first group keeps the program's own name.
pub fn split_parts(arguments: Vec<String>) -> Vec<Vec<String>> {
    let mut groups = vec![Vec::new()];
    for argument in arguments {
        if argument == ":" {
            groups.push(Vec::new());
        } else if let Some(group) = groups.last_mut() {
            group.push(argument);
        }
    }
    groups
}

/// Turns `-name` into `--name` for every long option that `P` knows, up to the program: its own
/// arguments are left alone.
pub fn options<P: CommandFactory>(arguments: Vec<String>) -> Vec<String> {
    let command = P::command();
    // For every spelling: how many values follow.
    let values = |name: &str| {
        command
            .get_arguments()
            .find(|arg| {
                arg.get_long() == Some(name)
                    || arg.get_all_aliases().is_some_and(|aliases| aliases.contains(&name))
                    || (name.len() == 1 && arg.get_short() == name.chars().next())
            })
            .map(|arg| {
                if arg.get_action().takes_values() {
                    arg.get_num_args().map_or(1, |range| range.max_values())
                } else {
                    0
                }
            })
            .or(matches!(name, "help" | "version" | "h" | "V").then_some(0))
    };
    let mut out = Vec::with_capacity(arguments.len());
    let mut arguments = arguments.into_iter();
    out.extend(arguments.next());
    while let Some(argument) = arguments.next() {
        let Some(dashed) = argument.strip_prefix('-').filter(|rest| !rest.is_empty()) else {
            // The program: everything from here on is its own.
            out.push(argument);
            out.extend(arguments);
            return out;
        };
        let long = dashed.strip_prefix('-').unwrap_or(dashed);
        let (name, inline) = match long.split_once('=') {
            Some((name, _)) => (name, 1),
            None => (long, 0),
        };
        match values(name) {
            Some(count) => {
                let dashes = if name.len() == 1 { "-" } else { "--" };
                out.push(format!("{dashes}{long}"));
                let mut missing = count - inline.min(count);
                // Hydra's `-genv NAME=VALUE`, also as `--genv=NAME=VALUE`.
                let word = match long.split_once('=') {
                    Some((_, word)) => Some(word.to_owned()),
                    None => arguments.as_slice().first().cloned(),
                };
                if let (true, Some(word)) = (is_variable(name), word)
                    && let Some((variable, value)) = word.split_once('=')
                    && !variable.is_empty()
                {
                    out.pop();
                    out.extend([format!("--{name}"), variable.to_owned(), value.to_owned()]);
                    arguments.by_ref().take(1 - inline).for_each(drop);
                    missing = 0;
                }
                out.extend(arguments.by_ref().take(missing));
            }
            // Not ours: the parser explains.
            None => out.push(argument),
        }
    }
    out
}

/// An option that gives a variable: Hydra reads `NAME VALUE` and `NAME=VALUE`.
fn is_variable(name: &str) -> bool {
    matches!(name, "genv" | "env")
}
