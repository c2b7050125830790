//! The program's descriptors: what they are, and how they come back. One file for each kind.
//!
//! | kind | file |
//! | --- | --- |
//! | regular files, directories | [`regular_file`], [`reopen`] |
//! | harmless character devices | [`device`] |
//! | `memfd`, `O_TMPFILE`, deleted files | [`memfd_or_deleted`] |
//! | pipes within the program | [`pipe`] |
//! | `eventfd` | [`eventfd`] |
//! | standard streams | [`standard_stream`] |
//! | what the caller of the launcher passed on | [`of_the_caller`] |
//! | copies (`dup`) of the above | [`duplicate`] |
//! | `epoll` | [`epoll`] |
//! | `inotify` | [`inotify`] |
//! | `timerfd`, `signalfd`, `pidfd` | [`timerfd`], [`signalfd`], [`pidfd`] |
//! | pairs of sockets within the program | [`socket_pair`] |
//! | sockets that are connected to nobody | [`socket`] |
//! | other sockets, devices, … (no image) | [`unsupported`] |
//!
//! Files that an image rests on are given to the agent, and asked for: [`kept_files`].
//!
//! [`checkpoint`] finds out the kind of each descriptor, [`restore`] makes each again. Contents of
//! files and pipes go through [`contents`]. What the kernel keeps in addition to the open file is
//! in [`file_locks`] and [`fd_owner`].
//!
//! Descriptors of the library ([`library_descriptors`]) are never part of an image, whatever their
//! numbers. The library takes numbers from [`library_descriptors::FIRST_LIBRARY`] on as long as the
//! program's limit on descriptors allows it. A descriptor of the program with such a number makes
//! an image impossible: a restored process would close it, or use the number for the library.

pub mod candidate;
pub mod checkpoint;
pub mod contents;
pub mod device;
pub mod duplicate;
pub mod epoll;
pub mod eventfd;
pub mod fd_owner;
pub mod file_locks;
pub mod file_system;
pub mod inotify;
pub mod kept_files;
pub mod kernel_object;
pub mod lease;
pub mod library_descriptors;
pub mod memfd_or_deleted;
pub mod of_the_caller;
pub mod pidfd;
pub mod pipe;
pub mod regular_file;
pub mod reopen;
pub mod restore;
pub mod signalfd;
pub mod small_files;
pub mod socket;
pub mod socket_calls;
pub mod socket_pair;
pub mod standard_stream;
pub mod timerfd;
pub mod unsupported;
