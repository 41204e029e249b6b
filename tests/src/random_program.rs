//! Random C programs over `tally_gc.h`: a test of compiler and runtime together.
//!
//! The op programs of `strategies.rs` drive the heap; these drive all of it: lowering, optimiser, code generator,
//! stack maps, walk, epochs. A program keeps the rules of `tally_gc.h` by construction, prints a checksum of
//! everything it reads, and is the same for the same seed. Compiled over plain `calloc`
//! (`random_program/without_tally.h`) it gives the right result. It may be several modules, whose functions call each
//! other and pass references; it may throw, through frames of any kind (then it is compiled as IR, with landing
//! pads); and under the prompt plan its types have destructors, which run once for each object. Some also keep a list
//! of their roots, and check that the walk finds the same.
//!
//! * `kinds.rs`: the types (their C stands in `prelude.h`) and how their fields are named
//! * `function.rs`: signatures, frames, parameters, results; `body.rs`: the parts of a function's text
//! * `statement.rs`: statements that may call; `calls.rs`: calls; `quiet.rs`: stretches without a call, where
//!   references need no root
//! * `modules.rs`: the files of a program
//! * `trial.rs`: the ways a program is run and compared; `passes.rs`: its IR optimised before Tally sees it
//! * `reduce.rs`: makes a failing program short
//!
//! `tests/tests/suite/random_programs.rs` runs some; `src/bin/random_programs.rs` runs any number.

mod body;
mod calls;
mod function;
mod kinds;
pub mod modules;
pub mod passes;
mod quiet;
pub mod reduce;
mod statement;
mod temporary;
pub mod trial;

use function::{Shape, Signature};
use tally_kit::dice::Dice;

/// The beginning of all programs.
pub const PRELUDE: &str = include_str!("random_program/prelude.h");

/// The code that stops exceptions, in programs that raise some.
pub const ATTEMPT: &str = include_str!("random_program/attempt.ll");

/// The header that stands in for `tally_gc.h` in the reference run.
pub const WITHOUT_TALLY: &str = include_str!("random_program/without_tally.h");

/// Global variables that hold references; `globals.few[n]` are four more.
const GLOBALS: [&str; 6] = ["first", "second", "globals.few[0]", "globals.few[1]", "globals.few[2]", "globals.owner"];

/// The callback for libc's qsort.
const COMPARE: &str = "
static int compare(const void *a, const void *b) {
    long x = *(const long *)a, y = *(const long *)b;
    if ((x ^ y) & 1) look(f0(NULL, first, x & 7, 2), 3);
    return (x > y) - (x < y);
}
";

/// The program of a seed: C text, of one module or several, each of which is all of it with `MODULE` defined.
pub fn program(seed: u64) -> String {
    let mut dice = Dice::new(seed);
    let modules = [1, 1, 2, 3][dice.below(4)];
    let signatures: Vec<Signature> = signatures(&mut dice, modules);
    let (raises, audit) = (usize::from(dice.one_in(3)), usize::from(dice.one_in(4)));
    let mut text = format!(
        "/* Random program of seed {seed}. */\n#define MODULES {modules}\n#define RAISES {raises}\n#define AUDIT {audit}\n\
         {PRELUDE}\n"
    );
    if dice.one_in(3) {
        text = text.replace("static __attribute__((noinline)) void look", "static void look");
    }
    text.push_str("SHARED Any *first, *second;\nSHARED struct Globals { long n; Any *owner, *few[3]; } globals;\n");
    text.push_str("typedef Any *Method(Any *, Any *, long, int);\ntypedef long Measure(Any *, Any *, long, int);\n");
    for module in 0..modules {
        let visible: Vec<Signature> = signatures.iter().filter(|one| one.is_visible_in(module)).cloned().collect();
        text.push_str(&format!("#if MODULE == {module}\n"));
        for signature in &visible {
            text.push_str(&format!("{};\n", signature.head()));
        }
        text.push_str(&table(&mut dice, "Method", "methods", &visible, Shape::Reference));
        text.push_str(&table(&mut dice, "Measure", "measures", &visible, Shape::Number));
        text.push_str(COMPARE);
        for signature in visible.iter().filter(|one| one.module == module) {
            text.push_str(&function::definition(&mut dice, signature, &visible));
        }
        if module + 1 == modules {
            text.push_str(&main_function(&mut dice, &signatures));
        }
        text.push_str("#endif\n");
    }
    text
}

/// At least one function that returns a reference and one that returns a number come first.
fn signatures(dice: &mut Dice, modules: usize) -> Vec<Signature> {
    let count = 4 + dice.below(9);
    (0..count)
        .map(|number| {
            let shape = match number {
                0 | 1 => Shape::Reference,
                2 => Shape::Number,
                _ => *dice.pick(&Shape::ALL),
            };
            Signature::new(dice, number, shape, modules)
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
         \x20   ENTER;\n\
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
         {clear}\
         \x20   p = q = NULL;\n\
         \x20   tally_collect();\n\
         \x20   if (ARE_BURIED) printf(\"%ld %lx\\n\", births - burials, born - buried); else printf(\"0 0\\n\");\n}}\n"
    )
}
