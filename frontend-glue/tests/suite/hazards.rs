//! Every known way in which LLVM loses a root, or breaks on a lowered call: executed with its cure, and without.
//!
//! Each `*.ll` here is a program that meets one hazard and ends with status 0 only if no root was lost; `support.ll` is the
//! module that all of them are linked with. Its comments say what the hazard is and what the runner is to do:
//!
//! ```text
//! ; WITH: native.c                  further modules
//! ; LEVELS: 1 2 3 s                 where it runs; without this line at all five
//! ; ZEAL: no                        too long, or too deep, for an epoch at every safepoint
//! ; LINKED-ONLY: text               `tally run` refuses it so; an executable works
//! ; PROMPT-REFUSED: text            the same under the prompt plan alone; executables are not made then
//! ; REFUSED: text                   it is refused with exit status 2, and the message holds this
//! ; WITHOUT cure at level: text     with this cure left out, what comes out holds this (or this|or this): the program's
//!                                   output, `status N`, `signal`, or what is said while it is compiled
//! ```
//!
//! A right program runs under `tally run` with tiny epochs and a leak check at every level and under either plan, under
//! zeal at two, and as an executable at two, again under either plan; and under the prompt plan with other counts saved
//! than its level saves. One program alone: `TALLY_HAZARD=name cargo test -p tally-llvm --test suite hazards::every`; every level with every
//! choice of savings: `TALLY_HAZARD_MATRIX=1`.

mod limits;
mod program;
mod tools;
mod without;

use program::{Program, all_programs};
use tally_kit::workers;

/// scenario 176.
#[test]
fn every_hazard_is_survived_at_every_level() {
    each_program(|program| program.check_runs());
}

#[test]
fn every_hazard_shows_without_its_cure() {
    each_program(without::check);
}

/// Runs `check` on all programs and lists what failed.
fn each_program(check: impl Fn(&Program) -> Result<(), String> + Sync) {
    let failures = workers::each(&all_programs(), |program| {
        check(program).map_err(|reason| format!("{}: {reason}", program.name))
    });
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
