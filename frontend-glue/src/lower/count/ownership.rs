//! The holders of counts, and the places where counts change: the analysis behind the plan of counts.
//!
//! Counts are due at **safepoints**: objects can die only there, so only there must every root have a count for its
//! object. Between two safepoints a root may *borrow*. A forward dataflow carries, for each simple root, whether it
//! is null, borrows, or owns; which temporaries still hold the count that they came with; and whether an object may
//! be waiting on the pending list. Where the states of two paths differ, the edge gets the missing operations.
//!
//! The literal reading of the plan (`Patterns::NONE`: a store increments the new value and decrements the old, a
//! fresh object is released at once and waits on the pending list) and the result with all patterns on come from the
//! same analysis with other switches; each count that a pattern saves is a remark.
//!
//! - **moves**: the count that a temporary came with goes to the first root, field, phi or caller that needs one; what a
//!   write takes out of a field is a temporary that comes with the field's count (`taken`)
//! - **lazy roots**: a root that is overwritten or left before the next safepoint never gets a count of its own
//! - **quiet calls**: a call in which nothing can be released is no safepoint for the counts
//! - **last use**: a value written into an object takes the count of a root that is given up before the next
//!   safepoint
//! - **owned results**: a returned object brings its count
//!
//! Objects never die earlier than the literal reading says, as far as a program can tell: a root that holds something
//! owns it at every safepoint until it is overwritten or its function returns, whether it is read again or not. Swift
//! (its ownership SSA) ends lifetimes at the last use; programs of the languages this plan is for keep guards in
//! variables.

mod advances;
mod edges;
mod overwritten;
mod phi_contents;
mod phis;
mod places;
mod safepoint;
mod soon_gone;
mod state;
mod taken;
mod walk;

use super::Patterns;
use super::decisions::Decisions;
use super::facts::Facts;
use super::operation::Operations;
use super::settled_roots::SettledRoots;
use crate::analysis::callee::Callees;
use crate::analysis::flow::{Direction, Flow, solve_in_rounds};
use crate::llvm::call::Call;
use crate::llvm::{HandleMap, HandleSet, Opcode, Value};
use crate::lower::bit_set::BitSet;
use crate::lower::roots::Root;
pub(super) use places::{candidates as takeable, may_replace, replaced_at_once, replaced_in};
use smallvec::SmallVec;
use state::{Holds, State};
use walk::Walk;
pub(super) use walk::keeps_fields;

/// One function, with the inputs of the analysis.
pub(super) struct Ownership<'a> {
    pub(super) callees: &'a Callees,
    pub(super) operations: &'a Operations,
    pub(super) facts: &'a Facts,
    pub(super) patterns: Patterns,
    pub(super) function: Value,
    pub(super) flow: &'a Flow,
    /// The function's own roots, then the hidden ones, then shadows.
    pub(super) roots: &'a [Root],
    /// Whether each of them is simple.
    pub(super) simple: Vec<bool>,
    /// Whether each of them is counted at every store to it: it owns its object at all times.
    pub(super) exact: &'a [bool],
    /// Whether the address of a root goes to functions alone that do not keep it.
    pub(super) passed_down: &'a [bool],
    /// The roots that are settled.
    pub(super) settled: Vec<usize>,
    /// The hidden roots, for temporaries that are arguments.
    pub(super) hidden: Vec<usize>,
    /// Loads of fields whose content a write may take.
    pub(super) takeable: &'a HandleSet<Value>,
    /// A call of the function may return twice: the content of a root at one place does not tell its content at the
    /// next. So each root owns its object, and is read again whenever it is released.
    pub(super) returns_twice: bool,
    /// Other code may write to roots of this function by their address.
    pub(super) lends: bool,
    /// Polls that postponed counts pass: their drains are not the last.
    pub(super) passed: &'a HandleSet<Call>,
}

