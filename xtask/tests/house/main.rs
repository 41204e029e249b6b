//! The house's own rules, held by tests.
//!
//! `style` keeps file names, openings and lengths as CONTRIBUTING.md says; `code_map` keeps ARCHITECTURE.md and the
//! other documents true: a file or a type that they name must exist. Both look at the tree as it lies there, so a
//! new file is held to the rules before it is committed. `clauses` keeps docs/port/barriers.md and its tests together,
//! `tables` the documents' tables and what the code reads, writes and declares, `decisions` the pages of
//! docs/work/decisions/ in one form, `questions` that a newcomer's ten questions are answered by the tree, `plans` that
//! nothing but the verbs asks for a heap's plan, `import_rings` that files name each other in small rings only,
//! `invariants` that comments cite the invariants that there are, `constants` that the collector is tuned by few numbers, `fuzz_targets`
//! that their checks run every day.

mod clauses;
mod code;
mod code_map;
mod constants;
mod decisions;
mod fuzz_targets;
mod import_graph;
mod import_rings;
mod invariants;
mod plans;
mod questions;
mod sources;
mod standard_error;
mod style;
mod tables;
