//! Makes a failing program short: delta debugging over its ops, then smaller numbers.
//!
//! proptest shrinks what its own strategies produced, one element at a time. Programs also come from a soak run or
//! from a file, fail by crashing, and are thousands of ops long; this shrinker takes any list of ops and any test of
//! it (which may run a child process), drops ever smaller pieces, then halves counts and lengths. (Zeller &
//! Hildebrandt, "Simplifying and isolating failure-inducing input", 2002, without the complement step.)

use crate::op::{Op, Service};

/// The shortest program found for which `fails` still holds; it must hold for `ops`.
pub fn shrink(ops: &[Op], mut fails: impl FnMut(&[Op]) -> bool) -> Vec<Op> {
    let mut best = ops.to_vec();
    loop {
        let size_before = weight(&best);
        best = drop_pieces(best, &mut fails);
        best = lower_numbers(best, &mut fails);
        if weight(&best) >= size_before {
            return best;
        }
    }
}

fn drop_pieces(mut best: Vec<Op>, fails: &mut impl FnMut(&[Op]) -> bool) -> Vec<Op> {
    let mut piece = best.len().div_ceil(2).max(1);
    loop {
        let mut start = 0;
        while start < best.len() {
            let end = (start + piece).min(best.len());
            let candidate: Vec<Op> = best[..start].iter().chain(&best[end..]).copied().collect();
            if fails(&candidate) {
                best = candidate;
            } else {
                start = end;
            }
        }
        if piece == 1 {
            return best;
        }
        piece = piece.div_ceil(2).max(1);
    }
}

fn lower_numbers(mut best: Vec<Op>, fails: &mut impl FnMut(&[Op]) -> bool) -> Vec<Op> {
    for index in 0..best.len() {
        for number in 0..numbers(&mut best[index].clone()).len() {
            let mut low = 0;
            loop {
                let mut op = best[index];
                let current = *numbers(&mut op)[number];
                if low >= current {
                    break;
                }
                let try_with = low + (current - low) / 2;
                *numbers(&mut op)[number] = try_with;
                let mut candidate = best.clone();
                candidate[index] = op;
                if fails(&candidate) {
                    best = candidate;
                } else {
                    low = try_with + 1;
                }
            }
        }
    }
    best
}

/// The counts and lengths of an op, which may be lowered.
fn numbers(op: &mut Op) -> Vec<&mut u32> {
    match op {
        Op::Allocate { length, .. } => vec![length],
        Op::AllocateInto { length, place, .. } => vec![length, &mut place.slot],
        Op::Garbage { length, count, .. } => vec![length, count],
        Op::Resize { place, length } => vec![&mut place.slot, length],
        Op::Load { place, .. } | Op::Write { place, .. } => vec![&mut place.slot],
        Op::Swap { a, b } => vec![&mut a.slot, &mut b.slot],
        Op::Copy { to, from, count } => vec![&mut to.slot, &mut from.slot, count],
        Op::Fill { place, count, .. } | Op::Toggle { place, count, .. } => vec![&mut place.slot, count],
        Op::Ring { count, .. } | Op::List { count, .. } | Op::Hub { count, .. } => vec![count],
        Op::Scribble { data, .. } => vec![data],
        Op::Step { units } => vec![units],
        Op::Service(
            Service::WeakWrite { place, .. } | Service::Upgrade { place, .. } | Service::OpenWrite { place, .. },
        ) => vec![&mut place.slot],
        Op::Service(Service::Raise { count, .. }) => vec![count],
        Op::Service(Service::Fail { number }) => vec![number],
        Op::Stack(stack) => stack.numbers(),
        _ => Vec::new(),
    }
}

fn weight(ops: &[Op]) -> (usize, u64) {
    let numbers_sum =
        ops.iter().flat_map(|op| numbers(&mut op.clone()).into_iter().map(|n| u64::from(*n)).collect::<Vec<_>>());
    (ops.len(), numbers_sum.sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{Value, parse_program, program_text};

    #[test]
    fn only_the_ops_that_matter_are_left_with_the_smallest_numbers() {
        let mut ops = vec![Op::Poll; 50];
        ops.extend(parse_program("ring pair x 300 r1\nepoch\nwrite r1.40 = null\ncollect\n").unwrap());
        ops.extend(vec![Op::Flip; 50]);
        let fails = |ops: &[Op]| {
            let ring = ops.iter().position(|op| matches!(op, Op::Ring { count, .. } if *count >= 17));
            let write = ops.iter().position(|op| matches!(op, Op::Write { value: Value::Null, .. }));
            matches!((ring, write), (Some(ring), Some(write)) if ring < write)
        };
        assert_eq!(program_text(&shrink(&ops, fails)), "ring pair x 17 r1\nwrite r1.0 = null\n");
    }
}
