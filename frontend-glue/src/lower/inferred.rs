//! Roots that no frontend writes: the references that are live across a safepoint are found, and get root slots.
//!
//! References are pointers of address space 1, as in LLVM's statepoints, or with [`Roots::Auto`] every pointer that does
//! not lead to a variable; what lies outside the heap is ignored. For each function, in order:
//!
//! 1. Variables become values (`mem2reg`); those that stay in memory are roots as they are (`local_memory.rs`).
//! 2. The base of each derived pointer is found, through phis and selects (`bases.rs`).
//! 3. Liveness: which bases each safepoint needs (`needs.rs`).
//! 4. Phis and their operands share a slot where they can (`webs.rs`).
//! 5. Each slot is an alloca with `llvm.gcroot`, and stores to it (`placement.rs`).
//!
//! What follows knows nothing of this: the lowering, its checks and zeal see roots as a frontend would have written them.
//! Slots and not values in bundles, because a bundle's values are spilled at each call anew: with every pointer of SQLite
//! a root that took 1.66 times the time, and slots 1.07.
//!
//! Only bases cross calls and memory, as LLVM asks of statepoints: a typed argument, and any result or loaded word, is an
//! object's address, or none of the heap's. Plain pointers are passed into objects too often for that (`hash(name->bytes)`):
//! a caller keeps the bases of its plain arguments while the call runs, and the callee has no roots of them.

mod accessed;
pub(super) mod again;
mod asked_bases;
mod bases;
mod entries;
mod local_memory;
mod needs;
mod placement;
pub(in crate::lower) mod references;
pub(crate) mod statepoints_instead;
mod token_landings;
mod typed_memory;
mod typed_pointers;
mod webs;

use crate::analysis::callee::{Callee, Callees, LEAF};
use crate::analysis::flow::Flow;
use crate::diagnostic::Diagnostic;
use crate::llvm::call::Call;
use crate::llvm::surgery::split_normal_edge;
use crate::llvm::{Builder, HandleSet, Module, Value};
use crate::lower::asked_safepoints;
use crate::lower::options::Roots;
use crate::lower::self_calls;
use crate::lower::strategy::{self, LOWERED_FLAG, STRATEGY};
use bases::Bases;
use needs::Needs;
pub(super) use needs::passes_untyped;
pub(crate) use references::holds_typed;
pub(super) use references::{References, is_typed};
use tally_heap::plan::Plan;
pub(super) use typed_memory::SOME_WORDS;
use webs::Webs;

/// The module flag of a module whose roots have been inferred.
const INFERRED_FLAG: &str = "tally.inferred";
/// Its values.
const TYPED_POINTERS: u64 = 1;
const ALL_POINTERS: u64 = 2;

/// Marks functions that guaranteed tail calls may call: their callers may be gone while they run, so they have roots of their arguments.
const OUTLIVES_CALLERS: &str = "tally-outlives-callers";

/// Whether the module has typed references.
pub(crate) fn has_typed_references(module: Module) -> bool {
    references::has_typed(module)
}

/// The functions with a body that have typed references.
pub(crate) fn functions_with_typed_references(module: Module) -> impl Iterator<Item = Value> {
    module.functions().filter(|&it| it.has_body() && references::is_function_with_typed(it))
}

/// Whether roots were inferred in this module.
pub(super) fn is_done(module: Module) -> bool {
    module.has_flag(INFERRED_FLAG)
}

/// Whether they were, for every pointer.
pub(crate) fn is_done_for_all(module: Module) -> bool {
    module.flag(INFERRED_FLAG) == Some(ALL_POINTERS)
}

/// The references for which roots were inferred in this module.
pub(super) fn references(module: Module) -> References {
    References { every: is_done_for_all(module), plain_arguments: false }
}

/// Whether callers protect what this argument is, or leads into.
pub(super) fn is_protected_by_callers(argument: Value) -> bool {
    let function = argument.function_of_parameter();
    argument.type_of().is_plain_pointer()
        && is_done_for_all(function.module())
        && !function.has_string_attribute(OUTLIVES_CALLERS)
}

