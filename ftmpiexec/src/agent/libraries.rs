//! Which libraries the dynamic linker gives a rank: variables of its environment.
//!
//! Guarantees: a rank gets our MPI library, whatever search path its program carries and whichever
//! library it asks for. Libraries of the user that wrap MPI functions stay before ours. A part of
//! MPICH that we do not have (its C++ bindings) is the user's own, where there is one.

use crate::cpu_baseline::TUNABLES_ENV;
use crate::program::{self, ProgramFacts};
use crate::tuning::{AUDITED_THREAD_BYTES_MAX, THREAD_BYTES_ROOM};
use ftmpi_checkpoint::launch;
use ftmpi_options::os_text::{decode, of_path, to_path};
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

/// The folders that the dynamic linker of x86-64 systems searches without being told.
const SYSTEM_FOLDERS: &[&str] = &[
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
];

/// The setting of the C library that gives room to libraries that want memory of each thread at a
/// fixed place.
const ROOM_SETTING: &str = "glibc.rtld.optional_static_tls";

/// Libraries of MPICH that we have as empty ones only, for programs that name them without need.
const EMPTY: &[&str] = &["libmpicxx.so.12", "libmpichcxx.so.12"];

/// The directory of our libraries: `FTMPI_LIB_DIR`, or `lib/ftmpi` beside the directory of this
/// program.
#[must_use]
pub fn library_directory() -> PathBuf {
    if let Some(directory) = std::env::var_os("FTMPI_LIB_DIR") {
        return directory.into();
    }
    let own = std::env::current_exe().unwrap_or_default();
    own.parent().and_then(Path::parent).map_or_else(PathBuf::new, |top| top.join("lib/ftmpi"))
}

/// The variables of a rank. `users` gives the user's value of a variable, or an empty text. All
/// values are [`ftmpi_options::os_text`].
pub fn variables<'a>(
    libraries: &Path,
    facts: &ProgramFacts,
    users: impl Fn(&str) -> &'a str,
) -> Vec<(&'static str, String)> {
    let own = of_path(libraries);
    let is_there = |name: &str| libraries.join(name).is_file();
    let ours = |name: &str| Some(of_path(&libraries.join(name))).filter(|_| is_there(name));
    let searched = users("LD_LIBRARY_PATH");
    let empty = EMPTY.iter().filter(|name| !has_other(name, facts, searched)).map(|name| {
        let folder = name.trim_end_matches(".so.12");
        libraries.join("empty").join(folder)
    });
    let empty = empty.filter(|folder| folder.is_dir()).map(|folder| of_path(&folder));
    let searched = joined([own, searched.to_owned()].into_iter().chain(empty));
    let preloaded = preload(libraries, facts, users(launch::PRELOAD_ENV));
    let closure = closure(facts, &preloaded, &searched);
    let auditor = ours(launch::LOADS_LIBRARY)
        .filter(|_| audits_are_cheap(c_library()) && can_be_audited(facts, &closure));
    let mut all = Vec::new();
    match auditor {
        Some(auditor) => {
            let list = [auditor, users(launch::AUDIT_ENV).to_owned()];
            all.push((launch::AUDIT_ENV, joined(list.into_iter())));
            all.push((TUNABLES_ENV, with_room(users(TUNABLES_ENV))));
            all.push((launch::PRELOAD_ENV, preloaded));
        }
        // The functions of ours then go before those of the other library.
        None => {
            let wanted = closure.iter().filter(|path| !path.starts_with(libraries));
            let mut wanted: Vec<String> =
                wanted.filter_map(|path| path.file_name()?.to_str().and_then(ours)).collect();
            wanted.retain(|path| path.contains("libmpi") || path.contains("mpich"));
            wanted.retain(|path| !preloaded.split(':').any(|known| known == path));
            let list = std::iter::once(preloaded).chain(wanted);
            all.push((launch::PRELOAD_ENV, joined(list)));
        }
    }
    all.push(("LD_LIBRARY_PATH", searched));
    if let Some(library) = ours("libmpi.so.12").filter(|_| users(launch::MPI4PY_ENV).is_empty()) {
        all.push((launch::MPI4PY_ENV, library));
    }
    if facts.needed.iter().any(|name| name.starts_with("libasan.so")) {
        // The runtime wants to be the first library and refuses to start behind ours. Behind ours
        // its functions serve just as well, and children of the rank do not get the runtime.
        let options = ["verify_asan_link_order=0".to_owned(), users("ASAN_OPTIONS").to_owned()];
        all.push(("ASAN_OPTIONS", joined(options.into_iter())));
    }
    all
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(":")
}

