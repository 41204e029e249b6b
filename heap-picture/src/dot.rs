//! The graph as Graphviz text.
//!
//! For heaps that are too large or too tangled for our own layout: `dot -Tsvg heap.dot -o heap.svg`, or `sfdp` for
//! thousands of objects. Objects become boxes, each root an arrow from a point; ids become `n<id>` (or `n<id>` of an
//! object that is not drawn, as a dashed ellipse). Everything that comes from a program goes through `quoted`:
//! type names are C strings of any content. Source: the DOT language of Graphviz, "double-quoted string".

use crate::graph::HeapGraph;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The graph in the DOT language.
pub fn write_dot(graph: &HeapGraph) -> String {
    let mut text = String::from("digraph heap {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n");
    let mut line = |words: std::fmt::Arguments<'_>| writeln!(text, "  {words}").expect("a String takes all text");
    let index = graph.index();
    for (place, node) in graph.nodes.iter().enumerate() {
        if index[&node.id] != place {
            continue;
        }
        let [name, state] = node.lines();
        let label = if state.is_empty() { name } else { format!("{name}\n{state}") };
        line(format_args!("n{} [label={}];", node.id, quoted(&label)));
    }
    for (number, root) in graph.roots.iter().enumerate() {
        line(format_args!("r{number} [shape=point, tooltip=\"root\"];"));
        line(format_args!("r{number} -> n{root};"));
    }
    let mut outside = BTreeSet::new();
    for edge in &graph.edges {
        outside.extend([edge.from, edge.to].into_iter().filter(|id| !index.contains_key(id)));
        line(format_args!("n{} -> n{} [label={}];", edge.from, edge.to, quoted(&edge.label)));
    }
    outside.extend(graph.roots.iter().copied().filter(|id| !index.contains_key(id)));
    for id in outside {
        line(format_args!("n{id} [label=\"{id:#x}\", shape=ellipse, style=dashed];"));
    }
    text.push_str("}\n");
    text
}

/// A double-quoted string of the DOT language. Graphviz reads `\` as the start of an escape in labels, so it is doubled;
/// control characters other than a new line are shown as their Unicode pictures.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\0'..='\x1f' => quoted.push(char::from_u32(0x2400 + letter as u32).unwrap_or('\u{fffd}')),
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::{quoted, write_dot};
    use crate::{Edge, HeapGraph, Node};

    fn node(id: u64, name: &str) -> Node {
        Node { id, type_name: name.into(), count: Some(1), flags: Vec::new() }
    }

    #[test]
    fn quotes_backslashes_and_control_characters_do_not_end_the_string() {
        assert_eq!(quoted("a\"b"), r#""a\"b""#);
        assert_eq!(quoted("a\\"), r#""a\\""#);
        assert_eq!(quoted("two\nlines\tand a tab"), "\"two\\nlines␉and a tab\"");
    }

    #[test]
    fn every_node_edge_and_root_is_there_once() {
        let graph = HeapGraph {
            nodes: vec![node(7, "List<\"a\">"), node(8, "Leaf")],
            edges: vec![Edge { from: 7, to: 8, label: "head".into() }, Edge { from: 7, to: 8, label: "tail".into() }],
            roots: vec![7],
        };
        let text = write_dot(&graph);
        let count = |what: &str| text.matches(what).count();
        assert_eq!(count("n7 [label=\"List<\\\"a\\\">\\ncount 1\"];"), 1, "{text}");
        assert_eq!(count("n7 -> n8 "), 2, "{text}");
        assert_eq!(count("r0 -> n7;"), 1, "{text}");
        assert!(text.starts_with("digraph heap {") && text.ends_with("}\n"));
    }

    #[test]
    fn object_outside_the_graph_is_dashed() {
        let edges = vec![Edge { from: 1, to: 0x20, label: "out".into() }];
        let graph = HeapGraph { nodes: vec![node(1, "T")], edges, roots: vec![] };
        assert!(write_dot(&graph).contains("n32 [label=\"0x20\", shape=ellipse, style=dashed];"));
    }

    #[test]
    fn id_that_is_there_twice_is_drawn_once() {
        let graph = HeapGraph { nodes: vec![node(1, "T"), node(1, "U")], ..HeapGraph::default() };
        assert_eq!(write_dot(&graph).matches("n1 [").count(), 1);
    }
}
