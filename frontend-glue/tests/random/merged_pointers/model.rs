//! Programs acted out: what each prints, and which operations break the contract and are taken out.
//!
//! A program runs once for each argument, whose bits decide its ways. A pointer is *valid* until a safepoint at which no
//! root holds its reference; nothing else may be read, stored to a root, or passed on. What is read from a field is a
//! reference of its own, even if it happens to be of the same object. An operation that breaks that in one run
//! is taken out of the program, and all is acted out again, since what it did may have kept something valid.

use crate::merged_pointers::program::{BITS, Name, Op, ROOTS, VARIABLES, WORDS};
use std::collections::HashMap;

/// An object, and by which of the program's ways to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reference {
    object: usize,
    number: usize,
}

/// A pointer as the program has it.
#[derive(Debug, Clone, Copy, Default)]
struct Pointer {
    /// Null without.
    to: Option<Reference>,
    words: i64,
    valid: bool,
}

#[derive(Debug, Clone, Copy)]
struct Object {
    number: i64,
    field: Option<usize>,
}

/// One run.
#[derive(Debug, Default)]
struct Run {
    argument: usize,
    names: HashMap<Name, Pointer>,
    variables: [Pointer; VARIABLES],
    roots: [Option<Reference>; ROOTS],
    objects: Vec<Object>,
    /// How many there were.
    references: usize,
    sum: u64,
}

/// An operation broke the contract: where it stands, as the way down the tree.
struct Broken(Vec<usize>);

/// Makes a program right; the sums that it prints, one for each argument.
pub fn act_out(program: &mut [Op]) -> Vec<u64> {
    'again: loop {
        let mut sums = Vec::new();
        for argument in 0..1 << BITS {
            let mut run = Run { argument, ..Run::default() };
            if let Err(Broken(way)) = run.all(program) {
                let broken = at(program, &way);
                *broken = match *broken {
                    Op::Follow { name, .. } => Op::Null { name },
                    Op::Cast { name, from, .. } => Op::Move { name, from, words: 0 },
                    _ => Op::Nothing,
                };
                continue 'again;
            }
            sums.push(run.sum);
        }
        return sums;
    }
}

/// The operation at the end of a way, which names it last first; arms of a diamond are one after the other.
fn at<'a>(ops: &'a mut [Op], way: &[usize]) -> &'a mut Op {
    let (&place, rest) = way.split_last().expect("not empty");
    let op = &mut ops[place];
    if rest.is_empty() {
        return op;
    }
    match op {
        Op::Loop { body, .. } => at(body, rest),
        Op::Diamond { yes, no, .. } => {
            let (&place, further) = rest.split_last().expect("not empty");
            let (arm, place) = if place < yes.len() { (yes, place) } else { (no, place - yes.len()) };
            // The place within the arm, put back at the end of the way.
            let way: Vec<usize> = further.iter().copied().chain([place]).collect();
            // Arms are taken from the diamond mutably, one of them.
            at(arm, &way)
        }
        _ => unreachable!("only loops and diamonds have operations inside"),
    }
}

impl Run {
    fn all(&mut self, ops: &[Op]) -> Result<(), Broken> {
        for (place, op) in ops.iter().enumerate() {
            self.one(op).map_err(|Broken(mut way)| {
                way.push(place);
                Broken(way)
            })?;
        }
        Ok(())
    }

    fn bit(&self, bit: usize) -> bool {
        self.argument >> bit & 1 != 0
    }

    fn pointer(&self, name: Name) -> Pointer {
        self.names[&name]
    }

    /// The object that the pointer means, if it may be touched.
    fn base(&self, name: Name) -> Result<Reference, Broken> {
        self.inside(name, 0..1)
    }

    fn inside(&self, name: Name, words: std::ops::Range<i64>) -> Result<Reference, Broken> {
        let pointer = self.pointer(name);
        pointer.to.filter(|_| pointer.valid && words.contains(&pointer.words)).ok_or(Broken(vec![]))
    }

    /// A reference that the program did not have before.
    fn reference(&mut self, object: usize) -> Reference {
        self.references += 1;
        Reference { object, number: self.references }
    }

    fn safepoint(&mut self) {
        let roots = self.roots;
        for pointer in self.names.values_mut().chain(&mut self.variables) {
            pointer.valid &= pointer.to.is_some() && roots.contains(&pointer.to);
        }
    }

