//! Does a write keep the IR contract (`docs/port/ir-contract.md`, rule 6)? Asked before each write of compiled code.
//!
//! | write | stops the program when |
//! |---|---|
//! | gcwrite, tally_gcwrite_i64, tally_copy_refs, tally_fill_refs | the object is none of the heap's, or dead; a slot lies outside of it, askew, or where its type has no reference; the object that is referred to is dead |
//! | tally_write_pair | the same, or where its type has a plain reference |
//! | a plain store of a word | it changes a described slot to or from a reference; but for the trace plan where no barrier is promised |
//! | memcpy, memmove, memset | the same; but for copies into an object that is fresh, under the deferred plan |
//!
//! A plain store of a reference is lost on the collector: under the prompt plan nothing is counted, under the deferred plan nothing
//! is logged. Which words of a type with a trace function are references only that knows, before and after; such types are
//! only held against their size.

use super::{Birth, Language, Site, Zeal};
use crate::fatal::{STATUS_VIOLATION, stop};
use crate::heap::Heap;
use crate::memory::range;
use crate::object::ObjectRef;
use crate::type_registry::{Reading, Tracer, TypeInfo};

/// How words come to be where they are.
#[derive(Debug, Clone, Copy)]
pub enum Plainly {
    /// One word is stored.
    Store(u64),
    /// Bytes are copied from an address.
    Copy(u64),
    /// Bytes are set to one value.
    Fill(u8),
}

impl Heap {
    /// `words` references are about to be written to `slot` in `object`, with the barrier.
    pub fn check_write(&self, object: u64, slot: u64, words: u64, site: &Site) {
        let Some(zeal) = &self.zeal else { return };
        if words == 0 {
            return;
        }
        if let Some(what) = self.fault_of_write(zeal, object, slot, words, site) {
            stop(STATUS_VIOLATION, &format!("{}: {what}", site.place()));
        }
    }

    fn fault_of_write(&self, zeal: &Zeal, object: u64, slot: u64, words: u64, site: &Site) -> Option<String> {
        let language = site.place().language();
        if !range::in_heap(object) {
            let cure = match language {
                // TALLY_WRITE_GLOBAL names its slot as the object, and does so without asking if it sees a global.
                Language::C if object == slot => {
                    "TALLY_WRITE_GLOBAL takes the global variable itself, not a pointer to it; memory of malloc and locals takes plain stores"
                }
                Language::C => {
                    "memory of malloc, globals and locals takes plain stores, and TALLY_WRITE_GLOBAL makes a global a root"
                }
                Language::Ir => {
                    "memory outside the heap takes plain stores, and a global is named itself as the object"
                }
            };
            return Some(format!("write of a reference into {object:#x}, which is not an object of the heap: {cure}"));
        }
        self.check_access(object, site);
        let Some((start, birth)) = zeal.find(object) else {
            return Some(format!("write of a reference into {}", self.place(zeal, object)));
        };
        let name = format!("the `{}` at {start:#x}", birth.info().name);
        let made = zeal.history(birth);
        if object != start {
            let byte = birth.byte(start, object, site);
            return Some(format!(
                "a write names {object:#x} as its object, which is {byte} of {name}: name the object itself{made}"
            ));
        }
        let end = slot.checked_add(words.checked_mul(8)?)?;
        if slot < start || end > birth.end {
            let reach = slot.wrapping_sub(start) as i64;
            let bytes = birth.end - start;
            let likely = likely_outside(birth, start);
            return Some(format!(
                "write of a reference outside of its object: at byte {reach} of {name}, which has {bytes}{made}\n    likely: {likely}"
            ));
        }
        if !slot.is_multiple_of(8) {
            return Some(format!(
                "write of a reference to byte {} of {name}: a slot lies at a multiple of 8{made}",
                slot - start
            ));
        }
        let astray = (0..words).map(|word| slot + 8 * word).find(|&slot| !is_described(birth, start, slot))?;
        let cure = match language {
            Language::C => "list the field in the TALLY_TYPE of the struct, or store it plainly if it is no reference",
            Language::Ir => "add the offset to the type's descriptor, or store plainly what is no reference",
        };
        let byte = birth.byte(start, astray, site);
        Some(format!("write of a reference to {byte} of {name}, where its type has none: {cure}{made}"))
    }

