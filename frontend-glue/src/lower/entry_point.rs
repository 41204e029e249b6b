//! `main`: the program's entry runs inside the runtime.
//!
//! ```text
//!   define internal … @tally.main(…)                         the program's own main, renamed
//!   define i32 @main(i32 %argc, ptr %argv) {                 made here
//!     %status = call i32 @tally_run_main(ptr @tally.main.adapter, i32 %argc, ptr %argv)
//!     ret i32 %status
//!   }
//! ```
//!
//! `tally_run_main` makes the heap, enters compiled code through a frame that the stack walk knows as the bottom, and
//! does the exit work (leak check, statistics). It calls `i32 (i32, ptr, ptr)`; an adapter is built if the program's
//! main has another of the forms that C allows. The new main is no managed function and its call carries no bundle.

use super::runtime::declare;
use crate::llvm::{Builder, Opcode, Type, Value, Visibility};

/// The new name of the program's own main.
pub(super) const MANAGED_MAIN: &str = "tally.main";

/// Whether a main of this type can be adapted.
pub(crate) fn is_known_form(of: Type) -> bool {
    let result = of.return_type();
    let parameters = of.parameters();
    (result.is_void() || result.integer_bits().is_some_and(|bits| bits <= 64))
        && !of.is_variadic()
        && parameters.len() <= 3
        && parameters.iter().enumerate().all(|(index, parameter)| match index {
            0 => parameter.integer_bits() == Some(32),
            _ => parameter.is_pointer(),
        })
}

/// The function of the runtime below which the program runs.
pub(crate) const RUN_MAIN: &str = "tally_run_main";

/// Puts a new `main` in front of the program's. Returns the adapter, if one was needed: a function like any other,
/// whose call still lacks its bundle.
pub(super) fn wrap(builder: &Builder, main: Value) -> Option<Value> {
    let module = builder.module();
    let (i32_type, pointer) = (module.integer(32), module.pointer());
    main.set_name(MANAGED_MAIN);
    main.set_visibility(Visibility::Internal);
    let entry_type = Type::function(i32_type, &[i32_type, pointer, pointer], false);
    let fits = main.value_type() == entry_type && main.function_convention() == 0;
    let adapter = (!fits).then(|| adapter(builder, main, entry_type));
    if adapter.is_some() && !main.has_attribute("alwaysinline") {
        // The adapter has no debug information: inlined into it, main's code would lose its lines.
        main.set_attribute("noinline", 0);
    }
    let entry = adapter.unwrap_or(main);
    let run = declare(module, RUN_MAIN);
    let wrapper = module.add_function("main", Type::function(i32_type, &[i32_type, pointer], false));
    builder.at_end_unlocated(wrapper.append_block(""));
    let arguments = [entry, wrapper.parameter(0), wrapper.parameter(1)];
    let status = builder.call(run.value_type(), run, &arguments);
    builder.return_value(Some(status));
    super::walkable::make_walkable(wrapper, None);
    adapter
}

fn adapter(builder: &Builder, main: Value, entry_type: Type) -> Value {
    let module = builder.module();
    let adapter = module.add_function("tally.main.adapter", entry_type);
    adapter.set_visibility(Visibility::Internal);
    builder.at_end_unlocated(adapter.append_block(""));
    let arguments: Vec<Value> = (0..main.parameter_count()).map(|index| adapter.parameter(index)).collect();
    let result = builder.call(main.value_type(), main, &arguments);
    result.as_call().expect("a call").set_convention(main.function_convention());
    let i32_type = module.integer(32);
    let status = match result.type_of().integer_bits() {
        None => i32_type.constant(0),
        Some(32) => result,
        Some(bits) if bits < 32 => builder.cast(Opcode::LLVMSExt, result, i32_type),
        Some(_) => builder.cast(Opcode::LLVMTrunc, result, i32_type),
    };
    builder.return_value(Some(status));
    adapter
}
