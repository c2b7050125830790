//! Opens regular files and directories again, in a restored process.
//!
//! Guarantees: a regular file is the one that was open at the image, or the restore is refused, or
//! a line tells that it is another one. If the path does not lead to the file any more, the agent
//! may have kept the file ([`kept_files`]). A file that is only read and has been written to since
//! is told. So is one that is changed in place and that stays as it is
//! ([`small_files`]).

use crate::base::notice::{Notice, Stays};
use crate::base::procfs::numbered;
use crate::base::refusal::{Refusal, Refused};
use crate::base::report;
use crate::base::reserved_area::ReservedArea;
use crate::base::strings::Strings;
use crate::base::syscalls::{self, Errno};
use crate::base::text::Shown;
use crate::descriptors::file_system::leases_hold_everywhere;
use crate::descriptors::kept_files;
use crate::descriptors::lease::is_soon_exclusive;
use crate::descriptors::regular_file::{is_deleted, is_of_the_kernel};
use crate::descriptors::small_files::{self, Saved};
use core::ffi::CStr;
use ftmpi_checkpoint::stream::{Descriptor, descriptor as how, map};

/// What the restore knows about this incarnation and the one before.
pub struct Incarnation<'a> {
    pub rank: u32,
    /// When the rank's previous incarnation ended, in nanoseconds since 1970, if others have gone
    /// on since then; otherwise 0.
    pub died: u64,
    /// All ranks of the job have returned together.
    pub together: bool,
    /// The image was taken on this boot of this host.
    pub same_boot: bool,
    /// The launcher's standard error: the program may have put another file in its place.
    pub stderr: i32,
    /// All descriptors of the image.
    pub table: &'a [Descriptor],
    /// The texts of the image.
    pub strings: &'a Strings,
}

/// Which file was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// The file of the image, as far as anybody can tell.
    Same,
    /// What the path leads to, on another host or after a start of this one. Nothing tells whether
    /// it is the file of the image.
    ByPath,
    /// A copy of it, at the path that the file had.
    Copy,
    /// Another file, which the program goes on writing.
    Other,
}

/// What an open file tells about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judgement {
    /// Another file.
    Other,
    /// A file with the inode of the image. The file system does not tell more.
    MayBe,
    /// A file with inode and time of birth of the image. (Times have the resolution of a tick: a
    /// file that was made anew within one has been written to since.)
    Same,
    /// The same, and not written to since.
    SameAndUnchanged,
}

/// A descriptor that is to come back.
struct Reopening<'a> {
    area: &'a ReservedArea,
    entry: &'a Descriptor,
    path: &'a CStr,
    incarnation: &'a Incarnation<'a>,
    flags: i32,
}

/// How a file was found.
struct AsFound<'a> {
    found: Found,
    /// It is the file that this process alone had open for writing.
    own: bool,
    /// Nobody else on this host has it open now.
    exclusive: bool,
    stat: &'a libc::stat,
}

/// Opens the file again.
pub fn restore(
    area: &ReservedArea,
    entry: &Descriptor,
    strings: &Strings,
    incarnation: &Incarnation<'_>,
) -> Result<(), Refused> {
    let drop = libc::O_CREAT | libc::O_EXCL | libc::O_TRUNC | libc::O_ASYNC;
    let flags = entry.open_flags as i32 & !drop | libc::O_NOCTTY;
    let it = Reopening { area, entry, path: strings.c_str(entry.path), incarnation, flags };
    let fd = entry.fd;
    let saved = Saved::take(entry).map_err(|errno| it.failed(errno))?;
    let (opened, found) = it.find()?;
    syscalls::move_descriptor(opened, fd, 0).map_err(|errno| it.failed(errno))?;
    let stat = syscalls::fstat(fd).map_err(|errno| it.failed(errno))?;
    if (stat.st_mode ^ entry.mode) & libc::S_IFMT != 0 {
        return Err(area.refuse(Refusal::OtherKindOfFile { path: it.shown() }));
    }
    if it.is_input() && !it.is_unchanged(fd) {
        it.print(Notice::WrittenSince { path: it.shown() });
    }
    let own = entry.how == how::REOPEN_CUT && found != Found::Other;
    // Also for a file that has not grown: the next image must find this process alone with it.
    let exclusive = own && is_soon_exclusive(fd);
    let as_found = AsFound { found, own, exclusive, stat: &stat };
    if it.is_regular() && small_files::is_changed_in_place(entry) {
        it.settle_in_place(saved, &as_found)?;
    } else if own && stat.st_size as u64 > entry.size {
        match it.why_not_cut(&as_found) {
            Some(why) => it.print(Notice::NotCut { path: it.shown(), why }),
            None => it.cut()?,
        }
    }
    if matches!(entry.mode & libc::S_IFMT, libc::S_IFREG | libc::S_IFDIR) {
        syscalls::seek(fd, entry.offset, libc::SEEK_SET).map_err(|errno| it.failed(errno))?;
    }
    syscalls::fcntl(fd, libc::F_SETFD, entry.fd_flags as usize)
        .map_err(|errno| it.failed(errno))?;
    Ok(())
}

