//! Makers: small functions that make one object, return it, and reach no safepoint besides. `vector_add(a, b)` is one.
//!
//! Where the result does not escape from the caller, the body of a maker takes the place of its call, and the object becomes one that
//! the caller makes itself. LLVM's own inliner would do so later, when the object's place is decided. Since the allocation is a
//! maker's only safepoint, nothing that its roots hold can die in it once the object is on the stack: they are roots no
//! longer then ([`forget_roots`]). A maker may get its object from another one; that takes a round for each.

use super::Known;
use super::rewrite::unroot;
use super::site::MADE;
use super::uses::Uses;
use crate::analysis::callee::{Callee, Callees};
use crate::analysis::flow::Flow;
use crate::llvm::call::{AttributeKind, Call};
use crate::llvm::{Builder, HandleMap, HandleSet, Opcode, Value};
use crate::lower::count;
use crate::lower::roots::rooted_variable;

/// Instructions of a maker, at most.
const MAKER_MAX: usize = 60;
/// Instructions that a function gets more, at most.
const MORE_MAX: usize = 1024;

/// The makers of a module, with the type of what they make.
#[derive(Debug, Default)]
pub(super) struct Makers {
    pub(super) all: HandleMap<Value, Value>,
    /// Instructions that each function got more.
    more: HandleMap<Value, usize>,
    /// Functions with marked parts.
    marked: Vec<Value>,
}

impl Makers {
    /// Finds the makers among `managed`, as they are now.
    pub(super) fn find(&mut self, known: &mut Known, managed: &[Value]) {
        self.all.clear();
        let mut before = usize::MAX;
        while std::mem::replace(&mut before, self.all.len()) != self.all.len() {
            for &function in managed.iter().filter(|function| may_make(known.callees, **function)) {
                if !self.all.contains_key(&function)
                    && let Some(made) = self.made_by(known, function)
                {
                    self.all.insert(function, made);
                }
            }
        }
    }

    /// The type of the one object that a function makes and returns.
    fn made_by(&self, known: &mut Known, function: Value) -> Option<Value> {
        let safepoints: Vec<Call> = function.calls().filter(|&call| known.callees.is_safepoint(call)).take(2).collect();
        let [only] = safepoints[..] else { return None };
        let site = known.site(only, self)?;
        let uses = Uses::follow(known.module, known.callees, site.call.value())?;
        let flow = Flow::of(function);
        let returns = function.blocks().filter_map(|block| block.terminator()).filter(|end| end.is(Opcode::LLVMRet));
        let is_object = |end: Value| uses.places.get(&end.operand(0)) == Some(&Some(0));
        let returns_it = !only.is_invoke() && !uses.is_merged && returns.into_iter().all(is_object);
        (returns_it && known.stays_here(&flow, &site, &uses)?.is_empty()).then_some(site.descriptor)
    }

    /// Marks calls, of which the bodies will take the places, unless their caller has grown too much.
    pub(super) fn choose(&mut self, builder: &Builder, calls: &[Call]) -> bool {
        let Some(first) = calls.first() else { return false };
        let more = self.more.entry(first.value().function()).or_insert(0);
        let size: usize = calls.iter().map(|call| size_of(call.callee())).sum();
        if *more + size > MORE_MAX {
            return false;
        }
        *more += size;
        for call in calls {
            call.set_attribute("alwaysinline");
            marked_parts(call.callee()).into_iter().for_each(|part| builder.mark(part, MADE));
            self.marked.push(call.callee());
        }
        true
    }

    /// Puts the bodies of makers in the places of the calls that were chosen.
    pub(super) fn put_in_place(&mut self, builder: &Builder) {
        count::inline_marked(builder.module());
        self.marked.drain(..).flat_map(marked_parts).for_each(|part| part.forget_mark(MADE));
    }
}

/// Whether the body of a function that makes nothing may take the place of this call: a small one without a safepoint.
pub(super) fn may_replace_the_call(callees: &Callees, call: Call) -> bool {
    may_be_replaced_by_its_body(call)
        && may_take_a_place(callees, call.callee())
        && !call.callee().calls().any(|call| callees.is_safepoint(call))
}

/// Whether nothing about the call, or its function, forbids that a body takes its place.
pub(super) fn may_be_replaced_by_its_body(call: Call) -> bool {
    call.callee() != call.value().function()
        && !call.is_invoke()
        && !call.is_musttail()
        && !call.has_attribute(AttributeKind::named("noinline"))
}

/// The calls of a maker that name roots, and the safepoint.
fn marked_parts(maker: Value) -> Vec<Value> {
    let callees = Callees::of(maker.module());
    let is_part = |call: &Call| callees.of_call(*call) == Callee::GcRoot || callees.is_safepoint(*call);
    maker.calls().filter(is_part).map(Call::value).collect()
}

fn may_make(callees: &Callees, function: Value) -> bool {
    function.value_type().return_type().is_pointer() && may_take_a_place(callees, function)
}

fn may_take_a_place(callees: &Callees, function: Value) -> bool {
    let forbids = ["noinline", "optnone", "naked", "presplitcoroutine"];
    function.has_body()
        && !function.may_be_replaced()
        && !function.value_type().is_variadic()
        && !forbids.iter().any(|attribute| function.has_attribute(attribute))
        && size_of(function) <= MAKER_MAX
        && !function.calls().any(|call| callees.returns_twice(call))
}

fn size_of(function: Value) -> usize {
    let becomes_code =
        |value: &Value| !matches!(value.opcode(), Some(Opcode::LLVMAlloca | Opcode::LLVMPHI | Opcode::LLVMBr));
    function.blocks().map(|block| block.instructions().filter(becomes_code).count()).sum()
}

/// Takes the roots of makers away that came into `function`, if all objects that they made here are on the stack.
pub(super) fn forget_roots(builder: &Builder, callees: &Callees, function: Value) {
    let parts: Vec<Call> = function.calls().filter(|call| call.value().has_mark(MADE)).collect();
    if parts.iter().any(|&call| callees.of_call(call) != Callee::GcRoot) {
        return;
    }
    let variables: HandleSet<Value> = parts.iter().filter_map(|call| rooted_variable(call.argument(0))).collect();
    for variable in function.instructions().into_iter().filter(|value| variables.contains(value)) {
        unroot(builder, callees, variable);
    }
}
