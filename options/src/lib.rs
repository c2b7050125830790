//! The options of every program, as one table.
//!
//! From this table follow the parsing of command lines, `-h`, `--help` and `--help TOPIC`, and the
//! errors about a wrong command line. The manual pages, the completions of three shells and
//! `docs/reference/options.md` follow from it too.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`ftmpiexec`], [`servers`], and one module for each other program | the tables of options |
//! | [`choices`], [`values`], [`places`] | what options accept |
//! | [`errors`], [`foreign`] | every text about a wrong command line; options of other launchers |
//! | [`sbatch`] | the words of `ftmpiexec sbatch` |
//! | [`page`], [`render`] | a table as a page; pages for terminals, man, Markdown, shells |
//! | [`os_text`] | arguments and paths that are not UTF-8, as text |
//! | [`own_stack`] | programs under a small limit on the stack |
//! | [`terminal`] | how a program reads its command line |
//! | `files` | the generated files (feature `pages`) |

pub mod choices;
pub mod ckpt;
pub mod ctl;
pub mod errors;
#[cfg(feature = "pages")]
pub mod files;
pub mod foreign;
pub mod ftmpiexec;
pub mod os_text;
pub mod own_stack;
pub mod page;
pub mod places;
pub mod render;
pub mod sbatch;
pub mod servers;
pub mod terminal;
pub mod top;
pub mod values;
pub mod wrappers;
