//! Any bytes as a module, text or bitcode: loaded, inspected, lowered under both plans.
//!
//! `cargo fuzz run module corpus/module ../frontend-glue/tests/lowering`. Crashes inside LLVM's reader of bitcode are
//! LLVM's: the command has a net for them. `frontend-glue/tests/suite/readers/modules.rs` damages the tests of the lowering
//! at random.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tally_kit::checks::module;

fuzz_target!(|bytes: &[u8]| {
    module::check(bytes);
});