impl<'a> Reopening<'a> {
    fn shown(&self) -> Shown<'a> {
        Shown(self.path.to_bytes())
    }

    fn failed(&self, errno: Errno) -> Refused {
        self.area.refuse(Refusal::NotOpened { fd: self.entry.fd, path: self.shown(), errno })
    }

    fn print(&self, notice: Notice<'_>) {
        report::print(self.incarnation.stderr, self.incarnation.rank, notice);
    }

    fn is_regular(&self) -> bool {
        self.entry.mode & libc::S_IFMT == libc::S_IFREG && !is_of_the_kernel(self.path.to_bytes())
    }

    /// Whether it is a file that the program only reads, and whose contents nobody guards.
    fn is_input(&self) -> bool {
        let entry = self.entry;
        let writes = |other: &Descriptor| {
            (other.device, other.inode) == (entry.device, entry.inode)
                && other.open_flags as i32 & libc::O_ACCMODE != libc::O_RDONLY
        };
        self.is_regular() && entry.how == how::REOPEN && !self.incarnation.table.iter().any(writes)
    }

    fn reads_only(&self) -> bool {
        self.flags & libc::O_ACCMODE == libc::O_RDONLY
    }

    /// Opens the file of the image: by its path, or as the agent has kept it.
    fn find(&self) -> Result<(i32, Found), Refused> {
        let here = syscalls::open(self.path, self.flags);
        if !self.is_regular() {
            return here.map(|fd| (fd, Found::Same)).map_err(|errno| self.failed(errno));
        }
        if !self.incarnation.same_boot {
            return self.find_elsewhere(here).map_err(|errno| self.failed(errno));
        }
        let judged = here.map_or(Judgement::Other, |fd| self.judge(fd));
        if judged == Judgement::SameAndUnchanged {
            return here.map(|fd| (fd, Found::Same)).map_err(|errno| self.failed(errno));
        }
        if let Some(kept) = kept_files::ask(kept_files::key_of(self.entry)) {
            let result = self.open_kept(kept, here);
            syscalls::close(kept);
            return result.map_err(|errno| self.failed(errno));
        }
        let fd = here.map_err(|errno| match errno {
            libc::ENOENT => {
                self.area.refuse(Refusal::FileGone { fd: self.entry.fd, path: self.shown() })
            }
            errno => self.failed(errno),
        })?;
        match judged {
            Judgement::Same | Judgement::SameAndUnchanged => Ok((fd, Found::Same)),
            Judgement::MayBe if !self.reads_only() => Ok((fd, Found::Same)),
            _ if self.reads_only() && self.is_unchanged(fd) => Ok((fd, Found::Same)),
            _ if self.reads_only() => {
                let (fd, path) = (self.entry.fd, self.shown());
                Err(self.area.refuse(Refusal::FileReplaced { fd, path }))
            }
            _ => {
                self.print(Notice::OtherFile { path: self.shown() });
                Ok((fd, Found::Other))
            }
        }
    }

    /// On another host, or after this one was started again. Inodes are not compared: the same file
    /// may have another one. What was saved for the next launcher was not at its path any more.
    fn find_elsewhere(&self, here: Result<i32, Errno>) -> Result<(i32, Found), Errno> {
        let key = kept_files::key_of(self.entry);
        match if key.birth == 0 { None } else { kept_files::ask(key) } {
            Some(kept) => {
                let result = self.open_kept(kept, here);
                syscalls::close(kept);
                result
            }
            None => here.map(|fd| {
                let known = key.birth != 0 && syscalls::birth(fd) == key.birth;
                (fd, if known { Found::Same } else { Found::ByPath })
            }),
        }
    }

    /// What an open file tells about itself.
    fn judge(&self, fd: i32) -> Judgement {
        let entry = self.entry;
        let birth = syscalls::birth(fd);
        let is_inode = syscalls::fstat(fd)
            .is_ok_and(|stat| (stat.st_dev, stat.st_ino) == (entry.device, entry.inode));
        if !is_inode || birth != 0 && entry.birth != 0 && birth != entry.birth {
            Judgement::Other
        } else if birth == 0 || entry.birth == 0 {
            Judgement::MayBe
        } else if self.is_unchanged(fd) {
            Judgement::SameAndUnchanged
        } else {
            Judgement::Same
        }
    }

    /// Whether size and time of the last write are those of the image.
    fn is_unchanged(&self, fd: i32) -> bool {
        let (size, modified) = (self.entry.size, self.entry.modified);
        syscalls::fstat(fd)
            .is_ok_and(|stat| (stat.st_size as u64, syscalls::modified(&stat)) == (size, modified))
    }

    /// Opens the file that the agent has kept. `here`: what was opened by the path.
    fn open_kept(&self, kept: i32, here: Result<i32, Errno>) -> Result<(i32, Found), Errno> {
        let inode = |fd| syscalls::fstat(fd).map(|stat| (stat.st_dev, stat.st_ino));
        if let Ok(fd) = here {
            // As long as the file is kept no other file has its inode.
            if inode(fd) == inode(kept) {
                return Ok((fd, Found::Same));
            }
            syscalls::close(fd);
        }
        let mut name = [0; 64];
        let flags = self.flags & !libc::O_NOFOLLOW;
        let opened = syscalls::open(numbered("fd", kept as u32, &mut name), flags)?;
        // This process alone wrote under a name that it has given up since. It will open, rename or
        // remove the file by that name again. (A log that others have renamed goes on under its new
        // name.)
        let own = matches!(self.entry.how, how::REOPEN_CUT | how::REOPEN_ALONE)
            && flags & libc::O_APPEND == 0
            && !is_deleted(self.path.to_bytes());
        let free = here == Err(libc::ENOENT) || own && here.is_ok() && self.set_aside();
        if own
            && free
            && let Ok(copy) = self.copy_to_path(opened)
        {
            syscalls::close(opened);
            return Ok((copy, Found::Copy));
        }
        Ok((opened, Found::Same))
    }

    /// Gives another name to the file that is at the path now, and tells so: whether that was done.
    fn set_aside(&self) -> bool {
        const SUFFIX: &[u8] = b".ftmpi-set-aside\0";
        let bytes = self.path.to_bytes();
        let mut name = [0u8; 4096];
        let len = bytes.len() + SUFFIX.len();
        if len > name.len() {
            return false;
        }
        name[..bytes.len()].copy_from_slice(bytes);
        name[bytes.len()..len].copy_from_slice(SUFFIX);
        let (here, from, to) = (libc::AT_FDCWD, self.path.as_ptr(), name.as_ptr());
        // SAFETY: terminated paths.
        let done = unsafe { syscalls::call!(libc::SYS_renameat, here, from, here, to) }.is_ok();
        if done {
            self.print(Notice::SetAside { path: self.shown() });
        }
        done
    }

    /// Makes a copy of a file at the path, where nothing is.
    fn copy_to_path(&self, from: i32) -> Result<i32, Errno> {
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
        let (path, mode) = (self.path.as_ptr(), self.entry.mode & 0o7777);
        // SAFETY: terminated path.
        let made =
            unsafe { syscalls::call!(libc::SYS_openat, libc::AT_FDCWD, path, flags, mode) }? as i32;
        let mut name = [0; 64];
        let read = libc::O_RDONLY | libc::O_CLOEXEC;
        let result =
            syscalls::open(numbered("fd", from as u32, &mut name), read).and_then(|source| {
                let copied = copy_all(source, made, self.area.content());
                syscalls::close(source);
                copied
            });
        let opened = result.and_then(|()| syscalls::open(self.path, self.flags));
        syscalls::close(made);
        if opened.is_err() {
            // SAFETY: terminated path.
            let _ = unsafe { syscalls::call!(libc::SYS_unlinkat, libc::AT_FDCWD, path, 0) };
        }
        opened
    }

    /// Cuts the file to its size at the image.
    fn cut(&self) -> Result<(), Refused> {
        // SAFETY: no memory involved.
        unsafe { syscalls::call!(libc::SYS_ftruncate, self.entry.fd, self.entry.size) }
            .map(|_| ())
            .map_err(|errno| self.failed(errno))
    }

    /// A file that the program changes in place: it gets its contents back, or a line tells that it
    /// may have later ones.
    fn settle_in_place(&self, saved: Option<Saved>, as_found: &AsFound<'_>) -> Result<(), Refused> {
        let fd = self.entry.fd;
        let longer = as_found.stat.st_size as u64 > self.entry.size;
        let failed = |errno| self.area.refuse(Refusal::NotGivenBack { path: self.shown(), errno });
        let differs = match &saved {
            Some(saved) => saved.differs(self.area, fd).map_err(failed)?,
            None => !self.is_unchanged(fd),
        };
        if !differs || as_found.found == Found::Other {
            // A line about another file has been printed.
            return Ok(());
        }
        let (table, strings) = (self.incarnation.table, self.incarnation.strings);
        let why = if self.is_mapped() {
            // By an open of its own, for which the kernel refuses the lease.
            Stays::Mapped
        } else if !as_found.own {
            Stays::OpenMoreThanOnce
        } else if let Some(why) = self.why_not_cut(as_found) {
            why
        } else if small_files::has_companion(strings, table, self.path) {
            Stays::Companion
        } else if !self.incarnation.together {
            Stays::OthersGoOn
        } else if as_found.found == Found::ByPath {
            Stays::OtherBirth
        } else if let Some(saved) = saved {
            return saved.give_back(self.area, fd).map_err(failed);
        } else {
            Stays::NotInImage
        };
        let may_be_cut = matches!(why, Stays::OthersGoOn | Stays::OtherBirth | Stays::NotInImage);
        if may_be_cut && longer {
            self.cut()?;
        }
        // An empty file that was cut is what it was.
        let is_right = may_be_cut && self.entry.size == 0;
        if !is_right && !self.is_told() {
            self.print(Notice::NotGivenBack { path: self.shown(), why });
        }
        Ok(())
    }

    /// Whether the file is mapped as shared memory.
    fn is_mapped(&self) -> bool {
        let (area, strings) = (self.area, self.incarnation.strings);
        let process = area.process_state();
        let (maps, files) = (process.maps as usize, process.files as usize);
        area.maps()[..maps].iter().filter(|map| map.flags & map::SHARED != 0).any(|map| {
            let file = area.files()[..files].get(map.file as usize);
            file.is_some_and(|file| strings.get(file.path) == self.path.to_bytes())
        })
    }

    /// Whether an earlier descriptor of the same file has told what there is to tell.
    fn is_told(&self) -> bool {
        let entry = self.entry;
        self.incarnation.table.iter().any(|other| {
            other.fd < entry.fd
                && (other.device, other.inode) == (entry.device, entry.inode)
                && small_files::is_changed_in_place(other)
        })
    }

    /// Why a file that was written to since the image may hold what others wrote.
    fn why_not_cut(&self, as_found: &AsFound<'_>) -> Option<Stays> {
        let (fd, died) = (self.entry.fd, self.incarnation.died);
        if as_found.found == Found::Copy {
            None
        } else if !as_found.exclusive {
            Some(Stays::OthersHaveItOpen)
        } else if !leases_hold_everywhere(fd) {
            Some(Stays::OtherHosts)
        } else if died != 0 && syscalls::modified(as_found.stat) > died {
            Some(Stays::WrittenSince)
        } else {
            None
        }
    }
}

/// Copies a whole file: within the file system if that can be done.
fn copy_all(from: i32, to: i32, buffer: &mut [u8]) -> Result<(), Errno> {
    loop {
        // SAFETY: no memory involved: both positions are those of the open files.
        let copied =
            unsafe { syscalls::call!(libc::SYS_copy_file_range, from, 0, to, 0, 1usize << 30, 0) };
        match copied {
            Ok(0) => break,
            Ok(_) | Err(libc::EINTR) => {}
            Err(_) => break,
        }
    }
    // What is left, or everything where the kernel cannot copy.
    loop {
        match syscalls::read(from, buffer)? {
            0 => return Ok(()),
            len => syscalls::write_all(to, &buffer[..len])?,
        }
    }
}
