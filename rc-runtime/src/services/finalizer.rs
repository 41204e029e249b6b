//! Finalizers: a type's destructor, called when an object of it was found dead. Once, unless it is registered again.
//!
//! It runs as ordinary mutator code at a safepoint, with its object held by one count meanwhile. So it may do anything
//! the program may: allocate, collect (put off until it has returned), write into the dying object, store the object
//! somewhere (then that lives on with all it reaches), drop other objects. Under the prompt plan an object that dies by
//! counting is finalized in its drain (`prompt::finalizer`); all others wait on the queue here.
//!
//! An exception that escapes it is caught ([`crate::services::exception`]) and passed to the hook for errors, or reported on
//! standard error; the rest goes on. So are calls that `longjmp` has left (`jump`). The context's exit anchor, from which stacks are walked, is that of the
//! collector's caller again afterwards.

mod call;
pub mod call_program;
pub mod exit;
pub mod jump;
mod queue;
mod turn;

pub(crate) use queue::ROUNDS_MAX;
pub(crate) use turn::Turn;

use crate::memory::list::{List, Queue};
use crate::object::{ObjectRef, flag};
use crate::turn::LastTurn;
use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

/// `void finalize(void *object)`.
pub(crate) type Finalizer = unsafe extern "C-unwind" fn(object: *mut c_void);

/// `void hook(void *object, const char *type, const char *message, void *exception)`: something has left a finalizer.
pub type ErrorHook = unsafe extern "C-unwind" fn(*mut c_void, *const c_char, *const c_char, *mut c_void);

/// Words by which a call's frame is larger than those of the runtime that look from the same place whether it was left.
const FRAME_WORDS: usize = 256;

/// The exception that has left a finalizer, for a hook in Rust.
#[derive(Debug)]
pub struct FinalizerError<'a> {
    /// Whose finalizer it was.
    pub object: ObjectRef,
    /// Its type.
    pub type_name: &'a str,
    /// The exception's message.
    pub message: &'a str,
}

/// Finalizers of one heap that are to run, that run, and that have run.
#[derive(Default)]
pub struct Finalizers {
    /// Found dead, with a finalizer that is to run at the end of a safepoint. Each is held by one count.
    pub queue: Queue<ObjectRef>,
    /// Deferred plan: as many of the queue, from the first, were there when the running mark began, and it has not come to them.
    pub unshown: usize,
    /// Deferred plan: what finalizers had run for has died lately, and with it the last reference to something that is to be finalized
    /// in its turn.
    pub chained: bool,
    /// Where nothing is counted: the last set has left objects for one after that of their owners.
    pub(crate) leaves_owned: bool,
    /// Whose finalizers are running, one inside the other; each is held by one count.
    pub running: List<ObjectRef>,
    /// The same: what their calls have interrupted.
    calls: List<call::Call>,
    /// Have run; their counts go at the next flip. Prompt plan: were registered anew by their own finalizers; their
    /// counts go at the end of the safepoint.
    pub done: List<ObjectRef>,
    /// Registered anew while a collection is running; done when that ends.
    later: List<ObjectRef>,
    /// Held for a set that the mark has not found all of.
    found_by_mark: List<ObjectRef>,
    /// Deferred plan: as many of the queue, from the first, were found dead by epochs that have ended, and are the next set.
    complete: usize,
    /// Deferred plan: as many of the queue, from the first, belong to the set that runs.
    pub(crate) left_in_set: usize,
    /// Prompt plan: as many of the queue, from the first, are in order.
    pub(crate) ordered: usize,
    pub(crate) last_turn: LastTurn,
    /// Deferred and trace plan: turns are no longer than a slice, and the program has its own between them.
    pub(crate) take_turns: bool,
    /// Deferred plan: the queue is complete, or the post-clear queue is not empty. Made true by `finalizers_are_ready` alone.
    ready: bool,
    pub(crate) young: queue::Young,
    /// Deferred plan: objects with finalizers that have not run.
    pub due: u64,
    /// Registrations so far, those at birth included (prompt plan: not where allocation is inline).
    registrations: u64,
    /// A collection is running.
    pub(crate) collecting: bool,
    /// A collection was asked for inside a finalizer.
    pub(crate) collect_wanted: bool,
    /// Finalizers that were called so far.
    pub(crate) called: u64,
    /// Is called for errors before the process's hook is.
    pub on_error: Option<ErrorListener>,
}

