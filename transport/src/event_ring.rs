//! The event ring: shared memory between a rank and the event logger of its own computer. A
//! determinant is stored there at the moment at which it is written.
//!
//! It is a file of the logger's directory that both have mapped. So what is in it survives the
//! death of the rank, of the logger and of both, like what the logger has written into its log. A
//! rank need not wait for an acknowledgement of what it has [put](Writer::put) there. The logger
//! carries it into its log later, and in any case before it answers a question about it.
//!
//! Guarantees:
//! - What [`Writer::put`] stored is given by [`Reader::take`], whichever process dies when, and
//!   nothing else is. The position is published by one compare-exchange, after the bytes.
//! - After [`Reader::seal`] nothing is stored any more, until [`Reader::unseal`]: the seal is a bit
//!   of the writer's position. A logger that seals all rings has them all at one instant.
//! - Any bytes that the other side writes into it lead to no address outside of the ring.
//!
//! ```text
//! 0 magic u64 | cookie u64 | rank u64 | incarnation u64 | boot id (64 bytes)
//! 1024 position of the writer u64 | 2048 position of the reader u64 | 4096 bytes, as a ring
//! ```

use ftmpi_wire::{Incarnation, Rank};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

const MAGIC: u64 = u64::from_le_bytes(*b"FTMPIER1");
/// Bytes of the ring.
pub const CAPACITY: usize = 1 << 20;
const DATA: usize = 4096;
/// Bytes of the file.
pub const FILE_BYTES: usize = DATA + CAPACITY;
const BOOT: usize = 32;
const BOOT_BYTES: usize = 64;
const TAIL: usize = 1024;
const HEAD: usize = 2048;
/// In the writer's position: nothing more may be stored.
const SEALED: u64 = 1 << 63;

/// The mapped file; its owner unmaps it, or lets it be.
#[derive(Debug, Clone, Copy)]
struct Memory {
    base: *mut u8,
}

impl Memory {
    /// Maps the file, where it is wanted or anywhere.
    ///
    /// # Safety
    /// At `at`, if it is not null, are [`FILE_BYTES`] of address space that nothing else uses.
    unsafe fn map(fd: i32, at: *mut u8) -> io::Result<Self> {
        // SAFETY: an all-zero `stat` is valid and `fstat` fills it.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: `stat` lives over the call.
        if unsafe { libc::fstat(fd, &raw mut stat) } != 0 {
            return Err(io::Error::last_os_error());
        }
        if stat.st_size != FILE_BYTES as libc::off_t {
            return Err(io::Error::other("an event ring has another length"));
        }
        let fixed = if at.is_null() { 0 } else { libc::MAP_FIXED };
        // SAFETY: the caller gives the range at `at` away; otherwise the kernel chooses one.
        let base = unsafe {
            libc::mmap(
                at.cast(),
                FILE_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | fixed,
                fd,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { base: base.cast() })
    }

    #[inline]
    fn word(&self, offset: usize) -> &AtomicU64 {
        debug_assert!(offset.is_multiple_of(8) && offset < DATA);
        // SAFETY: the offset is a constant of this module within the mapped file, and aligned;
        // words of shared memory are only accessed atomically.
        unsafe { &*self.base.add(offset).cast::<AtomicU64>() }
    }

    /// Place of a position in the ring, and how many of `len` bytes lie before its end.
    #[inline]
    fn parts(position: u64, len: usize) -> (usize, usize) {
        let at = (position % CAPACITY as u64) as usize;
        (at, len.min(CAPACITY - at))
    }

    #[inline]
    fn write(&self, position: u64, bytes: &[u8]) {
        let (at, first) = Self::parts(position, bytes.len());
        // SAFETY: both pieces lie within the ring, which only this process writes to there: the
        // reader has given this part back, or never had it.
        unsafe {
            ptr::copy_nonoverlapping(bytes.as_ptr(), self.base.add(DATA + at), first);
            let rest = bytes.len() - first;
            ptr::copy_nonoverlapping(bytes.as_ptr().add(first), self.base.add(DATA), rest);
        }
    }

    fn read(&self, position: u64, len: usize, out: &mut Vec<u8>) {
        let (at, first) = Self::parts(position, len);
        let begin = out.len();
        out.resize(begin + len, 0);
        // SAFETY: both pieces lie within the ring. A correct writer does not touch what it has
        // published. If a writer does, other bytes are read, which are checked as all are.
        unsafe {
            let to = out.as_mut_ptr().add(begin);
            ptr::copy_nonoverlapping(self.base.add(DATA + at), to, first);
            ptr::copy_nonoverlapping(self.base.add(DATA), to.add(first), len - first);
        }
    }

    fn boot(&self) -> [u8; BOOT_BYTES] {
        let mut boot = [0; BOOT_BYTES];
        for (n, part) in boot.chunks_exact_mut(8).enumerate() {
            let word = self.word(BOOT + 8 * n).load(Ordering::Relaxed);
            part.copy_from_slice(&word.to_le_bytes());
        }
        boot
    }
}

fn boot_bytes(boot: &str) -> [u8; BOOT_BYTES] {
    let mut bytes = [0; BOOT_BYTES];
    let len = boot.len().min(BOOT_BYTES);
    bytes[..len].copy_from_slice(&boot.as_bytes()[..len]);
    bytes
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// It is stored.
    Stored,
    /// There is no room now, or nothing may be stored.
    Refused,
}

/// The rank's end. It does not unmap: a restored process has nothing there, and says so by dropping
/// it.
#[derive(Debug)]
pub struct Writer {
    memory: Memory,
    tail: u64,
    head: u64,
}

/// The file that another process of this computer has open under this number.
///
/// # Errors
/// There is none, or it is not for us.
pub fn file_of(process: u32, descriptor: u32) -> io::Result<File> {
    let path = format!("/proc/{process}/fd/{descriptor}");
    // The number may belong to something else here: opening it must have no consequences.
    let harmless = libc::O_NOCTTY | libc::O_NONBLOCK;
    let file = File::options().read(true).write(true).custom_flags(harmless).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("an event ring is a file"));
    }
    Ok(file)
}

