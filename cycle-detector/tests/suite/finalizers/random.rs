//! Random graphs of objects with and without finalizers, while epochs, trials and marks run in slices of any size.
//!
//! What is finalized no root reaches; what is left at the end was reachable or is finalized then; everything exactly
//! once for each time that it was registered; and the heap is sound all along.

use crate::finalizers::{Action, FILE, NODE, ON_REQUEST, OWNER, REVERSE, mutator_with, seen, set, type_of};
use std::collections::HashSet;
use tally_collector::Mutator;
use tally_heap::plan::Plan;
use tally_heap::services::host_roots::RootIndex;
use tally_heap::{HeapOptions, ObjectRef};
use tally_kit::seed;

const SLOTS: usize = 24;

/// xorshift64
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn reachable(m: &Mutator) -> HashSet<ObjectRef> {
    let mut found: HashSet<ObjectRef> = HashSet::new();
    let mut queue: Vec<ObjectRef> = (0..m.root_count()).filter_map(|place| m.root(RootIndex(place))).collect();
    while let Some(object) = queue.pop() {
        if found.insert(object) {
            let fields = [0, 8].map(|offset| object.slot(offset).read()).into_iter().filter(|&word| word != 0);
            // SAFETY: fields of a reachable object.
            queue.extend(fields.map(|word| unsafe { ObjectRef::from_address(word) }));
        }
    }
    found
}

/// It is dead, its fields are whole, and it makes garbage of its own.
const LOOKS_AROUND: Action = |m, object| {
    assert!(!reachable(m).contains(&object), "finalized and reachable");
    for offset in [0, 8] {
        let word = object.slot(offset).read();
        if word != 0 {
            // SAFETY: a field of an object that is being finalized.
            assert!(m.count_of(unsafe { ObjectRef::from_address(word) }) > 0);
        }
    }
    let node = m.allocate(type_of(&NODE)).expect("room");
    set(m, object, 8, Some(node));
};

fn run(options: HeapOptions, seed: u64) {
    let mut m = mutator_with(options, Some(LOOKS_AROUND));
    let mut random = Random(seed * 2 + 1);
    let roots: Vec<RootIndex> = (0..SLOTS).map(|_| m.push_root(None)).collect();
    let mut registered = 0;
    for number in 0..4000 {
        let slot = roots[random.below(SLOTS as u64) as usize];
        match random.below(16) {
            0..7 => {
                let descriptor = [&NODE, &NODE, &FILE, &REVERSE, &OWNER, &ON_REQUEST][random.below(6) as usize];
                let object = m.allocate(type_of(descriptor)).expect("room");
                object.slot(16).store(number);
                if std::ptr::eq(descriptor, &ON_REQUEST) && random.below(2) == 0 {
                    registered += u64::from(m.register_finalizer(object));
                } else if !std::ptr::eq(descriptor, &NODE) && !std::ptr::eq(descriptor, &ON_REQUEST) {
                    registered += 1;
                }
                m.set_root(slot, Some(object));
            }
            7..13 => {
                let target = m.root(roots[random.below(SLOTS as u64) as usize]);
                if let Some(object) = m.root(slot) {
                    set(&mut m, object, random.below(2) * 8, target);
                }
            }
            13 => m.set_root(slot, None),
            14 => {
                if let Some(object) = m.root(slot) {
                    let next = Some(object.slot(0).read()).filter(|&word| word != 0);
                    // SAFETY: a field of a rooted object.
                    m.set_root(slot, next.map(|word| unsafe { ObjectRef::from_address(word) }));
                }
            }
            _ => match random.below(8) {
                0 => m.epoch(),
                1 if random.below(8) == 0 => {
                    m.collect();
                }
                2 if random.below(4) == 0 => m.verify().expect("sound"),
                _ => m.poll(),
            },
        }
    }
    m.verify().expect("sound");
    let reached = reachable(&m);
    m.collect();
    let mut numbers = seen();
    m.finalize_all();
    let mut last = seen();
    let left: HashSet<u64> = reached.iter().map(|object| object.slot(16).read()).collect();
    assert!(last.iter().all(|number| left.contains(number)), "what nothing reached was finalized before");
    numbers.append(&mut last);
    assert_eq!(numbers.len() as u64, registered);
    assert_eq!(numbers.iter().collect::<HashSet<_>>().len() as u64, registered, "each once");
    m.truncate_roots(0);
    m.collect();
    m.verify().expect("sound");
    assert_eq!(m.statistics().live_objects, 0);
}

/// A seed of one's own: TALLY_SEED=n.
#[test]
fn in_random_graphs_all_finalizers_run_once_on_what_nobody_reaches() {
    for seed in seed::asked().map_or(0..12, |seed| seed..seed + 1) {
        for plan in Plan::ALL {
            for (eager_marks, trials) in [(false, true), (true, true), (true, false)] {
                for slice_units in [None, Some(1 + seed as u32 % 5), Some(40)] {
                    let options = HeapOptions {
                        plan,
                        eager_marks,
                        trials,
                        slice_units,
                        epoch_bytes: 4096 << (seed % 4),
                        log_entries: 16 << (seed % 6),
                        zeal: seed % 6 == 5 && slice_units.is_none(),
                        ..HeapOptions::default()
                    };
                    println!(
                        "TALLY_SEED={seed}: {plan:?}, marks {eager_marks}, trials {trials}, slices {slice_units:?}"
                    );
                    run(options, seed);
                }
            }
        }
    }
}
