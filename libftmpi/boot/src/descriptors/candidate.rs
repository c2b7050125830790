//! A descriptor of the program while it is looked at for an image.

use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::strings::Strings;
use crate::base::syscalls::Errno;
use crate::base::text::Shown;
use ftmpi_checkpoint::stream::{Descriptor, Text};

/// What the file of each kind looks at, and where it writes what it finds.
pub struct Candidate<'a> {
    pub area: &'a ReservedArea,
    pub strings: &'a Strings,
    pub stat: libc::stat,
    /// What the kernel shows for the descriptor.
    pub path: Text,
    /// All threads stand still, so a look that disturbs the file is not seen.
    pub still: bool,
    /// The entry of the image's table.
    pub entry: Descriptor,
}

impl<'a> Candidate<'a> {
    /// The kind of file (`S_IFMT`).
    pub fn file_type(&self) -> u32 {
        self.stat.st_mode & libc::S_IFMT
    }

    pub fn path(&self) -> &'a [u8] {
        self.strings.get(self.path)
    }

    /// No image, because the descriptor is `what`.
    pub fn refuse(&self, what: &str) -> Refused {
        let path = Shown(self.path());
        self.area.refuse(Refusal::DescriptorUnsupported { fd: self.entry.fd, what, path })
    }

    /// No image, because the descriptor cannot be examined.
    pub fn fail(&self, errno: Errno) -> Refused {
        self.area.refuse(Refusal::DescriptorUnreadable { fd: self.entry.fd, errno })
    }
}
