//! The format of a process image, and the contract with the boot library.
//!
//! | module | what it is | who uses it |
//! | --- | --- | --- |
//! | [`container`] | what travels and is stored: checksummed, compressed chunks of any byte stream | agent, checkpoint server |
//! | [`stream`] | the raw image, as the boot library writes and reads it | boot library, agent, tests |
//! | [`boot_abi`] | the table of C functions that the boot library exports | runtime, boot library |
//! | `undo` | journals by which files return with the ranks that wrote them | runtime, agent |
//! | [`host`] | what must be equal on two hosts so that one restores the images of the other | boot library, launcher |
//! | [`launch`] | how a rank must be started so that its images fit again | agent |
//!
//! The way of an image: copy-on-write child of the rank → raw stream → agent
//! ([`container::Encoder`]) → network → checkpoint server ([`container::Verifier`]). The way back:
//! server → agent ([`container::Decoder`]) → raw stream → boot library of the new process.
#![deny(unsafe_code)]

pub mod boot_abi;
#[cfg(feature = "container")]
pub mod container;
pub mod host;
pub mod launch;
pub mod stream;
#[cfg(feature = "container")]
mod tuning;
#[cfg(feature = "undo")]
pub mod undo;
