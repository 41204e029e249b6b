//! How much a slice of a mark may do beside a large heap. `[BOUND]`

use crate::prompt::slices::ring;
use crate::prompt::{ARRAY, NODE, live, options, set, type_of};
use tally_heap::HeapOptions;
use tally_kit::nodes::new_mutator;

/// A million live objects, and rings among them: the units of work are bounded, whatever the clock says, and garbage
/// goes while the program runs.
#[test]
fn each_slice_of_a_mark_beside_a_million_live_objects_is_bounded() {
    let units = 20_000;
    let options = HeapOptions { pause_goal_ns: Some(1), slice_units: Some(units), trials: false, ..options() };
    let mut m = new_mutator(options).expect("address space");
    let table = m.allocate_array(type_of(&ARRAY), 1_000_000).expect("room");
    m.push_root(Some(table));
    let t = type_of(&NODE);
    for index in 0..1_000_000 {
        let object = m.allocate(t).expect("room");
        let before = index / 2 * 8 + 8;
        set(&mut m, table, 8 + index * 8, Some(object));
        let parent = table.slot(before).read();
        object.slot(16).store(parent);
        if index % 100 == 0 {
            let (root, _) = ring(&mut m, 4);
            m.set_root(root, None);
            m.truncate_roots(1);
        }
    }
    // One ring of a hundred thousand is proved dead in slices, too.
    let (root, _) = ring(&mut m, 100_000);
    m.set_root(root, None);
    m.truncate_roots(1);
    m.poll();
    assert!(live(&m) >= 1_100_001, "no trial is made of it");
    let mut parts = 0;
    while !m.collect_for(0) {
        parts += 1;
    }
    assert_eq!(live(&m), 1_000_001);
    assert!(parts > 100, "{parts} parts");
    // A block has 1,365 nodes, and a million roots' worth of array is visited by chunks.
    let most = m.statistics().slice_units_max;
    assert!(most <= u64::from(units) + 8_192, "{most} units in one slice");
}