    /// These words are about to be written to `slot` in `object` and behind it, with the barrier: those that are references in those
    /// fields are alive. Which words of a traced type are, is not known before they stand there.
    pub fn check_words(&self, object: u64, slot: u64, words: impl Iterator<Item = u64>, site: &Site) {
        let Some((start, birth)) = self.zeal.as_ref().and_then(|zeal| zeal.find(object)) else { return };
        for (slot, word) in (slot..).step_by(8).zip(words) {
            let address = birth.info().reading_at(slot.wrapping_sub(start)).address_in(word);
            // SAFETY: [HEADER] a word of a field of that type.
            if let Some(target) = unsafe { ObjectRef::of_word(address) } {
                self.check_access(target.address(), site);
            }
        }
    }

    /// A pair is about to be written to `slot` in `object`: neither of its words is a plain reference of a type with pairs; if its tag
    /// says in its type that it is a reference, that is alive.
    pub fn check_pair(&self, object: u64, slot: u64, pair: [u64; 2], site: &Site) {
        let Some(zeal) = &self.zeal else { return };
        let Some((start, birth)) = zeal.find(object) else { return };
        let Some(pairs) = birth.info().pairs() else { return };
        let words = [slot, slot.wrapping_add(8)];
        if let Some(word) = words.into_iter().find(|word| birth.info().is_plain_beside_tags(word.wrapping_sub(start))) {
            let cure = match site.place().language() {
                Language::C => "TALLY_WRITE(object, field, value)",
                Language::Ir => "llvm.gcwrite(value, object, slot)",
            };
            let name = &birth.info().name;
            let byte = birth.byte(start, word, site);
            let message = format!(
                "{}: a pair is written to the `{name}` at {start:#x}, {byte}, which is a plain reference: write it by {cure}{}",
                site.place(),
                zeal.history(birth),
            );
            stop(STATUS_VIOLATION, &message);
        }
        // SAFETY: two words.
        self.check_access(unsafe { pairs.reference_in(&raw const pair as u64) }, site);
    }

    /// `bytes` bytes are about to be written to `to`, without the barrier.
    pub fn check_plain_write(&self, to: u64, bytes: u64, how: Plainly, site: &Site) {
        let Some(zeal) = &self.zeal else { return };
        if bytes == 0 || !range::in_heap(to) {
            return;
        }
        self.check_access(to, site);
        let Some((start, birth)) = zeal.find(to) else { return };
        // SAFETY: [HEADER] a registered object, alive, as just checked.
        let object = unsafe { ObjectRef::from_address(start) };
        if zeal.filled == Some(object) && to.saturating_add(bytes) <= birth.end {
            return;
        }
        let is_fresh = self.is_written_plainly(object);
        let is_right = self.needs_no_barrier() || is_fresh && !matches!(how, Plainly::Store(_));
        if matches!(birth.info().reading, Reading::Traced(Tracer::Function(_))) || is_right {
            return;
        }
        let within = to - start..to.saturating_add(bytes).min(birth.end) - start;
        // Whole words: what begins or ends in the midst of one changes it, too.
        let touched = within.start & !7..within.end.next_multiple_of(8);
        // The other word of a pair may be the one that is written to.
        let among =
            if birth.info().pairs().is_some() { touched.start.saturating_sub(8)..touched.end + 8 } else { touched };
        birth.info().for_each_slot_among(object, among, |slot| {
            let after = |address, word| word_after(address, word, to, bytes, how);
            let reading = birth.info().reading_at(slot.address() - start);
            let [(old, loses), (new, gains)] = match reading {
                Reading::Traced(Tracer::Pairs(pairs)) => {
                    let first = if pairs.is_behind { slot.address() } else { slot.address() - 8 };
                    // SAFETY: [HEADER] two words of a live object.
                    let old: [u64; 2] = unsafe { *(first as *const [u64; 2]) };
                    let new = [after(first, old[0]), after(first + 8, old[1])];
                    // SAFETY: [HEADER] a pair that stood in the field before, or stands there now.
                    [old, new].map(|pair| (pair, unsafe { pairs.target_in(&raw const pair as u64) }.is_some()))
                }
                reading => [slot.read(), after(slot.address(), slot.read())]
                    .map(|word| ([word, 0], range::in_heap(reading.address_in(word)))),
            };
            if old != new && (loses || gains) {
                let is_pair = matches!(reading, Reading::Traced(_));
                refuse_plain_write((zeal, birth), (start, slot.address()), (gains, is_pair), how, site);
            }
        });
    }
}

