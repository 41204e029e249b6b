//! The roots of compiled code, found by the walk of a flip. The walk starts where compiled code called the runtime.
//! `[ROOT]`
//!
//! `module::loaded` knows the frames with roots and the names of these; `stack-roots` walks the stack.
//!
//! A root slot is read by its descriptor if it has one (`llvm.gcroot`'s second argument), else as one plain reference.
//!
//! The collector asks through [`RootSource`]. A flip's walk of a deep stack pauses after some frames and goes on in
//! slices: `diversion` ensures that the walk visits a frame before the program comes back to it. The program must not
//! store to a root of a waiting frame through a pointer either: frames that *lend* roots record themselves in the
//! context (`Context::lent_high`), and all frames down to the last of them are visited at once.
//!
//! The walk must reach the bottom: the entry of `main`, or on other threads the frame that has no caller. If a native
//! frame without an unwind table hides the rest, the program is stopped: otherwise objects that those frames hold
//! would be freed.

use crate::module::loaded::{self, How, Snapshot};
use crate::module::record::LENT_ROOT;
use crate::module::registry::text;
use crate::stack::diversion::{self, Removal};
use crate::stack::plain_root::visit_plain_root;
use crate::stack::reentry::reentry_return;
use crate::stack::root_metadata;
use crate::stack::shadow_stack::{self, ChainEnd, ShadowTypes};
use crate::thread::stack_overflow::Stack;
use stack_roots::{
    Entries, Frame, FrameRoot, FrameTable, FrameTables, Lookup, Origin, Position, Reach, Registers, StackEnd,
    StackVisit, UnwindEnd, unwind, visit_some, visit_thread_stack,
};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use tally_collector::root_source::{Headway, RootList, RootSource};
use tally_heap::context::Context;
use tally_heap::fatal::{self, STATUS_VIOLATION};
use tally_heap::memory::range;
use tally_heap::{Heap, ObjectRef, zeal};

/// A heap's view of the registered modules.
#[derive(Debug, Default)]
pub(crate) struct StackRoots {
    pub(super) snapshot: Arc<Snapshot>,
    version: u64,
    pub(super) shadow_types: ShadowTypes,
    rest: Option<Rest>,
    /// The program ran since the walk was last examined: the frames that wait may be gone.
    program_ran: bool,
    /// Steps of the unwinder, in all.
    unwinder_steps: Cell<u64>,
}

/// The rest of a walk, left for later.
#[derive(Debug)]
struct Rest {
    /// The newest frame not visited; the return into it is diverted.
    at: Position,
    /// Stack pointer of the oldest frame so far that lends a root.
    lent: u64,
}

impl Drop for StackRoots {
    fn drop(&mut self) {
        if self.rest.is_some() {
            let here = 0_u64;
            diversion::undo(&raw const here as u64);
        }
    }
}

/// Frames to step over in the check that the waiting frames are still there. If the program has gone deeper than that
/// since the walk paused, it has overwritten all the words that it covers.
const FRAMES_CHECKED: usize = 8192;

/// Frames that the walk visits in the time of one step of the unwinder, at least.
const FRAMES_PER_STEP: u64 = 4;

impl StackRoots {
    pub(super) fn refresh(&mut self) {
        let version = loaded::version();
        if version != self.version {
            self.snapshot = loaded::current();
            self.version = version;
        }
    }

    /// Whether the stack leads from the program's position to the frame with stack pointer `sp`, the return into
    /// which is diverted. A native function may have caught a jump over that frame and then called others, which
    /// cover the diverted words without writing there.
    fn leads_to(&self, context: &Context, sp: u64) -> bool {
        let Some(registers) = anchor(context) else { return true };
        let diverted = diversion::current().map_or(0, |diversion| diversion.through);
        let entries = Entries { bottom: diverted, diversion: None, ..entries() };
        let from = Position { is_active: true, ..Position::from(registers) };
        let mut stack = StackReader::new(registers.sp);
        let walked =
            visit_some(from, |address| stack.read(address), &self.snapshot.frames, entries, FRAMES_CHECKED, |_| ());
        match walked.end {
            StackEnd::Bottom { registers } => registers.sp == sp,
            StackEnd::Paused { .. } => true,
            StackEnd::EndOfStack { .. } | StackEnd::Malformed { .. } => false,
        }
    }

