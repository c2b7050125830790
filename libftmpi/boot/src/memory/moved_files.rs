//! Programs and libraries that lie at other paths than where the image was taken.
//!
//! Guarantee: a file counts as the one of the image by its whole contents, which the image has as
//! size and hash. A file with the same name or build-id and other contents never does.
//!
//! The dynamic linker of the new process has found the libraries of this host. So what is mapped is
//! looked at first. Plug-ins are not loaded yet: they are looked for below the folders to which the
//! mapped ones have moved.

use crate::base::procfs::{self, Lines};
use crate::base::refusal::Refused;
use crate::base::reserved_area::ReservedArea;
use crate::base::strings::Strings;
use crate::base::syscalls;
use crate::memory::mapped_files::{identify, is_same, refuse};
use ftmpi_checkpoint::stream::{File, Text};

/// Files of an image that may have moved.
pub const MOVED_MAX: usize = 256;
/// Bytes of a path, as the kernel has it.
const PATH_BYTES: usize = 4096;

/// Files that were not found at their paths.
#[derive(Debug)]
pub struct Missing {
    indices: [u32; MOVED_MAX],
    /// Their paths in the image, once they are found elsewhere.
    before: [Option<Text>; MOVED_MAX],
    count: usize,
}

impl Missing {
    /// None is missing.
    pub const fn new() -> Self {
        Self { indices: [0; MOVED_MAX], before: [None; MOVED_MAX], count: 0 }
    }

    /// One more file. `false`: there are too many.
    pub fn add(&mut self, index: usize) -> bool {
        if self.count == MOVED_MAX {
            return false;
        }
        self.indices[self.count] = index as u32;
        self.count += 1;
        true
    }

    /// Finds all of them, and writes their paths of this host into the table of files.
    pub fn find(&mut self, area: &ReservedArea, strings: &mut Strings) -> Result<(), Refused> {
        if self.count == 0 {
            return Ok(());
        }
        let files = area.files();
        // The byte behind the texts of the image stays zero.
        if strings.add(b"").is_err() {
            let file = &files[self.indices[0] as usize];
            return Err(refuse(area, strings, file.path));
        }
        for at in 0..self.count {
            let file = &mut files[self.indices[at] as usize];
            if let Some(path) = among_mapped(area, strings, file) {
                self.before[at] = Some(file.path);
                file.path = path;
            }
        }
        for at in 0..self.count {
            let index = self.indices[at] as usize;
            if self.before[at].is_none() {
                match self.below_moved(area, strings, index) {
                    Some(path) => files[index].path = path,
                    None => return Err(refuse(area, strings, files[index].path)),
                }
            }
        }
        Ok(())
    }

    /// Looks for a file below the folders to which others have moved.
    fn below_moved(
        &self,
        area: &ReservedArea,
        strings: &mut Strings,
        index: usize,
    ) -> Option<Text> {
        let files = area.files();
        let file = files[index];
        for at in 0..self.count {
            let Some(before) = self.before[at] else { continue };
            let now = files[self.indices[at] as usize].path;
            let mut buffer = [0; PATH_BYTES];
            let (old, new) = folders(strings.get(before), strings.get(now));
            let Some(len) = in_folder(strings.get(file.path), old, new, &mut buffer) else {
                continue;
            };
            let found = is_at(area, strings, &file, &buffer[..len]);
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

/// Looks for a file among those that this process maps.
fn among_mapped(area: &ReservedArea, strings: &mut Strings, file: &File) -> Option<Text> {
    let mut lines = Lines::open(c"/proc/self/maps", area.text()).ok()?;
    while let Ok(Some(line)) = lines.next() {
        let Some(entry) = procfs::entry(line) else { continue };
        // Each file begins once.
        if entry.offset == 0 && entry.name.starts_with(b"/") {
            let found = is_at(area, strings, file, entry.name);
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

/// The path as a text, if the file of the image is there.
fn is_at(area: &ReservedArea, strings: &mut Strings, file: &File, path: &[u8]) -> Option<Text> {
    let before = strings.len();
    let text = strings.add(path).ok()?;
    let has_size = |stat: libc::stat| stat.st_size as u64 == file.size;
    // To hash a file takes time.
    let found = syscalls::stat(strings.c_str(text)).is_ok_and(has_size)
        && identify(area, strings, text, true).is_ok_and(|now| is_same(file, &now, false));
    if !found {
        strings.truncate(before);
    }
    found.then_some(text)
}

/// The folders of a file that has moved, without what its paths have in common at their ends.
fn folders<'a>(old: &'a [u8], new: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let alike = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let end = &old[old.len() - alike..];
    let Some(slash) = end.iter().position(|byte| *byte == b'/') else { return (old, new) };
    let len = end.len() - slash;
    (&old[..old.len() - len], &new[..new.len() - len])
}

/// Writes the path that a file of the old folder has in the new one; its length.
fn in_folder(path: &[u8], old: &[u8], new: &[u8], out: &mut [u8]) -> Option<usize> {
    let rest = path.strip_prefix(old).filter(|rest| rest.starts_with(b"/"))?;
    let len = new.len() + rest.len();
    if len >= out.len() {
        return None;
    }
    out[..new.len()].copy_from_slice(new);
    out[new.len()..len].copy_from_slice(rest);
    Some(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_what_differs_at_the_begin_of_two_paths() {
        let one: (&[u8], &[u8]) = (b"/opt/a", b"/srv/b");
        assert_eq!(folders(b"/opt/a/lib/libx.so", b"/srv/b/lib/libx.so"), one);
        // Whole names only.
        let two: (&[u8], &[u8]) = (b"/opt/xa", b"/srv/ya");
        assert_eq!(folders(b"/opt/xa/libx.so", b"/srv/ya/libx.so"), two);
        let other: (&[u8], &[u8]) = (b"/a/libx.so.1", b"/b/liby.so.1");
        assert_eq!(folders(other.0, other.1), other);
        let below: (&[u8], &[u8]) = (b"", b"/usr");
        assert_eq!(folders(b"/lib/x.so", b"/usr/lib/x.so"), below);
    }

    #[test]
    fn a_plug_in_is_looked_for_in_the_new_folder() {
        let is = |path: &[u8], old: &[u8], new: &[u8], wanted: Option<&[u8]>| {
            let mut out = [0; 32];
            let len = in_folder(path, old, new, &mut out);
            assert_eq!(len.map(|len| &out[..len]), wanted);
        };
        is(b"/opt/a/plug/p.so", b"/opt/a", b"/srv/b", Some(b"/srv/b/plug/p.so"));
        is(b"/opt/ab/p.so", b"/opt/a", b"/srv/b", None);
        is(b"/lib/p.so", b"", b"/usr", Some(b"/usr/lib/p.so"));
        is(b"/a/a-name-that-is-much-too-long.so", b"/a", b"/b", None);
    }
}
