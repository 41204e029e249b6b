//! The roots of compiled code, found by the walk of a flip. The walk starts where compiled code called the runtime.
//! `[ROOT]`
//!
//! `module::loaded` knows the frames with roots and the names of these; `stack-roots` walks the stack.
//!
//! A root slot is read by its descriptor if it has one (`llvm.gcroot`'s second argument), else as one plain reference.
//!
//! The collector asks through [`RootSource`](tally_collector::root_source::RootSource). A flip's walk of a deep stack pauses after some frames and goes on in
//! slices: `diversion` ensures that the walk visits a frame before the program comes back to it. The program must not
//! store to a root of a waiting frame through a pointer either: frames that *lend* roots record themselves in the
//! context (`Context::address_taken_high`), and all frames down to the last of them are visited at once.
//!
//! The walk must reach the bottom: the entry of `main`, or on other threads the frame that has no caller. If a native
//! frame without an unwind table hides the rest, the program is stopped: otherwise objects that those frames hold
//! would be freed.
//!
//! Frames that `exit` has left have no roots any more (`ended`).

mod guard;
mod source;

use crate::arch::untabled_thread_start;
use crate::module::loaded::{self, Snapshot};
use crate::module::record::ADDRESS_TAKEN_ROOT;
use crate::module::registry::text;
use crate::module::root_table::How;
use crate::stack::anchor::NO_CALL;
use crate::stack::bounds;
use crate::stack::diversion;
use crate::stack::ended::Ended;
use crate::stack::plain_root::visit_plain_root;
use crate::stack::reentry::reentry_return;
use crate::stack::root_metadata;
use crate::stack::shadow_stack::ShadowTypes;
use stack_roots::{
    Entries, Frame, FrameRoot, FrameTable, FrameTables, Lookup, Origin, Position, Reach, Registers, StackEnd,
    StackVisit, UnwindEnd, unwind, visit_some, visit_stopped_stack, visit_thread_stack,
};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use tally_collector::root_source::{Headway, RootList};
use tally_heap::context::Context;
use tally_heap::fatal::{self, STATUS_VIOLATION};
use tally_heap::memory::range;
use tally_heap::{Heap, ObjectRef, zeal};

/// A heap's view of the registered modules.
#[derive(Default)]
pub(crate) struct StackRoots {
    pub(crate) snapshot: Arc<Snapshot>,
    version: u64,
    pub(super) shadow_types: ShadowTypes,
    rest: Option<Rest>,
    /// The program ran since the walk was last examined: the frames that wait may be gone.
    program_ran: bool,
    /// Steps of the unwinder, in all.
    unwinder_steps: Cell<u64>,
}

/// In short: what a whole heap's driver holds is more than anybody reads, and all its parts would be in every executable.
impl fmt::Debug for StackRoots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StackRoots").finish_non_exhaustive()
    }
}

/// The rest of a walk, left for later.
#[derive(Debug)]
struct Rest {
    /// The newest frame not visited; the return into it is diverted.
    at: Position,
    /// Stack pointer of the oldest frame so far that lends a root.
    address_taken: u64,
}

impl Drop for StackRoots {
    fn drop(&mut self) {
        if self.rest.is_some() {
            let here = 0_u64;
            diversion::undo(&raw const here as u64);
            diversion::lift_guard();
        }
    }
}

impl StackRoots {
    pub(super) fn refresh(&mut self) {
        let version = loaded::version();
        if version != self.version {
            self.snapshot = loaded::current();
            self.version = version;
        }
    }

    /// Whether the walk of a flip may leave frames for later: no other code stores to the roots of frames below
    /// without a note, and the mutator runs on before the epoch is over.
    fn may_pause(&self, heap: &Heap, registers: &Registers) -> bool {
        let here = 0_u64;
        let here = &raw const here as u64;
        is_left_by(registers, here)
            && heap.zeal.is_none()
            && !heap.options().stop_the_world
            && heap.is_attached()
            && self.snapshot.say_what_they_lend
            && diversion::is_free(here)
    }

