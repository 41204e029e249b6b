//! Whether the `target datalayout` of a module can be replaced by the one of its target (LLVM's *Language Reference*, "Data
//! Layout").
//!
//! LLVM's code generator does that with every module. What a layout leaves open is the target's business, so a frontend may
//! name a part, the layout of an older LLVM, or *non-integral* address spaces, as LLVM asks of collected pointers. What it
//! says otherwise than the target is not: offsets that the frontend has computed would be wrong.

/// What LLVM assumes where a layout says nothing, as far as a target may differ from it.
const DEFAULTS: [&str; 13] = [
    "p:64:64:64:64",
    "i1:8",
    "i8:8",
    "i16:16",
    "i32:32",
    "f16:16",
    "f32:32",
    "f64:64",
    "f128:128",
    "v64:64",
    "v128:128",
    "a:0",
    "A0",
];

/// The first part of `found` that contradicts the target's layout; `is_used` says whether the module has pointers of an
/// address space.
pub(super) fn conflict<'a>(found: &'a str, target: &str, is_used: impl Fn(u32) -> bool) -> Option<&'a str> {
    found.split('-').filter(|part| !part.is_empty()).find(|part| !agrees(&Part::of(part), target, &is_used))
}

fn agrees(part: &Part, target: &str, is_used: impl Fn(u32) -> bool) -> bool {
    // Non-integral address spaces, and the widths of registers: for passes, not for memory.
    if matches!(part.kind, "ni" | "n") {
        return true;
    }
    let of_target = target.split('-').map(Part::of).find(|it| it.kind == part.kind && it.of == part.of);
    let default = DEFAULTS.into_iter().map(Part::of).find(|it| it.kind == part.kind && it.of == part.of);
    match of_target.or(default) {
        Some(other) => part.says_the_same(&other),
        None if part.kind == "p" => {
            let pointers = Part::of(DEFAULTS[0]);
            part.says_the_same(&pointers) || part.of.parse().is_ok_and(|space| !is_used(space))
        }
        // Program and globals in address space 0.
        None => matches!((part.kind, part.of), ("P" | "G", "0")),
    }
}

/// `i64:32:64` has the kind `i`, is of `64`, and says `32`, `64`; `p` is of nothing.
struct Part<'a> {
    kind: &'a str,
    of: &'a str,
    says: Vec<&'a str>,
}

impl<'a> Part<'a> {
    fn of(text: &'a str) -> Part<'a> {
        let (name, says) = text.split_once(':').unwrap_or((text, ""));
        let digits = name.find(|letter: char| letter.is_ascii_digit()).unwrap_or(name.len());
        let (kind, of) = name.split_at(digits);
        // Of pointers and aggregates there are those of number 0.
        let of = if matches!(kind, "p" | "a") { of.trim_start_matches('0') } else { of };
        match kind {
            // Byte order: one kind that says either.
            "e" | "E" => Part { kind: "e", of, says: vec![kind] },
            _ => Part { kind, of, says: says.split(':').collect() },
        }
    }

    /// Whether both give the same layout in memory: preferred alignments are for variables that nobody else sees.
    fn says_the_same(&self, other: &Part) -> bool {
        let (says, others) = (&self.says, &other.says);
        match self.kind {
            // Size and alignment; the size of indices is the pointer's if it is not said.
            "p" => {
                let index = |says: &[&str]| says.get(3).or(says.first()).map(|it| (*it).to_owned());
                says.get(..2) == others.get(..2) && index(says) == index(others)
            }
            _ => says.first() == others.first(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: &str = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128";

    #[test]
    fn layouts_that_leave_something_open_are_taken() {
        for taken in [
            "",
            TARGET,
            "e",
            "e-ni:1:6",
            "e-i64:64-f80:128-n8:16:32:64-S128",
            "e-m:e-i64:64-f80:128-n8:16:32:64-S128-ni:1",
            "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-f80:128-n8:16:32:64-S128-ni:1-p2:32:8:8:32-ni:2",
            "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v64:64:64-v128:128:128-a0:0:64-f80:128:128-n8:16:32:64",
            "e-p1:64:64-P0-G0-A0",
        ] {
            assert_eq!(conflict(taken, TARGET, |_| false), None, "{taken}");
        }
    }

    #[test]
    fn layouts_that_contradict_the_target_are_not() {
        for (refused, part) in [
            ("E-i64:64", "E"),
            ("e-m:o-i64:64-f80:128-n8:16:32:64-S128", "m:o"),
            ("e-p:32:32", "p:32:32"),
            ("e-p0:32:32-i64:64", "p0:32:32"),
            ("e-p:64:64:64:32", "p:64:64:64:32"),
            ("e-p1:32:32", "p1:32:32"),
            ("e-i64:32:64", "i64:32:64"),
            ("e-f64:32:64", "f64:32:64"),
            ("e-f80:32", "f80:32"),
            ("e-v128:64", "v128:64"),
            ("e-a:64", "a:64"),
            ("e-i128:64", "i128:64"),
            ("e-i24:8", "i24:8"),
            ("e-S64", "S64"),
            ("e-A5", "A5"),
            ("e-G1", "G1"),
            ("e-Fi8", "Fi8"),
        ] {
            assert_eq!(conflict(refused, TARGET, |_| true), Some(part), "{refused}");
        }
    }
}
