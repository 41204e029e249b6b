//! Functions with an owned result: everything that they return is known to be a reference or null, and some of it comes with
//! a count.
//!
//! A reference is what a root holds, what such a function returned, and what a write has taken out of a field. Where roots were
//! inferred for every pointer nothing is stored to a root of the program's, so a reference is what got an inferred root: what is
//! live across a safepoint is an object's address ("the rule" of docs/port/inferred-roots.md). A parameter is one if every call
//! passes one.

use super::is_direct_call;
use crate::analysis::callee::{Callee, Callees};
use crate::analysis::fixed_point::{largest, smallest};
use crate::llvm::call::Call;
use crate::llvm::linkage::PrivateMembers;
use crate::llvm::{Block, HandleSet, Opcode, Value};
use crate::lower::count::ownership::{replaced_at_once, replaced_in};
use crate::lower::inferred;
use crate::lower::roots::INFERRED;

/// Whether a count comes with the result of the call, given that it does with those of the functions in the set.
pub(super) fn brings_count(callees: &Callees, owned_results: &HandleSet<Value>, call: Call) -> bool {
    matches!(callees.of_call(call), Callee::New | Callee::NewArray) || owned_results.contains(&call.callee())
}

/// There are two fixed points: first functions are removed that may return something other than references, then those whose
/// results come with a count are found, beginning with the allocations.
pub(super) fn find(callees: &Callees, managed: &[Value], moves: bool) -> HandleSet<Value> {
    let Some(first) = managed.first() else { return HandleSet::default() };
    let private = PrivateMembers::of(first.module());
    let eligible = |function: &Value| {
        function.value_type().return_type().is_plain_pointer()
            && !function.value_type().is_variadic()
            && !function.may_be_overridden()
            && !private.accompany(*function)
            && !function.calls().any(|call| call.is_musttail() || callees.returns_twice(call))
            // A count is passed on at a safepoint: the caller of a leaf, or of a function declared as one, takes
            // none.
            && function.calls_of_it().all(|call| callees.is_safepoint(call))
            // A block address belongs to a block of this function, whatever its name.
            && !function.blocks().filter_map(Block::terminator).any(|end| end.is(Opcode::LLVMIndirectBr))
            && function.users().all(|user| !user.is_block_address())
    };
    let eligible: Vec<Value> = managed.iter().copied().filter(eligible).collect();
    let searched = || eligible.iter().copied().filter(|_| moves);
    let taken = searched().flat_map(|function| replaced_in(callees, function)).collect();
    let mut sources = Sources { callees, known: HandleSet::default(), taken: &taken };
    if inferred::is_done_for_all(first.module()) {
        sources.known = searched().flat_map(|function| replaced_at_once(callees, function)).collect();
        sources.known.extend(managed.iter().flat_map(|&function| held_by_inferred_roots(function)));
        let parameters = sources.reference_parameters(managed);
        sources.known.extend(parameters);
    }
    let all = largest(eligible.iter().copied(), |all, function| {
        results(function).all(|value| sources.is_reference(value, all))
    });
    smallest(all.iter().copied(), &all, |owned, function| {
        results(function).any(|value| sources.has_count(value, owned))
    })
}

fn results(function: Value) -> impl Iterator<Item = Value> {
    let ends = function.blocks().filter_map(Block::terminator);
    ends.filter(|end| end.is(Opcode::LLVMRet)).map(|end| end.operand(0))
}

/// What is stored to the inferred roots of a function.
fn held_by_inferred_roots(function: Value) -> Vec<Value> {
    let entry = function.blocks().next().expect("a managed function has a body");
    let roots = entry.instructions().filter(|it| it.is(Opcode::LLVMAlloca) && it.has_mark(INFERRED));
    let stores = roots.flat_map(|root| root.users().filter(|user| user.is(Opcode::LLVMStore)).collect::<Vec<_>>());
    stores.map(|store| store.operand(0)).filter(|value| !value.is_constant()).collect()
}

