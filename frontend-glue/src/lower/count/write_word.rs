//! Writes of tagged words: inline for objects whose words are read as the module's own types read them.
//!
//! ```text
//!   if READINGS[type(object)] == NUMBER:              how this module reads words (`tally_heap::word_reading`)
//!       old = *slot
//!       if refers(word): increment(object of word)
//!       *slot = word
//!       if refers(old): decrement(object of old)
//!   else: tally_gcwrite_i64(word, object, slot)       another module's type, one with `trace`, or plain references
//! ```
//!
//! Only an object's type knows how its words are read, and a write names no type. But a language has one form of word, and so all
//! types of a module that hold words read them alike. What such a word refers to is told by one comparison, as in roots
//! (`recount_root`). Where a module's types read words in several ways, each write is a call.
//!
//! Expected cost: 16 instructions where a number replaces a number, 10 more for each reference, against 70 to 90 of the call
//! (benches/compiled.rs).

use super::expand::Expansion;
use super::recount_root::bits_of_a_reference;
use crate::analysis::callee::{Callee, Callees, WRITE_PAIR, WRITE_WORD};
use crate::llvm::call::Call;
use crate::llvm::surgery::split_before;
use crate::llvm::{Block, HandleSet, Module, Opcode, Value};
use crate::lower::descriptor::{Descriptor, OneWord, PairReading};
use crate::lower::roots::Root;
use crate::lower::runtime::REFERENCES;
use tally_heap::memory::range::TYPE_ID_BITS;
use tally_heap::object::HEADER_BYTES;
use tally_heap::word_reading::{NO_NUMBER, number};

/// How the types of a module read tagged words, and how pairs; `None` if in no way, or in several. The types are those of its allocations
/// and roots; where these have none, all that the module describes: an interpreter writes in one file to what it makes in another.
pub(super) fn readings_of(
    callees: &Callees,
    module: Module,
    rooted: &[(Value, Vec<Root>)],
) -> (Option<OneWord>, Option<PairReading>) {
    let roots = rooted.iter().flat_map(|(_, roots)| roots.iter().filter_map(|root| root.how));
    let allocates = |call: &Call| matches!(callees.of_call(*call), Callee::New | Callee::NewArray);
    let allocations = rooted.iter().flat_map(|(function, _)| function.calls().filter(allocates));
    let types: HandleSet<Value> = roots.chain(allocations.map(|call| call.argument(0))).collect();
    let is_type = |global: &Value| Descriptor::read(module, *global).is_some();
    let described = |write: &str| {
        let writes = module.function(write).is_some();
        module.globals().filter(|_| writes).filter(is_type).collect::<HandleSet<Value>>()
    };
    let word = |&of: &Value| OneWord::of_fields(module, of).filter(|&reading| reading != OneWord::PLAIN);
    let pair = |&of: &Value| PairReading::of_fields(module, of);
    (
        of_one_form(types.iter().filter_map(word), || described(WRITE_WORD).iter().filter_map(word).collect()),
        of_one_form(types.iter().filter_map(pair), || described(WRITE_PAIR).iter().filter_map(pair).collect()),
    )
}

/// The reading that all of them are, or of the others if there is none.
fn of_one_form<T: PartialEq + Copy>(readings: impl Iterator<Item = T>, others: impl Fn() -> Vec<T>) -> Option<T> {
    let mut readings: Vec<T> = readings.collect();
    if readings.is_empty() {
        readings = others();
    }
    let first = *readings.first()?;
    readings.iter().all(|&reading| reading == first).then_some(first)
}

impl Expansion<'_> {
    /// Puts inline code in front of a write of a tagged word, which remains for other objects.
    pub(super) fn write_word(&self, call: Call) {
        let Some(reading) =
            self.words_of_fields.filter(|&reading| bits_of_a_reference(reading, &self.layout).is_some())
        else {
            return;
        };
        let number = number(reading.mask, reading.pattern, reading.pointer);
        if number == NO_NUMBER {
            return;
        }
        let (builder, module, place) = (self.builder, self.builder.module(), call.value());
        let (word, object, slot) = (call.argument(0), call.argument(1), call.argument(2));
        let [known, release, rest] = self.where_read_as(place, object, number);

        builder.at_end(known, Some(place));
        let word = builder.freeze(word);
        let old = builder.load(module.integer(64), slot);
        builder.tag(old, REFERENCES);
        let old = builder.freeze(old);
        if let Some(target) = self.if_refers(place, word, reading, release) {
            self.increment_object(place, target, release);
        }
        builder.at_end(release, Some(place));
        builder.tag(builder.store(word, slot), REFERENCES);
        if let Some(target) = self.if_refers(place, old, reading, rest) {
            self.decrement_object(place, target, rest);
        }
    }

    /// Puts a test in front of the write at `place`, which is left for objects of which the type's reading has another number. Returns
    /// three blocks: one for the objects whose reading has this one, still empty; an empty one to follow it; and what comes behind.
    pub(super) fn where_read_as(&self, place: Value, object: Value, number: u64) -> [Block; 3] {
        let (builder, module) = (self.builder, self.builder.module());
        let behind = place.next_instruction().expect("a call is no terminator");
        let upper = split_before(builder, behind);
        let rest = behind.block();
        builder.at_end(upper, Some(place));
        builder.branch(rest);
        let head = split_before(builder, place);
        let elsewhere = place.block();
        let (known, release) = (rest.insert_before(module), rest.insert_before(module));

        builder.at_end(head, Some(place));
        let meta = builder.load(module.integer(32), builder.offset_back(object, HEADER_BYTES / 2));
        let id = builder.binary(Opcode::LLVMAnd, meta, builder.i32((1 << TYPE_ID_BITS) - 1));
        let id = builder.cast(Opcode::LLVMZExt, id, module.integer(64));
        let table = builder.cast(Opcode::LLVMIntToPtr, builder.i64(self.layout.readings()), module.pointer());
        let found = builder.load(module.integer(64), builder.element_anywhere(table, module.integer(64), id));
        builder.mark_invariant(found);
        builder.branch_usually(builder.equal(found, builder.i64(number)), known, elsewhere);
        [known, release, rest]
    }
}
