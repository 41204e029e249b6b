//! The places of calls, for reports that say where objects were allocated.
//!
//! Each call that may be a safepoint gets one pair more in its bundle: [`SITE_ID`] and a number, whose line in the module's text has function,
//! file and line (`tally_compiled::module::call_sites` reads it). The inliner concatenates bundles, so the bundle of an inlined call has the places of
//! the calls around it as well: a report names the function that the programmer wrote, and its callers.
//!
//! It is the last thing before the record is written. Code of a module without it is as ever.

use crate::llvm::call::{Call, DEOPT};
use crate::llvm::{Builder, Value};
use crate::lower::count::facts::OWNED;
use crate::lower::entry_point::MANAGED_MAIN;
use crate::lower::named_root::root_id;
use stack_roots::SITE_ID;
use std::collections::HashSet;
use std::fmt::Write;

/// Begins the names of functions that the lowering has added: reports leave their frames out.
const OWN: &str = "tally.";

/// Numbers the calls of a module, and adds a line for each to `names`.
pub(in crate::lower) fn number(builder: &Builder, identity: &str, names: &mut String) {
    let marker = builder.i64(SITE_ID);
    let defined = || builder.module().functions().filter(|function| function.has_body());
    let all: HashSet<String> = defined().map(|function| function.name()).collect();
    for function in defined() {
        let name = name_in_source(function, |plain| all.contains(plain));
        if name.starts_with(OWN) {
            continue;
        }
        let body = format!("{name}{OWNED}");
        let calls: Vec<Call> =
            function.calls().filter(|call| is_safepoint(*call) && call.callee().name() != body).collect();
        for (index, call) in calls.into_iter().enumerate() {
            let number = root_id(identity, &name, "call", index);
            write_line(names, number, &name, call.value());
            call.rebuild(builder, &[marker, builder.i64(number)]);
        }
    }
}

/// The name that the programmer gave the function.
pub(in crate::lower) fn name_in_source(function: Value, is_defined: impl Fn(&str) -> bool) -> String {
    let name = function.name();
    if name == MANAGED_MAIN {
        return "main".to_owned();
    }
    match name.strip_suffix(OWNED).filter(|plain| function.is_internal() && is_defined(plain)) {
        Some(plain) => plain.to_owned(),
        None => name,
    }
}

/// The lowering has given it a bundle.
fn is_safepoint(call: Call) -> bool {
    call.has_bundles() && call.callee().intrinsic_id() == 0 && call.bundle(DEOPT).is_some()
}

fn write_line(names: &mut String, number: u64, function: &str, call: Value) {
    let (line, file) = call.debug_place().map_or((0, String::new()), |place| (place.line, place.file));
    // A name with a tab or the end of a line in it would be read as two.
    let word = |text: &str| text.replace(['\t', '\n'], " ");
    _ = writeln!(names, "!{number}\t{line}\t{}\t{}", word(function), word(&file));
}
