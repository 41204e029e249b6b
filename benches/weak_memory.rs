//! Bytes that an entry of a weak map takes: resident memory by plan and mode, and where it lies. `cargo xtask bench weak`
//!
//! A million keys and as many values, of 24 bytes each, are there and mature before the first entry. A map with weak keys has one
//! value for all. Each heap has a process of its own; what this one had before the first entry is taken off.

use std::process::{Command, ExitCode};
use tally_collector::Mutator;
use tally_heap::memory::range::{HEAP_BASE, HEAP_SPAN};
use tally_heap::plan::Plan;
use tally_heap::services::weak_map::WeakMode;
use tally_heap::{HeapOptions, ObjectRef, TypeDescriptor, type_registry};

const ENTRIES: u64 = 1_000_000;
const MODES: [(&str, WeakMode); 3] = [("keys", WeakMode::Keys), ("values", WeakMode::Values), ("both", WeakMode::Both)];
const PLANS: [(&str, Plan); 3] = [("deferred", Plan::Deferred), ("prompt", Plan::Prompt), ("trace", Plan::Trace)];

static OBJECT: TypeDescriptor = TypeDescriptor::plain(c"Object", 16, &[0]);
static ARRAY: TypeDescriptor = TypeDescriptor::plain(c"Array", 8, &[]).with_tail(0, 8, &[0]);

/// Resident bytes of the heap range, of the tables beside it, and of all else.
fn resident() -> [u64; 3] {
    let maps = std::fs::read_to_string("/proc/self/smaps").expect("Linux says what is mapped");
    let (mut bytes, mut kind) = ([0; 3], 2);
    for line in maps.lines() {
        let first = line.split([' ', '-']).next().unwrap_or_default();
        if let Ok(start) = u64::from_str_radix(first, 16)
            && line.contains('-')
        {
            kind = match start {
                start if start.wrapping_sub(HEAP_BASE) < HEAP_SPAN => 0,
                // Position independent code, `malloc` and stacks lie above.
                start if start < 0x5000_0000_0000 => 1,
                _ => 2,
            };
        } else if let Some(rest) = line.strip_prefix("Rss:") {
            let kibibytes: u64 = rest.trim().trim_end_matches(" kB").parse().expect("a number");
            bytes[kind] += kibibytes << 10;
        }
    }
    bytes
}

fn measure(plan: Plan, mode: WeakMode) -> [u64; 3] {
    // SAFETY: [HELD] references are used as it says.
    let mut m = unsafe { Mutator::new(HeapOptions { plan, ..HeapOptions::default() }) }.expect("address space");
    let [object, array] = [&OBJECT, &ARRAY].map(|descriptor| type_registry::register(descriptor).expect("sound"));
    let arrays = [0, 1].map(|_| {
        let all = m.allocate_array(array, ENTRIES).expect("memory");
        m.push_root(Some(all));
        for place in 0..ENTRIES {
            let made = m.allocate(object).expect("memory");
            m.write(all, all.slot(8 + place * 8), made.address());
        }
        all
    });
    let map = m.new_weak_map(mode).expect("memory");
    m.push_root(Some(map));
    (0..3).for_each(|_| m.epoch());
    m.collect();
    let before = resident();
    // SAFETY: [HEADER] what stands in the arrays.
    let at = |all: usize, place: u64| unsafe { ObjectRef::from_address(arrays[all].slot(8 + place * 8).read()) };
    for place in 0..ENTRIES {
        let value = at(1, if mode == WeakMode::Keys { 0 } else { place });
        m.weak_map_set(map, at(0, place), value).expect("memory");
    }
    (0..3).for_each(|_| m.epoch());
    assert_eq!(m.weak_map_count(map), ENTRIES);
    let after = resident();
    [0, 1, 2].map(|kind| after[kind].saturating_sub(before[kind]))
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [plan, mode] = &words[..] {
        let plan = PLANS.iter().find(|named| named.0 == plan).expect("a plan").1;
        let mode = MODES.iter().find(|named| named.0 == mode).expect("a mode").1;
        let [heap, tables, other] = measure(plan, mode).map(|bytes| bytes as f64 / ENTRIES as f64);
        println!("| {heap:.0} | {tables:.0} | {other:.0} | {:.0} |", heap + tables + other);
        return ExitCode::SUCCESS;
    }
    println!("| bytes an entry | heap | tables beside it | malloc | all |\n|---|---|---|---|---|");
    for (mode, _) in MODES {
        for (plan, _) in PLANS {
            let own = std::env::current_exe().expect("Linux says where it is");
            let said = Command::new(own).args([plan, mode]).output().expect("it runs");
            print!("| weak {mode}, {plan} {}", String::from_utf8_lossy(&said.stdout));
            if !said.status.success() {
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
