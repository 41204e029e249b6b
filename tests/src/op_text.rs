//! Runs any text as an op program on the heap and on the model heap, which must agree.
//!
//! The first line names the setup: plan, slices, limits, zeal. Lines that are no ops are skipped, numbers are cut to
//! three digits, so that nearly every mutation by a fuzzer is a program.

use crate::op::Op;
use crate::setup::{Setup, check_in};

/// Ops of a program. A fault of a longer program shows in shorter ones too.
const OPS_MAX: usize = 400;
/// Objects that they allocate; under zeal every allocation is an epoch and a recount.
const ALLOCATIONS_MAX: u64 = 6000;
const ZEAL_ALLOCATIONS_MAX: u64 = 300;

/// Runs the program; returns the number of its ops.
pub fn check(bytes: &[u8]) -> usize {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines();
    let named = lines.next().and_then(|name| Setup::named(name).ok());
    let setup = named.unwrap_or_else(|| Setup::named("default").expect("there is one"));
    let mut left = if setup.options.zeal { ZEAL_ALLOCATIONS_MAX } else { ALLOCATIONS_MAX };
    let mut ops: Vec<Op> = vec![];
    for op in lines.filter_map(|line| Op::parse(&with_small_numbers(line)).ok()).take(OPS_MAX) {
        if let Some(rest) = left.checked_sub(op.allocations()) {
            left = rest;
            ops.push(op);
        }
    }
    check_in(&setup, &ops);
    ops.len()
}

fn with_small_numbers(line: &str) -> String {
    let mut digits = 0;
    let is_wanted = |letter: &char| {
        digits = if letter.is_ascii_digit() { digits + 1 } else { 0 };
        digits <= 3
    };
    line.chars().filter(is_wanted).collect()
}
