//! Plain functions of files that were not lowered, when a linker optimises them together with files that were.
//!
//! A file without Tally's types is compiled as ever, and its calls carry no bundles. Linked as machine code it is native code,
//! which the walk crosses. But link-time optimisation inlines: the file's calls come into functions with roots, and functions
//! with roots into the file's. So before the linker's first inlining the file's functions get what the lowering gives the plain functions
//! of a module of its own; and a module that only imports code gets a record by which the runtime finds its stack maps.

use super::entry_point::RUN_MAIN;
use super::module_record::{self, ModuleTables};
use super::result_thunk::{self, Thunks};
use super::{Plan, bundle, walkable};
use crate::analysis::callee::Callees;
use crate::llvm::call::{Call, DEOPT};
use crate::llvm::{Builder, HandleSet, Module, Value};

/// Gives the plain functions of a lowered module that carry no bundle what the lowering would have given them. Returns whether the
/// module has changed.
pub(crate) fn join(module: Module, plan: Plan, name: &str) -> bool {
    let builder = Builder::new(module);
    let callees = Callees::of(module);
    let mut thunks = Thunks::new(true);
    let bodies: Vec<Value> = module.functions().filter(|function| function.has_body()).collect();
    let lowered: HandleSet<Value> = bodies.iter().copied().filter(|&function| is_lowered(function)).collect();
    bundle::attach_to_plain(&builder, &callees, &mut thunks, &bodies, &lowered);
    for &function in bodies.iter().filter(|function| !lowered.contains(function)) {
        walkable::prepare(&builder, &callees, function, None);
    }
    let only_imports = !module_record::is_there(module);
    if only_imports {
        ModuleTables::of_imports(plan).emit(&builder, name);
    }
    only_imports || bodies.len() > lowered.len()
}

/// Whether the lowering has seen a function: it has bundles, or is the lowering's own, or LLVM compiles its strategy. What else
/// the lowering has seen has no call that needs a bundle.
fn is_lowered(function: Value) -> bool {
    let is_ours =
        |call: Call| call.bundle(DEOPT).is_some() || (call.callee().is_function() && call.callee().name() == RUN_MAIN);
    function.gc().is_some() || function.name().starts_with(result_thunk::PREFIX) || function.calls().any(is_ours)
}
