//! The heap of a reference-counting runtime for languages that compile to LLVM.
//!
//! Rooms, in the order in which an object meets them:
//!
//! | room | question it answers |
//! |---|---|
//! | [`descriptor`], [`type_registry`] | where are an object's references? |
//! | [`module_record`], [`module_registry`] | what does a compiled module tell us about itself? |
//! | [`context`], [`allocate`], [`plan::deferred::block`], [`memory::large`], [`memory::block_source`], [`memory::range`] | where does a new object go? |
//! | [`object`], [`visit`] | what is a reference, and what does an object refer to? |
//! | [`barrier`], [`plan::deferred::log`] | what happens when a reference is overwritten? |
//! | [`plan::deferred::count`], [`plan::deferred::bulk`] | who is counted, promoted, freed? |
//! | [`plan`], [`plan::prompt`], [`memory::size_class`] | what is different when everything is counted at once? |
//! | [`services::finalizer`], [`services::exception`] | how is a destructor called, and what may leave it? |
//! | [`services::handle`], [`services::host_roots`], [`host_abi`] | what does native code hold, and what does it call? |
//! | [`services::external`], [`services::immortal`] | what do objects own outside, and which never die? |
//! | [`services::limits`] | what happens when memory runs out? |
//! | [`services::control`], [`services::inventory`], [`report::statistics`], [`report::histogram`] | what may a host ask of a running heap? |
//! | [`options`], [`environment`], [`destination`] | what is a run told, by whom, and where do its reports go? |
//! | [`zeal`], [`fatal`] | how are mistakes found, and what happens then? |
//! | [`symbols`], [`abi`] | what do compiled programs call? |
//!
//! When epochs run, and what a dead cycle is, decides the crate `cycle-detector` through [`epoch_driver`].

pub mod abi;
pub mod allocate;
pub mod barrier;
pub mod context;
pub mod descriptor;
pub mod destination;
pub mod environment;
pub mod epoch_driver;
pub mod fatal;
pub mod heap;
pub mod host_abi;
pub mod memory;
pub mod module_record;
pub mod module_registry;
pub mod object;
pub mod options;
pub mod plan;
pub mod report;
pub mod services;
pub mod symbols;
pub mod type_registry;
pub mod visit;
pub mod zeal;

pub use allocate::OutOfMemory;
pub use descriptor::TypeDescriptor;
pub use heap::{Heap, HeapOptions};
pub use object::{ObjectRef, Slot};
pub use type_registry::TypeId;
