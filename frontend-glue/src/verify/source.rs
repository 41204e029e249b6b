//! Checks whether a module is wrong before it is lowered: each rule that LLVM's verifier does not know, with advice.
//!
//! The lowering calls this before its first change and relies on every rule here; where it would panic on a broken
//! one, its message says "verified". The rules, in the order checked: the module is not lowered yet; its strategies
//! are ours, mapped, or LLVM's own, and roots of the last are found if Tally's allocator is used (`foreign.rs`); this
//! machine has code for it (`machine_code.rs`); the runtime's declarations are right; roots are allocas that can be
//! named (`intrinsics.rs`) and descriptors are in order (`descriptors.rs`); writes have an object and a slot
//! (`writes.rs`), name global variables themselves (`passed_globals.rs`), and no reference certainly bypasses the
//! barrier (`raw_stores.rs`, `raw_fills.rs`); frames can be walked (`frames.rs`); no intrinsic calls by itself (`own_calls.rs`); what is
//! called inside collections has no roots (`inside_collections.rs`); no
//! call has a bundle that would be lost (`bundles.rs`); landing pads are of one type (`exceptions.rs`); no attribute
//! makes LLVM add calls (`attributes.rs`); `main` can be called by the runtime. Unreachable code may contain a write
//! to null, since optimisers leave such writes (`dead_code.rs`).

mod attributes;
mod bundles;
mod certain;
mod dead_code;
mod descriptors;
pub(crate) mod exceptions;
pub(crate) mod foreign;
pub(crate) mod frames;
mod inside_collections;
pub(crate) mod intrinsics;
pub(crate) mod machine_code;
mod made;
mod named_strategies;
mod own_calls;
pub(crate) mod passed_globals;
mod raw_fills;
mod raw_stores;
mod variadic_calls;
pub(crate) mod writes;

use crate::analysis::callee::{Callee, Callees, signature};
use crate::diagnostic::Diagnostic;
use crate::emit::target::Target;
use crate::llvm::call::Call;
use crate::llvm::{HandleSet, Module, Opcode, Value};
use crate::lower::roots::rooted_variable;
use crate::lower::{LOWERED_FLAG, Plan, Roots, STRATEGY, asked_safepoints, entry_point, inferred, root_metadata};
use descriptors::Faults;
use exceptions::Landings;
use std::collections::{HashMap, HashSet};
use tally_compiled::symbols::RUNTIME_SYMBOLS;

/// Strategies that LLVM itself lowers. A module with only these is not Tally's.
const LLVMS_OWN: [&str; 5] = ["shadow-stack", "ocaml", "erlang", "statepoint-example", "coreclr"];

/// Functions with a body and a strategy of Tally's.
pub(crate) fn managed_functions(module: Module, gc_names: &[(String, Plan)]) -> Vec<Value> {
    module.functions().filter(|&function| function.has_body() && is_managed(function, gc_names)).collect()
}

pub(crate) fn is_managed(function: Value, gc_names: &[(String, Plan)]) -> bool {
    known_plan(function, gc_names).is_some()
}

/// Whether LLVM lowers the function's strategy.
pub(crate) fn is_of_llvm(function: Value) -> bool {
    function.gc().is_some_and(|gc| LLVMS_OWN.contains(&gc.as_str()))
}

/// Gives roots to references that have none, where the module has such ([`inferred`]).
///
/// # Errors
/// References in forms for which there is no root.
pub(crate) fn infer_roots(
    module: Module,
    name: &str,
    roots: Roots,
    gc_names: &[(String, Plan)],
    eliminate_tail_calls: bool,
) -> Result<(), Vec<Diagnostic>> {
    if !inferred::is_wanted(module, roots) {
        return Ok(());
    }
    let mut managed = managed_functions(module, gc_names);
    let is_of_statepoints = !managed.is_empty() && foreign::are_of_statepoints(&managed);
    if is_of_statepoints && inferred::statepoints_instead::put_in(module, &managed) {
        return Ok(());
    }
    // A module without a gc function may hold what functions of other modules return.
    if roots == Roots::Auto {
        inferred::manage_all(module, &mut managed, inside_collections::called(module));
    }
    let Some(&first) = managed.first() else { return Ok(()) };
    let plan = plan_of(first, gc_names);
    let setting = inferred::Setting { name, roots, managed, plan, eliminate_tail_calls };
    inferred::infer(module, setting)
}

