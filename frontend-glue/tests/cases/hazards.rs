//! Every known way in which LLVM loses a root, or breaks on a lowered call: executed with its mitigation, and without.
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
//! ; WRITTEN ROOTS: reason           its roots cannot be inferred instead
//! ; REFUSED: text                   it is refused with exit status 2, and the message holds this
//! ; WITHOUT mitigation at level: text     with this mitigation left out, what comes out holds this (or this|or this): the program's
//!                                   output, `status N`, `signal`, or what is said while it is compiled
//! ```
//!
//! A right program runs under `tally run` with tiny epochs and a leak check at every level and under either plan, under
//! zeal at two, and as an executable at two, again under either plan; under the prompt plan, at every second level, with other
//! counts saved than its level saves. In one of these ways, chosen by its name, it runs without the roots that it writes, which are inferred then.
//! Every level with every choice of savings, and all ways with inferred roots: `TALLY_EVERY_WAY=1`. That all of them survive is
//! scenario 176.

mod program;
mod without;

use crate::trial;
use libtest_mimic::Trial;
use program::Program;
use tally_kit::situation::Situation;

/// Programs that the others are linked with.
const NO_PROGRAM: &str = "support";

/// Each program in all ways, and each that can be lowered without its mitigation.
pub fn trials() -> Vec<Trial> {
    let mut situations = Situation::all("frontend-glue/tests/hazards", 74);
    situations.retain(|situation| situation.name() != NO_PROGRAM && !situation.file.ends_with("native.c"));
    let trials = situations.into_iter().flat_map(|situation| {
        let survived = situation.clone();
        let survives = trial(format!("hazards::{}::is_survived", situation.name()), move || {
            let program = Program::read(&survived);
            program.check_runs()?;
            program.check_inferred()
        });
        let has_mitigation = situation.told().any(|(keyword, _)| keyword.starts_with("WITHOUT "));
        let shows = has_mitigation.then(|| {
            trial(format!("hazards::{}::shows_without_its_mitigation", situation.name()), move || {
                without::check(&Program::read(&situation))
            })
        });
        std::iter::once(survives).chain(shows)
    });
    trials.collect()
}
