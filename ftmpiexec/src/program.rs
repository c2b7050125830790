//! The program that a rank runs: found, inspected, and refused with one clear line if it cannot be
//! a rank. `--doctor` uses this module, too.
//!
//! Guarantees: only headers are read, through a bounded cache. A file with damaged headers is an
//! error, never a panic.

mod executable;

use crate::tuning::HASHED_BYTES_MAX;
use ftmpi_checkpoint::stream::Hash;
use object::read::elf::{Dyn, ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSymbol, ReadCache, ReadRef, elf};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What the headers of a program say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramFacts {
    /// A script (`#!`): its interpreter can be executed; which MPI it gets is not known.
    pub script: bool,
    /// Libraries that the program names.
    pub needed: Vec<String>,
    /// Search paths of the program (`DT_RPATH`, `DT_RUNPATH`).
    pub search: Vec<String>,
    /// The program's file.
    pub file: PathBuf,
    /// The dynamic linker that the program names.
    pub interpreter: String,
    /// The search paths go before `LD_LIBRARY_PATH` (`DT_RPATH` without `DT_RUNPATH`).
    pub search_is_first: bool,
}

/// Why a program cannot be a rank.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// There is no such program.
    #[error("there is no program {0} (looked in {1})")]
    Missing(String, String),
    /// The name is empty.
    #[error(
        "the name of the program is empty; a variable in the command line may not be set: name the \
         program"
    )]
    Empty,
    /// The name looks like an option.
    #[error("there is no option {0}; see ftmpiexec --help")]
    Option(String),
    /// A link that leads nowhere.
    #[error("{0} is a link to {1}, which is not there; correct the link, or build the program")]
    DanglingLink(String, String),
    /// A directory.
    #[error("{0} is a directory; name the program in it")]
    Directory(String),
    /// The file is not executable.
    #[error("{0} is not an executable file; chmod +x it, or name the program itself")]
    NotExecutable(String),
    /// The file lies where nothing is executed.
    #[error(
        "{0} lies on a file system that is mounted noexec (findmnt -T shows it), where nothing can \
         be executed; copy it to another file system"
    )]
    NoExec(String),
    /// Another user may execute the file.
    #[error(
        "{name} (mode {mode:o}, of user {owner}) may not be executed by user {user}; let its owner \
         type chmod a+rx"
    )]
    NotAllowed {
        /// The file.
        name: String,
        /// Its mode.
        mode: u32,
        /// Its owner.
        owner: u32,
        /// Who runs the job.
        user: u32,
    },
    /// The file cannot be read.
    #[error("{0} cannot be read: {1}")]
    Unreadable(String, String),
    /// Neither ELF nor script.
    #[error(
        "{0} is not a program: neither an ELF file nor a script that begins with #!; name the \
         program, or write #! and the interpreter into the first line"
    )]
    NotAProgram(String),
    /// The interpreter of a script cannot be started.
    #[error("{script} begins with #!{interpreter}, {why}")]
    Interpreter {
        /// The script.
        script: String,
        /// What its first line names.
        interpreter: String,
        /// Why not, and what to do.
        why: String,
    },
    /// The dynamic linker is missing.
    #[error(
        "{0} needs the dynamic linker {1}, which is not on this host: it was built for another \
         system; build it for this one with ftmpicc"
    )]
    NoLinker(String, String),
    /// A 32-bit program, or one for another processor.
    #[error("{0} is {1}; ftmpi runs 64-bit x86 programs: build it for this host")]
    WrongMachine(String, &'static str),
    /// The program has no dynamic linker.
    #[error(
        "{0} is statically linked, so ftmpi's libmpi.so.12 cannot be put under it; link it \
         dynamically"
    )]
    Static(String),
    /// The program was built for Open MPI.
    #[error(
        "{0} was built for Open MPI ({1}), which has another binary interface; build it with \
         ftmpicc or an MPICH-compatible mpicc"
    )]
    OpenMpi(String, String),
    /// The headers are damaged.
    #[error("{0} is damaged: its ELF headers cannot be read; build or copy it again")]
    Damaged(String),
}

