//! The name of a registered type.

use std::marker::PhantomData;

/// A registered type, on the thread that registered it.
///
/// ```
/// use tally::TypeBuilder;
///
/// let node = TypeBuilder::new("Node", 16).reference("next", 0).register()?;
/// assert_eq!(node.name(), "Node");
/// # Ok::<(), tally::TypeError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TypeId {
    pub(crate) id: tally_heap::TypeId,
    thread: PhantomData<*const ()>,
}

impl TypeId {
    /// A type that was registered on this thread.
    pub(crate) fn of(id: tally_heap::TypeId) -> TypeId {
        TypeId { id, thread: PhantomData }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        &self.id.info().name
    }
}