/// Whether a reference is certain to be stored past the barrier in one of the functions.
pub(crate) fn stores_past_the_barrier(module: Module, managed: &[Value]) -> bool {
    let callees = Callees::of(module);
    let written = raw_stores::written_globals(&callees);
    managed.iter().any(|&function| !raw_stores::errors(module, "", &callees, &written, function).is_empty())
}

/// The plan of a function's strategy.
fn known_plan(function: Value, gc_names: &[(String, Plan)]) -> Option<Plan> {
    let gc = function.gc()?;
    named_strategies::plan_of(&gc, function.module(), gc_names)
        .or_else(|| Plan::ALL.into_iter().find(|plan| plan.strategy() == gc))
        .or_else(|| foreign::plan_of(&gc, function.module()))
}

/// The plan of a function with a strategy of Tally's.
pub(crate) fn plan_of(function: Value, gc_names: &[(String, Plan)]) -> Plan {
    known_plan(function, gc_names).expect("a function with a strategy of Tally's")
}

/// Returns all faults that the lowering refuses.
pub(crate) fn errors(module: Module, name: &str, gc_names: &[(String, Plan)]) -> Vec<Diagnostic> {
    if module.has_flag(LOWERED_FLAG) {
        let finding = Diagnostic::about_module(name, "the module is lowered already");
        return vec![finding.help("hand over the IR as the frontend wrote it")];
    }
    let mut check = Check {
        name,
        gc_names,
        callees: Callees::of(module),
        module,
        faults: Faults { seen: HashSet::new() },
        landings: Landings::default(),
        seen_slots: HashSet::new(),
        written_globals: HandleSet::default(),
        has_barrier: false,
        findings: Vec::new(),
    };
    check.strategies();
    check.findings.extend(named_strategies::errors(module, name));
    check.findings.extend(foreign::error(module, name, gc_names));
    check.findings.extend(machine_code::errors(module, name, gc_names));
    if !check.findings.is_empty() {
        return check.findings;
    }
    let managed: HandleSet<Value> = managed_functions(module, gc_names).into_iter().collect();
    let target = Target::of(module);
    let any_managed = !managed.is_empty();
    let is_taken = any_managed || foreign::has_statepoints(module, gc_names) && foreign::allocates(module);
    if any_managed {
        check.declarations();
        check.context();
        check.written_globals = raw_stores::written_globals(&check.callees);
        check.findings.extend(own_calls::errors(module, name, &managed));
        check.findings.extend(inside_collections::errors(module, name));
    }
    check.has_barrier = managed.iter().any(|&function| plan_of(function, gc_names).has_barrier());
    let indirect = any_managed && attributes::has_indirect_safepoints(module, &check.callees);
    for function in module.functions().filter(|function| function.has_body()) {
        check.findings.extend(attributes::processor_error(name, function, target));
        if any_managed {
            check.findings.extend(attributes::errors(name, function, indirect));
            check.findings.extend(asked_safepoints::misspelt(name, function));
        }
        if is_taken && target == Target::RiscV64 {
            check.findings.extend(variadic_calls::errors(name, function, &check.callees));
        }
        check.function(function, is_taken, managed.contains(&function));
    }
    if any_managed {
        let passed = passed_globals::found(module, name, &check.callees).into_iter();
        check.findings.extend(passed.filter(|it| it.is_certain).map(|it| it.finding));
    }
    if is_taken && let Some(main) = module.function("main").filter(|main| main.has_body()) {
        check.main(main);
    }
    check.findings
}

struct Check<'a> {
    name: &'a str,
    gc_names: &'a [(String, Plan)],
    callees: Callees,
    module: Module,
    faults: Faults,
    landings: Landings,
    /// Slots of gcwrites whose other stores were checked.
    seen_slots: HashSet<Value>,
    written_globals: HandleSet<Value>,
    /// The module's plan has a write barrier.
    has_barrier: bool,
    findings: Vec<Diagnostic>,
}

