//! Facts about a module's functions: those that release nothing, and those that pass on the count of their result.
//!
//! A function is **quiet** if nothing can die while it runs: it writes no reference, allocates nothing, and calls
//! only quiet functions. A reference that is held when it is called is still held when it returns, so neither its
//! parameters nor its caller's roots need a count for it. (In Swift's words, its arguments are *guaranteed*; here the
//! guarantee is found, not declared.) That is said of a body, so of functions that no other definition replaces.
//!
//! A function has an **owned result** if everything that it returns is known to be a reference or null, and some of
//! these values came with a count, or with that of a field from which a write has taken them. By the IR contract a
//! returned reference is only valid until the caller's next safepoint; within a module a count can go along with it.
//! For callers elsewhere the contract holds: a wrapper of the old name releases the count, so that the object, if that
//! was the last count, waits on the pending list for the caller to root it.

mod owned_results;

use super::Patterns;
use super::inferred_leaves;
use crate::analysis::callee::{Callee, Callees};
use crate::analysis::fixed_point::{Queue, callers, largest};
use crate::llvm::call::{AttributeKind, Call};
use crate::llvm::{Builder, HandleSet, Module, Type, Value, Visibility};
use crate::lower::exposure::may_be_a_leaf;
use crate::verify::library;
use crate::verify::source::exceptions;
use tally_compiled::symbols::CallKind;

/// The effect of a call on the counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing can die, and nothing is thrown.
    None,
    /// Nothing can die, but an exception may leave the call, at which the frame's roots are released.
    Unwinds,
    /// Objects may die.
    Safepoint,
}

/// The facts about the functions of one module.
#[derive(Debug)]
pub(super) struct Facts {
    promises: Promises,
    /// Zeal's stop, in modules that have one.
    zeal_stop: Option<Value>,
    quiet: HandleSet<Value>,
    /// Functions that may let go of objects, which die in their callers (`inferred_leaves`).
    inferred_leaves: HandleSet<Value>,
    /// Functions with a body that no exception leaves, whatever they declare.
    never_unwind: HandleSet<Value>,
    owned_results: HandleSet<Value>,
    managed: HandleSet<Value>,
    /// Of those: leaves, at least for some of their callers.
    leaves: HandleSet<Value>,
    /// The type of the module's landing pads.
    landing: Type,
}

impl Facts {
    /// Finds the facts; functions with an owned result that other modules may call get a wrapper, which is managed,
    /// too.
    pub(super) fn of(builder: &Builder, callees: &Callees, managed: &mut Vec<Value>, patterns: Patterns) -> Facts {
        let module = builder.module();
        let bodies = || module.functions().filter(|function| function.has_body() && !function.may_be_replaced());
        let promises = Promises::known();
        let never_unwind = largest(bodies(), |never, function| {
            function.calls().all(|call| {
                let known = never.contains(&call.callee()) || callees.of_call(call) != Callee::Ordinary;
                known || promises.never_unwinds(call)
            })
        });
        let mut facts = Facts {
            promises,
            zeal_stop: module.function("tally_zeal_safepoint"),
            quiet: HandleSet::default(),
            inferred_leaves: HandleSet::default(),
            never_unwind,
            owned_results: HandleSet::default(),
            managed: managed.iter().copied().collect(),
            leaves: managed.iter().copied().filter(|&function| may_be_a_leaf(function)).collect(),
            landing: landing_type(module),
        };
        if patterns.quiet_calls {
            facts.quiet = largest(bodies(), |quiet, function| {
                function.calls().all(|call| facts.fits_quiet(callees, quiet, call))
            });
        }
        if patterns.owned_results {
            facts.owned_results = owned_results::find(callees, managed, patterns.moves);
            for function in managed.clone() {
                if facts.owned_results.contains(&function) && is_called_from_elsewhere(function, &facts.managed) {
                    let wrapper = wrap(builder, function, &facts.managed);
                    facts.managed.insert(wrapper);
                    if facts.is_leaf(function) {
                        facts.leaves.insert(wrapper);
                    }
                    managed.push(wrapper);
                }
            }
        }
        if patterns.leaf_calls {
            facts.inferred_leaves = inferred_leaves::find(callees, &facts, managed);
        }
        facts
    }

    /// The type of the module's landing pads.
    pub(super) fn landing(&self) -> Type {
        self.landing
    }

