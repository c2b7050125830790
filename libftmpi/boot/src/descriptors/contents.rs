//! Contents of files without a name, of small files, of pipes and of sockets: copied for an image,
//! and read from an image.
//!
//! The copies are made while the process stands still, in the range of copies; the image child
//! writes them from there. A new process makes files and pipes before its memory is replaced,
//! because files may be mapped.

use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::strings::Strings;
use crate::base::syscalls;
use crate::base::text::Shown;
use crate::descriptors::{memfd_or_deleted, pipe, small_files, socket, socket_pair};
use crate::memory::copies::Copies;
use crate::restore::image_reader::{damaged, read_header};
use ftmpi_checkpoint::boot_abi::{EXIT_IMAGE_DAMAGED, EXIT_IMAGE_MISFIT};
use ftmpi_checkpoint::stream::{
    Descriptor, ProcessState, content_at, descriptor as how, kind, limit, validate,
};
use ftmpi_wire::control::fds;

/// Copies the contents of all descriptors that have any. Fills the table of pieces, and gives
/// their number.
pub fn copy(
    area: &ReservedArea,
    strings: &Strings,
    table: &mut [Descriptor],
    copies: &mut Copies,
) -> Result<u32, Refused> {
    for (index, entry) in table.iter_mut().enumerate() {
        match entry.how {
            how::RECREATE => memfd_or_deleted::copy(area, index, entry, copies),
            how::PIPE => pipe::copy(area, index, entry, copies),
            how::PAIR => socket_pair::copy(area, index, entry, copies),
            how::SOCKET => socket::copy(area, index, entry, copies),
            _ if entry.has_contents() => {
                small_files::copy(area, index, entry, copies);
                Ok(())
            }
            _ => Ok(()),
        }
        .map_err(|errno| {
            let (fd, path) = (entry.fd, Shown(strings.get(entry.path)));
            area.refuse(Refusal::ContentsNotCopied { fd, path, errno })
        })?;
    }
    Ok(copies.pieces() as u32)
}

/// A refusal, and the exit code of the process.
pub type Failure = (i32, Refused);

/// Makes the files, pipes and sockets, and fills them from the stream, before the memory of the new
/// process is replaced.
pub fn restore(area: &ReservedArea, process: &ProcessState) -> Result<(), Failure> {
    let strings = Strings::loaded(area, process.strings_len as usize);
    let table = &mut area.descriptors()[..process.descriptors as usize];
    // Sockets may be bound to relative paths. A folder that is missing is told later.
    let folder = strings.c_str(process.cwd);
    // SAFETY: terminated path.
    let _ = unsafe { syscalls::call!(libc::SYS_chdir, folder.as_ptr()) };
    for entry in table.iter_mut() {
        match entry.how {
            how::RECREATE => memfd_or_deleted::create(&strings, entry),
            how::PIPE | how::PIPE_END => pipe::create(entry),
            how::PAIR => socket_pair::create(entry),
            _ if entry.has_contents() => small_files::create(entry),
            _ => Ok(()),
        }
        .map_err(|errno| {
            let (fd, path) = (entry.fd, Shown(strings.get(entry.path)));
            (EXIT_IMAGE_MISFIT, area.refuse(Refusal::NotMade { fd, path, errno }))
        })?;
    }
    let mut before = None;
    for sequence in 0..u64::from(process.contents) {
        before = Some(fill_next(area, table, before, sequence)?);
    }
    for entry in &*table {
        match entry.how {
            how::PIPE | how::PIPE_END => pipe::close_other(entry),
            how::PAIR => socket_pair::close_other(entry),
            _ => {}
        }
    }
    for entry in table.iter().filter(|entry| entry.how == how::RECREATE) {
        memfd_or_deleted::seal_early(entry).map_err(|errno| {
            (EXIT_IMAGE_MISFIT, area.refuse(Refusal::NotSealed { fd: entry.fd, errno }))
        })?;
    }
    Ok(())
}

/// Reads the next record of contents into its file or pipe. Gives place and length of the record.
fn fill_next(
    area: &ReservedArea,
    table: &[Descriptor],
    before: Option<(u64, u64)>,
    sequence: u64,
) -> Result<(u64, u64), Failure> {
    let broken = |refused| (EXIT_IMAGE_DAMAGED, refused);
    let header = read_header(area).map_err(broken)?;
    if header.kind != kind::CONTENTS
        || header.sequence != u64::from(kind::LAST_TABLE) + sequence
        || header.len > limit::CONTENT_BYTES
    {
        return Err(broken(damaged(area, "its parts are not as they should be")));
    }
    let entry = table
        .get((header.at >> 48) as usize)
        .filter(|_| validate::content_fits(table, before, header.at, header.len))
        .ok_or_else(|| broken(damaged(area, "contents of no file")))?;
    let offset = content_at(0, header.at);
    let filled = match entry.how {
        how::PIPE => pipe::fill(area, entry, fds::IMAGE, header.len),
        how::PAIR => socket_pair::fill(area, entry, fds::IMAGE, header.len),
        how::SOCKET => socket::fill(entry, fds::IMAGE),
        _ => memfd_or_deleted::fill(area, entry, fds::IMAGE, (offset, header.len)),
    };
    filled.map_err(|errno| match errno {
        libc::EBADMSG => broken(damaged(area, "it breaks off")),
        _ if entry.how == how::SOCKET => {
            (EXIT_IMAGE_MISFIT, area.refuse(Refusal::SocketNotMade { fd: entry.fd, errno }))
        }
        _ => (EXIT_IMAGE_MISFIT, area.refuse(Refusal::NotFilled { fd: entry.fd, errno })),
    })?;
    Ok((header.at, header.len))
}
