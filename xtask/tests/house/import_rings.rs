//! Files that name each other in a ring must be read together, so rings are small; and plans do not know of each other.
//!
//! A ring is cut where a file that holds state has verbs, too: the verbs go to a child file, which names the state and is named by
//! nothing that the state names.

use crate::import_graph;
use crate::sources::{Source, sources};
use std::collections::{BTreeMap, BTreeSet};

/// Files that may stand in one ring.
const FILES_MAX: usize = 4;
/// The crates that are looked at.
const CRATES: [&str; 8] = [
    "rc-runtime",
    "cycle-detector",
    "compiled-code",
    "frontend-glue",
    "stack-roots",
    "aot-runtime",
    "heap-picture",
    "tally",
];
/// Rooms of the plans, in any crate, and the room that two of them share.
const ROOMS: [&str; 4] = ["plan/deferred", "plan/prompt", "plan/trace", SHARED];
/// It may be named by plans, and names none.
const SHARED: &str = "plan/bump";

type Graph = BTreeMap<String, BTreeSet<String>>;

fn graph() -> Graph {
    let rust: Vec<Source> = sources().into_iter().filter(Source::is_rust).collect();
    let graph = import_graph::of(&rust);
    assert!(graph.values().map(BTreeSet::len).sum::<usize>() > 1000, "the sources were not read");
    graph
}

fn reached<'graph>(graph: &'graph Graph, from: &'graph str) -> BTreeSet<&'graph str> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(file) = next.pop() {
        let new = graph.get(file).into_iter().flatten().filter(|target| !target.ends_with("/src/lib.rs"));
        next.extend(new.map(String::as_str).filter(|target| reached.insert(*target)));
    }
    reached
}

/// Each ring once, its files in order.
fn rings(graph: &Graph) -> BTreeSet<Vec<&str>> {
    let from: BTreeMap<&str, BTreeSet<&str>> = graph.keys().map(|file| (file.as_str(), reached(graph, file))).collect();
    let ring = |file: &str| -> Vec<&str> {
        let back = |other: &&str| from.get(other).is_some_and(|reached| reached.contains(file));
        from[file].iter().copied().filter(back).collect()
    };
    from.keys().map(|file| ring(file)).filter(|ring| !ring.is_empty()).collect()
}

#[test]
fn no_ring_has_more_than_four_files() {
    let graph = graph();
    let of_force = |ring: &&Vec<&str>| CRATES.iter().any(|folder| ring[0].starts_with(&format!("{folder}/")));
    let long: Vec<Vec<&str>> =
        rings(&graph).iter().filter(of_force).filter(|ring| ring.len() > FILES_MAX).cloned().collect();
    assert!(long.is_empty(), "these name each other, and are more than {FILES_MAX}:\n{long:#?}");
}

#[test]
fn plans_do_not_name_each_other() {
    let graph = graph();
    let room =
        |path: &str| ROOMS.iter().position(|room| path.split_once("/src/").is_some_and(|(_, at)| at.starts_with(room)));
    let mut complaints = Vec::new();
    for (file, named) in &graph {
        for other in named {
            if let (Some(here), Some(there)) = (room(file), room(other))
                && here != there
                && ROOMS[there] != SHARED
            {
                complaints.push(format!("{file} names {other}"));
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn a_ring_is_found_however_it_is_entered() {
    let graph: Graph = [("a", "b"), ("b", "c"), ("c", "b"), ("d", "d")]
        .map(|(file, named)| (file.to_owned(), BTreeSet::from([named.to_owned()])))
        .into();
    assert_eq!(rings(&graph), BTreeSet::from([vec!["b", "c"], vec!["d"]]));
}
