//! The data of a picture: objects, the references between them, and what holds them from outside.
//!
//! Filled by the walk of a heap, read by [`dot`](crate::dot) and [`svg`](crate::svg). Nothing is demanded of it: an
//! edge may name an object that is not among the nodes (the part shown may be cut out of a larger heap): dot text then
//! shows it as a dashed ellipse, an SVG picture leaves the edge out. Ids are the caller's; an address does well.

use std::collections::HashMap;

/// An object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The caller's name for the object; equal ids are the same object.
    pub id: u64,
    /// The name in the object's type descriptor.
    pub type_name: String,
    /// Its reference count, where it has one (a young object is uncounted).
    pub count: Option<u64>,
    /// What else is to be shown: `young`, `candidate`, `logged`, `dead`, …
    pub flags: Vec<String>,
}

/// A reference held in an object's slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// The object with the slot.
    pub from: u64,
    /// The object referred to.
    pub to: u64,
    /// The slot: a field's name, or its offset.
    pub label: String,
}

/// Objects, references, and which objects are held by a stack, a global or a handle.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeapGraph {
    /// The objects, in any order.
    pub nodes: Vec<Node>,
    /// The references between them, in any order; two slots may hold the same object.
    pub edges: Vec<Edge>,
    /// Ids of objects held from outside the heap.
    pub roots: Vec<u64>,
}

impl HeapGraph {
    /// The place in `nodes` of each id (the first one, if an id is there twice).
    pub fn index(&self) -> HashMap<u64, usize> {
        let mut index = HashMap::with_capacity(self.nodes.len());
        for (place, node) in self.nodes.iter().enumerate() {
            index.entry(node.id).or_insert(place);
        }
        index
    }

    /// The references between nodes of the graph, as places in `nodes`: (from, to, place in `edges`).
    pub fn links(&self) -> Vec<(usize, usize, usize)> {
        let index = self.index();
        let ends = |edge: &Edge| Some((*index.get(&edge.from)?, *index.get(&edge.to)?));
        let links = self.edges.iter().enumerate();
        links.filter_map(|(place, edge)| ends(edge).map(|(from, to)| (from, to, place))).collect()
    }

    /// Whether each node is held from outside, by place in `nodes`.
    pub fn rooted(&self) -> Vec<bool> {
        let index = self.index();
        let mut rooted = vec![false; self.nodes.len()];
        for root in &self.roots {
            if let Some(&place) = index.get(root) {
                rooted[place] = true;
            }
        }
        rooted
    }
}

impl Node {
    /// The lines of text that stand in the node's box: type, then count and flags.
    pub fn lines(&self) -> [String; 2] {
        let mut below: Vec<String> = self.count.map(|count| format!("count {count}")).into_iter().collect();
        below.extend(self.flags.iter().cloned());
        [self.type_name.clone(), below.join(", ")]
    }
}

#[cfg(test)]
mod tests {
    use super::{Edge, HeapGraph, Node};

    fn node(id: u64) -> Node {
        Node { id, type_name: "T".into(), count: None, flags: Vec::new() }
    }

    #[test]
    fn edge_to_an_unknown_object_is_no_link() {
        let edges = vec![Edge { from: 10, to: 20, label: "a".into() }, Edge { from: 10, to: 99, label: "b".into() }];
        let graph = HeapGraph { nodes: vec![node(20), node(10)], edges, roots: vec![10, 77] };
        assert_eq!(graph.links(), [(1, 0, 0)]);
        assert_eq!(graph.rooted(), [false, true]);
    }

    #[test]
    fn young_object_shows_no_count() {
        let mut young = node(1);
        young.flags = vec!["young".into(), "candidate".into()];
        assert_eq!(young.lines(), ["T".to_owned(), "young, candidate".to_owned()]);
        young.count = Some(2);
        assert_eq!(young.lines()[1], "count 2, young, candidate");
    }
}
