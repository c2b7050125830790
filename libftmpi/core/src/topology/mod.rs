//! Virtual topologies: the neighbours of each rank (MPI-3.1, chapter 7).
//!
//! Pure tables: nothing here communicates. Neighbours of neighbourhood collectives come in the
//! order that MPI-3.1, 7.6 prescribes.

mod cart;
mod dims;
mod dist_graph;
mod graph;

pub use cart::{Cart, CartPart};
pub use dims::dims_create;
pub use dist_graph::{DistGraph, Edge, contributed_edges};
pub use graph::Graph;

/// A topology of a communicator, as this process sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Topology {
    /// A grid, open or closed in each dimension.
    Cart(Cart),
    /// A graph that every process knows in full.
    Graph(Graph),
    /// A graph of which every process knows its own edges.
    DistGraph(DistGraph),
}

/// What `MPI_Topo_test` answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum TopologyKind {
    Cart,
    Graph,
    DistGraph,
}

impl Topology {
    /// Which kind it is.
    #[must_use]
    pub const fn kind(&self) -> TopologyKind {
        match self {
            Self::Cart(_) => TopologyKind::Cart,
            Self::Graph(_) => TopologyKind::Graph,
            Self::DistGraph(_) => TopologyKind::DistGraph,
        }
    }

    /// The processes that a neighbourhood collective of process `rank` receives from and sends to,
    /// in order; `None` is `MPI_PROC_NULL`, the outside of an open grid.
    #[must_use]
    pub fn neighbors(&self, rank: u32) -> (Vec<Option<u32>>, Vec<Option<u32>>) {
        let some = |list: &[i32]| list.iter().map(|&rank| u32::try_from(rank).ok()).collect();
        match self {
            Self::Cart(cart) => {
                let both = cart.neighbors(rank);
                (both.clone(), both)
            }
            Self::Graph(graph) => {
                let both: Vec<_> = some(graph.neighbors(rank).unwrap_or_default());
                (both.clone(), both)
            }
            Self::DistGraph(graph) => (some(&graph.sources), some(&graph.destinations)),
        }
    }

    /// How many neighbours a neighbourhood collective of process `rank` receives from and sends to.
    #[must_use]
    pub fn neighbor_counts(&self, rank: u32) -> (usize, usize) {
        match self {
            Self::Cart(cart) => (2 * cart.dims().len(), 2 * cart.dims().len()),
            Self::Graph(graph) => {
                let degree = graph.neighbors(rank).map_or(0, <[i32]>::len);
                (degree, degree)
            }
            Self::DistGraph(graph) => (graph.sources.len(), graph.destinations.len()),
        }
    }
}
