//! Directories and files of ours in places that other users may reach.
//!
//! Guarantees: a directory that exists is used only if it belongs to this user, and nobody else can
//! replace its files. Its mode stays as it is. A file in it is opened only if it is a plain file of
//! this user's: no symbolic link that somebody put there is followed.
//!
//! "This user" is who a new file in the directory belongs to: a file server may give the files of
//! root to somebody else.

use anyhow::{Context, bail};
use rustix::fs::OFlags;
use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Why files of ours are not safe in a directory.
#[derive(Debug, thiserror::Error)]
pub enum NotSafe {
    /// The directory cannot be looked at.
    #[error("{0} cannot be used: {1}")]
    Unusable(PathBuf, io::Error),
    /// The directory belongs to somebody else.
    #[error("{directory} belongs to user {owner}, who could change what is in it")]
    Foreign {
        /// The directory.
        directory: PathBuf,
        /// Number of its owner.
        owner: u32,
    },
    /// Other users may replace files in the directory.
    #[error(
        "{directory} can be written by other users (mode {mode:o}), who could replace what is in it"
    )]
    Open {
        /// The directory.
        directory: PathBuf,
        /// The permissions of the directory.
        mode: u32,
    },
}

/// What a directory that exists allows.
#[derive(Debug)]
pub struct Standing {
    directory: PathBuf,
    owner: u32,
    mode: u32,
    /// It belongs to this user.
    ours: bool,
}

impl Standing {
    /// Looks at a directory.
    ///
    /// # Errors
    /// [`NotSafe::Unusable`]
    pub fn of(directory: &Path) -> Result<Self, NotSafe> {
        let unusable = |e| NotSafe::Unusable(directory.to_owned(), e);
        let about = std::fs::metadata(directory).map_err(unusable)?;
        if !about.is_dir() {
            return Err(unusable(io::ErrorKind::NotADirectory.into()));
        }
        let (owner, mode) = (about.uid(), about.mode() & 0o7777);
        let ours = owner == own_number() || owner_of_new_file(directory) == Some(owner);
        Ok(Self { directory: directory.to_owned(), owner, mode, ours })
    }

    /// Whether nobody else reaches what is in the directory.
    #[must_use]
    pub fn is_private(&self) -> bool {
        self.ours && self.mode & 0o077 == 0
    }

    /// Whether the directory is this user's, and nobody else can make or replace files in it.
    ///
    /// # Errors
    /// [`NotSafe::Foreign`], [`NotSafe::Open`]
    pub fn must_be_ours_alone(&self) -> Result<(), NotSafe> {
        self.must_not_be_foreign(false)?;
        match self.mode & 0o022 {
            0 => Ok(()),
            _ => Err(self.open()),
        }
    }

    /// Whether nobody else can replace a directory of ours in this directory: it is this user's or
    /// the administrator's, and if everybody may write there, it is *sticky*.
    ///
    /// # Errors
    /// [`NotSafe::Foreign`], [`NotSafe::Open`]
    pub fn must_keep_a_directory_of_ours(&self) -> Result<(), NotSafe> {
        self.must_not_be_foreign(true)?;
        match self.mode & 0o1002 {
            0o0002 => Err(self.open()),
            _ => Ok(()),
        }
    }

    fn must_not_be_foreign(&self, or_of_root: bool) -> Result<(), NotSafe> {
        if self.ours || or_of_root && self.owner == 0 {
            return Ok(());
        }
        Err(NotSafe::Foreign { directory: self.directory.clone(), owner: self.owner })
    }

    fn open(&self) -> NotSafe {
        NotSafe::Open { directory: self.directory.clone(), mode: self.mode }
    }
}

fn own_number() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Who a new file in this directory belongs to, if one can be made.
fn owner_of_new_file(directory: &Path) -> Option<u32> {
    let path = directory.join(format!("{PROBE}{}", std::process::id()));
    let file = create_private(&path).ok()?;
    let owner = file.metadata().ok().map(|about| about.uid());
    let _ = std::fs::remove_file(&path);
    owner
}

