//! The Fortran face: libmpifort.so.12.
