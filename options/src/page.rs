//! The page of a program as data: made from its table of options, shown by [`crate::render`].

use clap::{Arg, Command};

/// Everything about one program, or one of its commands.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// How the program is called.
    pub name: String,
    /// One sentence.
    pub about: String,
    /// How a command line looks, without the program's name in front of it.
    pub usage: String,
    /// Commands with their own pages.
    pub commands: Vec<Page>,
    /// Options by heading.
    pub sections: Vec<Section>,
    /// Command lines to copy.
    pub examples: Vec<Block>,
}

/// One heading.
#[derive(Debug, Clone)]
pub struct Section {
    /// The heading.
    pub heading: String,
    /// The word after `--help`.
    pub topic: String,
    /// Its options.
    pub entries: Vec<Entry>,
    /// What else belongs here.
    pub notes: Vec<Block>,
}

/// One option, or one word of the command line.
#[derive(Debug, Clone)]
pub struct Entry {
    /// How it is written: `-n`, `--np`.
    pub names: Vec<String>,
    /// What follows it: `N`.
    pub value: String,
    /// Paragraphs, the first of them for readers in a hurry.
    pub text: Vec<String>,
    /// Words that it accepts, and what each does.
    pub values: Vec<(String, String)>,
    /// Default and other names.
    pub facts: String,
    /// Its place on the page of common options, if it has one.
    pub common: Option<usize>,
}

/// A piece of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// Lines that stay as they are.
    Code(Vec<String>),
    /// Words, and what each means.
    Terms(Vec<(String, String)>),
}

impl Entry {
    /// `-n, --np N`
    #[must_use]
    pub fn form(&self) -> String {
        let names = self.names.join(", ");
        if self.value.is_empty() { names } else { format!("{names} {}", self.value) }
    }
}

impl Page {
    /// The page of a program; `common` are the long names for its page of common options.
    #[must_use]
    pub fn of(mut command: Command, common: &[&str]) -> Self {
        command.build();
        Self::of_built(&command, common)
    }

    fn of_built(command: &Command, common: &[&str]) -> Self {
        let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).to_owned();
        let usage = command.clone().render_usage().to_string();
        let usage = usage.trim_start_matches("Usage: ").trim_start_matches(&name).trim().to_owned();
        let mut page = Self {
            about: sentence(command.get_about().map(ToString::to_string).unwrap_or_default()),
            usage: usage.replace("[OPTIONS]", "[options]").replace(['<', '>'], ""),
            commands: command
                .get_subcommands()
                .filter(|sub| sub.get_name() != "help")
                .map(|sub| Self::of_built(sub, &[]))
                .collect(),
            name,
            ..Self::default()
        };
        for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
            let heading = match arg.get_help_heading() {
                Some(heading) => heading,
                None if arg.is_positional() => "Arguments",
                None => "Options",
            };
            // The rest of a command line is the program's own.
            if arg.is_trailing_var_arg_set() {
                continue;
            }
            let entry = entry(arg, common);
            match page.sections.iter_mut().find(|section| section.heading == heading) {
                Some(section) => section.entries.push(entry),
                None => page.sections.push(Section {
                    heading: heading.to_owned(),
                    topic: topic_of(heading),
                    entries: vec![entry],
                    notes: Vec::new(),
                }),
            }
        }
        page
    }

    /// The words after `--help`.
    #[must_use]
    pub fn topics(&self) -> Vec<&str> {
        self.sections.iter().map(|section| section.topic.as_str()).collect()
    }

    /// The options of the page of common options, in its order.
    #[must_use]
    pub fn common(&self) -> Vec<&Entry> {
        let entries = self.sections.iter().flat_map(|section| &section.entries);
        let mut common: Vec<_> = entries.filter(|entry| entry.common.is_some()).collect();
        common.sort_by_key(|entry| entry.common);
        common
    }
}

/// The word after `--help` that shows a heading.
fn topic_of(heading: &str) -> String {
    match heading {
        "Batch jobs" => "batch".to_owned(),
        "Hydra compatibility" => "hydra".to_owned(),
        _ => heading.to_lowercase().replace(' ', "-"),
    }
}

fn entry(arg: &Arg, common: &[&str]) -> Entry {
    let takes = arg.get_action().takes_values();
    let value_names = arg.get_value_names().unwrap_or_default();
    let value = value_names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let optional =
        takes && !arg.is_positional() && arg.get_num_args().is_some_and(|n| n.min_values() == 0);
    let (long, short) = (arg.get_long(), arg.get_short());
    let mut names: Vec<_> = short.map(|short| format!("-{short}")).into_iter().collect();
    names.extend(long.map(|long| format!("--{long}")));
    if arg.is_positional() {
        names.push(value.clone());
    }
    let help = match arg.get_id().as_str() {
        // The parser library adds these two to the programs without topics.
        "help" if arg.get_action().takes_values() => arg.get_help().map(ToString::to_string),
        "help" => Some("Print this page".to_owned()),
        "version" => Some("Print the version".to_owned()),
        _ => arg.get_help().map(ToString::to_string),
    };
    let help = help.unwrap_or_default();
    let long_help = arg.get_long_help().map(ToString::to_string);
    let mut text = vec![sentence(help)];
    text.extend(long_help.iter().flat_map(|long| long.split("\n\n").skip(1)).map(str::to_owned));
    let mut values = Vec::new();
    if takes && !arg.is_hide_possible_values_set() {
        for value in arg.get_possible_values().iter().filter(|value| !value.is_hide_set()) {
            let help = value.get_help().map(ToString::to_string).unwrap_or_default();
            values.push((value.get_name().to_owned(), sentence(help)));
        }
    }
    let mut facts = Vec::new();
    let defaults = arg.get_default_values();
    if takes && !defaults.is_empty() {
        let words: Vec<_> = defaults.iter().map(|word| word.to_string_lossy()).collect();
        facts.push(format!("Default: {}.", words.join(",")));
    }
    let aliases: Vec<String> = arg
        .get_visible_aliases()
        .unwrap_or_default()
        .iter()
        .map(|name| format!("--{name}"))
        .collect();
    if !aliases.is_empty() {
        facts.push(format!("Also {}.", aliases.join(", ")));
    }
    Entry {
        value: match (takes && !arg.is_positional(), optional) {
            (false, _) => String::new(),
            (true, true) => format!("[{value}]"),
            (true, false) => value,
        },
        names,
        text,
        values,
        facts: facts.join(" "),
        common: long.and_then(|long| common.iter().position(|known| *known == long)),
    }
}

/// With the full stop that the parser takes away.
fn sentence(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with(['.', '!', '?']) {
        text.push('.');
    }
    text
}
