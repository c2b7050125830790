//! The preloaded library: takes and restores the image of its process.
//!
//! `LD_PRELOAD` loads the library into every rank. Children of a rank inherit the library, which
//! answers when the rank asks for their images. The runtime finds
//! [`exported_table::ftmpi_boot_table`] and calls through it. [`ftmpi_checkpoint::boot_abi`] is the
//! contract.
//!
//! Guarantees: the library exports no `MPI_*`. It never allocates, locks or calls into the C
//! library while it takes or restores an image. It makes system calls only, and its buffers lie in
//! the reserved area. Therefore it may interrupt the program anywhere, in `malloc` too. The crate
//! is `no_std`, so that this stays so.
//!
//! | folder | what it holds |
//! | --- | --- |
//! | [`start`] | the constructor: is this process a rank? does it begin from an image? |
//! | [`capture`] | takes an image |
//! | [`children`] | living children of a rank: asked for their images, started again |
//! | [`restore`] | becomes the process of an image |
//! | [`descriptors`] | open files, pipes, event counters: checkpoint and restore of each kind |
//! | [`memory`] | mappings, files that are mapped, locked memory, guard pages |
//! | [`threads`] | stops all threads, and makes them again |
//! | [`signals`] | the agent's signal, handlers, pending signals |
//! | [`process`] | user, limits, attributes of the process |
//! | [`time`] | clocks that count since the host was started; POSIX timers |
//! | [`interpose`] | functions that stand before those of the C library |
//! | `loads` | `libftmpi_loads.so`, which turns loads of another MPI library into ours (C) |
//! | [`base`] | system calls, the reserved area, refusals |
#![no_std]
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod base;
mod capture;
mod children;
mod descriptors;
mod exported_table;
mod interpose;
mod memory;
mod process;
mod restore;
mod signals;
mod start;
mod threads;
mod time;
mod tuning;