impl Writer {
    /// Maps the ring anywhere.
    ///
    /// # Errors
    /// As [`Writer::map`].
    pub fn map_anywhere(file: &File, cookie: u64) -> io::Result<Self> {
        // SAFETY: no address is asked for.
        unsafe { Self::map(file.as_raw_fd(), ptr::null_mut(), cookie) }
    }

    /// Maps the ring behind descriptor `fd` at the fixed address `at`.
    ///
    /// # Errors
    /// It is no ring, or not the one with this cookie.
    ///
    /// # Safety
    /// `at` is the start of [`FILE_BYTES`] of address space that nothing else uses.
    pub unsafe fn map(fd: i32, at: *mut u8, cookie: u64) -> io::Result<Self> {
        // SAFETY: by the caller.
        let memory = unsafe { Memory::map(fd, at)? };
        let get = |offset| memory.word(offset).load(Ordering::Acquire);
        // (It may be sealed, for the moment of a round or for ever.)
        if get(0) != MAGIC || get(8) != cookie || get(TAIL) & !SEALED != 0 {
            return Err(io::Error::other("this is not the event ring that was meant"));
        }
        Ok(Self { memory, tail: 0, head: 0 })
    }

    /// Stores bytes, all or none of them.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) -> Put {
        let len = bytes.len() as u64;
        if self.tail + len > self.head + CAPACITY as u64 {
            self.head = self.memory.word(HEAD).load(Ordering::Acquire).min(self.tail);
            if self.tail + len > self.head + CAPACITY as u64 {
                return Put::Refused;
            }
        }
        self.memory.write(self.tail, bytes);
        let word = self.memory.word(TAIL);
        let next = self.tail + len;
        match word.compare_exchange(self.tail, next, Ordering::SeqCst, Ordering::Relaxed) {
            Ok(_) => {
                self.tail = next;
                Put::Stored
            }
            Err(_) => Put::Refused,
        }
    }

    /// Whether it was more than half full when the reader was seen last.
    #[inline]
    #[must_use]
    pub fn fills_up(&self) -> bool {
        self.tail - self.head > CAPACITY as u64 / 2
    }

    /// Looks where the reader is.
    pub fn look(&mut self) {
        self.head = self.memory.word(HEAD).load(Ordering::Acquire).min(self.tail);
    }
}

/// The logger's end.
#[derive(Debug)]
pub struct Reader {
    memory: Memory,
    file: File,
    /// Taken up to here.
    taken: u64,
    /// Given back up to here.
    given: u64,
}

impl Drop for Reader {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and `Memory` is not handed out.
        unsafe { libc::munmap(self.memory.base.cast(), FILE_BYTES) };
    }
}