    fn note(&mut self, number: i64) {
        self.sum = self.sum.wrapping_mul(31).wrapping_add(number as u64);
    }

    fn one(&mut self, op: &Op) -> Result<(), Broken> {
        match *op {
            Op::New { name, number } => {
                self.safepoint();
                self.objects.push(Object { number, field: None });
                let to = Some(self.reference(self.objects.len() - 1));
                self.names.insert(name, Pointer { to, words: 0, valid: true });
            }
            Op::Move { name, from, words } => {
                let mut pointer = self.pointer(from);
                pointer.words += words;
                self.names.insert(name, pointer);
            }
            Op::Cast { name, from, .. } => {
                // The verifier takes it for a use, with reason: what comes out is the reference still.
                let pointer = self.pointer(from);
                if pointer.to.is_some() && !pointer.valid {
                    return Err(Broken(vec![]));
                }
                self.names.insert(name, pointer);
            }
            Op::Select { name, bit, yes, no } => {
                self.names.insert(name, self.pointer(if self.bit(bit) { yes } else { no }));
            }
            Op::SetRoot { root, from } => self.roots[root] = Some(self.base(from)?),
            Op::ClearRoot { root } => self.roots[root] = None,
            Op::CopyToRoot { root, variable } => {
                let Pointer { to, words, valid } = self.variables[variable];
                self.roots[root] = Some(to.filter(|_| valid && words == 0).ok_or(Broken(vec![]))?);
            }
            Op::GetRoot { name, root } => {
                let to = self.roots[root];
                self.names.insert(name, Pointer { to, words: 0, valid: to.is_some() });
            }
            Op::SetVariable { variable, from } => self.variables[variable] = self.pointer(from),
            Op::GetVariable { name, variable } => _ = self.names.insert(name, self.variables[variable]),
            Op::Link { object, value } => {
                let (object, value) = (self.base(object)?, self.base(value)?);
                self.objects[object.object].field = Some(value.object);
            }
            Op::Null { name } => _ = self.names.insert(name, Pointer::default()),
            Op::Follow { name, object } => {
                let field = self.objects[self.base(object)?.object].field;
                let to = field.map(|object| self.reference(object));
                self.names.insert(name, Pointer { to, words: 0, valid: to.is_some() });
            }
            Op::Stop(_) => self.safepoint(),
            Op::PassManaged { from } => {
                let Reference { object, .. } = self.base(from)?;
                self.safepoint();
                self.note(self.objects[object].number * 10 + 1);
            }
            Op::PassPlain { from } => {
                let reference = self.base(from)?;
                if !self.roots.contains(&Some(reference)) {
                    return Err(Broken(vec![]));
                }
                self.safepoint();
                self.note(self.objects[reference.object].number * 10 + 1);
            }
            Op::Use { from } => {
                let Reference { object, .. } = self.inside(from, 0..WORDS - 1)?;
                self.note(self.objects[object].number * 10 + self.pointer(from).words);
            }
            Op::Diamond { bit, ref yes, ref no, ref phis } => self.diamond(self.bit(bit), yes, no, phis)?,
            Op::Loop { times, ref body, ref phis } => self.repeat(times, body, phis)?,
            Op::Nothing => {}
        }
        Ok(())
    }

    fn diamond(&mut self, taken: bool, yes: &[Op], no: &[Op], phis: &[(Name, Name, Name)]) -> Result<(), Broken> {
        if taken {
            self.all(yes)?;
        } else {
            self.all(no).map_err(|Broken(mut way)| {
                *way.last_mut().expect("an operation of the arm") += yes.len();
                Broken(way)
            })?;
        }
        let merged: Vec<_> =
            phis.iter().map(|&(name, yes, no)| (name, self.pointer(if taken { yes } else { no }))).collect();
        self.names.extend(merged);
        Ok(())
    }

    fn repeat(&mut self, times: usize, body: &[Op], phis: &[(Name, Name, Name)]) -> Result<(), Broken> {
        for round in 0..times {
            let merged: Vec<_> = phis
                .iter()
                .map(|&(name, first, again)| (name, self.pointer(if round == 0 { first } else { again })))
                .collect();
            self.names.extend(merged);
            self.all(body)?;
        }
        Ok(())
    }
}
