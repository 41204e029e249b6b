//! A function's control flow as numbers, and the one solver that all dataflow analyses here run on.
//!
//! Blocks are numbered in reverse post-order from the entry; blocks that cannot be reached come last and start from
//! nothing. The solver visits blocks in that order (or its reverse) until no state changes; for the usual reducible
//! function that takes two or three rounds.

use crate::llvm::{Block, Value};
use std::collections::HashMap;

/// See the file's first lines.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Blocks in reverse post-order, unreachable ones last.
    pub(crate) blocks: Vec<Block>,
    /// How many of them can be reached.
    pub(crate) reachable: usize,
    pub(crate) successors: Vec<Vec<usize>>,
    pub(crate) predecessors: Vec<Vec<usize>>,
}

/// Which way an analysis looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward,
    Backward,
}

impl Flow {
    pub(crate) fn of(function: Value) -> Flow {
        let mut blocks = reverse_post_order(function);
        let reachable = blocks.len();
        let mut index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
        for block in function.blocks() {
            index.entry(block).or_insert_with(|| {
                blocks.push(block);
                blocks.len() - 1
            });
        }
        let mut predecessors = vec![Vec::new(); blocks.len()];
        let mut successors = vec![Vec::new(); blocks.len()];
        for (here, block) in blocks.iter().enumerate() {
            let mut targets: Vec<usize> = block.successors().iter().map(|successor| index[successor]).collect();
            targets.sort_unstable();
            targets.dedup();
            for &target in &targets {
                predecessors[target].push(here);
            }
            successors[here] = targets;
        }
        Flow { blocks, reachable, successors, predecessors }
    }

    /// Solves a dataflow problem: the state at the *start* of each block in the direction of the analysis (`None`
    /// where nothing flows in). `outside` is the state at the entry (forward) or the neutral state that every block
    /// starts from (backward: a loop without an exit has no block to start at); `merge` joins a second state into a
    /// first; `transfer` carries a state through a block, and is last called with the final one.
    pub(crate) fn solve<S: Clone + PartialEq>(
        &self,
        direction: Direction,
        outside: &S,
        merge: impl Fn(&mut S, &S),
        mut transfer: impl FnMut(usize, S) -> S,
    ) -> Vec<Option<S>> {
        let count = self.blocks.len();
        let forward = direction == Direction::Forward;
        let sources = if forward { &self.predecessors } else { &self.successors };
        let mut starts: Vec<Option<S>> = vec![None; count];
        let mut ends: Vec<Option<S>> = vec![None; count];
        let mut changed = true;
        while changed {
            changed = false;
            for step in 0..count {
                let here = if forward { step } else { count - 1 - step };
                let mut start = (!forward || here == 0).then(|| outside.clone());
                for end in sources[here].iter().filter_map(|&source| ends[source].as_ref()) {
                    match &mut start {
                        Some(start) => merge(start, end),
                        None => start = Some(end.clone()),
                    }
                }
                let Some(start) = start else { continue };
                if starts[here].as_ref() != Some(&start) {
                    ends[here] = Some(transfer(here, start.clone()));
                    starts[here] = Some(start);
                    changed = true;
                }
            }
        }
        starts
    }
}

fn reverse_post_order(function: Value) -> Vec<Block> {
    let mut seen = std::collections::HashSet::new();
    let mut order = Vec::new();
    let entry = function.entry();
    seen.insert(entry);
    let mut path = vec![(entry, entry.successors())];
    while let Some((block, rest)) = path.last_mut() {
        match rest.pop() {
            Some(next) if seen.insert(next) => path.push((next, next.successors())),
            Some(_) => {}
            None => {
                order.push(*block);
                path.pop();
            }
        }
    }
    order.reverse();
    order
}
