//! The inventory: every object that is there, as plain data.

use crate::field::Ref;
use crate::scope::Scope;
use tally_heap::Heap as InnerHeap;

/// An object that is there. Its address is no reference: it may be garbage that no epoch has found yet.
///
/// ```
/// # use tally::{Heap, HeapOptions, TypeBuilder};
/// # let mut heap = Heap::new(HeapOptions::new())?;
/// let node = TypeBuilder::new("Node", 16).register()?;
/// let mut scope = heap.scope();
/// let node = scope.allocate(node)?;
/// let all = scope.objects();
/// assert_eq!((all[0].type_name, all[0].address, all[0].bytes), ("Node", scope.get(node).address(), 24));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObjectInfo {
    /// Its type's name.
    pub type_name: &'static str,
    /// Where it is.
    pub address: u64,
    /// Bytes of its cell.
    pub bytes: u64,
}

impl Scope<'_> {
    /// Every object that is not known to be dead, once, in any order; after [`collect`](Self::collect) the reachable ones. A
    /// safepoint.
    pub fn objects(&mut self) -> Vec<ObjectInfo> {
        let mut objects = vec![];
        let mut note = |object: tally_heap::ObjectRef, bytes| {
            objects.push(ObjectInfo { type_name: &object.type_info().name, address: object.address(), bytes });
        };
        self.safepoint(|inner| InnerHeap::for_each_object(inner, &mut note));
        objects
    }

    /// The object's count: under the prompt plan the references that hold it; else as of the last flip, where 255 is stuck.
    ///
    /// # Panics
    /// When it belongs to another heap.
    pub fn count_of(&self, object: Ref<'_>) -> u32 {
        self.check(object.address());
        self.leaf(|inner| inner.count_of(object.object))
    }
}