/// What the dynamic linker maps, for a program and what is preloaded and searched.
type Closures = BTreeMap<(PathBuf, String), Arc<Vec<PathBuf>>>;

/// The libraries that the dynamic linker maps when it starts the program; none, if the linker is
/// not the C library's. Each program is asked about once.
fn closure(facts: &ProgramFacts, preloaded: &str, searched: &str) -> Arc<Vec<PathBuf>> {
    static KNOWN: Mutex<Closures> = Mutex::new(BTreeMap::new());
    if !facts.interpreter.contains("ld-linux") {
        return Arc::default();
    }
    let key = (facts.file.clone(), format!("{preloaded} {searched}"));
    let mut known = KNOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let list = known.entry(key).or_insert_with(|| {
        // With this option the linker never starts the program.
        let listed = Command::new(&facts.interpreter)
            .arg("--list")
            .arg(&facts.file)
            .env_clear()
            .env(launch::PRELOAD_ENV, decode(preloaded))
            .env("LD_LIBRARY_PATH", decode(searched))
            .stdin(Stdio::null())
            .output();
        let text = listed.map(|output| output.stdout).unwrap_or_default();
        Arc::new(paths(&String::from_utf8_lossy(&text)))
    });
    list.clone()
}

/// The paths in the linker's list: `NAME => PATH (ADDRESS)`, or `PATH (ADDRESS)`.
fn paths(list: &str) -> Vec<PathBuf> {
    list.lines()
        .filter_map(|line| {
            let (path, _) = line.trim().rsplit_once(" (0x")?;
            Some(path.rsplit_once(" => ").map_or(path, |(_, path)| path))
        })
        .filter(|path| path.starts_with('/'))
        .map(PathBuf::from)
        .collect()
}

/// Whether an auditor does no harm. Beside an auditor, the linker has little room for libraries
/// that want memory of each thread at a fixed place; the runtimes of some sanitizers want much.
/// Valgrind takes what the linker does for an auditor for a fault of the program.
fn can_be_audited(facts: &ProgramFacts, closure: &[PathBuf]) -> bool {
    if facts.file.file_name().is_some_and(|name| name == "valgrind") {
        return false;
    }
    facts.script
        || !closure.is_empty()
            && closure.iter().map(|path| program::thread_bytes(path)).sum::<u64>()
                <= AUDITED_THREAD_BYTES_MAX
}

/// The user's settings of the C library, with room for what programs of this kind want.
fn with_room(users: &str) -> String {
    if users.contains(ROOM_SETTING) {
        return users.to_owned();
    }
    joined([users.to_owned(), format!("{ROOM_SETTING}={THREAD_BYTES_ROOM}")].into_iter())
}

/// The version of this host's C library.
fn c_library() -> &'static str {
    // SAFETY: a constant text of the C library.
    unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) }.to_str().unwrap_or_default()
}

/// Whether an auditor costs nothing while the program runs. Before version 2.35 of the C library
/// each call between libraries became slower as soon as there was one.
fn audits_are_cheap(version: &str) -> bool {
    let mut numbers = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (2, 35)
}

/// Whether the dynamic linker finds a library of this name that is not ours.
fn has_other(name: &str, facts: &ProgramFacts, searched: &str) -> bool {
    let origin = facts.file.parent().unwrap_or(Path::new("."));
    let origin = of_path(origin);
    let of_program = facts
        .search
        .iter()
        .flat_map(|list| list.split(':'))
        .map(|folder| folder.replace("${ORIGIN}", "$ORIGIN").replace("$ORIGIN", &origin));
    let of_user = searched.split(':').filter(|folder| !folder.is_empty()).map(str::to_owned);
    let of_system = SYSTEM_FOLDERS.iter().map(|folder| (*folder).to_owned());
    of_program.chain(of_user).chain(of_system).any(|folder| to_path(&folder).join(name).is_file())
        || std::fs::read("/etc/ld.so.cache").is_ok_and(|cache| names(&cache, name))
}

