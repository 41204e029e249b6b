//! The requirements on all modules of a program when at least one of them has gc functions, or makes objects.
//!
//! The lowering sees one module and leaves one without gc functions alone. In a program that mixes both kinds the
//! lowering would miss these requirements:
//!
//! - `main` must run inside the runtime, so that there is a heap and a bottom to the stack walk.
//!   It becomes a gc function, though it may hold no reference itself.
//! - All modules must be of one plan, because a heap has one.
//! - None may have a strategy whose roots Tally does not find, if any of them makes objects of Tally's heap.
//! - Frames of plain functions may lie between gc frames (a callback). The walk crosses them with
//!   the unwinder, so each needs an unwind table entry, which LLVM leaves out for `nounwind`.

use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::module::Module;
use std::path::{Path, PathBuf};

use crate::analysis::callers;
use crate::diagnostic::Diagnostic;
use crate::lower::Plan;
use crate::pipeline::CompileOptions;
use crate::verify::source;
use crate::{llvm, lower, pipeline};

/// `uwtable(async)`: entries that are right at every instruction.
const ASYNCHRONOUS: u64 = 2;

/// Makes the modules of one program fit together.
pub(crate) fn adopt(modules: &[Module], options: &CompileOptions, traces_llvms: bool) {
    let gc_names = &options.gc_names;
    let is_of_llvm = |module: &Module| {
        let raw = llvm::Module::of(module);
        traces_llvms
            && (source::foreign::has_statepoints(raw, gc_names) || source::foreign::has_shadow_stack(raw, gc_names))
    };
    let is_managed = |module: &Module| {
        let managed = || !source::managed_functions(llvm::Module::of(module), gc_names).is_empty();
        pipeline::is_lowered(module) || managed() || is_of_llvm(module)
    };
    // Where no function has a strategy, objects may be made all the same: zeal says then that nothing holds them.
    if options.beside.is_none() && !has_a_heap(modules, gc_names) && !modules.iter().any(is_of_llvm) {
        return;
    }
    let strategy = strategy_in_use(modules, gc_names).unwrap_or_else(|| {
        let traced = options.beside.is_some() || modules.iter().any(is_of_llvm);
        let plan = if traced { Plan::Trace } else { Plan::default() };
        plan.strategy().to_owned()
    });
    for module in modules {
        if let Some(main) = module.get_function("main")
            && !pipeline::is_lowered(module)
            && main.count_basic_blocks() > 0
            && !callers::has_gc(main)
            && !is_of_llvm(module)
        {
            main.set_gc(&strategy);
        }
        if !is_managed(module) {
            make_unwindable(module);
        }
    }
}

/// Whether a module has something of Tally's, or makes objects of its heap.
pub(crate) fn has_a_heap(modules: &[Module], gc_names: &[(String, Plan)]) -> bool {
    modules.iter().any(|module| {
        let raw = llvm::Module::of(module);
        pipeline::is_lowered(module)
            || !source::managed_functions(raw, gc_names).is_empty()
            || source::foreign::allocates(raw)
    })
}

/// A heap has one plan, and so has a program. Returns it, if a module asks for one, or a finding about the first module of another plan than those before.
pub(crate) fn one_plan(
    modules: &[Module],
    files: &[PathBuf],
    gc_names: &[(String, Plan)],
) -> Result<Option<Plan>, Diagnostic> {
    let mut first: Option<(Plan, String)> = None;
    for (module, file) in modules.iter().zip(files) {
        let raw = llvm::Module::of(module);
        let managed = source::managed_functions(raw, gc_names);
        let of_source = managed.first().map(|&function| source::plan_of(function, gc_names));
        let of_statepoints = || source::foreign::has_statepoints(raw, gc_names).then_some(Plan::Trace);
        let Some(plan) = lower::plan_of_lowered(raw).or(of_source).or_else(of_statepoints) else { continue };
        let name = file.to_string_lossy();
        let Some((other, described)) = &first else {
            let function = managed.first().map_or_else(String::new, |function| format!("@{} of ", function.name()));
            first = Some((plan, format!("{function}{name}")));
            continue;
        };
        if !other.may_meet(plan) {
            let message =
                format!("gc \"{}\" is asked for here, and gc \"{}\" by {described}", plan.strategy(), other.strategy());
            let finding = match managed.first() {
                Some(&function) => Diagnostic::about_function(&name, function, message),
                None => Diagnostic::about_module(&name, message),
            };
            return Err(
                finding.help("a heap has one plan: give all functions of the program the same, or choose by --plan")
            );
        }
    }
    let Some((plan, described)) = first else { return Ok(None) };
    match plan {
        Plan::Deferred | Plan::Trace => {}
        Plan::Prompt => nothing_uncounted(modules, files, gc_names, &described)?,
    }
    Ok(Some(plan))
}

/// Returns the plan of a program that is linked with an object whose roots nothing counts, or a finding if its modules
/// ask for another.
pub(crate) fn plan_beside(object: Option<&Path>, plan: Option<Plan>) -> Result<Option<Plan>, Diagnostic> {
    let Some(object) = object else { return Ok(plan) };
    match plan.filter(|plan| plan.has_barrier()) {
        None => Ok(Some(Plan::Trace)),
        Some(other) => {
            let message = format!(
                "nothing counts the references of this object, whose roots LLVM describes, and gc \"{}\" of the program \
                 counts",
                other.strategy()
            );
            let finding = Diagnostic::about_module(&object.to_string_lossy(), message);
            Err(finding.help("compile the program by --plan trace"))
        }
    }
}

