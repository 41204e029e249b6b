//! Global variables that are roots: the slots of each module, and their objects. `[ROOT]`
//!
//! The map from modules to slots is shared by all threads. Flips and marks read it, and may not allocate for that (a `DashMap` does
//! when it is iterated). Slots are added when a module is registered, and taken before its memory goes.

use crate::heap::Heap;
use crate::memory::range;
use crate::object::{ObjectRef, Slot};
use crate::type_registry::TypeInfo;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// One global root slot.
#[derive(Debug, Clone)]
pub struct GlobalSlot {
    /// Address of the slot.
    pub slot: u64,
    /// How it is read; `None` = one plain reference.
    pub how: Option<Arc<TypeInfo>>,
    /// Its name.
    pub name: Arc<str>,
}

static OF_MODULES: RwLock<BTreeMap<u64, Vec<GlobalSlot>>> = RwLock::new(BTreeMap::new());

/// The slots of a module are roots from now on. `module` is any number that no other module has.
pub fn add(module: u64, slots: Vec<GlobalSlot>) {
    OF_MODULES.write().unwrap_or_else(PoisonError::into_inner).insert(module, slots);
}

/// The slots of a module are no roots any more. Returns them.
pub fn take(module: u64) -> Vec<GlobalSlot> {
    OF_MODULES.write().unwrap_or_else(PoisonError::into_inner).remove(&module).unwrap_or_default()
}

/// Calls `visit` with every registered slot. Returns how many there are.
pub fn for_each(mut visit: impl FnMut(&GlobalSlot)) -> u64 {
    let of_modules = OF_MODULES.read().unwrap_or_else(PoisonError::into_inner);
    of_modules.values().flatten().map(&mut visit).count() as u64
}

impl Heap {
    /// Calls `visit` with every reference to an object of this heap that a registered global slot holds, and its slot: all heaps of
    /// the process share these slots. Returns the number of slots.
    pub fn for_each_global_reference(&self, mut visit: impl FnMut(ObjectRef, &GlobalSlot)) -> u64 {
        for_each(|global| {
            global.for_each_reference(|object| {
                if self.owns(object) {
                    visit(object, global);
                }
            });
        })
    }

    /// Lets go of what slots hold of this heap, under the prompt plan: they are no roots any more.
    pub fn release_globals(&mut self, globals: &[GlobalSlot]) {
        for global in globals {
            global.for_each_reference(|object| {
                if self.owns(object) {
                    self.decrement_exact(object);
                }
            });
        }
    }
}

impl GlobalSlot {
    /// Calls `visit` with each reference that the slot holds.
    pub fn for_each_reference(&self, mut visit: impl FnMut(ObjectRef)) {
        if let Some(how) = &self.how {
            // SAFETY: [ROOT] a root that this type describes.
            return unsafe { how.for_each_reference_in_root(self.slot, visit) };
        }
        // SAFETY: [ROOT] a registered slot is readable while its module is registered.
        let word = unsafe { Slot::from_address(self.slot) }.read();
        if range::in_heap(word) {
            // SAFETY: [HEADER] what a root slot holds in the heap is an object.
            visit(unsafe { ObjectRef::from_address(word) });
        }
    }
}