/// Whether the linker's cache names a library: the name stands alone between zeros.
fn names(cache: &[u8], library: &str) -> bool {
    cache.split(|byte| *byte == 0).any(|text| text == library.as_bytes())
}

/// The libraries to preload: our boot library, then those of the user, then each MPI library that
/// the program names and we have. A preloaded library satisfies a name before any search path does.
///
/// A library that wraps `MPI_` functions around `PMPI_` ones must come before ours, or it would
/// never be called. So the user's libraries come first. If the program names another library before
/// MPI's, that library may be such a wrapper. Then ours is not preloaded but found through
/// `LD_LIBRARY_PATH`, unless the program has a search path that goes before that variable.
fn preload(libraries: &Path, facts: &ProgramFacts, users: &str) -> String {
    let is_mpi = |name: &&String| name.starts_with("libmpi") || name.starts_with("libfmpich");
    let before = facts.needed.iter().position(|name| is_mpi(&name)).unwrap_or(0);
    let wrapped = facts.needed[..before].iter().any(|name| !is_of_the_system(name));
    let ours = facts
        .needed
        .iter()
        .filter(is_mpi)
        .filter(|_| !wrapped || facts.search_is_first)
        .filter(|name| libraries.join(name).is_file());
    let path = |name: &str| of_path(&libraries.join(name));
    let boot = Some(launch::BOOT_LIBRARY).filter(|name| libraries.join(name).is_file()).map(path);
    let list = boot.into_iter().chain([users.to_owned()]).chain(ours.map(|name| path(name)));
    joined(list)
}

