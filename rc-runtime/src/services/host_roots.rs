//! Roots held by the host program: a stack of references and a list of registered slots.
//!
//! Compiled code keeps its roots in frames and globals; a host written in Rust (tests, embedders) keeps them here.

use crate::heap::Heap;
use crate::memory::list::List;
use crate::object::ObjectRef;

/// A place in the host's root stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RootIndex(pub usize);

/// What a function of the runtime has been given, held in a frame of its own while it may call the program.
#[derive(Debug)]
struct Hold {
    /// An address in that frame.
    frame: u64,
    /// Its first root in the stack.
    from: usize,
    release: Release,
}

/// What becomes of an object that a hold releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Release {
    /// It may be a candidate.
    AsHandle,
    /// It is held by another root as well, and becomes none.
    AsRoot,
}

/// The roots of a host program: a stack, and registered slots.
#[derive(Debug, Default)]
pub struct HostRoots {
    /// The stack.
    pub stack: List<Option<ObjectRef>>,
    /// References that the runtime itself protects for the duration of one epoch (zeal's view of a call's result).
    pub temporary: List<ObjectRef>,
    /// Parts of the stack that functions of the runtime hold, the innermost last.
    holds: List<Hold>,
}

impl HostRoots {
    /// Every reference held.
    pub fn iter(&self) -> impl Iterator<Item = ObjectRef> + '_ {
        self.stack.iter().flatten().chain(&self.temporary).copied()
    }
}

impl Heap {
    /// Runs `call` with `objects` held as if by roots: what the runtime's own safepoints were given. The hold ends with the call, with
    /// an exception that leaves it, or when the program is seen to have left it by `longjmp`.
    pub(crate) fn holding<T>(&mut self, objects: &[Option<ObjectRef>], call: impl FnOnce(&mut Heap) -> T) -> T {
        self.holding_as(Release::AsHandle, objects, call)
    }

    /// The same, with the way in which they are released.
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
