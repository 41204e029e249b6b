//! What the plans share whose heaps may mark instead of count: a collection that marks from the roots and sweeps, for the
//! trace plan and for heaps of the deferred plan.
//!
//! | room | question |
//! |---|---|
//! | `growth` | how much is allocated between two collections? |
//! | `mark_and_sweep` | what does a collection do, in which order? |
//! | `marker` | how are references followed? |
//! | `tracer` | when does one begin, and how does it go in slices? |
//! | `verify` | does the heap look as it should after one? |

pub(in crate::plan) mod growth;
pub(crate) mod mark_and_sweep;
pub(crate) mod marker;
pub(crate) mod tracer;
pub(crate) mod verify;