    /// The effect of the call on the counts of the function that makes it.
    pub(super) fn effect(&self, callees: &Callees, call: Call) -> Effect {
        match callees.of_call(call) {
            Callee::New | Callee::NewArray | Callee::Poll | Callee::Runtime(CallKind::Safepoint) => Effect::Safepoint,
            Callee::Ordinary if self.is_quiet(call) || self.calls_inferred_leaf(call) => Effect::None,
            Callee::Ordinary if self.ends_program_in_leaf(call) => Effect::None,
            Callee::Ordinary if callees.is_safepoint(call) => Effect::Safepoint,
            Callee::Ordinary if self.may_leave_by_exception(callees, call) => Effect::Unwinds,
            _ => Effect::None,
        }
    }

    /// An exception that leaves a function that is `nounwind` ends the program.
    fn may_leave_by_exception(&self, callees: &Callees, call: Call) -> bool {
        let arrives = call.is_invoke() || !self.promises.function_never_unwinds(call.value().function());
        arrives && self.may_unwind(call) && !callees.returns_twice(call)
    }

    /// Whether an exception may leave the call.
    pub(super) fn may_unwind(&self, call: Call) -> bool {
        !self.promises.never_unwinds(call) && !self.never_unwind.contains(&call.callee())
    }

    /// Whether the call is one of zeal's checks, which release nothing.
    pub(super) fn checks(&self, call: Call) -> bool {
        self.zeal_stop.is_some() && !self.drains(call) && call.callee().name().starts_with("tally_zeal_")
    }

    /// Whether the call drains by itself, as it knows the references in flight: zeal's stops in front of calls and
    /// returns.
    pub(super) fn drains(&self, call: Call) -> bool {
        self.zeal_stop == Some(call.callee())
    }

    /// Whether nothing can die during the call.
    pub(super) fn is_quiet(&self, call: Call) -> bool {
        self.quiet.contains(&call.callee()) || self.promises.never_releases(call)
    }

    /// Whether nothing can die in the function, and no count falls.
    pub(super) fn is_quiet_function(&self, function: Value) -> bool {
        self.quiet.contains(&function)
    }

    /// Whether an inferred leaf is called: what dies in it does so behind the call.
    pub(super) fn calls_inferred_leaf(&self, call: Call) -> bool {
        self.inferred_leaves.contains(&call.callee())
    }

    /// Whether an inferred leaf ends the program by the call: its callers' roots have no counts then.
    fn ends_program_in_leaf(&self, call: Call) -> bool {
        self.is_inferred_leaf(call.value().function()) && inferred_leaves::ends_program(call)
    }

    /// Whether the function is an inferred leaf.
    pub(super) fn is_inferred_leaf(&self, function: Value) -> bool {
        self.inferred_leaves.contains(&function)
    }

    /// Whether a quiet function may make the call.
    pub(super) fn is_passed_by_quiet(&self, callees: &Callees, call: Call) -> bool {
        self.fits_quiet(callees, &self.quiet, call)
    }

    /// These functions, and those that call them, release something after all.
    pub(super) fn forget_quiet(&mut self, functions: impl IntoIterator<Item = Value>) {
        let mut queue = Queue::of(functions.into_iter());
        while let Some(function) = queue.pop() {
            if self.quiet.remove(&function) | self.inferred_leaves.remove(&function) {
                queue.extend(callers(function));
            }
        }
    }

    /// Whether a quiet function may make the call, given that those in the set are quiet.
    fn fits_quiet(&self, callees: &Callees, quiet: &HandleSet<Value>, call: Call) -> bool {
        match callees.of_call(call) {
            Callee::Ordinary => {
                let known = quiet.contains(&call.callee()) || self.promises.never_releases(call);
                // An unknown leaf may let go of objects, which a managed function would see die at its end.
                known || !self.managed.contains(&call.value().function()) && self.is_unknown_leaf(callees, call)
            }
            Callee::GcRoot
            | Callee::GcRead
            | Callee::LifetimeStart
            | Callee::LifetimeEnd
            | Callee::Fill
            | Callee::Copy
            | Callee::OtherIntrinsic
            | Callee::InlineAsm => true,
            _ => false,
        }
    }

    /// Whether a function that is not known is called, in which nothing dies.
    pub(super) fn is_unknown_leaf(&self, callees: &Callees, call: Call) -> bool {
        callees.of_call(call) == Callee::Ordinary && !callees.is_safepoint(call) && !self.may_unwind(call)
    }

    /// Whether a count comes with the result of the call.
    pub(super) fn hands_over(&self, callees: &Callees, call: Call) -> bool {
        owned_results::brings_count(callees, &self.owned_results, call)
    }

    /// Whether the function's callers get a count with its result.
    pub(super) fn has_owned_result(&self, function: Value) -> bool {
        self.owned_results.contains(&function)
    }

    /// Whether the function's result is written to memory of the caller: the objects there may be at zero when it
    /// returns.
    pub(super) fn returns_in_memory(&self, function: Value) -> bool {
        function.is_function() && function.has_parameter_attribute("sret")
    }

