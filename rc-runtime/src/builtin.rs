//! Types of the runtime's own objects, as the services make them.

use crate::descriptor::TypeDescriptor;
use crate::plan::Plan;
use crate::type_registry::{TypeInfo, register_for};

/// A weak reference: its slot.
static WEAK: TypeDescriptor = TypeDescriptor::plain(c"weak reference", 8, &[]);

/// The type of weak references.
pub fn weak(plan: Plan) -> &'static TypeInfo {
    registered(plan, &WEAK)
}

fn registered(plan: Plan, descriptor: &'static TypeDescriptor) -> &'static TypeInfo {
    register_for(plan, descriptor)
        .expect("a type of the runtime's own is in order, and a heap has reserved the range")
        .info()
}