/// What a module is to its lowering.
pub(crate) struct Setting<'a> {
    /// The module's name in messages.
    pub(crate) name: &'a str,
    pub(crate) roots: Roots,
    /// Its functions of a Tally strategy.
    pub(crate) managed: Vec<Value>,
    pub(crate) plan: Plan,
    /// Whether functions whose last call is one of themselves become loops.
    pub(crate) eliminate_tail_calls: bool,
}

/// Whether roots are still to be inferred in the module.
pub(crate) fn is_wanted(module: Module, roots: Roots) -> bool {
    !module.has_flag(LOWERED_FLAG) && !is_done(module) && (roots == Roots::Auto || references::has_typed(module))
}

/// Gives roots to the references of the module's functions of a Tally strategy, of which there are some.
///
/// # Errors
/// References in forms for which there is no root. The module may be changed then.
pub(crate) fn infer(module: Module, setting: Setting) -> Result<(), Vec<Diagnostic>> {
    let every = setting.roots == Roots::Auto;
    let builder = Builder::new(module);
    typed_pointers::adapt_declarations(&builder);
    let managed = setting.managed;
    let mut inference = Inference {
        name: setting.name,
        builder,
        callees: Callees::of(module),
        references: References { every, plain_arguments: false },
        tail_called: tail_called(module),
        plan: setting.plan,
        findings: Vec::new(),
    };
    let written_null: Vec<HandleSet<Value>> = managed.iter().map(|&function| inference.prepare(function)).collect();
    module.promote_variables(&managed);
    let with_vectors: Vec<Value> =
        managed.iter().copied().filter(|&function| references::has_vectors(inference.references, function)).collect();
    if !with_vectors.is_empty() {
        module.take_vectors_apart(&with_vectors);
    }
    if every && setting.eliminate_tail_calls {
        // The frame that keeps the arguments of such a call becomes that of the callee: they are references of the loop.
        self_calls::become_loops(&managed);
    }
    for (function, written_null) in managed.into_iter().zip(written_null) {
        inference.function(function, &written_null);
    }
    if inference.findings.is_empty() {
        module.set_flag(INFERRED_FLAG, if every { ALL_POINTERS } else { TYPED_POINTERS });
        return Ok(());
    }
    Err(inference.findings)
}

/// Gives the strategy of the first function, or that of C, to all others that may hold a reference while an object dies: without
/// roots in the source, nothing else says which those are. Functions that the runtime calls in the middle of a collection do not,
/// nor those that have no pointers: their sibling calls stay calls that keep no frame.
pub(crate) fn manage_all(module: Module, managed: &mut Vec<Value>, inside_collections: Vec<Value>) {
    let strategy = managed.first().and_then(|function| function.gc()).unwrap_or_else(|| STRATEGY.to_owned());
    let inside_collections: HandleSet<Value> = inside_collections.into_iter().collect();
    let callees = Callees::of(module);
    let may_be_managed = |function: &Value| {
        let is_plain = function.has_string_attribute(LEAF) || function.has_attribute("naked");
        function.has_body() && function.gc().is_none() && !is_plain && !inside_collections.contains(function)
    };
    let (without, with): (Vec<Value>, Vec<Value>) =
        module.functions().filter(may_be_managed).partition(|&function| references::has_none(&callees, function));
    // A module is lowered for the sake of its managed functions: there is one at least.
    let chosen = if with.is_empty() && managed.is_empty() { without } else { with };
    chosen.iter().for_each(|function| function.set_gc(&strategy));
    managed.extend(chosen);
}

struct Inference<'a> {
    name: &'a str,
    builder: Builder,
    callees: Callees,
    references: References,
    /// The functions whose callers may be gone while they run.
    tail_called: HandleSet<Value>,
    plan: Plan,
    findings: Vec<Diagnostic>,
}

