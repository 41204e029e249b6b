//! Which roots that are settled may have changed since: a root that nothing was stored to, and whose address nobody else has, still
//! holds what is counted for it. Others have the address from where it is passed on until the variable's life ends (`lifetimes`), or, where
//! it only goes to functions that do not keep it (`out_parameters`), while the call runs that gets it.
//!
//! Without this every safepoint settles every root: a function of a hundred tagged variables and eighty calls became
//! seven thousand pieces of code, which LLVM optimised for nine seconds.

use super::facts::Facts;
use super::lifetimes::ENDS;
use super::slots::Ways;
use crate::analysis::callee::{Callee, Callees};
use crate::llvm::call::Call;
use crate::llvm::{HandleMap, Opcode, Value};
use crate::lower::bit_set::BitSet;
use crate::lower::roots::Root;
use smallvec::SmallVec;

/// The settled roots of a function, and what may change them.
pub(super) struct SettledRoots<'a> {
    callees: &'a Callees,
    /// The roots that a store may mean, by what its address is made of: a slot, or where addresses meet.
    behind: HandleMap<Value, SmallVec<[usize; 1]>>,
    /// Those of which is known what stores to them: all, unless a call returns twice.
    known: BitSet,
    /// What passes the address of a root on.
    passed_on: HandleMap<Value, Vec<PassedOn>>,
    /// Those that may count objects at the entry: all, where a call that returns twice may come back from behind any place.
    counting: BitSet,
    /// No root.
    none: BitSet,
}

/// The address of a root is passed on.
struct PassedOn {
    root: usize,
    /// It is an argument of a call, and nobody has it when the call is over.
    is_given_back: bool,
}

/// What an instruction stores to.
struct Change<'a> {
    /// One of these, if any.
    roots: &'a [usize],
    /// The words that it stores are zero.
    clears: bool,
    /// Nobody else may write to the root from now on.
    ends: bool,
}

/// What is known of them at one place.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Unchanged {
    /// Their words are those that are counted.
    pub(super) settled: BitSet,
    /// No word was ever stored to them but zero, so none is counted.
    empty: BitSet,
    /// Others may have the address, and may write at any time.
    lent: BitSet,
    /// Any settled root that may count an object.
    pub(super) counting: BitSet,
}

impl<'a> SettledRoots<'a> {
    /// Of those among the `settled` ones nothing is known where a call may return twice, after which slots hold what they held before.
    /// `is_passed_down`: the address of a root goes to functions alone that do not keep it.
    pub(super) fn of(
        callees: &'a Callees,
        function: Value,
        roots: &[Root],
        is_passed_down: &[bool],
        settled: impl Iterator<Item = usize>,
    ) -> SettledRoots<'a> {
        let returns_twice = function.calls().any(|call| callees.returns_twice(call));
        let none = BitSet::empty(roots.len());
        let (behind, passed_on) = (HandleMap::default(), HandleMap::default());
        let mut found = SettledRoots { callees, behind, known: none.clone(), passed_on, counting: none.clone(), none };
        for root in settled {
            if returns_twice {
                found.counting.insert(root);
                continue;
            }
            found.known.insert(root);
            let ways = Ways::of(callees, roots[root].slot);
            for address in ways.addresses.into_iter().filter(|it| it.base() == *it) {
                found.behind.entry(address).or_default().push(root);
            }
            for instruction in ways.passed_on {
                let is_call = matches!(instruction.opcode(), Some(Opcode::LLVMCall | Opcode::LLVMInvoke));
                let passed = PassedOn { root, is_given_back: is_call && is_passed_down[root] };
                found.passed_on.entry(instruction).or_default().push(passed);
            }
        }
        found
    }

    /// At the entry: roots are null, and nothing is counted for them.
    pub(super) fn at_entry(&self) -> Unchanged {
        let (known, lent) = (&self.known, self.none.clone());
        Unchanged { settled: known.clone(), empty: known.clone(), lent, counting: self.counting.clone() }
    }

    /// Whether objects without a reference may be waiting for a drain after the call. If it gets the address of a root, the runtime may
    /// hold what it has stored there, until a drain of this function finds that the root has let go of it.
    pub(super) fn leaves_pending(&self, facts: &Facts, call: Call) -> bool {
        facts.leaves_pending(self.callees, call) || self.passed_on.contains_key(&call.value())
    }

    fn change(&self, instruction: Value) -> Option<Change<'_>> {
        let (address, clears) = match instruction.opcode() {
            Some(Opcode::LLVMStore) => (instruction.operand(1), instruction.operand(0).is_null()),
            Some(Opcode::LLVMCall) => {
                let call = instruction.as_call().expect("a call");
                match self.callees.of_call(call) {
                    Callee::Fill => (call.argument(0), call.argument(1).is_null()),
                    Callee::Copy => (call.argument(0), false),
                    _ => return None,
                }
            }
            _ => return None,
        };
        let base = address.base();
        let roots = self.behind.get(&base)?;
        Some(Change { roots, clears, ends: clears && base.is(Opcode::LLVMAlloca) && instruction.has_mark(ENDS) })
    }
}

impl Unchanged {
    /// Behind an instruction. Of a call that gets the address of a root this holds behind the call, too. Returns the root whose life ends
    /// there, if others may have had its address until then, and it is not settled.
    pub(super) fn step(&mut self, roots: &SettledRoots, instruction: Value) -> Option<usize> {
        if roots.behind.is_empty() {
            return None;
        }
        for passed in roots.passed_on.get(&instruction).into_iter().flatten() {
            self.settled.remove(passed.root);
            self.empty.remove(passed.root);
            if !passed.is_given_back {
                self.lent.insert(passed.root);
            }
        }
        let change = roots.change(instruction)?;
        for &root in change.roots {
            if change.clears && self.empty.contains(root) {
                continue;
            }
            self.settled.remove(root);
            self.empty.remove(root);
            if change.ends {
                self.lent.remove(root);
                if !self.counting.contains(root) {
                    // Nothing was ever counted for it, and it is empty again: there is nothing to settle, also in a function without safepoints.
                    self.settled.insert(root);
                    self.empty.insert(root);
                }
            }
        }
        change.roots.first().copied().filter(|&root| change.ends && !self.settled.contains(root))
    }

    /// Behind a place where a root was settled.
    pub(super) fn settle(&mut self, roots: &SettledRoots, root: usize) {
        self.counting.insert(root);
        if roots.known.contains(root) && !self.lent.contains(root) {
            self.settled.insert(root);
        }
    }

    /// Where two ways meet.
    pub(super) fn merge(&mut self, other: &Unchanged) {
        self.settled.intersect(&other.settled);
        self.empty.intersect(&other.empty);
        self.lent.union(&other.lent);
        self.counting.union(&other.counting);
    }
}
