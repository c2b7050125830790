//! Graphs of which every process knows its own edges (MPI-3.1, 7.5.4).
//!
//! `MPI_Dist_graph_create` lets any process contribute any edge. [`contributed_edges`] checks what
//! one process contributes; after an exchange, [`DistGraph::from_edges`] sorts out what concerns
//! one process. The order of neighbours is that of the contributing ranks, then of their lists, so
//! that it is the same in every run.

use crate::bail;
use crate::error::Result;

/// The edges of one process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DistGraph {
    /// Where edges to this process come from.
    pub sources: Vec<i32>,
    /// Their weights; all 1 if none are given.
    pub source_weights: Vec<i32>,
    /// Where edges from this process lead to.
    pub destinations: Vec<i32>,
    /// Their weights; all 1 if none are given.
    pub destination_weights: Vec<i32>,
    /// Whether the program gave weights.
    pub weighted: bool,
}

/// An edge of the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// Where it starts.
    pub source: i32,
    /// Where it ends.
    pub destination: i32,
    /// Its weight.
    pub weight: i32,
}

fn check_ranks(ranks: &[i32], size: u32) -> Result<()> {
    match ranks.iter().find(|&&rank| rank < 0 || rank as u32 >= size) {
        Some(rank) => bail!(Rank, "rank {rank} is not in a communicator of {size} processes"),
        None => Ok(()),
    }
}

/// The weights, or ones.
fn weights(given: Option<&[i32]>, len: usize) -> Result<Vec<i32>> {
    let Some(given) = given else { return Ok(vec![1; len]) };
    if given.len() != len {
        bail!(Arg, "{len} edges have {} weights", given.len());
    }
    match given.iter().find(|&&weight| weight < 0) {
        Some(weight) => bail!(Arg, "an edge has weight {weight}, must not be negative"),
        None => Ok(given.to_vec()),
    }
}

impl DistGraph {
    /// `MPI_Dist_graph_create_adjacent` on a communicator of `size` processes.
    pub fn adjacent(
        size: u32,
        sources: &[i32],
        source_weights: Option<&[i32]>,
        destinations: &[i32],
        destination_weights: Option<&[i32]>,
    ) -> Result<Self> {
        check_ranks(sources, size)?;
        check_ranks(destinations, size)?;
        Ok(Self {
            sources: sources.to_vec(),
            source_weights: weights(source_weights, sources.len())?,
            destinations: destinations.to_vec(),
            destination_weights: weights(destination_weights, destinations.len())?,
            weighted: source_weights.is_some() || destination_weights.is_some(),
        })
    }

    /// The edges of process `me`, out of those that all processes contributed, in order of the
    /// contributing ranks.
    #[must_use]
    pub fn from_edges(me: u32, edges: impl IntoIterator<Item = Edge>, weighted: bool) -> Self {
        let mut graph = Self { weighted, ..Self::default() };
        for edge in edges {
            if u32::try_from(edge.destination) == Ok(me) {
                graph.sources.push(edge.source);
                graph.source_weights.push(edge.weight);
            }
            if u32::try_from(edge.source) == Ok(me) {
                graph.destinations.push(edge.destination);
                graph.destination_weights.push(edge.weight);
            }
        }
        graph
    }
}

/// The edges that one process contributes to `MPI_Dist_graph_create` on a communicator of `size`
/// processes: `degrees[i]` of `destinations` belong to `sources[i]`.
pub fn contributed_edges(
    size: u32,
    sources: &[i32],
    degrees: &[i32],
    destinations: &[i32],
    edge_weights: Option<&[i32]>,
) -> Result<Vec<Edge>> {
    if sources.len() != degrees.len() {
        bail!(Arg, "{} sources have {} degrees", sources.len(), degrees.len());
    }
    let mut count = 0usize;
    for &degree in degrees {
        if degree < 0 {
            bail!(Arg, "a source has {degree} destinations, must not be negative");
        }
        count = count.saturating_add(degree as usize);
    }
    if count != destinations.len() {
        bail!(Arg, "the degrees add up to {count}, there are {} destinations", destinations.len());
    }
    check_ranks(sources, size)?;
    check_ranks(destinations, size)?;
    let weights = weights(edge_weights, count)?;
    let starts = sources
        .iter()
        .zip(degrees)
        .flat_map(|(&source, &degree)| std::iter::repeat_n(source, degree as usize));
    Ok(starts
        .zip(destinations.iter().zip(weights))
        .map(|(source, (&destination, weight))| Edge { source, destination, weight })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorClass;

    #[test]
    fn edges_find_both_their_ends() {
        let edges = contributed_edges(4, &[0, 2], &[2, 1], &[1, 2, 2], Some(&[5, 6, 7])).unwrap();
        let graph = DistGraph::from_edges(2, edges, true);
        assert_eq!((graph.sources, graph.source_weights), (vec![0, 2], vec![6, 7]));
        assert_eq!((graph.destinations, graph.destination_weights), (vec![2], vec![7]));
    }

    #[test]
    fn adjacent_lists_are_kept_as_given() {
        let graph = DistGraph::adjacent(3, &[2, 1], None, &[0], None).unwrap();
        assert_eq!((&graph.sources[..], &graph.source_weights[..]), (&[2, 1][..], &[1, 1][..]));
        assert!(!graph.weighted);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let class = |r: Result<Vec<Edge>>| r.unwrap_err().class;
        assert_eq!(class(contributed_edges(2, &[2], &[0], &[], None)), ErrorClass::Rank);
        assert_eq!(class(contributed_edges(2, &[0], &[1], &[-1], None)), ErrorClass::Rank);
        assert_eq!(class(contributed_edges(2, &[0], &[-1], &[], None)), ErrorClass::Arg);
        assert_eq!(class(contributed_edges(2, &[0], &[2], &[1], None)), ErrorClass::Arg);
        assert_eq!(class(contributed_edges(2, &[0], &[1], &[1], Some(&[-1]))), ErrorClass::Arg);
        assert!(DistGraph::adjacent(2, &[2], None, &[], None).is_err());
    }
}
