//! Random C programs over `tally_gc.h`: what compiler and runtime must get right together.
//!
//! The op programs of `strategies.rs` drive the heap; these drive all of it: lowering, optimiser, code generator, stack
//! maps, walk, epochs. A program keeps the rules of `tally_gc.h` by construction, prints a checksum of everything it
//! reads, and is the same for the same seed. Compiled over plain `calloc` (`random_program/without_tally.h`) it says what
//! is right.
//!
//! * `kinds.rs`: the types (their C stands in `prelude.h`) and how their fields are named
//! * `function.rs`: signatures, frames, parameters, results; `body.rs`: what a function's text is made of
//! * `statement.rs`: statements that may call; `calls.rs`: calls; `quiet.rs`: stretches without a call, where references need no root
//! * `trial.rs`: the ways a program is run and compared; `passes.rs`: its IR optimised before Tally sees it
//! * `reduce.rs`: makes a failing program short
//!
//! `tests/tests/random_programs.rs` runs some; `src/bin/random_programs.rs` runs as many as one likes.

mod body;
mod calls;
pub mod dice;
mod function;
mod kinds;
pub mod passes;
mod quiet;
pub mod reduce;
mod statement;
pub mod trial;

use dice::Dice;
use function::{Shape, Signature};

/// What all programs begin with.
pub const PRELUDE: &str = include_str!("random_program/prelude.h");

/// The header that stands in for `tally_gc.h` in the reference run.
pub const WITHOUT_TALLY: &str = include_str!("random_program/without_tally.h");

/// Global variables that hold references; `globals.few[n]` are four more.
const GLOBALS: [&str; 6] = ["first", "second", "globals.few[0]", "globals.few[1]", "globals.few[2]", "globals.owner"];

/// What libc's qsort calls back.
const COMPARE: &str = "
static int compare(const void *a, const void *b) {
    long x = *(const long *)a, y = *(const long *)b;
    if ((x ^ y) & 1) look(f0(NULL, first, x & 7, 2), 3);
    return (x > y) - (x < y);
}
";

/// The program of a seed: C text.
pub fn program(seed: u64) -> String {
    let mut dice = Dice::new(seed);
    let signatures: Vec<Signature> = signatures(&mut dice);
    let mut text = format!("/* Random program of seed {seed}. */\n{PRELUDE}\n");
    if dice.one_in(3) {
        text = text.replace("static __attribute__((noinline)) void look", "static void look");
    }
    text.push_str("static Any *first, *second;\nstatic struct { long n; Any *owner, *few[3]; } globals;\n");
    text.push_str("typedef Any *Method(Any *, Any *, long, int);\ntypedef long Measure(Any *, Any *, long, int);\n");
    for signature in &signatures {
        text.push_str(&format!("{};\n", signature.head()));
    }
    text.push_str(&table(&mut dice, "Method", "methods", &signatures, Shape::Reference));
    text.push_str(&table(&mut dice, "Measure", "measures", &signatures, Shape::Number));
    text.push_str(COMPARE);
    for signature in &signatures {
        text.push_str(&function::definition(&mut dice, signature, &signatures));
    }
    text.push_str(&main_function(&mut dice, &signatures));
    text
}

/// At least one function that returns a reference and one that returns a number come first.
fn signatures(dice: &mut Dice) -> Vec<Signature> {
    let count = 4 + dice.below(9);
    (0..count)
        .map(|number| {
            let shape = match number {
                0 | 1 => Shape::Reference,
                2 => Shape::Number,
                _ => *dice.pick(&Shape::ALL),
            };
            Signature::new(dice, number, shape)
        })
        .collect()
}

/// An array of function pointers; often in memory that the optimiser cannot read at compile time.
fn table(dice: &mut Dice, of: &str, name: &str, signatures: &[Signature], shape: Shape) -> String {
    let names: Vec<&str> = signatures
        .iter()
        .filter(|signature| signature.shape == shape)
        .map(|signature| signature.name.as_str())
        .collect();
    let how = ["volatile ", "const ", ""][dice.below(3)];
    format!("static {of} *{how}{name}[] = {{{}}};\n#define {name}_count {}\n", names.join(", "), names.len())
}

fn main_function(dice: &mut Dice, signatures: &[Signature]) -> String {
    let depth = [4, 6, 9, 40][dice.below(4)];
    let (one, other) = (&signatures[0].name, &signatures[1].name);
    let clear: String = GLOBALS.iter().map(|global| format!("    TALLY_WRITE_GLOBAL({global}, NULL);\n")).collect();
    format!(
        "int main(int argc, char **argv) {{\n\
         \x20   int rounds = argc > 1 ? atoi(argv[1]) : 8;\n\
         \x20   long fuel_each = argc > 2 ? atol(argv[2]) : 400;\n\
         \x20   Any *p = NULL, *q = NULL;\n\
         \x20   TALLY_ROOT(p, q);\n\
         \x20   for (int round = 0; round < rounds; round++) {{\n\
         \x20       fuel = fuel_each;\n\
         \x20       p = {one}(p, q, round, {depth});\n\
         \x20       look(p, 20);\n\
         \x20       fuel = fuel_each;\n\
         \x20       q = {other}(q, p, sum & 63, {depth});\n\
         \x20       look(q, 20);\n\
         \x20       printf(\"%d %016lx %ld\\n\", round, sum, serial);\n\
         \x20   }}\n\
         {clear}}}\n"
    )
}
