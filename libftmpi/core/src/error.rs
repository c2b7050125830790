//! MPI errors: a class of the standard and a text for the user (MPI-4.1, 9.4).
//!
//! Guarantees: every error that leaves the core has a class that `MPI_Error_class` may answer with,
//! and a text that names what was wrong. The numbers are those of the common MPICH ABI; a front for
//! another ABI maps the enum, not the numbers.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

macro_rules! classes {
    ($($(#[$meta:meta])* $name:ident = $number:literal, $mpi:literal, $text:literal;)*) => {
        /// The error classes of MPI-3.1, MPI-4 and of user-level failure mitigation.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(i32)]
        pub enum ErrorClass {
            $(
                #[doc = concat!("`", $mpi, "`: ", $text)]
                $name = $number,
            )*
        }

        impl ErrorClass {
            /// Every class, in ascending order of its number.
            pub const ALL: &'static [ErrorClass] = &[$(ErrorClass::$name),*];

            /// The class with this number in the MPICH ABI.
            #[must_use]
            pub const fn from_number(number: i32) -> Option<Self> {
                match number {
                    $($number => Some(ErrorClass::$name),)*
                    _ => None,
                }
            }

            /// The name of the constant in `mpi.h`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(ErrorClass::$name => $mpi,)*
                }
            }

            /// The text of the class, for `MPI_Error_string`.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self {
                    $(ErrorClass::$name => $text,)*
                }
            }
        }
    };
}

