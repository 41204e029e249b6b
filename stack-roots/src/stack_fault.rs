//! What can be wrong with a stack, in words: a walk ends at the first fault.

use std::fmt;

/// A fault of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackFault {
    /// A word that must be read cannot be.
    Unreadable {
        /// Its address.
        address: u64,
    },
    /// The frame pointer is below the stack pointer, not 8-aligned, or at the end of the address space.
    FramePointer {
        /// The frame pointer.
        fp: u64,
        /// The stack pointer.
        sp: u64,
    },
    /// A caller's stack pointer that is not above its callee's.
    NotAbove {
        /// The caller's.
        sp: u64,
        /// The callee's.
        callee_sp: u64,
    },
    /// A frame whose roots count from rsp as its prologue has left it, and that is larger or smaller at its call than
    /// its table says.
    FrameSize {
        /// The caller's stack pointer.
        sp: u64,
        /// The same by the table.
        expected: u64,
    },
    /// A frame that addresses roots by rbx, whose value native code without an unwind table has hidden.
    RbxHidden,
}

impl fmt::Display for StackFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            StackFault::Unreadable { address } => {
                write!(out, "the stack word at {address:#x} cannot be read; the stack is damaged")
            }
            StackFault::FramePointer { fp, sp } => write!(
                out,
                "frame pointer {fp:#x} does not fit stack pointer {sp:#x}; \
                 compile managed code with \"frame-pointer\"=\"all\""
            ),
            StackFault::NotAbove { sp, callee_sp } => write!(
                out,
                "a caller's stack pointer {sp:#x} is not above its callee's {callee_sp:#x}; \
                 the unwind tables or an anchor are wrong"
            ),
            StackFault::FrameSize { sp, expected } => write!(
                out,
                "the caller's stack pointer is {sp:#x}, and {expected:#x} by the table of frames: a call pushed its \
                 arguments, or the frame is over-aligned; compile with -no-x86-call-frame-opt and without such \
                 variables"
            ),
            StackFault::RbxHidden => write!(
                out,
                "an over-aligned frame of dynamic size lies behind an anchor; compile the native code above it with \
                 -fasynchronous-unwind-tables instead"
            ),
        }
    }
}

impl std::error::Error for StackFault {}
