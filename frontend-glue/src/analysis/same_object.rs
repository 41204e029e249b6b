//! Calls whose result lies in the object of an argument: what is known of them without their bodies.
//!
//! Only the address of an object crosses a call, by the rule of inferred roots. These are the exceptions: intrinsics,
//! arguments marked `returned`, and functions of the C library that return, or store, a place in the memory that they were
//! given.

use crate::llvm::Value;
use crate::llvm::call::{AttributeKind, Call};

/// Intrinsics that return their first argument, or a place in the same object.
const INTRINSICS: [&str; 5] = [
    "llvm.ptrmask.",
    "llvm.launder.invariant.group.",
    "llvm.strip.invariant.group.",
    "llvm.ssa.copy.",
    "llvm.experimental.gc.get.pointer.base.",
];

/// Functions of C and POSIX that return a place in the object of their first argument, or null.
const LIBRARY: [&str; 32] = [
    "basename",
    "dirname",
    "fgets",
    "fgetws",
    "index",
    "memccpy",
    "memchr",
    "memcpy",
    "memmove",
    "mempcpy",
    "memrchr",
    "memset",
    "rawmemchr",
    "rindex",
    "stpcpy",
    "stpncpy",
    "strcat",
    "strchr",
    "strchrnul",
    "strcpy",
    "strncat",
    "strncpy",
    "strpbrk",
    "strrchr",
    "strsep",
    "strstr",
    "strcasestr",
    "strtok",
    "strtok_r",
    "wcschr",
    "wcscpy",
    "wmemcpy",
];

/// Functions of C that store a place in the object of their first argument to the variable that their second one names.
const STORING: [&str; 13] = [
    "strtod",
    "strtof",
    "strtoimax",
    "strtol",
    "strtold",
    "strtoll",
    "strtoul",
    "strtoull",
    "strtoumax",
    "wcstod",
    "wcstol",
    "wcstoll",
    "wcstoul",
];

/// Whether a call stores a place in the object of its first argument to `variable`, and does nothing else with that address.
pub(crate) fn stores_place_to(call: Call, variable: Value) -> bool {
    let callee = call.callee();
    let is_one = || callee.is_function() && !callee.has_body() && STORING.contains(&callee.name().as_str());
    let names_it = |index: u32| call.argument(index) == variable;
    let (count, passed) = (call.argument_count(), (0..call.argument_count()).filter(|&index| names_it(index)));
    count >= 2 && passed.eq([1]) && is_one()
}

/// Finds such arguments in one module.
#[derive(Debug)]
pub(crate) struct SameObject {
    returned: AttributeKind,
}

impl SameObject {
    pub(crate) fn new() -> SameObject {
        SameObject { returned: AttributeKind::named("returned") }
    }

    /// The argument in whose object the result of a call lies.
    pub(crate) fn argument(&self, call: Call) -> Option<Value> {
        let callee = call.callee();
        if !callee.is_function() || callee.has_body() || call.value().type_of().is_void() {
            return call.returned_argument(self.returned);
        }
        let name = callee.name();
        let is_known = || INTRINSICS.iter().any(|prefix| name.starts_with(prefix)) || LIBRARY.contains(&name.as_str());
        // `bsearch` looks in its second argument.
        let place = if name == "bsearch" { Some(1) } else { is_known().then_some(0) };
        let known = || place.filter(|&place| place < call.argument_count()).map(|place| call.argument(place));
        call.returned_argument(self.returned).or_else(known)
    }
}
