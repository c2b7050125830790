//! Communicators with a virtual topology (MPI-4.1, chapter 8). Ranks are never reordered.

use super::{CommId, Mpi, Peer};
use crate::bail;
use crate::engine::Link;
use crate::error::Result;
use crate::topology::{Cart, DistGraph, Edge, Graph, Topology, TopologyKind, contributed_edges};
use std::rc::Rc;

/// Extents, periods and own coordinates of a grid.
pub type CartDescription = (Vec<i32>, Vec<bool>, Vec<i32>);

fn peer(rank: Option<u32>) -> Peer {
    rank.map_or(Peer::ProcNull, Peer::Rank)
}

impl<L: Link> Mpi<L> {
    fn intracomm_size(&self, comm: CommId) -> Result<u32> {
        let members = &self.comm(comm)?.members;
        if members.remote.is_some() {
            bail!(Comm, "an intercommunicator cannot have a topology");
        }
        Ok(members.local.len())
    }

    /// A communicator of the first `size` members, with the topology.
    fn with_topology(
        &mut self,
        comm: CommId,
        size: u32,
        topology: Topology,
    ) -> Result<Option<CommId>> {
        let me = self.comm_rank(comm)?;
        let new = self.split(comm, (me < size).then_some(0), me as i32)?;
        if let Some(new) = new {
            self.comm_mut(new)?.topology = Some(Rc::new(topology));
        }
        Ok(new)
    }

    /// `MPI_Cart_create`; `None`: `MPI_COMM_NULL`.
    pub fn cart_create(
        &mut self,
        comm: CommId,
        dims: &[i32],
        periods: &[bool],
        _reorder: bool,
    ) -> Result<Option<CommId>> {
        let cart = Cart::new(dims, periods, self.intracomm_size(comm)?)?;
        self.with_topology(comm, cart.size(), Topology::Cart(cart))
    }

    /// `MPI_Graph_create`; `None`: `MPI_COMM_NULL`.
    pub fn graph_create(
        &mut self,
        comm: CommId,
        index: &[i32],
        edges: &[i32],
        _reorder: bool,
    ) -> Result<Option<CommId>> {
        let graph = Graph::new(index, edges, self.intracomm_size(comm)?)?;
        self.with_topology(comm, graph.size(), Topology::Graph(graph))
    }

    fn with_dist_graph(&mut self, comm: CommId, graph: DistGraph) -> Result<CommId> {
        let new = self.comm_dup_with_info(comm, None)?;
        self.comm_mut(new)?.topology = Some(Rc::new(Topology::DistGraph(graph)));
        Ok(new)
    }

    /// `MPI_Dist_graph_create_adjacent`
    pub fn dist_graph_create_adjacent(
        &mut self,
        comm: CommId,
        sources: &[i32],
        source_weights: Option<&[i32]>,
        destinations: &[i32],
        destination_weights: Option<&[i32]>,
        _reorder: bool,
    ) -> Result<CommId> {
        let size = self.intracomm_size(comm)?;
        let graph =
            DistGraph::adjacent(size, sources, source_weights, destinations, destination_weights)?;
        self.with_dist_graph(comm, graph)
    }

    /// `MPI_Dist_graph_create`: edges come from anybody, each rank learns its own.
    pub fn dist_graph_create(
        &mut self,
        comm: CommId,
        sources: &[i32],
        degrees: &[i32],
        destinations: &[i32],
        weights: Option<&[i32]>,
        _reorder: bool,
    ) -> Result<CommId> {
        let size = self.intracomm_size(comm)?;
        let edges = contributed_edges(size, sources, degrees, destinations, weights)?;
        // All edges at every rank, padded to the longest list.
        let scope = self.scope(comm)?;
        let mut mine = (edges.len() as u64).to_le_bytes().to_vec();
        mine.push(u8::from(weights.is_some()));
        let heads = self.collect_within(&scope, &mine)?;
        let heads: Vec<(usize, bool)> = heads
            .as_chunks::<9>()
            .0
            .iter()
            .map(|[len @ .., weighted]| (u64::from_le_bytes(*len) as usize, *weighted != 0))
            .collect();
        let longest = heads.iter().map(|head| head.0).max().unwrap_or(0);
        let mut mine: Vec<u8> = edges
            .iter()
            .flat_map(|e| [e.source, e.destination, e.weight])
            .flat_map(i32::to_le_bytes)
            .collect();
        mine.resize(12 * longest, 0);
        let scope = self.scope(comm)?;
        let all = self.collect_within(&scope, &mine)?;
        let mut edges = Vec::new();
        for (list, &(len, _)) in all.chunks_exact((12 * longest).max(1)).zip(&heads) {
            for edge in list.as_chunks::<12>().0.iter().take(len) {
                let word =
                    |i: usize| i32::from_le_bytes([edge[i], edge[i + 1], edge[i + 2], edge[i + 3]]);
                edges.push(Edge { source: word(0), destination: word(4), weight: word(8) });
            }
        }
        let weighted = heads.iter().any(|head| head.1);
        let graph = DistGraph::from_edges(self.comm_rank(comm)?, edges, weighted);
        self.with_dist_graph(comm, graph)
    }

    /// The topology, if there is one.
    pub fn topology(&self, comm: CommId) -> Result<Option<&Topology>> {
        Ok(self.comm(comm)?.topology.as_deref())
    }

