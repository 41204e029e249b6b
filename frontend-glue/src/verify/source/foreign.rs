//! Strategies of LLVM's own together with Tally's allocator: roots that no collector would visit.
//!
//! LLVM compiles `gc "ocaml"`, `"erlang"`, `"coreclr"` and `"statepoint-example"` to code that describes its roots in maps
//! of its own, which Tally does not read: an object of Tally's heap that such a root holds would be freed. So a module of
//! `"ocaml"` or `"erlang"` that allocates on Tally's heap is compiled by Tally instead, for the trace plan: these strategies
//! mark roots by `llvm.gcroot` and have no barrier. The two others have no `llvm.gcroot`: where `opt
//! -passes=rewrite-statepoints-for-gc` has put in statepoints, these name the roots, and are read from LLVM's stack maps;
//! where it has not, references are of type `ptr addrspace(1)`, and Tally infers their roots, or runs that pass itself
//! (`lower/inferred/statepoints_instead.rs`). What Tally does not compile is
//! refused beside its allocator; `whole_program.rs` checks the same for a program. Roots of `"shadow-stack"` are found by
//! collections.

use crate::analysis::callee::runtime_symbol;
use crate::diagnostic::Diagnostic;
use crate::llvm::{Module, Opcode, Value};
use crate::lower::{Plan, STRATEGY, inferred};
use crate::verify::source::named_strategies;
use tally_compiled::symbols::RUNTIME_SYMBOLS;

/// Strategies of LLVM's own whose roots Tally does not find.
const UNREAD: [&str; 4] = ["ocaml", "erlang", "statepoint-example", "coreclr"];

/// Strategies of LLVM's own whose roots statepoints name.
const OF_STATEPOINTS: [&str; 2] = ["statepoint-example", "coreclr"];

/// How the names of the intrinsics begin that are statepoints.
pub(crate) const STATEPOINT: &str = "llvm.experimental.gc.statepoint";

/// The strategy of LLVM's own whose roots are in a chain that collections follow.
pub(crate) const SHADOW_STACK: &str = "shadow-stack";

/// Strategies of LLVM's own whose code Tally compiles for the trace plan where it allocates on Tally's heap.
const COMPILED: [&str; 2] = ["ocaml", "erlang"];

/// The plan by which Tally compiles a function of one of LLVM's own strategies; `None` where it leaves that to LLVM.
pub(super) fn plan_of(strategy: &str, module: Module) -> Option<Plan> {
    // Asked for each function: what reads the whole module comes last, and ends at the first typed reference.
    let is_before_statepoints = || !uses_statepoints(module) && inferred::has_typed_references(module);
    let is_compiled = || COMPILED.contains(&strategy) || is_before_statepoints();
    let is_known = COMPILED.contains(&strategy) || OF_STATEPOINTS.contains(&strategy);
    (is_known && allocates(module) && is_compiled()).then_some(Plan::Trace)
}

/// Whether LLVM compiles all these functions to statepoints, if Tally does not.
pub(super) fn are_of_statepoints(functions: &[Value]) -> bool {
    functions.iter().all(|function| function.gc().is_some_and(|gc| OF_STATEPOINTS.contains(&gc.as_str())))
}

fn uses_statepoints(module: Module) -> bool {
    module.function(&format!("{STATEPOINT}.p0")).is_some_and(|intrinsic| intrinsic.users().next().is_some())
}

/// Whether a function of the module is compiled by LLVM to statepoints, and `opt` has put them in already. Their stack maps
/// name the roots, so such a module runs on the trace plan.
pub(crate) fn has_statepoints(module: Module, gc_names: &[(String, Plan)]) -> bool {
    uses_statepoints(module) && functions_of_llvm(module, gc_names).any(|(_, gc)| OF_STATEPOINTS.contains(&gc.as_str()))
}

/// Whether a statepoint names a variable as a root. LLVM's passes would take the name away, as that of no pointer which the
/// statepoint hands on.
pub(crate) fn statepoints_name_variables(module: Module) -> bool {
    let statepoints = module.function(&format!("{STATEPOINT}.p0"));
    let mut calls = statepoints.into_iter().flat_map(|intrinsic| intrinsic.users().filter_map(Value::as_call));
    let is_variable = |value: Value| value.base().is(Opcode::LLVMAlloca);
    calls.any(|call| call.bundle("gc-live").is_some_and(|live| live.into_iter().any(is_variable)))
}

/// Whether the module makes objects of Tally's heap, or names a function that does.
pub(crate) fn allocates(module: Module) -> bool {
    let functions = RUNTIME_SYMBOLS.iter().filter(|symbol| symbol.allocates());
    let mut functions = functions.filter_map(|symbol| module.function(symbol.name));
    functions.any(|function| !function.has_body() && function.users().next().is_some())
}

