//! A second recount of the real heap: dumb, and sharing no code with the runtime's own verification.
//!
//! It takes the list of live objects and the contents of the roots, reads every payload word by word, finds the
//! references with `shape.rs` (the runtime uses descriptors), and counts the references to each object. Right after
//! an epoch, with nothing written since, that must be the object's count (`COUNT`), and every reference must lead to
//! an object of the list (`HEADER`). A stuck count of the deferred plan (255) says nothing; the prompt plan's are
//! exact (`EXACT`).

use std::collections::HashMap;

use tally_collector::Mutator;
use tally_heap::ObjectRef;
use tally_heap::plan::Plan;

use crate::shape::{Encoding, Kind};

/// A count that the deferred plan has given up.
const STUCK: u64 = 255;

/// Compares the counts of the `listed` objects with the references in the heap's words and the roots `held`.
pub fn recount(mutator: &mut Mutator, listed: &[u64], held: &[u64]) -> Result<(), String> {
    let mut referred: HashMap<u64, u64> = listed.iter().map(|address| (*address, 0)).collect();
    for address in held {
        match referred.get_mut(address) {
            Some(count) => *count += 1,
            None => return Err(format!("a root holds {address:#x}, which is not listed as live")),
        }
    }
    for address in listed {
        for (offset, target) in references(*address)? {
            match referred.get_mut(&target) {
                Some(count) => *count += 1,
                None => {
                    return Err(format!("{address:#x} refers at offset {offset} to {target:#x}, which is not live"));
                }
            }
        }
    }
    let may_stick = match mutator.heap().regime() {
        Plan::Deferred => true,
        Plan::Prompt => false,
        // Nothing is counted.
        Plan::Trace => return Ok(()),
    };
    for address in listed {
        let (expected, found) = (referred[address], u64::from(mutator.count_of(object(*address))));
        if found != expected && !(may_stick && found == STUCK) {
            return Err(format!("{address:#x} has count {found}, but {expected} words and roots refer to it"));
        }
    }
    Ok(())
}

/// The references in an object's payload, with their offsets; those that lead outside the heap are left out.
fn references(address: u64) -> Result<Vec<(u64, u64)>, String> {
    let name = &object(address).type_info().name;
    let word = |offset: u64| object(address).slot(offset).read();
    if let Some(offsets) = inside_of_the_runtimes_own(name, word) {
        let found = offsets.into_iter().map(|offset| (offset, word(offset)));
        return Ok(found.filter(|(_, target)| tally_heap::memory::range::in_heap(*target)).collect());
    }
    let kind = Kind::from_type_name(name).ok_or_else(|| format!("{address:#x} has the unknown type `{name}`"))?;
    let shape = kind.shape();
    let length = if kind.has_tail() { word(shape.length_offset) } else { 0 };
    let mut found = Vec::new();
    for slot in 0..kind.slot_count(length) {
        let offset = kind.slot_offset(slot);
        let encoding = kind.encoding_at(offset);
        let tag = if encoding == Encoding::Pairs { word(offset - 8) } else { 0 };
        if let Some(target) = encoding.decode(tag, word(offset))
            && tally_heap::memory::range::in_heap(target)
        {
            found.push((offset, target));
        }
    }
    Ok(found)
}

/// The references in weak sets and maps, their tables, directories, buckets and entries, as `rc-runtime/src/services/weak_map.rs`
/// draws them; and in coroutines and images of their frames, as `rc-runtime/src/services/coroutine.rs` does.
fn inside_of_the_runtimes_own(name: &str, word: impl Fn(u64) -> u64) -> Option<Vec<u64>> {
    match name {
        "table of a weak map" => Some((1..=word(0)).map(|place| 8 * place).collect()),
        "bucket of a weak map" => Some((1..=word(0)).map(|place| 8 + 8 * place).collect()),
        "table of a weak set" => Some(vec![]),
        "weak map" | "weak set" | "entry with a weak key" | "entry with a weak value" => Some(vec![0]),
        "weak entry" => Some(vec![]),
        "coroutine" => Some(vec![0, 8]),
        "frames of a coroutine" => Some((0..=word(0)).map(|place| 8 + 8 * place).collect()),
        _ => None,
    }
}

fn object(address: u64) -> ObjectRef {
    // SAFETY: [HEADER] only objects that the heap lists as live are read.
    unsafe { ObjectRef::from_address(address) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap_under_test::HeapUnderTest;
    use crate::tally_heap::TallyHeap;
    use tally_heap::HeapOptions;

    #[test]
    fn a_wrong_count_and_a_stray_reference_are_noticed() {
        let mut heap = TallyHeap::new(HeapOptions::default());
        let pair = heap.allocate(Kind::Pair, 0).unwrap();
        let leaf = heap.allocate(Kind::Leaf, 0).unwrap();
        heap.store(pair, 0, leaf);
        heap.push_root(Some(pair));
        heap.epoch();
        let listed = heap.live_objects();
        assert_eq!(recount(&mut heap.mutator, &listed, &[pair]), Ok(()));
        let wrong = recount(&mut heap.mutator, &listed, &[pair, pair]).unwrap_err();
        assert!(wrong.contains("has count 1, but 2"), "{wrong}");
        let stray = recount(&mut heap.mutator, &[pair], &[pair]).unwrap_err();
        assert!(stray.contains("which is not live"), "{stray}");
    }
}