impl ProgramError {
    /// Whether there is a file of the name, and it cannot be executed.
    fn is_of_a_file(&self) -> bool {
        !matches!(self, Self::Missing(..) | Self::Directory(_) | Self::Unreadable(..))
    }

    /// The exit code that shells use for this error.
    #[must_use]
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Option(_) => 2,
            Self::Missing(..) | Self::DanglingLink(..) | Self::Empty => 127,
            _ => 126,
        }
    }
}

/// Finds a program as a shell does: by its path (from `directory`), or along `path`.
///
/// # Errors
/// There is none, or none that this user may execute.
pub fn find(program: &OsStr, directory: &Path, path: &OsStr) -> Result<PathBuf, ProgramError> {
    let name = &*program.to_string_lossy();
    if name.is_empty() {
        return Err(ProgramError::Empty);
    }
    if name.contains('/') {
        let file = directory.join(program);
        return match executable::may_execute(&file, name) {
            Ok(()) => Ok(file),
            Err(ProgramError::Missing(..)) => {
                Err(ProgramError::Missing(name.into(), directory.display().to_string()))
            }
            Err(other) => Err(other),
        };
    }
    // The first file of this name that cannot be executed.
    let mut refused = None;
    for part in std::env::split_paths(path) {
        let place = if part.as_os_str().is_empty() { Path::new(".") } else { &part };
        let file = directory.join(place).join(program);
        match executable::may_execute(&file, &file.display().to_string()) {
            Ok(()) => return Ok(file),
            Err(error) => refused = refused.or(Some(error).filter(ProgramError::is_of_a_file)),
        }
    }
    if let Some(refused) = refused {
        return Err(refused);
    }
    let here = directory.join(program);
    if here.is_file() {
        let hint = format!("PATH; there is one in the working directory: ./{name}");
        return Err(ProgramError::Missing(name.into(), hint));
    }
    if name.starts_with('-') {
        return Err(ProgramError::Option(name.into()));
    }
    Err(ProgramError::Missing(name.into(), "PATH".into()))
}

/// Inspects a program and refuses one that cannot be a rank. It will run in `directory`.
///
/// # Errors
/// See [`ProgramError`].
pub fn inspect(file: &Path, directory: &Path) -> Result<ProgramFacts, ProgramError> {
    let name = file.display().to_string();
    let unreadable = |e: std::io::Error| ProgramError::Unreadable(name.clone(), e.to_string());
    let mut start = Vec::new();
    let mut handle = match File::open(file) {
        Ok(handle) => handle,
        // The kernel runs a file that is executable but not readable. Its headers stay unknown.
        Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => {
            return Ok(ProgramFacts::default());
        }
        Err(e) => return Err(unreadable(e)),
    };
    handle.by_ref().take(20).read_to_end(&mut start).map_err(unreadable)?;
    if start.starts_with(b"#!") {
        executable::check_script(file, directory)?;
        let file = file.to_path_buf();
        return Ok(ProgramFacts { script: true, file, ..ProgramFacts::default() });
    }
    if !start.starts_with(b"\x7fELF") || start.len() < 20 {
        return Err(ProgramError::NotAProgram(name));
    }
    if start[4] != elf::ELFCLASS64 {
        return Err(ProgramError::WrongMachine(name, "a 32-bit program"));
    }
    if start[5] != elf::ELFDATA2LSB || u16::from_le_bytes([start[18], start[19]]) != elf::EM_X86_64
    {
        return Err(ProgramError::WrongMachine(name, "for another kind of processor"));
    }
    let cache = ReadCache::new(handle);
    let facts = read_dynamic(&cache).ok_or_else(|| ProgramError::Damaged(name.clone()))?;
    let Some(mut facts) = facts else { return Err(ProgramError::Static(name)) };
    facts.file = file.to_path_buf();
    if !directory.join(&facts.interpreter).exists() {
        return Err(ProgramError::NoLinker(name, facts.interpreter));
    }
    if let Some(library) = facts.needed.iter().find(|library| is_open_mpi(library)) {
        return Err(ProgramError::OpenMpi(name, library.clone()));
    }
    Ok(facts)
}

