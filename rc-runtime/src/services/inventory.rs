//! The inventory: every object of a heap once, and how many of which type are left.
//!
//! An object is *there* from its birth until it is found dead. Under the deferred plan that is not known of young objects
//! before a flip, so a walk begins with an epoch; what an undiscovered dead cycle holds is still there. After a collection what
//! is there is reachable, and the leak report lists it by type, with its holders.

use crate::heap::{Heap, HeapEntry};
use crate::object::ObjectRef;
use std::collections::BTreeMap;

/// Names of roots in a report, at most.
const NAMES_MAX: usize = 20;

/// The objects of one type.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OfType {
    /// The type's name.
    pub name: String,
    /// How many.
    pub objects: u64,
    /// Bytes of their cells.
    pub bytes: u64,
}

/// The objects that a collection has left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeakReport {
    /// By type, in the order of their names.
    pub types: Vec<OfType>,
    /// Global variables that hold some of it.
    pub globals: Vec<String>,
    /// References that the host holds.
    pub host_roots: u64,
    /// Where they were allocated, as lines of the text; nothing in a heap that records no sites.
    pub sites: String,
}

impl LeakReport {
    /// Objects left.
    pub fn objects(&self) -> u64 {
        self.types.iter().map(|of| of.objects).sum()
    }

    /// Bytes of their cells.
    pub fn bytes(&self) -> u64 {
        self.types.iter().map(|of| of.bytes).sum()
    }

    /// As text, for people: `when` says when it was made. Empty when nothing is left.
    pub fn text(&self, when: &str) -> String {
        if self.types.is_empty() {
            return String::new();
        }
        let (objects, bytes) = (self.objects(), self.bytes());
        let mut text = format!("tally: {objects} objects ({bytes} bytes) are still reachable {when}:\n");
        for OfType { name, objects, bytes } in &self.types {
            text += &format!("  {objects:>10} {name} ({bytes} bytes)\n");
        }
        if !self.globals.is_empty() {
            text += &format!("  held by global roots: {}\n", self.globals.join(", "));
        }
        if self.host_roots != 0 {
            text += &format!("  held by the host: {} references\n", self.host_roots);
        }
        text += &self.sites;
        text
    }
}

impl Heap {
    /// Calls `visit` with every object that is there and the bytes of its cell, once, in no order to rely on. `visit` calls nothing of
    /// this heap.
    pub fn for_each_object(mut heap: HeapEntry, mut visit: impl FnMut(ObjectRef, u64)) {
        Heap::make_known(heap);
        heap.zeal.iter_mut().for_each(|zeal| zeal.forget_waiting());
        heap.for_each_known(|heap, object| {
            if heap.is_there(object) {
                visit(object, heap.bytes_of_cell(object));
            }
        });
    }

    /// Collects, and returns the objects that are left; `None` without any.
    pub fn leak_report(mut heap: HeapEntry) -> Option<LeakReport> {
        Heap::collect(heap);
        heap.what_is_left()
    }

    /// Returns the objects left after a collection; `None` without any.
    pub fn what_is_left(&mut self) -> Option<LeakReport> {
        let mut by_type: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        self.for_each_known(|heap, object| {
            if heap.is_there(object) {
                let entry = by_type.entry(&object.type_info().name).or_default();
                *entry = (entry.0 + 1, entry.1 + heap.bytes_of_cell(object));
            }
        });
        if by_type.is_empty() {
            return None;
        }
        let of_type = |(name, (objects, bytes)): (&str, _)| OfType { name: name.to_owned(), objects, bytes };
        let mut host_roots = 0;
        self.for_each_host_reference(|_| host_roots += 1);
        let types = by_type.into_iter().map(of_type).collect();
        Some(LeakReport { types, globals: self.globals_that_hold(), host_roots, sites: self.text_of_live_sites() })
    }

    fn globals_that_hold(&self) -> Vec<String> {
        let mut names = vec![];
        self.for_each_global_reference(|_, global| {
            if names.len() < NAMES_MAX {
                names.push(global.name.to_string());
            }
        });
        names.sort_unstable();
        names.dedup();
        names
    }
}
