//! Arrays of data (texts, numbers): elements without references are not visited, however many there are. `[BOUND]`
//!
//! Work is counted in units where the passes count it. Loops that count none are met with a length that no loop over
//! elements would come to the end of: these tests pass or do not return.

use tally_collector::Mutator;
use tally_heap::plan::Plan;
use tally_heap::visit::Part;
use tally_heap::{HeapOptions, ObjectRef, TypeDescriptor};
use tally_kit::nodes::{new_mutator, type_of};

/// Bytes and nothing else.
static TEXT: TypeDescriptor = TypeDescriptor::plain(c"Text", 8, &[]).with_tail(0, 1, &[]);
/// A reference, and bytes behind it.
static SYMBOL: TypeDescriptor = TypeDescriptor::plain(c"Symbol", 24, &[8, 16]).with_tail(0, 1, &[]);
static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 16, &[0, 8]);

/// Of a text.
const BYTES: u64 = 64 << 20;
/// Elements that no loop comes to the end of.
const ENDLESS: u64 = 1 << 50;
/// Units in a slice.
const SLICE_UNITS: u32 = 64;
/// What a few objects cost, with the fixed costs of all passes over their blocks.
const FEW_UNITS: u64 = 2048;

/// Both plans, without and with a pause goal, in slices of few units.
fn all_options() -> impl Iterator<Item = HeapOptions> {
    let plans = [Plan::Deferred, Plan::Prompt];
    plans.into_iter().flat_map(|plan| {
        let options = move || HeapOptions { plan, slice_units: Some(SLICE_UNITS), ..HeapOptions::default() };
        [options(), HeapOptions { pause_goal_ns: Some(1_000_000), ..options() }]
    })
}

/// Slices that a mark or an epoch takes to its end.
fn slices_of_collection(m: &mut Mutator) -> u64 {
    let mut slices = 1;
    while !m.collect_for(0) {
        slices += 1;
        assert!(slices < 1 << 20, "it comes to no end");
    }
    slices
}

/// A symbol that holds two nodes, at root 0, and the nodes; it says that it is `claimed` long.
fn symbol(m: &mut Mutator, length: u64, claimed: u64) -> ObjectRef {
    let symbol = m.allocate_array(type_of(&SYMBOL), length).expect("room");
    symbol.slot(0).store(claimed);
    let root = m.push_root(Some(symbol));
    for offset in [8, 16] {
        let node = m.allocate(type_of(&NODE)).expect("room");
        let symbol = m.root(root).expect("held");
        m.write(symbol, symbol.slot(offset), node.address());
    }
    symbol
}

#[test]
fn text_of_64_mib_costs_no_more_units_than_an_empty_one() {
    for options in all_options() {
        let what = format!("{options:?}");
        let mut units = [0; 2];
        for (length, units) in [0, BYTES].into_iter().zip(&mut units) {
            let mut m = new_mutator(options.clone()).expect("address space");
            symbol(&mut m, length, length);
            let text = m.allocate_array(type_of(&TEXT), length).expect("room");
            m.push_root(Some(text));
            let mut slices = slices_of_collection(&mut m);
            m.verify().expect("in order");
            assert_eq!(m.statistics().live_objects, 4, "{what}");
            slices += slices_of_collection(&mut m);
            m.truncate_roots(0);
            slices += slices_of_collection(&mut m);
            m.collect();
            let statistics = m.statistics();
            assert_eq!(statistics.live_objects, 0, "{what}");
            *units = slices * u64::from(SLICE_UNITS) + statistics.mark_units;
        }
        let [empty, long] = units;
        assert!(long <= empty + FEW_UNITS, "{long} units, {empty} for an empty text: {what}");
    }
}

#[test]
fn text_without_end_is_promoted_marked_and_freed() {
    for options in all_options() {
        let what = format!("{options:?}");
        let mut m = new_mutator(options).expect("address space");
        let symbol = symbol(&mut m, BYTES, ENDLESS);
        let text = m.allocate_array(type_of(&TEXT), BYTES).expect("room");
        text.slot(0).store(ENDLESS);
        m.push_root(Some(text));
        slices_of_collection(&mut m);
        // Logged and reconciled, or counted.
        let other = m.allocate(type_of(&NODE)).expect("room");
        m.write(symbol, symbol.slot(8), other.address());
        m.write(symbol, symbol.slot(16), symbol.address());
        m.epoch();
        slices_of_collection(&mut m);
        m.verify().expect("in order");
        assert_eq!(m.statistics().live_objects, 3, "{what}");
        m.truncate_roots(0);
        slices_of_collection(&mut m);
        m.collect();
        assert_eq!(m.statistics().live_objects, 0, "{what}");
        assert!(m.statistics().used_bytes < BYTES, "the arrays' blocks went back: {what}");
    }
}

#[test]
fn write_to_a_field_before_data_is_logged_once() {
    let mut m = new_mutator(HeapOptions::default()).expect("address space");
    let symbol = symbol(&mut m, BYTES, BYTES);
    m.collect();
    let before = m.heap().deferred.log.entries;
    for _ in 0..3 {
        for offset in [8, 16] {
            m.write(symbol, symbol.slot(offset), 0);
        }
    }
    assert_eq!(m.heap().deferred.log.entries - before, 1, "two fields and 64 MiB of data are one chunk");
    m.collect();
    assert_eq!(m.statistics().live_objects, 1, "what the fields held has died");
}

#[test]
fn every_visit_of_data_without_end_returns() {
    let mut m = new_mutator(HeapOptions::default()).expect("address space");
    let symbol = symbol(&mut m, BYTES, ENDLESS);
    let info = symbol.type_info();
    for part in [Part::Whole, Part::Chunk(0)] {
        let mut found = 0;
        info.for_each_reference(symbol, part, |_| found += 1);
        info.for_each_snapshot_word(symbol, part, |_| found += 1);
        assert_eq!((found, info.snapshot_words(symbol, part)), (4, 2), "{part:?}");
    }
    let mut slots = 0;
    info.for_each_slot_among(symbol, 0..ENDLESS, |_| slots += 1);
    assert_eq!((slots, info.reference_slots(symbol).len()), (2, 2));
    assert_eq!((info.chunk_count(ENDLESS), info.chunk_of(ENDLESS)), (1, 0));
}