    /// Whether what has died when the function ends waits for its caller's next safepoint: its result lies in the caller's memory, or
    /// it is a leaf, which a reference in no root outlives, or an inferred one.
    pub(super) fn leaves_its_dead(&self, function: Value) -> bool {
        self.returns_in_memory(function) || self.is_leaf(function) || self.is_inferred_leaf(function)
    }

    /// Whether the managed function is a leaf, at least for some of its callers.
    pub(super) fn is_leaf(&self, function: Value) -> bool {
        self.leaves.contains(&function)
    }

    /// Whether objects without a reference may be waiting for a drain after the call.
    pub(super) fn leaves_pending(&self, callees: &Callees, call: Call) -> bool {
        match callees.of_call(call) {
            // Zeal's stop protects the result in flight, which may have been released before it.
            _ if self.drains(call) => true,
            Callee::New | Callee::NewArray | Callee::Poll => false,
            // A new object of a service waits for a reference to it.
            Callee::Runtime(CallKind::Safepoint) => call.function_type().return_type().is_pointer(),
            Callee::Ordinary => {
                let callee = call.callee();
                let drains_itself =
                    self.managed.contains(&callee) && !callee.may_be_replaced() && !self.leaves_its_dead(callee);
                let returns_nothing = call.function_type().return_type().is_void();
                !drains_itself || !(returns_nothing || self.has_owned_result(callee))
            }
            _ => true,
        }
    }
}

/// The type of the program's own landing pads, which is the same for all (verified); if it has none, the type for C
/// and C++.
fn landing_type(module: Module) -> Type {
    let own = module.functions().find_map(|function| exceptions::landings(function).next());
    own.map_or_else(|| module.structure(&[module.pointer(), module.integer(32)]), |(_, of)| of)
}

/// The attributes by which functions and calls make promises; their names are looked up once.
#[derive(Debug)]
struct Promises {
    nounwind: AttributeKind,
    nocallback: AttributeKind,
    nofree: AttributeKind,
}

impl Promises {
    fn known() -> Promises {
        let [nounwind, nocallback, nofree] = ["nounwind", "nocallback", "nofree"].map(AttributeKind::named);
        Promises { nounwind, nocallback, nofree }
    }

    fn never_unwinds(&self, call: Call) -> bool {
        call.has_attribute(self.nounwind)
    }

    fn function_never_unwinds(&self, function: Value) -> bool {
        function.has_attribute_kind(self.nounwind)
    }

    /// `nocallback` speaks of the caller's module alone: a managed function of another one may keep that, and let objects die.
    fn never_releases(&self, call: Call) -> bool {
        let frees_nothing = || call.has_attribute(self.nofree) || library::may_be_called_bare(call.callee());
        call.has_attribute(self.nocallback) && self.never_unwinds(call) && frees_nothing()
    }
}

fn is_called_from_elsewhere(function: Value, managed: &HandleSet<Value>) -> bool {
    !function.is_internal() || function.users().any(|user| !is_direct_call(user, function, managed))
}

pub(super) fn is_direct_call(user: Value, function: Value, managed: &HandleSet<Value>) -> bool {
    user.as_call().is_some_and(|call| {
        call.callee() == function
            && !call.is_musttail()
            && managed.contains(&user.function())
            && call.arguments().iter().all(|&argument| argument != function)
    })
}

/// Ends the name of a function whose result comes with a count, and beside which there is one of the old name.
pub(in crate::lower) const OWNED: &str = ".owned";

/// Makes the function of the old name, for all callers that do not know that a count comes with the result.
fn wrap(builder: &Builder, function: Value, managed: &HandleSet<Value>) -> Value {
    let module = builder.module();
    let name = function.name();
    function.set_name(&format!("{name}{OWNED}"));
    let wrapper = module.add_function(&name, function.value_type());
    wrapper.copy_linkage_and_attributes(function);
    function.set_visibility(Visibility::Internal);
    function.forget_comdat();
    let known: Vec<Call> =
        function.users().filter(|&user| is_direct_call(user, function, managed)).filter_map(Value::as_call).collect();
    function.replace_all_uses(wrapper);
    for call in known {
        call.set_callee(function);
    }
    builder.at_end_unlocated(wrapper.append_block(""));
    let arguments: Vec<Value> = (0..wrapper.parameter_count()).map(|index| wrapper.parameter(index)).collect();
    let result = builder.call(function.value_type(), function, &arguments);
    let call = result.as_call().expect("a call");
    call.set_convention(function.function_convention());
    call.pass_as_declared();
    builder.return_value(Some(result));
    wrapper
}
