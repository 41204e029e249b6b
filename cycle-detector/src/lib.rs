//! When epochs run, what they do, and which cycles are garbage.
//!
//! The story of an epoch, in the order of its rooms:
//!
//! | room | step |
//! |---|---|
//! | [`plan::deferred::trigger`] | is a flip due? how much work may this slice do? |
//! | [`plan::deferred::flip`] | the one atomic step: roots counted, logs swapped, barriers armed |
//! | [`plan::deferred::epoch`] | the loop and the match: which phase is running |
//! | [`plan::deferred::reconcile`] | increments: promote what survived, count what changed |
//! | [`plan::deferred::release`] | decrements: old roots, old values, and what dies with them |
//! | [`plan::deferred::trial`] | local trial deletion on the candidates |
//! | [`budget`] | what trials may cost |
//! | [`plan::deferred::mark`] | the backup mark, for what trials cannot decide |
//! | [`evidence`] | whether a mark would pay |
//! | [`plan::prompt`] | what is different when everything is counted at once |
//! | [`mod@slice`] | how much is done before the program has its turn |
//! | [`account`] | when the program has had its turn |
//! | `step` | an explicit collection in parts |
//! | `prefetch_queue` | what a mark visits next, on its way to the cache |
//! | `tally_heap::report::epoch_report` | what the epoch did, as plain data |
//! | [`plan::deferred::verify`] | the heap recounted from scratch |
//!
//! Roots of compiled code come from a [`root_source::RootSource`]; the crate `tally-compiled` has the one for stacks. [`Mutator`] is one
//! heap and its collector, raw; the crate `tally` is what hosts use, with lifetimes that keep references from being lost.

#![warn(unreachable_pub)]

pub mod account;
pub mod budget;
mod collection_log;
pub mod evidence;
pub mod mutator;
pub mod plan;
mod prefetch_queue;
mod progress;
mod record_walk;
mod recount;
mod release_to_marked;
pub mod root_source;
mod sample;
pub mod slice;
mod stops;

pub use mutator::Mutator;
/// Types of the heap that hosts need: options, descriptors, errors.
pub use tally_heap;
pub use tally_heap::report::epoch_report::EpochReport;
pub use tally_heap::report::violation::Violation;