/// Runs of the analysis after which a function is read literally.
const ROUNDS_MAX: usize = 32;

impl Ownership<'_> {
    /// Makes the decisions; `None` if the analysis did not reach a fixed point.
    pub(super) fn decide(&self) -> Option<Decisions> {
        let simple = self.roots.iter().enumerate().filter(|(index, _)| self.simple[*index]);
        let slot_of: HandleMap<Value, usize> = simple.map(|(index, root)| (root.slot, index)).collect();
        let known = if self.returns_twice { &HandleMap::default() } else { &slot_of };
        let phi_contents = phi_contents::find(self.flow, known);
        let owned_phis =
            if self.patterns.moves { self.owned_phis(&slot_of, &phi_contents) } else { Default::default() };
        let nothing = HandleSet::default();
        let takeable = if self.patterns.moves { self.takeable } else { &nothing };
        let mut numbers = HandleMap::default();
        let mut temporaries = Vec::new();
        for block in &self.flow.blocks[..self.flow.reachable] {
            for instruction in block.instructions() {
                let call = instruction.as_call();
                if owned_phis.contains(&instruction)
                    || takeable.contains(&instruction)
                    || self.is_returned_with_its_count(&slot_of, instruction)
                    || call.is_some_and(|call| self.facts.hands_over(self.callees, call))
                {
                    numbers.insert(instruction, temporaries.len());
                    temporaries.push(instruction);
                }
            }
        }
        let changes =
            SettledRoots::of(self.callees, self.function, self.roots, self.passed_down, self.settled.iter().copied());
        let unchanged = changes.at_entry();
        let mut walk = Walk {
            it: self,
            changes,
            slot_of,
            phi_contents,
            owned_phis,
            takeable,
            numbers,
            temporaries,
            same: HandleMap::default(),
            known: HandleMap::default(),
            soon_gone: if self.patterns.last_use { self.soon_gone() } else { HandleMap::default() },
            overwritten: if self.patterns.last_use { self.overwritten() } else { Vec::new() },
            arrivals: self.arrivals(),
            borrowed: Vec::new(),
            advances: HandleMap::default(),
            output: None,
        };
        let entry = State {
            slots: self.exact.iter().map(|&exact| if exact { Holds::Owns } else { Holds::Null }).collect(),
            contents: self.roots.iter().map(|_| None).collect(),
            temporaries: BitSet::empty(walk.temporaries.len()),
            fields: SmallVec::new(),
            unchanged,
            pending: false,
        };
        let mut starts = Vec::new();
        solve_in_rounds(ROUNDS_MAX, |known: &HandleMap<Value, Value>| {
            (walk.known, walk.same) = (known.clone(), HandleMap::default());
            starts =
                self.flow.solve(Direction::Forward, &entry, State::merge, |block, state| walk.through(block, state));
            walk.same.clone()
        })?;
        Some(walk.write_down(&starts))
    }

    /// Whether the value is the content of a root that is returned: the root's count may go along.
    fn is_returned_with_its_count(&self, slot_of: &HandleMap<Value, usize>, value: Value) -> bool {
        self.patterns.moves
            && self.facts.has_owned_result(self.function)
            && value.is(Opcode::LLVMLoad)
            && slot_of.contains_key(&value.operand(0))
            && value.users().any(|user| user.is(Opcode::LLVMRet))
    }

    /// Blocks that only an invoke enters, with the invoke.
    fn arrivals(&self) -> HandleMap<usize, Call> {
        let mut arrivals = HandleMap::default();
        for (number, block) in self.flow.blocks[..self.flow.reachable].iter().enumerate() {
            let Some(invoke) = block.terminator().and_then(Value::as_call) else { continue };
            let normal = invoke.normal_destination();
            for &successor in &self.flow.successors[number] {
                if self.flow.blocks[successor] == normal {
                    arrivals.insert(successor, invoke);
                }
            }
        }
        arrivals
    }
}
