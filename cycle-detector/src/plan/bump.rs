//! What the plans share whose heaps may mark instead of count: a collection that marks from the roots and sweeps, for the
//! trace plan and for small heaps of the deferred plan.
//!
//! | room | question |
//! |---|---|
//! | `growth` | how much is allocated between two collections? |
//! | `mark_and_sweep` | what does a collection do, in which order? |
//! | `marker` | how are references followed? |
//! | `verify` | does the heap look as it should after one? |

pub(in crate::plan) mod growth;
pub(crate) mod mark_and_sweep;
pub(crate) mod marker;
pub(crate) mod verify;
