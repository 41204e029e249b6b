//! A heap of each kind: every plan, by counting alone, by marking alone, with a pause goal, and under zeal.

use tally_collector::Mutator;
use tally_heap::descriptor::TypeDescriptor;
use tally_heap::plan::Plan;
use tally_heap::{HeapOptions, ObjectRef};
use tally_kit::nodes::{new_mutator, nothing_is_left, type_of};

/// Two words without a reference.
pub static LEAF: TypeDescriptor = TypeDescriptor::plain(c"Leaf", 16, &[]);

pub fn leaf(m: &mut Mutator) -> ObjectRef {
    m.allocate(type_of(&LEAF)).expect("room")
}

pub fn options_of_every_heap() -> impl Iterator<Item = HeapOptions> {
    Plan::ALL.into_iter().flat_map(|plan| {
        let of = HeapOptions { plan, ..HeapOptions::default() };
        let counts = HeapOptions { mark_ns: 0, ..of.clone() };
        let marks = HeapOptions { mark_ns: u64::MAX, ..of.clone() };
        let sliced = HeapOptions { slice_units: Some(60), pause_goal_ns: Some(1_000_000), ..of.clone() };
        let zeal = HeapOptions { zeal: true, ..of.clone() };
        [of, counts, marks, sliced, zeal]
    })
}

/// Runs a situation in each, then collects: what it leaves is garbage.
pub fn in_every_heap(situation: impl Fn(&mut Mutator)) {
    in_every_heap_of("", situation);
}

/// The same of objects of some shape, which failures name.
pub fn in_every_heap_of(shape: &str, situation: impl Fn(&mut Mutator)) {
    for options in options_of_every_heap() {
        let said = format!("{options:?} {shape}");
        let mut m = new_mutator(options).expect("room");
        situation(&mut m);
        m.collect();
        m.verify().unwrap_or_else(|violation| panic!("{said}: {violation}"));
        nothing_is_left(&mut m);
    }
}