/// What tells the contents of a program or library from others: its build-id, or a digest where it
/// has none.
///
/// # Errors
/// The file cannot be read.
pub fn contents_id(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut handle = File::open(file)?;
    let cache = ReadCache::new(&handle);
    if let Some(id) = build_id(&cache) {
        return Ok(id);
    }
    drop(cache);
    std::io::Seek::rewind(&mut handle)?;
    let mut contents = Vec::new();
    handle.take(HASHED_BYTES_MAX).read_to_end(&mut contents)?;
    Ok(Hash::new().with(&contents).value().to_le_bytes().to_vec())
}

fn build_id<'data, R: ReadRef<'data>>(data: R) -> Option<Vec<u8>> {
    let header = elf::FileHeader64::<Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, data).ok()?;
    for segment in segments {
        let Ok(Some(mut notes)) = segment.notes(endian, data) else { continue };
        while let Ok(Some(note)) = notes.next() {
            if note.name() == elf::ELF_NOTE_GNU && note.n_type(endian) == elf::NT_GNU_BUILD_ID {
                return Some(note.desc().to_vec());
            }
        }
    }
    None
}

/// Whether the file begins as a script does.
#[must_use]
pub fn is_script(file: &Path) -> bool {
    let mut start = [0; 2];
    File::open(file).and_then(|mut file| file.read_exact(&mut start)).is_ok() && &start == b"#!"
}

/// Open MPI's library has versions from 20 on (40 for series 2 to 5); MPICH's has version 12.
pub fn is_open_mpi(library: &str) -> bool {
    library.starts_with("libopen-pal.so")
        || library.starts_with("libopen-rte.so")
        || library
            .strip_prefix("libmpi.so.")
            .and_then(|version| version.split('.').next()?.parse::<u32>().ok())
            .is_some_and(|version| version >= 20 || version == 0 || version == 1)
}

/// `None`: malformed; `Some(None)`: no dynamic linker.
fn read_dynamic<'data, R: ReadRef<'data>>(data: R) -> Option<Option<ProgramFacts>> {
    let header = elf::FileHeader64::<Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, data).ok()?;
    let interpreter =
        segments.iter().find_map(|segment| segment.interpreter(endian, data).ok().flatten());
    let Some(interpreter) = interpreter else { return Some(None) };
    let interpreter = String::from_utf8_lossy(interpreter).trim_end_matches('\0').to_owned();
    let entries = segments.iter().find_map(|segment| segment.dynamic(endian, data).ok()?)?;
    let value = |tag: u32| {
        entries.iter().find(|d| d.d_tag(endian) == u64::from(tag)).map(|d| d.d_val(endian))
    };
    let (strings, size) = (value(elf::DT_STRTAB)?, value(elf::DT_STRSZ)?);
    // The header gives the table's address in memory: find its bytes in the file.
    let table = segments.iter().filter(|s| s.p_type(endian) == elf::PT_LOAD).find_map(|s| {
        let inside = strings.checked_sub(s.p_vaddr(endian))?;
        (inside < s.p_filesz(endian)).then(|| s.p_offset(endian).checked_add(inside))?
    })?;
    let string = |at: u64| {
        (at < size).then_some(())?;
        let start = table.checked_add(at)?;
        let bytes = data.read_bytes_at_until(start..table.checked_add(size)?, 0).ok()?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    };
    let mut facts = ProgramFacts { interpreter, ..ProgramFacts::default() };
    let (mut rpath, mut runpath) = (false, false);
    for entry in entries.iter().take_while(|d| d.d_tag(endian) != u64::from(elf::DT_NULL)) {
        match u32::try_from(entry.d_tag(endian)) {
            Ok(elf::DT_NEEDED) => facts.needed.push(string(entry.d_val(endian))?),
            Ok(tag @ (elf::DT_RPATH | elf::DT_RUNPATH)) => {
                *(if tag == elf::DT_RPATH { &mut rpath } else { &mut runpath }) = true;
                facts.search.push(string(entry.d_val(endian))?);
            }
            _ => {}
        }
    }
    facts.search_is_first = rpath && !runpath;
    Some(Some(facts))
}

