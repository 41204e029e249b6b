//! In which column and row each object is drawn.
//!
//! A layered layout in its simplest form, in the order of Sugiyama's method (Sugiyama, Tagawa, Toda 1981): assign
//! layers, then order each layer so that few edges cross. A node's layer is its distance from the roots, by
//! breadth-first search; what no root reaches (garbage, the interesting part) is started in turn from the first
//! node not yet placed, in a layer below everything reached, so dead rings stand by themselves at the end. Distance
//! rather than longest path: heaps are full of cycles, and breaking them first would hide them. The order within a
//! layer is by the mean position of neighbours in the layer before (barycentre), swept a few times both ways.

use crate::graph::HeapGraph;
use std::collections::VecDeque;

/// Enough for the pictures we draw; the gain of a sweep falls off quickly.
const SWEEPS: usize = 4;

/// The drawn nodes by layer, first layer first; each entry is a place in `graph.nodes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layers(pub Vec<Vec<usize>>);

/// Chooses at most `nodes_max` nodes and places them: what roots reach first, nearest first, then the rest.
pub fn place(graph: &HeapGraph, nodes_max: usize) -> Layers {
    let links = graph.links();
    let mut outgoing = vec![Vec::new(); graph.nodes.len()];
    for &(from, to, _) in &links {
        outgoing[from].push(to);
    }
    let mut layers = Search { layer: vec![None; graph.nodes.len()], layers: Vec::new(), left: nodes_max };
    let rooted = graph.rooted();
    let index = graph.index();
    let drawn = |place: &usize| index[&graph.nodes[*place].id] == *place;
    layers.spread((0..graph.nodes.len()).filter(|&place| rooted[place]).collect(), 0, &outgoing);
    let below = layers.layers.len();
    for place in (0..graph.nodes.len()).filter(drawn) {
        layers.spread(vec![place], below, &outgoing);
    }
    let Search { layer, mut layers, .. } = layers;
    layers.retain(|layer| !layer.is_empty());
    let placed = |(from, to, _): &(usize, usize, usize)| layer[*from].is_some() && layer[*to].is_some();
    let links: Vec<_> = links.into_iter().filter(placed).collect();
    for sweep in 0..SWEEPS {
        untangle(&mut layers, &links, sweep % 2 == 0);
    }
    Layers(layers)
}

struct Search {
    layer: Vec<Option<usize>>,
    layers: Vec<Vec<usize>>,
    left: usize,
}

impl Search {
    /// Breadth-first from `starts`, whose layer is `first`.
    fn spread(&mut self, starts: Vec<usize>, first: usize, outgoing: &[Vec<usize>]) {
        let mut queue: VecDeque<(usize, usize)> = starts.into_iter().map(|place| (place, first)).collect();
        while let Some((place, layer)) = queue.pop_front() {
            if self.layer[place].is_some() || self.left == 0 {
                continue;
            }
            self.left -= 1;
            self.layer[place] = Some(layer);
            if self.layers.len() <= layer {
                self.layers.resize(layer + 1, Vec::new());
            }
            self.layers[layer].push(place);
            queue.extend(outgoing[place].iter().map(|&to| (to, layer + 1)));
        }
    }
}

/// Sorts each layer by where its neighbours in the layer before (or, upwards, after) stand.
fn untangle(layers: &mut [Vec<usize>], links: &[(usize, usize, usize)], downwards: bool) {
    let count = layers.len();
    for step in 1..count {
        let (fixed, moving) = if downwards { (step - 1, step) } else { (count - step, count - step - 1) };
        let position = |place: usize| layers[fixed].iter().position(|&other| other == place);
        let mut keyed: Vec<(f64, usize)> = Vec::with_capacity(layers[moving].len());
        for (row, &place) in layers[moving].iter().enumerate() {
            let neighbours = links.iter().filter_map(|&(from, to, _)| match place {
                _ if from == place => position(to),
                _ if to == place => position(from),
                _ => None,
            });
            let (sum, number) = neighbours.fold((0, 0), |(sum, number), row| (sum + row, number + 1));
            let mean = if number == 0 { row as f64 } else { sum as f64 / f64::from(number) };
            keyed.push((mean, place));
        }
        keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
        layers[moving] = keyed.into_iter().map(|(_, place)| place).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::{Layers, place};
    use crate::{Edge, HeapGraph, Node};

    fn graph(nodes: u64, edges: &[(u64, u64)], roots: &[u64]) -> HeapGraph {
        let node = |id| Node { id, type_name: "T".into(), count: None, flags: Vec::new() };
        let edge = |&(from, to): &(u64, u64)| Edge { from, to, label: String::new() };
        HeapGraph {
            nodes: (0..nodes).map(node).collect(),
            edges: edges.iter().map(edge).collect(),
            roots: roots.to_vec(),
        }
    }

    #[test]
    fn layer_is_the_distance_from_the_roots() {
        let graph = graph(4, &[(0, 1), (1, 2), (2, 0), (0, 2), (2, 3)], &[0]);
        let Layers(layers) = place(&graph, 100);
        assert_eq!(layers[0], [0]);
        assert_eq!(layers[1].len(), 2);
        assert_eq!(layers[2], [3]);
    }

    #[test]
    fn dead_ring_stands_after_all_that_is_reached() {
        let graph = graph(5, &[(0, 1), (2, 3), (3, 4), (4, 2)], &[0]);
        assert_eq!(place(&graph, 100), Layers(vec![vec![0], vec![1], vec![2], vec![3], vec![4]]));
    }

    #[test]
    fn crossing_edges_are_untangled() {
        let graph = graph(6, &[(0, 3), (0, 4), (1, 4), (2, 3), (4, 5)], &[0, 1, 2]);
        let Layers(layers) = place(&graph, 100);
        let row = |layer: usize, id: usize| layers[layer].iter().position(|&place| place == id).expect("placed");
        assert_eq!(row(0, 2) < row(0, 1), row(1, 3) < row(1, 4), "{layers:?}");
    }

    #[test]
    fn bound_keeps_the_nearest() {
        let edges: Vec<(u64, u64)> = (0..999).map(|from| (from, from + 1)).collect();
        let Layers(layers) = place(&graph(1000, &edges, &[0]), 3);
        assert_eq!(layers, [[0], [1], [2]]);
    }

    #[test]
    fn empty_graph_has_no_layers() {
        assert_eq!(place(&HeapGraph::default(), 10), Layers(vec![]));
    }
}