classes! {
    Success = 0, "MPI_SUCCESS", "no error";
    Buffer = 1, "MPI_ERR_BUFFER", "invalid buffer pointer";
    Count = 2, "MPI_ERR_COUNT", "invalid count argument";
    Type = 3, "MPI_ERR_TYPE", "invalid datatype argument";
    Tag = 4, "MPI_ERR_TAG", "invalid tag argument";
    Comm = 5, "MPI_ERR_COMM", "invalid communicator";
    Rank = 6, "MPI_ERR_RANK", "invalid rank";
    Root = 7, "MPI_ERR_ROOT", "invalid root";
    Group = 8, "MPI_ERR_GROUP", "invalid group";
    Op = 9, "MPI_ERR_OP", "invalid reduction operation";
    Topology = 10, "MPI_ERR_TOPOLOGY", "invalid topology";
    Dims = 11, "MPI_ERR_DIMS", "invalid dimension argument";
    Arg = 12, "MPI_ERR_ARG", "invalid argument";
    Unknown = 13, "MPI_ERR_UNKNOWN", "unknown error";
    Truncate = 14, "MPI_ERR_TRUNCATE", "message truncated on receive";
    Other = 15, "MPI_ERR_OTHER", "other error";
    Intern = 16, "MPI_ERR_INTERN", "internal error of the MPI library";
    InStatus = 17, "MPI_ERR_IN_STATUS", "see the MPI_ERROR field of each status";
    Pending = 18, "MPI_ERR_PENDING", "request still pending";
    Request = 19, "MPI_ERR_REQUEST", "invalid request handle";
    Access = 20, "MPI_ERR_ACCESS", "permission denied";
    Amode = 21, "MPI_ERR_AMODE", "invalid file access mode";
    BadFile = 22, "MPI_ERR_BAD_FILE", "invalid file name";
    Conversion = 23, "MPI_ERR_CONVERSION", "error in a data conversion function";
    DupDatarep = 24, "MPI_ERR_DUP_DATAREP", "data representation is already defined";
    FileExists = 25, "MPI_ERR_FILE_EXISTS", "file exists";
    FileInUse = 26, "MPI_ERR_FILE_IN_USE", "file is in use";
    File = 27, "MPI_ERR_FILE", "invalid file handle";
    Info = 28, "MPI_ERR_INFO", "invalid info handle";
    InfoKey = 29, "MPI_ERR_INFO_KEY", "invalid info key";
    InfoValue = 30, "MPI_ERR_INFO_VALUE", "invalid info value";
    InfoNokey = 31, "MPI_ERR_INFO_NOKEY", "info key is not defined";
    Io = 32, "MPI_ERR_IO", "input/output error";
    Name = 33, "MPI_ERR_NAME", "service name is not published";
    NoMem = 34, "MPI_ERR_NO_MEM", "out of memory";
    NotSame = 35, "MPI_ERR_NOT_SAME", "argument differs between the processes of a collective call";
    NoSpace = 36, "MPI_ERR_NO_SPACE", "no space left for the file";
    NoSuchFile = 37, "MPI_ERR_NO_SUCH_FILE", "no such file";
    Port = 38, "MPI_ERR_PORT", "invalid port name";
    Quota = 39, "MPI_ERR_QUOTA", "quota exceeded";
    ReadOnly = 40, "MPI_ERR_READ_ONLY", "file or file system is read-only";
    Service = 41, "MPI_ERR_SERVICE", "invalid service name";
    Spawn = 42, "MPI_ERR_SPAWN", "processes could not be spawned";
    UnsupportedDatarep = 43, "MPI_ERR_UNSUPPORTED_DATAREP", "data representation is not supported";
    UnsupportedOperation = 44, "MPI_ERR_UNSUPPORTED_OPERATION", "operation is not supported";
    Win = 45, "MPI_ERR_WIN", "invalid window";
    Base = 46, "MPI_ERR_BASE", "invalid base address";
    Locktype = 47, "MPI_ERR_LOCKTYPE", "invalid lock type";
    Keyval = 48, "MPI_ERR_KEYVAL", "invalid attribute key";
    RmaConflict = 49, "MPI_ERR_RMA_CONFLICT", "conflicting accesses to a window";
    RmaSync = 50, "MPI_ERR_RMA_SYNC", "wrong synchronisation of a window";
    Size = 51, "MPI_ERR_SIZE", "invalid size argument";
    Disp = 52, "MPI_ERR_DISP", "invalid displacement argument";
    Assert = 53, "MPI_ERR_ASSERT", "invalid assert argument";
    RmaRange = 55, "MPI_ERR_RMA_RANGE", "target memory is outside the window";
    RmaAttach = 56, "MPI_ERR_RMA_ATTACH", "memory cannot be attached";
    RmaShared = 57, "MPI_ERR_RMA_SHARED", "memory cannot be shared";
    RmaFlavor = 58, "MPI_ERR_RMA_FLAVOR", "window has the wrong flavor";
    TMemory = 59, "MPI_T_ERR_MEMORY", "MPI_T: out of memory";
    TNotInitialized = 60, "MPI_T_ERR_NOT_INITIALIZED", "MPI_T: interface is not initialised";
    TCannotInit = 61, "MPI_T_ERR_CANNOT_INIT", "MPI_T: interface cannot be initialised now";
    TInvalidIndex = 62, "MPI_T_ERR_INVALID_INDEX", "MPI_T: index is invalid or was deleted";
    TInvalidItem = 63, "MPI_T_ERR_INVALID_ITEM", "MPI_T: item index is out of range";
    TInvalidHandle = 64, "MPI_T_ERR_INVALID_HANDLE", "MPI_T: invalid handle";
    TOutOfHandles = 65, "MPI_T_ERR_OUT_OF_HANDLES", "MPI_T: no more handles";
    TOutOfSessions = 66, "MPI_T_ERR_OUT_OF_SESSIONS", "MPI_T: no more sessions";
    TInvalidSession = 67, "MPI_T_ERR_INVALID_SESSION", "MPI_T: invalid session";
    TCvarSetNotNow = 68, "MPI_T_ERR_CVAR_SET_NOT_NOW", "MPI_T: control variable cannot be set now";
    TCvarSetNever = 69, "MPI_T_ERR_CVAR_SET_NEVER", "MPI_T: control variable cannot be set";
    TPvarNoStartstop = 70, "MPI_T_ERR_PVAR_NO_STARTSTOP", "MPI_T: variable cannot be started or stopped";
    TPvarNoWrite = 71, "MPI_T_ERR_PVAR_NO_WRITE", "MPI_T: variable cannot be written or reset";
    TPvarNoAtomic = 72, "MPI_T_ERR_PVAR_NO_ATOMIC", "MPI_T: variable cannot be accessed atomically";
    TInvalidName = 73, "MPI_T_ERR_INVALID_NAME", "MPI_T: no such name";
    TInvalid = 74, "MPI_T_ERR_INVALID", "MPI_T: invalid argument";
    Session = 75, "MPI_ERR_SESSION", "invalid session handle";
    ProcAborted = 76, "MPI_ERR_PROC_ABORTED", "a process of the communication has aborted";
    ValueTooLarge = 77, "MPI_ERR_VALUE_TOO_LARGE", "value is too large to store";
    TNotSupported = 78, "MPI_T_ERR_NOT_SUPPORTED", "MPI_T: functionality is not supported";
    TNotAccessible = 79, "MPI_T_ERR_NOT_ACCESSIBLE", "MPI_T: variable cannot be accessed now";
    Errhandler = 80, "MPI_ERR_ERRHANDLER", "invalid error handler";
    Abi = 81, "MPI_ERR_ABI", "the ABI cannot be asked for or changed so";
    ProcFailed = 101, "MPIX_ERR_PROC_FAILED", "a process of the communication has failed";
    ProcFailedPending = 102, "MPIX_ERR_PROC_FAILED_PENDING", "request is pending because a process has failed";
    Revoked = 103, "MPIX_ERR_REVOKED", "communication object has been revoked";
    Again = 104, "MPIX_ERR_EAGAIN", "operation could not be issued now";
    NoReq = 105, "MPIX_ERR_NOREQ", "no request could be allocated";
}