/// Whether a library belongs to the compilers: such a library does not wrap MPI.
fn is_of_the_system(name: &str) -> bool {
    const STEMS: &[&str] = &[
        "libc",
        "libm",
        "libpthread",
        "libdl",
        "librt",
        "libgcc_s",
        "libstdc++",
        "libgfortran",
        "libquadmath",
        "libgomp",
        "ld-linux-x86-64",
        "libasan",
        "libtsan",
        "liblsan",
        "libubsan",
    ];
    STEMS.contains(&name.split(".so").next().unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(needed: &[&str]) -> ProgramFacts {
        let needed = needed.iter().map(|name| (*name).to_owned()).collect();
        ProgramFacts { needed, ..ProgramFacts::default() }
    }

    fn value(list: &[(&'static str, String)], name: &str) -> Option<String> {
        list.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone())
    }

    #[test]
    fn only_libraries_that_we_have_are_preloaded() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["libftmpi_boot.so", "libmpi.so.12"] {
            std::fs::write(directory.path().join(name), b"").unwrap();
        }
        let names = |needed: &[&str], search_is_first, users| {
            let facts = ProgramFacts { search_is_first, ..facts(needed) };
            let list = preload(directory.path(), &facts, users);
            list.split(':')
                .map(|path| path.rsplit('/').next().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        let plain = ["libmpi.so.12", "libmpicxx.so.12", "libc.so.6"];
        assert_eq!(names(&plain, false, ""), ["libftmpi_boot.so", "libmpi.so.12"]);
        // The user's library may wrap ours, and so may a library that the program names before it.
        assert_eq!(names(&plain, false, "/x/y.so"), ["libftmpi_boot.so", "y.so", "libmpi.so.12"]);
        let wrapped = ["libwrap.so", "libmpi.so.12", "libc.so.6"];
        assert_eq!(names(&wrapped, false, ""), ["libftmpi_boot.so"]);
        assert_eq!(names(&wrapped, true, ""), ["libftmpi_boot.so", "libmpi.so.12"]);
        let usual = ["libstdc++.so.6", "libm.so.6", "libmpi.so.12", "libother.so"];
        assert_eq!(names(&usual, false, ""), ["libftmpi_boot.so", "libmpi.so.12"]);
        assert_eq!(names(&["libc.so.6"], false, ""), ["libftmpi_boot.so"]);
    }

    #[test]
    fn loads_of_another_mpi_are_redirected_and_the_users_variables_stay() {
        let directory = tempfile::tempdir().unwrap();
        let ours = directory.path();
        for name in [launch::LOADS_LIBRARY, "libmpi.so.12"] {
            std::fs::write(ours.join(name), b"").unwrap();
        }
        let script = ProgramFacts { script: true, ..ProgramFacts::default() };
        let list = variables(ours, &script, |_| "");
        let path = |name: &str| Some(ours.join(name).display().to_string());
        assert_eq!(value(&list, "MPI4PY_LIBMPI"), path("libmpi.so.12"));
        assert_eq!(value(&list, "LD_LIBRARY_PATH"), Some(ours.display().to_string()));
        assert_eq!(value(&list, "ASAN_OPTIONS"), None);
        if audits_are_cheap(c_library()) {
            assert_eq!(value(&list, "LD_AUDIT"), path(launch::LOADS_LIBRARY));
            let settings = value(&list, "GLIBC_TUNABLES").unwrap();
            assert!(settings.starts_with(ROOM_SETTING), "{settings}");
        }
        let list = variables(ours, &facts(&["libasan.so.8", "libc.so.6"]), |_| "mine");
        assert_eq!(value(&list, "MPI4PY_LIBMPI"), None, "the user has chosen");
        let options = value(&list, "ASAN_OPTIONS");
        assert_eq!(options.as_deref(), Some("verify_asan_link_order=0:mine"));
        let searched = value(&list, "LD_LIBRARY_PATH").unwrap();
        assert!(searched.ends_with(":mine"), "{searched}");
    }

    #[test]
    fn the_linkers_list_is_read_and_what_needs_room_is_not_audited() {
        let list = "\tlinux-vdso.so.1 (0x00007ffff7fc1000)\n\t/x/libftmpi_boot.so (0x00007)\n\
                    \tlibmpi.so.12 => /o p/libmpi.so.12 (0x00007f)\n\tlibno.so => not found\n";
        let paths: Vec<PathBuf> =
            ["/x/libftmpi_boot.so", "/o p/libmpi.so.12"].map(PathBuf::from).to_vec();
        assert_eq!(super::paths(list), paths);
        let own = program::inspect(&std::env::current_exe().unwrap(), Path::new("/")).unwrap();
        let closure = closure(&own, "", "");
        assert!(closure.iter().any(|path| path.ends_with("libc.so.6")), "{closure:?}");
        assert!(can_be_audited(&own, &closure));
        assert!(!can_be_audited(&own, &[]), "an unknown dynamic linker");
        let file = PathBuf::from("/usr/bin/valgrind");
        let valgrind = ProgramFacts { script: true, file, ..ProgramFacts::default() };
        assert!(!can_be_audited(&valgrind, &[]));
        assert_eq!(with_room(&format!("a=1:{ROOM_SETTING}=9")), format!("a=1:{ROOM_SETTING}=9"));
    }

    #[test]
    fn auditors_are_for_c_libraries_that_have_them_for_nothing() {
        for (version, cheap) in [("2.17", false), ("2.34", false), ("2.35", true), ("3.0", true)] {
            assert_eq!(audits_are_cheap(version), cheap, "{version}");
        }
    }

    #[test]
    fn the_users_bindings_go_before_our_empty_library() {
        let directory = tempfile::tempdir().unwrap();
        let (ours, theirs) = (directory.path().join("ours"), directory.path().join("theirs"));
        let empty = ours.join("empty/libmpicxx");
        std::fs::create_dir_all(&empty).unwrap();
        std::fs::create_dir(&theirs).unwrap();
        let empty = empty.display().to_string();
        let facts = ProgramFacts {
            search: vec!["/no/such:$ORIGIN/theirs".into()],
            file: directory.path().join("program"),
            ..facts(&["libmpicxx.so.12"])
        };
        let searched = || value(&variables(&ours, &facts, |_| ""), "LD_LIBRARY_PATH").unwrap();
        let system = SYSTEM_FOLDERS.iter().any(|f| Path::new(f).join(EMPTY[0]).is_file());
        assert_eq!(searched().split(':').any(|folder| folder == empty), !system);
        std::fs::write(theirs.join(EMPTY[0]), b"").unwrap();
        assert!(!searched().contains(&empty), "the program's own search path leads to one");
        assert!(names(b"x\0libmpicxx.so.12\0/y/libmpicxx.so.12\0", EMPTY[0]));
        assert!(!names(b"x\0/y/libmpicxx.so.12\0", EMPTY[0]));
    }
}
