//! Situations from the ledger (`tests/scenarios.toml`) that no topic's own test holds: under both plans, wherever both have it.
//!
//! Three levels: op programs, which `check` runs in every setup of the heap against the model (`cycles`, `candidates`); heaps
//! driven directly, where a model object beside each real one would cost too much (`deep`, `layout`); and C programs that the
//! `tally` command runs (`programs`, `mistakes`).

mod candidates;
mod counts;
mod cycles;
mod deep;
mod finalizers;
mod layout;
mod mistakes;
mod programs;
mod weak;

use tally_heap::plan::Plan;
use tally_tests::heap_under_test::HeapUnderTest;
use tally_tests::setup::both_plans;
use tally_tests::shape::Kind;
use tally_tests::tally_heap::TallyHeap;

/// Runs the test on a fresh heap of each plan.
fn on_both(test: impl Fn(&mut TallyHeap, Plan)) {
    for options in both_plans() {
        let plan = options.plan;
        println!("{plan:?}");
        test(&mut TallyHeap::new(options), plan);
    }
}

/// A new object in the slot of a rooted one: nothing else has to hold it.
fn allocate_into(heap: &mut TallyHeap, holder: u64, slot: u64, kind: Kind) -> u64 {
    let object = heap.allocate(kind, 0).expect("room");
    heap.store(holder, slot, object);
    object
}
