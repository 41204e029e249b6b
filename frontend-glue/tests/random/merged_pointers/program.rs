//! Programs about pointers that merge, as trees of operations, and how chance makes them.
//!
//! Chance does not know what is allowed: `model.rs` acts a program out and takes the operations out that break the IR
//! contract, such as the use of a pointer whose object no root has held since the last safepoint.

use tally_kit::dice::Dice;

/// Roots of a program.
pub const ROOTS: usize = 6;
/// The first of these are read, too; what the others hold, only the values tell that went there.
const READ: usize = 4;
/// Its local variables.
pub const VARIABLES: usize = 3;
/// Bits of the argument that diamonds and selects ask for.
pub const BITS: usize = 4;
/// Words of an object: three numbers, and a reference.
pub const WORDS: i64 = 4;

/// The name of a pointer: `%v7`.
pub type Name = usize;

/// What leaves a pointer as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cast {
    Freeze,
    /// To an integer, changed there twice, and back.
    Integer,
    /// Into a struct, and out of it.
    Aggregate,
    /// Into a vector, and out of it.
    Vector,
    /// Through a leaf function that returns it.
    Leaf,
    /// Through `llvm.launder.invariant.group`.
    Launder,
}

const CASTS: [Cast; 6] = [Cast::Freeze, Cast::Integer, Cast::Aggregate, Cast::Vector, Cast::Leaf, Cast::Launder];

/// At which call objects may die.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    Collect,
    Churn,
    Safepoint,
}

/// One operation.
#[derive(Debug, Clone)]
pub enum Op {
    /// A new object, numbered as it is written down; a safepoint comes first.
    New {
        name: Name,
        number: i64,
    },
    /// The same pointer, so many words away.
    Move {
        name: Name,
        from: Name,
        words: i64,
    },
    Cast {
        name: Name,
        from: Name,
        cast: Cast,
    },
    Select {
        name: Name,
        bit: usize,
        yes: Name,
        no: Name,
    },
    SetRoot {
        root: usize,
        from: Name,
    },
    ClearRoot {
        root: usize,
    },
    /// Memory to memory, without a value in between.
    CopyToRoot {
        root: usize,
        variable: usize,
    },
    GetRoot {
        name: Name,
        root: usize,
    },
    SetVariable {
        variable: usize,
        from: Name,
    },
    GetVariable {
        name: Name,
        variable: usize,
    },
    /// Puts one object into the other's field.
    Link {
        object: Name,
        value: Name,
    },
    Null {
        name: Name,
    },
    /// Reads that field.
    Follow {
        name: Name,
        object: Name,
    },
    Stop(Stop),
    /// Passes the object to a managed function that reads it after a collection.
    PassManaged {
        from: Name,
    },
    /// The same with a plain function, which cannot root it.
    PassPlain {
        from: Name,
    },
    /// Reads a number.
    Use {
        from: Name,
    },
    Diamond {
        bit: usize,
        yes: Vec<Op>,
        no: Vec<Op>,
        phis: Vec<(Name, Name, Name)>,
    },
    /// `times` rounds; phis are (name, at first, from the round before).
    Loop {
        times: usize,
        body: Vec<Op>,
        phis: Vec<(Name, Name, Name)>,
    },
    /// Was taken out.
    Nothing,
}

/// Makes programs.
pub struct Author<'a> {
    dice: &'a mut Dice,
    names: usize,
    objects: i64,
    /// What remains to be written, so that programs stay small.
    left: usize,
}

