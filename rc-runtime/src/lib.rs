//! The heap of a reference-counting runtime. (Being assembled.)
pub mod context;
pub mod descriptor;
pub mod heap {
    //! placeholder
    /// placeholder
    #[derive(Debug)]
    pub struct Heap;
}
pub mod module_record;
pub mod options;
pub mod range;
pub mod symbols;
