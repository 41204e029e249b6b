//! The one static library, `libtally.a`, that programs made by `tally build` link.
//!
//! There is no code here. Two Rust static libraries in one link clash (each brings its own copy of
//! the standard library), so the runtime crates are gathered into this one; naming them is enough
//! to keep their `#[no_mangle]` entry points, whose list is
//! [`tally_compiled::for_each_runtime_symbol!`]. The C view of those entry points is
//! `include/tally.h`; `include/tally_gc.h` is the macro layer for programs in C.

// Names the crate: the linker drops one that nothing names.
extern crate tally_compiled;
