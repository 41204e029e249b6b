//! Coroutines as the heap sees them: objects that refer to what the frames of a stopped stack hold.
//!
//! `tally-compiled` owns the stacks, switches between them and walks their frames; this file has the objects. A stack
//! that does not run does not change. So its frames are *laid down* before the collector looks at roots: the references
//! in them are copied to an ordinary object, its *image*, and the coroutine refers to that. All passes then see frames as
//! fields: trials and marks find cycles through a sleeping stack, promotion counts what it holds, and a flip passes over
//! it as over any old object. Before a stack goes on, its image is forgotten by an ordinary write of null, and the walk
//! finds its roots on the stack again. To the collector both are steps of the program: it has stored its roots into an
//! object, and has loaded them again.
//!
//! ```text
//!   coroutine { counted, copied, record, argument }        record: the stack, outside the heap; dropped with the coroutine
//!                  │       └─► image { length, next, references… } ─► …
//!                  └─────────► image { length, next, references… } ─► …
//! ```
//!
//! Under the prompt plan frames count what their roots hold. Those counts go along with the reference: an image in
//! `counted` takes them over, and gives its own to the frames when the stack goes on. References of frames that count
//! nothing for them are in `copied`. `[EXACT]`
//!
//! The stacks that run or wait for one that runs are roots: the *chain*, the running one last.

mod image;
mod life;

use crate::memory::list::List;
use crate::object::ObjectRef;

/// Where a coroutine's image stands whose references have the counts of frames. All are there, if the plan has no such.
pub const COUNTED: u64 = 0;
/// Where its other image stands.
pub const COPIED: u64 = 8;
/// Where the address of its record stands.
pub const RECORD: u64 = 16;
/// Where the argument of its entry stands, if the coroutine keeps that.
const ARGUMENT: u64 = 24;

/// The coroutines of a heap that run.
#[derive(Debug, Default)]
pub struct Coroutines {
    chain: List<ObjectRef>,
}

impl Coroutines {
    /// The stacks that run or wait, the running one last.
    pub fn chain(&self) -> &[ObjectRef] {
        &self.chain
    }
}