/// Whether the program itself calls this function of MPI, from C or Fortran. Not known of scripts
/// and of what libraries call: `false`.
#[must_use]
pub fn calls(file: &Path, function: &str) -> bool {
    let Ok(handle) = File::open(file) else { return false };
    let cache = ReadCache::new(handle);
    let Ok(program) = ElfFile64::<Endianness, _>::parse(&cache) else { return false };
    let names = |name: &str| {
        let name = name.to_ascii_lowercase();
        let rest = name.strip_prefix('p').unwrap_or(&name).strip_prefix(function);
        rest.is_some_and(|rest| matches!(rest, "" | "_" | "__" | "_cptr_" | "_f08_" | "_f08ts_"))
    };
    program.dynamic_symbols().any(|symbol| symbol.is_undefined() && symbol.name().is_ok_and(names))
}

/// Bytes of memory for each thread that a library asks for (`PT_TLS`); 0 if nobody can tell.
#[must_use]
pub fn thread_bytes(library: &Path) -> u64 {
    let Ok(handle) = File::open(library) else { return 0 };
    let cache = ReadCache::new(handle);
    let find = || {
        let header = elf::FileHeader64::<Endianness>::parse(&cache).ok()?;
        let endian = header.endian().ok()?;
        let segments = header.program_headers(endian, &cache).ok()?;
        segments.iter().find(|s| s.p_type(endian) == elf::PT_TLS).map(|s| s.p_memsz(endian))
    };
    find().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    #[test]
    fn a_real_program_names_its_libraries() {
        let own = std::env::current_exe().unwrap();
        let facts = inspect(&own, Path::new("/")).unwrap();
        assert!(facts.needed.iter().any(|library| library.starts_with("libc.so")), "{facts:?}");
    }

    #[test]
    fn functions_that_a_program_imports_are_seen() {
        let own = std::env::current_exe().unwrap();
        // Each program of Rust imports these of the C library.
        assert!(calls(&own, "write") && calls(&own, "memcpy"));
        assert!(!calls(&own, "mpi_win_allocate_shared"));
        assert!(!calls(file(b"#!/bin/sh\n").path(), "write"));
        assert!(!calls(Path::new("/no such file"), "write"));
    }

    #[test]
    fn a_file_that_cannot_be_a_rank_is_refused_by_name() {
        let inspect = |bytes: &[u8]| inspect(file(bytes).path(), Path::new("/"));
        assert!(matches!(inspect(b"hello"), Err(ProgramError::NotAProgram(_))));
        assert!(inspect(b"#!/bin/sh\n").unwrap().script);
        let mut header = b"\x7fELF\x01\x01\x01".to_vec();
        header.resize(64, 0);
        assert!(matches!(inspect(&header), Err(ProgramError::WrongMachine(..))));
        header[4] = 2;
        header[18] = 0xb7;
        assert!(matches!(inspect(&header), Err(ProgramError::WrongMachine(..))));
        header[18] = 62;
        assert!(matches!(
            inspect(&header),
            Err(ProgramError::Damaged(_) | ProgramError::Static(_))
        ));
        assert_eq!(find("".as_ref(), Path::new("/"), "/bin".as_ref()), Err(ProgramError::Empty));
        let missing = find("./no such program".as_ref(), Path::new("/"), "".as_ref());
        assert_eq!(missing.unwrap_err().exit_code(), 127);
        let directory = find("./etc".as_ref(), Path::new("/"), "".as_ref());
        assert_eq!(directory.unwrap_err().exit_code(), 126);
    }

    #[test]
    fn open_mpi_is_distinguished_from_mpich() {
        for (library, open) in
            [("libmpi.so.40", true), ("libmpi.so.12", false), ("libmpich.so.12", false)]
        {
            assert_eq!(is_open_mpi(library), open, "{library}");
        }
    }

    proptest! {
        #[test]
        fn flipped_bytes_never_panic(at in 0usize..4096, value: u8) {
            let own = std::env::current_exe().unwrap();
            let mut bytes = Vec::new();
            File::open(own).unwrap().take(1 << 16).read_to_end(&mut bytes).unwrap();
            bytes[at] = value;
            let _ = inspect(file(&bytes).path(), Path::new("/"));
        }
    }
}
