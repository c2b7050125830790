//! Reads the files of `/proc/self`, line by line, through a buffer in the reserved area. Nothing
//! is allocated.

use crate::base::syscalls::{self, Errno};
use core::ffi::CStr;
use ftmpi_checkpoint::stream::PLACES;

/// Lines of an open file.
#[derive(Debug)]
pub struct Lines<'b> {
    fd: i32,
    buffer: &'b mut [u8],
    start: usize,
    end: usize,
    eof: bool,
}

impl<'b> Lines<'b> {
    pub fn open(path: &CStr, buffer: &'b mut [u8]) -> Result<Self, Errno> {
        let fd = syscalls::open(path, libc::O_RDONLY | libc::O_CLOEXEC)?;
        Ok(Self { fd, buffer, start: 0, end: 0, eof: false })
    }

    /// The next line without its end. A line longer than the buffer is an error.
    pub fn next(&mut self) -> Result<Option<&[u8]>, Errno> {
        loop {
            let have = &self.buffer[self.start..self.end];
            if let Some(at) = have.iter().position(|&b| b == b'\n') {
                let from = self.start;
                self.start += at + 1;
                return Ok(Some(&self.buffer[from..from + at]));
            }
            if self.eof {
                if self.start == self.end {
                    return Ok(None);
                }
                let from = self.start;
                self.start = self.end;
                return Ok(Some(&self.buffer[from..self.end]));
            }
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            if self.end == self.buffer.len() {
                return Err(libc::ENOMEM);
            }
            match syscalls::read(self.fd, &mut self.buffer[self.end..])? {
                0 => self.eof = true,
                n => self.end += n,
            }
        }
    }
}

impl Drop for Lines<'_> {
    fn drop(&mut self) {
        syscalls::close(self.fd);
    }
}

/// One mapping, as `/proc/self/maps` shows it.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    pub start: u64,
    pub end: u64,
    /// `PROT_*`.
    pub prot: u32,
    pub shared: bool,
    pub offset: u64,
    pub device: u64,
    pub inode: u64,
    pub name: &'a [u8],
}

/// Reads a line of `maps`, or the first of each group in `smaps`. Other lines give `None`.
pub fn entry(line: &[u8]) -> Option<Entry<'_>> {
    let (start, rest) = hex(line)?;
    let (end, rest) = hex(rest.strip_prefix(b"-")?)?;
    let rest = rest.strip_prefix(b" ")?;
    let (bits, rest) = rest.split_at_checked(4)?;
    let (offset, rest) = hex(rest.strip_prefix(b" ")?)?;
    let (major, rest) = hex(rest.strip_prefix(b" ")?)?;
    let (minor, rest) = hex(rest.strip_prefix(b":")?)?;
    let device = libc::makedev(major as u32, minor as u32);
    let (inode, mut name) = decimal(rest.strip_prefix(b" ")?)?;
    while let Some(shorter) = name.strip_prefix(b" ") {
        name = shorter;
    }
    let mut prot = 0;
    for (bit, letter, value) in
        [(0, b'r', libc::PROT_READ), (1, b'w', libc::PROT_WRITE), (2, b'x', libc::PROT_EXEC)]
    {
        if bits[bit] == letter {
            prot |= value as u32;
        }
    }
    Some(Entry { start, end, prot, shared: bits[3] == b's', offset, device, inode, name })
}

/// A hexadecimal number, and what follows it.
pub fn hex(text: &[u8]) -> Option<(u64, &[u8])> {
    number(text, 16)
}

/// A decimal number, and what follows it.
pub fn decimal(text: &[u8]) -> Option<(u64, &[u8])> {
    number(text, 10)
}

fn number(text: &[u8], radix: u32) -> Option<(u64, &[u8])> {
    let digits = text.iter().take_while(|b| (**b as char).is_digit(radix)).count();
    if digits == 0 || digits > 20 {
        return None;
    }
    let mut value = 0u64;
    for &byte in &text[..digits] {
        let digit = (byte as char).to_digit(radix)?;
        value = value.checked_mul(u64::from(radix))?.checked_add(u64::from(digit))?;
    }
    Some((value, &text[digits..]))
}

/// Field 47 of `/proc/self/stat`: where the heap begins. 0 if the kernel does not tell.
pub fn heap_start(buffer: &mut [u8]) -> Result<u64, Errno> {
    Ok(memory_places(buffer)?.0)
}

/// Start of the heap, and [`ftmpi_checkpoint::stream::ProcessState::places`].
pub fn memory_places(buffer: &mut [u8]) -> Result<(u64, [u64; PLACES]), Errno> {
    // Numbers of the fields in proc(5).
    const HEAP: usize = 47;
    const FIELDS: [usize; PLACES] = [26, 27, 45, 46, 28, 48, 49, 50, 51];
    let mut lines = Lines::open(c"/proc/self/stat", buffer)?;
    let line = lines.next()?.ok_or(libc::EIO)?;
    // The second field is the program's name in parentheses; the name may contain anything.
    let after = line.iter().rposition(|&b| b == b')').ok_or(libc::EIO)? + 2;
    let rest = line.get(after..).ok_or(libc::EIO)?;
    let field = |number: usize| {
        let text = rest.split(|&b| b == b' ').nth(number - 3)?;
        decimal(text).map(|(value, _)| value)
    };
    let mut places = [0; PLACES];
    for (place, number) in places.iter_mut().zip(FIELDS) {
        *place = field(number).ok_or(libc::EIO)?;
    }
    Ok((field(HEAP).ok_or(libc::EIO)?, places))
}