/// Begin of the name of a file that exists for a moment.
pub const PROBE: &str = ".ftmpi-probe-";

/// Makes a directory, with those above it, for its owner only. `true`: the directory is a new one.
///
/// # Errors
/// The directory cannot be made, or the name belongs to something else.
pub fn make(directory: &Path) -> io::Result<bool> {
    if let Some(above) = directory.parent().filter(|above| !above.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(above)?;
    }
    match DirBuilder::new().mode(0o700).create(directory) {
        Ok(()) => {
            // The umask may have taken more away.
            std::fs::set_permissions(directory, Permissions::from_mode(0o700))?;
            Ok(true)
        }
        // Also a symbolic link to a directory counts: who names it means its target.
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && directory.is_dir() => Ok(false),
        Err(e) => Err(e),
    }
}

/// Opens a file for reading and writing, and makes it if it is missing. What it holds stays.
///
/// # Errors
/// The name belongs to something else than a plain file of this user's.
pub fn open_own(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(flags);
    let strange = |what: &str| {
        io::Error::other(format!(
            "{} is {what}, which ftmpi did not put there; remove it",
            path.display()
        ))
    };
    let file = match options.open(path) {
        Ok(file) => file,
        Err(e) if std::fs::symlink_metadata(path).is_ok_and(|about| about.is_symlink()) => {
            return Err(strange(&format!("a symbolic link ({e})")));
        }
        Err(e) => return Err(e),
    };
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(strange("no plain file"));
    }
    match is_of_owner(path, &about) {
        true => Ok(file),
        false => Err(strange(&format!("a file of user {}", about.uid()))),
    }
}

/// As [`open_own`], and empties the file.
///
/// # Errors
/// See [`open_own`].
pub fn open_own_empty(path: &Path) -> io::Result<File> {
    let file = open_own(path)?;
    file.set_len(0)?;
    Ok(file)
}

/// Whether a file belongs to this user, or to the owner of its directory, which is this user's.
fn is_of_owner(path: &Path, about: &Metadata) -> bool {
    let above = path.parent().and_then(|directory| std::fs::metadata(directory).ok());
    about.uid() == own_number() || above.is_some_and(|above| above.uid() == about.uid())
}

/// Opens a new private file for writing and reading.
///
/// # Errors
/// The file exists already, or cannot be made.
pub fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

/// The directory of a server: only its owner, and only one server at a time, may use it.
#[derive(Debug)]
pub struct PrivateDir {
    path: PathBuf,
    /// The lock. The system releases it when the process ends, in whatever way.
    _lock: File,
}

impl PrivateDir {
    /// Makes the directory if needed, and takes it. An empty directory that was made for the server
    /// becomes private; the mode of any other directory stays.
    ///
    /// # Errors
    /// The directory cannot be made or written, other users can write it, or another server uses
    /// it.
    pub fn take(path: &Path) -> anyhow::Result<Self> {
        let about = || format!("directory {}", path.display());
        if !make(path).with_context(about)? {
            let standing = Standing::of(path)?;
            if let Err(e) = standing.must_be_ours_alone() {
                // A file system that was mounted for this server, for example.
                let empty = || names(path).is_ok_and(|names| names.iter().all(|n| n == LOST));
                if !standing.ours || !empty() {
                    bail!("{e}; name a new directory");
                }
                let private = Permissions::from_mode(0o700);
                std::fs::set_permissions(path, private).with_context(about)?;
            }
        }
        let lock = open_own(&path.join("lock")).with_context(about)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), _lock: lock }),
            Err(std::fs::TryLockError::WouldBlock) => {
                bail!("directory {} is in use by another server", path.display())
            }
            Err(std::fs::TryLockError::Error(error)) => Err(error).with_context(about),
        }
    }

    /// The path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The directory that a new file system has.
const LOST: &str = "lost+found";

