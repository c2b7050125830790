//! Whether the kernel can execute a file, and why not: what `execve` says about it does not tell a
//! missing file from a missing interpreter.
//!
//! Guarantees: nothing is executed. What only the kernel knows (handlers of `binfmt_misc`) is left
//! to it.

use super::ProgramError;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, ReadCache, elf};
use rustix::fs::{Access, StatVfsMountFlags};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Bytes of a script's first line that the kernel reads (`BINPRM_BUF_SIZE`).
const FIRST_LINE_BYTES: u64 = 256;
/// How many scripts may interpret one another.
const SCRIPTS_MAX: usize = 4;

/// Whether this user may execute a file; `name`: as the user calls it. The result is the error if
/// not.
pub(super) fn may_execute(file: &Path, name: &str) -> Result<(), ProgramError> {
    let about = match std::fs::metadata(file) {
        Ok(about) => about,
        Err(e) => return Err(unreachable(file, name, &e)),
    };
    let name = name.to_owned();
    if about.is_dir() {
        return Err(ProgramError::Directory(name));
    }
    if !about.is_file() || about.permissions().mode() & 0o111 == 0 {
        return Err(ProgramError::NotExecutable(name));
    }
    if rustix::fs::access(file, Access::EXEC_OK).is_ok() {
        return Ok(());
    }
    let mount = rustix::fs::statvfs(file);
    if mount.is_ok_and(|mount| mount.f_flag.contains(StatVfsMountFlags::NOEXEC)) {
        return Err(ProgramError::NoExec(name));
    }
    let (mode, owner) = (about.permissions().mode() & 0o7777, about.uid());
    let user = rustix::process::getuid().as_raw();
    Err(ProgramError::NotAllowed { name, mode, owner, user })
}

/// Why a file cannot be reached.
fn unreachable(file: &Path, name: &str, e: &io::Error) -> ProgramError {
    let name = name.to_owned();
    match (e.kind(), std::fs::read_link(file)) {
        (io::ErrorKind::NotFound, Ok(target)) => {
            ProgramError::DanglingLink(name, target.display().to_string())
        }
        (io::ErrorKind::NotFound, Err(_)) => {
            let folder = file.parent().unwrap_or(Path::new("/"));
            ProgramError::Missing(name, folder.display().to_string())
        }
        (io::ErrorKind::PermissionDenied, _) => ProgramError::Unreadable(
            name,
            "this user may not enter a directory on the way to it (namei -l shows which)".into(),
        ),
        _ => ProgramError::Unreadable(name, e.to_string()),
    }
}

/// Checks the interpreter that the first line of a script names. Paths that are relative begin at
/// the working directory.
///
/// # Errors
/// The kernel could not start the script; the text names the interpreter.
pub(super) fn check_script(script: &Path, directory: &Path) -> Result<(), ProgramError> {
    let mut file = script.to_path_buf();
    for _ in 0..=SCRIPTS_MAX {
        let Ok(start) = start_of(&file) else { return Ok(()) };
        if !start.starts_with(b"#!") {
            return Ok(());
        }
        let problem = |interpreter: &Path, why: String| {
            let (script, interpreter) = (file.display().to_string(), interpreter.to_string_lossy());
            let interpreter = interpreter.trim_end_matches('\r').to_owned();
            ProgramError::Interpreter { script, interpreter, why }
        };
        let Some(interpreter) = named_interpreter(&start) else {
            return Err(problem(Path::new(""), "which names no interpreter".into()));
        };
        let at = directory.join(&interpreter);
        if let Err(error) = may_execute(&at, &at.display().to_string()) {
            return Err(problem(&interpreter, why_not(&interpreter, &error)));
        }
        if let Err(why) = check_binary(&at, directory) {
            return Err(problem(&interpreter, why));
        }
        file = at;
    }
    let (script, interpreter) = (script.display().to_string(), file.display().to_string());
    let why = "and scripts interpret one another, too many for the kernel".into();
    Err(ProgramError::Interpreter { script, interpreter, why })
}

/// The interpreter in the first bytes of a script, as the kernel reads them.
fn named_interpreter(start: &[u8]) -> Option<PathBuf> {
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let word = line.split(|byte| matches!(byte, b' ' | b'\t' | 0)).find(|word| !word.is_empty())?;
    Some(PathBuf::from(OsStr::from_bytes(word)))
}

/// Why an interpreter cannot be executed, and what to do.
fn why_not(interpreter: &Path, error: &ProgramError) -> String {
    if interpreter.as_os_str().as_bytes().ends_with(b"\r") {
        return "with a carriage return, because the line ends as on Windows; remove them \
                (sed -i 's/\\r$//' FILE)"
            .to_owned();
    }
    match error {
        ProgramError::Missing(..) => {
            "which is not on this host; install it, or correct the first line".to_owned()
        }
        ProgramError::Directory(_) => "which is a directory; correct the first line".to_owned(),
        ProgramError::DanglingLink(_, target) => {
            format!("which is a link to {target}, and that is not there; install it")
        }
        other => format!("which cannot be executed: {other}"),
    }
}

/// Checks an interpreter that is no script.
fn check_binary(file: &Path, directory: &Path) -> Result<(), String> {
    // What may be executed and not be read stays unknown.
    let Ok(start) = start_of(file) else { return Ok(()) };
    if start.starts_with(b"#!") || has_other_formats() {
        return Ok(());
    }
    if !start.starts_with(b"\x7fELF") {
        return Err("which is no program: neither an ELF file nor a script".to_owned());
    }
    let machine = start.get(18..20).map(|word| u16::from_le_bytes([word[0], word[1]]));
    if !matches!(machine, Some(elf::EM_X86_64 | elf::EM_386)) {
        return Err("which is for another kind of processor; install it for this one".to_owned());
    }
    let linker = File::open(file).ok().and_then(|file| linker_of(&ReadCache::new(file)));
    match linker {
        Some(linker) if !directory.join(&linker).exists() => Err(format!(
            "which needs the dynamic linker {}, and that is not on this host; install the \
             interpreter of this system",
            linker.display()
        )),
        _ => Ok(()),
    }
}

