//! What functions of the runtime hold while they may call the program.

use super::{Hold, Release};
use crate::heap::Heap;
use crate::object::ObjectRef;

impl Heap {
    /// Runs `call` with `objects` held as if by roots: what the runtime's own safepoints were given. The hold ends with the call, with
    /// an exception that leaves it, or when the program is seen to have left it by `longjmp`.
    pub(crate) fn holding<T>(&mut self, objects: &[Option<ObjectRef>], call: impl FnOnce(&mut Heap) -> T) -> T {
        self.holding_as(Release::AsHandle, objects, call)
    }

    /// The same, with the way in which they are released. Never inline: in one frame an inner hold could lie above an outer one.
    #[inline(never)]
    pub(crate) fn holding_as<T>(
        &mut self,
        release: Release,
        objects: &[Option<ObjectRef>],
        call: impl FnOnce(&mut Heap) -> T,
    ) -> T {
        let frame = &raw const objects as u64;
        self.end_left_holds(frame);
        let roots = &mut self.services.host_roots;
        roots.holds.push(Hold { frame, from: roots.stack.len(), release });
        roots.stack.extend(objects);
        objects.iter().for_each(|&object| self.recount_handle(object, None));
        call(Holding(self).0)
    }

    /// A frame at `here` runs: holds of frames below it were left by `longjmp`.
    pub(crate) fn end_left_holds(&mut self, here: u64) {
        while self.services.host_roots.holds.last().is_some_and(|hold| hold.frame < here) {
            self.end_innermost_hold();
        }
    }

    fn end_innermost_hold(&mut self) {
        let Some(Hold { from, release, .. }) = self.services.host_roots.holds.pop() else { return };
        if release == Release::AsHandle {
            for at in from..self.services.host_roots.stack.len() {
                let released = self.services.host_roots.stack[at].take();
                self.recount_handle(None, released);
            }
        }
        self.truncate_host_roots(from);
    }
}

/// The innermost hold, which ends with this.
struct Holding<'a>(&'a mut Heap);

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        self.0.end_innermost_hold();
    }
}