/// A hook for errors in Rust.
pub(crate) type ErrorListener = Box<dyn FnMut(&FinalizerError<'_>)>;

impl Finalizers {
    /// The object belongs to a set that the mark has not found all of; a count holds it.
    pub(crate) fn note_found_by_mark(&mut self, object: ObjectRef) {
        self.found_by_mark.push(object);
    }

    /// Deferred plan: objects that are not mature are to be finalized.
    pub(crate) fn has_young(&self) -> bool {
        !self.young.is_empty()
    }

    /// Deferred plan: the young objects with finalizers, none of which are judged, and those of `objects` change places.
    pub(crate) fn swap_young(&mut self, objects: &mut List<ObjectRef>) {
        debug_assert!(self.young.are_not_judged() && (objects.is_empty() || self.young.current.is_empty()));
        std::mem::swap(&mut self.young.current, objects);
    }

    /// Finalizers that are running, one inside the other.
    #[inline(always)]
    pub fn depth(&self) -> u32 {
        self.running.len() as u32
    }

    /// Whether a collection was asked for inside a finalizer, and may take place now: none is running.
    pub(crate) fn takes_wanted_collection(&mut self) -> bool {
        !self.collecting && std::mem::take(&mut self.collect_wanted)
    }

    /// Deferred plan: whether something waits for the end of the next safepoint.
    #[inline(always)]
    pub fn are_ready(&self) -> bool {
        self.ready
    }

    /// Deferred plan: all that were found due have run, and nothing is held for their sake.
    pub fn are_done(&self) -> bool {
        self.queue.is_empty() && self.done.is_empty()
    }

    /// Deferred plan: nothing is due, and what finalizers have run for holds others that are to be finalized when it goes, as far
    /// as the last epoch can tell; or some of those wait for the end of an epoch.
    pub fn has_chain(&self) -> bool {
        self.chained && !self.ready && !(self.done.is_empty() && self.queue.is_empty())
    }

    /// Nothing is due, and the last set has left objects that their owners hold: of a chain of them a collection that marks finds one.
    pub fn wait_for_owners(&self) -> bool {
        self.leaves_owned && self.are_at_rest()
    }

    /// None is due, or running.
    pub fn are_at_rest(&self) -> bool {
        !self.ready && self.queue.is_empty() && self.depth() == 0
    }

    /// Objects that are held by one count for their finalizers' sake, once for each count.
    pub fn held(&self) -> impl Iterator<Item = ObjectRef> + '_ {
        self.queue.iter().chain(&self.done).copied().chain(self.held_beside_lists())
    }

    /// Those that are neither in the queue nor done.
    pub(crate) fn held_beside_lists(&self) -> impl Iterator<Item = ObjectRef> + '_ {
        self.found_by_mark.iter().chain(&self.running).chain(&self.later).copied()
    }
}

/// The process's hook; 0: none.
static HOOK: AtomicUsize = AtomicUsize::new(0);

/// Sets the process's hook for errors; `None`: they are said on standard error.
pub fn on_error(hook: Option<ErrorHook>) {
    HOOK.store(hook.map_or(0, |hook| hook as usize), Ordering::Release);
}

fn hook() -> Option<ErrorHook> {
    // SAFETY: 0, or what `on_error` was given.
    unsafe { std::mem::transmute::<usize, Option<ErrorHook>>(HOOK.load(Ordering::Acquire)) }
}

impl ObjectRef {
    /// Whether the object has a finalizer that is to run when it is found dead.
    #[inline(always)]
    pub fn needs_finalizer(self) -> bool {
        self.meta() & (flag::NON_TRIVIAL | flag::FINALIZED) == flag::NON_TRIVIAL
            && self.type_info().finalizer().is_some()
    }
}

impl std::fmt::Debug for Finalizers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Finalizers({} wait, {} run)", self.queue.len(), self.running.len())
    }
}