    /// Ends the walk, or makes it wait at a frame for the program to come back there.
    fn leave_off(&mut self, heap: &mut Heap, rest: Option<Position>, address_taken: u64) -> Headway {
        match rest {
            Some(at) => {
                diversion::divert(heap, &at.registers, at.pair);
                self.rest = Some(Rest { at, address_taken });
                Headway::Some
            }
            None => {
                let address_taken_high = &mut heap.context_mut().address_taken_high;
                *address_taken_high = address_taken.max(*address_taken_high);
                Headway::Done
            }
        }
    }

    /// Visits frames, and notes the highest that lends a root.
    fn walk(
        &self,
        heap: &mut Heap,
        from: Position,
        limit: usize,
        address_taken: &mut u64,
        into: &mut RootList,
    ) -> Option<Position> {
        let snapshot = &*self.snapshot;
        let mut slots = 0;
        let (visited, rest) = walk(from, snapshot, limit, |root| {
            slots += 1;
            if root.id & ADDRESS_TAKEN_ROOT != 0 {
                *address_taken = root.sp.max(*address_taken);
            }
            snapshot.visit_root(root, |object| take(heap, object, into, &|| snapshot.describe(root)));
        });
        let statistics = &mut heap.statistics;
        statistics.frames_walked += visited.frames as u64;
        statistics.roots_walked += slots;
        self.unwinder_steps.set(self.unwinder_steps.get() + visited.unwinder_steps as u64);
        rest
    }
}

/// Whether the anchor is of a call that has not returned: after it has, the frames of compiled code may be gone.
fn is_left_by(anchor: &Registers, here: u64) -> bool {
    let mut stack = StackReader::new(here & !7);
    anchor.pc != NO_CALL && anchor.sp > here && stack.read(anchor.sp - 8) == Some(anchor.pc)
}

/// The registers where compiled code left for the runtime; `None` when no compiled code runs.
pub(super) fn anchor(context: &Context) -> Option<Registers> {
    let rbx = Some(context.exit_rbx);
    (context.exit_pc != 0).then_some(Registers { pc: context.exit_pc, sp: context.exit_sp, fp: context.exit_fp, rbx })
}

/// Visits the roots of the calling thread's compiled frames, down to the bottom of the stack, or of `limit` of them.
/// Returns the number of frames visited, and the position where the walk goes on.
pub(super) fn walk(
    from: Position,
    snapshot: &Snapshot,
    limit: usize,
    mut visit: impl FnMut(&FrameRoot),
) -> (StackVisit, Option<Position>) {
    let ended = Ended::of_this_thread();
    let walked = if ended.are_any() {
        walk_by_calls(from, snapshot, limit, &mut ended.left_out_of(&mut visit))
    } else {
        walk_all(from, snapshot, limit, visit)
    };
    if let StackEnd::Paused { at } = walked.end {
        return (walked, Some(at));
    }
    check_end(walked.end);
    (walked, None)
}

#[inline(always)]
fn walk_all(from: Position, snapshot: &Snapshot, limit: usize, visit: impl FnMut(&FrameRoot)) -> StackVisit {
    let mut stack = StackReader::new(from.registers.sp);
    visit_some(from, |address| stack.read(address), &snapshot.frames, entries(), limit, visit)
}

/// The same for what is rare: compiled once, and so small.
#[cold]
#[inline(never)]
fn walk_by_calls(from: Position, snapshot: &Snapshot, limit: usize, visit: &mut dyn FnMut(&FrameRoot)) -> StackVisit {
    walk_all(from, snapshot, limit, visit)
}

