//! Programs as text: one op a line, written by `Display`, read by [`Op::parse`].

use std::fmt;

use super::{Op, Place, REGISTERS, Register, Service, StackOp, Value};
use crate::shape::Kind;

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

/// A register, or null.
pub(super) struct OptionalRegister(pub(super) Option<Register>);

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
            Op::Resize { place, length } => write!(f, "resize {place} to {length}"),
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
            Op::Service(service) => write!(f, "{service}"),
            Op::Stack(stack) => write!(f, "{stack}"),
        }
    }
}

impl Op {
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
            "resize" => Op::Resize { place: words.place()?, length: words.after("to")?.number()? },
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
            other => match (Service::parse(other, &mut words)?, StackOp::parse(other, &mut words)?) {
                (Some(service), _) => Op::Service(service),
                (None, Some(stack)) => Op::Stack(stack),
                (None, None) => return Err(format!("no op is called `{other}`")),
            },
        };
        match words.0.next() {
            None => Ok(op),
            Some(rest) => Err(format!("`{rest}` is left over")),
        }
    }
}

/// The words of a line that are left.
pub(super) struct Words<'a>(std::str::SplitWhitespace<'a>);

impl<'a> Words<'a> {
    pub(super) fn next(&mut self) -> Result<&'a str, String> {
        self.0.next().ok_or_else(|| "the line ends too early".to_string())
    }

    pub(super) fn after(&mut self, expected: &str) -> Result<&mut Self, String> {
        match self.next()? {
            word if word == expected => Ok(self),
            word => Err(format!("expected `{expected}`, found `{word}`")),
        }
    }

    pub(super) fn number<T: std::str::FromStr>(&mut self) -> Result<T, String> {
        let word = self.next()?;
        word.parse().map_err(|_| format!("`{word}` is not a number that fits here"))
    }

    pub(super) fn times(&mut self) -> Result<u32, String> {
        self.after("x")?.number()
    }

    pub(super) fn kind(&mut self) -> Result<Kind, String> {
        let word = self.next()?;
        Kind::from_word(word).ok_or_else(|| format!("no kind is called `{word}`"))
    }

    pub(super) fn register(&mut self) -> Result<Register, String> {
        register(self.next()?)
    }

    pub(super) fn optional_register(&mut self) -> Result<Option<Register>, String> {
        match self.next()? {
            "null" => Ok(None),
            word => register(word).map(Some),
        }
    }

    pub(super) fn place(&mut self) -> Result<Place, String> {
        let word = self.next()?;
        let (object, slot) = word.split_once('.').ok_or_else(|| format!("`{word}` is no place such as r1.0"))?;
        let slot = slot.parse().map_err(|_| format!("`{slot}` is no slot number"))?;
        Ok(Place { object: register(object)?, slot })
    }

    pub(super) fn value(&mut self) -> Result<Value, String> {
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
