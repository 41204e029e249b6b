//! The functions of a module that call a given function.
//!
//! They are found from the callee's uses, so the cost is proportional to the number found. The module must only have
//! parsed: LLVM's verifier need not have checked it.

use inkwell::llvm_sys::core::{
    LLVMGetBasicBlockParent, LLVMGetFirstUse, LLVMGetGC, LLVMGetInstructionParent, LLVMGetNextUse, LLVMGetUser,
    LLVMIsAInstruction,
};
use inkwell::module::Module;
use inkwell::values::{AsValueRef, FunctionValue};

/// The functions with an instruction that uses the function `name`; one may appear several times.
pub fn of_name<'ctx>(module: &Module<'ctx>, name: &str) -> Vec<FunctionValue<'ctx>> {
    module.get_function(name).map(of).unwrap_or_default()
}

/// The functions with an instruction that uses `callee`; one may appear several times.
pub fn of(callee: FunctionValue<'_>) -> Vec<FunctionValue<'_>> {
    let mut callers = Vec::new();
    // SAFETY: the module is alive and is not changed while its uses are followed.
    let mut reference = unsafe { LLVMGetFirstUse(callee.as_value_ref()) };
    while !reference.is_null() {
        // SAFETY: as above.
        let user = unsafe { LLVMGetUser(reference) };
        // SAFETY: a live value. One that is no instruction (a constant) is in no function.
        let instruction = unsafe { LLVMIsAInstruction(user) };
        if !instruction.is_null() {
            // SAFETY: an instruction of a module is in a block.
            let block = unsafe { LLVMGetInstructionParent(instruction) };
            // SAFETY: which is in a function.
            let function = unsafe { LLVMGetBasicBlockParent(block) };
            // SAFETY: a live function.
            callers.extend(unsafe { FunctionValue::new(function) });
        }
        // SAFETY: as above.
        reference = unsafe { LLVMGetNextUse(reference) };
    }
    callers
}

/// Whether a function has a gc strategy.
pub(crate) fn has_gc(function: FunctionValue) -> bool {
    // `FunctionValue::get_gc` reads a null where there is none.
    // SAFETY: the function is alive; null is LLVM's answer for a function without gc.
    !unsafe { LLVMGetGC(function.as_value_ref()) }.is_null()
}
