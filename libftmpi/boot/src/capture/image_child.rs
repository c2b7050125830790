//! The image child: a copy-on-write copy of the process, which writes the image to the stream and
//! ends.
//!
//! The child runs on its copy of the reserved area's stack, with all signals blocked. It makes
//! system calls only. It changes protections of its own copy where the program has data that the
//! program itself may not read.

use crate::base::image_tables::{digest, tables};
use crate::base::procfs;
use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::strings::Strings;
use crate::base::syscalls;
use crate::capture::read_pages::ReadPages;
use crate::children::answer;
use crate::descriptors::{kept_files, memfd_or_deleted, small_files};
use crate::memory::page_attributes;
use crate::memory::page_scanner::Scanner;
use crate::memory::{mapped_files, mappings};
use crate::restore::validate_here;
use crate::tuning::{RECORD_BYTES, SPLICE_BYTES_MIN, ZERO_BYTES_MIN};
use core::mem::size_of;
use ftmpi_checkpoint::stream::{Map, RECORD_MAGIC, RecordHeader, Totals, kind, map};
use ftmpi_wire::control::fds;

/// Writes the image. Ends with 0 if the image is complete, 1 if it was refused (the stream tells
/// why), and 2 if the stream broke.
pub fn run(
    area: &ReservedArea,
    fd: i32,
    parent: i32,
    strings: Strings,
    survey: &mappings::Survey,
) -> ! {
    let process = area.process_state();
    let table = &mut area.descriptors()[..process.descriptors as usize];
    process.contents = small_files::leave_out_shared(area, table, process.contents);
    // (The agent would not know a child of the rank.)
    if !answer::is_under_way() {
        kept_files::offer(table, process.image_no);
    }
    // Pipes and sockets of the program must not stay open because of this child.
    close_all_but(fd);
    let mut stream = Stream {
        fd,
        parent,
        sequence: 0,
        page_bytes: 0,
        broken: false,
        splices: true,
        pages: ReadPages::new(fd),
    };
    let result = memfd_or_deleted::refuse_shared(area, &strings, parent)
        .and_then(|()| write(area, &mut stream, strings, survey));
    if stream.broken {
        syscalls::exit(2);
    }
    if result.is_err() {
        answer::refuse(area);
        stream.record(kind::REFUSED, 0, area.line().bytes());
        syscalls::exit(if stream.broken { 2 } else { 1 });
    }
    // The pipe refers to pages that this process still owns. Kernels before 5.8 let the parent
    // write to a page that no other process maps, even if a pipe refers to the page.
    syscalls::wait_until_read(fd, || syscalls::getppid() == parent);
    syscalls::exit(0);
}

/// Closes all descriptors but the stream, and the control socket until [`write`] needs it no more.
fn close_all_but(fd: i32) {
    let (low, high) = (fd.min(fds::CONTROL) as u32, fd.max(fds::CONTROL) as u32);
    if low > 0 {
        syscalls::close_range(0, low - 1);
    }
    syscalls::close_range(low + 1, high.saturating_sub(1));
    syscalls::close_range(high + 1, u32::MAX);
}

struct Stream {
    fd: i32,
    /// The process whose image this is. If that process ends, the image is of no use: the child
    /// looks before each record.
    ///
    /// `PR_SET_PDEATHSIG` would come too early: when the thread ends that took the image. A child
    /// that waits in a write goes on when the agent reads, and gets an error when the agent has
    /// ended. The agent also kills the process group of a rank that has died.
    parent: i32,
    sequence: u64,
    page_bytes: u64,
    broken: bool,
    /// Pages go into the pipe by `vmsplice`.
    splices: bool,
    /// The pages that were read, which this process gives up.
    pages: ReadPages,
}

impl Stream {
    fn record(&mut self, kind: u32, at: u64, bytes: &[u8]) {
        self.record_from(kind, at, bytes.as_ptr() as usize, bytes.len());
    }

    fn table<T>(&mut self, kind: u32, table: &[T]) {
        self.record_from(kind, 0, table.as_ptr() as usize, size_of_val(table));
    }

    fn record_from(&mut self, kind: u32, at: u64, address: usize, len: usize) {
        self.broken |= syscalls::getppid() != self.parent;
        if self.broken {
            return;
        }
        let header = RecordHeader {
            magic: RECORD_MAGIC,
            kind,
            sequence: self.sequence,
            at,
            len: len as u64,
        };
        let header_address = &raw const header as usize;
        let mut result = syscalls::write_from(self.fd, header_address, size_of::<RecordHeader>());
        self.pages.wrote(size_of::<RecordHeader>());
        let mut spliced = 0;
        if kind == kind::PAGES && self.splices && len >= SPLICE_BYTES_MIN && result.is_ok() {
            // SAFETY: this process writes to none of its pages that are part of an image. It keeps
            // them until they were read, or until `run` has waited.
            match unsafe { syscalls::vmsplice_from(self.fd, address, len) } {
                Ok(bytes) => spliced = bytes,
                Err(errno) => result = Err(errno),
            }
            self.splices = spliced == len;
            if self.splices {
                self.pages.spliced(address, len);
                self.sequence += 1;
                return;
            }
        }
        self.broken = result
            .and_then(|()| syscalls::write_from(self.fd, address + spliced, len - spliced))
            .is_err();
        self.pages.wrote(len);
        self.sequence += 1;
    }
}

