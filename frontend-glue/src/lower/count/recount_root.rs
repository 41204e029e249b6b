//! Expands the settling of a root: inline code for a root of few references, which functions have for roots of more (`recount_calls`).
//!
//! ```text
//!   settle(root)     for each reference:
//!                    if *slot != *shadow:                     the word now, and the word that is counted; of a pair, the tag, too
//!                        if refers(*slot): increment(object)
//!                        if refers(*shadow): drop(object)
//!                        *shadow = *slot
//!   unsettle(root)   if refers(*shadow): drop(object);  *shadow = 0
//!   refers(word)     word & MASK == REFERENCE                 the tag's bits and those above the heap's span, at once
//!   refers(pair)     tag & MASK == PATTERN, and the word lies in the heap
//!   object           word & POINTER
//! ```
//!
//! `expand` calls this. The root's descriptor, a constant, names the bits that tell a reference; tag and heap range
//! are one comparison, since both fix bits of the same word. An unchanged word is only compared: most roots are
//! settled far more often than they are stored to. Words found by `trace`, and roots of more than thirty-two, are left to the
//! runtime, which gets the handle of the type. The loaded word is frozen: a word that the program never stored
//! is arbitrary, but must be the same in the comparison and in the shadow.
//!
//! Expected cost: unchanged 3 instructions, 6 for a pair; else that and an increment and a decrement, as of other roots, and a store
//! (benches/compiled.rs).

use super::expand::Expansion;
use super::recount_calls::root_of;
use crate::llvm::call::Call;
use crate::llvm::surgery::split_before;
use crate::llvm::{Block, Opcode, Value};
use crate::lower::descriptor::{OneWord, Reading, RootWord};
use crate::lower::module_record::ModuleTables;
use crate::lower::runtime::declare;
use tally_heap::memory::layout::Layout;

impl Expansion<'_> {
    /// Settles the root that `call` names, or releases the objects that it counts if the function ends.
    pub(super) fn settle(&self, call: Call, leave: bool, tables: &mut ModuleTables) {
        let number = root_of(call);
        let shadow = &self.roots[self.shadows[number].expect("a settled root has a shadow")];
        let root = &self.roots[number];
        if let Some(calls) = self.recounts.get(&number) {
            return calls.call(self.builder, call.value(), leave, root.slot, shadow.slot);
        }
        if let Some(words) = &self.words[number] {
            for word in words {
                match leave {
                    true => self.release_shadow(call.value(), shadow.slot, *word),
                    false => self.settle_word(call.value(), root.slot, shadow.slot, *word),
                }
            }
            return;
        }
        let (builder, null) = (self.builder, self.builder.module().pointer().null());
        builder.before(call.value());
        let slot = if leave { null } else { root.slot };
        let how = root.how.map_or(null, |how| tables.type_handle(builder.module(), how));
        let function = declare(builder.module(), "tally_root_settle");
        builder.call(function.value_type(), function, &[slot, shadow.slot, how, builder.i64(root.bytes)]);
    }

    pub(super) fn settle_word(&self, place: Value, slot: Value, shadow: Value, at: RootWord) {
        let (builder, module) = (self.builder, self.builder.module());
        let head = split_before(builder, place);
        let rest = place.block();
        let (changed, release, note) =
            (rest.insert_before(module), rest.insert_before(module), rest.insert_before(module));
        builder.at_end(head, Some(place));
        let now = self.words_at(slot, at, |word| builder.freeze(word));
        let counted = self.words_at(shadow, at, |word| word);
        let differences =
            now.iter().zip(&counted).map(|(&now, &counted)| builder.binary(Opcode::LLVMXor, now, counted));
        let differs = differences.reduce(|one, other| builder.binary(Opcode::LLVMOr, one, other));
        builder.branch_if(builder.is_zero(differs.expect("a word at least")), rest, changed);
        builder.at_end(changed, Some(place));
        if let Some(object) = self.if_any_refers(place, &now, at.reading, release) {
            self.increment_object(place, object, release);
        }
        builder.at_end(release, Some(place));
        if let Some(object) = self.if_any_refers(place, &counted, at.reading, note) {
            self.drop_object(place, object, note);
        }
        builder.at_end(note, Some(place));
        for (offset, word) in at.offsets().zip(now) {
            builder.store(word, builder.offset(shadow, offset));
        }
        builder.branch(rest);
    }

    pub(super) fn release_shadow(&self, place: Value, shadow: Value, at: RootWord) {
        let builder = self.builder;
        let head = split_before(builder, place);
        let rest = place.block();
        builder.at_end(head, Some(place));
        let counted = self.words_at(shadow, at, |word| word);
        builder.store(builder.i64(0), builder.offset(shadow, at.offset));
        if let Some(object) = self.if_any_refers(place, &counted, at.reading, rest) {
            self.drop_object(place, object, rest);
        }
    }

    /// Loads what tells a reference of a root: its word, and the tag beside it if there is one.
    fn words_at(&self, slot: Value, at: RootWord, adapt: impl Fn(Value) -> Value) -> Vec<Value> {
        let word = self.builder.module().integer(64);
        at.offsets().map(|offset| adapt(self.builder.load(word, self.builder.offset(slot, offset)))).collect()
    }

    /// Ends the block at the builder's position, with a branch to a block for the object that such words refer to, or to `otherwise`.
    fn if_any_refers(&self, place: Value, words: &[Value], reading: Reading, otherwise: Block) -> Option<Value> {
        match reading {
            Reading::Word(reading) => self.if_refers(place, words[0], reading, otherwise),
            Reading::Pair { reading, .. } => self.if_tagged_refers(place, [words[1], words[0]], reading, otherwise),
        }
    }

    /// Ends the block at the builder's position, with a branch to a block for the object that `word` refers to, where
    /// the builder then is, or to `otherwise`. `None` if no word that is read this way refers to an object of the
    /// heap.
    pub(super) fn if_refers(&self, place: Value, word: Value, reading: OneWord, otherwise: Block) -> Option<Value> {
        let (builder, module) = (self.builder, self.builder.module());
        let Some((mask, reference)) = bits_of_a_reference(reading, &self.layout) else {
            builder.branch(otherwise);
            return None;
        };
        let inside = otherwise.insert_before(module);
        let bits = builder.binary(Opcode::LLVMAnd, word, builder.i64(mask));
        builder.branch_if(builder.equal(bits, builder.i64(reference)), inside, otherwise);
        builder.at_end(inside, Some(place));
        let address = match reading.pointer {
            u64::MAX => word,
            bits => builder.binary(Opcode::LLVMAnd, word, builder.i64(bits)),
        };
        Some(builder.cast(Opcode::LLVMIntToPtr, address, module.pointer()))
    }
}