impl Author<'_> {
    /// A program; its first names are objects in roots.
    pub fn program(dice: &mut Dice) -> Vec<Op> {
        let left = 24 + dice.below(40);
        let mut author = Author { dice, names: 0, objects: 0, left };
        let mut names = Vec::new();
        let mut ops = Vec::new();
        for root in 0..2 {
            author.new_object(&mut names, &mut ops);
            ops.push(Op::SetRoot { root, from: names[root] });
        }
        author.block(&mut names, &mut ops, 0);
        ops
    }

    fn name(&mut self) -> Name {
        self.names += 1;
        self.names - 1
    }

    /// One of the names, the later ones more often.
    fn pick(&mut self, names: &[Name]) -> Name {
        let back = self.dice.below(names.len()).min(self.dice.below(names.len()));
        names[names.len() - 1 - back]
    }

    fn new_object(&mut self, names: &mut Vec<Name>, ops: &mut Vec<Op>) {
        let name = self.name();
        self.objects += 1;
        ops.push(Op::New { name, number: self.objects });
        names.push(name);
    }

    fn block(&mut self, names: &mut Vec<Name>, ops: &mut Vec<Op>, depth: usize) {
        let most = if depth == 0 { usize::MAX } else { 2 + self.dice.below(6) };
        for _ in 0..most {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            match self.dice.below(if depth < 2 { 16 } else { 14 }) {
                0 => self.new_object(names, ops),
                1..=3 => self.pointer(names, ops),
                4 | 5 => self.store(names, ops),
                6 => self.heap(names, ops),
                7 | 8 => ops.push(Op::Stop([Stop::Collect, Stop::Churn, Stop::Safepoint][self.dice.below(3)])),
                9 | 10 => {
                    for _ in 0..3 {
                        ops.push(Op::Use { from: self.pick(names) });
                    }
                }
                11 if self.dice.below(2) == 0 => ops.push(Op::PassManaged { from: self.pick(names) }),
                11 => ops.push(Op::PassPlain { from: self.pick(names) }),
                12 | 13 => self.hand_over(names, ops),
                14 => self.diamond(names, ops, depth),
                _ => self.repeat(names, ops, depth),
            }
        }
    }

    /// A pointer made of others.
    fn pointer(&mut self, names: &mut Vec<Name>, ops: &mut Vec<Op>) {
        let (name, from) = (self.name(), self.pick(names));
        ops.push(match self.dice.below(6) {
            0 | 1 => Op::Move { name, from, words: self.dice.below(5) as i64 - 2 },
            2 => Op::Cast { name, from, cast: CASTS[self.dice.below(CASTS.len())] },
            3 => Op::Select { name, bit: self.dice.below(BITS), yes: from, no: self.pick(names) },
            4 => Op::GetRoot { name, root: self.dice.below(READ) },
            _ => Op::GetVariable { name, variable: self.dice.below(VARIABLES) },
        });
        names.push(name);
    }

    fn store(&mut self, names: &[Name], ops: &mut Vec<Op>) {
        let (root, variable) = (self.dice.below(ROOTS), self.dice.below(VARIABLES));
        ops.push(match self.dice.below(7) {
            0..=2 => Op::SetRoot { root, from: self.pick(names) },
            3 => Op::ClearRoot { root },
            4 => Op::CopyToRoot { root, variable },
            _ => Op::SetVariable { variable, from: self.pick(names) },
        });
    }

    /// One root alone holds something from here on, and other names of it are used behind a safepoint.
    fn hand_over(&mut self, names: &mut Vec<Name>, ops: &mut Vec<Op>) {
        if self.dice.below(3) == 0 {
            self.new_object(names, ops);
        }
        for _ in 0..self.dice.below(3) {
            self.pointer(names, ops);
        }
        let (root, mut from) = (READ + self.dice.below(ROOTS - READ), self.pick(names));
        if self.dice.below(2) == 0 {
            let (other, name) = (self.dice.below(READ), self.name());
            ops.extend([Op::SetRoot { root: other, from }, Op::GetRoot { name, root: other }]);
            names.push(name);
            from = name;
        }
        ops.push(Op::SetRoot { root, from });
        for other in (0..ROOTS).filter(|&other| other != root) {
            if self.dice.below(4) != 0 {
                ops.push(Op::ClearRoot { root: other });
            }
        }
        ops.push(Op::Stop(Stop::Churn));
        ops.extend((0..4).map(|_| Op::Use { from: self.pick(names) }));
    }

    fn heap(&mut self, names: &mut Vec<Name>, ops: &mut Vec<Op>) {
        let object = self.pick(names);
        if self.dice.below(2) == 0 {
            return ops.push(Op::Link { object, value: self.pick(names) });
        }
        let name = self.name();
        ops.push(Op::Follow { name, object });
        names.push(name);
    }

    fn diamond(&mut self, names: &mut Vec<Name>, ops: &mut Vec<Op>, depth: usize) {
        let bit = self.dice.below(BITS);
        let (mut in_yes, mut in_no) = (names.clone(), names.clone());
        let (mut yes, mut no) = (Vec::new(), Vec::new());
        self.block(&mut in_yes, &mut yes, depth + 1);
        self.block(&mut in_no, &mut no, depth + 1);
        let phis: Vec<_> =
            (0..1 + self.dice.below(3)).map(|_| (self.name(), self.pick(&in_yes), self.pick(&in_no))).collect();
        names.extend(phis.iter().map(|(name, ..)| *name));
        ops.push(Op::Diamond { bit, yes, no, phis });
    }

    fn repeat(&mut self, names: &mut Vec<Name>, ops: &mut Vec<Op>, depth: usize) {
        let firsts: Vec<_> = (0..1 + self.dice.below(3)).map(|_| (self.name(), self.pick(names))).collect();
        let mut inside = names.clone();
        inside.extend(firsts.iter().map(|(name, _)| *name));
        let mut body = Vec::new();
        self.block(&mut inside, &mut body, depth + 1);
        let phis: Vec<_> = firsts.into_iter().map(|(name, first)| (name, first, self.pick(&inside))).collect();
        // The body dominates what comes after it: all its names stay.
        *names = inside;
        ops.push(Op::Loop { times: 1 + self.dice.below(4), body, phis });
    }
}
