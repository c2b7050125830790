//! Descriptors that the caller of `ftmpiexec` passed on (`prog 7<file`, `prog <(zcat data)`), on
//! their way to the ranks of this host.
//!
//! Guarantees: the first incarnation of a rank gets all of them as they are. A later one gets what
//! does not depend on what earlier ones did with it: files for reading at the place where the
//! caller had them, files, terminals and pipes for writing. What can be read once only, such as a
//! pipe, is withheld, so that no incarnation misses a part of it in silence; the user is told.

use ftmpi_checkpoint::inheritance;
use rustix::fs::{FileType, Mode, OFlags, SeekFrom};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

/// What a later incarnation gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Again {
    /// The file, opened anew, at this position.
    At(u64),
    /// The same open file.
    Same,
    /// Nothing.
    Nothing,
}

/// See the module.
#[derive(Debug, Default)]
pub struct FromCaller {
    descriptors: Vec<(OwnedFd, Again)>,
    told: bool,
}

/// A descriptor for a new process, which finds it under the number `to`.
#[derive(Debug)]
pub struct Given {
    /// Here.
    pub from: RawFd,
    /// In the new process.
    pub to: RawFd,
    /// The file is to be opened anew, at this position.
    again: Option<u64>,
    /// Keeps `from` open.
    opened: Option<OwnedFd>,
}

impl Given {
    /// Opens the file anew if need be, which may take as long as a file server is silent. `false`:
    /// that is not possible.
    pub fn open(&mut self) -> bool {
        let Some(position) = self.again.take() else { return true };
        self.opened = open_again(self.from, position);
        self.opened.as_ref().is_some_and(|opened| {
            self.from = opened.as_raw_fd();
            true
        })
    }
}

impl FromCaller {
    /// Takes the descriptors of these numbers, which the launcher passed on. Their files were at
    /// these positions when the job began.
    pub fn take(passed_on: &[(RawFd, u64)]) -> Self {
        let numbers: Vec<RawFd> = passed_on.iter().map(|(number, _)| *number).collect();
        let taken = inheritance::take_these(&numbers).into_iter();
        let descriptors = taken.map(|fd| {
            let found = passed_on.iter().find(|(number, _)| *number == fd.as_raw_fd());
            let again = again(&fd, found.map_or(0, |(_, position)| *position));
            (fd, again)
        });
        Self { descriptors: descriptors.collect(), told: false }
    }

    /// What a process gets, once it is [opened](Given::open); `first`: it is the first of its rank.
    pub fn for_process(&self, first: bool) -> Vec<Given> {
        let give = |(fd, again): &(OwnedFd, Again)| {
            let number = fd.as_raw_fd();
            let again = match again {
                Again::Same => None,
                _ if first => None,
                Again::Nothing => return None,
                Again::At(position) => Some(*position),
            };
            Some(Given { from: number, to: number, again, opened: None })
        };
        self.descriptors.iter().filter_map(give).collect()
    }

    /// What the user is told when a rank begins again; once.
    pub fn withheld(&mut self) -> Option<String> {
        let withheld = self.descriptors.iter().filter(|(_, again)| *again == Again::Nothing);
        let names: Vec<String> = withheld.map(|(fd, _)| describe(fd)).collect();
        if names.is_empty() || std::mem::replace(&mut self.told, true) {
            return None;
        }
        let one = names.len() == 1;
        Some(format!(
            "ranks that begin again do not get {} {} of ftmpiexec's caller: what was read from {} \
             cannot be read again, and each use fails; let the program read a file instead",
            if one { "descriptor" } else { "descriptors" },
            names.join(", "),
            if one { "it" } else { "them" },
        ))
    }
}

fn again(fd: &OwnedFd, position: u64) -> Again {
    let (Ok(stat), Ok(flags)) = (rustix::fs::fstat(fd), rustix::fs::fcntl_getfl(fd)) else {
        return Again::Nothing;
    };
    let access = flags & OFlags::RWMODE;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile if access == OFlags::RDONLY => Again::At(position),
        FileType::RegularFile | FileType::Directory | FileType::CharacterDevice => Again::Same,
        FileType::Fifo if access == OFlags::WRONLY => Again::Same,
        _ => Again::Nothing,
    }
}

fn open_again(number: RawFd, position: u64) -> Option<OwnedFd> {
    let path = format!("/proc/self/fd/{number}");
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY;
    let opened = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    rustix::fs::seek(&opened, SeekFrom::Start(position)).ok()?;
    Some(opened)
}

fn path_here(fd: impl AsFd) -> String {
    format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd())
}

fn describe(fd: &OwnedFd) -> String {
    let shown = std::fs::read_link(path_here(fd)).unwrap_or_default();
    format!("{} ({})", fd.as_raw_fd(), shown.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn a_later_incarnation_misses_nothing_in_silence() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        let mut reader = std::fs::File::open(path_here(&file)).unwrap();
        let (pipe_out, pipe_in) = rustix::pipe::pipe().unwrap();
        let descriptors = [reader.try_clone().unwrap().into(), file.into(), pipe_in, pipe_out];
        let kinds = descriptors.each_ref().map(|fd| again(fd, 4));
        assert_eq!(kinds, [Again::At(4), Again::Same, Again::Same, Again::Nothing]);
        // The first incarnation reads to the end.
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        let again = open_again(reader.as_raw_fd(), 4).unwrap();
        let mut text = String::new();
        std::fs::File::from(again).read_to_string(&mut text).unwrap();
        assert_eq!(text, "456789");
    }
}
