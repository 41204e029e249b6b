//! The graph as one SVG file that stands alone.
//!
//! Objects are boxes in columns from left to right ([`layers`] says where), references are curves with
//! the slot's name at their middle, objects held from outside have a thick border. No script, no style sheet, no
//! font is fetched, so the file can be mailed or committed. A picture of thousands of boxes is of no help, so at most
//! `nodes_max` are drawn and a line at the top says how many were left out; [`dot`](crate::dot) leaves out nothing.
//! All text from the program goes through `escaped`. Source: SVG 1.1, and XML 1.0 §2.2 for the characters allowed.

use crate::graph::{HeapGraph, Node};
use crate::layers;
use std::fmt::Write;

const BOX_WIDTH: usize = 150;
const BOX_HEIGHT: usize = 40;
const COLUMN: usize = BOX_WIDTH + 90;
const ROW: usize = BOX_HEIGHT + 36;
const MARGIN: usize = 24;
const TITLE_HEIGHT: usize = 28;
/// Letters that fit a box; longer text ends in an ellipsis (the whole stands in the box's tooltip).
const LETTERS_MAX: usize = 22;

/// The graph as an SVG picture of at most `nodes_max` objects (200 is a picture one can still read).
pub fn write_svg(graph: &HeapGraph, nodes_max: usize) -> String {
    let layers = layers::place(graph, nodes_max).0;
    let mut corners = vec![None; graph.nodes.len()];
    for (column, layer) in layers.iter().enumerate() {
        for (row, &place) in layer.iter().enumerate() {
            corners[place] = Some((MARGIN + column * COLUMN, TITLE_HEIGHT + MARGIN + row * ROW));
        }
    }
    let drawn = corners.iter().flatten().count();
    let rows = layers.iter().map(Vec::len).max().unwrap_or(0);
    let width = (2 * MARGIN + layers.len() * COLUMN).max(520);
    let height = 2 * MARGIN + TITLE_HEIGHT + rows * ROW;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
         orient=\"auto\"><path d=\"M0 0 L8 4 L0 8 z\" fill=\"#555\"/></marker></defs>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    let mut line = |words: std::fmt::Arguments<'_>| writeln!(svg, "{words}").expect("a String takes all text");
    line(format_args!("<text x=\"{MARGIN}\" y=\"22\">{}</text>", title(graph, drawn)));
    for (from, to, place) in graph.links() {
        if let (Some(from), Some(to)) = (corners[from], corners[to]) {
            line(format_args!("{}", curve(from, to, &graph.edges[place].label)));
        }
    }
    for ((node, corner), rooted) in graph.nodes.iter().zip(&corners).zip(graph.rooted()) {
        if let Some(corner) = corner {
            line(format_args!("{}", object(node, *corner, rooted)));
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn title(graph: &HeapGraph, drawn: usize) -> String {
    let total = graph.index().len();
    let roots = graph.rooted().into_iter().filter(|rooted| *rooted).count();
    let mut title = format!("{total} objects, {} references, {roots} held from outside", graph.edges.len());
    if drawn < total {
        write!(title, " — {drawn} drawn, {} left out", total - drawn).expect("a String takes all text");
    }
    title
}

fn object(node: &Node, (x, y): (usize, usize), rooted: bool) -> String {
    let [name, state] = node.lines();
    let border = if rooted { 3 } else { 1 };
    let middle = x + BOX_WIDTH / 2;
    format!(
        "<g class=\"object\"><title>{:#x} {} {}</title>\
         <rect x=\"{x}\" y=\"{y}\" width=\"{BOX_WIDTH}\" height=\"{BOX_HEIGHT}\" rx=\"4\" fill=\"#eef3fa\" \
         stroke=\"#334\" stroke-width=\"{border}\"/>\
         <text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\" font-weight=\"bold\">{}</text>\
         <text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\" fill=\"#556\">{}</text></g>",
        node.id,
        escaped(&name),
        escaped(&state),
        y + 17,
        escaped(&shortened(&name)),
        y + 33,
        escaped(&shortened(&state)),
    )
}

/// A reference. Forwards it leaves its object on the right and arrives on the left; to the same or an earlier column
/// it leaves and arrives at the bottom, in a bow that is deeper the further it reaches.
fn curve(from: (usize, usize), to: (usize, usize), label: &str) -> String {
    let forward = to.0 > from.0;
    let (start, end, first_bend, second_bend) = if forward {
        let start = (from.0 + BOX_WIDTH, from.1 + BOX_HEIGHT / 2);
        let end = (to.0, to.1 + BOX_HEIGHT / 2);
        (start, end, (start.0 + 45, start.1), (end.0.saturating_sub(45), end.1))
    } else {
        let start = (from.0 + BOX_WIDTH * 3 / 4, from.1 + BOX_HEIGHT);
        let end = (to.0 + BOX_WIDTH / 4, to.1 + BOX_HEIGHT);
        let depth = 22 + (from.0 - to.0) / 30;
        (start, end, (start.0, start.1 + depth), (end.0, end.1 + depth))
    };
    // The middle of a cubic curve: (start + 3 × first bend + 3 × second bend + end) / 8.
    let label_x = (start.0 + end.0 + 3 * (first_bend.0 + second_bend.0)) / 8;
    let label_y = (start.1 + end.1 + 3 * (first_bend.1 + second_bend.1)) / 8;
    format!(
        "<path class=\"reference\" d=\"M{} {} C{} {} {} {} {} {}\" fill=\"none\" stroke=\"#555\" \
         marker-end=\"url(#arrow)\"/><text x=\"{label_x}\" y=\"{}\" text-anchor=\"middle\" font-size=\"10\" \
         fill=\"#555\">{}</text>",
        start.0,
        start.1,
        first_bend.0,
        first_bend.1,
        second_bend.0,
        second_bend.1,
        end.0,
        end.1,
        label_y.saturating_sub(3),
        escaped(&shortened(label)),
    )
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= LETTERS_MAX {
        return text.to_owned();
    }
    text.chars().take(LETTERS_MAX - 1).chain(['…']).collect()
}

/// Text for XML content: markup characters as entities, characters that XML does not allow at all as `�`.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\t' | '\n' | '\r' => escaped.push(' '),
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::{escaped, shortened, write_svg};
    use crate::{Edge, HeapGraph, Node};

    fn ring(length: u64, name: &str) -> HeapGraph {
        let node = |id| Node { id, type_name: name.into(), count: Some(1), flags: vec!["candidate".into()] };
        let edge = |from| Edge { from, to: (from + 1) % length, label: "next".into() };
        HeapGraph { nodes: (0..length).map(node).collect(), edges: (0..length).map(edge).collect(), roots: vec![0] }
    }

    /// Reads the elements back and checks that they nest; returns their names in order.
    fn elements(svg: &str) -> Vec<String> {
        let (mut open, mut names, mut rest) = (Vec::new(), Vec::new(), svg);
        while let Some(start) = rest.find('<') {
            let end = start + rest[start..].find('>').expect("an element ends");
            assert!(!rest[..start].contains('>'), "stray `>` in {}", &rest[..start]);
            let element = &rest[start + 1..end];
            rest = &rest[end + 1..];
            if let Some(name) = element.strip_prefix('/') {
                assert_eq!(open.pop().as_deref(), Some(name), "elements nest");
                continue;
            }
            assert_eq!(element.matches('"').count() % 2, 0, "quotes pair up in <{element}>");
            let name = element.split([' ', '/']).next().expect("an element has a name").to_owned();
            if !element.ends_with('/') {
                open.push(name.clone());
            }
            names.push(name);
        }
        assert!(open.is_empty(), "still open: {open:?}");
        names
    }

    #[test]
    fn ring_has_as_many_boxes_as_arrows() {
        let svg = write_svg(&ring(5, "Link"), 200);
        elements(&svg);
        assert_eq!(svg.matches("class=\"object\"").count(), 5);
        assert_eq!(svg.matches("class=\"reference\"").count(), 5);
        assert_eq!(svg.matches("stroke-width=\"3\"").count(), 1, "one object is held from outside");
        assert!(svg.contains("5 objects, 5 references, 1 held from outside<"), "nothing was left out");
    }

    #[test]
    fn type_names_of_any_content_cannot_break_the_picture() {
        for name in ["Map<K, V>&", "\"a\" 'b'", "</text></svg><script>", "\u{0}\u{1b}[31m", "π → 猫"] {
            let svg = write_svg(&ring(2, name), 200);
            let names = elements(&svg);
            assert!(!names.iter().any(|name| name == "script"), "{svg}");
            assert!(!svg.contains('\0') && !svg.contains('\u{1b}'));
        }
    }

    #[test]
    fn what_is_left_out_is_stated_in_the_picture() {
        let svg = write_svg(&ring(1000, "Link"), 20);
        elements(&svg);
        assert_eq!(svg.matches("class=\"object\"").count(), 20);
        assert!(svg.contains("20 drawn, 980 left out"));
        assert_eq!(svg.matches("class=\"reference\"").count(), 19, "no arrow to what is not drawn");
    }

    #[test]
    fn long_names_are_cut_in_the_box_and_whole_in_the_tooltip() {
        let name = "std::collections::hash::map::HashMap";
        let svg = write_svg(&ring(1, name), 200);
        assert!(svg.contains(&format!("<title>0x0 {name} ")));
        assert!(svg.contains(&format!(">{}<", shortened(name))));
        assert_eq!(shortened(name).chars().count(), super::LETTERS_MAX);
    }

    #[test]
    fn empty_heap_is_a_picture_too() {
        elements(&write_svg(&HeapGraph::default(), 200));
    }

    #[test]
    fn characters_that_xml_forbids_are_replaced() {
        assert_eq!(escaped("a\u{8}b\nc"), "a\u{fffd}b c");
    }
}
