//! The root snapshot: objects that roots hold are known to be alive, and candidates from now on. `[CANDIDATE]`
//!
//! An object that a root releases is not noted: a language whose variables are roots would make a candidate of each object that a
//! variable has held. Instead the passes that drop candidates as alive (rounds, batches, marks) look at the roots, here, and what
//! those hold is a candidate afterwards. That is enough:
//!
//! > A cycle *C* becomes garbage when its last reference from outside goes. Let *T* be the last time before that when anything
//! > was judged. If a member is young at *T*, or younger, it is judged with its batch. If a root held a member at *T*, that is a
//! > candidate since. Else what held *C* from outside at *T* were words of objects and globals. The last of them has been
//! > overwritten or has died since, which is a decrement of a member, of those that are noted, whatever other roots and words
//! > the reference went through later.
//!
//! So it does not matter which way a reference takes from root to root, as long as all that hold one uncounted by a word
//! of the heap are asked: the roots of compiled frames and of the shadow stack, those of the host, and the words in
//! flight. [`visit`] is the one place where they are listed. Coroutines that have run are laid down there, so that
//! their frames are objects. Globals,
//! finalizers' objects and what native code has counted by hand are released by decrements that note.
//!
//! A candidate that a root holds need not be tried: while a round runs it is marked, and goes back into the buffer as
//! it is. (Between batches and marks no object has its bit set otherwise.)
//!
//! Expected cost: the walk, 3 to 7 ns a frame, and a look at the count byte for each root. Stacks may be a million
//! frames deep, so what makes a round or a batch due grows with the frames seen at the last one: the walks cost about
//! an eighth of what the program did in between.

mod find;

use crate::root_source::{RootList, RootSource};
use tally_heap::memory::list::List;
use tally_heap::memory::range::REACHED;
use tally_heap::object::prompt_flag;
use tally_heap::{Heap, ObjectRef};

/// The objects that roots held at the last look.
#[derive(Debug, Default)]
pub struct RootSnapshot {
    /// The objects that roots held at the last look.
    objects: List<ObjectRef>,
    /// Frames and slots that were walked then.
    walked: u64,
}

/// Appends to `found` everything that a root holds or a word in flight leads to.
pub(super) fn visit(stack: &mut dyn RootSource, heap: &mut Heap, found: &mut List<ObjectRef>) {
    stack.lay_down(heap);
    heap.for_each_host_reference(|object| found.push(object));
    found.extend(heap.prompt.protected.iter().copied());
    let mut roots = RootList::after(std::mem::take(found));
    stack.visit(heap, &mut roots);
    *found = roots.into_objects();
}

impl RootSnapshot {
    /// The objects that roots held at the last look.
    pub(super) fn objects(&self) -> &[ObjectRef] {
        &self.objects
    }

    /// Whether a round is to pass them over.
    pub(super) fn set_marks(&self, marked: bool) {
        self.objects.iter().for_each(|object| match marked {
            true => REACHED.set(object.granule()),
            false => REACHED.clear(object.granule()),
        });
    }

    /// Everything has been judged: what roots hold is a candidate, unless it is young and was not judged, or a suspect. Answers
    /// how many were entered into the buffer.
    pub(super) fn note(&self, heap: &mut Heap) -> usize {
        let before = heap.candidates.len();
        for &object in &self.objects {
            if !object.is_settled() && !object.has(prompt_flag::LARGE) {
                heap.note_candidate(object);
            }
        }
        heap.candidates.len() - before
    }

    /// Candidates between two rounds, at least: one for each frame and slot of the stack that the next round walks.
    pub(super) fn gap(&self) -> usize {
        self.walked as usize
    }
}
