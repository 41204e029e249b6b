//! Modules of `tally_gc.h`, as a compiler of C leaves them: the names of the header become LLVM's intrinsics.
//!
//! C cannot say `llvm.gcroot` in a way that is harmless where nothing lowers it: the code generator crashes. So the header declares
//! plain functions, whose names are a sentence for the user of a linker, and every file that includes it refers to a variable of such
//! a name:
//!
//! ```text
//!   gcroot, not lowered: compile with -fpass-plugin=libtally_pass.so, or by `tally build`
//! ```
//!
//! The reference also tells that a module is C: its functions have no gc strategy, which C cannot express, and are given one
//! ([`c_frontend::mark_rooting_functions`](crate::load::c_frontend)).

use inkwell::module::Module;

use crate::emit::appending;
use crate::llvm::{self, Value};
use crate::load::c_frontend;

/// What is behind the first word of each of the header's names.
const UNLOWERED: &str = ", not lowered: ";

/// The variable that every file refers to.
const HEADER: &str = "tally_gc.h";

/// The functions, and the intrinsics that they are.
const INTRINSICS: [(&str, &str); 3] =
    [("gcroot", "llvm.gcroot"), ("gcwrite", "llvm.gcwrite"), ("gcread", "llvm.gcread")];

/// Whether a module includes the header, and has not been resolved yet.
pub(crate) fn is_included(module: &Module) -> bool {
    reference_to_header(llvm::Module::of(module)).is_some()
}

/// Makes intrinsics of the header's names, and gives strategies to the functions that need one.
pub(crate) fn resolve(module: &Module) {
    let raw = llvm::Module::of(module);
    let Some(header) = reference_to_header(raw) else { return };
    let referring: Vec<Value> = raw.globals().filter(|global| global.initializer() == Some(header)).collect();
    // Types of words and pairs are marked as used, so that the lowering sees them; afterwards nothing needs them.
    let types = raw.globals().filter(|global| global.name().starts_with("tally_type_"));
    appending::remove_used(raw, &types.chain(referring.iter().copied()).collect::<Vec<_>>());
    referring.into_iter().for_each(|global| raw.delete_global(global));
    if header.users().next().is_none() {
        raw.delete_global(header);
    }
    for function in raw.functions().filter(|function| !function.has_body()).collect::<Vec<_>>() {
        let name = function.name();
        let Some((short, _)) = name.split_once(UNLOWERED) else { continue };
        if let Some((_, intrinsic)) = INTRINSICS.iter().find(|(known, _)| *known == short) {
            function.replace_all_uses(raw.intrinsic(intrinsic, &[]));
            raw.delete_function(function);
        }
    }
    c_frontend::mark_rooting_functions(module);
}

fn reference_to_header(module: llvm::Module) -> Option<Value> {
    module.globals().find(|global| global.name().split_once(UNLOWERED).is_some_and(|(name, _)| name == HEADER))
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;

    #[test]
    fn names_of_the_header_become_intrinsics_and_nothing_of_it_is_left() {
        let text = "@\"tally_gc.h, not lowered: x\" = external constant i8\n@other = internal global i32 0\n\
            @marker = internal constant ptr @\"tally_gc.h, not lowered: x\"\n\
            @llvm.compiler.used = appending global [2 x ptr] [ptr @marker, ptr @other], section \"llvm.metadata\"\n\
            declare void @\"gcroot, not lowered: x\"(ptr, ptr)\n\
            define void @roots() {\n  %r = alloca ptr\n  call void @\"gcroot, not lowered: x\"(ptr %r, ptr null)\n  ret void\n}\n";
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "m.ll");
        let module = context.create_module_from_ir(buffer).unwrap();
        assert!(is_included(&module));
        resolve(&module);
        module.verify().unwrap();
        let printed = module.print_to_string().to_string();
        assert!(!printed.contains("not lowered") && !printed.contains("@marker"), "{printed}");
        assert!(printed.contains("[1 x ptr] [ptr @other]"), "{printed}");
        assert!(printed.contains("define void @roots() gc \"refcount\""), "{printed}");
        assert!(printed.contains("call void @llvm.gcroot(ptr %r, ptr null)"), "{printed}");
        assert!(!is_included(&module));
    }
}
