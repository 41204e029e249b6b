//! Any lines as the arguments of `tally`: understood or refused, in words, and nothing is done yet.
//!
//! `cargo fuzz run command_line`; a unit test in `frontend-glue/src/command.rs` runs words of the corpus in random order.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

fuzz_target!(|bytes: &[u8]| {
    let words = bytes.split(|&byte| byte == b'\n').map(|word| OsString::from_vec(word.to_vec()));
    if let Err(error) = tally_llvm::parse_command_line([OsString::from("tally")].into_iter().chain(words)) {
        assert!(!error.to_string().is_empty());
    }
});
