//! How a choice buffer that is an array section with gaps reaches the C function.

use crate::table::{Direction, Function, Kind, Param};

/// How a choice buffer that is an array section with gaps is passed on.
#[derive(Clone, Copy, PartialEq)]
pub enum Passing {
    /// By its address alone: the call keeps it.
    Address,
    /// As a contiguous copy, brought back if the call writes: the call is over when it returns.
    Copy,
    /// As a contiguous copy that stays until the request is complete.
    Staged,
    /// As a datatype with the gaps: the call goes on after it returned.
    Typed,
    /// As a datatype of all partitions.
    Parts,
}

/// Whether it is a collective of a communicator, non-blocking or persistent.
fn is_collective(plain: &str) -> bool {
    const NAMES: [&str; 12] = [
        "barrier",
        "bcast",
        "gather",
        "scatter",
        "allgather",
        "alltoall",
        "reduce",
        "allreduce",
        "reduce_scatter",
        "reduce_scatter_block",
        "scan",
        "exscan",
    ];
    let name = plain.trim_start_matches("MPI_").to_lowercase();
    let name = name.strip_suffix("_init").or_else(|| name.strip_prefix('i')).unwrap_or(&name);
    let name = name.strip_prefix("neighbor_").unwrap_or(name);
    let base = name.strip_suffix(['v', 'w']).unwrap_or(name);
    NAMES.contains(&name) || NAMES.contains(&base)
}

/// How the choice buffers of `f` are passed.
pub fn passing(f: &Function) -> Passing {
    const KEPT: [&str; 6] =
        ["_attach", "_create", "_detach", "MPI_Get_address", "MPI_Free_mem", "_attach_buffer"];
    const ONE_SIDED: [&str; 6] = [
        "MPI_Put",
        "MPI_Get",
        "MPI_Accumulate",
        "MPI_Get_accumulate",
        "MPI_Fetch_and_op",
        "MPI_Compare_and_swap",
    ];
    let plain = f.name.strip_suffix("_c").unwrap_or(&f.name);
    if KEPT.iter().any(|k| plain.ends_with(k)) {
        return Passing::Address;
    }
    let request =
        |p: &Param| p.kind == Kind::Handle("MPI_Request") && p.direction == Direction::Out;
    if plain.ends_with("_end") {
        // Its buffer was named, with count and type, when it began.
        return Passing::Address;
    }
    if f.params.iter().any(request) && is_collective(plain) {
        return Passing::Staged;
    }
    if matches!(plain, "MPI_Psend_init" | "MPI_Precv_init") {
        return Passing::Parts;
    }
    let split = plain.ends_with("_begin");
    if f.params.iter().any(request) || ONE_SIDED.contains(&plain) || split {
        return Passing::Typed;
    }
    Passing::Copy
}
