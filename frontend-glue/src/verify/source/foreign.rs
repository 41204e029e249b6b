//! Strategies of LLVM's own together with Tally's allocator: roots that no collector would visit.
//!
//! LLVM compiles `gc "ocaml"`, `"erlang"`, `"coreclr"` and `"statepoint-example"` to code that describes its roots in maps
//! of its own, which Tally does not read: an object of Tally's heap that such a root holds would be freed. So a module of
//! `"ocaml"` or `"erlang"` that allocates on Tally's heap is compiled by Tally instead, for the trace plan: these strategies
//! mark roots by `llvm.gcroot` and have no barrier. The two others have no `llvm.gcroot`, and are refused beside Tally's
//! allocator; `whole_program.rs` checks the same for a program. Roots of `"shadow-stack"` are found by collections.

use crate::analysis::callee::runtime_symbol;
use crate::diagnostic::Diagnostic;
use crate::llvm::{Module, Value};
use crate::lower::{Plan, STRATEGY};
use tally_compiled::symbols::RUNTIME_SYMBOLS;

/// Strategies of LLVM's own whose roots Tally does not find.
const UNREAD: [&str; 4] = ["ocaml", "erlang", "statepoint-example", "coreclr"];

/// Strategies of LLVM's own whose code Tally compiles for the trace plan where it allocates on Tally's heap.
const COMPILED: [&str; 2] = ["ocaml", "erlang"];

/// The plan by which Tally compiles a function of one of LLVM's own strategies; `None` where it leaves that to LLVM.
pub(super) fn plan_of(strategy: &str, module: Module) -> Option<Plan> {
    let allocates = || {
        let functions = RUNTIME_SYMBOLS.iter().filter(|symbol| symbol.allocates());
        let mut functions = functions.filter_map(|symbol| module.function(symbol.name));
        functions.any(|function| !function.has_body() && function.users().next().is_some())
    };
    (COMPILED.contains(&strategy) && allocates()).then_some(Plan::Trace)
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
    let mut defined = module.functions().filter(|function| function.has_body());
    defined.find_map(|function| {
        let gc = function.gc().filter(|gc| gc_names.iter().all(|(name, _)| name != gc))?;
        if plan_of(&gc, module).is_some() {
            return None;
        }
        let strategy = UNREAD.into_iter().find(|name| *name == gc)?;
        Some(Foreign { function, strategy })
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
        false => format!("give its functions gc \"{STRATEGY}\", or map the name: --gc-name {strategy}={STRATEGY}"),
    }
}