/// Mask and value of the bits by which a word is a reference into the heap; none if no word can be.
pub(super) fn bits_of_a_reference(reading: OneWord, layout: &Layout) -> Option<(u64, u64)> {
    let base = layout.heap_base;
    // The bits above the span are the same in all addresses of the heap range.
    let span = reading.pointer & !(layout.heap_span - 1);
    let common = reading.mask & span;
    let possible =
        base & !span == 0 && reading.pattern & !reading.mask == 0 && reading.pattern & common == base & common;
    possible.then_some((reading.mask | span, reading.pattern | base))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::target::Target;
    use tally_heap::memory::range::{HEAP_BASE, HEAP_SPAN};

    /// The runtime's decoding of a word, step by step (`TypeInfo::decode`).
    fn refers(word: u64, reading: OneWord) -> bool {
        word & reading.mask == reading.pattern && tally_heap::memory::range::in_heap(word & reading.pointer)
    }

    #[test]
    fn one_comparison_tells_what_the_runtime_tells_by_tag_and_range() {
        let nan = OneWord { mask: 0xffff << 48, pattern: 0xfffc << 48, pointer: (1 << 48) - 1 };
        let readings = [
            OneWord::PLAIN,
            OneWord { mask: 7, pattern: 0, pointer: !7 },
            OneWord { mask: 3, pattern: 1, pointer: !3 },
            nan,
            OneWord { mask: 0xffff_2000 << 32, pattern: 0xfffc_2000 << 32, ..nan }, // the tag overlaps the address, and agrees
            OneWord { mask: 0xffff_2000 << 32, pattern: 0xfffc_0000 << 32, ..nan }, // and does not
            OneWord { pointer: (1 << 40) - 1, ..nan }, // no address of the heap has so few bits
            OneWord { mask: 1, pattern: 2, pointer: !3 }, // no word is like that
        ];
        let addresses =
            [0, 8, HEAP_BASE - 8, HEAP_BASE, HEAP_BASE + 0x1238, HEAP_BASE + HEAP_SPAN - 8, HEAP_BASE + HEAP_SPAN];
        let layout = Target::host().layout();
        let (mut references, mut others) = (0, 0);
        for reading in readings {
            for address in addresses {
                for tag in [0, 1, 2, 3, 7, 0xfffc << 48, 0xfffd << 48, 0x7ff8 << 48, 1 << 63] {
                    let word = address | tag;
                    let told =
                        bits_of_a_reference(reading, &layout).is_some_and(|(mask, reference)| word & mask == reference);
                    assert_eq!(told, refers(word, reading), "{word:#x} by {reading:x?}");
                    *if told { &mut references } else { &mut others } += 1;
                }
            }
        }
        assert!(references > 20 && others > 100, "{references} of {others} words are references");
    }
}
