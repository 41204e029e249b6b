//! Roots held by the host program: a stack of references and a list of registered slots.
//!
//! Compiled code keeps its roots in frames and globals; a host written in Rust (tests, embedders) keeps them here.

use crate::memory::list::List;
use crate::object::ObjectRef;

/// A place in the host's root stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RootIndex(pub usize);

/// The roots of a host program: a stack, and registered slots.
#[derive(Debug, Default)]
pub struct HostRoots {
    /// The stack.
    pub stack: List<Option<ObjectRef>>,
    /// References that the runtime itself protects for the duration of one epoch (zeal's view of a call's result).
    pub temporary: List<ObjectRef>,
}

impl HostRoots {
    /// Every reference held.
    pub fn iter(&self) -> impl Iterator<Item = ObjectRef> + '_ {
        self.stack.iter().flatten().chain(&self.temporary).copied()
    }
}
