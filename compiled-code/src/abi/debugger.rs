//! The symbol by which a debugger finds out how to print objects (`tally-gdb.py`).
//!
//! Nothing refers to it: `tally build -g` asks the linker for it, and other programs go without.

use tally_heap::type_registry::debugger_view::{DebuggerView, VIEW};

/// The name of the symbol.
pub const DEBUGGER_VIEW: &str = "tally_debugger";

/// Where a debugger looks.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static tally_debugger: DebuggerView = VIEW;
