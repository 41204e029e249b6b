//! The Op language: small programs that a heap test runs on the model and on the real heap.
//!
//! A program sees objects only through its registers `r0…r15` (the first host roots), a root stack above them, and
//! four globals. A slot is `r3.7`: the seventh place of r3's object that can hold a reference, taken modulo the
//! number there are, so that every program is meaningful and shrinking can remove any line. An op whose registers are
//! empty, or whose object has no slots, does nothing.
//!
//! Programs have a text form, one op a line, which is what a failure prints and what a regression test contains:
//!
//! ```text
//! allocate pair r0
//! write r0.1 = r0
//! set r0 = null
//! collect
//! ```
//!
//! `Display` and [`Op::parse`] (`op/text.rs`) are each other's inverse; a property test checks that. `op/service.rs`
//! has the ops of the services in docs/use/services.md, weak references to limits; `op/stack.rs` has stacks, their
//! frames and switches between them; `op/deed.rs` has the actions of finalizers.

pub mod deed;
pub mod service;
pub mod stack;
mod text;

pub use deed::Deed;
pub use service::Service;
pub use stack::StackOp;
pub use text::{parse_program, program_text};

use crate::shape::Kind;

/// A register: one of the first [`REGISTERS`] host roots.
pub type Register = u8;
/// Number of registers.
pub const REGISTERS: usize = 16;
/// Number of global roots.
pub const GLOBALS: usize = 4;
/// The root stack does not grow beyond this.
pub const ROOT_STACK_MAX: usize = 32;

/// A place that can hold a reference: object in a register, number of the slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The register with the slot's object.
    pub object: Register,
    /// The number of the slot, modulo the number of slots.
    pub slot: u32,
}

/// The value to store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Null.
    Null,
    /// The object in the register.
    Object(Register),
    /// A number; null where the slot holds plain pointers only.
    Integer(u32),
    /// The bare address of the register's object as a number, in slots that can tell: no reference.
    Address(Register),
    /// A reference to something outside the heap.
    Immortal(u8),
}

/// One step of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are named in the text form of each op")]
pub enum Op {
    /// A new object of a kind and length into a register.
    Allocate { kind: Kind, length: u32, into: Register },
    /// A new object straight into a slot: rooted only through its holder.
    AllocateInto { kind: Kind, length: u32, place: Place },
    /// Objects that nothing ever refers to.
    Garbage { kind: Kind, length: u32, count: u32 },
    /// A slot into a register.
    Load { place: Place, into: Register },
    /// A value into a slot.
    Write { place: Place, value: Value },
    /// Exchanges two slots through plain variables, without a safepoint between.
    Swap { a: Place, b: Place },
    /// `tally_copy_refs`: memmove of up to `count` neighbouring slots; may overlap.
    Copy { to: Place, from: Place, count: u32 },
    /// `tally_fill_refs`: one word into up to `count` neighbouring slots.
    Fill { place: Place, count: u32, value: Value },
    /// `tally_resize`: the object in a slot has that many elements.
    Resize { place: Place, length: u32 },
    /// Plain stores of new data into the words that are not references.
    Scribble { object: Register, data: u32 },
    /// A register from another, or null.
    Set { register: Register, from: Option<Register> },
    /// Pushes a register on the root stack.
    Push { register: Register },
    /// A root of the stack (modulo its depth) into a register.
    Peek { index: u8, into: Register },
    /// Cuts the root stack to a depth.
    Truncate { depth: u8 },
    /// A global from a register, or null.
    Global { global: u8, from: Option<Register> },
    /// Builds `count` objects, each pointing to the next with slot 0, the last to the first.
    Ring { kind: Kind, count: u32, into: Register },
    /// Builds `count` objects, each pointing to the next with slot 0.
    List { kind: Kind, count: u32, into: Register },
    /// An array of `count` pairs that all point to one pair, which points to the array.
    Hub { count: u32, into: Register },
    /// A binary tree of triples with parent pointers.
    Tree { depth: u8, into: Register },
    /// Stores a register and null in turn, a poll after each.
    Toggle { place: Place, with: Register, count: u32 },
    /// A safepoint poll.
    Poll,
    /// That many units of pending work.
    Step { units: u32 },
    /// Starts an epoch without running its passes.
    Flip,
    /// A whole epoch.
    Epoch,
    /// A full collection.
    Collect,
    /// One of the heap's services.
    Service(Service),
    /// One about stacks and their frames.
    Stack(StackOp),
}

impl Op {
    /// Objects it allocates: the cost for a heap that stops at every safepoint.
    pub fn allocations(self) -> u64 {
        match self {
            Op::Allocate { .. } | Op::AllocateInto { .. } | Op::Resize { .. } => 1,
            Op::Garbage { count, .. } | Op::Ring { count, .. } | Op::List { count, .. } => u64::from(count),
            Op::Hub { count, .. } => u64::from(count) + 2,
            Op::Tree { depth, .. } => 2 << depth.min(12),
            Op::Service(service) => service.allocations(),
            Op::Stack(stack) => stack.allocations(),
            _ => 0,
        }
    }
}
