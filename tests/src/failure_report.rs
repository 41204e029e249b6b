//! What a failing program leaves behind: a text that can be pasted into a regression test, where it came from, and a
//! picture of the heap as the model had it when the difference showed.

use heap_picture::{Edge, HeapGraph, Node};

use crate::journal;
use crate::model_heap::{ModelHeap, Word};
use crate::op::{Op, program_text};
use crate::replay::{Failure, Replay};
use crate::setup::Setup;
use crate::tally_heap::TallyHeap;

/// Objects drawn at most.
const NODES_MAX: usize = 200;

/// The report: what differed, after which op, in which setup, from which seed, the whole program, and where its picture is.
pub fn report(setup: &Setup, seed: Option<u64>, ops: &[Op], failure: &Failure) -> String {
    let place = match failure.op_index {
        Some(index) => format!("after op {} of {}, `{}`", index + 1, ops.len(), ops[index]),
        None => "in the final epoch or collection".to_owned(),
    };
    let seed = seed.map_or(String::new(), |seed| format!(", seed {seed}"));
    let picture = write_picture(setup, ops, failure).unwrap_or_else(|why| format!("no picture: {why}"));
    format!(
        "the heap and the model differ {place} (setup {}{seed}):\n{}\n--- the program, for `check(\"…\")` in a regression test\n{}---\n{picture}",
        setup.name,
        failure.what,
        program_text(ops)
    )
}

/// Runs the program up to the failure again and draws the model as it is there.
fn write_picture(setup: &Setup, ops: &[Op], failure: &Failure) -> Result<String, String> {
    let index = failure.op_index.ok_or("the roots are gone by then")?;
    let graph = std::panic::catch_unwind(|| {
        let mut heap = TallyHeap::new(setup.options.clone());
        let mut replay = Replay::new(&mut heap, setup.options.heap_limit);
        for op in &ops[..=index] {
            let _ = replay.perform(*op);
        }
        graph(replay.model())
    });
    let graph = graph.map_err(|_| "the runtime panicked")?;
    let place = journal::folder().join(format!("failure-{}.svg", std::process::id()));
    let svg = heap_picture::svg::write_svg(&graph, NODES_MAX);
    let written = std::fs::create_dir_all(journal::folder()).and_then(|()| std::fs::write(&place, svg));
    written.map_err(|error| error.to_string())?;
    Ok(format!("picture: {}", place.display()))
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
    use crate::toy_heap::ToyHeap;

    #[test]
    fn the_program_in_a_report_can_be_read_again() {
        let ops = parse_program("ring pair x 3 r0\nset r0 = null\ncollect\n").unwrap();
        let failure = Failure { op_index: Some(2), what: "something is left".into() };
        let text = report(&Setup::named("sliced").unwrap(), Some(7), &ops, &failure);
        assert!(text.contains("after op 3 of 3, `collect` (setup sliced, seed 7):\nsomething is left"), "{text}");
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
