//! The program has its turn between two slices (`tally_collector::account`): in units, where it pays with what it allocates. `[BOUND]`

use crate::effort::World;
use tally_collector::account::BYTES_PER_UNIT;
use tally_heap::HeapOptions;
use tally_heap::plan::Plan;
use tally_tests::heap_under_test::HeapUnderTest;
use tally_tests::shape::Kind;

/// Units of a slice, and what the program is owed for one.
const UNITS: u32 = 16_384;
const OWED: u64 = UNITS as u64 / 4 * 5;
/// Live objects.
const NODES: u64 = 64 << 10;

/// Deferred plan: an epoch has a dozen slices, whose work is far from any bound. They do not come at one block after the other.
#[test]
fn slices_of_an_epoch_leave_the_program_as_much_as_they_take() {
    let options =
        HeapOptions { plan: Plan::Deferred, slice_units: Some(UNITS), epoch_bytes: 4 << 20, ..HeapOptions::default() };
    let mut world = World::with(options);
    let array = world.allocate(Kind::Array, NODES);
    world.set_root(0, array);
    let mut slices = Vec::new();
    while world.statistics().allocated_bytes < 32 << 20 {
        for place in 0..4 {
            let new = world.allocate(Kind::Pair, 0);
            if place == 0 {
                let (array, index) = (world.root(0), world.below(NODES));
                world.set(array, Kind::Array, index, new);
            }
        }
        let now = world.statistics();
        if slices.last().is_none_or(|&(_, before)| now.slices > before) {
            slices.push((now.allocated_bytes, now.slices));
        }
    }
    let epochs = world.statistics().epochs;
    assert!(slices.len() as u64 > 4 * epochs && epochs > 4, "{} slices in {epochs} epochs", slices.len());
    // Ten slices in a row pay for nine turns, but for what one may do more than its units, and a block.
    for stretch in slices.windows(10) {
        let ((from, first), (to, last)) = (stretch[0], stretch[9]);
        assert_eq!(last - first, 9, "one at a time");
        let (paid, least) = (to - from, 8 * OWED * BYTES_PER_UNIT / 2);
        assert!(paid >= least, "ten slices in {paid} bytes, {least} are due for them");
    }
    world.heap.verify().expect("in order");
}