impl ErrorClass {
    /// The number of the class in the MPICH ABI.
    #[must_use]
    pub const fn number(self) -> i32 {
        self as i32
    }

    /// An error of this class that says `text`.
    #[must_use]
    pub fn because(self, text: impl Into<Cow<'static, str>>) -> MpiError {
        MpiError::new(self, text)
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An error of a call: the class for the program, the text for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{class}: {text}")]
pub struct MpiError {
    /// The class that the call returns.
    pub class: ErrorClass,
    /// The text: what happened, to which object, and what to do.
    pub text: Cow<'static, str>,
    /// The refusal of the file system, if the error came from there.
    pub refusal: Option<Refusal>,
}

impl MpiError {
    /// An error of `class` that says `text`.
    pub fn new(class: ErrorClass, text: impl Into<Cow<'static, str>>) -> Self {
        Self { class, text: text.into(), refusal: None }
    }
}

impl From<ErrorClass> for MpiError {
    fn from(class: ErrorClass) -> Self {
        Self::new(class, class.text())
    }
}

/// The result of everything in the core that an MPI call may answer with.
pub type Result<T> = std::result::Result<T, MpiError>;

/// What a file is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Doing {
    Opened,
    Deleted,
    Read,
    Written,
    Examined,
    Resized,
    Extended,
    Synchronised,
    Locked,
}

impl Doing {
    const ALL: [(Doing, &'static str); 9] = [
        (Doing::Opened, "opened"),
        (Doing::Deleted, "deleted"),
        (Doing::Read, "read"),
        (Doing::Written, "written"),
        (Doing::Examined, "examined"),
        (Doing::Resized, "resized"),
        (Doing::Extended, "extended"),
        (Doing::Synchronised, "synchronised"),
        (Doing::Locked, "locked"),
    ];
}

/// A refusal of the file system, and its code: with class and path it is the whole error. It is
/// recorded, so that a later incarnation that repeats the call gives the same text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// What the file was used for.
    pub doing: Doing,
    /// `errno`.
    pub code: u16,
}

impl Refusal {
    /// Bits of [`Refusal::bits`].
    pub const BITS: u32 = 24;

    /// The error for the program.
    #[must_use]
    pub fn of(self, class: ErrorClass, path: &Path) -> MpiError {
        let system = std::io::Error::from_raw_os_error(i32::from(self.code));
        let what = Doing::ALL[self.doing as usize].1;
        let text = format!("'{}' cannot be {what}: {system}", path.display());
        MpiError { refusal: Some(self), ..class.because(text) }
    }

    /// As a number that is not 0.
    #[must_use]
    pub fn bits(self) -> u64 {
        (self.doing as u64 + 1) << 16 | u64::from(self.code)
    }

    /// From that number.
    #[must_use]
    pub fn from_bits(bits: u64) -> Option<Self> {
        let (doing, _) = *Doing::ALL.get((bits >> 16 & 0xff).checked_sub(1)? as usize)?;
        Some(Self { doing, code: bits as u16 })
    }
}

/// Returns an error of the given class with a formatted text.
///
/// `bail!(Count, "count is {count}, must not be negative")`
#[macro_export]
macro_rules! bail {
    ($class:ident, $($text:tt)*) => {
        return Err($crate::error::ErrorClass::$class.because(format!($($text)*)))
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_unique_ascending_and_reversible() {
        for pair in ErrorClass::ALL.windows(2) {
            assert!(pair[0].number() < pair[1].number());
        }
        for &class in ErrorClass::ALL {
            assert_eq!(ErrorClass::from_number(class.number()), Some(class));
        }
        assert_eq!(ErrorClass::from_number(54), None);
        assert_eq!(ErrorClass::Truncate.number(), 14);
        assert_eq!(ErrorClass::Assert.number(), 53);
    }

    #[test]
    fn an_error_says_class_and_text() {
        let error = ErrorClass::Rank.because("rank 7 is not in a communicator of size 4");
        assert_eq!(error.to_string(), "MPI_ERR_RANK: rank 7 is not in a communicator of size 4");
    }

    #[test]
    fn a_refusal_repeats_its_text() {
        for (index, (doing, word)) in Doing::ALL.into_iter().enumerate() {
            assert_eq!(doing as usize, index);
            let refusal = Refusal { doing, code: 2 };
            assert!(refusal.bits() != 0 && refusal.bits() >> Refusal::BITS == 0);
            assert_eq!(Refusal::from_bits(refusal.bits()), Some(refusal));
            let error = refusal.of(ErrorClass::NoSuchFile, Path::new("some/path"));
            assert!(error.text.contains("some/path") && error.text.contains(word), "{error}");
        }
        assert_eq!(Refusal::from_bits(0), None);
        assert_eq!(Refusal::from_bits(0xff << 16), None);
    }
}
