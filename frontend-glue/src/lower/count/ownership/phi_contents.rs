//! Phis that a root holds where their block begins: on each way to it the root holds the value that the phi takes from there.
//!
//! ```text
//!   node = phi [ first, entry ], [ next, loop ]        the root gets `first` before the loop, `next` at its end
//! ```
//!
//! Roots that nobody wrote are stored where a reference is made, and the phi that merges these is not stored again (`inferred`).
//! Without this the root's content would be unknown from the merge on: its count could not move along, and a drain would have to
//! protect the phi. A program's own roots are loaded behind a merge, and that load is their content.
//!
//! What a root holds is known as the value that was stored to it. By dominance no claim outlives its value: where a definition is
//! executed again, some path to it has not met it before, and the root holds something else on that path.

use crate::analysis::flow::Flow;
use crate::llvm::{HandleMap, HandleSet, Opcode, Value};
use smallvec::SmallVec;

/// Rounds through all blocks after which nothing is said of a function.
const ROUNDS_MAX: usize = 32;

/// By block: the roots, by number, that hold the value of a phi of it.
pub(super) type PhiContents = Vec<SmallVec<[(usize, Value); 1]>>;

/// The content of a root as far as the search has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    /// No path to this place has been followed yet.
    Unreached,
    Known(Value),
    Several,
}

/// A phi, what it takes from which block, and the block that it is in.
struct Merge {
    phi: Value,
    block: usize,
    taken: Vec<(usize, Value)>,
}

/// Finds the phis that roots hold; `slot_of` are the slots of simple roots, with their numbers.
pub(super) fn find(flow: &Flow, slot_of: &HandleMap<Value, usize>) -> PhiContents {
    let mut contents = vec![SmallVec::new(); flow.reachable];
    // In the order of the roots, so that the same module gives the same code each time.
    let mut slots: Vec<(usize, Value)> = slot_of.iter().map(|(&slot, &root)| (root, slot)).collect();
    slots.sort_unstable_by_key(|&(root, _)| root);
    for (root, slot) in slots {
        let stores: Vec<Value> = slot.users().filter(|user| user.is(Opcode::LLVMStore)).collect();
        let stored: HandleSet<Value> = stores.iter().map(|store| store.operand(0)).collect();
        let merges = merges_of(flow, &stored);
        if merges.is_empty() {
            continue;
        }
        for (block, phi) in held(flow, &stores, &merges) {
            contents[block].push((root, phi));
        }
    }
    contents
}

/// The phis that take what is stored to a root, or take such a phi.
fn merges_of(flow: &Flow, stored: &HandleSet<Value>) -> Vec<Merge> {
    let (mut known, mut merges) = (HandleSet::default(), Vec::new());
    let mut queue: Vec<Value> = stored.iter().copied().filter(|value| !value.is_constant()).collect();
    while let Some(value) = queue.pop() {
        for phi in value.users().filter(|user| user.is(Opcode::LLVMPHI)) {
            let block = flow.number(phi.block());
            if block < flow.reachable && known.insert(phi) {
                let taken = phi.incoming().into_iter().map(|(value, from)| (flow.number(from), value));
                merges.push(Merge { phi, block, taken: taken.collect() });
                queue.push(phi);
            }
        }
    }
    // In the order of the program.
    merges.sort_by_cached_key(|merge| {
        let place = merge.phi.block().instructions().position(|it| it == merge.phi);
        (merge.block, place)
    });
    merges
}

/// The blocks at whose start a root, to which these are all stores, holds a phi.
fn held(flow: &Flow, stores: &[Value], merges: &[Merge]) -> Vec<(usize, Value)> {
    let mut last_stored: HandleMap<usize, Value> = HandleMap::default();
    for &store in stores {
        let block = flow.number(store.block());
        last_stored.entry(block).or_insert_with(|| {
            let mut backwards = std::iter::successors(store.block().terminator(), |it| it.previous_instruction());
            let last = backwards.find(|it| it.is(Opcode::LLVMStore) && it.operand(1) == store.operand(1));
            last.expect("the block has a store").operand(0)
        });
    }
    let mut ends = vec![Content::Unreached; flow.reachable];
    let mut found: HandleMap<usize, Value> = HandleMap::default();
    for _ in 0..ROUNDS_MAX {
        let mut changed = false;
        for block in 0..flow.reachable {
            let (start, phi) = at_start(flow, block, &ends, merges);
            match phi {
                Some(phi) => _ = found.insert(block, phi),
                None => _ = found.remove(&block),
            }
            let end = last_stored.get(&block).map_or(start, |&value| Content::Known(value));
            changed |= std::mem::replace(&mut ends[block], end) != end;
        }
        if !changed {
            return found.into_iter().collect();
        }
    }
    Vec::new()
}

/// What the root holds where a block begins, and the phi that this is.
fn at_start(flow: &Flow, block: usize, ends: &[Content], merges: &[Merge]) -> (Content, Option<Value>) {
    if block == 0 {
        return (Content::Several, None);
    }
    let reached = || flow.predecessors[block].iter().copied().filter(|&before| before < flow.reachable);
    let mut contents = reached().map(|before| ends[before]).filter(|&content| content != Content::Unreached);
    let Some(first) = contents.next() else { return (Content::Unreached, None) };
    let takes_it = |merge: &&Merge| {
        reached().all(|before| match ends[before] {
            Content::Unreached => true,
            Content::Several => false,
            Content::Known(value) => merge.taken.iter().any(|&(from, taken)| from == before && taken == value),
        })
    };
    let mut here = merges.iter().filter(|merge| merge.block == block);
    match here.find(takes_it) {
        Some(merge) => (Content::Known(merge.phi), Some(merge.phi)),
        None if contents.all(|content| content == first) => (first, None),
        None => (Content::Several, None),
    }
}
