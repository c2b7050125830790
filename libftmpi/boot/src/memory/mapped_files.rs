//! Files that the process maps: which they are, and whether they are the same at the restore.

use crate::base::procfs::Entry;
use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::strings::Strings;
use crate::base::syscalls;
use crate::base::text::Shown;
use ftmpi_checkpoint::stream::{File, HASHED_BYTES_MAX, Hash, Text, limit};

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

/// Compares the image's files with those of this host, in the new process.
pub fn check_files(area: &ReservedArea, strings: &Strings, count: usize) -> Result<(), Refused> {
    for file in area.files()[..count].iter().filter(|file| file.nameless == 0) {
        let shown = Shown(strings.get(file.path));
        let now = identify(area, strings, file.path, file.hashed != 0)
            .map_err(|errno| area.refuse(Refusal::MappedFileUnreadable { path: shown, errno }))?;
        if file.hashed != 0 && (file.size, file.hash) != (now.size, now.hash) {
            return Err(area.refuse(Refusal::MappedFileChanged { path: shown }));
        }
    }
    Ok(())
}

fn identify(area: &ReservedArea, strings: &Strings, path: Text, hashed: bool) -> Result<File, i32> {
    let stat = syscalls::stat(strings.c_str(path))?;
    let mut file = File {
        path,
        size: stat.st_size as u64,
        device: stat.st_dev,
        inode: stat.st_ino,
        hashed: u32::from(hashed),
        ..File::default()
    };
    if hashed {
        let fd = syscalls::open(strings.c_str(path), libc::O_RDONLY | libc::O_CLOEXEC)?;
        let hash = hash_file(fd, area.content());
        syscalls::close(fd);
        file.hash = hash?;
    }
    Ok(file)
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
