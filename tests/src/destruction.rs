//! Random programs whose destructors print, and the definition of their order: the order of destruction under the
//! prompt plan.
//!
//! A program is a few functions over small objects: straight statements, branches, loops, calls. `text.rs` writes it as
//! C over `tally_gc.h`, `machine.rs` runs it by the definition of the plan, with recursion and a list; both print
//! births, destructions and a mark after every statement, so one misplaced death is one line that differs.
//!
//! Objects refer only to objects of a lower rank, so that there are no cycles: trials decide when those die.
//! Arguments are variables and fields: a new object that is only an argument dies inside the call or right after it,
//! which depends on the optimisation of the caller.
//!
//! `tests/tests/suite/destruction.rs` compares them at several levels of optimisation: counts are placed literally at
//! -O0 and saved above.

pub mod machine;
mod text;

use tally_kit::dice::Dice;

/// Local variables of every function; the first two are its parameters.
pub const LOCALS: usize = 5;
/// Global variables.
pub const GLOBALS: usize = 2;
/// Reference fields of every object; a row has `MORE` elements after them.
pub const FIELDS: usize = 3;
/// Elements of a row.
pub const MORE: usize = 3;

/// The action of an object's destructor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Prints.
    Plain,
    /// Prints, drops its second field, and prints again.
    Cutter,
    /// Prints, puts a new object into its first field, and prints again.
    Maker,
    /// Prints; an array of references follows its fields.
    Row,
}

impl Kind {
    /// All kinds, by the number that is the low part of an object's id.
    pub const ALL: [Kind; 4] = [Kind::Plain, Kind::Cutter, Kind::Maker, Kind::Row];
}

/// A reference that is read without a call.
#[derive(Debug, Clone)]
pub enum Place {
    /// Null.
    Null,
    /// A local variable.
    Local(usize),
    /// A global variable.
    Global(usize),
    /// A field of a local variable's object, or null.
    Field(usize, usize),
}

/// A statement.
#[derive(Debug, Clone)]
pub enum Statement {
    /// A new object.
    Make(usize, Kind),
    /// An assignment to a local.
    Set(usize, Place),
    /// Two locals exchanged.
    Swap(usize, usize),
    /// A write into a field, if the ranks allow it.
    Write(usize, usize, Place),
    /// The same with an element of a row.
    WriteElement(usize, usize, Place),
    /// A write, after which the local that was written is cleared at once.
    Hand(usize, usize, usize),
    /// A write into a field of a new object.
    WriteNew(usize, usize, Kind),
    /// A write to a global.
    SetGlobal(usize, Place),
    /// A call; the result goes to a local, or is dropped.
    Call(Option<usize>, usize, Place, Place),
    /// A branch: the program's step decides its way.
    If(Vec<Statement>, Vec<Statement>),
    /// Several times.
    Repeat(usize, Vec<Statement>),
    /// Returns early.
    Return(Place),
}

/// A program: function 0 is called by `main`.
#[derive(Debug, Clone)]
pub struct Program {
    /// Bodies; each returns its last member.
    pub functions: Vec<(Vec<Statement>, Place)>,
    /// Whether one C function makes objects of every kind.
    pub makes_in_one_function: bool,
    /// The number of modules that its functions are spread over; references are passed between them.
    pub modules: usize,
}

impl Program {
    /// The program of a seed.
    pub fn new(seed: u64) -> Program {
        let mut dice = Dice::new(seed);
        let count = 2 + dice.below(3);
        let functions = (0..count).map(|_| (block(&mut dice, count, 12, 0), place(&mut dice))).collect();
        Program { functions, makes_in_one_function: seed.is_multiple_of(2), modules: 1 + (seed / 2 % 3) as usize }
    }

    /// Returns the program as C, in the form of `random_program/modules.rs`.
    pub fn text(&self) -> String {
        text::text(self)
    }
}

fn block(dice: &mut Dice, functions: usize, length: usize, nesting: usize) -> Vec<Statement> {
    let length = 1 + dice.below(length);
    (0..length).map(|_| statement(dice, functions, nesting)).collect()
}

fn place(dice: &mut Dice) -> Place {
    match dice.below(12) {
        0 => Place::Null,
        1 => Place::Global(dice.below(GLOBALS)),
        2..=5 => Place::Field(dice.below(LOCALS), dice.below(FIELDS)),
        _ => Place::Local(dice.below(LOCALS)),
    }
}

fn statement(dice: &mut Dice, functions: usize, nesting: usize) -> Statement {
    let local = dice.below(LOCALS);
    match dice.below(32) {
        0..=6 => Statement::Make(local, *dice.pick(&Kind::ALL)),
        7..=9 => Statement::Set(local, place(dice)),
        10 => Statement::Set(local, Place::Null),
        11 => Statement::Swap(local, dice.below(LOCALS)),
        12..=15 => Statement::Write(local, dice.below(FIELDS), place(dice)),
        16 => Statement::WriteElement(local, dice.below(MORE), place(dice)),
        17 | 18 => Statement::Hand(local, dice.below(FIELDS), dice.below(LOCALS)),
        19 => Statement::WriteNew(local, dice.below(FIELDS), *dice.pick(&Kind::ALL)),
        20 => Statement::SetGlobal(dice.below(GLOBALS), place(dice)),
        21..=25 => {
            let to = (!dice.one_in(4)).then_some(local);
            Statement::Call(to, dice.below(functions), place(dice), place(dice))
        }
        26..=28 if nesting < 2 => {
            let other = if dice.one_in(2) { block(dice, functions, 3, nesting + 1) } else { Vec::new() };
            Statement::If(block(dice, functions, 4, nesting + 1), other)
        }
        29 if nesting < 2 => Statement::Repeat(2 + dice.below(3), block(dice, functions, 4, nesting + 1)),
        30 if nesting > 0 => Statement::Return(place(dice)),
        _ => Statement::Set(local, Place::Field(local, dice.below(FIELDS))),
    }
}

/// Whether an object may refer to another: the target's rank must be lower.
pub fn may_refer(from: u64, to: u64) -> bool {
    rank(from) > rank(to)
}

fn rank(id: u64) -> u64 {
    (id.wrapping_mul(2_654_435_761) & 0xffff) << 32 | id
}