fn write(
    area: &ReservedArea,
    stream: &mut Stream,
    mut strings: Strings,
    survey: &mappings::Survey,
) -> Result<(), Refused> {
    let found = mappings::inventory(area, &mut strings, survey.data_files)?;
    if found.fingerprint != survey.fingerprint {
        return Err(area.refuse(Refusal::NotForked));
    }
    mapped_files::examine_files(area, &strings, found.files)?;
    let process = area.process_state();
    if !answer::is_under_way() {
        mapped_files::offer(area, &strings, found.files, process.image_no);
    }
    if stream.fd != fds::CONTROL {
        // The agent must see at once when the rank closes it.
        syscalls::close(fds::CONTROL);
    }
    let mut scanner = Scanner::new();
    page_attributes::find_guards(area, &mut scanner, &area.maps()[..found.maps])?;
    process.files = found.files as u32;
    process.maps = found.maps as u32;
    process.strings_len = strings.len() as u32;
    validate_here::refuse_invalid(area, &survey.layout)?;
    process.digest = 0;
    process.digest = digest(&tables(area, area.process_state()));
    stream.table(kind::PROCESS, core::slice::from_ref(&*process));
    stream.table(kind::DESCRIPTORS, &area.descriptors()[..process.descriptors as usize]);
    stream.table(kind::FILES, &area.files()[..found.files]);
    stream.table(kind::MAPS, &area.maps()[..found.maps]);
    stream.record(kind::STRINGS, 0, &area.strings()[..strings.len()]);
    stream.table(kind::THREADS, &area.threads()[..process.threads as usize]);
    stream.table(kind::TIMERS, &area.timers()[..process.posix_timers as usize]);
    stream.table(kind::SIGNALS, &area.signals()[..process.signals as usize]);
    stream.table(kind::LOCKS, &area.locks()[..process.locks as usize]);
    stream.table(kind::RANGES, &area.ranges()[..process.ranges as usize]);
    stream.table(kind::WATCHES, &area.watches()[..process.watches as usize]);
    for piece in &area.pieces()[..process.contents as usize] {
        stream.record_from(kind::CONTENTS, piece.at, piece.copy, piece.len);
    }
    for entry in &area.maps()[..found.maps] {
        if stream.broken {
            return Ok(());
        }
        stream.pages.begin_mapping(entry);
        if let Err(refused) = pages_of(area, stream, &mut scanner, entry, survey) {
            // If a file was cut meanwhile, that is the reason.
            survey.data_files.unchanged(area, &strings)?;
            return Err(refused);
        }
    }
    survey.data_files.unchanged(area, &strings)?;
    let totals = Totals { records: stream.sequence, page_bytes: stream.page_bytes };
    stream.table(kind::END, &[totals]);
    Ok(())
}

/// Writes the private pages of a mapping.
fn pages_of(
    area: &ReservedArea,
    stream: &mut Stream,
    scanner: &mut Scanner,
    entry: &Map,
    survey: &mappings::Survey,
) -> Result<(), Refused> {
    let shared = entry.flags & map::SHARED != 0;
    if shared && entry.file != map::NO_FILE || entry.flags & map::DROPPABLE != 0 {
        return Ok(());
    }
    if entry.flags & map::CONTENTS != 0 {
        return contents_of(area, stream, entry);
    }
    let mut source = entry.start;
    if shared {
        let copies = &area.copies()[..survey.copies];
        let copy = copies.iter().find(|copy| copy.start as u64 == entry.start);
        source = copy
            .map(|copy| copy.copy as u64)
            .ok_or_else(|| area.refuse(Refusal::SharedMappingAppeared))?;
    }
    // The protection is changed in this copy of the process only, and only if there is anything to
    // read.
    let mut readable = shared || entry.prot & libc::PROT_READ as u32 != 0;
    let len = entry.end - entry.start;
    scanner
        .each(area, source, source + len, |from, to| {
            if !readable {
                let prot = libc::PROT_READ | entry.prot as i32;
                // SAFETY: nothing runs here that relies on the memory being inaccessible.
                unsafe { syscalls::protect(entry.start as usize, len as usize, prot) }?;
                readable = true;
            }
            // Memory without a file is zero again in a new process.
            let sparse = entry.file == map::NO_FILE;
            let mut begin = from;
            while begin < to {
                if sparse {
                    begin += zero_bytes(begin, to);
                }
                // Not the whole run at once: the reader works while this process looks for zeros.
                let stop = (begin / RECORD_BYTES + 1) * RECORD_BYTES;
                let end = if sparse { next_zeros(begin, to.min(stop)) } else { to };
                if end > begin {
                    let at = entry.start + (begin - source);
                    stream.record_from(kind::PAGES, at, begin as usize, (end - begin) as usize);
                    stream.page_bytes += end - begin;
                }
                begin = end;
                if stream.broken {
                    return Err(libc::EPIPE);
                }
            }
            Ok(())
        })
        .or_else(|errno| {
            if stream.broken {
                return Ok(());
            }
            Err(area.refuse(Refusal::Pages { at: entry.start, errno }))
        })
}