/// A finding about the first function whose strategy's roots Tally does not find, if another module has objects of
/// Tally's heap.
pub(crate) fn no_roots_unread(
    modules: &[Module],
    files: &[PathBuf],
    gc_names: &[(String, Plan)],
) -> Result<(), Diagnostic> {
    let names = || files.iter().map(|file| file.to_string_lossy());
    let raw = || modules.iter().map(llvm::Module::of);
    let mut all = raw().zip(names());
    let foreign = all.find_map(|(module, name)| Some((source::foreign::foreign_function(module, gc_names)?, name)));
    let Some((foreign, foreign_name)) = foreign else { return Ok(()) };
    for (module, name) in raw().zip(names()) {
        if let Some(allocation) = source::foreign::allocation(module) {
            let of = if name == foreign_name { String::new() } else { format!(" of {foreign_name}") };
            return Err(allocation.refused(&name, foreign, &of));
        }
        if module.has_flag(lower::LOWERED_FLAG) || !source::managed_functions(module, gc_names).is_empty() {
            return Err(foreign.refused(&foreign_name, &name));
        }
    }
    Ok(())
}

/// Collections find roots of LLVM's shadow stack, but no code counts them: under the prompt plan their objects would
/// die.
fn nothing_uncounted(
    modules: &[Module],
    files: &[PathBuf],
    gc_names: &[(String, Plan)],
    counted: &str,
) -> Result<(), Diagnostic> {
    for (module, file) in modules.iter().zip(files) {
        let is_uncounted = |function: &llvm::Value| {
            let is_shadowed = function.has_body() && function.gc().as_deref() == Some("shadow-stack");
            is_shadowed && !source::is_managed(*function, gc_names)
        };
        if let Some(function) = llvm::Module::of(module).functions().find(is_uncounted) {
            let name = file.to_string_lossy();
            let message = format!(
                "gc \"shadow-stack\" does not count what its roots hold, and gc \"refcount-prompt\" of {counted} does"
            );
            let finding = Diagnostic::about_function(&name, function, message);
            return Err(finding.help("give it the same strategy, or compile all by --plan refcount"));
        }
    }
    Ok(())
}

/// The strategy that the program's gc functions have.
fn strategy_in_use(modules: &[Module], gc_names: &[(String, Plan)]) -> Option<String> {
    let of_source = modules.iter().filter(|module| !pipeline::is_lowered(module)).find_map(|module| {
        source::managed_functions(llvm::Module::of(module), gc_names).first().and_then(|function| function.gc())
    });
    let of_lowered = || modules.iter().find_map(|module| lower::plan_of_lowered(llvm::Module::of(module)));
    of_source.or_else(|| Some(of_lowered()?.strategy().to_owned()))
}

/// Makes a module fit into a process in which other modules have gc functions.
pub(crate) fn adopt_into_host(module: &Module, gc_names: &[(String, Plan)]) {
    let is_managed =
        pipeline::is_lowered(module) || !source::managed_functions(llvm::Module::of(module), gc_names).is_empty();
    if !is_managed {
        make_unwindable(module);
    }
}

fn make_unwindable(module: &Module) {
    let kind = Attribute::get_named_enum_kind_id("uwtable");
    let attribute = module.get_context().create_enum_attribute(kind, ASYNCHRONOUS);
    for function in module.get_functions().filter(|function| function.count_basic_blocks() > 0) {
        function.add_attribute(AttributeLoc::Function, attribute);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;

    const GC: &str = "define void @f() gc \"refcount\" {\n  ret void\n}\n";
    const PLAIN: &str = "define i32 @main() nounwind {\n  ret i32 0\n}\n";
    const LIBRARY: &str = "define void @g() nounwind {\n  ret void\n}\n";

    fn adopted(texts: &[&str]) -> Vec<String> {
        let context = Context::create();
        let modules: Vec<Module> = texts
            .iter()
            .map(|text| {
                let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "m.ll");
                context.create_module_from_ir(buffer).unwrap()
            })
            .collect();
        adopt(&modules, &CompileOptions::default(), false);
        modules.iter().map(|module| module.print_to_string().to_string()).collect()
    }

    #[test]
    fn main_is_managed_and_plain_frames_can_be_unwound_beside_gc_functions() {
        let texts = adopted(&[GC, PLAIN, LIBRARY]);
        assert!(texts[1].contains("gc \"refcount\""), "{}", texts[1]);
        assert!(texts[2].contains("uwtable"), "{}", texts[2]);
        assert!(!texts[0].contains("uwtable"), "the lowering sees to it: {}", texts[0]);
    }

    #[test]
    fn a_program_without_gc_functions_is_left_alone() {
        for text in adopted(&[PLAIN, LIBRARY]) {
            assert!(!text.contains("gc \"") && !text.contains("uwtable"), "{text}");
        }
    }
}
