//! The shapes of `shape.rs` as the type descriptors a frontend would emit.
//!
//! One descriptor per [`Kind`], built once in a process and never freed, as if they were constants of a program. The
//! trace function below is the one a frontend would write for `{tag, pointer}` pairs: it reads only the words that it
//! gets.

use std::ffi::c_void;
use std::sync::OnceLock;

use tally_heap::descriptor::{FinalizeOrder, PLAIN_REFERENCE, SlotKind, TraceVisit, TypeDescriptor};

use crate::shape::{BOX_MASK, BOX_PATTERN, Encoding, Finalizes, Kind, LOW_MASK, LOW_PATTERN, TRACE_TAG};
use crate::tally_heap::deeds::finalize;

/// The descriptor of a kind.
pub fn descriptor(kind: Kind) -> &'static TypeDescriptor {
    static ALL: OnceLock<&'static [TypeDescriptor]> = OnceLock::new();
    &ALL.get_or_init(build)[kind as usize]
}

fn build() -> &'static [TypeDescriptor] {
    // A label's only field is declared to hold texts: the runtime can see that it takes part in no cycle.
    let text: &'static TypeDescriptor = Box::leak(Box::new(describe(Kind::Text)));
    let all = Kind::ALL.map(|kind| match kind {
        Kind::Label => describe(kind).with_field_types(Box::leak(Box::new([Some(text)]))),
        _ => describe(kind),
    });
    Box::leak(Box::new(all))
}

fn describe(kind: Kind) -> TypeDescriptor {
    let shape = kind.shape();
    let by_trace = shape.encoding == Encoding::Pairs && !kind.has_described_pairs();
    let offsets = if by_trace { &[] } else { entries(shape.refs, shape.plain) };
    let mut descriptor = TypeDescriptor::plain(shape.name, shape.size, offsets);
    if kind.has_tail() {
        let offsets = if by_trace { &[] } else { entries(shape.element_refs, shape.element_plain) };
        descriptor = descriptor.with_tail(shape.length_offset, shape.stride, offsets);
    }
    if shape.align != 0 {
        descriptor = descriptor.aligned(shape.align);
    }
    if shape.acyclic {
        descriptor = descriptor.acyclic();
    }
    if shape.ephemeron {
        descriptor = descriptor.ephemeron();
    }
    descriptor = match shape.finalizer {
        None => descriptor,
        Some(wish) => {
            // SAFETY: `finalize` takes any object of these types.
            let descriptor = unsafe { descriptor.finalized(finalize) };
            match wish {
                Finalizes::Any => descriptor,
                Finalizes::Reverse => descriptor.finalized_in(FinalizeOrder::Reverse),
                Finalizes::OwnerFirst => descriptor.finalized_in(FinalizeOrder::OwnerFirst),
                Finalizes::Registered => descriptor.finalized_on_request(),
            }
        }
    };
    match shape.encoding {
        Encoding::Pointer => descriptor,
        Encoding::LowBits => descriptor.tagged(SlotKind::Tagged, LOW_MASK, LOW_PATTERN, !LOW_MASK),
        Encoding::NanBox => descriptor.tagged(SlotKind::NanBoxed, BOX_MASK, BOX_PATTERN, !BOX_MASK),
        Encoding::Pairs if !by_trace => descriptor.tagged(SlotKind::TagBefore, u64::MAX, TRACE_TAG, u64::MAX),
        // SAFETY: it reads the words that it gets.
        Encoding::Pairs => unsafe { descriptor.traced(trace_pairs) },
    }
}

/// The list of a descriptor: plain references beside others have a mark.
fn entries(refs: &[u32], plain: &[u32]) -> &'static [u32] {
    let mark = |offset: &u32| if plain.contains(offset) { offset | PLAIN_REFERENCE } else { *offset };
    Box::leak(refs.iter().map(mark).collect())
}

/// Finds the references in a sequence of `{tag, pointer}` pairs; an odd word at the end is data.
unsafe extern "C" fn trace_pairs(words: *const u64, n: u64, visit: TraceVisit, context: *mut c_void) {
    for pair in 0..n / 2 {
        // SAFETY: the caller hands an image of `n` words.
        let [tag, word] = unsafe { words.wrapping_add(2 * pair as usize).cast::<[u64; 2]>().read() };
        if tag == TRACE_TAG && word != 0 {
            // SAFETY: `visit` takes any reference with the context that came with it.
            unsafe { visit(word as *mut c_void, context) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_accepts_every_descriptor() {
        for kind in Kind::ALL {
            assert_eq!(descriptor(kind).check(), Ok(()), "{kind:?}");
            assert_eq!(descriptor(kind).display_name(), kind.word());
        }
    }

    #[test]
    fn the_trace_function_visits_tagged_words_only() {
        unsafe extern "C" fn note(reference: *mut c_void, context: *mut c_void) {
            // SAFETY: the context is the vector below.
            unsafe { (*context.cast::<Vec<u64>>()).push(reference as u64) };
        }
        let mut seen: Vec<u64> = Vec::new();
        let words = [TRACE_TAG, 0x1000, 2, 0x2000, TRACE_TAG, 0, TRACE_TAG, 0x3000, TRACE_TAG];
        // SAFETY: nine words, and `note` gets the vector it expects.
        unsafe { trace_pairs(words.as_ptr(), 9, note, (&raw mut seen).cast()) };
        assert_eq!(seen, [0x1000, 0x3000]);
    }
}
