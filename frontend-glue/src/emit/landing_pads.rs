//! Exceptions that LLVM's code generator loses at a landing pad.
//!
//! ```text
//!   call f                  may throw: the landing pad begins with the exception in rax
//!   rax = r12               for nobody: what has read it is gone
//!                     ──►   pad:  rax = r12      sunk here, since rax is alive
//!                                 rbx = rax      no exception any more
//! ```
//!
//! LLVM 22's `postra-machine-sink` moves a copy into the one successor where its register is alive at the entry. For a landing pad that
//! register has another value, which the unwinder puts there (MachineSink.cpp, `PostRAMachineSinking`). So the pass is switched off in a process
//! that makes code with landing pads. It only moves copies closer to their uses.

use crate::llvm::Module as Ir;
use inkwell::llvm_sys::support::LLVMParseCommandLineOptions;
use inkwell::module::Module;
use std::sync::Once;

/// Switches the pass off, if the module has landing pads: for the process, and for good.
pub fn keep_exceptions(module: &Module) {
    static ONCE: Once = Once::new();
    if Ir::of(module).functions().any(|function| function.has_body() && function.has_personality()) {
        let arguments = [c"tally".as_ptr(), c"-disable-postra-machine-sink".as_ptr()];
        // SAFETY: two C strings, as announced; LLVM accepts an option once, and `Once` ensures that.
        ONCE.call_once(|| unsafe { LLVMParseCommandLineOptions(2, arguments.as_ptr(), std::ptr::null()) });
    }
}
