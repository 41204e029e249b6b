//! The report of a failing program: a text that can be pasted into a regression test, the program's origin, and a
//! picture of the model heap at the difference.

use std::path::{Path, PathBuf};

use heap_picture::{Edge, HeapGraph, Node};

use crate::heap_under_test::HeapUnderTest;
use crate::journal;
use crate::model_heap::{ModelHeap, Word};
use crate::op::{Op, program_text};
use crate::origin::Origin;
use crate::replay::{Failure, Replay};
use crate::setup::Setup;
use crate::tally_heap::TallyHeap;
use crate::toy_heap::ToyHeap;

/// Objects drawn at most.
const NODES_MAX: usize = 200;

/// The report: the difference, its op and setup, the program's origin, the whole program, and the place of its
/// picture.
pub fn report(setup: &Setup, origin: Option<&Origin>, ops: &[Op], failure: &Failure) -> String {
    let base = journal::folder().join(format!("failure-{}", std::process::id()));
    let graph = graph_at(setup, ops, Some(failure));
    let picture = std::fs::create_dir_all(journal::folder()).map_err(|error| error.to_string());
    let picture = match picture.and_then(|()| write_pictures(&graph, &base)) {
        Ok([_, svg]) => format!("picture: {}", svg.display()),
        Err(why) => format!("no picture: {why}"),
    };
    format!("{}\n{picture}", report_without_picture(setup, origin, ops, failure))
}

/// The same without a picture.
pub fn report_without_picture(setup: &Setup, origin: Option<&Origin>, ops: &[Op], failure: &Failure) -> String {
    let place = match failure.op_index {
        Some(index) => format!("after op {} of {}, `{}`", index + 1, ops.len(), ops[index]),
        None => "in the final epoch or collection".to_owned(),
    };
    let origin =
        origin.map_or(String::new(), |origin| format!("\n--- once more, and shorter: cargo xtask replay {origin}"));
    format!(
        "the heap and the model differ {place} (setup {}):\n{}{origin}\n--- the program, for `check(\"…\")` in a regression test\n{}---",
        setup.name,
        failure.what,
        program_text(ops)
    )
}

/// The model when the program failed, or after its last op: it runs beside the real heap, or, if that ends the
/// process or panics, beside the toy heap, which has no faults.
pub fn graph_at(setup: &Setup, ops: &[Op], failure: Option<&Failure>) -> HeapGraph {
    let upto = failure.and_then(|failure| failure.op_index).map_or(ops.len(), |index| index + 1);
    let real = failure.and_then(|_| {
        let draw = || model_after(&mut TallyHeap::new(setup.options.clone()), setup, &ops[..upto]);
        std::panic::catch_unwind(draw).ok()
    });
    real.unwrap_or_else(|| model_after(&mut ToyHeap::new(None), setup, &ops[..upto]))
}

fn model_after(heap: &mut impl HeapUnderTest, setup: &Setup, ops: &[Op]) -> HeapGraph {
    let mut replay = Replay::new(heap, setup.options.heap_limit);
    for op in ops {
        let _ = replay.perform(*op);
    }
    graph(replay.model())
}

/// Draws a graph into `base.dot` and `base.svg`.
pub fn write_pictures(graph: &HeapGraph, base: &Path) -> Result<[PathBuf; 2], String> {
    let [dot, svg] = ["dot", "svg"].map(|ending| base.with_extension(ending));
    let pictures =
        [(&dot, heap_picture::dot::write_dot(graph)), (&svg, heap_picture::svg::write_svg(graph, NODES_MAX))];
    for (place, text) in pictures {
        std::fs::write(place, text).map_err(|error| format!("{}: {error}", place.display()))?;
    }
    Ok([dot, svg])
}

/// The model's objects, garbage included, with their references and roots.
pub fn graph(model: &ModelHeap) -> HeapGraph {
    let reachable = model.reachable();
    let mut graph = HeapGraph::default();
    for id in model.known() {
        let object = model.object(id);
        let flags = if reachable[id as usize] { vec![] } else { vec!["garbage".to_owned()] };
        let type_name = format!("#{id} {}", object.kind.word());
        graph.nodes.push(Node { id: u64::from(id), type_name, count: None, flags });
        for (index, word) in object.words.iter().enumerate() {
            let (target, label) = match word {
                Word::Raw(_) => continue,
                Word::Reference(target) => (target, format!("+{}", 8 * index)),
                Word::Weak { target, .. } => (target, format!("weak +{}", 8 * index)),
            };
            graph.edges.push(Edge { from: u64::from(id), to: u64::from(*target), label });
        }
    }
    graph.roots = model.held_by_roots().map(u64::from).collect();
    for (map, entries) in &model.maps {
        for (key, entry) in &entries.entries {
            let label = format!("#{key}");
            graph.edges.push(Edge { from: u64::from(*map), to: u64::from(entry.value), label });
        }
    }
    graph
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::parse_program;
    use crate::replay;

    #[test]
    fn the_program_in_a_report_can_be_read_again() {
        let ops = parse_program("ring pair x 3 r0\nset r0 = null\ncollect\n").unwrap();
        let failure = Failure { op_index: Some(2), what: "something is left".into() };
        let origin = Origin { setup: "sliced".into(), seed: 7, number: 2, longest: 100 };
        let text = report(&Setup::named("sliced").unwrap(), Some(&origin), &ops, &failure);
        assert!(text.contains("after op 3 of 3, `collect` (setup sliced):\nsomething is left"), "{text}");
        assert!(text.contains("cargo xtask replay sliced/7/2/100\n"), "{text}");
        let program = text.split("regression test\n").nth(1).unwrap().split("---").next().unwrap();
        assert_eq!(parse_program(program).unwrap(), ops);
        let picture = text.lines().last().unwrap().strip_prefix("picture: ").unwrap();
        assert!(std::fs::read_to_string(picture).unwrap().starts_with("<svg"));
    }

    #[test]
    fn the_picture_shows_garbage_roots_and_slots() {
        let mut heap = ToyHeap::new(None);
        let mut replay = replay::Replay::new(&mut heap, None);
        for op in parse_program("ring pair x 2 r0\nallocate leaf 0 r1\nset r0 = null\n").unwrap() {
            replay.perform(op).unwrap();
        }
        let graph = graph(replay.model());
        let flags: Vec<usize> = graph.nodes.iter().map(|node| node.flags.len()).collect();
        assert_eq!(flags, [1, 1, 0]);
        assert_eq!(graph.roots, [2]);
        assert_eq!(graph.edges[0], Edge { from: 0, to: 1, label: "+0".into() });
    }
}
