//! Where objects were allocated, in a heap whose options say [`alloc_sites`](crate::HeapOptions::alloc_sites).

use crate::field::Ref;
use crate::scope::Scope;
use tally_heap::services::alloc_site::{Site, SiteTotals};

impl Scope<'_> {
    /// Returns the places of the calls of compiled code that were running when the object was allocated, the innermost first, four at
    /// most; empty: none was, so the host has allocated it. `None`: it was not recorded.
    ///
    /// ```
    /// use tally::{Heap, HeapOptions, TypeBuilder};
    ///
    /// let mut heap = Heap::new(HeapOptions::new().alloc_sites(0))?;
    /// let node = TypeBuilder::new("Node", 16).register()?;
    /// let mut scope = heap.scope();
    /// let kept = scope.allocate(node)?;
    /// let site = scope.alloc_site(scope.get(kept)).expect("every object is recorded");
    /// assert!(site.is_empty(), "the host has allocated it");
    /// let totals = scope.alloc_sites();
    /// assert_eq!((totals[0].type_name.as_str(), totals[0].live_objects, totals[0].live_bytes), ("Node", 1, 24));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// When it belongs to another heap.
    pub fn alloc_site(&self, object: Ref<'_>) -> Option<Site> {
        self.check(object.address());
        self.leaf(|inner| inner.alloc_site(object.object))
    }

    /// Returns what was allocated at each site, a row for each type, those with the most live bytes first: estimates, unless every object is
    /// recorded.
    pub fn alloc_sites(&self) -> Vec<SiteTotals> {
        self.leaf(|inner| inner.alloc_sites())
    }
}
