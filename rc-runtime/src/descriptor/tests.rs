//! Faults of descriptors, each by its name.

use super::*;

fn fault(descriptor: TypeDescriptor) -> Option<DescriptorFault> {
    descriptor.check().err().map(|error| error.fault)
}

#[test]
fn a_plain_pair_is_accepted() {
    assert_eq!(fault(TypeDescriptor::plain(c"Pair", 16, &[0, 8])), None);
}

#[test]
fn a_tag_has_a_word_of_its_own_beside_its_reference() {
    let fault_of = |kind, size, offsets| fault(TypeDescriptor::plain(c"Pair", size, offsets).tagged(kind, 1, 1, !0));
    let (before, behind) = (SlotKind::TagBefore, SlotKind::TagBehind);
    assert_eq!((fault_of(before, 32, &[8, 24]), fault_of(behind, 32, &[0, 16])), (None, None));
    let wrong = |offset| Some(DescriptorFault::Tag { field: "ref_offsets", offset });
    assert_eq!(fault_of(before, 32, &[0]), wrong(0), "no word before it");
    assert_eq!(fault_of(behind, 32, &[24]), wrong(24), "no word behind it");
    assert_eq!(fault_of(before, 32, &[8, 16]), wrong(16), "its tag is a reference");
    let tail = TypeDescriptor::plain(c"Pairs", 16, &[8]).tagged(before, 1, 1, !0);
    assert_eq!(fault(tail.with_tail(0, 16, &[8])), wrong(8), "its tag is the length");
    let tail = TypeDescriptor::plain(c"Pairs", 8, &[]).tagged(behind, 1, 1, !0).with_tail(0, 16, &[8]);
    assert_eq!(fault(tail), Some(DescriptorFault::Tag { field: "element_ref_offsets", offset: 8 }));
}

#[test]
fn each_wrong_field_is_named() {
    use DescriptorFault as F;
    let pair = || TypeDescriptor::plain(c"Pair", 16, &[0, 8]);
    let mut wrong = pair();
    wrong.0.version = 2;
    assert_eq!(fault(wrong), Some(F::Version(2)));
    let mut wrong = pair();
    wrong.0.ref_count = 1 << 31;
    assert!(matches!(fault(wrong), Some(F::TooManyReferences { .. })));
    let outside = TypeDescriptor::plain(c"Pair", 16, &[16]);
    assert!(matches!(fault(outside), Some(F::Outside { offset: 16, .. })));
    let twice = TypeDescriptor::plain(c"Pair", 16, &[8, 8]);
    assert!(matches!(fault(twice), Some(F::NotAscending { offset: 8, .. })));
    assert!(matches!(fault(TypeDescriptor::plain(c"Pair", 16, &[4])), Some(F::Unaligned { .. })));
    assert_eq!(fault(pair().aligned(24)), Some(F::Align(24)));
    assert_eq!(fault(pair().tagged(SlotKind::Tagged, 1, 0, 0)), Some(F::PointerMask));
    assert_eq!(fault(pair().with_tail(16, 8, &[0])), Some(F::LengthOffset(16)));
    // With the word's end at 2^64.
    assert_eq!(fault(pair().with_tail(u64::MAX - 7, 8, &[0])), Some(F::LengthOffset(u64::MAX - 7)));
    assert_eq!(fault(pair().with_tail(8, 8, &[0])), Some(F::LengthIsReference(8)));
    let mut wrong = pair();
    wrong.0.flags = FLAG_FINALIZE_REGISTERED;
    assert_eq!(fault(wrong), Some(F::UnusedFinalizeFlags(16)));
    let mut wrong = pair();
    wrong.0.finalize = &0u8 as *const u8 as *const c_void;
    wrong.0.flags = FLAG_FINALIZE_REVERSE | FLAG_FINALIZE_OWNER_FIRST;
    assert_eq!(fault(wrong), Some(F::TwoOrders));
}

#[test]
fn the_message_names_type_and_remedy() {
    let error = TypeDescriptor::plain(c"Pair", 16, &[4]).check().unwrap_err();
    assert_eq!(
        error.to_string(),
        "type descriptor `Pair`: offset 4 (number 0) of ref_offsets is not a multiple of 8; references are aligned words"
    );
}

#[test]
fn plain_references_stand_beside_words_and_pairs_with_tags() {
    use DescriptorFault as F;
    const PLAIN: u32 = PLAIN_REFERENCE;
    let of = |kind, size, offsets| TypeDescriptor::plain(c"Entry", size, offsets).tagged(kind, 1, 1, !0);
    let (behind, before) = (SlotKind::TagBehind, SlotKind::TagBefore);
    let list: &[u32] = &[0, 16 | PLAIN];
    for kind in [behind, SlotKind::Tagged, SlotKind::NanBoxed] {
        assert_eq!(fault(of(kind, 24, list)), None, "{kind:?}");
    }
    assert_eq!(fault(of(before, 24, &[PLAIN, 16])), None);
    let field = "ref_offsets";
    assert_eq!(
        fault(of(behind, 24, &[0, 8 | PLAIN])),
        Some(F::Tag { field, offset: 0 }),
        "its tag is a plain reference"
    );
    let again = Some(F::NotAscending { field, index: 1, offset: 8 });
    assert_eq!(fault(of(SlotKind::Tagged, 24, &[8, 8 | PLAIN])), again, "one word in two ways");
    assert_eq!(fault(of(behind, 24, &[24 | PLAIN])), Some(F::Outside { field, index: 0, offset: 24, bytes: 24 }));
    assert_eq!(fault(of(behind, 24, &[12 | PLAIN])), Some(F::Unaligned { field, index: 0, offset: 13 }));
    let alone = Some(F::NothingBeside { field, index: 0, offset: 8, kind: 0 });
    assert_eq!(fault(TypeDescriptor::plain(c"Plain", 16, &[8 | PLAIN])), alone);
    let table = of(behind, 16, &[PLAIN]).with_tail(8, 24, &[0, 16 | PLAIN]);
    assert_eq!(fault(table), None);
    let table = of(behind, 16, &[8 | PLAIN]).with_tail(8, 24, &[0]);
    assert_eq!(fault(table), Some(F::LengthIsReference(8)));
    let table = of(before, 16, &[PLAIN]).with_tail(8, 16, &[PLAIN, 8]);
    assert_eq!(fault(table), Some(F::Tag { field: "element_ref_offsets", offset: 8 }));
}
