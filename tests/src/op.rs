//! The Op language: small programs that a heap test runs on the model and on the real heap.
//!
//! A program sees objects only through its registers `r0…r15` (the first host roots), a root stack above them, and four
//! globals. A slot is `r3.7`: the seventh place of r3's object that can hold a reference, taken modulo the number there
//! are, so that every program is meaningful and shrinking can remove any line. An op whose registers are empty, or whose
//! object has no slots, does nothing.
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
//! `Display` and [`Op::parse`] below are each other's inverse; a property test holds them to it.

use std::fmt;

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
    /// Whose slot.
    pub object: Register,
    /// Which slot, modulo the number of slots.
    pub slot: u32,
}

/// What is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Null.
    Null,
    /// What the register holds.
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
}

/// Prints a program, one op a line.
pub fn program_text(ops: &[Op]) -> String {
    ops.iter().map(|op| format!("{op}\n")).collect()
}

/// Reads a program; empty lines and `#` comments are skipped.
pub fn parse_program(text: &str) -> Result<Vec<Op>, String> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.split('#').next().unwrap_or("").trim()))
        .filter(|(_, line)| !line.is_empty())
        .map(|(number, line)| Op::parse(line).map_err(|why| format!("line {number}: `{line}`: {why}")))
        .collect()
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}.{}", self.object, self.slot)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => write!(f, "null"),
            Value::Object(register) => write!(f, "r{register}"),
            Value::Integer(number) => write!(f, "int {number}"),
            Value::Address(register) => write!(f, "address r{register}"),
            Value::Immortal(number) => write!(f, "immortal {number}"),
        }
    }
}

struct OptionalRegister(Option<Register>);

impl fmt::Display for OptionalRegister {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(register) => write!(f, "r{register}"),
            None => write!(f, "null"),
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Op::Allocate { kind, length, into } => write!(f, "allocate {} {length} r{into}", kind.word()),
            Op::AllocateInto { kind, length, place } => write!(f, "allocate-into {place} {} {length}", kind.word()),
            Op::Garbage { kind, length, count } => write!(f, "garbage {} {length} x {count}", kind.word()),
            Op::Load { place, into } => write!(f, "load r{into} = {place}"),
            Op::Write { place, value } => write!(f, "write {place} = {value}"),
            Op::Swap { a, b } => write!(f, "swap {a} {b}"),
            Op::Copy { to, from, count } => write!(f, "copy {to} = {from} x {count}"),
            Op::Fill { place, count, value } => write!(f, "fill {place} x {count} = {value}"),
            Op::Scribble { object, data } => write!(f, "scribble r{object} {data}"),
            Op::Set { register, from } => write!(f, "set r{register} = {}", OptionalRegister(from)),
            Op::Push { register } => write!(f, "push r{register}"),
            Op::Peek { index, into } => write!(f, "peek {index} r{into}"),
            Op::Truncate { depth } => write!(f, "truncate {depth}"),
            Op::Global { global, from } => write!(f, "global {global} = {}", OptionalRegister(from)),
            Op::Ring { kind, count, into } => write!(f, "ring {} x {count} r{into}", kind.word()),
            Op::List { kind, count, into } => write!(f, "list {} x {count} r{into}", kind.word()),
            Op::Hub { count, into } => write!(f, "hub x {count} r{into}"),
            Op::Tree { depth, into } => write!(f, "tree {depth} r{into}"),
            Op::Toggle { place, with, count } => write!(f, "toggle {place} r{with} x {count}"),
            Op::Poll => write!(f, "poll"),
            Op::Step { units } => write!(f, "step {units}"),
            Op::Flip => write!(f, "flip"),
            Op::Epoch => write!(f, "epoch"),
            Op::Collect => write!(f, "collect"),
        }
    }
}

impl Op {
    /// Objects it allocates: what a heap that stops at every safepoint has to bear.
    pub fn allocations(self) -> u64 {
        match self {
            Op::Allocate { .. } | Op::AllocateInto { .. } => 1,
            Op::Garbage { count, .. } | Op::Ring { count, .. } | Op::List { count, .. } => u64::from(count),
            Op::Hub { count, .. } => u64::from(count) + 2,
            Op::Tree { depth, .. } => 2 << depth.min(12),
            _ => 0,
        }
    }

