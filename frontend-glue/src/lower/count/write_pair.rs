//! Writes of pairs: inline for objects whose pairs are read as the module's own types read them.
//!
//! ```text
//!   if READINGS[type(object)] == NUMBER:              how this module reads pairs (`tally_heap::word_reading`)
//!       old = *pair
//!       if refers(new): increment(object of new)
//!       *pair = new                                   two stores
//!       if refers(old): decrement(object of old)
//!   else: tally_write_pair(object, pair, first, second)       another module's type, one with `trace`, or one without pairs
//!   refers(pair)     tag & MASK == PATTERN, and the word lies in the heap
//! ```
//!
//! As in writes of tagged words (`write_word`), the module's one form of pair is compared with that of the object's type. Where a
//! module's types have pairs of several forms, each write is a call.
//!
//! Expected cost: 12 instructions where a number replaces a number, 10 more for each reference, against 112 and 133 of the call
//! (benches/compiled.rs).

use super::expand::Expansion;
use super::recount_root::bits_of_a_reference;
use crate::llvm::call::Call;
use crate::llvm::{Block, Opcode, Value};
use crate::lower::descriptor::{OneWord, PairReading};
use crate::lower::runtime::REFERENCES;
use tally_heap::word_reading::{NO_NUMBER, number_of_pairs};

impl Expansion<'_> {
    /// Puts inline code in front of a write of a pair, which remains for other objects.
    pub(super) fn write_pair(&self, call: Call) {
        let Some(reading) = self.pairs_of_fields else { return };
        let PairReading { mask, pattern, pointer, is_behind } = reading;
        let number = number_of_pairs(mask, pattern, pointer, is_behind);
        if number == NO_NUMBER || bits_of_a_reference(word_of(reading), &self.layout).is_none() {
            return;
        }
        let (builder, module, place) = (self.builder, self.builder.module(), call.value());
        let (object, pair) = (call.argument(0), call.argument(1));
        let [known, release, rest] = self.where_read_as(place, object, number);

        builder.at_end(known, Some(place));
        let places = [pair, builder.offset(pair, 8)];
        let new = [call.argument(2), call.argument(3)].map(|word| builder.freeze(word));
        let old = places.map(|place| {
            let word = builder.load(module.integer(64), place);
            builder.tag(word, REFERENCES);
            builder.freeze(word)
        });
        let target = self.if_pair_refers(place, new, reading, release);
        self.increment_object(place, target, release);
        builder.at_end(release, Some(place));
        for (word, place) in new.into_iter().zip(places) {
            builder.tag(builder.store(word, place), REFERENCES);
        }
        let target = self.if_pair_refers(place, old, reading, rest);
        self.decrement_object(place, target, rest);
    }

    /// Ends the block at the builder's position, with a branch to a block for the object that the pair refers to, where the builder then
    /// is, or to `otherwise`.
    fn if_pair_refers(&self, place: Value, pair: [Value; 2], reading: PairReading, otherwise: Block) -> Value {
        let tag_and_word = if reading.is_behind { [pair[1], pair[0]] } else { pair };
        self.if_tagged_refers(place, tag_and_word, reading, otherwise).expect("a word that may be a reference")
    }

    /// The same of a tag and the word beside it; `None` if no word beside such a tag refers to an object of the heap.
    pub(super) fn if_tagged_refers(
        &self,
        place: Value,
        [tag, word]: [Value; 2],
        reading: PairReading,
        otherwise: Block,
    ) -> Option<Value> {
        let builder = self.builder;
        let tagged = otherwise.insert_before(builder.module());
        let bits = builder.binary(Opcode::LLVMAnd, tag, builder.i64(reading.mask));
        builder.branch_if(builder.equal(bits, builder.i64(reading.pattern)), tagged, otherwise);
        builder.at_end(tagged, Some(place));
        self.if_refers(place, word, word_of(reading), otherwise)
    }
}

/// How the word is read that stands beside a tag.
fn word_of(reading: PairReading) -> OneWord {
    OneWord { mask: 0, pattern: 0, pointer: reading.pointer }
}
