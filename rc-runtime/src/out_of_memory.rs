//! Why an allocation is refused. What comes before that, `services/limits.rs` says.

use crate::type_registry::TypeInfo;

/// An allocation that cannot be served, even after a full collection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OutOfMemory {
    /// The heap limit does not allow it.
    #[error(
        "the heap limit of {limit} bytes is reached: {used} bytes are in use after a full collection and `{type_name}` asks for {requested} more; raise --heap-limit or TALLY_HEAP_LIMIT"
    )]
    Limit {
        /// The limit.
        limit: u64,
        /// Bytes of blocks in use.
        used: u64,
        /// Bytes asked for.
        requested: u64,
        /// The type to be allocated.
        type_name: String,
    },
    /// The process's heap range has no room.
    #[error(
        "the heap's address range is used up: `{type_name}` asks for {requested} bytes; set TALLY_RESERVE to a larger range"
    )]
    Range {
        /// Bytes asked for.
        requested: u64,
        /// The type to be allocated.
        type_name: String,
    },
    /// The options asked for this failure (`fail_allocation`).
    #[error("an allocation fails as --fail-allocation or TALLY_FAIL_ALLOCATION asks: `{type_name}`, {requested} bytes")]
    AskedFor {
        /// Bytes asked for.
        requested: u64,
        /// The type to be allocated.
        type_name: String,
    },
    /// No heap could ever hold it.
    #[error("an object of type `{type_name}` with {length} elements is larger than any heap")]
    Absurd {
        /// Elements asked for.
        length: u64,
        /// The type to be allocated.
        type_name: String,
    },
}

/// The type's name; empty when there is no memory for that either.
pub(crate) fn name_of(info: &TypeInfo) -> String {
    let mut name = String::new();
    if name.try_reserve_exact(info.name.len()).is_ok() {
        name.push_str(&info.name);
    }
    name
}

pub(crate) fn range_used_up(info: &TypeInfo, requested: u64) -> OutOfMemory {
    OutOfMemory::Range { requested, type_name: name_of(info) }
}
