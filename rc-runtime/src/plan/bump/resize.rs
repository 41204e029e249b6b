//! The newest object of a hole may have more elements, or fewer, where it lies: the cursor stands at its end.
//!
//! Not an object that has been counted among the births of its hole: its cell has its bytes there.

use crate::heap::Heap;
use crate::memory::large::LARGEST_SMALL_CELL;
use crate::object::{HEADER_BYTES, ObjectRef, flag};
use crate::type_registry::TypeInfo;

impl Heap {
    /// Moves the cursor to the end of a cell of `cell` bytes, if it stands at the end of the object.
    pub(crate) fn stretch_newest(&mut self, info: &TypeInfo, object: ObjectRef, cell: u64) -> bool {
        let start = object.address() - HEADER_BYTES;
        let hole_start = self.bump.hole_start;
        let context = self.context_mut();
        let is_newest = context.cursor == start + info.cell_bytes_of(object) && hole_start != 0 && hole_start <= start;
        let fits = cell <= LARGEST_SMALL_CELL && start + cell <= context.limit;
        if !is_newest || !fits || object.has(flag::LARGE | flag::MATURE) {
            return false;
        }
        context.cursor = start + cell;
        true
    }
}
