//! The ops of stacks: coroutines with frames whose slots hold objects, as docs/use/coroutines.md defines them.
//!
//! One stack runs, at first the thread's own. Its newest frame has slots that the program reads and writes, numbered modulo
//! how many there are. A coroutine is an object like any other, in a register or in fields, so that cycles lead through frames.
//! `replay/stacks.rs` compares what they do.

use std::fmt;

use super::Register;
use super::text::{OptionalRegister, Words};

/// A stack has at most so many frames.
pub const FRAMES_MAX: usize = 600;
/// A frame has at most so many slots.
pub const SLOTS_MAX: u32 = 1500;

/// An op about stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are named in the text form of each op")]
pub enum StackOp {
    /// `tally_stack_new`.
    New { into: Register },
    /// `tally_stack_current`.
    Current { into: Register },
    /// `tally_stack_switch` to a stack that is suspended or waits.
    Switch { to: Register },
    /// `tally_stack_switch` to the stack that waits for this one.
    Yield,
    /// The entry function of the running stack returns, and all that it has called.
    Finish,
    /// `tally_stack_close` of a suspended stack.
    Close { stack: Register },
    /// A call: a frame with so many slots, which are null. Other frames may store to those of one that `lends`.
    Call { slots: u32, lends: bool },
    /// So many frames return, the newest first.
    Return { count: u32 },
    /// The running stack loses all frames but the oldest `depth` at once, as by `longjmp`.
    Jump { depth: u32 },
    /// A register, or null, into a slot of the newest frame.
    Write { slot: u32, from: Option<Register> },
    /// A slot of the newest frame into a register.
    Read { into: Register, slot: u32 },
    /// A register, or null, into a slot of some frame that lends, of the running stack or of one that waits.
    Lent { slot: u32, from: Option<Register> },
    /// So many calls, each with one slot that holds the object.
    Recurse { count: u32, object: Register },
    /// From now on a look at the roots visits so many frames at once, and leaves the others for later.
    AtOnce { frames: u32 },
    /// Makes a stack that runs, makes `count` pairs in its frames, with garbage between them, and yields. Each pair refers to the
    /// one before, and of a `closed` stack the first to the stack.
    Generator { count: u32, closed: bool, into: Register },
    /// A stack that roots reach, by number modulo how many there are, into a register.
    Find { into: Register, number: u32 },
    /// Switches to such a stack.
    Resume { number: u32 },
    /// Switches to one after the other of these, so many times, with calls and returns, and a poll each time.
    Turns { count: u32 },
}

impl StackOp {
    /// Objects it allocates: coroutines and pairs. What is laid down is allocated besides.
    pub fn allocations(self) -> u64 {
        match self {
            StackOp::New { .. } | StackOp::Current { .. } => 1,
            StackOp::Generator { count, .. } => 5 * u64::from(count) + 1,
            // Under zeal each poll is as much work.
            StackOp::Turns { count } => u64::from(count) / 2,
            _ => 0,
        }
    }

    /// Reads the op that begins with `word`; `None` if none does.
    pub(super) fn parse(word: &str, words: &mut Words<'_>) -> Result<Option<StackOp>, String> {
        let op = match word {
            "stack" => StackOp::New { into: words.register()? },
            "current-stack" => StackOp::Current { into: words.register()? },
            "switch" => StackOp::Switch { to: words.register()? },
            "yield" => StackOp::Yield,
            "finish-stack" => StackOp::Finish,
            "close-stack" => StackOp::Close { stack: words.register()? },
            "call" | "call-lending" => StackOp::Call { slots: words.number()?, lends: word == "call-lending" },
            "return" => StackOp::Return { count: words.times()? },
            "jump" => StackOp::Jump { depth: words.number()? },
            "frame-write" => StackOp::Write { slot: words.number()?, from: words.after("=")?.optional_register()? },
            "frame-read" => StackOp::Read { into: words.register()?, slot: words.after("=")?.number()? },
            "lent-write" => StackOp::Lent { slot: words.number()?, from: words.after("=")?.optional_register()? },
            "recurse" => StackOp::Recurse { count: words.times()?, object: words.register()? },
            "at-once" => StackOp::AtOnce { frames: words.number()? },
            "generator" | "ring-generator" => {
                let closed = word == "ring-generator";
                StackOp::Generator { count: words.times()?, closed, into: words.register()? }
            }
            "find-stack" => StackOp::Find { into: words.register()?, number: words.after("=")?.number()? },
            "resume" => StackOp::Resume { number: words.number()? },
            "turns" => StackOp::Turns { count: words.times()? },
            _ => return Ok(None),
        };
        Ok(Some(op))
    }

    /// The counts and numbers of slots, which may be lowered.
    pub(crate) fn numbers(&mut self) -> Vec<&mut u32> {
        match self {
            StackOp::Call { slots: number, .. }
            | StackOp::Return { count: number }
            | StackOp::Jump { depth: number }
            | StackOp::Write { slot: number, .. }
            | StackOp::Read { slot: number, .. }
            | StackOp::Lent { slot: number, .. }
            | StackOp::Recurse { count: number, .. }
            | StackOp::AtOnce { frames: number }
            | StackOp::Generator { count: number, .. }
            | StackOp::Find { number, .. }
            | StackOp::Resume { number }
            | StackOp::Turns { count: number } => vec![number],
            _ => Vec::new(),
        }
    }
}

impl fmt::Display for StackOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            StackOp::New { into } => write!(f, "stack r{into}"),
            StackOp::Current { into } => write!(f, "current-stack r{into}"),
            StackOp::Switch { to } => write!(f, "switch r{to}"),
            StackOp::Yield => write!(f, "yield"),
            StackOp::Finish => write!(f, "finish-stack"),
            StackOp::Close { stack } => write!(f, "close-stack r{stack}"),
            StackOp::Call { slots, lends } => write!(f, "call{} {slots}", if lends { "-lending" } else { "" }),
            StackOp::Return { count } => write!(f, "return x {count}"),
            StackOp::Jump { depth } => write!(f, "jump {depth}"),
            StackOp::Write { slot, from } => write!(f, "frame-write {slot} = {}", OptionalRegister(from)),
            StackOp::Read { into, slot } => write!(f, "frame-read r{into} = {slot}"),
            StackOp::Lent { slot, from } => write!(f, "lent-write {slot} = {}", OptionalRegister(from)),
            StackOp::Recurse { count, object } => write!(f, "recurse x {count} r{object}"),
            StackOp::AtOnce { frames } => write!(f, "at-once {frames}"),
            StackOp::Generator { count, closed, into } => {
                write!(f, "{}generator x {count} r{into}", if closed { "ring-" } else { "" })
            }
            StackOp::Find { into, number } => write!(f, "find-stack r{into} = {number}"),
            StackOp::Resume { number } => write!(f, "resume {number}"),
            StackOp::Turns { count } => write!(f, "turns x {count}"),
        }
    }
}
