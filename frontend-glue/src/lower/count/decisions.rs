//! The decisions of the ownership analysis, as data: edits of the IR that are not made yet.
//!
//! `ownership` fills it, `placement` writes it into the IR. Between the two they can be thrown away, and a more
//! literal reading tried.

use super::operation::Operation;
use super::remark::Remark;
use crate::llvm::Value;

/// An edit and its place.
#[derive(Debug, Clone)]
pub(in crate::lower::count) struct Edit {
    /// In front of this instruction.
    pub(super) before: Value,
    pub(super) what: What,
}

/// One edit of the IR.
#[derive(Debug, Clone)]
pub(super) enum What {
    /// On the root's present content.
    OfRoot(Operation, usize),
    /// On this value, for this root.
    ForRoot(Operation, Value, usize),
    /// On this value.
    Of(Operation, Value),
    /// Stores the value to a hidden root.
    Hide(Value, usize),
    /// Releases a hidden root and makes it null again.
    Unhide(usize),
    /// A root of many words.
    Settle(usize),
    Unsettle(usize),
    /// From here on other code may write to roots of the frame.
    Lend,
    /// The end of a lend.
    Unlend,
    Drain(Vec<Value>),
    /// The same, with words of memory in flight, too: arguments that are passed as copies.
    DrainBeside(Vec<Value>, Vec<(Value, u64)>),
    Finish(Vec<Value>),
}

impl What {
    /// Calls `change` with every value that is named.
    pub(super) fn for_each_value(&mut self, change: impl Fn(&mut Value)) {
        match self {
            What::ForRoot(_, value, _) | What::Of(_, value) | What::Hide(value, _) => change(value),
            What::Drain(words) | What::Finish(words) => words.iter_mut().for_each(change),
            What::DrainBeside(words, memory) => {
                words.iter_mut().chain(memory.iter_mut().map(|(address, _)| address)).for_each(change);
            }
            What::OfRoot(..) | What::Unhide(_) | What::Settle(_) | What::Unsettle(_) | What::Lend | What::Unlend => {}
        }
    }
}

/// The edits at the edge between two blocks, by number.
#[derive(Debug, Clone)]
pub(super) struct EdgeEdits {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) what: Vec<What>,
}

/// All decisions of the analysis about one function.
#[derive(Debug, Default)]
pub(super) struct Decisions {
    pub(super) edits: Vec<Edit>,
    pub(super) edges: Vec<EdgeEdits>,
    pub(super) remarks: Vec<Remark>,
}