/// Writes everything that a mapping shows. Behind the end of its file a mapping shows nothing.
fn contents_of(area: &ReservedArea, stream: &mut Stream, entry: &Map) -> Result<(), Refused> {
    let failed = |errno| area.refuse(Refusal::Pages { at: entry.start, errno });
    let len = (entry.end - entry.start) as usize;
    if entry.prot & libc::PROT_READ as u32 == 0 {
        let prot = libc::PROT_READ | entry.prot as i32;
        // SAFETY: nothing runs here that relies on the memory being inaccessible.
        unsafe { syscalls::protect(entry.start as usize, len, prot) }.map_err(failed)?;
    }
    // By `/proc/self/mem`: a load behind the end of the file would kill this process.
    let memory =
        procfs::open_own(c"/proc/self/mem", libc::O_RDONLY | libc::O_CLOEXEC).map_err(failed)?;
    let buffer = area.content();
    let (shown, known) = (entry.start + entry.offset, entry.offset != 0);
    let mut at = entry.start;
    let mut result = Ok(());
    while at < entry.end && !stream.broken {
        let want = buffer.len().min((entry.end - at) as usize);
        match syscalls::pread(memory, &mut buffer[..want], at) {
            // Behind the end of the file there is nothing more. A disk that fails is another
            // matter.
            Ok(0) | Err(libc::EIO)
                if at >= shown
                    && (known
                        || syscalls::pread(memory, &mut buffer[..1], entry.end - PAGE)
                            .is_err()) =>
            {
                break;
            }
            Ok(0) => {
                result = Err(failed(libc::EIO));
                break;
            }
            Ok(have) => {
                // A torn end: the readable part of the last page.
                let whole = have.next_multiple_of(PAGE as usize);
                buffer[have..whole].fill(0);
                // Copied: pages in the pipe may still be unread when the next piece comes into the
                // buffer.
                if buffer[..whole].iter().any(|byte| *byte != 0) {
                    let splices = core::mem::replace(&mut stream.splices, false);
                    stream.record(kind::PAGES, at, &buffer[..whole]);
                    stream.splices = splices;
                    stream.page_bytes += whole as u64;
                }
                at += whole as u64;
            }
            Err(errno) => {
                result = Err(failed(errno));
                break;
            }
        }
    }
    syscalls::close(memory);
    result
}

const PAGE: u64 = 4096;

/// Bytes of whole zero pages from `start` on, up to `end`.
fn zero_bytes(start: u64, end: u64) -> u64 {
    let mut at = start;
    while at < end {
        // SAFETY: a page of this process's own copy, readable (see `pages_of`), written by nobody.
        let words = unsafe { &*(at as *const [u64; 512]) };
        // The first words show it for most pages.
        if words[0] != 0 || words[64] != 0 || words.iter().fold(0, |all, word| all | word) != 0 {
            break;
        }
        at += PAGE;
    }
    at - start
}

/// Where zeros begin that are worth the end of a record, or `end`.
fn next_zeros(start: u64, end: u64) -> u64 {
    let mut at = start;
    while at < end {
        // From behind: where there are few zeros, most pages need no look.
        let stop = (at + ZERO_BYTES_MIN).min(end);
        let mut zeros = stop;
        while zeros > at && zero_bytes(zeros - PAGE, zeros) == PAGE {
            zeros -= PAGE;
        }
        if zeros == at {
            break;
        }
        at = zeros;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES: usize = 80;

    #[repr(align(4096))]
    struct Memory([[u64; 512]; PAGES]);

    /// Rows of zeros of many lengths, at all places.
    #[test]
    fn the_first_long_row_of_zeros_is_found() {
        let mut memory = Memory([[0; 512]; PAGES]);
        let mut random = 88_172_645_463_325_252_u64;
        let mut draw = |below: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random % below) as usize
        };
        for round in 0..1000 {
            let (mut left, mut zeros) = (0, false);
            let mut is_zero = [false; PAGES];
            for (page, is_zero) in is_zero.iter_mut().enumerate() {
                if left == 0 {
                    (left, zeros) = (1 + draw(if round % 2 == 0 { 24 } else { 3 }), !zeros);
                }
                left -= 1;
                *is_zero = zeros;
                memory.0[page] = [0; 512];
                memory.0[page][draw(512)] = u64::from(!zeros);
            }
            let start = memory.0.as_ptr() as u64;
            for (from, to) in [(0, PAGES), (round % 30, PAGES - round % 7), (5, 5), (70, PAGES)] {
                let is_row = |at: &usize| {
                    let stop = (at + (ZERO_BYTES_MIN / PAGE) as usize).min(to);
                    is_zero[*at..stop].iter().all(|zero| *zero)
                };
                let wanted = (from..to).find(is_row).unwrap_or(to);
                let page = |at: usize| start + at as u64 * PAGE;
                assert_eq!(next_zeros(page(from), page(to)), page(wanted), "round {round}");
            }
        }
    }
}
