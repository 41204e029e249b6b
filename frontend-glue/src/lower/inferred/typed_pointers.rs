//! Typed references meet what knows only plain pointers: intrinsics, Tally's functions, and stores into objects.
//!
//! A module may declare Tally's functions and LLVM's `gcwrite` over `ptr addrspace(1)`, as it has its references; each such call goes
//! to the function as the runtime has it, with casts, which are no instructions on this machine. A plain store of a typed
//! reference into an object or a global becomes a write through the barrier.

use super::bases::Bases;
use super::references::is_typed;
use crate::analysis::callee::{runtime_symbol, signature};
use crate::analysis::flow::Flow;
use crate::llvm::call::Call;
use crate::llvm::{Builder, Opcode, Type, Value};
use crate::verify::source::writes;

/// Lets calls of Tally's functions over typed references call them as they are.
pub(super) fn adapt_declarations(builder: &Builder) {
    let module = builder.module();
    let declared: Vec<Value> = module.functions().filter(|function| !function.has_body()).collect();
    for function in declared {
        let name = function.name();
        let Some(symbol) = runtime_symbol(&name) else { continue };
        let (of, wanted) = (function.value_type(), signature(module, symbol.signature));
        if of == wanted || !differs_in_space(of, wanted) {
            continue;
        }
        let calls: Vec<Call> = function.calls_of_it().collect();
        function.set_name("");
        let plain = module.add_function(&name, wanted);
        for call in calls {
            redirect(builder, call, plain, wanted);
        }
        if function.users().next().is_none() {
            module.delete_function(function);
        } else {
            function.set_name(&name);
        }
    }
}

/// Whether two signatures are the same but for address spaces of pointers.
fn differs_in_space(of: Type, wanted: Type) -> bool {
    let parts = |of: Type| of.parameters().into_iter().chain([of.return_type()]).collect::<Vec<_>>();
    let (first, second) = (parts(of), parts(wanted));
    let is_same = |(first, second): (&Type, &Type)| first == second || is_typed(*first) && second.is_plain_pointer();
    of.is_variadic() == wanted.is_variadic() && first.len() == second.len() && first.iter().zip(&second).all(is_same)
}

fn redirect(builder: &Builder, call: Call, plain: Value, of: Type) {
    // Tally's functions never unwind.
    let call = call.make_call(builder);
    builder.before(call.value());
    let cast = |(value, wanted): (Value, Type)| match value.type_of() == wanted {
        true => value,
        false => builder.cast(Opcode::LLVMAddrSpaceCast, value, wanted),
    };
    let arguments: Vec<Value> = call.arguments().into_iter().zip(of.parameters()).map(cast).collect();
    call.replace_by_call_of(builder, of, plain, &arguments);
}

/// Turns plain stores of typed references into globals into writes, which make the globals roots, and those into objects where the
/// plan has a barrier.
pub(super) fn write_through_barrier(builder: &Builder, bases: &Bases, flow: &Flow, has_barrier: bool) {
    let module = builder.module();
    let stores = flow.blocks[..flow.reachable].iter().flat_map(|block| block.instructions());
    let stores: Vec<Value> =
        stores.filter(|it| it.is(Opcode::LLVMStore) && is_typed(it.operand(0).type_of())).collect();
    let plain = |value: Value| match value.type_of().is_plain_pointer() {
        true => value,
        false => builder.cast(Opcode::LLVMAddrSpaceCast, value, module.pointer()),
    };
    for store in stores {
        let (value, slot) = (store.operand(0), store.operand(1));
        let object = match bases.of(slot) {
            Some(number) if is_typed(slot.type_of()) && has_barrier => bases.all[number],
            Some(_) if is_typed(slot.type_of()) => continue,
            // What may be a global, and is not seen to be one, is refused as the target of a write is.
            _ if writes::may_be_global(slot) => slot,
            // A variable, or memory that is none of Tally's.
            _ => continue,
        };
        builder.before(store);
        let gcwrite = module.intrinsic("llvm.gcwrite", &[]);
        builder.call(gcwrite.value_type(), gcwrite, &[plain(value), plain(object), plain(slot)]);
        store.erase();
    }
}
