//! What is loaded in this process: the program and its libraries, with their build-ids.
//!
//! The agent compares the list with that of the rank's first incarnation, so that no rank goes on
//! as another program because a file was replaced while the job ran.

use ftmpi_checkpoint::stream::Hash;
use ftmpi_wire::control::LoadedObject;
use std::ffi::{CStr, c_int, c_void};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;

/// Bytes of the whole list, at most: it fits into one datagram.
const LIST_BYTES_MAX: usize = 96 << 10;
/// Bytes of a file without a build-id that are looked at.
const HASHED_BYTES_MAX: u64 = 64 << 20;
/// The type of the note that holds a build-id (elf.h).
const NT_GNU_BUILD_ID: u32 = 3;

/// All objects, in the order of their loading: the program first.
pub(crate) fn objects() -> Vec<LoadedObject> {
    let mut all: Vec<LoadedObject> = Vec::new();
    // SAFETY: `note` takes what is passed here, and keeps nothing.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut all).cast()) };
    let mut bytes = 0;
    let fits = |object: &LoadedObject| {
        bytes += object.path.len() + object.id.len() + 8;
        bytes < LIST_BYTES_MAX
    };
    all.into_iter().take_while(fits).map(with_id).collect()
}

/// An object without a build-id is known by the contents of its file.
fn with_id(mut object: LoadedObject) -> LoadedObject {
    if object.id.is_empty() {
        let path = std::ffi::OsString::from_vec(object.path.clone());
        let mut contents = Vec::new();
        let read = File::open(path)
            .and_then(|file| file.take(HASHED_BYTES_MAX).read_to_end(&mut contents));
        if read.is_ok() {
            object.id = Hash::new().with(&contents).value().to_le_bytes().to_vec();
        }
    }
    object
}

/// # Safety
/// As `dl_iterate_phdr` calls it; `all` is the list.
unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _: usize, all: *mut c_void) -> c_int {
    // SAFETY: by the caller.
    let (info, all) = unsafe { (&*info, &mut *all.cast::<Vec<LoadedObject>>()) };
    let name = if info.dlpi_name.is_null() {
        &[][..]
    } else {
        // SAFETY: the dynamic linker's name of the object, terminated.
        unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes()
    };
    let path = match name {
        [] if all.is_empty() => own_program(),
        // What the kernel maps has no file.
        name if name.contains(&b'/') => name.to_vec(),
        _ => return 0,
    };
    // SAFETY: the object's program headers, as the dynamic linker gives them.
    let headers =
        unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let notes = headers.iter().filter(|header| header.p_type == libc::PT_NOTE).map(|header| {
        let at = (info.dlpi_addr + header.p_vaddr) as *const u8;
        // SAFETY: notes are part of a loaded segment.
        let bytes = unsafe { std::slice::from_raw_parts(at, header.p_memsz as usize) };
        (bytes, (header.p_align as usize).clamp(4, 8))
    });
    let id = notes.filter_map(|(bytes, align)| build_id(bytes, align)).next();
    all.push(LoadedObject { path, id: id.unwrap_or_default().to_vec() });
    0
}

/// The file of this program. The kernel tells if its name is gone.
fn own_program() -> Vec<u8> {
    let path = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    let path = path.into_os_string().into_vec();
    path.strip_suffix(b" (deleted)").map_or(path.clone(), <[u8]>::to_vec)
}

/// The build-id among the notes of a segment.
fn build_id(mut notes: &[u8], align: usize) -> Option<&[u8]> {
    let word = |bytes: &[u8], at: usize| {
        bytes.get(at..at + 4).map(|b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]]))
    };
    loop {
        let (name, len) = (word(notes, 0)? as usize, word(notes, 4)? as usize);
        let kind = word(notes, 8)?;
        let from = 12usize.checked_add(name)?.next_multiple_of(align);
        let to = from.checked_add(len)?;
        if kind == NT_GNU_BUILD_ID && notes.get(12..12 + name) == Some(b"GNU\0") {
            return notes.get(from..to);
        }
        notes = notes.get(to.next_multiple_of(align)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_comes_first_and_every_object_has_an_id() {
        let all = objects();
        let own = std::env::current_exe().unwrap();
        assert_eq!(all[0].path, own.into_os_string().into_vec());
        assert!(all.iter().any(|object| object.path.windows(7).any(|part| part == b"libc.so")));
        assert!(all.iter().all(|object| object.id.len() >= 8), "{all:?}");
    }

    #[test]
    fn a_build_id_is_found_behind_other_notes_and_damage_is_no_end() {
        let mut notes = Vec::new();
        for (kind, contents) in [(1u32, &[9u8; 5][..]), (NT_GNU_BUILD_ID, &[7; 20])] {
            for number in [4, contents.len() as u32, kind] {
                notes.extend(number.to_ne_bytes());
            }
            notes.extend(b"GNU\0");
            notes.extend(contents);
            notes.resize(notes.len().next_multiple_of(4), 0);
        }
        assert_eq!(build_id(&notes, 4), Some(&[7; 20][..]));
        for len in 0..notes.len() {
            let _ = build_id(&notes[..len], 4);
        }
        notes[4..8].fill(0xff);
        assert_eq!(build_id(&notes, 4), None);
    }
}