/// Stops the process if a walk has not come to the bottom of the stack.
fn check_end(end: StackEnd) {
    match end {
        StackEnd::Bottom { .. } | StackEnd::Paused { .. } => {}
        // The unwinder's last step: the first frame of a thread has no caller.
        StackEnd::EndOfStack { pc: 0 } => {}
        StackEnd::EndOfStack { pc } => fatal::stop(
            STATUS_VIOLATION,
            &format!(
                "the stack cannot be walked beyond {}: that native code has no unwind table, so the roots of the functions \
                 that called it cannot be found; compile it with -fasynchronous-unwind-tables (or -funwind-tables), or let it call \
                 back through tally_call_managed",
                native_place(pc)
            ),
        ),
        StackEnd::Malformed { registers, fault } => fatal::stop(
            STATUS_VIOLATION,
            &format!("the stack is not as compiled code leaves it at {}: {fault}", native_place(registers.pc)),
        ),
    }
}

/// The registers at a call that has not returned.
pub(super) fn anchor_of_running_call(context: &Context) -> Option<Registers> {
    let here = 0_u64;
    anchor(context).filter(|registers| is_left_by(registers, &raw const here as u64))
}

/// Steps through the innermost frames, as many as `limit`, which `frames` looks up. A stack that cannot be walked ends the walk.
pub(super) fn walk_innermost(from: Registers, frames: &impl Lookup, limit: usize) {
    let mut stack = StackReader::new(from.sp);
    visit_some(Position::from(from), |address| stack.read(address), frames, entries(), limit, |_| ());
}

/// Visits the roots of a stopped stack with these bounds, whose newest compiled frame has these registers.
pub(super) fn walk_stopped(
    registers: Registers,
    bounds: Range<u64>,
    snapshot: &Snapshot,
    visit: impl FnMut(&FrameRoot),
) -> StackVisit {
    let mut stack = StackReader { low: registers.sp, high: bounds.end };
    let visit = Ended::of_this_thread().left_out_of(visit);
    let visited = visit_stopped_stack(registers, |address| stack.read(address), &snapshot.frames, entries(), visit);
    check_end(visited.end);
    visited
}

/// Checks the object in a root, and passes it on.
#[inline(always)]
fn take(heap: &Heap, object: ObjectRef, into: &mut RootList, name: &dyn Fn() -> String) {
    if is_ours(heap, object, name) {
        into.push(heap, object, name);
    }
}

/// Whether the object in a root is one of this heap. Zeal knows no others.
#[inline(always)]
pub(super) fn is_ours(heap: &Heap, object: ObjectRef, name: &dyn Fn() -> String) -> bool {
    if heap.zeal.is_some() {
        refuse_foreign(heap, object, name);
    }
    heap.owns(object)
}

#[cold]
fn refuse_foreign(heap: &Heap, object: ObjectRef, name: &dyn Fn() -> String) {
    let Some(zeal) = &heap.zeal else { return };
    if !range::is_reserved(object.address()) {
        let what = format!("{} holds {}", name(), heap.place(zeal, object.address()));
        heap.violation("ROOT", &what);
    }
    if !heap.owns(object) {
        let what = format!("{} holds {:#x}, {}", name(), object.address(), zeal::access::FOREIGN);
        heap.violation("ROOT", &what);
    }
}

/// The stack pointer of the newest compiled frame with roots on the calling thread's stack.
pub(crate) fn newest_with_roots() -> Option<u64> {
    let snapshot = loaded::current();
    let mut newest = None;
    let mut at = Position::from(from_native_code());
    loop {
        match walk_by_calls(at, &snapshot, 1, &mut |root| _ = newest.get_or_insert(root.sp)).end {
            StackEnd::Paused { at: next } if newest.is_none() => at = next,
            _ => return newest,
        }
    }
}

/// Registers from which a walk begins in native code. No frame returns to 0: the first step is the unwinder's.
#[inline(always)]
fn from_native_code() -> Registers {
    let here = 0_u64;
    Registers { pc: 0, sp: &raw const here as u64 & !7, fp: 0, rbx: None }
}

