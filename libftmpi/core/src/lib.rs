//! MPI semantics without I/O: matching, requests, datatypes, communicators, collectives.
