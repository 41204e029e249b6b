//! Handles: references that native code holds. Scoped ones live on a stack of the heap, global ones until they are freed.
//!
//! A handle is the address of a word that holds a reference; the word is a root. Scoped handles are made by a push and
//! go all together when their scope is closed, by a store: `open` notes where the stack ends, `close` goes back there.
//! The stack is in chunks that stay where they are; its top stands in the thread's context, so that a push needs
//! neither a lock nor the heap.
//!
//! ```text
//!            chunk 0                        chunk 1
//!  │ r │ r │ r │ … │ r │         │ r │ r │ r │ free …          │
//!            ▲ counted                     ▲ context.handle_top ▲ context.handle_end
//! ```
//!
//! Under the deferred plan a flip finds handles as it finds the roots of frames. Under the prompt plan they are counted
//! by the rule that holds for those, too: nothing dies between two safepoints, so a handle needs its count when one is
//! reached. Each drain counts the handles pushed since the last one (`Heap::count_handles`); a scope that is closed before
//! has cost no count at all. Global handles are counted at once. `[EXACT]`
//!
//! Expected cost of a push: 9 instructions.

mod open;

use crate::memory::list::List;
use crate::object::ObjectRef;
use rustc_hash::FxHashSet;

/// Handles in a chunk.
const CHUNK: usize = 1024;
/// Bytes of one.
const CHUNK_BYTES: u64 = CHUNK as u64 * 8;
/// Global handles that are made at once.
const GLOBALS: usize = 64;
const GLOBALS_BYTES: u64 = GLOBALS as u64 * 8;
/// The word of a global handle that is free: no reference is odd.
const FREE: u64 = 1;

/// The handles of a heap, scoped and global.
#[derive(Debug, Default)]
pub struct Handles {
    chunks: List<List<u64>>,
    /// Those that were left: they stay, for the next deep scope, and so that a handle that is none any more still names a word.
    spare: List<List<u64>>,
    /// Prompt plan: so many from the bottom are counted.
    counted: usize,
    globals: List<Box<Globals>>,
    free_globals: List<u64>,
    /// Where those of `globals` begin: whether a word is one of this heap's global handles is found in constant time.
    starts_of_globals: FxHashSet<u64>,
}

/// Global handles side by side, in memory by whose address each of them is found.
#[derive(Debug)]
#[repr(align(512))]
struct Globals([u64; GLOBALS]);

const _: () = assert!(align_of::<Globals>() as u64 == GLOBALS_BYTES && size_of::<Globals>() as u64 == GLOBALS_BYTES);

fn object_in(word: u64) -> Option<ObjectRef> {
    // SAFETY: [ROOT] a handle in the heap range holds a reference.
    unsafe { ObjectRef::of_word(word) }
}

impl Handles {
    /// First word of the newest chunk.
    fn start(&self) -> u64 {
        self.chunks.last().map_or(0, |chunk| chunk.as_ptr() as u64)
    }

    /// Scoped handles below `top`, which lies in the newest chunk.
    fn len(&self, top: u64) -> usize {
        if self.chunks.is_empty() { 0 } else { (self.chunks.len() - 1) * CHUNK + (top - self.start()) as usize / 8 }
    }

    fn word(&self, at: usize) -> u64 {
        self.chunks[at / CHUNK][at % CHUNK]
    }

    /// How many scoped handles lie below this one.
    fn place_of(&self, handle: u64) -> Option<usize> {
        let holds = |chunk: &[u64]| (chunk.as_ptr() as u64..chunk.as_ptr() as u64 + CHUNK_BYTES).contains(&handle);
        let chunk = self.chunks.iter().rposition(|chunk| holds(chunk))?;
        Some(chunk * CHUNK + (handle - self.chunks[chunk].as_ptr() as u64) as usize / 8)
    }

    /// Whether a global handle of this heap, in use or free, has that address.
    fn has_global(&self, global: u64) -> bool {
        global.is_multiple_of(8) && self.starts_of_globals.contains(&(global - global % GLOBALS_BYTES))
    }

    /// Global handles in use.
    pub fn global_count(&self) -> usize {
        self.globals.len() * GLOBALS - self.free_globals.len()
    }
}
