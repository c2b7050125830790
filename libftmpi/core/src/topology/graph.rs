//! Graphs that every process knows in full (MPI-3.1, 7.5.3).

use crate::bail;
use crate::error::Result;

/// A graph as `MPI_Graph_create` is given it: `index[i]` is the number of neighbours of the nodes
/// `0..=i`, `edges` lists the neighbours node by node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    index: Box<[i32]>,
    edges: Box<[i32]>,
}

impl Graph {
    /// A graph on the first processes of a communicator of `size`. `edges` may be longer than
    /// needed.
    pub fn new(index: &[i32], edges: &[i32], size: u32) -> Result<Self> {
        if index.len() as u64 > u64::from(size) {
            bail!(Arg, "a graph of {} nodes needs more than {size} processes", index.len());
        }
        let mut last = 0;
        for (node, &end) in index.iter().enumerate() {
            if end < last || end as usize > edges.len() {
                bail!(Arg, "the neighbours of node {node} end at {end} after {last}");
            }
            last = end;
        }
        let edges = &edges[..last as usize];
        if let Some(edge) = edges.iter().find(|&&e| e < 0 || e as usize >= index.len()) {
            bail!(Arg, "{edge} is not a node of a graph of {} nodes", index.len());
        }
        Ok(Self { index: index.into(), edges: edges.into() })
    }

    /// How many processes the graph has.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.index.len() as u32
    }

    /// For each node the number of neighbours of the nodes up to it.
    #[must_use]
    pub fn index(&self) -> &[i32] {
        &self.index
    }

    /// All neighbours, node by node.
    #[must_use]
    pub fn edges(&self) -> &[i32] {
        &self.edges
    }

    /// `MPI_Graph_neighbors`
    pub fn neighbors(&self, rank: u32) -> Result<&[i32]> {
        let node = rank as usize;
        let Some(&end) = self.index.get(node) else {
            bail!(Rank, "rank {rank} is not in a graph of {} nodes", self.index.len());
        };
        let start = if node == 0 { 0 } else { self.index[node - 1] };
        Ok(&self.edges[start as usize..end as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorClass;

    #[test]
    fn the_example_of_the_standard() {
        let graph = Graph::new(&[2, 3, 4, 6], &[1, 3, 0, 3, 0, 2], 5).unwrap();
        assert_eq!(graph.size(), 4);
        assert_eq!(graph.neighbors(0).unwrap(), [1, 3]);
        assert_eq!(graph.neighbors(1).unwrap(), [0]);
        assert_eq!(graph.neighbors(3).unwrap(), [0, 2]);
        assert_eq!(graph.neighbors(4).unwrap_err().class, ErrorClass::Rank);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(Graph::new(&[1, 0], &[1], 2).is_err());
        assert!(Graph::new(&[-1], &[], 2).is_err());
        assert!(Graph::new(&[1, 3], &[1], 2).is_err());
        assert!(Graph::new(&[1, 2], &[1, 2], 2).is_err());
        assert!(Graph::new(&[1, 2], &[1, -1], 2).is_err());
        assert!(Graph::new(&[0, 0, 0], &[], 2).is_err());
        assert_eq!(Graph::new(&[1, 1], &[1, 7, 7], 2).unwrap().edges(), [1]);
    }
}
