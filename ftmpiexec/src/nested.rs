//! `ftmpiexec` that a rank starts: a script may be a rank and run MPI programs of its own.
//!
//! Guarantees: the process, and what it starts, has nothing of that rank. It does not have the
//! rank's descriptors, because the agent needs their numbers for its own ranks. It has neither the
//! rank's variables nor the preloaded library, which could take this process for the rank. If
//! another launcher started the rank, it has nothing of what that launcher told the rank.

use crate::agent::libraries::library_directory;
use anyhow::Context;
use ftmpi_checkpoint::launch;
use ftmpi_wire::control::RANK_ENV;
use ftmpi_wire::foreign_launcher::is_of_one_process;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Executes this program again without the variables and libraries of a rank, if it has any. Does
/// not return then.
///
/// # Errors
/// The program cannot be executed again.
pub fn leave_the_rank() -> anyhow::Result<()> {
    launch::disinherit();
    if std::env::var_os(RANK_ENV).is_none() {
        return Ok(());
    }
    let own = std::env::current_exe().context("finding this program")?;
    let mut command = Command::new(own);
    let mut arguments = std::env::args_os();
    if let Some(name) = arguments.next() {
        command.arg0(name).args(arguments);
    }
    command.env_remove(RANK_ENV);
    let all = std::env::vars_os().map(|(name, _)| name);
    for name in all.filter(|name| name.to_str().is_some_and(is_of_one_process)) {
        command.env_remove(name);
    }
    for name in [launch::PRELOAD_ENV, launch::AUDIT_ENV, launch::MPI4PY_ENV] {
        let Some(value) = std::env::var_os(name) else { continue };
        match without_ours(&value, &library_directory()) {
            rest if rest.is_empty() => command.env_remove(name),
            rest => command.env(name, OsString::from_vec(rest)),
        };
    }
    Err(command.exec()).context("leaving the rank that started this")
}

/// A list of libraries, without the boot library and all libraries of our directory.
fn without_ours(list: &OsStr, ours: &Path) -> Vec<u8> {
    let is_ours = |path: &&[u8]| {
        let path = Path::new(OsStr::from_bytes(path));
        path.parent() == Some(ours)
            || path.file_name().is_some_and(|name| name == launch::BOOT_LIBRARY)
    };
    let paths = list.as_bytes().split(|byte| b": ".contains(byte));
    let rest: Vec<&[u8]> = paths.filter(|one| !one.is_empty() && !is_ours(one)).collect();
    rest.join(&b':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_libraries_of_the_user_stay() {
        let rest = |list: &str| {
            String::from_utf8(without_ours(list.as_ref(), Path::new("/d/lib"))).unwrap()
        };
        assert_eq!(rest("/d/lib/libftmpi_boot.so:/d/lib/libmpi.so.12"), "");
        assert_eq!(rest("/old/libftmpi_boot.so:/u/wrap.so:/d/lib/libmpi.so.12"), "/u/wrap.so");
        assert_eq!(rest("/u/a.so /u/b.so"), "/u/a.so:/u/b.so");
    }
}
