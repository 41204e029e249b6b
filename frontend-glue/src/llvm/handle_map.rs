//! Maps and sets whose keys are handles: every analysis here has some, and looks values up for each instruction.
//!
//! A handle is an address that LLVM's allocator chose, not a number that an attacker chose, so the standard library's
//! keyed hash has no use here; with it a fourteenth of the lowering was hashing. One multiplication spreads the bits
//! of an address well enough: the table takes its index from the low bits and its tag from the high ones, so the
//! product's upper half is folded into the lower one. (After the hash of the Rust compiler, `rustc-hash`.)

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A map from handles, or from combinations of handles and small numbers.
pub(crate) type HandleMap<K, V> = HashMap<K, V, BuildHasherDefault<HandleHasher>>;
/// A set of handles.
pub(crate) type HandleSet<K> = HashSet<K, BuildHasherDefault<HandleHasher>>;

/// 2^64 divided by the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The hash of a handle: one multiplication, folded.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct HandleHasher(u64);

impl Hasher for HandleHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(SPREAD);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_isize(&mut self, word: isize) {
        self.write_u64(word as u64);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::HandleHasher;
    use std::collections::HashSet;
    use std::hash::Hasher;

    #[test]
    fn neighbouring_addresses_fall_into_different_places() {
        let hash = |address: usize| {
            let mut hasher = HandleHasher::default();
            hasher.write_usize(address);
            hasher.finish()
        };
        let addresses = || (0..4096).map(|index| 0x5555_0000_1000 + index * 64);
        let low: HashSet<u64> = addresses().map(|address| hash(address) & 0xffff).collect();
        let high: HashSet<u64> = addresses().map(|address| hash(address) >> 57).collect();
        // Chance would give 3,970.
        assert!(low.len() > 3600, "{} places of 65,536 for 4,096 addresses", low.len());
        assert_eq!(high.len(), 128);
    }
}
