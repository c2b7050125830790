//! Which calls have a place in the order of the program's threads (`ftmpi_core::engine`, `steps`).
//!
//! A call has none if all that it does stays in this process and no other call can see in which
//! order it came: questions about handles, datatypes, groups, infos. A thread may make such a call
//! while it holds a lock of the program for which a thread inside waits.

/// Whether a call of this function has a place.
pub(crate) fn concerns(name: &str) -> bool {
    let name = name.strip_prefix('P').unwrap_or(name);
    let Some(rest) = name.strip_prefix("MPI_") else { return true };
    let begins = |with: &[&str]| with.iter().any(|begin| rest.starts_with(begin));
    // By the first letter: most calls compare no text.
    !match rest.as_bytes().first() {
        Some(b'A') => begins(&["Abi_", "Add_error_", "Address", "Aint_"]),
        Some(b'C') => begins(&[
            "Comm_rank",
            "Comm_size",
            "Comm_get_",
            "Comm_set_",
            "Comm_compare",
            "Comm_create_errhandler",
            "Comm_create_keyval",
            "Comm_free_keyval",
            "Comm_group",
            "Comm_remote_",
            "Comm_test_inter",
        ]),
        Some(b'E') => begins(&["Errhandler_", "Error_"]),
        Some(b'F') => begins(&["Finalized"]),
        Some(b'G') => begins(&[
            "Get_address",
            "Get_count",
            "Get_elements",
            "Get_library_version",
            "Get_version",
            "Group_",
        ]),
        Some(b'I') => begins(&["Info_", "Initialized", "Is_thread_main"]),
        Some(b'K') => begins(&["Keyval_"]),
        Some(b'O') => begins(&["Op_"]),
        Some(b'P') => begins(&["Pack"]),
        Some(b'Q') => begins(&["Query_thread"]),
        Some(b'S') => begins(&["Status_"]),
        Some(b'T') => begins(&["Type_"]),
        Some(b'U') => begins(&["Unpack"]),
        _ => false,
    }
}

/// Whether a call of this function may do something that another thread waits for, even if nothing
/// came meanwhile. A test does not, nor a question.
pub(crate) fn acts(name: &str) -> bool {
    let name = name.strip_prefix('P').unwrap_or(name);
    let tests = ["MPI_Test", "MPI_Iprobe", "MPI_Improbe", "MPI_Request_get_status"];
    concerns(name) && !tests.iter().any(|test| name.starts_with(test))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_and_questions_do_nothing_for_others() {
        for name in ["MPI_Send", "PMPI_Recv", "MPI_Wait", "MPI_Mprobe", "MPI_T_init_thread"] {
            assert!(acts(name), "{name}");
        }
        for name in ["MPI_Testany", "PMPI_Test", "MPI_Improbe", "MPI_Iprobe", "MPI_Comm_rank"] {
            assert!(!acts(name), "{name}");
        }
    }

    #[test]
    fn messages_have_a_place_and_questions_have_none() {
        for name in ["MPI_Send", "PMPI_Recv", "MPI_Comm_dup", "MPI_Wtime", "MPI_T_init_thread"] {
            assert!(concerns(name), "{name}");
        }
        for name in ["MPI_Comm_rank", "PMPI_Type_commit", "MPI_Info_set", "MPI_Op_free"] {
            assert!(!concerns(name), "{name}");
        }
    }
}
