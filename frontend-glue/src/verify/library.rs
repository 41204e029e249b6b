//! Library functions that LLVM's passes call of their own accord: out of loops, and in place of other library calls.
//!
//! `memcmp(…) == 0` becomes `bcmp`, a `printf` of one character `putchar`, a counting loop `strlen`. Such a call has
//! no bundle if the call or loop that it replaces had none, and needs none: none of these functions calls back or
//! allocates from Tally's heap. One that a module defines itself is a function like any other. The names are those of
//! LLVM's BuildLibCalls.cpp.

use crate::llvm::Value;

const ON_MEMORY: [&str; 10] =
    ["bcmp", "memccpy", "memchr", "memcmp", "memcpy", "memmove", "mempcpy", "memrchr", "memset", "__memcpy_chk"];
const ON_STRINGS: [&str; 17] = [
    "stpcpy", "stpncpy", "strcat", "strchr", "strcmp", "strcpy", "strdup", "strlcat", "strlcpy", "strlen", "strncat",
    "strncmp", "strncpy", "strndup", "strnlen", "strrchr", "wcslen",
];
const ON_STREAMS: [&str; 10] =
    ["fputc", "fputs", "fwrite", "putc", "putchar", "puts", "snprintf", "sprintf", "vsnprintf", "vsprintf"];
const ALLOCATING: [&str; 2] = ["calloc", "malloc"];
/// Each also with the suffix `f` or `l`.
const ON_NUMBERS: [&str; 25] = [
    "acos", "asin", "atan", "cbrt", "ceil", "copysign", "cos", "exp", "exp10", "exp2", "fabs", "floor", "fmax", "fmin",
    "ldexp", "log", "log10", "log1p", "log2", "logb", "pow", "sin", "sincos", "sqrt", "tan",
];

/// Whether `callee` is one of them, and not the module's own.
pub(crate) fn may_be_called_bare(callee: Value) -> bool {
    if !callee.is_function() || callee.has_body() {
        return false;
    }
    let name = callee.name();
    let number = name.strip_suffix(['f', 'l']).unwrap_or(&name);
    let exactly = [&ON_MEMORY[..], &ON_STRINGS, &ON_STREAMS, &ALLOCATING, &ON_NUMBERS].concat();
    exactly.contains(&name.as_str()) || ON_NUMBERS.contains(&number)
}
