//! The second C face: `libmpi_abi.so.1`, the standard ABI of MPI 5.0 (chapter "ABI" of the standard).
//!
//! Guarantees that a program compiled with the standard's `mpi.h` runs on the same core as all others: each
//! function translates handles, statuses and integers, calls its namesake in `libmpi.so.12`, and translates
//! what comes back. There is no state but that of callbacks and no second core: whatever holds for a program
//! of the first interface (protocols, images, errors) holds here.
//!
//! Handles: predefined ones are small numbers of the standard, in a table; all others are the first
//! interface's 32 bits, which are never that small. Most functions are generated from `include/mpi.table` and
//! `include/standard.table` by `include/standard.rs`.

mod attributes;
mod callbacks;
mod first;
mod lists;
mod special;
mod status;

/// Handles and integers of the two interfaces.
#[allow(dead_code, clippy::unnecessary_cast)]
mod convert {
    use core::ffi::c_int;

    /// What no constant of the first interface is, nor anything within 65535 of it: where a program gives a
    /// small number that would be a constant there, that number is added (the first interface knows this, see
    /// `constants::given`).
    const NOTHING: c_int = c_int::MIN + 0x10_0000;

    include!(concat!(env!("OUT_DIR"), "/translations.rs"));

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn predefined_handles_come_back() {
            let mut known = 0;
            for handle in 0..0x1000 {
                for (there, back) in [
                    (comm_in(handle), comm_out(comm_in(handle))),
                    (datatype_in(handle), datatype_out(datatype_in(handle))),
                    (op_in(handle), op_out(op_in(handle))),
                    (errhandler_in(handle), errhandler_out(errhandler_in(handle))),
                    (info_in(handle), info_out(info_in(handle))),
                ] {
                    assert_eq!(back, handle);
                    known += usize::from(there > 0x1000);
                }
            }
            assert_eq!(known, 3 + 71 + 15 + 4 + 2);
            assert_eq!((file_in(0x118), file_out(0)), (0, 0x118));
            for file in [1, 0x118, 0x1000, 70_000] {
                assert!(file_out(file) >= 0x1000 && file_in(file_out(file)) == file);
            }
            // Neither a null file nor number 5: no file at all.
            assert!(file_in(5) > 1 << 40);
            assert_eq!(datatype_in(0x209), 0x4c00_0405);
        }

        #[test]
        fn handles_made_at_run_time_stay_as_they_are() {
            for first in [0x8400_0002u32, 0x8c00_0017, 0x9800_0000, 0xac00_0001] {
                assert_eq!(comm_in(first as usize), first);
                assert_eq!(comm_out(first), first as usize);
                assert_eq!(request_out(first), first as usize);
            }
        }

        #[test]
        fn numbers_come_back_and_strangers_stay_strangers() {
            for code in (0..=62).chain(1001..=1018) {
                assert_eq!(error_out(error_in(code)), code);
            }
            assert_eq!((error_in(15), error_in(1001)), (14, 61));
            // An error class of the first interface that the standard does not have, and added ones.
            assert_eq!((error_out(101), error_in(0x4000_0001)), (101, 0x4000_0001));
            assert_eq!(file_mode_out(file_mode_in(2 | 32 | 4)), 2 | 32 | 4);
            assert_eq!(file_mode_in(2 | 32), 1 | 8);
            assert_ne!(file_mode_in(1 << 20), 0);
            assert_eq!((thread_in(4096), thread_out(3)), (3, 4096));
            assert_eq!((thread_in(3), thread_in(7)), (NOTHING + 3, 7), "no levels here");
            assert_eq!((rank_in(5), tag_in(5), keyval_in(501)), (5, 5, 0x6440_0001));
        }
    }
}

/// The functions that follow from the kinds of their parameters.
#[allow(non_snake_case, missing_docs, dead_code, unused_mut, unused_imports)]
#[allow(clippy::missing_safety_doc, clippy::too_many_arguments, clippy::undocumented_unsafe_blocks)]
#[allow(clippy::unnecessary_cast, clippy::missing_transmute_annotations, clippy::let_and_return)]
mod functions {
    use core::ffi::{c_double, c_int, c_void};

    use crate::convert::*;
    use crate::first::next;
    use crate::lists::{List, Statuses, many, read, unless_null};
    use crate::special::{
        buffer_addr_out, buffer_in, displacement_in, neighbors, peers, pvar_in, unless_in_place,
        weights_in,
    };
    use crate::status::{One, Standard};

    include!(concat!(env!("OUT_DIR"), "/functions.rs"));
}
