//! Writes whose counts compiled code has put off. `[EXACT]`
//!
//! In a loop of writes the counts of the new reference and of the old one are cache misses, and their
//! branches (was it null? has anything to be noted?) guess wrongly; behind such a branch, or with the instructions of
//! two counts between one write and the next, a processor looks for no other miss. But nothing dies before the next
//! safepoint, and no code reads a count till then. So a loop only notes both words, whatever they are, and counts follow
//! in one pass, whose misses overlap:
//!
//! ```text
//! compiled:  old = o.slot;  o.slot = v;  *context.postponed_top++ = (v, old)      at the end of the room: tally_postpone
//! here:      for each pair, in order:  increment(v);  decrement(old): at zero pending, at once; not settled: noted afterwards
//! ```
//!
//! The lowering has this done before every safepoint but its own polls, and before its function ends; so does each
//! drain, and whatever begins with one. An object that reaches zero otherwise waits for the writes postponed before it: objects are
//! pending in the order in which they lost their references.
//!
//! Expected cost of a write: 3 loads, 4 stores, 1 branch that is always guessed; of its pair here about 30
//! instructions. Ten million random writes into a million objects take three quarters of the time. Without fetching
//! ahead they took 0.9.

mod apply;

use crate::memory::list::List;
use crate::object::ObjectRef;

/// Writes that are put off at most: with 8 KiB they stay in the first-level cache.
const ROOM: usize = 512;
/// Pairs whose counts are fetched before it is their turn.
const AHEAD: usize = 16;

/// Fewer pairs than this are counted without fetching ahead: the processor sees them all.
const MANY: usize = 64;

/// The new and the old reference of a field.
type Pair = [u64; 2];

/// The memory of postponed writes; `Context::postponed_top` says how much of it is in use.
#[derive(Debug, Default)]
pub(crate) struct Postponed {
    /// None, or `ROOM` pairs and as many as are fetched beyond them.
    pairs: List<Pair>,
    /// Objects that were not settled; memory of one pass.
    unsettled: List<ObjectRef>,
}