/// Returns a function of a registered module that has a frame on the calling thread's stack, if there is one.
///
/// # Errors
/// The place where the walk cannot go on: the frames below are not known.
pub fn active_function(module: u64) -> Result<Option<String>, String> {
    /// Looks frames up in all modules, and notes the first of one.
    struct Watching<'t> {
        all: &'t FrameTables,
        watched: &'t FrameTable,
        seen: Cell<Option<Frame<'t>>>,
    }
    impl Lookup for Watching<'_> {
        fn lookup(&self, pc: u64) -> Option<Frame<'_>> {
            if self.seen.get().is_none() {
                self.seen.set(self.watched.lookup(pc));
            }
            self.all.lookup(pc)
        }
    }
    let Some(watched) = loaded::frames_of(module) else { return Ok(None) };
    let snapshot = loaded::current();
    let frames = Watching { all: &snapshot.frames, watched: &watched, seen: Cell::new(None) };
    let here = from_native_code();
    let mut stack = StackReader::new(here.sp);
    let walked = visit_thread_stack(here, |address| stack.read(address), &frames, entries(), |_| ());
    if let Some(frame) = frames.seen.get() {
        let named = frame.roots.last().and_then(|root| snapshot.roots.get(root.id));
        let address = frame.function().address;
        return Ok(Some(
            named.map_or_else(|| format!("the one at {address:#x}"), |root| format!("`{}`", root.function)),
        ));
    }
    match walked.end {
        StackEnd::Bottom { .. } | StackEnd::Paused { .. } | StackEnd::EndOfStack { pc: 0 } => Ok(None),
        StackEnd::EndOfStack { pc } | StackEnd::Malformed { registers: Registers { pc, .. }, .. } => {
            Err(native_place(pc))
        }
    }
}

/// The return addresses by which the walk knows that managed code was entered.
fn entries() -> Entries {
    Entries { bottom: bottom(), reentry: reentry_return(), diversion: diversion::current() }
}

/// The return address at which the walk ends: in the entry of `main`, or, on a thread that the C library started, in
/// the C library.
fn bottom() -> u64 {
    thread_local!(static BOTTOM: Cell<Option<u64>> = const { Cell::new(None) });
    // SAFETY: [CONTEXT] this thread's context.
    if unsafe { (*tally_heap::context::current()).entry } != 0 {
        return crate::program::entry_return();
    }
    BOTTOM.get().unwrap_or_else(|| {
        let bottom = thread_start().unwrap_or_else(crate::program::entry_return);
        BOTTOM.set(Some(bottom));
        bottom
    })
}

/// Finds the bottom of the thread's own stack, before the thread leaves it for another.
pub(super) fn note_bottom() {
    bottom();
}

/// The return address in the C library's function that called this thread's start routine. It lies at one place of
/// the stack, below everything. Where it started managed code directly, the unwinder need not look for the end.
fn thread_start() -> Option<u64> {
    /// Knows no frame, and notes the addresses that were looked up.
    struct Seen(RefCell<Vec<u64>>);
    impl Lookup for Seen {
        fn lookup(&self, pc: u64) -> Option<Frame<'_>> {
            self.0.borrow_mut().push(pc);
            None
        }
    }
    let seen = Seen(RefCell::default());
    let end =
        unwind(Origin::Top { from_sp: 0 }, Reach::Bottom, |_| None, &seen, crate::program::entry_return(), |_| ()).end;
    let mut pcs = seen.0.into_inner();
    pcs.retain(|&pc| pc != 0);
    let last = *pcs.last()?;
    if end == (UnwindEnd::EndOfStack { pc: last }) && untabled_thread_start() == Some(last) {
        return Some(last);
    }
    // From the top: … start routine's callee, `start_thread`, `clone`, and nothing.
    let [.., start_thread, _clone] = pcs[..] else { return None };
    let is_the_librarys = file_base(start_thread)? == file_base(libc::pthread_create as *const () as u64)?;
    (end == UnwindEnd::EndOfStack { pc: 0 } && is_the_librarys).then_some(start_thread)
}

/// The load address of the file that holds an address of code.
fn file_base(pc: u64) -> Option<u64> {
    // SAFETY: dladdr fills the struct for an address of a loaded file.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: takes any address.
    let is_known = unsafe { libc::dladdr(pc as *const libc::c_void, &mut info) } != 0;
    is_known.then_some(info.dli_fbase as u64)
}