fn names(directory: &Path) -> io::Result<Vec<std::ffi::OsString>> {
    std::fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn with_mode(mode: u32) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        set_mode(directory.path(), mode);
        directory
    }

    fn set_mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    fn mode_of(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn modes_decide_what_a_directory_is_good_for() {
        // Mode, private, ours alone, keeps a directory of ours.
        for (mode, expected) in [
            (0o700, [true, true, true]),
            (0o750, [false, true, true]),
            (0o2775, [false, false, true]),
            (0o1777, [false, false, true]),
            (0o777, [false, false, false]),
        ] {
            let directory = with_mode(mode);
            let standing = Standing::of(directory.path()).unwrap();
            let found = [
                standing.is_private(),
                standing.must_be_ours_alone().is_ok(),
                standing.must_keep_a_directory_of_ours().is_ok(),
            ];
            assert_eq!(found, expected, "{mode:o}");
            assert_eq!(mode_of(directory.path()), mode);
        }
        let directory = with_mode(0o777);
        let why = Standing::of(directory.path()).unwrap().must_be_ours_alone().unwrap_err();
        assert!(why.to_string().contains("(mode 777)"), "{why}");
    }

    #[test]
    fn a_directory_of_another_user_is_refused() {
        if own_number() != 0 {
            // Only root can give a directory away.
            let root = Standing::of(Path::new("/")).unwrap();
            assert!(root.must_be_ours_alone().is_err());
            assert!(root.must_keep_a_directory_of_ours().is_ok());
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        std::os::unix::fs::chown(directory.path(), Some(65534), None).unwrap();
        let standing = Standing::of(directory.path()).unwrap();
        for refused in [standing.must_be_ours_alone(), standing.must_keep_a_directory_of_ours()] {
            assert!(refused.unwrap_err().to_string().contains("belongs to user 65534"));
        }
        let server = PrivateDir::take(directory.path()).unwrap_err().to_string();
        assert!(server.contains("belongs to user 65534"), "{server}");
        assert_eq!(names(directory.path()).unwrap().len(), 0, "nothing is left there");
    }

    #[test]
    fn only_plain_files_of_ours_are_opened() {
        let directory = tempfile::tempdir().unwrap();
        let victim = directory.path().join("victim");
        std::fs::write(&victim, "precious").unwrap();
        let link = directory.path().join("lock");
        symlink(&victim, &link).unwrap();
        for opened in [open_own(&link), open_own_empty(&link)] {
            let why = opened.unwrap_err().to_string();
            assert!(why.contains("lock is a symbolic link") && why.contains("remove it"), "{why}");
        }
        let hanging = directory.path().join("input");
        symlink(directory.path().join("new"), &hanging).unwrap();
        assert!(open_own(&hanging).is_err());
        assert!(!directory.path().join("new").exists());
        let pipe = directory.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        assert!(open_own(&pipe).unwrap_err().to_string().contains("no plain file"));
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
        open_own_empty(&victim).unwrap();
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "");
    }

    #[test]
    fn a_server_leaves_the_mode_of_a_directory_with_files_alone() {
        let shared = with_mode(0o1777);
        std::fs::write(shared.path().join("theirs"), "").unwrap();
        let why = PrivateDir::take(shared.path()).unwrap_err().to_string();
        assert!(why.contains("can be written by other users"), "{why}");
        assert_eq!((mode_of(shared.path()), names(shared.path()).unwrap().len()), (0o1777, 1));
        // Readable for others: its files are private.
        let readable = with_mode(0o755);
        PrivateDir::take(readable.path()).unwrap();
        assert_eq!(mode_of(readable.path()), 0o755);
        // Mounted for the server.
        let mounted = with_mode(0o1777);
        std::fs::create_dir(mounted.path().join(LOST)).unwrap();
        PrivateDir::take(mounted.path()).unwrap();
        assert_eq!(mode_of(mounted.path()), 0o700);
        // A link to a directory of ours on another disk.
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("server");
        symlink(readable.path(), &link).unwrap();
        PrivateDir::take(&link).unwrap();
        let new = folder.path().join("a/b");
        PrivateDir::take(&new).unwrap();
        assert_eq!(mode_of(&new), 0o700);
    }
}
