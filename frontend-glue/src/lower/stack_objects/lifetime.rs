//! When an object ends: before the place where it was made makes the next one, and, prompt plan, where its fields let go of what they
//! hold.
//!
//! One piece of the frame serves all objects that one place makes. So none may be needed when the place is reached again. In SSA form a value that
//! is used behind the place was computed behind it, if the place dominates the value: else a way around it would lead to the use.
//! A variable is no value: it still holds the object before until it is stored to, and is not loaded meanwhile.

use super::uses::Uses;
use crate::analysis::dominators::Dominators;
use crate::analysis::flow::{Direction, Flow};
use crate::llvm::{HandleSet, Opcode, Value};

/// Whether no object of `site` is needed when the next one is made there.
pub(super) fn ends_before_the_next(flow: &Flow, site: Value, uses: &Uses) -> bool {
    let home = flow.number(site.block());
    if home >= flow.reachable {
        return false;
    }
    if !is_in_a_cycle(flow, home) {
        return true;
    }
    let dominators = Dominators::of(flow);
    let is_behind = |place: Value| {
        let block = flow.number(place.block());
        block >= flow.reachable
            || if block == home { comes_before(site, place) } else { dominators.dominates(home, block) }
    };
    let mut places = uses.places.keys().copied();
    places.all(|place| place == site || is_behind(place))
        && uses.slots.iter().all(|slot| is_stored_first(flow, site, slot))
}

fn is_in_a_cycle(flow: &Flow, home: usize) -> bool {
    let (mut seen, mut queue) = (vec![false; flow.blocks.len()], flow.successors[home].to_vec());
    while let Some(block) = queue.pop() {
        if !std::mem::replace(&mut seen[block], true) {
            queue.extend(flow.successors[block].iter().copied());
        }
    }
    seen[home]
}

/// Of two instructions of one block.
fn comes_before(first: Value, second: Value) -> bool {
    std::iter::successors(first.next_instruction(), |it| it.next_instruction()).any(|it| it == second)
}

/// Whether the variable is stored to between each execution of `site` and the next load of it.
fn is_stored_first(flow: &Flow, site: Value, slot: &super::uses::Slot) -> bool {
    let is_one_of = |of: &[Value], instruction: Value| of.contains(&instruction);
    let mut holds = true;
    let union = |into: &mut bool, from: &bool| *into |= from;
    flow.solve(Direction::Forward, &false, union, |block, mut is_stale| {
        for instruction in flow.blocks[block].instructions() {
            if instruction == site {
                is_stale = true;
            } else if is_one_of(&slot.stores, instruction) || is_one_of(&slot.ends, instruction) {
                is_stale = false;
            } else if is_stale && is_one_of(&slot.loads, instruction) {
                holds = false;
            }
        }
        is_stale
    });
    holds
}

/// The places where the object's only root is emptied; its fields are emptied there, too. `None` if the object's end is not as simple as
/// that: only one root holds it, from where it was made on, and nothing is done with it once that root is empty.
pub(super) fn ends_of_only_root(flow: &Flow, site: Value, uses: &Uses) -> Option<Vec<Value>> {
    let mut roots = uses.own_roots();
    let root = roots.next().filter(|_| roots.next().is_none())?;
    if root.gcroots.len() != 1 || !uses.holds_nothing_else(root) {
        return None;
    }
    let (nulls, fills): (Vec<Value>, Vec<Value>) = root.stores.iter().partition(|store| store.operand(0).is_null());
    let [fill] = fills[..] else { return None };
    // No safepoint lies between, or the object is dead there.
    if fill.block() != site.block() || !comes_before(site, fill) {
        return None;
    }
    let ends: Vec<Value> = nulls.into_iter().chain(root.ends.iter().copied()).collect();
    let used: HandleSet<Value> = used_in(uses).collect();
    ends.iter().all(|&end| !reaches(flow, end, site, &used)).then_some(ends)
}

/// The instructions that do something with the object.
fn used_in(uses: &Uses) -> impl Iterator<Item = Value> {
    let places = uses.places.keys().copied().filter(|place| !place.is(Opcode::LLVMLoad) || !is_of_a_slot(uses, *place));
    places.chain(uses.accesses.iter().copied()).chain(uses.passed.iter().map(|(call, _)| call.value()))
}

fn is_of_a_slot(uses: &Uses, load: Value) -> bool {
    uses.slots.iter().any(|slot| slot.loads.contains(&load))
}

/// Whether a way leads from behind `from` to one of `targets`, and not through `site`.
fn reaches(flow: &Flow, from: Value, site: Value, targets: &HandleSet<Value>) -> bool {
    let mut seen = vec![false; flow.blocks.len()];
    let mut queue = vec![from.next_instruction()];
    while let Some(begin) = queue.pop() {
        let mut end = None;
        for instruction in std::iter::successors(begin, |it| it.next_instruction()) {
            if instruction == site {
                end = None;
                break;
            }
            if targets.contains(&instruction) {
                return true;
            }
            end = Some(instruction);
        }
        let Some(end) = end.filter(|end| end.is_terminator()) else { continue };
        for &next in &flow.successors[flow.number(end.block())] {
            if !std::mem::replace(&mut seen[next], true) {
                queue.push(flow.blocks[next].instructions().next());
            }
        }
    }
    false
}
