//! The deferred plan's protocol between a program's writes and the sliced passes, as a model small enough to be
//! searched whole.
//!
//! A state is a heap of at most four objects with all data of the protocol about each: stamp, count, unlogged bit,
//! flags, its entries in the running and the last log, and its queue. An action is one operation of the mutator
//! (allocate, load, write, clear: the references that change, not the instructions) or one unit of work of a pass.
//! The search tries every action in every state (`protocol/search.rs`), and checks the named invariants in each
//! (`protocol/invariant.rs`).
//!
//! The modelled parts, and their sources:
//!
//! ```text
//!  mutator.rs   rc-runtime/src/{barrier,plan/deferred/log}.rs              writes, the log, blocks logged as a whole
//!  count.rs     rc-runtime/src/plan/deferred/count.rs                      counts, promotion, the end of an object
//!  passes.rs    cycle-detector/src/plan/deferred/{epoch,flip,reconcile,release}.rs
//!  trial.rs     cycle-detector/src/plan/deferred/trial.rs                  with every choice of what lies outside the cohort
//!  mark.rs      cycle-detector/src/plan/deferred/mark.rs                   discover, release, free; given up at any time
//! ```
//!
//! Not modelled are addresses of objects, large objects, finalizers and weak slots. Where the order of the real
//! passes depends on addresses (which of two log entries comes first), or on budgets (whether a death or a root is
//! next), the model takes every order. An object's name has no meaning: states that differ only in names are one
//! (`protocol/canonical.rs`).
//!
//! Each protective rule of the protocol can be left out ([`Rule`]). The tests check that the search then finds a
//! violation: a model that could not fail would prove nothing. (After Holzmann's "The Model Checker SPIN", 1997:
//! depth for shortness of traces, and fingerprints instead of states.)

mod action;
mod canonical;
mod count;
mod invariant;
mod mark;
mod mutator;
mod passes;
mod rule;
mod search;
mod start;
mod state;
mod trial;

pub use action::Action;
pub use invariant::Violation;
pub use rule::Rule;
pub use search::{Counterexample, Extent};
pub use state::{Entry, Object, Phase, Queue, Read, Stage, Stamp, State, flag};

/// Objects in a heap.
pub const OBJECTS_MAX: usize = 4;
/// References in an object.
pub const FIELDS_MAX: usize = 2;

/// An object's place in the state.
pub type Name = u8;
/// No object.
pub const NULL: Name = 7;
/// An object's references.
pub type Words = [Name; FIELDS_MAX];

/// The size of the heap that is searched, and its possible actions.
#[derive(Clone, Debug)]
pub struct Model {
    /// Cells.
    pub objects: usize,
    /// References in each object.
    pub fields: usize,
    /// Root slots of the mutator.
    pub roots: u8,
    /// The count that no longer changes.
    pub stuck: u8,
    /// The first write to an object logs all of its block; else only the object.
    pub whole_blocks: bool,
    /// Trials leave out any choice of objects, as if these were of another cohort; else they follow all objects.
    pub cohorts: bool,
    /// Candidates are tried.
    pub trials: bool,
    /// Backup marks may be started.
    pub marks: bool,
    /// The most operations of the mutator; `u8::MAX` for no bound.
    pub operations: u8,
    /// The rule that is left out.
    pub without: Option<Rule>,
    /// The first content of the heap.
    pub start: Start,
}

/// The first states: mature objects, counted by an epoch that is over.
#[derive(Clone, Debug)]
pub enum Start {
    /// No object.
    Empty,
    /// These.
    Heap(Vec<First>),
    /// Every heap in which counting has done its work: every unreachable object is reachable from a garbage cycle.
    EveryHeap,
}

impl Default for Model {
    /// Three objects of one field and two roots, with trials and marks, from an empty heap.
    fn default() -> Self {
        Model {
            objects: 3,
            fields: 1,
            roots: 2,
            stuck: u8::MAX,
            whole_blocks: false,
            cohorts: false,
            trials: true,
            marks: true,
            operations: u8::MAX,
            without: None,
            start: Start::Empty,
        }
    }
}

impl Model {
    /// Whether the protocol follows the rule.
    pub(crate) fn keeps(&self, rule: Rule) -> bool {
        self.without != Some(rule)
    }
}

/// An object of a first state.
#[derive(Clone, Copy, Debug)]
pub struct First {
    /// Its references.
    pub words: Words,
    /// Roots that hold it.
    pub held: u8,
    /// Roots that held it at the flip.
    pub roots: u8,
    /// Its block.
    pub block: u8,
}
