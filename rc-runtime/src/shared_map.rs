//! Maps that all threads share: of types and of modules.

use dashmap::DashMap;
use rustc_hash::FxBuildHasher;
use std::hash::Hash;

/// Parts with a lock each. As many as the processors ask for would be asked of the system: 14 KB of code in each program, and files of
/// control groups that each reads when it starts.
const PARTS: usize = 8;

/// A map that all threads share.
pub type SharedMap<K, V> = DashMap<K, V, FxBuildHasher>;

/// An empty one.
pub fn shared_map<K: Eq + Hash, V>() -> SharedMap<K, V> {
    DashMap::with_hasher_and_shard_amount(FxBuildHasher, PARTS)
}