/// Whether LLVM's strategy `shadow-stack` compiles a function of the module.
pub(crate) fn has_shadow_stack(module: Module, gc_names: &[(String, Plan)]) -> bool {
    functions_of_llvm(module, gc_names).any(|(_, gc)| gc == SHADOW_STACK)
}

/// The functions with a body that Tally leaves to one of LLVM's own strategies, and its name.
fn functions_of_llvm(module: Module, gc_names: &[(String, Plan)]) -> impl Iterator<Item = (Value, String)> {
    module.functions().filter(|function| function.has_body()).filter_map(move |function| {
        let gc = function.gc().filter(|gc| named_strategies::plan_of(gc, module, gc_names).is_none())?;
        plan_of(&gc, module).is_none().then_some((function, gc))
    })
}

/// A function whose roots Tally does not find.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Foreign {
    pub(crate) function: Value,
    strategy: &'static str,
}

/// The place where a module allocates an object of Tally's.
#[derive(Debug, Clone)]
pub(crate) struct Allocation {
    /// The call, or the instruction that takes the function's address, if there is one.
    place: Option<Value>,
    /// The function that is called.
    entry: String,
}

/// The module's first function of such a strategy that has a body.
pub(crate) fn foreign_function(module: Module, gc_names: &[(String, Plan)]) -> Option<Foreign> {
    let are_read = has_statepoints(module, gc_names);
    functions_of_llvm(module, gc_names).find_map(|(function, gc)| {
        let strategy = UNREAD.into_iter().find(|name| *name == gc)?;
        (!are_read || !OF_STATEPOINTS.contains(&strategy)).then_some(Foreign { function, strategy })
    })
}

/// The first place, in the order of the module's functions, where one of Tally's allocation functions is called or
/// named.
pub(crate) fn allocation(module: Module) -> Option<Allocation> {
    let entries: Vec<Value> = module.functions().filter(|function| is_allocator(*function)).collect();
    let of_call = |call: crate::llvm::call::Call| {
        let callee = call.callee();
        entries.contains(&callee).then(|| Allocation { place: Some(call.value()), entry: callee.name() })
    };
    let mut defined = module.functions().filter(|function| function.has_body());
    defined.find_map(|function| function.calls().find_map(of_call)).or_else(|| {
        let named = entries.iter().find_map(|entry| Some((entry, entry.users().next()?)));
        named
            .map(|(entry, user)| Allocation { place: Some(user).filter(|it| it.is_instruction()), entry: entry.name() })
    })
}

fn is_allocator(function: Value) -> bool {
    !function.has_body() && runtime_symbol(&function.name()).is_some_and(|symbol| symbol.allocates())
}

/// Refuses a module with both, at the allocation.
pub(super) fn error(module: Module, name: &str, gc_names: &[(String, Plan)]) -> Option<Diagnostic> {
    let foreign = foreign_function(module, gc_names)?;
    Some(allocation(module)?.refused(name, foreign, ""))
}

impl Allocation {
    /// The finding in the module `name`; `of` names the file of the function with the other strategy, if it is in
    /// another.
    pub(crate) fn refused(&self, name: &str, foreign: Foreign, of: &str) -> Diagnostic {
        let Foreign { function, strategy } = foreign;
        let entry = &self.entry;
        let message = format!(
            "@{entry} allocates on Tally's heap, but Tally cannot read roots of gc \"{strategy}\" in @{}{of}",
            function.name()
        );
        let finding = match self.place {
            Some(place) => Diagnostic::at(name, place, message),
            None => Diagnostic::about_module(name, message),
        };
        finding.help(advice(strategy))
    }
}

impl Foreign {
    /// The finding about this function of the module `name`, in a program of which `other` has a heap of Tally's.
    pub(crate) fn refused(self, name: &str, other: &str) -> Diagnostic {
        let strategy = self.strategy;
        let message = format!("Tally cannot read roots of gc \"{strategy}\", and {other} allocates on Tally's heap");
        let first = self.function.instructions().into_iter().find(|place| place.debug_place().is_some());
        let finding = match first {
            Some(place) => Diagnostic::at(name, place, message),
            None => Diagnostic::about_function(name, self.function, message),
        };
        finding.help(advice(strategy))
    }
}

fn advice(strategy: &str) -> String {
    match COMPILED.contains(&strategy) {
        true => format!("let Tally compile it: --gc-name {strategy}=trace"),
        false => format!(
            "put statepoints in by opt -passes=rewrite-statepoints-for-gc, or give its functions gc \"{STRATEGY}\": \
             --gc-name {strategy}={STRATEGY}"
        ),
    }
}
