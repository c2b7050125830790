//! Neighbourhood collectives: with the neighbours of the communicator's topology only (MPI-4.1,
//! 8.6).

use super::data::{Blocks, PerRank, Piece};
use super::steps::Steps;
use std::rc::Rc;

/// The neighbours of this rank, each once per edge; `None` is beyond the border of a grid.
#[derive(Debug, Clone, Default)]
pub struct Neighbors {
    /// The source of each block, with the number of the message among all from that rank.
    pub sources: Rc<[(Option<usize>, usize)]>,
    /// The destination of each block, with the number of the message.
    pub destinations: Rc<[(Option<usize>, usize)]>,
}

impl Neighbors {
    /// The neighbours in a grid: for each dimension the one below and the one above. What one rank
    /// sends upwards the other receives from below, also if both neighbours are the same rank
    /// (MPI-4.0, 8.6).
    #[must_use]
    pub fn grid(below_above: &[(Option<usize>, Option<usize>)]) -> Self {
        let mut sources = Vec::new();
        let mut destinations = Vec::new();
        for (dimension, &(below, above)) in below_above.iter().enumerate() {
            let (down, up) = (2 * dimension, 2 * dimension + 1);
            sources.extend([(below, up), (above, down)]);
            destinations.extend([(below, down), (above, up)]);
        }
        Self { sources: sources.into(), destinations: destinations.into() }
    }

    /// Neighbours in a graph: several edges between two ranks are identified by their order.
    #[must_use]
    pub fn graph(sources: &[usize], destinations: &[usize]) -> Self {
        Self {
            sources: sources.iter().map(|&rank| (Some(rank), 0)).collect(),
            destinations: destinations.iter().map(|&rank| (Some(rank), 0)).collect(),
        }
    }
}

/// One block goes to all destinations, a block comes from each source.
pub fn allgather<S: Steps>(p: &mut S, neighbors: &Neighbors, send: &Piece, recv: &Blocks) {
    receive(p, neighbors, recv);
    for &(to, step) in neighbors.destinations.iter().filter(|_| !send.is_empty()) {
        if let Some(to) = to {
            p.send(send.clone(), to, step);
        }
    }
}

/// A block goes to each destination, a block comes from each source.
pub fn alltoall<S: Steps>(p: &mut S, neighbors: &Neighbors, send: &Blocks, recv: &Blocks) {
    receive(p, neighbors, recv);
    for (i, &(to, step)) in neighbors.destinations.iter().enumerate() {
        if let Some(to) = to.filter(|_| send.bytes(i) > 0) {
            p.send(send.piece(i), to, step);
        }
    }
}

fn receive<S: Steps>(p: &mut S, neighbors: &Neighbors, recv: &Blocks) {
    for (i, &(from, step)) in neighbors.sources.iter().enumerate() {
        if let Some(from) = from.filter(|_| recv.bytes(i) > 0) {
            p.recv(recv.piece(i), from, step);
        }
    }
}