/// The number, which may be negative, that is the only content of a file.
pub fn number_in(path: &CStr) -> Result<i32, Errno> {
    let mut text = [0u8; 32];
    let fd = syscalls::open(path, libc::O_RDONLY | libc::O_CLOEXEC)?;
    let len = syscalls::read(fd, &mut text);
    syscalls::close(fd);
    let text = &text[..len?];
    let (digits, sign) = text.strip_prefix(b"-").map_or((text, 1), |digits| (digits, -1));
    decimal(digits).map(|(value, _)| sign * value as i32).ok_or(libc::EIO)
}

/// Bytes of anonymous memory in use: resident minus shared, from `/proc/self/statm`.
pub fn anonymous_bytes() -> u64 {
    let mut text = [0u8; 128];
    let Ok(fd) = syscalls::open(c"/proc/self/statm", libc::O_RDONLY | libc::O_CLOEXEC) else {
        return 0;
    };
    let len = syscalls::read(fd, &mut text).unwrap_or(0);
    syscalls::close(fd);
    let mut fields =
        text[..len].split(|&b| b == b' ').skip(1).map(|f| decimal(f).map_or(0, |n| n.0));
    let resident = fields.next().unwrap_or(0);
    resident.saturating_sub(fields.next().unwrap_or(0)) * 4096
}

/// Calls `found` for each entry of a folder whose name is a number.
pub fn each_number(
    path: &CStr,
    buffer: &mut [u8],
    mut found: impl FnMut(u64),
) -> Result<(), Errno> {
    let folder = syscalls::open(path, libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC)?;
    let result = loop {
        // SAFETY: the buffer is valid for writing.
        let len = unsafe {
            syscalls::call!(libc::SYS_getdents64, folder, buffer.as_mut_ptr(), buffer.len())
        };
        let len = match len {
            Ok(0) => break Ok(()),
            Ok(len) => len,
            Err(errno) => break Err(errno),
        };
        let mut at = 0;
        while at + 19 < len {
            // struct linux_dirent64: inode, offset, length (u16 at 16), type, name (at 19).
            let step = usize::from(u16::from_le_bytes([buffer[at + 16], buffer[at + 17]])).max(20);
            let name = &buffer[at + 19..(at + step).min(len)];
            at += step;
            if let Some((number, _)) = decimal(name) {
                found(number);
            }
        }
    };
    syscalls::close(folder);
    result
}

/// A path of `/proc/self/<folder>/<number>`, terminated, in `buffer`.
pub fn numbered<'a>(folder: &str, number: u32, buffer: &'a mut [u8; 64]) -> &'a CStr {
    numbered_at(folder, number, "", buffer)
}

/// A path of `/proc/self/<folder>/<number><rest>`, terminated, in `buffer`.
pub fn numbered_at<'a>(
    folder: &str,
    number: u32,
    rest: &str,
    buffer: &'a mut [u8; 64],
) -> &'a CStr {
    path(buffer, format_args!("/proc/self/{folder}/{number}{rest}"))
}

/// Calls `found` for each line that the kernel tells about a descriptor.
pub fn each_fdinfo_line(
    buffer: &mut [u8],
    fd: i32,
    mut found: impl FnMut(&[u8]),
) -> Result<(), Errno> {
    let mut name = [0; 64];
    let mut lines = Lines::open(numbered("fdinfo", fd as u32, &mut name), buffer)?;
    while let Some(line) = lines.next()? {
        found(line);
    }
    Ok(())
}

/// A short path, terminated, in `buffer`.
pub fn path<'a>(buffer: &'a mut [u8; 64], text: core::fmt::Arguments<'_>) -> &'a CStr {
    use core::fmt::Write;
    struct Into<'b>(&'b mut [u8], usize);
    impl Write for Into<'_> {
        fn write_str(&mut self, text: &str) -> core::fmt::Result {
            let to = self.0.get_mut(self.1..self.1 + text.len()).ok_or(core::fmt::Error)?;
            to.copy_from_slice(text.as_bytes());
            self.1 += text.len();
            Ok(())
        }
    }
    *buffer = [0; 64];
    // 63 bytes hold every such path; the last byte stays zero.
    let _ = Into(&mut buffer[..63], 0).write_fmt(text);
    CStr::from_bytes_until_nul(buffer).unwrap_or(c"")
}

/// Opens a file of this process in `/proc` that only the owner of the process may open.
///
/// After the program has forbidden dumps of itself, the owner is root. Then this function allows
/// dumps while it opens the file.
pub fn open_own(path: &CStr, flags: i32) -> Result<i32, Errno> {
    const PR_GET_DUMPABLE: usize = 3;
    const PR_SET_DUMPABLE: usize = 4;
    // SAFETY: both commands take numbers only.
    let ask = |what, value: usize| unsafe { syscalls::call!(libc::SYS_prctl, what, value) };
    match syscalls::open(path, flags) {
        Err(libc::EACCES | libc::EPERM) if ask(PR_GET_DUMPABLE, 0) != Ok(1) => {
            ask(PR_SET_DUMPABLE, 1)?;
            let result = syscalls::open(path, flags);
            let _ = ask(PR_SET_DUMPABLE, 0);
            result
        }
        other => other,
    }
}