impl Inference<'_> {
    /// What comes before local variables become values. Returns the accesses of null that are written as such.
    fn prepare(&self, function: Value) -> HandleSet<Value> {
        token_landings::adapt(&self.builder, function);
        local_memory::separate_places(&self.builder, &self.references, function);
        self.null_accesses(function)
    }

    fn has_barrier(&self) -> bool {
        strategy::has_barrier(self.builder.module(), self.plan)
    }

    fn function(&mut self, function: Value, written_null: &HandleSet<Value>) {
        self.touch_null(function, written_null);
        if self.references.every {
            entries::keep_arguments(&self.builder, function);
        }
        self.references.plain_arguments = self.tail_called.contains(&function);
        if self.references.plain_arguments {
            function.set_string_attribute(OUTLIVES_CALLERS, "");
        }
        self.findings.extend(references::unsupported(self.name, self.references, function, self.has_barrier()));
        self.findings.extend(local_memory::root(&self.builder, &self.references, &self.callees, self.name, function));
        self.findings.extend(typed_memory::separate(&self.builder, &self.callees, self.name, function));
        self.separate_results(function);
        let asked = asked_safepoints::places(&self.callees, function);
        asked_safepoints::place(&self.builder, &asked);
        let flow = Flow::of(function);
        let bases = Bases::find(&self.builder, &self.references, &flow);
        typed_pointers::write_through_barrier(&self.builder, &bases, &flow, self.has_barrier());
        if self.has_barrier() {
            typed_memory::copy_through_barrier(&self.builder, &self.callees, &bases, &flow);
        }
        asked_bases::answer(&self.builder, &bases, function);
        let needs = Needs::find(&self.callees, &flow, &bases, None);
        let webs = Webs::of(&flow, &bases, &needs);
        placement::place(&self.builder, &flow, &bases, &needs, &webs, self.plan);
    }

    /// What the program writes to, or reads from, a variable that turns out to be null: a fault when it runs, and no mistake
    /// to be refused, as a null that is written as such is. It becomes a plain access, which faults.
    fn touch_null(&self, function: Value, written_null: &HandleSet<Value>) {
        for access in self.null_accesses(function).difference(written_null) {
            let call = access.as_call().expect("a call");
            self.builder.before(*access);
            if self.callees.of_call(call) == Callee::GcRead {
                access.replace_all_uses(self.builder.load(access.type_of(), call.argument(1)));
            } else {
                self.builder.store(call.argument(0), call.argument(2));
            }
            access.erase();
        }
    }

    /// The writes and reads whose object is null.
    fn null_accesses(&self, function: Value) -> HandleSet<Value> {
        let is_of_null = |call: &Call| match self.callees.of_call(*call) {
            Callee::GcWrite | Callee::WriteWord => call.argument(1).is_null(),
            Callee::GcRead => call.argument(0).is_null(),
            _ => false,
        };
        function.calls().filter(is_of_null).map(|call| call.value()).collect()
    }

    /// Gives the reference that an invoke returns a block of its own to be stored in.
    fn separate_results(&self, function: Value) {
        let invokes: Vec<Value> = function.calls().filter(|call| call.is_invoke()).map(|call| call.value()).collect();
        for invoke in invokes {
            let destination = invoke.as_call().expect("an invoke").normal_destination();
            if self.references.may_carry(invoke.type_of()) && destination.predecessor_count() > 1 {
                split_normal_edge(&self.builder, invoke);
            }
        }
    }
}

/// The functions that guaranteed tail calls may call.
fn tail_called(module: Module) -> HandleSet<Value> {
    let calls = module.functions().flat_map(|function| function.calls().collect::<Vec<_>>());
    let targets: Vec<Value> = calls.filter(|call| call.is_musttail()).map(|call| call.callee()).collect();
    if targets.iter().all(|target| target.is_function()) {
        return targets.into_iter().collect();
    }
    module.functions().filter(|function| function.has_body()).collect()
}
