//! The heap of a reference-counting runtime for languages that compile to LLVM.
//!
//! Rooms, in the order in which an object meets them:
//!
//! | room | question |
//! |---|---|
//! | [`descriptor`], [`type_registry`] | where are an object's references? |
//! | [`context`], [`allocate`], [`plan::bump::block`], [`memory::large`], [`memory::block_source`], [`memory::range`] | where does a new object go? |
//! | [`object`], [`visit`] | what is a reference, and what does an object refer to? |
//! | [`resize`] | how does storage get another number of elements? |
//! | [`plan::deferred::log`] | what happens when a reference is overwritten? |
//! | [`plan::deferred::count`], [`plan::deferred::bulk`] | which objects are counted, promoted, freed? |
//! | [`plan`], [`plan::prompt`], [`memory::size_class`] | what is different when everything is counted at once? |
//! | [`services::finalizer`], [`services::exception`] | how is a destructor called, and what may leave it? |
//! | [`services::handle`], [`services::host_roots`] | what does native code hold? |
//! | [`services::external`], [`services::immortal`] | what do objects own outside, and which never die? |
//! | [`services::limits`] | what happens when memory runs out? |
//! | [`services::control`], [`services::inventory`], [`report::statistics`], [`report::histogram`] | what may a host ask of a running heap? |
//! | [`services::global_roots`] | which global variables are roots? |
//! | [`environment`] | which variables may be read? |
//! | [`arch`] | what differs by processor? |
//! | [`zeal`], [`fatal`] | how are mistakes found, and what happens then? |
//!
//! The crate `tally-collector` decides, through [`epoch_driver`], when epochs run and what a dead cycle is. What exists only because
//! compiled programs run (C symbols, modules, stacks) is `tally-compiled`.

#![warn(unreachable_pub)]

pub mod allocate;
pub mod arch;
mod at_work;
pub mod context;
pub mod descriptor;
pub mod environment;
pub mod epoch_driver;
pub mod fatal;
pub mod heap;
pub mod mark_phase;
pub mod memory;
pub mod object;
pub mod out_of_memory;
pub mod plan;
pub mod report;
pub mod resize;
pub mod services;
pub mod shared_map;
mod turn;
pub mod type_registry;
pub mod visit;
pub mod word_reading;
pub mod zeal;

pub use descriptor::TypeDescriptor;
pub use heap::{Heap, HeapEntry, HeapOptions};
pub use object::{ObjectRef, Slot};
pub use out_of_memory::OutOfMemory;
pub use type_registry::TypeId;