/// An address of code as text: the exported function that holds it, and the file.
fn native_place(pc: u64) -> String {
    match symbol_of(pc) {
        (Some(symbol), Some(file), offset) => format!("{pc:#x} (in or after `{symbol}`, {file}+{offset:#x})"),
        (None, Some(file), offset) => format!("{pc:#x} ({file}+{offset:#x})"),
        (_, None, _) => format!("{pc:#x}"),
    }
}

/// The exported function that holds an address of code, or ends before it, the file, and the offset there; without a file, the address.
pub(super) fn symbol_of(pc: u64) -> (Option<String>, Option<String>, u64) {
    // SAFETY: dladdr fills the struct for an address of a loaded file; its strings live as long as that.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: takes any address.
    if unsafe { libc::dladdr(pc as *const libc::c_void, &mut info) } == 0 {
        return (None, None, pc);
    }
    // SAFETY: names that `dladdr` found, or null.
    let [file, symbol] = [info.dli_fname, info.dli_sname].map(|name| unsafe { text(name) });
    (symbol, Some(file.unwrap_or_default()), pc - info.dli_fbase as u64)
}

impl Snapshot {
    #[inline(always)]
    fn visit_root(&self, root: &FrameRoot, found: impl FnMut(ObjectRef)) {
        self.visit_slot(root.slot_address, root.id, found);
    }

    /// Calls `found` with what the slot of a root holds.
    #[inline(always)]
    pub(super) fn visit_slot(&self, slot: u64, id: u64, found: impl FnMut(ObjectRef)) {
        match self.roots.how(id) {
            // SAFETY: [ROOT] a root that this type describes.
            Some(How::Type(how)) => unsafe { how.for_each_reference_in_root(slot, found) },
            Some(&How::Metadata(meta)) => {
                root_metadata::visit_root(slot, meta, || self.name_of(slot, id), found);
            }
            None => visit_plain_root(slot, found),
        }
    }

    #[cold]
    fn name_of(&self, slot: u64, id: u64) -> String {
        match self.roots.get(id) {
            Some(named) => format!("root `{}` of function `{}`", named.name, named.function),
            None => format!("a root at {slot:#x}"),
        }
    }

    fn describe(&self, root: &FrameRoot) -> String {
        match self.roots.get(root.id) {
            Some(named) => format!("root `{}` of function `{}` (called at {:#x})", named.name, named.function, root.pc),
            None => format!("root number {} of the frame called at {:#x}", root.ordinal, root.pc),
        }
    }
}

/// Reads words of the calling thread's stack, and nothing else.
struct StackReader {
    low: u64,
    high: u64,
}

impl StackReader {
    fn new(sp: u64) -> StackReader {
        StackReader { low: sp, high: bounds::end() }
    }

    fn read(&mut self, address: u64) -> Option<u64> {
        if address < self.low || address >= self.high || address & 7 != 0 {
            return None;
        }
        // SAFETY: between the stack pointer and the end of this thread's stack.
        Some(unsafe { *(address as *const u64) })
    }
}

#[cfg(test)]
mod tests {
    use super::{NO_CALL, Registers, is_left_by};

    /// The word below the anchor is whatever the compiler has put there.
    #[test]
    fn anchor_that_no_call_has_made_is_none_of_a_call_whatever_lies_below_it() {
        let here = 0_u64;
        let words = [NO_CALL, 77, 0];
        let anchor = |pc, word: usize| Registers { pc, sp: &raw const words[word + 1] as u64, fp: 0, rbx: None };
        let here = (&raw const here as u64).min(&raw const words as u64 - 8);
        assert!(is_left_by(&anchor(77, 1), here), "a call that has not returned");
        assert!(!is_left_by(&anchor(78, 1), here), "one that has");
        assert!(!is_left_by(&anchor(NO_CALL, 0), here));
    }
}