struct Sources<'a> {
    callees: &'a Callees,
    /// Values that are references or null wherever they are defined.
    known: HandleSet<Value>,
    /// Loads of fields from which a write takes them, as it looks. On other ways such a word may hold anything: an object of
    /// another type is read there.
    taken: &'a HandleSet<Value>,
}

impl Sources<'_> {
    /// The parameters that are references, as every call passes one.
    fn reference_parameters(&self, managed: &[Value]) -> HandleSet<Value> {
        let callers: HandleSet<Value> = managed.iter().copied().collect();
        let is_closed = |function: &Value| {
            function.is_internal()
                && !function.may_be_replaced()
                && function.users().all(|user| is_direct_call(user, *function, &callers))
        };
        let closed = managed.iter().copied().filter(is_closed);
        let parameters = |function: Value| (0..function.parameter_count()).map(move |it| function.parameter(it));
        let mut all: HandleSet<Value> =
            closed.flat_map(parameters).filter(|it| it.type_of().is_plain_pointer()).collect();
        let none = HandleSet::default();
        let mut queue: Vec<Value> = all.iter().copied().collect();
        while let Some(parameter) = queue.pop() {
            let place = parameter.parameter_index().expect("a parameter") as usize;
            let function = parameter.function_of_parameter();
            let is_reference = |value: Value| all.contains(&value) || self.known.contains(&value) || value.is_null();
            let fits = |call: Call| {
                let argument = call.arguments().get(place).copied();
                argument.is_some_and(|it| self.all_sources(it, is_reference, &none))
            };
            if all.contains(&parameter) && !function.calls_of_it().all(fits) {
                all.remove(&parameter);
                // What the function passes on is not known any more.
                let passed_to = function.calls().map(Call::callee).filter(|callee| callers.contains(callee));
                queue.extend(passed_to.flat_map(parameters).filter(|it| all.contains(it)));
            }
        }
        all
    }

    /// Given the functions with owned results.
    fn is_reference(&self, value: Value, functions: &HandleSet<Value>) -> bool {
        self.all_sources(value, |value| self.known.contains(&value), functions)
    }

    fn has_count(&self, value: Value, functions: &HandleSet<Value>) -> bool {
        let (mut seen, mut queue) = (HandleSet::default(), vec![value]);
        while let Some(value) = queue.pop() {
            if !seen.insert(value) {
                continue;
            }
            if value.is(Opcode::LLVMPHI) {
                queue.extend(value.incoming().into_iter().map(|(value, _)| value));
            } else if self.taken.contains(&value) || self.is_counted_result(value, functions) {
                return true;
            } else if is_load_of_root(self.callees, value) {
                let stores = value.operand(0).users().filter(|user| user.is(Opcode::LLVMStore));
                queue.extend(stores.map(|store| store.operand(0)));
            }
        }
        false
    }

    /// Whether all that a value may be, seen through phis, is a reference or null.
    fn all_sources(&self, value: Value, is_known: impl Fn(Value) -> bool, functions: &HandleSet<Value>) -> bool {
        let (mut seen, mut queue) = (HandleSet::default(), vec![value]);
        while let Some(value) = queue.pop() {
            if !seen.insert(value) || is_known(value) {
                continue;
            }
            if value.is(Opcode::LLVMPHI) {
                queue.extend(value.incoming().into_iter().map(|(value, _)| value));
            } else if !(value.is_null()
                || self.is_counted_result(value, functions)
                || is_load_of_root(self.callees, value))
            {
                return false;
            }
        }
        true
    }

    fn is_counted_result(&self, value: Value, functions: &HandleSet<Value>) -> bool {
        value.as_call().is_some_and(|call| brings_count(self.callees, functions, call))
    }
}

/// Whether the value is the content of a root of one plain reference.
fn is_load_of_root(callees: &Callees, value: Value) -> bool {
    value.is(Opcode::LLVMLoad)
        && value.operand(0).is(Opcode::LLVMAlloca)
        && value.operand(0).allocated_type().is_plain_pointer()
        && value.operand(0).users().any(|user| {
            user.as_call().is_some_and(|call| callees.of_call(call) == Callee::GcRoot && call.argument(1).is_null())
        })
}
