//! The C interface: `libtally_llvm.so` and `tally-c/lower.h`, for compilers over LLVM's C API.
//!
//! The header has the contract of each function; this is a layer without opinions over [`tally_llvm`]. Handles are boxes, failures are
//! lists of findings (`diagnostics.rs`), and no panic crosses the border: it becomes a finding, too. The runtime's own entry points are
//! exported with it, so that code of a host's own JIT finds them.
//!
//! A test holds that every function of the headers is exported, and nothing else.

mod building;
mod code;
mod diagnostics;
mod lowering;
mod object_type;
mod options;
mod program;
mod session;

/// Runs when the library is loaded: another LLVM in the process is told before anything is asked of this one.
#[used]
#[unsafe(link_section = ".init_array")]
static TELL: extern "C" fn() = tell;

extern "C" fn tell() {
    tally_llvm::guard::loaded_llvm::tell_if_another("");
}
