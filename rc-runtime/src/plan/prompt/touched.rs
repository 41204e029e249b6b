//! Touched objects: those that a mark in slices must look at because the program got hold of them in between. `[EXACT]`
//!
//! Most of such a mark (`tally_collector::plan::prompt::sliced_mark`) needs nothing of the program but that new objects are
//! marked. Its last part proves by counts that unmarked objects are dead, and that proof holds only for objects that
//! have not been touched since it began. An object is touched when
//!
//! - a reference to it goes from an object or a global, or from something that dies: it was made *unsettled* before,
//!   so the decrement comes to `flag_candidate`, whose first line asks here;
//! - a weak slot yields it, or it becomes immortal.
//!
//! - something that is being taken apart holds it, and began to die since the watch is on: the proof may have counted what it
//!   holds as found in something unmarked, and it is not judged itself any more (`dying`).
//!
//! A touched object is marked, and on a list: the objects it reaches are alive with it. References that come, and those of roots
//! that go, need no note: the proof compares counts, and has looked at the roots.
//!
//! Expected cost while no mark proves anything: one load and one branch for each candidate, and for each weak slot that is read.

mod note;

use crate::memory::list::List;
use crate::object::ObjectRef;

/// The touched objects, and what else a mark in slices must look at.
#[derive(Debug, Default)]
pub struct Touched {
    /// Upgrades ask for more than the object's header: a mark proves, or something condemned or fading might be yielded.
    pub(crate) asks_at_upgrades: bool,
    /// Unmarked objects that were touched; they are marked now.
    pub objects: List<ObjectRef>,
    /// Large objects that are being taken apart: a mark comes to what they still hold, a chunk at a time.
    pub dying_large: List<ObjectRef>,
    /// The chunk of the last of them that is next, or a later one.
    pub(super) dying_chunk: u64,
    /// There was no memory to list a touched object: the mark is given up.
    pub starved: bool,
    /// The proof is void: all objects were shown to the program. The mark begins anew.
    pub begin_anew: bool,
    /// A large object of the condemned, and the next of its chunks to release. A condemned object flagged `DEAD` has released its references.
    pub condemned_large: Option<(ObjectRef, u64)>,
}
