//! What runs in programs of others ends as documented, also where standard error cannot be written: `eprint!` panics there.

use crate::code;
use crate::style::{complain, rust_files};

/// The crates whose code runs in programs, compilers and the `tally` command.
const CRATES: [&str; 9] = [
    "aot-runtime/",
    "c-api/",
    "compiled-code/",
    "cycle-detector/",
    "frontend-glue/",
    "heap-picture/",
    "pass-plugin/",
    "rc-runtime/",
    "tally/",
];

#[test]
fn programs_do_not_panic_where_standard_error_is_full() {
    let is_ours = |path: &str| CRATES.iter().any(|folder| path.starts_with(&format!("{folder}src/")));
    let files: Vec<_> = rust_files().into_iter().filter(|file| is_ours(&file.path)).collect();
    assert!(files.len() > 500, "{} files", files.len());
    let complaints = files.iter().flat_map(|file| {
        let code = code::of(&file.text);
        let named: Vec<_> = ["eprint!", "eprintln!", "dbg!"].into_iter().filter(|name| code.contains(name)).collect();
        named.into_iter().map(|name| format!("{}: `{name}` panics; `tally_heap::tell!` does not", file.path))
    });
    complain(&complaints.collect::<Vec<_>>());
}
