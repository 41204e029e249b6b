//! A heap of a host for these tests, its types, and what a refusal says.

use std::panic::{AssertUnwindSafe, catch_unwind};
use tally::{Heap, HeapOptions, Plan, TypeBuilder, TypeId};

/// Each of them without zeal, and with.
pub fn both_with_zeal() -> impl Iterator<Item = (Plan, bool)> {
    Plan::ALL.into_iter().flat_map(|plan| [(plan, false), (plan, true)])
}

/// The options of a heap of that plan.
pub fn options(plan: Plan) -> HeapOptions {
    HeapOptions::new().plan(plan)
}

/// A heap, and a type with fields at 0 and 8 and a word at 16.
pub fn host(plan: Plan, zeal: bool) -> (Heap, TypeId) {
    (Heap::new(options(plan).zeal(zeal)).expect("address space"), node_type())
}

/// Fields at 0 and 8, a word at 16.
pub fn node_type() -> TypeId {
    TypeBuilder::new("Node", 24).reference("left", 0).reference("right", 8).register().expect("a sound type")
}

/// Its length at 0, and a reference in each element.
pub fn array_type() -> TypeId {
    TypeBuilder::new("Array", 8).elements(0, 8).element_reference("item", 0).register().expect("a sound type")
}

/// What is said when `what` panics.
pub fn refused(what: impl FnOnce()) -> String {
    let error = catch_unwind(AssertUnwindSafe(what)).expect_err("it is wrong");
    let text = error.downcast_ref::<&str>().map(|&text| text.to_owned());
    text.or_else(|| error.downcast_ref::<String>().cloned()).unwrap_or_default()
}