    /// Reads one op in the form that `Display` writes.
    pub fn parse(line: &str) -> Result<Op, String> {
        let mut words = Words(line.split_whitespace());
        let op = match words.next()? {
            "allocate" => Op::Allocate { kind: words.kind()?, length: words.number()?, into: words.register()? },
            "allocate-into" => Op::AllocateInto { place: words.place()?, kind: words.kind()?, length: words.number()? },
            "garbage" => Op::Garbage { kind: words.kind()?, length: words.number()?, count: words.times()? },
            "load" => Op::Load { into: words.register()?, place: words.after("=")?.place()? },
            "write" => Op::Write { place: words.place()?, value: words.after("=")?.value()? },
            "swap" => Op::Swap { a: words.place()?, b: words.place()? },
            "copy" => Op::Copy { to: words.place()?, from: words.after("=")?.place()?, count: words.times()? },
            "fill" => Op::Fill { place: words.place()?, count: words.times()?, value: words.after("=")?.value()? },
            "scribble" => Op::Scribble { object: words.register()?, data: words.number()? },
            "set" => Op::Set { register: words.register()?, from: words.after("=")?.optional_register()? },
            "push" => Op::Push { register: words.register()? },
            "peek" => Op::Peek { index: words.number()?, into: words.register()? },
            "truncate" => Op::Truncate { depth: words.number()? },
            "global" => Op::Global { global: words.number()?, from: words.after("=")?.optional_register()? },
            "ring" => Op::Ring { kind: words.kind()?, count: words.times()?, into: words.register()? },
            "list" => Op::List { kind: words.kind()?, count: words.times()?, into: words.register()? },
            "hub" => Op::Hub { count: words.times()?, into: words.register()? },
            "tree" => Op::Tree { depth: words.number()?, into: words.register()? },
            "toggle" => Op::Toggle { place: words.place()?, with: words.register()?, count: words.times()? },
            "poll" => Op::Poll,
            "step" => Op::Step { units: words.number()? },
            "flip" => Op::Flip,
            "epoch" => Op::Epoch,
            "collect" => Op::Collect,
            other => return Err(format!("no op is called `{other}`")),
        };
        match words.0.next() {
            None => Ok(op),
            Some(rest) => Err(format!("`{rest}` is left over")),
        }
    }
}

struct Words<'a>(std::str::SplitWhitespace<'a>);

impl<'a> Words<'a> {
    fn next(&mut self) -> Result<&'a str, String> {
        self.0.next().ok_or_else(|| "the line ends too early".to_string())
    }

    fn after(&mut self, expected: &str) -> Result<&mut Self, String> {
        match self.next()? {
            word if word == expected => Ok(self),
            word => Err(format!("expected `{expected}`, found `{word}`")),
        }
    }

    fn number<T: std::str::FromStr>(&mut self) -> Result<T, String> {
        let word = self.next()?;
        word.parse().map_err(|_| format!("`{word}` is not a number that fits here"))
    }

    fn times(&mut self) -> Result<u32, String> {
        self.after("x")?.number()
    }

    fn kind(&mut self) -> Result<Kind, String> {
        let word = self.next()?;
        Kind::from_word(word).ok_or_else(|| format!("no kind is called `{word}`"))
    }

    fn register(&mut self) -> Result<Register, String> {
        register(self.next()?)
    }

    fn optional_register(&mut self) -> Result<Option<Register>, String> {
        match self.next()? {
            "null" => Ok(None),
            word => register(word).map(Some),
        }
    }

    fn place(&mut self) -> Result<Place, String> {
        let word = self.next()?;
        let (object, slot) = word.split_once('.').ok_or_else(|| format!("`{word}` is no place such as r1.0"))?;
        let slot = slot.parse().map_err(|_| format!("`{slot}` is no slot number"))?;
        Ok(Place { object: register(object)?, slot })
    }

    fn value(&mut self) -> Result<Value, String> {
        match self.next()? {
            "null" => Ok(Value::Null),
            "int" => Ok(Value::Integer(self.number()?)),
            "address" => Ok(Value::Address(self.register()?)),
            "immortal" => Ok(Value::Immortal(self.number()?)),
            word => register(word).map(Value::Object),
        }
    }
}

fn register(word: &str) -> Result<Register, String> {
    let number = word.strip_prefix('r').and_then(|digits| digits.parse::<u8>().ok());
    match number {
        Some(number) if usize::from(number) < REGISTERS => Ok(number),
        _ => Err(format!("`{word}` is no register r0 to r{}", REGISTERS - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_line_and_the_word() {
        let error = parse_program("allocate pair 0 r0\nwrite r0.0 = r99\n").unwrap_err();
        assert_eq!(error, "line 2: `write r0.0 = r99`: `r99` is no register r0 to r15");
        assert!(parse_program("collect now").unwrap_err().contains("left over"));
        assert!(parse_program("copy r0.1").unwrap_err().contains("ends too early"));
    }

    #[test]
    fn comments_and_empty_lines_are_skipped() {
        assert_eq!(parse_program("\n# a comment\n  epoch # and another\n").unwrap(), [Op::Epoch]);
    }
}
