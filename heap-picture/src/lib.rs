//! Pictures of a heap, drawn from plain data.
//!
//! Who wants a picture fills a [`HeapGraph`] (nodes, edges, which nodes are held from outside) and asks for
//! [`dot`](dot::write_dot), to be laid out by Graphviz, or [`svg`](svg::write_svg), a file that any browser shows.
//! This crate knows nothing of the runtime: it sees no pointer and no header, only numbers and names that were
//! copied out before, so a picture can be drawn of a live heap, of a report read back from a file, or of a graph made
//! up in a test. That is also why it can do without unsafe code altogether.
//!
//! ```
//! use heap_picture::{HeapGraph, Node, Edge};
//! let mut graph = HeapGraph::default();
//! graph.nodes.push(Node { id: 1, type_name: "Link".into(), count: Some(1), flags: vec!["candidate".into()] });
//! graph.edges.push(Edge { from: 1, to: 1, label: "next".into() });
//! assert!(heap_picture::dot::write_dot(&graph).contains("n1 -> n1 [label=\"next\"]"));
//! assert!(heap_picture::svg::write_svg(&graph, 200).starts_with("<svg"));
//! ```

#![warn(unreachable_pub)]
#![forbid(unsafe_code)]

pub mod dot;
pub mod graph;
pub mod layers;
pub mod svg;

pub use graph::{Edge, HeapGraph, Node};
