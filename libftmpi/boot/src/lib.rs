//! The preloaded library: takes and restores the image of its process.
//!
//! Loaded into every rank by `LD_PRELOAD` (and inherited by its children, where it does nothing).
//! The runtime finds [`life::ftmpi_boot_table`] and calls through it; see
//! [`ftmpi_checkpoint::boot_abi`] for the contract.
//!
//! Guarantees: exports no `MPI_*`; never allocates, locks or calls into the C library while an image
//! is taken or restored (system calls only, buffers in the hole), so that it may interrupt the
//! program anywhere, `malloc` included. The crate is `no_std` to keep it so.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`start`] | constructor: is this a rank? with an image? |
//! | [`hole`] | the engine's own memory at a fixed address |
//! | [`life`] | who we are; the exported table; what is put back after a restore |
//! | [`signal`] | the agent's signal |
//! | [`capture`], [`child`], [`scanner`] | taking an image |
//! | [`threads`] | stopping all threads, and making them again |
//! | [`notes`], [`locks`] | locks that name their owner by thread id |
//! | [`masks`], [`handlers`] | keeps the signal open in every thread; counts the program's handlers |
//! | [`contents`], [`timers`], [`waiting`] | what is in files without a name and in pipes; POSIX timers; waiting signals |
//! | [`identity`] | user, filters and root directory, which must be those of the life's begin |
//! | [`ranges`] | locked memory, memory that is not forked, guard pages |
//! | [`system_v`] | semaphores and message queues that are the kernel's |
//! | [`manners`] | what the program asked the kernel for and what decides over nothing that it computes |
//! | [`maps`], [`data_files`], [`facts`], [`descriptors`], [`owners`], [`file_locks`], [`procfs`], [`strings`] | what an image is made of |
//! | [`restore`], `restorer.c`, [`reopen`] | becoming the process of an image |
//! | [`clocks`] | clocks that count since a host was started |
//! | [`closing`] | keeps the library's descriptors open, whatever the program closes |
//! | [`sleep`], [`whole`] | waits of the C library that images must not interrupt, and calls that they must not cut short |
#![no_std]
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod capture;
mod child;
mod clocks;
mod closing;
mod contents;
mod data_files;
mod descriptors;
mod facts;
mod file_locks;
mod frames;
mod handlers;
mod hole;
mod identity;
mod life;
mod line;
mod locks;
mod manners;
mod maps;
mod masks;
mod notes;
mod owners;
mod procfs;
mod ranges;
mod reopen;
mod restore;
mod scanner;
mod signal;
mod sleep;
mod start;
mod strings;
mod sys;
mod system_v;
mod threads;
mod timers;
mod waiting;
mod whole;