impl Check<'_> {
    fn at(&mut self, instruction: Value, message: impl Into<String>, help: &str) {
        self.findings.push(Diagnostic::at(self.name, instruction, message).help(help));
    }

    fn about(&mut self, function: Value, message: impl Into<String>, help: &str) {
        self.findings.push(Diagnostic::about_function(self.name, function, message).help(help));
    }

    fn strategies(&mut self) {
        let functions: Vec<Value> = self.module.functions().collect();
        let any_managed = functions.iter().any(|&function| is_managed(function, self.gc_names));
        self.one_plan(&functions);
        for function in functions {
            let Some(gc) = function.gc().filter(|_| !is_managed(function, self.gc_names)) else { continue };
            if !LLVMS_OWN.contains(&gc.as_str()) {
                let message = format!("unknown gc strategy \"{gc}\"; known here are {}", self.known_strategies());
                self.about(function, message, &format!("map it with --gc-name {gc}={STRATEGY}"));
            } else if any_managed {
                let message = format!("gc \"{gc}\" stands beside gc \"{STRATEGY}\" in one module");
                self.about(function, message, "one module has one strategy: LLVM inlines across functions");
            }
        }
    }

    /// A heap has one plan, and so has a module.
    fn one_plan(&mut self, functions: &[Value]) {
        let mut first: Option<(Value, Plan)> = None;
        for &function in functions.iter().filter(|function| function.has_body()) {
            let Some(plan) = known_plan(function, self.gc_names) else { continue };
            match first {
                None => first = Some((function, plan)),
                Some((other, of_other)) if !of_other.may_meet(plan) => {
                    let (mine, others) = (plan.strategy(), of_other.strategy());
                    let message =
                        format!("this function asks for gc \"{mine}\", and @{} for gc \"{others}\"", other.name());
                    return self.about(
                        function,
                        message,
                        "a heap has one plan: give all functions of the program the same",
                    );
                }
                Some(_) => {}
            }
        }
    }

    fn known_strategies(&self) -> String {
        let mapped = self.gc_names.iter().map(|(name, _)| format!(", \"{name}\"")).collect::<String>();
        let plans = Plan::ALL.map(|plan| format!("\"{}\"", plan.strategy())).join(", ");
        format!("{plans}{mapped}, and LLVM's own ({})", LLVMS_OWN.join(", "))
    }

    /// Compiled code reads the runtime's thread-local variable by its name.
    fn context(&mut self) {
        let Some(context) = self.module.global("tally_context") else { return };
        if context.initializer().is_some() || !context.is_thread_local() {
            let finding = Diagnostic::about_module(self.name, "@tally_context is a variable of the runtime's");
            self.findings.push(finding.help("give the program's own another name"));
        }
    }

    /// The runtime's functions are declared with their real types, and called with them.
    fn declarations(&mut self) {
        let symbols = RUNTIME_SYMBOLS.iter().map(|symbol| (symbol.name, symbol.signature));
        for (name, text) in symbols {
            let Some(function) = self.module.function(name) else { continue };
            let wanted = signature(self.module, text);
            let help = format!("declare it as {}", wanted.print());
            if function.value_type() != wanted {
                self.about(function, format!("@{name} is declared as {}", function.value_type().print()), &help);
                continue;
            }
            let wrong: Vec<Call> = function.calls_of_it().filter(|call| call.function_type() != wanted).collect();
            for call in wrong {
                self.at(call.value(), format!("@{name} is called as {}", call.function_type().print()), &help);
            }
        }
    }

    fn function(&mut self, function: Value, is_taken: bool, managed: bool) {
        if !managed && function.gc().is_some() {
            return;
        }
        let calls: Vec<Call> = function.calls().collect();
        if is_taken {
            let findings = frames::errors(self.name, &self.callees, function, &calls, managed);
            self.findings.extend(findings);
            self.findings.extend(bundles::errors(self.name, &self.callees, &calls));
            self.findings.extend(self.landings.errors(self.name, function));
        }
        let mut descriptors: HashMap<Value, Value> = HashMap::new();
        for call in calls {
            let callee = self.callees.of_call(call);
            let what = match callee {
                Callee::GcRoot => "gcroot",
                Callee::GcWrite => "gcwrite",
                Callee::GcRead => "gcread",
                Callee::WriteWord => "tally_gcwrite_i64",
                Callee::New => "tally_new",
                Callee::NewArray => "tally_new_array",
                _ => "",
            };
            let needs_strategy = !matches!(callee, Callee::New | Callee::NewArray);
            if !what.is_empty() && needs_strategy && !managed {
                let message = format!("{what} in a function without a gc strategy");
                self.at(call.value(), message, "add gc \"refcount\" to the function");
                continue;
            }
            match callee {
                Callee::GcRoot => self.root(call, &mut descriptors),
                Callee::New | Callee::NewArray if is_taken => self.allocation(call, what),
                Callee::GcWrite | Callee::WriteWord => self.write(call, what),
                _ => {}
            }
        }
        for &slot in descriptors.keys() {
            self.accesses_of_root(slot);
        }
        if self.has_barrier {
            for errors in [raw_stores::errors, raw_fills::errors] {
                self.findings.extend(errors(self.module, self.name, &self.callees, &self.written_globals, function));
            }
        }
    }

    fn root(&mut self, call: Call, descriptors: &mut HashMap<Value, Value>) {
        let (place, how) = (call.value(), call.argument(1));
        let slot = match intrinsics::rooted_slot(self.module, self.name, call) {
            Ok(slot) => slot,
            Err(finding) => return self.findings.push(*finding),
        };
        if descriptors.insert(slot, how).is_some_and(|other| other != how) {
            let help = "root each alloca with one descriptor";
            self.at(place, "gcroot of one alloca with two different descriptors", help);
        }
        let is_of_callback = known_plan(place.function(), self.gc_names)
            .is_some_and(|plan| root_metadata::is_of_callback(self.module, plan, how));
        let fault = match is_of_callback {
            true => root_metadata::fault(self.module, slot),
            false => self.faults.of_root(self.module, slot, how),
        };
        if let Some(fault) = fault {
            self.findings.push(Diagnostic::at(self.name, place, fault));
        }
    }

    fn allocation(&mut self, call: Call, what: &str) {
        if let Some(fault) = self.faults.of_allocation(self.module, call.argument(0), what) {
            self.findings.push(Diagnostic::at(self.name, call.value(), fault));
        }
    }

    fn accesses_of_root(&mut self, slot: Value) {
        for user in slot.users().collect::<Vec<_>>() {
            let help = "load and store root slots plainly; only their own thread reads them";
            match user.opcode() {
                Some(Opcode::LLVMStore) if user.operand(1) == slot && user.is_atomic() => {
                    self.at(user, "atomic store to a root slot", help);
                }
                Some(Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg) => {
                    self.at(user, "atomic access to a root slot", help);
                }
                _ => {}
            }
        }
    }

    fn write(&mut self, call: Call, what: &str) {
        let (place, object, slot) = (call.value(), call.argument(1), call.argument(2));
        let names_nothing = |value: Value| value.is_null() || value.is_undef();
        if (names_nothing(object) || names_nothing(slot)) && dead_code::holds(place) {
            return;
        }
        if names_nothing(object) {
            let help = "name the object that the slot lies in; for a slot in a global variable, the global";
            return self.at(place, format!("{what} with a null object"), help);
        }
        if names_nothing(slot) {
            return self.at(place, format!("{what} to a null slot"), "pass the address of the field to be written");
        }
        if rooted_variable(object).is_some() {
            let help = "store to a root slot with a plain store";
            return self.at(place, format!("{what} whose object is a local variable"), help);
        }
        self.other_stores(slot);
        if let Some((message, help)) = writes::fault(self.module, &self.callees, (what, place), object, slot)
            && !dead_code::holds(place)
        {
            self.at(place, message, help);
        }
    }

    /// Fields that gcwrite writes are references: atomic and volatile stores to them would lose objects.
    fn other_stores(&mut self, slot: Value) {
        if !slot.is_local() || !self.seen_slots.insert(slot) {
            return;
        }
        let help = "write references with gcwrite only; where threads share a word, keep it outside of objects";
        for user in slot.users().collect::<Vec<_>>() {
            match user.opcode() {
                Some(Opcode::LLVMStore) if user.operand(1) == slot && user.is_atomic() => {
                    self.at(user, "atomic store to a field that gcwrite writes", help);
                }
                Some(Opcode::LLVMStore) if user.operand(1) == slot && user.is_volatile() => {
                    self.at(user, "volatile store to a field that gcwrite writes", help);
                }
                Some(Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg) if user.operand(0) == slot => {
                    self.at(user, "atomic access to a field that gcwrite writes", help);
                }
                _ => {}
            }
        }
    }

    fn main(&mut self, main: Value) {
        if !entry_point::is_known_form(main.value_type()) {
            let help = "declare it as i32 (), i32 (i32, ptr) or i32 (i32, ptr, ptr)";
            self.about(main, "the runtime cannot call a main of this type", help);
        }
    }
}
