//! Roots held by the host program: a stack of references and a list of registered slots.
//!
//! Compiled code keeps its roots in frames and globals; a host written in Rust (tests, embedders) keeps them here.

mod holding;

use crate::memory::list::List;
use crate::object::ObjectRef;

/// A place in the host's root stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RootIndex(pub usize);

/// What a function of the runtime has been given, held in a frame of its own while it may call the program.
#[derive(Debug)]
struct Hold {
    /// An address in that frame.
    frame: u64,
    /// Its first root in the stack.
    from: usize,
    release: Release,
}

/// What becomes of an object that a hold releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Release {
    /// It may be a candidate.
    AsHandle,
    /// It is held by another root as well, and becomes none.
    AsRoot,
}

/// The roots of a host program: a stack, and registered slots.
#[derive(Debug, Default)]
pub struct HostRoots {
    /// The stack.
    pub stack: List<Option<ObjectRef>>,
    /// References that the runtime itself protects for the duration of one epoch (zeal's view of a call's result).
    pub temporary: List<ObjectRef>,
    /// Parts of the stack that functions of the runtime hold, the innermost last.
    holds: List<Hold>,
}

impl HostRoots {
    /// Every reference held.
    pub fn iter(&self) -> impl Iterator<Item = ObjectRef> + '_ {
        self.stack.iter().flatten().chain(&self.temporary).copied()
    }
}