    /// `MPI_Topo_test`
    pub fn topo_test(&self, comm: CommId) -> Result<Option<TopologyKind>> {
        Ok(self.topology(comm)?.map(Topology::kind))
    }

    fn cart(&self, comm: CommId) -> Result<&Cart> {
        match self.topology(comm)? {
            Some(Topology::Cart(cart)) => Ok(cart),
            _ => bail!(Topology, "the communicator has no cartesian topology"),
        }
    }

    fn graph(&self, comm: CommId) -> Result<&Graph> {
        match self.topology(comm)? {
            Some(Topology::Graph(graph)) => Ok(graph),
            _ => bail!(Topology, "the communicator has no graph topology"),
        }
    }

    /// `MPI_Dist_graph_neighbors`: the edges of this rank.
    pub fn dist_graph_neighbors(&self, comm: CommId) -> Result<&DistGraph> {
        match self.topology(comm)? {
            Some(Topology::DistGraph(graph)) => Ok(graph),
            _ => bail!(Topology, "the communicator has no distributed graph topology"),
        }
    }

    /// `MPI_Dist_graph_neighbors_count`: edges in, edges out, whether they have weights.
    pub fn dist_graph_neighbors_count(&self, comm: CommId) -> Result<(usize, usize, bool)> {
        let graph = self.dist_graph_neighbors(comm)?;
        Ok((graph.sources.len(), graph.destinations.len(), graph.weighted))
    }

    /// `MPI_Cartdim_get`
    pub fn cartdim_get(&self, comm: CommId) -> Result<usize> {
        Ok(self.cart(comm)?.dims().len())
    }

    /// `MPI_Cart_get`
    pub fn cart_get(&self, comm: CommId) -> Result<CartDescription> {
        let cart = self.cart(comm)?;
        let dims = cart.dims().iter().map(|&dim| dim as i32).collect();
        Ok((dims, cart.periods().to_vec(), cart.coords(self.comm_rank(comm)?)?))
    }

    /// `MPI_Cart_rank`
    pub fn cart_rank(&self, comm: CommId, coords: &[i32]) -> Result<u32> {
        self.cart(comm)?.rank(coords)
    }

    /// `MPI_Cart_coords`
    pub fn cart_coords(&self, comm: CommId, rank: u32) -> Result<Vec<i32>> {
        self.cart(comm)?.coords(rank)
    }

    /// `MPI_Cart_shift`: source and destination.
    pub fn cart_shift(
        &self,
        comm: CommId,
        direction: i32,
        displacement: i32,
    ) -> Result<(Peer, Peer)> {
        let me = self.comm_rank(comm)?;
        let (from, to) = self.cart(comm)?.shift(me, direction, displacement)?;
        Ok((peer(from), peer(to)))
    }

    /// `MPI_Cart_sub`
    pub fn cart_sub(&mut self, comm: CommId, remain: &[bool]) -> Result<Option<CommId>> {
        let me = self.comm_rank(comm)?;
        let part = self.cart(comm)?.sub(me, remain)?;
        let new = self.split(comm, Some(part.color as i32), part.key as i32)?;
        if let Some(new) = new {
            self.comm_mut(new)?.topology = Some(Rc::new(Topology::Cart(part.cart)));
        }
        Ok(new)
    }

    /// `MPI_Cart_map`: the same rank; `None`: `MPI_UNDEFINED`.
    pub fn cart_map(&self, comm: CommId, dims: &[i32], periods: &[bool]) -> Result<Option<u32>> {
        let cart = Cart::new(dims, periods, self.intracomm_size(comm)?)?;
        Ok(Some(self.comm_rank(comm)?).filter(|&me| me < cart.size()))
    }

    /// `MPI_Graph_map`: the same rank; `None`: `MPI_UNDEFINED`.
    pub fn graph_map(&self, comm: CommId, index: &[i32], edges: &[i32]) -> Result<Option<u32>> {
        let graph = Graph::new(index, edges, self.intracomm_size(comm)?)?;
        Ok(Some(self.comm_rank(comm)?).filter(|&me| me < graph.size()))
    }

    /// `MPI_Graphdims_get`: nodes and edges.
    pub fn graphdims_get(&self, comm: CommId) -> Result<(usize, usize)> {
        let graph = self.graph(comm)?;
        Ok((graph.index().len(), graph.edges().len()))
    }

    /// `MPI_Graph_get`
    pub fn graph_get(&self, comm: CommId) -> Result<(&[i32], &[i32])> {
        let graph = self.graph(comm)?;
        Ok((graph.index(), graph.edges()))
    }

    /// `MPI_Graph_neighbors_count`
    pub fn graph_neighbors_count(&self, comm: CommId, rank: u32) -> Result<usize> {
        Ok(self.graph_neighbors(comm, rank)?.len())
    }

    /// `MPI_Graph_neighbors`
    pub fn graph_neighbors(&self, comm: CommId, rank: u32) -> Result<&[i32]> {
        self.graph(comm)?.neighbors(rank)
    }

    /// How many blocks neighbourhood collectives receive and send on this communicator.
    pub fn neighbor_counts(&self, comm: CommId) -> Result<(usize, usize)> {
        let me = self.comm_rank(comm)?;
        match self.topology(comm)? {
            Some(topology) => Ok(topology.neighbor_counts(me)),
            None => {
                bail!(Topology, "the communicator has no topology, so that no rank has neighbours")
            }
        }
    }
}