    /// Whether the walk of a flip may leave frames for later: no other code stores to the roots of frames below
    /// without a note, and the mutator runs on before the epoch is over.
    fn may_pause(&self, heap: &Heap, registers: &Registers) -> bool {
        let here = 0_u64;
        let here = &raw const here as u64;
        // The call by which compiled code left must not have returned: after it has, its frames may be gone.
        let mut stack = StackReader::new(here & !7);
        let is_left = registers.sp > here && stack.read(registers.sp - 8) == Some(registers.pc);
        is_left
            && heap.zeal.is_none()
            && !heap.options().stop_the_world
            && heap.is_attached()
            && self.snapshot.say_what_they_lend
            && diversion::is_free(here)
    }

    /// Ends the walk, or makes it wait at a frame for the program to come back there.
    fn leave_off(&mut self, heap: &mut Heap, rest: Option<Position>, lent: u64) -> Headway {
        match rest {
            Some(at) => {
                diversion::divert(heap, &at.registers);
                self.rest = Some(Rest { at, lent });
                Headway::Some
            }
            None => {
                let lent_high = &mut heap.context_mut().lent_high;
                *lent_high = lent.max(*lent_high);
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
        lent: &mut u64,
        into: &mut RootList,
    ) -> Option<Position> {
        let snapshot = &*self.snapshot;
        let mut slots = 0;
        let (visited, rest) = walk(from, snapshot, limit, |root| {
            slots += 1;
            if root.id & LENT_ROOT != 0 {
                *lent = root.sp.max(*lent);
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

impl RootSource for StackRoots {
    fn begin(&mut self, heap: &mut Heap, frames: usize, into: &mut RootList) -> Headway {
        debug_assert!(self.rest.is_none());
        let Some(registers) = anchor(heap.context_mut()) else { return Headway::Done };
        self.refresh();
        let may_pause = self.may_pause(heap, &registers);
        let limit = if may_pause { frames } else { usize::MAX };
        let from = Position { is_active: may_pause, ..Position::from(registers) };
        // Frames that lend roots from here on will record themselves again.
        let lent_before = std::mem::take(&mut heap.context_mut().lent_high);
        let mut lent = 0;
        let mut rest = self.walk(heap, from, limit, &mut lent, into);
        while let Some(at) = rest.filter(|at| at.registers.sp <= lent_before) {
            rest = self.walk(heap, at, limit, &mut lent, into);
        }
        let mut slots = 0;
        let visit = |slot: u64, meta| {
            slots += 1;
            self.shadow_types.visit_root(slot, meta, |object| {
                take(heap, object, into, &|| format!("the shadow stack's root at {slot:#x}"));
            })
        };
        // SAFETY: the stack of this thread.
        let end = unsafe { shadow_stack::visit(stack_low(), registers.sp..stack_end(), visit) };
        if end == ChainEnd::Gone {
            shadow_stack::stop_at_lost_frames();
        }
        heap.statistics.roots_walked += slots;
        self.leave_off(heap, rest, lent)
    }

    fn go_on(&mut self, heap: &mut Heap, frames: usize, into: &mut RootList) -> Headway {
        let Some(Rest { at, mut lent }) = self.rest.take() else { return Headway::Done };
        let here = 0_u64;
        let is_gone = std::mem::take(&mut self.program_ran)
            && diversion::waiting_sp().is_some_and(|sp| !self.leads_to(heap.context_mut(), sp));
        if is_gone {
            diversion::give_up();
        }
        let is_cut = is_gone || diversion::undo(&raw const here as u64) == Removal::Cut;
        // Where no compiled code runs, the program has ended, or the thread: all its frames are gone.
        if is_cut || anchor(heap.context_mut()).is_none() {
            return Headway::Cut;
        }
        self.refresh();
        let rest = self.walk(heap, at, frames, &mut lent, into);
        self.leave_off(heap, rest, lent)
    }

    fn has_rest(&self) -> bool {
        self.rest.is_some()
    }

    fn note_that_the_program_ran(&mut self) {
        self.program_ran = true;
    }

    fn mark_begins(&mut self) {
        root_metadata::mark_begins();
    }

    fn mark_ends(&mut self) {
        root_metadata::mark_ends();
    }

    fn units_walked(&self, heap: &Heap) -> u64 {
        let statistics = &heap.statistics;
        statistics.frames_walked + statistics.roots_walked + self.unwinder_steps.get() * FRAMES_PER_STEP
    }

    fn unwinder_steps(&self) -> u64 {
        self.unwinder_steps.get()
    }

    fn end(&self) -> u64 {
        stack_end()
    }
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
    visit: impl FnMut(&FrameRoot),
) -> (StackVisit, Option<Position>) {
    let mut stack = StackReader::new(from.registers.sp);
    let walked = visit_some(from, |address| stack.read(address), &snapshot.frames, entries(), limit, visit);
    match walked.end {
        StackEnd::Paused { at } => return (walked, Some(at)),
        StackEnd::Bottom { .. } => {}
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
    (walked, None)
}

/// Checks the object in a root, and passes it on.
#[inline(always)]
fn take(heap: &Heap, object: ObjectRef, into: &mut RootList, name: &dyn Fn() -> String) {
    if heap.zeal.is_some() {
        refuse_foreign(heap, object, name);
    }
    if heap.owns(object) {
        into.push(heap, object, name);
    }
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
    // No frame returns to 0: the first step is the unwinder's.
    let here = Registers { pc: 0, sp: &raw const frames as u64 & !7, fp: 0, rbx: None };
    let mut stack = StackReader::new(here.sp);
    let walked = visit_thread_stack(here, |address| stack.read(address), &frames, entries(), |_| ());
    if let Some(frame) = frames.seen.get() {
        let named = frame.roots.last().and_then(|root| snapshot.roots.get(root.id));
        let address = frame.function.address;
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
    // SAFETY: dladdr fills the struct for an address of a loaded file; its strings live as long as that.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: takes any address.
    if unsafe { libc::dladdr(pc as *const libc::c_void, &mut info) } == 0 {
        return format!("{pc:#x}");
    }
    let offset = pc - info.dli_fbase as u64;
    // SAFETY: names that `dladdr` found, or null.
    let [file, symbol] = [info.dli_fname, info.dli_sname].map(|name| unsafe { text(name) });
    let file = file.unwrap_or_default();
    match symbol {
        Some(symbol) => format!("{pc:#x} (in or after `{symbol}`, {file}+{offset:#x})"),
        None => format!("{pc:#x} ({file}+{offset:#x})"),
    }
}

impl Snapshot {
    fn visit_root(&self, root: &FrameRoot, found: impl FnMut(ObjectRef)) {
        match self.roots.how(root.id) {
            // SAFETY: [ROOT] a root that this type describes.
            Some(How::Type(how)) => unsafe { how.for_each_reference_in_root(root.slot_address, found) },
            Some(&How::Metadata(meta)) => {
                root_metadata::visit_root(root.slot_address, meta, || self.describe(root), found);
            }
            None => visit_plain_root(root.slot_address, found),
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
        StackReader { low: sp, high: stack_end() }
    }

    fn read(&mut self, address: u64) -> Option<u64> {
        if address < self.low || address >= self.high || address & 7 != 0 {
            return None;
        }
        // SAFETY: between the stack pointer and the end of this thread's stack.
        Some(unsafe { *(address as *const u64) })
    }
}

/// The lowest address of the calling thread's stack; the highest of all where the C library does not know it.
pub(super) fn stack_low() -> u64 {
    stack_bounds().0
}

/// One past the calling thread's stack.
pub(crate) fn stack_end() -> u64 {
    stack_bounds().1
}

/// Asked once for a thread: the C library reads the process's list of mappings.
fn stack_bounds() -> (u64, u64) {
    thread_local!(static BOUNDS: (u64, u64) = match Stack::of_this_thread() {
        Stack { high: 0, .. } => (!7, !7),
        stack => (stack.low, stack.high),
    });
    BOUNDS.with(|bounds| *bounds)
}
