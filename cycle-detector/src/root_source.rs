//! Where the roots of compiled code come from, as the collector sees it. `[ROOT]` `[WATERMARK]`
//!
//! The collector knows neither stacks nor stack maps: it asks a [`RootSource`], which the heap is given with its driver.
//! `stack` implements it for the calling thread's stack; a host in Rust has [`NoStack`].
//!
//! The source is called once for each walk, the sink once for each root. So the source is dynamic and the sink is not:
//! a closure behind a `dyn` would cost about five instructions a root.

use std::fmt::Debug;
use tally_heap::memory::list::List;
use tally_heap::{Heap, ObjectRef};

/// Objects of a list of roots, or of a mark's stack, whose memory is kept. With none a list would be looked for node by node.
pub(crate) const RESERVED: usize = 512;

/// Frames that a flip or a snapshot of the deferred plan visits; those below wait for slices.
pub(crate) const FRAMES_AT_FLIP: usize = 4096;

/// Finds the roots of compiled code. All calls are made on the heap's thread, with the program stopped. What has a body here is right for a
/// source that visits everything at once.
pub trait RootSource: Debug {
    /// Visits the newest `frames` frames, and all that has to be visited at once: the shadow stack, and frames whose roots are
    /// lent. If others wait, the program does not come back to one of them before it has been visited: the source calls
    /// `EpochDriver::frame_is_reached` first.
    fn begin(&mut self, heap: &mut Heap, frames: usize, into: &mut RootList) -> Headway;

    /// Lays down the frames of coroutines that have run: the roots in them become fields of objects, as if the program
    /// had stored them there. Called before a look at the roots begins; allocates without a safepoint.
    fn lay_down(&mut self, _heap: &mut Heap) {}

    /// Visits `frames` more of those that wait.
    fn go_on(&mut self, _heap: &mut Heap, _frames: usize, _into: &mut RootList) -> Headway {
        Headway::Done
    }

    /// Whether frames wait.
    fn has_rest(&self) -> bool {
        false
    }

    /// A stop of the program begins: frames that wait may have gone since the last.
    fn note_that_the_program_ran(&mut self) {}

    /// A collection that marks everything begins: roots say what their objects are, if objects do not.
    fn mark_begins(&mut self) {}

    /// It has marked everything.
    fn mark_ends(&mut self) {}

    /// Whether compiled code of this process may write references by plain stores, which no barrier sees. Once true it stays so.
    fn has_plain_writes(&self) -> bool {
        false
    }

    /// Returns what the walks for `heap` have cost so far: frames, slots, and steps of the unwinder.
    fn units_walked(&self, _heap: &Heap) -> u64 {
        0
    }

    /// Steps of the unwinder over native frames in all walks so far.
    fn unwinder_steps(&self) -> u64 {
        0
    }

    /// One past the end of the stack; 0 where there is none.
    fn end(&self) -> u64 {
        0
    }

    /// Visits all frames.
    fn visit(&mut self, heap: &mut Heap, into: &mut RootList) {
        self.begin(heap, usize::MAX, into);
    }
}

/// How far a walk has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Headway {
    /// All frames have been visited.
    Done,
    /// Some wait.
    Some,
    /// The program has left frames that waited by a jump, or has ended, and may have changed others since. The walk is given up.
    Cut,
}

/// The findings of a walk: references to objects of one heap.
#[derive(Debug)]
pub struct RootList {
    objects: List<ObjectRef>,
    looks: Looks,
}

/// The checks of a walk beside the reference itself.
#[derive(Debug)]
enum Looks {
    No,
    /// Each must be a live object, or the root that holds it is named in a violation.
    AtLife,
    /// The first that holds an object which zeal has not seen, and its name.
    AtUnseen(Option<(ObjectRef, String)>),
}

/// Notes the end of a walk, before which `before` frames had been walked.
pub(crate) fn note_frames(heap: &mut Heap, before: u64) {
    let statistics = &mut heap.statistics;
    statistics.frames_at_once_max = statistics.frames_at_once_max.max(statistics.frames_walked - before);
}

impl RootList {
    /// Goes on after `objects`. Under zeal each root that is found must hold a live object.
    pub(crate) fn of_live_objects(objects: List<ObjectRef>, heap: &Heap) -> RootList {
        RootList { objects, looks: if heap.zeal.is_some() { Looks::AtLife } else { Looks::No } }
    }

    /// Goes on after `objects`, whatever they are.
    pub fn after(objects: List<ObjectRef>) -> RootList {
        RootList { objects, looks: Looks::No }
    }

    /// Looks for a root that holds an object which zeal has not seen.
    pub(crate) fn of_seen_objects() -> RootList {
        RootList { objects: List::new(), looks: Looks::AtUnseen(None) }
    }

    /// Adds what a host and global variables hold.
    pub(crate) fn push_those_outside_the_stack(&mut self, heap: &mut Heap) {
        let before = self.objects.len();
        heap.for_each_host_reference(|root| self.push(heap, root, &|| "a root of the host".to_owned()));
        let of_host = (self.objects.len() - before) as u64;
        let slots = heap.for_each_global_reference(|root, global| {
            self.push(heap, root, &|| format!("global root `{}`", global.name));
        });
        heap.statistics.roots_walked += of_host + slots;
    }

    /// Adds a root. `name` is called only for a report.
    #[inline(always)]
    pub fn push(&mut self, heap: &Heap, object: ObjectRef, name: &dyn Fn() -> String) {
        if !matches!(self.looks, Looks::No) {
            self.look(heap, object, name);
        }
        self.objects.push(object);
    }

    #[cold]
    fn look(&mut self, heap: &Heap, object: ObjectRef, name: &dyn Fn() -> String) {
        match &mut self.looks {
            Looks::AtUnseen(found) => {
                if found.is_none() && heap.zeal.as_ref().is_some_and(|zeal| !zeal.has_seen(object)) {
                    *found = Some((object, name()));
                }
            }
            Looks::AtLife => must_be_live(heap, object, name),
            Looks::No => {}
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The objects, in the order in which they were found.
    pub(crate) fn into_objects(self) -> List<ObjectRef> {
        self.objects
    }

    /// A root that holds an object which zeal has not seen, and its name, if that was looked for.
    pub(crate) fn unseen(&self) -> Option<&(ObjectRef, String)> {
        match &self.looks {
            Looks::AtUnseen(found) => found.as_ref(),
            Looks::No | Looks::AtLife => None,
        }
    }
}

/// Zeal: reports a root that holds no live object.
pub fn must_be_live(heap: &Heap, root: ObjectRef, name: &dyn Fn() -> String) {
    if let Some(zeal) = &heap.zeal
        && zeal.live_object(root.address()).is_none()
    {
        let what = match zeal.has_seen(root) {
            true => format!("{} holds {:#x}, which is no live object", name(), root.address()),
            false => format!("{} holds {}", name(), heap.place(zeal, root.address())),
        };
        heap.violation("ROOT", &what);
    }
}

/// No compiled code runs on the heap: what a host holds is known to the heap itself.
#[derive(Debug, Default)]
pub struct NoStack;

impl RootSource for NoStack {
    fn begin(&mut self, _heap: &mut Heap, _frames: usize, _into: &mut RootList) -> Headway {
        Headway::Done
    }

    fn end(&self) -> u64 {
        0
    }
}

impl Default for Box<dyn RootSource> {
    fn default() -> Self {
        Box::new(NoStack)
    }
}
