//! Files that the process maps: which they are, and whether they are the same at the restore.

use crate::base::procfs::{Entry, numbered};
use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::strings::Strings;
use crate::base::syscalls;
use crate::base::text::Shown;
use crate::descriptors::kept_files;
use crate::memory::data_files::is_of_the_system;
use crate::memory::known_hashes::{self, Key};
use crate::memory::moved_files::Missing;
use core::ffi::CStr;
use ftmpi_checkpoint::stream::{File, HASHED_BYTES_MAX, Hash, Text, limit};
use ftmpi_wire::control::FileKey;

/// The index of a mapping's file in the table, which gets the file if it is new.
pub fn file_of(
    area: &ReservedArea,
    strings: &mut Strings,
    count: &mut usize,
    entry: &Entry<'_>,
    private: bool,
) -> Result<u32, Refused> {
    let files = area.files();
    for index in (0..*count).rev() {
        let known = strings.get(files[index].path) == entry.name;
        if known && files[index].inode == entry.inode {
            files[index].hashed |= u32::from(private);
            return Ok(index as u32);
        }
    }
    if *count == limit::FILES {
        return Err(area.refuse(Refusal::TooMany {
            what: "mapped files",
            most: limit::FILES,
            errno: libc::ENOMEM,
        }));
    }
    let path =
        strings.add(entry.name).map_err(|errno| area.refuse(Refusal::PathsTooLong { errno }))?;
    files[*count] =
        File { path, inode: entry.inode, hashed: u32::from(private), ..File::default() };
    *count += 1;
    Ok(*count as u32 - 1)
}

/// Fills in size and hash of all files, in the image child.
pub fn examine_files(area: &ReservedArea, strings: &Strings, count: usize) -> Result<(), Refused> {
    for file in area.files()[..count].iter_mut().filter(|file| file.nameless == 0) {
        let inode = file.inode;
        let shown = Shown(strings.get(file.path));
        let now = identify(area, strings, file.path, file.hashed != 0)
            .map_err(|errno| area.refuse(Refusal::MappedFileUnreadable { path: shown, errno }))?;
        if now.inode != inode {
            return Err(area.refuse(Refusal::MappedFileReplaced { path: shown }));
        }
        *file = now;
    }
    Ok(())
}

/// Whether the agent may be asked for files that it has kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptFiles {
    /// It answers.
    Asked,
    /// Nobody listens to a standby.
    NotAsked,
}

/// Compares the image's files with those of this host, in the new process. A file that is another
/// one now is taken from the agent, if the agent has kept it: then the path becomes that of a
/// descriptor, which [`crate::restore::resume`] closes. A program or library may also lie elsewhere
/// on this host ([`crate::memory::moved_files`]). `same_boot`: the image was taken on this boot of
/// this host.
pub fn check_files(
    area: &ReservedArea,
    strings: &mut Strings,
    count: usize,
    same_boot: bool,
    kept_files: KeptFiles,
) -> Result<(), Refused> {
    let mut missing = Missing::new();
    let files = area.files()[..count].iter_mut().enumerate();
    for (index, file) in files.filter(|(_, file)| file.nameless == 0) {
        let now = identify(area, strings, file.path, file.hashed != 0);
        if now.is_ok_and(|now| is_same(file, &now, same_boot)) {
            continue;
        }
        let ours = (same_boot || file.birth != 0) && kept_files == KeptFiles::Asked;
        let kept = if ours { kept_files::ask(key_of(file)) } else { None };
        if let Some(fd) = kept {
            let mut name = [0; 64];
            let path = numbered("fd", fd as u32, &mut name);
            // The byte behind the texts of the image stays zero.
            let added = strings.add(b"").and_then(|_| strings.add(path.to_bytes()));
            let path = added.map_err(|errno| area.refuse(Refusal::PathsTooLong { errno }))?;
            let kept = identify(area, strings, path, file.hashed != 0);
            // For a shared mapping the agent's word counts: it may have saved a copy.
            if kept.is_ok_and(|kept| file.hashed == 0 || is_same(file, &kept, same_boot)) {
                file.path = path;
                continue;
            }
        }
        if file.hashed == 0 || !missing.add(index) {
            return Err(refuse(area, strings, file.path));
        }
    }
    missing.find(area, strings)
}

/// Why the file at this path is not the one of the image.
pub fn refuse(area: &ReservedArea, strings: &Strings, path: Text) -> Refused {
    let shown = Shown(strings.get(path));
    area.refuse(match identify(area, strings, path, true) {
        Ok(_) => Refusal::MappedFileChanged { path: shown },
        Err(errno) => Refusal::MappedFileUnreadable { path: shown, errno },
    })
}

/// Whether a file is the one of the image: by its contents, or, if the mapping is shared, as the
/// same file.
pub fn is_same(file: &File, now: &File, same_boot: bool) -> bool {
    if file.hashed != 0 {
        return (file.size, file.hash) == (now.size, now.hash);
    }
    let births_agree = file.birth == 0 || now.birth == 0 || file.birth == now.birth;
    !same_boot || (file.device, file.inode) == (now.device, now.inode) && births_agree
}

fn key_of(file: &File) -> FileKey {
    FileKey { device: file.device, inode: file.inode, birth: file.birth }
}

/// Gives the agent the files of the program, in the image child. (Those of the system stay.)
pub fn offer(area: &ReservedArea, strings: &Strings, count: usize, image: u64) {
    for file in area.files()[..count].iter().filter(|file| file.nameless == 0) {
        if !is_of_the_system(strings.get(file.path)) {
            kept_files::offer_at(strings.c_str(file.path), key_of(file), image);
        }
    }
}

/// The file at this path, as an image has it.
pub fn identify(
    area: &ReservedArea,
    strings: &Strings,
    path: Text,
    hashed: bool,
) -> Result<File, i32> {
    let stat = syscalls::stat(strings.c_str(path))?;
    let mut file = File {
        path,
        size: stat.st_size as u64,
        device: stat.st_dev,
        inode: stat.st_ino,
        birth: syscalls::birth_at(libc::AT_FDCWD, strings.c_str(path), 0),
        hashed: u32::from(hashed),
        ..File::default()
    };
    if hashed {
        file.hash = hash_of(area, strings.c_str(path), Key::of(&stat))?;
    }
    Ok(file)
}

/// The hash of the file's contents: a note of an earlier image, or newly computed.
fn hash_of(area: &ReservedArea, path: &CStr, key: Key) -> Result<u64, i32> {
    if let Some(hash) = known_hashes::get(area, key) {
        return Ok(hash);
    }
    let begun = syscalls::real_time_ns();
    let fd = syscalls::open(path, libc::O_RDONLY | libc::O_CLOEXEC)?;
    // The file that was opened may be another one already.
    let opened = syscalls::fstat(fd).map(|stat| Key::of(&stat));
    let hash = hash_file(fd, area.content());
    syscalls::close(fd);
    let hash = hash?;
    if opened == Ok(key) {
        known_hashes::put(area, key, hash, begun);
    }
    Ok(hash)
}

fn hash_file(fd: i32, buffer: &mut [u8]) -> Result<u64, i32> {
    let mut hash = Hash::new();
    let mut offset = 0;
    while offset < HASHED_BYTES_MAX {
        let mut have = 0;
        while have < buffer.len() {
            match syscalls::pread(fd, &mut buffer[have..], offset + have as u64)? {
                0 => break,
                n => have += n,
            }
        }
        hash = hash.with(&buffer[..have]);
        offset += have as u64;
        if have < buffer.len() {
            break;
        }
    }
    Ok(hash.value())
}
