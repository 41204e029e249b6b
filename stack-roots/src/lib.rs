//! Finds the references on a stack.
//!
//! Compiled code stops in a call, and some words of its frames are references. LLVM has recorded these words while
//! compiling. The stages, in order:
//!
//! ```text
//! bytes of .llvm_stackmaps ─► stack_map ─► root_records ─► frame_table ─► snapshot ─► walk ─► a visitor's slots
//!                              functions,   id and slot     by return ▲    all         │ ▲
//!                              records      of each root    address   │    modules     ▼ │ native frames
//! bytes of tally_stackmaps ──► compact_map ───────────────────────────┘               unwind
//! ```
//!
//! | module | content |
//! |---|---|
//! | [`stack_map`] | reads the bytes of a section (never trusted, never copied) |
//! | [`root_records`] | finds the roots among a record's operands, and their places |
//! | [`statepoint`] | the same for records of LLVM's statepoints |
//! | [`compact_map`] | Tally's own section: writer, reader, and lookup where it lies |
//! | [`elf_section`] | finds the section of a file that holds such a table |
//! | [`gcroot_offsets`] | reads the tables of LLVM's strategies `ocaml` and `erlang` |
//! | `frame_table` | finds the frame of a return address, in one module |
//! | [`snapshot`] | the same for all modules loaded at one moment |
//! | [`mod@walk`] | visits the roots from a frame down to the first native one |
//! | [`mod@unwind`] | crosses native frames (the only unsafe code) |
//! | [`machine`] | the processors whose frames are known |
//! | [`anchor`] | the registers that native code without unwind tables leaves |
//! | `thread_stack` | visits all roots of this thread; a flip calls it |
//!
//! The crate knows addresses, not objects: a visitor gets the address of a slot and the root's id, and reads the slot
//! itself. It has no state, and of other crates a hasher alone.

#![warn(unreachable_pub)]

pub mod anchor;
mod arch;
pub mod compact_map;
pub mod elf_section;
pub(crate) mod frame_table;
pub mod gcroot_offsets;
pub mod machine;
pub mod root_records;
pub mod snapshot;
pub(crate) mod stack_fault;
pub mod stack_map;
pub mod statepoint;
pub(crate) mod thread_stack;
pub mod unwind;
pub mod walk;

pub use anchor::{Diversion, DivertedPair, Entries};
pub use compact_map::{CompactError, CompactMap, CompactTable};
pub use frame_table::{Call, Convention, Frame, FrameTable, Lookup, PlacedFunction, Roots, RootsIn, TableError};
pub use machine::Machine;
pub use root_records::{BaseRegister, Location, OperandFault, RootSlot, SITE_ID, STATE_ID};
pub use snapshot::FrameTables;
pub use stack_fault::StackFault;
pub use stack_map::{MapError, StackMap};
pub use thread_stack::{Position, StackEnd, StackVisit, visit_some, visit_stopped_stack, visit_thread_stack};
pub use unwind::{Origin, Reach, UnwindEnd, Unwound, unwind};
pub use walk::{FrameRoot, Registers, Walk, WalkEnd, walk};
