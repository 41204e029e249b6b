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
const LIBRARY: [&str; 58] = [
    "basename",
    "__xpg_basename",
    "dirname",
    "fgets",
    "fgetws",
    "getcwd",
    "index",
    "memccpy",
    "memchr",
    "memcpy",
    "memmem",
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
    "strstr",
    "strcasestr",
    "strtok",
    "strtok_r",
    "wcscat",
    "wcschr",
    "wcscpy",
    "wcsncat",
    "wcsncpy",
    "wcspbrk",
    "wcsrchr",
    "wcsstr",
    "wcstok",
    "wmemchr",
    "wmemcpy",
    "wmemmove",
    "wmemset",
    "wcpcpy",
    "wcpncpy",
    "__fgets_chk",
    "__getcwd_chk",
    "__memcpy_chk",
    "__memmove_chk",
    "__mempcpy_chk",
    "__memset_chk",
    "__stpcpy_chk",
    "__stpncpy_chk",
    "__strcat_chk",
    "__strcpy_chk",
    "__strncat_chk",
    "__strncpy_chk",
];

/// The same of another argument than the first.
const OF_ANOTHER: [(&str, u32); 5] =
    [("asctime_r", 1), ("bsearch", 1), ("ctime_r", 1), ("inet_ntop", 2), ("strerror_r", 1)];

/// Functions of C that store a place in the object of their first argument to the variable that their second one names.
const STORING: [&str; 26] = [
    "__isoc23_strtoimax",
    "__isoc23_strtol",
    "__isoc23_strtoll",
    "__isoc23_strtoul",
    "__isoc23_strtoull",
    "__isoc23_strtoumax",
    "__isoc23_wcstol",
    "__isoc23_wcstoll",
    "__isoc23_wcstoul",
    "__isoc23_wcstoull",
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
    "wcstof",
    "wcstol",
    "wcstold",
    "wcstoll",
    "wcstoul",
    "wcstoull",
];

/// What clang adds to the name of a function of the library to which a header gives a body (`_FORTIFY_SOURCE`).
const INLINE: &str = ".inline";

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
        if !callee.is_function() || is_the_programs(callee) || call.value().type_of().is_void() {
            return call.returned_argument(self.returned);
        }
        let own = callee.name();
        // As clang names the bodies that headers give them.
        let name = own.strip_suffix(INLINE).unwrap_or(&own);
        let is_known = || INTRINSICS.iter().any(|prefix| name.starts_with(prefix)) || LIBRARY.contains(&name);
        let other = OF_ANOTHER.iter().find(|&&(of, _)| of == name).map(|&(_, place)| place);
        let place = other.or_else(|| is_known().then_some(0));
        let known = || place.filter(|&place| place < call.argument_count()).map(|place| call.argument(place));
        call.returned_argument(self.returned).or_else(known)
    }
}

/// Whether the module says what the function does, which is not the C library's: a header may give that an inline body.
fn is_the_programs(callee: Value) -> bool {
    callee.has_body() && !callee.is_available_externally() && !callee.name().ends_with(INLINE)
}
