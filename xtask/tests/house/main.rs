//! The house's own rules, held by tests.
//!
//! `style` keeps file names, openings and lengths as CONTRIBUTING.md says; `code_map` keeps ARCHITECTURE.md and the
//! other documents true: a file or a type that they name must exist. Both look at the tree as it lies there, so a
//! new file is held to the rules before it is committed. `clauses` keeps docs/barriers.md and its tests together,
//! `tables` the documents' tables and what the code reads, writes and declares, `decisions` the pages of docs/decisions/ in one form,
//! `plans` the questions about a heap's plan in one place, `import_rings` the rings of files that name each other small.

mod clauses;
mod code;
mod code_map;
mod decisions;
mod import_graph;
mod import_rings;
mod plans;
mod sources;
mod style;
mod tables;
