//! The attribute that makes a Rust function an MPI entry point.
