//! The heap of a reference-counting runtime for languages that compile to LLVM.
//!
//! Rooms, in the order in which an object meets them:
//!
//! | room | question it answers |
//! |---|---|
//! | [`descriptor`], [`type_registry`] | where are an object's references? |
//! | [`module_record`], [`module_registry`] | what does a compiled module tell us about itself? |
//! | [`context`], [`allocate`], [`block`], [`large`], [`block_source`], [`range`] | where does a new object go? |
//! | [`object`], [`visit`] | what is a reference, and what does an object refer to? |
//! | [`barrier`], [`log`] | what happens when a reference is overwritten? |
//! | [`count`], [`bulk`] | who is counted, promoted, freed? |
//! | [`plan`], [`prompt`], [`size_class`] | what is different when everything is counted at once? |
//! | [`finalizer`], [`exception`] | how is a destructor called, and what may leave it? |
//! | [`handles`], [`host_roots`], [`host_abi`] | what does native code hold, and what does it call? |
//! | [`external`], [`immortal`] | what do objects own outside, and which never die? |
//! | [`limits`] | what happens when memory runs out? |
//! | [`control`], [`inventory`], [`statistics`], [`histogram`] | what may a host ask of a running heap? |
//! | [`options`], [`environment`], [`destination`] | what is a run told, by whom, and where do its reports go? |
//! | [`zeal`], [`fatal`] | how are mistakes found, and what happens then? |
//! | [`symbols`], [`abi`] | what do compiled programs call? |
//!
//! When epochs run, and what a dead cycle is, decides the crate `cycle-detector` through [`epoch_driver`].

pub mod abi;
pub mod allocate;
pub mod barrier;
pub mod bit_table;
pub mod block;
pub mod block_source;
pub mod builtin;
pub mod bulk;
pub mod context;
pub mod control;
pub mod count;
pub mod descriptor;
pub mod destination;
pub mod environment;
pub mod ephemeron;
pub mod epoch_driver;
pub mod errand;
pub mod exception;
pub mod external;
pub mod fatal;
pub mod finalizer;
pub mod handles;
pub mod heap;
pub mod histogram;
pub mod host_abi;
pub mod host_roots;
pub mod immortal;
pub mod inventory;
pub mod large;
pub mod limits;
pub mod list;
pub mod log;
pub mod mature;
pub mod module_record;
pub mod module_registry;
pub mod object;
pub mod object_stack;
pub mod options;
pub mod plan;
pub mod prompt;
pub mod range;
pub mod record_slab;
pub mod size_class;
pub mod special;
pub mod statistics;
pub mod symbols;
pub mod type_registry;
pub mod utilisation;
pub mod visit;
pub mod weak;
pub mod weak_map;
pub mod zeal;

pub use allocate::OutOfMemory;
pub use descriptor::TypeDescriptor;
pub use heap::{Heap, HeapOptions};
pub use object::{ObjectRef, Slot};
pub use type_registry::TypeId;
