//! What a table says of one frame.

use crate::compact_map::lists::PackedRoots;
use crate::compact_map::table::CompactTable;
use crate::machine::Machine;
use crate::root_records::{BaseRegister, RootSlot};

/// Finds the frame that a return address belongs to.
pub trait Lookup {
    /// The frame of the call that returns to `pc`, if it is a recorded one.
    fn lookup(&self, pc: u64) -> Option<Frame<'_>>;
}

/// The description of a frame that is stopped in a recorded call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'t> {
    /// The call's return address.
    pub pc: u64,
    /// The roots, in the order of the bundle.
    pub roots: Roots<'t>,
    /// Whether a root is addressed by rbx.
    pub needs_rbx: bool,
    /// Whether only the unwinder finds its caller: the code keeps no frame pointer.
    pub needs_unwinder: bool,
    /// Whether offsets from rsp count from where the prologue has left it. A call may have pushed arguments since.
    pub counts_from_prologue: bool,
    pub(crate) described: Described<'t>,
}

impl Frame<'_> {
    /// The frame's function. The walk does not ask.
    pub fn function(&self) -> PlacedFunction {
        match self.described {
            Described::Placed(function) => *function,
            Described::InPlace { table, .. } => table.function(self.pc),
        }
    }

    /// Bytes between the stack pointer at a call and the saved registers; `None` where it varies or is not recorded.
    pub fn stack_size(&self) -> Option<u64> {
        match self.described {
            Described::Placed(function) => function.stack_size,
            Described::InPlace { stack_size, .. } => stack_size,
        }
    }

    /// The caller's stack pointer by the size of the frame, if roots count from rsp as the prologue has left it.
    pub(crate) fn caller_sp(&self, sp: u64) -> Option<u64> {
        let counts = |root: RootSlot| root.location.base() == BaseRegister::Rsp;
        let size = self.stack_size().filter(|_| self.counts_from_prologue && self.roots.iter().any(counts))?;
        Some(sp.wrapping_add(size).wrapping_add(Machine::NATIVE.pushed_by_call()))
    }
}

/// Where a frame's function and its size are found.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Described<'t> {
    /// By reference: on x86-64 the walker never reads it.
    Placed(&'t PlacedFunction),
    InPlace {
        table: &'t CompactTable<'t>,
        stack_size: Option<u64>,
    },
}

impl PartialEq for Described<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Described::Placed(one), Described::Placed(other)) => one == other,
            (Described::InPlace { table: one, .. }, Described::InPlace { table: other, .. }) => {
                std::ptr::eq(*one, *other)
            }
            _ => false,
        }
    }
}

impl Eq for Described<'_> {}

/// A function with recorded calls, where it is in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedFunction {
    /// Its address.
    pub address: u64,
    /// Bytes between the stack pointer at a call and the saved registers; `None` where it varies or is not recorded.
    pub stack_size: Option<u64>,
}

/// The roots of a frame.
#[derive(Clone, Copy, Debug)]
pub enum Roots<'t> {
    /// In a table.
    Slots(&'t [RootSlot]),
    /// In a compact map.
    Packed(PackedRoots<'t>),
}

impl<'t> Roots<'t> {
    /// The number of roots.
    pub fn len(&self) -> usize {
        match self {
            Roots::Slots(slots) => slots.len(),
            Roots::Packed(packed) => packed.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The roots.
    pub fn iter(&self) -> impl Iterator<Item = RootSlot> + use<'t> {
        let (slots, packed) = match *self {
            Roots::Slots(slots) => (slots, None),
            Roots::Packed(packed) => (&[][..], Some(packed.iter())),
        };
        slots.iter().copied().chain(packed.into_iter().flatten())
    }

    /// The last root: inlined functions' come first.
    pub fn last(&self) -> Option<RootSlot> {
        self.iter().last()
    }
}

impl PartialEq for Roots<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Roots<'_> {}
