//! Makes executables of zeal code run in zeal, without a variable in the environment.
//!
//! The checks that the zeal lowering puts into the code mean nothing unless the runtime poisons and keeps dead
//! objects. `tally run --zeal` sets that option; an executable has only its environment. So `tally build --zeal` adds
//! a constructor that sets `TALLY_ZEAL=1`, as a shell would, unless the variable is set already.

use inkwell::AddressSpace;
use inkwell::attributes::AttributeLoc;
use inkwell::module::{Linkage, Module};
use inkwell::values::FunctionValue;

use crate::analysis::callee::LEAF;
use crate::emit::appending::append_to_first;

/// Runs with the module's registration, before any code of the program: constructors of priority 1 may make heaps.
const SECTION: &str = ".init_array.0";

const SETTER: &str = "tally.zeal.default";

/// Adds the constructor to a module of an executable that is not optimised any more.
pub(crate) fn add(module: &Module) {
    let function = setter(module);
    let entry = module.add_global(function.as_global_value().as_pointer_value().get_type(), None, "tally.constructor");
    entry.set_linkage(Linkage::Internal);
    entry.set_initializer(&function.as_global_value().as_pointer_value());
    entry.set_section(Some(SECTION));
}

/// Adds it to a module that other tools will optimise, and place by its list of constructors.
pub(crate) fn add_to_list(module: &Module) {
    let raw = crate::llvm::Module::of(module);
    setter(module);
    let function = raw.function(SETTER).expect("just made");
    append_to_first(raw, "llvm.global_ctors", function);
}

/// A function that sets the variable.
fn setter<'ctx>(module: &Module<'ctx>) -> FunctionValue<'ctx> {
    let context = module.get_context();
    let pointer = context.ptr_type(AddressSpace::default());
    let int = context.i32_type();
    let setenv = module.get_function("setenv").unwrap_or_else(|| {
        module.add_function("setenv", int.fn_type(&[pointer.into(), pointer.into(), int.into()], false), None)
    });
    let text = |value: &str| {
        let bytes = context.const_string(value.as_bytes(), true);
        let global = module.add_global(bytes.get_type(), None, "tally.zeal.text");
        global.set_linkage(Linkage::Private);
        global.set_constant(true);
        global.set_initializer(&bytes);
        global.as_pointer_value()
    };
    let function = module.add_function(SETTER, context.void_type().fn_type(&[], false), Some(Linkage::Internal));
    let builder = context.create_builder();
    builder.position_at_end(context.append_basic_block(function, ""));
    let arguments = [text("TALLY_ZEAL").into(), text("1").into(), int.const_zero().into()];
    let call = builder.build_call(setenv, &arguments, "").expect("the builder stands in an empty block");
    call.add_attribute(AttributeLoc::Function, context.create_string_attribute(LEAF, ""));
    builder.build_return(None).expect("the builder stands behind the call");
    function
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkwell::context::Context;

    #[test]
    fn the_constructor_sets_the_variable_once() {
        let context = Context::create();
        let module = context.create_module("m");
        add(&module);
        module.verify().unwrap();
        let text = module.print_to_string().to_string();
        assert!(text.contains("call i32 @setenv(ptr @tally.zeal.text, ptr @tally.zeal.text.1, i32 0)"), "{text}");
        assert!(text.contains("c\"TALLY_ZEAL\\00\""), "{text}");
        assert!(text.contains("section \".init_array.0\""), "{text}");
    }
}
