//! Finds the references on a stack.
//!
//! Compiled code stops in a call; which words of its frames are references? LLVM wrote that down while compiling. The
//! story, in order:
//!
//! ```text
//! bytes of .llvm_stackmaps ─► stack_map ─► root_records ─► frame_table ─► snapshot ─► walk ─► a visitor's slots
//!                              functions,   id and slot     by return      all         │ ▲
//!                              records      of each root    address        modules     ▼ │ native frames
//!                                                                                     unwind
//! ```
//!
//! | room | question it answers |
//! |---|---|
//! | [`stack_map`] | What do these bytes say? (never trusted, never copied) |
//! | [`root_records`] | Which operands of a record are roots, and where are they? |
//! | [`frame_table`] | Which frame returns to this address? One module's answer. |
//! | [`snapshot`] | The same for all modules loaded at one moment. |
//! | [`mod@walk`] | What are the roots from here down to the first native frame? |
//! | [`mod@unwind`] | What lies below the native frames? (the only unsafe code) |
//! | [`anchor`] | Where does native code without unwind tables say it came from? |
//! | [`thread_stack`] | What are all roots of this thread? What an epoch calls. |
//!
//! The crate knows addresses, not objects: a visitor gets the address of a slot and the root's id, and what is in the
//! slot is its own business. It has no dependencies and no state.

pub mod anchor;
pub mod frame_table;
pub mod root_records;
pub mod snapshot;
pub mod stack_map;
pub mod thread_stack;
pub mod unwind;
pub mod walk;

pub use anchor::{Diversion, Entries};
pub use frame_table::{Frame, FrameTable, Lookup, PlacedFunction, TableError};
pub use root_records::{BaseRegister, Location, OperandFault, RootSlot};
pub use snapshot::FrameTables;
pub use stack_map::{MapError, StackMap};
pub use thread_stack::{Position, StackEnd, StackVisit, visit_some, visit_thread_stack};
pub use unwind::{Origin, Reach, UnwindEnd, Unwound, unwind};
pub use walk::{FrameRoot, Registers, StackFault, Walk, WalkEnd, walk, walk_some};