impl Reader {
    /// Makes an empty file a ring. Its room is reserved at once: no later write to it can fail.
    ///
    /// # Errors
    /// There is no room.
    pub fn make(
        file: File,
        cookie: u64,
        rank: Rank,
        incarnation: Incarnation,
        boot: &str,
    ) -> io::Result<Self> {
        // SAFETY: a plain system call on a descriptor of ours.
        let error =
            unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, FILE_BYTES as libc::off_t) };
        if error != 0 {
            return Err(io::Error::from_raw_os_error(error));
        }
        // SAFETY: no address is asked for.
        let memory = unsafe { Memory::map(file.as_raw_fd(), ptr::null_mut())? };
        let set = |offset, what: u64| memory.word(offset).store(what, Ordering::Release);
        set(8, cookie);
        set(16, u64::from(rank.0));
        set(24, u64::from(incarnation.0));
        for (n, part) in boot_bytes(boot).chunks_exact(8).enumerate() {
            set(BOOT + 8 * n, u64::from_le_bytes(part.try_into().expect("8 bytes")));
        }
        set(0, MAGIC);
        Ok(Self { memory, file, taken: 0, given: 0 })
    }

    /// A ring that an earlier logger made, with its rank and incarnation. `None` if nothing was
    /// promised of its contents: it was never finished, or is of another boot of the system.
    ///
    /// # Errors
    /// It cannot be opened now, or is damaged.
    pub fn open(file: File, boot: &str) -> io::Result<Option<(Self, Rank, Incarnation)>> {
        if file.metadata()?.len() != FILE_BYTES as u64 {
            // It was being made.
            return Ok(None);
        }
        // SAFETY: no address is asked for.
        let memory = unsafe { Memory::map(file.as_raw_fd(), ptr::null_mut())? };
        let given = memory.word(HEAD).load(Ordering::Acquire);
        let reader = Self { memory, file, taken: given, given };
        let get = |offset| reader.memory.word(offset).load(Ordering::Acquire);
        if get(0) != MAGIC {
            // Still being made.
            return Ok(None);
        }
        if reader.memory.boot() != boot_bytes(boot) {
            return Ok(None);
        }
        let number = |offset| {
            u32::try_from(get(offset)).map_err(|_| io::Error::other("an event ring of no rank"))
        };
        let (rank, incarnation) = (Rank(number(16)?), Incarnation(number(24)?));
        Ok(Some((reader, rank, incarnation)))
    }

    /// Its descriptor.
    #[must_use]
    pub fn descriptor(&self) -> i32 {
        self.file.as_raw_fd()
    }

    /// From now on nothing is stored.
    pub fn seal(&self) {
        self.memory.word(TAIL).fetch_or(SEALED, Ordering::SeqCst);
    }

    /// Now it may be again.
    pub fn unseal(&self) {
        self.memory.word(TAIL).fetch_and(!SEALED, Ordering::SeqCst);
    }

    /// Appends what was stored since the last time; how many bytes.
    ///
    /// # Errors
    /// The position in it is impossible.
    pub fn take(&mut self, out: &mut Vec<u8>) -> io::Result<usize> {
        let tail = self.memory.word(TAIL).load(Ordering::SeqCst) & !SEALED;
        let len = tail.checked_sub(self.taken).filter(|len| *len <= CAPACITY as u64);
        let len =
            len.ok_or_else(|| io::Error::other("an event ring has an impossible position"))?;
        self.memory.read(self.taken, len as usize, out);
        self.taken = tail;
        Ok(len as usize)
    }

    /// What was taken is safe elsewhere: its room may be used again.
    pub fn give_back(&mut self) {
        if self.given < self.taken {
            self.given = self.taken;
            self.memory.word(HEAD).store(self.given, Ordering::Release);
        }
    }

    /// What was taken is not: the next time it is given again.
    pub fn take_again(&mut self) {
        self.taken = self.given;
    }

    /// Whether something was taken and not given back.
    #[must_use]
    pub fn is_owing(&self) -> bool {
        self.given < self.taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring() -> (Reader, Writer, tempfile::TempPath) {
        let (file, path) = tempfile::NamedTempFile::new().unwrap().into_parts();
        let reader = Reader::make(file, 77, Rank(3), Incarnation(2), "a boot").unwrap();
        let writer = Writer::map_anywhere(&reader.file, 77).unwrap();
        (reader, writer, path)
    }

    fn again(
        path: &std::path::Path,
        boot: &str,
    ) -> io::Result<Option<(Reader, Rank, Incarnation)>> {
        Reader::open(File::options().read(true).write(true).open(path)?, boot)
    }

    #[test]
    fn what_was_stored_is_there_for_every_reader_until_it_is_given_back() {
        let (mut reader, mut writer, path) = ring();
        assert_eq!(writer.put(b"one"), Put::Stored);
        assert_eq!(writer.put(b"two"), Put::Stored);
        let mut got = Vec::new();
        assert_eq!(reader.take(&mut got).unwrap(), 6);
        assert_eq!(got, b"onetwo");
        drop(reader);
        let (mut reader, rank, life) = again(&path, "a boot").unwrap().unwrap();
        assert_eq!((rank, life), (Rank(3), Incarnation(2)));
        got.clear();
        reader.take(&mut got).unwrap();
        assert_eq!(got, b"onetwo");
        reader.give_back();
        assert_eq!(writer.put(b"three"), Put::Stored);
        drop(reader);
        let (mut reader, ..) = again(&path, "a boot").unwrap().unwrap();
        got.clear();
        reader.take(&mut got).unwrap();
        assert_eq!(got, b"three");
        assert!(again(&path, "another").unwrap().is_none());
    }

    #[test]
    fn a_sealed_ring_takes_nothing_and_loses_nothing() {
        let (mut reader, mut writer, _path) = ring();
        assert_eq!(writer.put(b"before"), Put::Stored);
        reader.seal();
        assert_eq!(writer.put(b"during"), Put::Refused);
        let mut got = Vec::new();
        reader.take(&mut got).unwrap();
        assert_eq!(got, b"before");
        reader.unseal();
        assert_eq!(writer.put(b"after"), Put::Stored);
        reader.take(&mut got).unwrap();
        assert_eq!(got, b"beforeafter");
    }

    #[test]
    fn it_goes_round_and_is_full_when_nothing_is_given_back() {
        let (mut reader, mut writer, _path) = ring();
        let (mut sent, mut got) = (Vec::new(), Vec::new());
        let mut refused = 0;
        for n in 0..60_000u64 {
            let record = [n as u8; 56];
            if writer.put(&record) == Put::Refused {
                refused += 1;
                assert!(writer.fills_up());
                reader.take(&mut got).unwrap();
                reader.give_back();
                assert_eq!(writer.put(&record), Put::Stored);
                assert!(!writer.fills_up());
            }
            sent.extend(record);
        }
        reader.take(&mut got).unwrap();
        assert!(sent == got && refused >= 3, "{refused}");
    }

    #[test]
    fn nothing_is_believed() {
        let (mut reader, writer, path) = ring();
        assert!(Writer::map_anywhere(&reader.file, 78).is_err());
        for position in [CAPACITY as u64 + 1, SEALED - 1, u64::MAX] {
            writer.memory.word(TAIL).store(position, Ordering::SeqCst);
            assert!(reader.take(&mut Vec::new()).is_err());
        }
        writer.memory.word(HEAD).store(9, Ordering::SeqCst);
        writer.memory.word(TAIL).store(8, Ordering::SeqCst);
        let (mut reader, ..) = again(&path, "a boot").unwrap().unwrap();
        assert!(reader.take(&mut Vec::new()).is_err());
        writer.memory.word(16).store(1 << 32, Ordering::SeqCst);
        assert!(again(&path, "a boot").is_err());
        std::fs::write(&path, b"short").unwrap();
        assert!(again(&path, "a boot").unwrap().is_none(), "it was never finished");
    }

    #[test]
    fn a_seal_and_a_writer_that_race_agree_on_what_was_stored() {
        for _ in 0..200 {
            let (mut reader, _writer, _path) = ring();
            let stored = std::thread::scope(|scope| {
                let file = reader.file.try_clone().unwrap();
                let thread = scope.spawn(move || {
                    let mut writer = Writer::map_anywhere(&file, 77).unwrap();
                    (0..1_000_000).take_while(|_| writer.put(b"x") == Put::Stored).count()
                });
                std::thread::yield_now();
                reader.seal();
                let mut got = Vec::new();
                let seen = reader.take(&mut got).unwrap();
                (thread.join().unwrap(), seen)
            });
            assert_eq!(stored.0, stored.1);
        }
    }
}