/// The dynamic linker of a 64-bit program.
fn linker_of(cache: &ReadCache<File>) -> Option<PathBuf> {
    let header = elf::FileHeader64::<Endianness>::parse(cache).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, cache).ok()?;
    let name = segments.iter().find_map(|s| s.interpreter(endian, cache).ok().flatten())?;
    let name = name.strip_suffix(&[0]).unwrap_or(name);
    Some(PathBuf::from(OsStr::from_bytes(name)))
}

/// Whether the kernel executes other files than ELF files and scripts here.
fn has_other_formats() -> bool {
    let formats = std::fs::read_dir("/proc/sys/fs/binfmt_misc");
    formats.is_ok_and(|list| {
        let names = list.flatten().map(|entry| entry.file_name());
        names.filter(|name| name != "register" && name != "status").count() > 0
    })
}

fn start_of(file: &Path) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    File::open(file)?.take(FIRST_LINE_BYTES).read_to_end(&mut start)?;
    Ok(start)
}

#[cfg(test)]
mod tests {
    use super::super::{find, inspect};
    use super::*;

    fn write(path: &Path, text: &[u8], mode: u32) {
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_script_is_refused_by_the_name_of_its_interpreter() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        write(&at("plain"), b"#!/bin/sh\n", 0o644);
        write(&at("text"), b"no program", 0o755);
        write(&at("loop"), format!("#!{}", at("loop").display()).as_bytes(), 0o755);
        std::os::unix::fs::symlink("/no/such", at("link")).unwrap();
        let mut foreign = b"\x7fELF\x02\x01\x01".to_vec();
        foreign.resize(64, 0);
        foreign[18] = 0xb7;
        write(&at("foreign"), &foreign, 0o755);
        let refused = |line: &str| {
            write(&at("script"), line.as_bytes(), 0o755);
            let found = find("./script".as_ref(), folder.path(), "".as_ref()).unwrap();
            match inspect(&found, folder.path()) {
                Ok(_) => String::new(),
                Err(error) => {
                    assert_eq!(error.exit_code(), 126, "{error}");
                    error.to_string()
                }
            }
        };
        for fine in ["#!/bin/sh\n", "#! /bin/sh -e", "#!\t/usr/bin/env sh\nexit", "#!./fine\n"] {
            write(&at("fine"), b"#!/bin/sh\n", 0o755);
            assert_eq!(refused(fine), "", "{fine}");
        }
        for (line, parts) in [
            ("#!/no/such -x\n", ["script begins with #!/no/such", "not on this host"]),
            ("#!/bin/sh\r\n", ["carriage return", "sed"]),
            ("#!\nexit\n", ["script begins with #!", "names no interpreter"]),
            ("#!/etc\n", ["#!/etc", "is a directory"]),
            ("#!./plain\n", ["#!./plain", "chmod +x"]),
            ("#!./link\n", ["link to /no/such", "not there"]),
            ("#!./loop\n", ["loop", "interpret one another"]),
        ] {
            let text = refused(line);
            assert!(parts.iter().all(|part| text.contains(part)), "{line:?}: {text}");
        }
        if !has_other_formats() {
            assert!(refused("#!./text\n").contains("neither an ELF file nor a script"));
            assert!(refused("#!./foreign\n").contains("another kind of processor"));
        }
        // An interpreter that is a script is named with its own interpreter.
        write(&at("fine"), b"#!/no/other\n", 0o755);
        assert!(refused("#!./fine\n").contains("fine begins with #!/no/other"));
    }

    #[test]
    fn a_file_that_cannot_be_executed_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink("gone", at("link")).unwrap();
        std::os::unix::fs::symlink("round", at("round")).unwrap();
        write(&at("file"), b"text", 0o644);
        let look = |name: &str| {
            let error = find(name.as_ref(), folder.path(), folder.path().as_os_str()).unwrap_err();
            (error.exit_code(), error.to_string())
        };
        for (name, code, part) in [
            ("./link", 127, "link to gone, which is not there"),
            // Along PATH, too.
            ("link", 127, "link to gone, which is not there"),
            ("file", 126, "chmod +x"),
            ("./round", 126, "symbolic link"),
            ("./file/below", 126, "directory"),
            ("./", 126, "is a directory"),
        ] {
            let (found, text) = look(name);
            assert!(found == code && text.contains(part), "{name}: {found} {text}");
        }
    }

    #[test]
    fn a_program_without_its_dynamic_linker_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        let mut bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let linker: &[u8] = b"/lib64/ld-linux-x86-64.so.2\0";
        let place = bytes.windows(linker.len()).position(|window| window == linker).unwrap();
        bytes[place..place + 18].copy_from_slice(b"/lib/ld-musl-x86.s");
        write(&path, &bytes, 0o755);
        let text = inspect(&path, folder.path()).unwrap_err().to_string();
        assert!(text.contains("dynamic linker /lib/ld-musl-x86.s"), "{text}");
        assert!(text.contains("not on this host"), "{text}");
        // As the interpreter of a script.
        let script = folder.path().join("script");
        write(&script, b"#!./program\n", 0o755);
        let text = inspect(&script, folder.path());
        if !has_other_formats() {
            assert!(text.unwrap_err().to_string().contains("dynamic linker /lib/ld-musl-x86.s"));
        }
    }
}