/// Why a slot may lie outside of the object at `start`.
fn likely_outside(birth: Birth, start: u64) -> String {
    let info: &TypeInfo = birth.info();
    if info.stride == 0 {
        return "the slot is a field of another object or type; name the object that it lies in".to_owned();
    }
    // SAFETY: [HEADER] a registered object, alive.
    let length = info.length(unsafe { ObjectRef::from_address(start) });
    format!("the index is out of range: the array has {length} elements; look at its length before the write")
}

/// Whether the type of the object at `start` has a reference at `slot`.
fn is_described(birth: Birth, start: u64, slot: u64) -> bool {
    let info: &TypeInfo = birth.info();
    match info.reading {
        Reading::Traced(Tracer::Function(_) | Tracer::Pairs(_)) => slot.is_multiple_of(8),
        _ => info.is_field(slot - start) || info.is_tag(slot - start),
    }
}

/// The word at `slot`, which holds `old`, after `bytes` bytes were written to `to`.
fn word_after(slot: u64, old: u64, to: u64, bytes: u64, how: Plainly) -> u64 {
    let mut word = old.to_le_bytes();
    for (byte, address) in word.iter_mut().zip(slot..) {
        let Some(at) = address.checked_sub(to).filter(|&at| at < bytes) else { continue };
        *byte = match how {
            Plainly::Store(stored) => stored.to_le_bytes()[at as usize],
            Plainly::Fill(value) => value,
            // SAFETY: the program is about to read this byte.
            Plainly::Copy(from) => unsafe { *((from + at) as *const u8) },
        };
    }
    u64::from_le_bytes(word)
}

#[cold]
fn refuse_plain_write(
    (zeal, birth): (&Zeal, Birth),
    (start, slot): (u64, u64),
    (gains, is_pair): (bool, bool),
    how: Plainly,
    site: &Site,
) -> ! {
    let place = site.place();
    let deed = match how {
        Plainly::Store(_) => "plain store",
        Plainly::Copy(_) => "memcpy",
        Plainly::Fill(_) => "memset",
    };
    let cure = match (how, place.language()) {
        (Plainly::Fill(_), _) => "tally_fill_refs(object, to, word, n)",
        (Plainly::Store(_), Language::C) if is_pair => "TALLY_WRITE_PAIR(object, field, value)",
        (Plainly::Copy(_), Language::C) if is_pair => {
            "TALLY_WRITE_PAIR(object, field, value), also in place of an assignment of the struct"
        }
        (_, Language::Ir) if is_pair => "tally_write_pair(object, place, first, second)",
        (Plainly::Store(_), Language::C) => "TALLY_WRITE(object, field, value)",
        (Plainly::Store(_), Language::Ir) => "llvm.gcwrite(value, object, slot)",
        (Plainly::Copy(_), Language::C) => {
            "TALLY_COPY(object, slot, from, n), and TALLY_WRITE for single fields of a struct"
        }
        (Plainly::Copy(_), Language::Ir) => "tally_copy_refs(object, to, from, n)",
    };
    let what = if gains { "of a reference" } else { "over a reference" };
    let message = format!(
        "{place}: {deed} {what}: into the `{}` at {start:#x}, {}{}\n    likely: the collector does not see it; write it by {cure}",
        birth.info().name,
        birth.byte(start, slot, site),
        zeal.history(birth),
    );
    stop(STATUS_VIOLATION, &message)
}
