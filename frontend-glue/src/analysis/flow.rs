//! A function's control flow as numbers, and the solver of all dataflow analyses here.
//!
//! Blocks are numbered in reverse post-order from the entry; blocks that cannot be reached come last and start from
//! nothing. The solver visits blocks in that order (or its reverse) until no state changes; for the usual reducible
//! function that takes two or three rounds.

use crate::llvm::{Block, HandleMap, Value};
use smallvec::SmallVec;
use std::cell::OnceCell;

/// Rounds through all blocks in which a state may also decrease.
const ROUNDS_MAX: u32 = 64;

/// The control flow of a function, with its blocks as numbers.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Blocks in reverse post-order, unreachable ones last.
    pub(crate) blocks: Vec<Block>,
    /// The number of blocks that can be reached.
    pub(crate) reachable: usize,
    pub(crate) successors: Vec<Edges>,
    pub(crate) predecessors: Vec<Edges>,
    numbers: HandleMap<Block, usize>,
}

/// Numbers of blocks: nearly always one or two.
pub(crate) type Edges = SmallVec<[usize; 2]>;

/// The direction of an analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward,
    Backward,
}

impl Flow {
    pub(crate) fn of(function: Value) -> Flow {
        // First the numbers by LLVM's order, so that each block is looked up by its handle once.
        let listed: Vec<Block> = function.blocks().collect();
        let mut places: HandleMap<Block, usize> = listed.iter().copied().zip(0..).collect();
        let edges: Vec<Edges> =
            listed.iter().map(|block| block.successors().iter().map(|successor| places[successor]).collect()).collect();
        let mut order = reverse_post_order(&edges);
        let reachable = order.len();
        let mut numbers = vec![usize::MAX; listed.len()];
        for (number, &place) in order.iter().enumerate() {
            numbers[place] = number;
        }
        for (place, number) in numbers.iter_mut().enumerate().filter(|(_, number)| **number == usize::MAX) {
            *number = order.len();
            order.push(place);
        }
        let mut predecessors = vec![Edges::new(); listed.len()];
        let mut successors = vec![Edges::new(); listed.len()];
        for (here, &place) in order.iter().enumerate() {
            let mut targets: Edges = edges[place].iter().map(|&target| numbers[target]).collect();
            targets.sort_unstable();
            targets.dedup();
            for &target in &targets {
                predecessors[target].push(here);
            }
            successors[here] = targets;
        }
        for place in places.values_mut() {
            *place = numbers[*place];
        }
        let blocks = order.into_iter().map(|place| listed[place]).collect();
        Flow { blocks, reachable, successors, predecessors, numbers: places }
    }

    /// The place of a block in `blocks`.
    pub(crate) fn number(&self, block: Block) -> usize {
        self.numbers[&block]
    }

    /// Solves a dataflow problem: the state at the *start* of each block in the direction of the analysis (`None`
    /// where nothing flows in). `outside` is the state at the entry (forward) or the neutral state that every block
    /// starts from (backward: a loop without an exit has no block to start at); `merge` joins a second state into a
    /// first; `transfer` carries a state through a block, and is last called with the final one. After [`ROUNDS_MAX`]
    /// rounds an incoming state is joined to the one before, so that a transfer that may remove something ends, too.
    pub(crate) fn solve<S: Clone + PartialEq>(
        &self,
        direction: Direction,
        outside: &S,
        merge: impl Fn(&mut S, &S),
        mut transfer: impl FnMut(usize, S) -> S,
    ) -> Vec<Option<S>> {
        let count = self.blocks.len();
        let forward = direction == Direction::Forward;
        let (sources, targets) =
            if forward { (&self.predecessors, &self.successors) } else { (&self.successors, &self.predecessors) };
        let mut starts: Vec<Option<S>> = vec![None; count];
        let mut ends: Vec<Option<S>> = vec![None; count];
        // Blocks whose incoming state may have changed.
        let mut waiting = vec![true; count];
        let mut changed = true;
        let mut round = 0;
        while changed {
            (changed, round) = (false, round + 1);
            for step in 0..count {
                let here = if forward { step } else { count - 1 - step };
                if !std::mem::replace(&mut waiting[here], false) {
                    continue;
                }
                let mut start = (!forward || here == 0).then(|| outside.clone());
                for end in sources[here].iter().filter_map(|&source| ends[source].as_ref()) {
                    match &mut start {
                        Some(start) => merge(start, end),
                        None => start = Some(end.clone()),
                    }
                }
                let Some(mut start) = start else { continue };
                if let Some(before) = starts[here].as_ref().filter(|_| round > ROUNDS_MAX) {
                    merge(&mut start, before);
                }
                if starts[here].as_ref() != Some(&start) {
                    ends[here] = Some(transfer(here, start.clone()));
                    starts[here] = Some(start);
                    changed = true;
                    for &target in &targets[here] {
                        waiting[target] = true;
                    }
                }
            }
        }
        starts
    }
}

/// Repeats a round of [`Flow::solve`] whose transfer function asks for facts that it finds itself, about values of any block, until a round
/// finds what the one before has found. `round` gets what the last one has found, and nothing else may be asked for: within a round a block is
/// passed with states that a loop turns out to change, and of what follows from them elsewhere not all is passed again. Returns the facts;
/// `None` after `most` rounds.
pub(crate) fn solve_in_rounds<F: Default + PartialEq>(most: usize, mut round: impl FnMut(&F) -> F) -> Option<F> {
    let mut known = F::default();
    for _ in 0..most {
        let found = round(&known);
        if found == known {
            return Some(found);
        }
        known = found;
    }
    None
}

/// A function's flow, computed at its first use: most functions need it once, many never.
#[derive(Debug)]
pub(crate) struct LazyFlow {
    function: Value,
    found: OnceCell<Flow>,
}

impl LazyFlow {
    pub(crate) fn of(function: Value) -> LazyFlow {
        LazyFlow { function, found: OnceCell::new() }
    }

    pub(crate) fn get(&self) -> &Flow {
        self.found.get_or_init(|| Flow::of(self.function))
    }
}

/// From the first block, which is the entry.
fn reverse_post_order(edges: &[Edges]) -> Vec<usize> {
    let mut seen = vec![false; edges.len()];
    let mut order = Vec::with_capacity(edges.len());
    seen[0] = true;
    // A block, and the number of its edges that are still to be followed, the last one first.
    let mut path = vec![(0, edges[0].len())];
    while let Some((block, rest)) = path.last_mut() {
        if *rest == 0 {
            order.push(*block);
            path.pop();
            continue;
        }
        *rest -= 1;
        let next = edges[*block][*rest];
        if !std::mem::replace(&mut seen[next], true) {
            path.push((next, edges[next].len()));
        }
    }
    order.reverse();
    order
}
