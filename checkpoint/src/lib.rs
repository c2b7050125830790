//! The format of a process image, and the contract with the boot library.
//!
//! | module | what it is | who uses it |
//! | --- | --- | --- |
//! | [`container`] | what travels and is stored: checksummed chunks | agent, checkpoint server |
//! | [`stream`] | the raw image, as the boot library writes it | boot library, agent, tests |
//! | [`boot_abi`] | the C functions that the boot library exports | runtime, boot library |
//! | `undo` | journals by which files return with their ranks | runtime, agent |
//! | [`host`] | what two hosts must share to restore each other's images | boot library, launcher |
//! | [`inheritance`] | what a process has from its caller: signals, descriptors | launcher, agent |
//! | [`launch`] | how a rank must start so that its images fit again | agent |
//! | [`save_areas`] | the dynamic linker's areas for registers | boot library, launcher |
//! | [`thread_creation`] | threads in containers with an old filter | launcher, agent |
//!
//! The way of an image: copy-on-write child of the rank → raw stream → agent
//! ([`container::Encoder`]) → network → checkpoint server ([`container::Verifier`]). The way back:
//! server → agent ([`container::Decoder`]) → raw stream → boot library of the new process.
#![deny(unsafe_code)]

pub mod boot_abi;
#[cfg(feature = "container")]
pub mod container;
pub mod host;
pub mod inheritance;
pub mod launch;
pub mod save_areas;
pub mod stream;
pub mod thread_creation;
#[cfg(feature = "container")]
mod tuning;
#[cfg(feature = "undo")]
pub mod undo;
