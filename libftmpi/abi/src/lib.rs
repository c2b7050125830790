//! The C face of libmpi.so.12.
