//! The prompt plan's part of a heap: everything is counted at once, and what reaches zero dies at the next safepoint.
//!
//! | room | question |
//! |---|---|
//! | `allocate` | what happens when inline allocation finds no cell? |
//! | `cells`, `bin` | where do small objects lie, and how are their cells taken and given back? |
//! | `free_blocks` | which block is opened next, and whose memory goes back to the system? |
//! | `cell_statistics` | how many objects were and are there? |
//! | `count` | what is counted when a reference is written, and what happens at zero? |
//! | `pending` | which objects are at zero, and when are they drained? |
//! | `quick_drain` | what does a drain do in which hardly anything dies? |
//! | `postponed` | which counts has compiled code put off, and when does it make up for them? |
//! | `address_taken` | what has been stored to roots of older frames? |
//! | `address_taken_walk` | how often is the stack walked for that, where stores are not named? |
//! | `protected` | what does a drain leave alone? |
//! | `reclaim`, `release_stack` | how does a structure die without recursion, in which order, and in slices? |
//! | `finalizer` | how is a destructor called, and what may it do? |
//! | `immortal` | when does an object that never dies begin to be one? |
//! | `nursery` | which objects are so new that nothing was noted about them yet? |
//! | `touched` | what must a mark that works in slices hear of? |
//!
//! A header under this plan is the high part of a count (`count`) and the meta word (`object::prompt_flag`). `[EXACT]`
//! Between two operations of the mutator an object's count equals the words in objects, roots and globals that hold it,
//! plus the references that compiled code carries in registers and has said so; a count at or above 2³¹ is *stuck* and
//! left to the mark.
//!
//! Which cycles are garbage decides `tally-collector`, through the same door as under the deferred plan.

mod address_taken;
mod address_taken_walk;
mod allocate;
mod bin;
mod cell_statistics;
mod cells;
pub mod count;
mod drain_slice;
mod dying;
mod finalizer;
mod free_blocks;
mod immortal;
pub(crate) mod interrupted;
mod nursery;
mod pending;
mod postponed;
mod protected;
mod quick_drain;
mod reclaim;
mod release_stack;
mod resize;
mod safepoint;
pub mod touched;

use crate::heap::options::HeapOptions;
use crate::memory::list::List;
pub use crate::plan::prompt::address_taken::AddressTaken;
use crate::plan::prompt::address_taken_walk::AddressTakenWalk;
pub use crate::plan::prompt::nursery::{Carved, Nursery};
pub use crate::plan::prompt::touched::Touched;
pub use bin::Bin;
pub use cells::CellSpace;
use postponed::Postponed;
pub use protected::Protected;
pub use reclaim::Cascade;
pub(super) use reclaim::prepare_deaths;

use crate::object::ObjectRef;

/// The prompt plan's part of a heap.
#[derive(Debug, Default)]
pub struct Prompt {
    /// Small objects.
    pub cells: CellSpace,
    /// The pending list's memory; how much of it is in use says `Context::pending_top`.
    pending: List<ObjectRef>,
    /// Stores through out-parameters.
    pub address_taken: AddressTaken,
    /// When drains looked for what others have stored to roots.
    address_taken_walk: AddressTakenWalk,
    /// So many drains take the whole way after the next that is tried quickly and comes to no end.
    quick_back_off: u8,
    /// So many more do now.
    quick_passed_over: u8,
    /// Writes whose counts compiled code has put off.
    postponed: Postponed,
    /// First pending object that a drain inside the innermost finalizer may take.
    drain_from: usize,
    /// Finalizers that drains inside finalizers may still call before the program goes on.
    nested_left: u32,
    /// The last drain has left what finalizers had brought to zero to the next safepoint: they always bring more.
    leaves_rest: bool,
    /// The work that calls of the program have interrupted, outermost first.
    parked: List<reclaim::Parked>,
    /// The references of those.
    parked_references: List<ObjectRef>,
    /// Whether drains of the pending list are sliced.
    pub(in crate::plan) sliced_drains: bool,
    /// Whether drains are sliced, and how long slices are, once a step or a complete drain has ended.
    pub(in crate::plan) settings: Option<(bool, u64)>,
    /// Steps of a collection, since the last that was complete, that have found something to be finalized.
    step_rounds: u32,
    /// While a collection is made in steps: so many finalizers were called before it and may be called in it. More are of objects
    /// that were made meanwhile.
    step_calls_max: Option<u64>,
    /// Objects that words passed to a running drain lie in: they stay alive until the next one.
    pub protected: Protected,
    pointer_masks: List<u64>,
    /// Structures that are partly taken apart.
    pub cascades: List<Cascade>,
    /// A quick drain has begun with the last of them, and the drain that follows goes on with it first.
    has_begun: bool,
    /// References of a dying object of a shape that cannot be walked by offsets.
    scratch: List<ObjectRef>,
    /// Units of work left before the clock is looked at, or the drain stops.
    pub(in crate::plan) units_left: i64,
    /// When the running slice began; between two drains, when the last one ended.
    slice_start: Option<std::time::Instant>,
    /// Candidates that the driver keeps for later.
    pub candidates_elsewhere: usize,
    /// Cells handed out when the candidates were last tried.
    pub handed_at_round: u64,
    /// Candidates that make the next round of trials due.
    pub round_at: usize,
    /// Garbage that is not noted.
    pub passed_over: PassedOver,
    /// The program has come back from `setjmp`, the second time perhaps, or has called `exit`, since a recount last asked: frames that
    /// these leave keep their counts, which only a mark makes good.
    pub landed: bool,
    /// The touched objects, for a mark that works in slices.
    pub touched: Touched,
}

/// Whether unnoted garbage may have been passed over, by batches or a sample of what they brought up: a
/// recount cannot tell it from garbage that was lost.
#[derive(Debug, Default)]
pub struct PassedOver {
    since_mark: bool,
    since_discovery: bool,
}

impl PassedOver {
    /// Some may have been.
    pub fn note(&mut self) {
        (self.since_mark, self.since_discovery) = (true, true);
    }

    /// Whether some may be there.
    pub fn may_be_there(&self) -> bool {
        self.since_mark
    }

    /// A mark begins to discover the living objects.
    pub fn discovery_begins(&mut self) {
        self.since_discovery = false;
    }

    /// And has freed the garbage of that moment.
    pub fn mark_has_ended(&mut self) {
        self.since_mark = self.since_discovery;
    }
}

impl Prompt {
    /// The heap has its number. Without trials the young are not looked at.
    pub(crate) fn begin(&mut self, owner: u32, options: &HeapOptions) {
        self.cells.owner = owner;
        self.cells.nursery.off = !options.trials;
        self.round_at = FIRST_ROUND;
    }
}

/// Candidates that make the first round of trials due.
pub const FIRST_ROUND: usize = 2048;
