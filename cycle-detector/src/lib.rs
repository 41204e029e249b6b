//! When epochs run, what they do, and which cycles are garbage.
//!
//! The story of an epoch, in the order of its rooms:
//!
//! | room | step |
//! |---|---|
//! | [`trigger`] | is a flip due? how much work may this slice do? |
//! | [`flip`] | the one atomic step: roots counted, logs swapped, barriers armed |
//! | [`epoch`] | the loop and the match: which phase is running |
//! | [`reconcile`] | increments: promote what survived, count what changed |
//! | [`release`] | decrements: old roots, old values, and what dies with them |
//! | [`trial`] | local trial deletion on the candidates |
//! | [`purse`], [`nap`] | what trials may cost, and where none is worth it for a while |
//! | [`mark`] | the backup mark, for what trials cannot decide |
//! | [`evidence`] | whether a mark would pay |
//! | [`prompt`] | what is different when everything is counted at once |
//! | `step` | an explicit collection in parts |
//! | `soon` | what a mark visits next, on its way to the cache |
//! | [`report`] | what the epoch did, as plain data |
//! | [`verify`] | the heap recounted from scratch |
//!
//! [`stack`] finds the roots of compiled code, [`program`] is the life of a compiled program around its `main`,
//! `thread_heap` that of a thread's heap, [`Mutator`] is the heap as tests and embedders see it,
//! and [`HostHeap`] the same with lifetimes that keep references from being lost.

pub mod collector;
mod company;
mod discovery;
mod diversion;
pub mod epoch;
pub mod evidence;
pub mod flip;
pub mod global_handle;
pub mod host_heap;
mod lent;
pub mod llvm_interface;
mod loaded_modules;
pub mod mark;
pub mod mutator;
pub mod nap;
mod overflow_message;
pub mod program;
pub mod prompt;
pub mod purse;
pub mod reconcile;
mod records;
pub mod reentry;
pub mod release;
pub mod report;
mod runtime_entries;
pub mod shadow_stack;
mod soon;
pub mod stack;
pub mod stack_overflow;
mod statistics_report;
mod step;
mod success_rate;
mod thread_heap;
pub mod trial;
pub mod trigger;
pub mod verify;

/// The example in the document of services, compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../docs/services.md")]
struct ServicesDocument;

pub use collector::Collector;
pub use global_handle::Global;
pub use host_heap::{Handle, HostHeap, Ref, Scope};
pub use mutator::Mutator;
pub use report::EpochReport;
/// What hosts need beside this crate: options, descriptors, errors.
pub use tally_heap;
pub use verify::Violation;
