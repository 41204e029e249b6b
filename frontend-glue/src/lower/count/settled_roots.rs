//! Which roots that are settled may have changed since: a root that only this function reads and writes, and that nothing was
//! stored to, still holds what is counted for it.
//!
//! Without this every safepoint settles every root: a function of a hundred tagged variables and eighty calls became
//! seven thousand pieces of code, which LLVM optimised for nine seconds.

use super::slots::is_address_taken;
use crate::analysis::callee::{Callee, Callees};
use crate::llvm::{HandleMap, Opcode, Value};
use crate::lower::bit_set::BitSet;
use crate::lower::roots::Root;

/// The settled roots of a function that no other code may write to.
pub(super) struct PrivateRoots<'a> {
    callees: &'a Callees,
    number_of: HandleMap<Value, usize>,
    /// Their numbers.
    private: BitSet,
    /// Those that may count objects at the entry: all, where a call that returns twice may come back from behind any place.
    counting: BitSet,
}

/// What an instruction stores to.
enum Change {
    Nothing,
    /// A root; `clears`: the words that it stores are zero.
    Root {
        root: usize,
        clears: bool,
    },
    /// One of them, or another slot.
    Any,
}

/// What is known of them at one place.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Unchanged {
    /// Their words are those that are counted.
    pub(super) settled: BitSet,
    /// No word was ever stored to them but zero, so none is counted.
    empty: BitSet,
    /// Any settled root, private or not, that may count an object.
    pub(super) counting: BitSet,
}

impl<'a> PrivateRoots<'a> {
    /// Those among the `settled` ones; none where a call may return twice, after which slots hold what they held before.
    pub(super) fn of(
        callees: &'a Callees,
        function: Value,
        roots: &[Root],
        settled: impl Iterator<Item = usize>,
    ) -> PrivateRoots<'a> {
        let returns_twice = function.calls().any(|call| callees.returns_twice(call));
        let none = BitSet::empty(roots.len());
        let mut found =
            PrivateRoots { callees, number_of: HandleMap::default(), private: none.clone(), counting: none };
        for root in settled {
            if returns_twice {
                found.counting.insert(root);
            } else if !is_address_taken(callees, &roots[root]) {
                found.number_of.insert(roots[root].slot, root);
                found.private.insert(root);
            }
        }
        found
    }

    /// At the entry: roots are null, and nothing is counted for them.
    pub(super) fn at_entry(&self) -> Unchanged {
        Unchanged { settled: self.private.clone(), empty: self.private.clone(), counting: self.counting.clone() }
    }

    fn change(&self, instruction: Value) -> Change {
        let (address, clears) = match instruction.opcode() {
            Some(Opcode::LLVMStore) => (instruction.operand(1), instruction.operand(0).is_null()),
            Some(Opcode::LLVMCall) => {
                let call = instruction.as_call().expect("a call");
                match self.callees.of_call(call) {
                    Callee::Fill => (call.argument(0), call.argument(1).is_null()),
                    Callee::Copy => (call.argument(0), false),
                    _ => return Change::Nothing,
                }
            }
            _ => return Change::Nothing,
        };
        let base = address.base();
        match self.number_of.get(&base) {
            Some(&root) => Change::Root { root, clears },
            None if matches!(base.opcode(), Some(Opcode::LLVMPHI | Opcode::LLVMSelect)) => Change::Any,
            None => Change::Nothing,
        }
    }
}

impl Unchanged {
    /// Behind an instruction.
    pub(super) fn step(&mut self, roots: &PrivateRoots, instruction: Value) {
        match roots.change(instruction) {
            Change::Nothing => {}
            Change::Root { root, clears } if clears && self.empty.contains(root) => {}
            Change::Root { root, .. } => {
                self.settled.remove(root);
                self.empty.remove(root);
            }
            Change::Any => {
                self.settled.subtract(&roots.private);
                self.empty.subtract(&roots.private);
            }
        }
    }

    /// Behind a place where a root was settled.
    pub(super) fn settle(&mut self, roots: &PrivateRoots, root: usize) {
        self.counting.insert(root);
        if roots.private.contains(root) {
            self.settled.insert(root);
        }
    }

    /// Where two ways meet.
    pub(super) fn merge(&mut self, other: &Unchanged) {
        self.settled.intersect(&other.settled);
        self.empty.intersect(&other.empty);
        self.counting.union(&other.counting);
    }
}
