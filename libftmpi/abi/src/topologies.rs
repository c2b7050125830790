//! Cartesian, graph and distributed graph topologies (MPI-4.1, chapter 8).

use crate::calls::{anywhere, enter, on_comm};
use crate::constants::{MPI_CART, MPI_DIST_GRAPH, MPI_GRAPH, MPI_UNDEFINED};
use crate::decode::{length, peer_number};
use crate::handle::{Comm, Info};
use crate::memory::{In, Out, OutArray};
use ftmpi_core::bail;
use ftmpi_core::error::Result;
use ftmpi_core::topology::{TopologyKind, dims_create};
use ftmpi_entry::entry;
use std::ffi::c_int;

fn booleans(array: In<c_int>, n: usize) -> Result<Vec<bool>> {
    Ok(array.slice(n)?.iter().map(|&flag| flag != 0).collect())
}

/// Copies as much of `values` as the program made room for.
fn fill(
    place: OutArray<c_int>,
    room: c_int,
    values: impl ExactSizeIterator<Item = c_int>,
) -> Result<()> {
    let room = length("the room for an array", room)?;
    let n = values.len().min(room);
    for (slot, value) in place.slice(n)?.iter_mut().zip(values) {
        *slot = value;
    }
    Ok(())
}

#[entry]
pub extern "C" fn MPI_Dims_create(nnodes: c_int, ndims: c_int, dims: OutArray<c_int>) -> c_int {
    anywhere("MPI_Dims_create", || {
        dims_create(i64::from(nnodes), dims.slice(length("ndims", ndims)?)?)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Cart_create(
    comm: Comm,
    ndims: c_int,
    dims: In<c_int>,
    periods: In<c_int>,
    reorder: c_int,
    newcomm: Out<Comm>,
) -> c_int {
    on_comm("MPI_Cart_create", comm, |job, comm| {
        newcomm.put(Comm::NULL)?; // What is left when the call fails.
        let n = length("ndims", ndims)?;
        let new = job.cart_create(comm, dims.slice(n)?, &booleans(periods, n)?, reorder != 0)?;
        newcomm.put(Comm::of_member(new))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Graph_create(
    comm: Comm,
    nnodes: c_int,
    index: In<c_int>,
    edges: In<c_int>,
    reorder: c_int,
    newcomm: Out<Comm>,
) -> c_int {
    on_comm("MPI_Graph_create", comm, |job, comm| {
        newcomm.put(Comm::NULL)?; // What is left when the call fails.
        let (index, edges) = graph(nnodes, index, edges)?;
        newcomm.put(Comm::of_member(job.graph_create(comm, index, edges, reorder != 0)?))
    })
}

/// The two arrays of a graph: the last index says how many edges there are.
fn graph<'a>(nnodes: c_int, index: In<c_int>, edges: In<c_int>) -> Result<(&'a [i32], &'a [i32])> {
    let index = index.slice(length("nnodes", nnodes)?)?;
    let count = length("the number of edges", index.last().copied().unwrap_or(0))?;
    Ok((index, edges.slice(count)?))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Topo_test(comm: Comm, status: Out<c_int>) -> c_int {
    on_comm("MPI_Topo_test", comm, |job, comm| {
        status.put(match job.topo_test(comm)? {
            Some(TopologyKind::Cart) => MPI_CART,
            Some(TopologyKind::Graph) => MPI_GRAPH,
            Some(TopologyKind::DistGraph) => MPI_DIST_GRAPH,
            None => MPI_UNDEFINED,
        })
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Cartdim_get(comm: Comm, ndims: Out<c_int>) -> c_int {
    on_comm("MPI_Cartdim_get", comm, |job, comm| ndims.put(job.cartdim_get(comm)? as c_int))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Cart_get(
    comm: Comm,
    maxdims: c_int,
    dims: OutArray<c_int>,
    periods: OutArray<c_int>,
    coords: OutArray<c_int>,
) -> c_int {
    on_comm("MPI_Cart_get", comm, |job, comm| {
        let (all_dims, all_periods, all_coords) = job.cart_get(comm)?;
        fill(dims, maxdims, all_dims.iter().copied())?;
        fill(periods, maxdims, all_periods.iter().map(|&p| c_int::from(p)))?;
        fill(coords, maxdims, all_coords.iter().copied())
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Cart_rank(comm: Comm, coords: In<c_int>, rank: Out<c_int>) -> c_int {
    on_comm("MPI_Cart_rank", comm, |job, comm| {
        let n = job.cartdim_get(comm)?;
        rank.put(job.cart_rank(comm, coords.slice(n)?)? as c_int)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Cart_coords(
    comm: Comm,
    rank: c_int,
    maxdims: c_int,
    coords: OutArray<c_int>,
) -> c_int {
    on_comm("MPI_Cart_coords", comm, |job, comm| {
        let all = job.cart_coords(comm, rank as u32)?;
        fill(coords, maxdims, all.iter().copied())
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Cart_shift(
    comm: Comm,
    direction: c_int,
    displacement: c_int,
    source: Out<c_int>,
    destination: Out<c_int>,
) -> c_int {
    on_comm("MPI_Cart_shift", comm, |job, comm| {
        let (from, to) = job.cart_shift(comm, direction, displacement)?;
        source.put(peer_number(from))?;
        destination.put(peer_number(to))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Cart_sub(comm: Comm, remain: In<c_int>, newcomm: Out<Comm>) -> c_int {
    on_comm("MPI_Cart_sub", comm, |job, comm| {
        newcomm.put(Comm::NULL)?; // What is left when the call fails.
        let n = job.cartdim_get(comm)?;
        newcomm.put(Comm::of_member(job.cart_sub(comm, &booleans(remain, n)?)?))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Cart_map(
    comm: Comm,
    ndims: c_int,
    dims: In<c_int>,
    periods: In<c_int>,
    newrank: Out<c_int>,
) -> c_int {
    on_comm("MPI_Cart_map", comm, |job, comm| {
        let n = length("ndims", ndims)?;
        let rank = job.cart_map(comm, dims.slice(n)?, &booleans(periods, n)?)?;
        newrank.put(rank.map_or(MPI_UNDEFINED, |rank| rank as c_int))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Graph_map(
    comm: Comm,
    nnodes: c_int,
    index: In<c_int>,
    edges: In<c_int>,
    newrank: Out<c_int>,
) -> c_int {
    on_comm("MPI_Graph_map", comm, |job, comm| {
        let (index, edges) = graph(nnodes, index, edges)?;
        let rank = job.graph_map(comm, index, edges)?;
        newrank.put(rank.map_or(MPI_UNDEFINED, |rank| rank as c_int))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Graphdims_get(comm: Comm, nnodes: Out<c_int>, nedges: Out<c_int>) -> c_int {
    on_comm("MPI_Graphdims_get", comm, |job, comm| {
        let (nodes, edges) = job.graphdims_get(comm)?;
        nnodes.put(nodes as c_int)?;
        nedges.put(edges as c_int)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Graph_get(
    comm: Comm,
    maxindex: c_int,
    maxedges: c_int,
    index: OutArray<c_int>,
    edges: OutArray<c_int>,
) -> c_int {
    on_comm("MPI_Graph_get", comm, |job, comm| {
        let (all_index, all_edges) = job.graph_get(comm)?;
        fill(index, maxindex, all_index.iter().copied())?;
        fill(edges, maxedges, all_edges.iter().copied())
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Graph_neighbors_count(comm: Comm, rank: c_int, count: Out<c_int>) -> c_int {
    on_comm("MPI_Graph_neighbors_count", comm, |job, comm| {
        count.put(job.graph_neighbors_count(comm, rank as u32)? as c_int)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Graph_neighbors(
    comm: Comm,
    rank: c_int,
    maxneighbors: c_int,
    neighbors: OutArray<c_int>,
) -> c_int {
    on_comm("MPI_Graph_neighbors", comm, |job, comm| {
        fill(neighbors, maxneighbors, job.graph_neighbors(comm, rank as u32)?.iter().copied())
    })
}

/// What `MPI_UNWEIGHTED` points to.
static UNWEIGHTED: [c_int; 1] = [-1];
/// What `MPI_WEIGHTS_EMPTY` points to.
static EMPTY_WEIGHTS: [c_int; 1] = [-1];

/// A constant of `mpi.h` that is an exported variable.
#[repr(transparent)]
pub struct Constant(*const c_int);

// SAFETY: the pointer is never written and never followed by us; what it points to is immutable.
unsafe impl Sync for Constant {}

#[unsafe(no_mangle)]
pub static MPI_UNWEIGHTED: Constant = Constant(&raw const UNWEIGHTED as *const c_int);
#[unsafe(no_mangle)]
pub static MPI_WEIGHTS_EMPTY: Constant = Constant(&raw const EMPTY_WEIGHTS as *const c_int);

/// Weights, or none if the program passed `MPI_UNWEIGHTED`.
fn weights<'a>(array: In<c_int>, n: usize) -> Result<Option<&'a [i32]>> {
    if array.address() == MPI_UNWEIGHTED.0 {
        return Ok(None);
    }
    if array.address() == MPI_WEIGHTS_EMPTY.0 {
        if n != 0 {
            bail!(Arg, "MPI_WEIGHTS_EMPTY was given for {n} edges");
        }
        return Ok(Some(&[]));
    }
    array.slice(n).map(Some)
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Dist_graph_create_adjacent(
    comm: Comm,
    indegree: c_int,
    sources: In<c_int>,
    source_weights: In<c_int>,
    outdegree: c_int,
    destinations: In<c_int>,
    destination_weights: In<c_int>,
    _info: Info,
    reorder: c_int,
    newcomm: Out<Comm>,
) -> c_int {
    on_comm("MPI_Dist_graph_create_adjacent", comm, |job, comm| {
        newcomm.put(Comm::NULL)?; // What is left when the call fails.
        let (n_in, n_out) = (length("indegree", indegree)?, length("outdegree", outdegree)?);
        let new = job.dist_graph_create_adjacent(
            comm,
            sources.slice(n_in)?,
            weights(source_weights, n_in)?,
            destinations.slice(n_out)?,
            weights(destination_weights, n_out)?,
            reorder != 0,
        )?;
        newcomm.put(Comm::of(new))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Dist_graph_create(
    comm: Comm,
    n: c_int,
    sources: In<c_int>,
    degrees: In<c_int>,
    destinations: In<c_int>,
    edge_weights: In<c_int>,
    _info: Info,
    reorder: c_int,
    newcomm: Out<Comm>,
) -> c_int {
    on_comm("MPI_Dist_graph_create", comm, |job, comm| {
        newcomm.put(Comm::NULL)?; // What is left when the call fails.
        let n = length("n", n)?;
        let degrees = degrees.slice(n)?;
        let mut edges = 0usize;
        for &degree in degrees {
            edges += length("a degree", degree)?;
        }
        let new = job.dist_graph_create(
            comm,
            sources.slice(n)?,
            degrees,
            destinations.slice(edges)?,
            weights(edge_weights, edges)?,
            reorder != 0,
        )?;
        newcomm.put(Comm::of(new))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Dist_graph_neighbors_count(
    comm: Comm,
    indegree: Out<c_int>,
    outdegree: Out<c_int>,
    weighted: Out<c_int>,
) -> c_int {
    on_comm("MPI_Dist_graph_neighbors_count", comm, |job, comm| {
        let (n_in, n_out, has_weights) = job.dist_graph_neighbors_count(comm)?;
        indegree.put(n_in as c_int)?;
        outdegree.put(n_out as c_int)?;
        weighted.put(c_int::from(has_weights))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Dist_graph_neighbors(
    comm: Comm,
    maxindegree: c_int,
    sources: OutArray<c_int>,
    source_weights: OutArray<c_int>,
    maxoutdegree: c_int,
    destinations: OutArray<c_int>,
    destination_weights: OutArray<c_int>,
) -> c_int {
    on_comm("MPI_Dist_graph_neighbors", comm, |job, comm| {
        let graph = job.dist_graph_neighbors(comm)?;
        let wanted = |place: OutArray<c_int>| {
            let address = place.address().cast_const();
            graph.weighted && address != MPI_UNWEIGHTED.0 && address != MPI_WEIGHTS_EMPTY.0
        };
        fill(sources, maxindegree, graph.sources.iter().copied())?;
        if wanted(source_weights) {
            fill(source_weights, maxindegree, graph.source_weights.iter().copied())?;
        }
        fill(destinations, maxoutdegree, graph.destinations.iter().copied())?;
        if wanted(destination_weights) {
            fill(destination_weights, maxoutdegree, graph.destination_weights.iter().copied())?;
        }
        Ok(())
    })
}
