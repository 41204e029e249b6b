//! A process whose heap range is small: it is used up by garbage before an epoch is due. A process of its own, because
//! the range is reserved once in a process.

use tally_heap::{HeapOptions, ObjectRef, OutOfMemory, TypeDescriptor};
use tally_kit::nodes::{new_mutator, type_of};
use tally_kit::own_process::own_process;

static PAGE: TypeDescriptor = TypeDescriptor::plain(c"Page", 8000, &[0]);
static PAIR: TypeDescriptor = TypeDescriptor::plain(c"Pair", 24, &[0, 8]);

#[test]
fn a_used_up_range_is_collected_before_the_program_is_told() {
    let test = "small_range::a_used_up_range_is_collected_before_the_program_is_told";
    own_process(test, &[("TALLY_RESERVE", "64MiB")], || [&PAGE, &PAIR].into_iter().for_each(use_up));
}

fn use_up(descriptor: &'static TypeDescriptor) {
    let mut m = new_mutator(HeapOptions { epoch_bytes: 1 << 40, ..HeapOptions::default() }).expect("address space");
    let cell = type_of(descriptor).info().cell_bytes(0).expect("a cell");
    for _ in 0..(200 << 20) / cell {
        m.allocate(type_of(descriptor)).expect("all of it is garbage");
    }
    // What is rooted cannot go: then the program is told.
    let refused = loop {
        match m.allocate(type_of(descriptor)) {
            Ok(object) => m.push_root(Some(object)),
            Err(error) => break error,
        };
    };
    assert!(matches!(refused, OutOfMemory::Range { .. }), "{refused}");
    assert!(m.root_count() as u64 * cell > 48 << 20, "{} objects", m.root_count());
    let kept: Vec<ObjectRef> = m.live_objects();
    assert_eq!(kept.len(), m.root_count());
}
