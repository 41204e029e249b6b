//! Writes to global variables: which of their slots become global roots.
//!
//! A global root is registered when the module loads and read at every epoch, whether or not the program ever writes there.
//! So its address must be a constant, in a variable that is written to and that all threads share. `verify::source` refuses a
//! program that writes to another place of a global. The lowering asks again: mem2reg may have found the global behind a
//! local variable, and in code that never runs anything may be written anywhere. Such a write is lowered as one to an object.

use super::module_record::base_global;
use crate::llvm::call::Call;
use crate::llvm::{Module, Value};

/// The slot of a global root that `write` goes to, if it goes to one.
pub(super) fn written_by(write: Call) -> Option<Value> {
    let (object, slot) = (write.argument(1), write.argument(2));
    let global = base_global(object)?;
    fault(write.value().function().module(), global, slot).is_none().then_some(slot)
}

/// Why `slot` cannot be a global root, as the rest of a sentence that begins with the write, and what to do.
pub(crate) fn fault(module: Module, global: Value, slot: Value) -> Option<(String, &'static str)> {
    if let Some(fault) = fault_of_variable(global) {
        return Some(fault);
    }
    let Some(holder) = Some(slot).filter(|slot| slot.is_constant()).and_then(base_global) else {
        let help = "global roots are registered when the module loads: write to a constant address, or put the table \
                    into an object on the heap";
        return Some(("to a global at a slot that is not constant".into(), help));
    };
    fault_of_variable(holder).or_else(|| {
        let offset = misplaced(module, holder, slot)?;
        Some((format!("to @{} at offset {offset}", holder.name()), "write to an aligned word inside the variable"))
    })
}

fn fault_of_variable(global: Value) -> Option<(String, &'static str)> {
    if global.is_thread_local() {
        let help = "keep the reference in a root, or in an object that one global names";
        return Some((format!("to the thread-local variable @{}", global.name()), help));
    }
    let help = "make the variable a `global` to write to it";
    global.is_constant_variable().then(|| (format!("to the constant @{}", global.name()), help))
}

/// The offset of a constant slot in its variable, if no aligned word of that variable is there.
fn misplaced(module: Module, holder: Value, slot: Value) -> Option<i64> {
    holder.initializer()?;
    let offset = slot.constant_offset(module)?;
    let bytes = module.size_of(holder.value_type()) as i64;
    (offset % 8 != 0 || offset < 0 || offset + 8 > bytes).then_some(offset)
}
