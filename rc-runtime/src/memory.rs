//! Memory: the address range that all heaps share, its side tables and blocks, large objects, and lists that grow without the allocator.
pub mod bit_table;
pub mod block_source;
pub mod block_state;
pub mod heap_walk;
pub mod large;
pub mod layout;
pub mod leaving;
pub mod list;
pub mod object_stack;
pub mod range;
pub(crate) mod record_slab;
pub mod sanitizer;
pub mod size_class;
pub(crate) mod spare_runs;
