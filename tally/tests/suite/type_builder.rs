//! Types: what the builder refuses, and which words a type lets a host read and write.

use crate::host::{array_type, host, refused};
use tally::{FieldKind, FinalizeOrder, Ref, TypeBuilder, Value};
use tally_heap::plan::Plan;

/// Bit 0 says integer; the address is all but the lowest three bits.
const TAGGED: FieldKind = FieldKind::Tagged { mask: 1, pattern: 0, pointer: !7 };

#[test]
fn a_wrong_type_is_refused_with_the_name_of_the_field() {
    let node = || TypeBuilder::new("Node", 24).reference("left", 0);
    for (wrong, field, text) in [
        (node().reference("right", 12), "right", "offset 12 is not a multiple of 8"),
        (node().reference("right", 24), "right", "offset 24 lies outside the 24 bytes"),
        (node().reference("right", u64::MAX - 7), "right", "lies outside"),
        (node().reference("right", 1 << 40), "right", "lies outside"),
        (node().reference("right", 0), "right", "another field has the offset 0"),
        (node().elements(8, 16).element_reference("item", 16), "item", "outside the 16 bytes of an element"),
        (node().element_reference("item", 0), "item", "outside the 0 bytes of an element"),
        (node().elements(0, 8), "left", "length_offset 0 is also a reference"),
    ] {
        let error = wrong.register().expect_err(text);
        assert_eq!((error.type_name(), error.field()), ("Node", Some(field)), "{error}");
        assert!(error.to_string().contains(text), "{error}");
    }
    for (wrong, text) in [
        (node().elements(24, 8), "length_offset 24"),
        (node().elements(16, 12).element_reference("item", 0), "stride 12"),
        (TypeBuilder::new("Node", 20).elements(8, 8), "size 20"),
        (node().aligned(24), "align 24"),
        (TypeBuilder::new("Node", 1 << 41), "out of bounds"),
        (node().kind(FieldKind::Tagged { mask: 1, pattern: 0, pointer: 0 }), "pointer_mask is 0"),
        (node().finalize_in(FinalizeOrder::Reverse), "finalize is null"),
        (TypeBuilder::new("No\0de", 8), "null character"),
    ] {
        let error = wrong.register().expect_err(text);
        assert!(error.field().is_none() && error.to_string().contains(text), "{error}");
    }
}

#[test]
fn tagged_words_are_read_as_they_were_written() {
    for (plan, zeal) in Plan::ALL.into_iter().flat_map(|plan| [(plan, false), (plan, true)]) {
        let (mut heap, _) = host(plan, zeal);
        let cons = TypeBuilder::new("Cons", 24).kind(TAGGED).reference("car", 0).reference("cdr", 8);
        let cons = cons.register().expect("a sound type");
        let mut scope = heap.scope();
        let list = scope.allocate(cons).expect("room");
        {
            let mut inner = scope.nested();
            let item = inner.allocate(cons).expect("room");
            let (list, item) = (inner.get(list), inner.get(item));
            inner.set_value(list, 0, Value::Word(41 << 1 | 1));
            inner.set_value(list, 8, Value::Reference(item, 4));
            inner.set_value(item, 0, Value::Word(0));
        }
        assert_eq!(scope.collect(), 0, "{plan:?}: the tagged reference holds it");
        let list = scope.get(list);
        assert_eq!(list.value(0), Value::Word(83));
        let Value::Reference(item, 4) = list.value(8) else { panic!("{:?}", list.value(8)) };
        assert_eq!(item.value(0), Value::Word(0));
        assert!(refused(|| _ = list.field(0)).contains("at 0 has a tag"));
        assert!(refused(|| scope.set_field(list, 0, None)).contains("at 0 has a tag"));
        assert!(refused(|| scope.set_value(list, 0, Value::Word(item.address()))).contains("as a reference"));
        assert!(refused(|| scope.set_value(list, 0, Value::Word(item.address() | 8))).contains("as a reference"));
        assert!(refused(|| scope.set_value(list, 0, Value::Reference(item, 1))).contains("not read the word"));
        assert!(refused(|| scope.set_value(list, 0, Value::Reference(item, 1 << 50))).contains("not read the word"));
        assert!(refused(|| scope.set_value(list, 16, Value::Word(1))).contains("no plain reference at 16"));
        scope.set_value(list, 8, Value::Word(0));
        assert_eq!(scope.collect(), 1, "{plan:?}");
    }
}

/// A plain field takes no address of the heap as a word, a masked one none that it would take for another's.
#[test]
fn a_word_is_no_way_to_forge_a_reference() {
    for plan in Plan::ALL {
        let (mut heap, node) = host(plan, false);
        let mut scope = heap.scope();
        let item = scope.allocate(node).expect("room");
        let item = scope.get(item);
        for word in [item.address(), item.address() + 8, item.address() + (1 << 30)] {
            assert!(refused(|| scope.set_value(item, 0, Value::Word(word))).contains("as a reference"));
        }
        scope.set_value(item, 0, Value::Word(4096));
        assert_eq!((item.field(0), item.value(0)), (None, Value::Word(4096)), "outside the heap: never followed");
        scope.set_value(item, 0, Value::Reference(item, 0));
        assert_eq!(item.field(0), Some(item));
    }
}

/// Objects of the runtime's own have no words that a host could spoil.
#[test]
fn words_of_built_in_objects_are_refused() {
    for plan in Plan::ALL {
        let (mut heap, node) = host(plan, false);
        let mut scope = heap.scope();
        let key = scope.allocate(node).expect("room");
        let map = scope.new_weak_map(tally::WeakMode::Keys).expect("room");
        scope.weak_map_set(map, key, key).expect("room");
        let weak = scope.new_weak(key).expect("room");
        let ephemeron = scope.new_ephemeron(key, Some(key)).expect("room");
        let value = scope.allocate_host(7).expect("room");
        for object in [map, weak, ephemeron, value] {
            let object = scope.get(object);
            for offset in [0, 8, 16, 24, 32] {
                assert!(refused(|| _ = object.word(offset)).contains("no word at"), "{object:?}");
                assert!(refused(|| _ = object.field(offset)).contains("no word at"), "{object:?}");
                assert!(refused(|| scope.set_word(object, offset, 1)).contains("no word at"), "{object:?}");
                assert!(refused(|| scope.set_field(object, offset, None)).contains("no word at"), "{object:?}");
                assert!(refused(|| scope.set_weak_field(object, offset, None)).contains("no word at"), "{object:?}");
                assert!(refused(|| _ = scope.weak_field(object, offset)).contains("no word at"), "{object:?}");
            }
            assert_eq!(object.length(), 0);
        }
        drop(scope);
        heap.verify().expect("a sound heap");
    }
}

#[test]
fn ranges_of_fields_end_where_the_object_does() {
    for plan in Plan::ALL {
        let (mut heap, node) = host(plan, false);
        let array = array_type();
        let mut scope = heap.scope();
        let from = scope.allocate_array(array, 3000).expect("room");
        let (to, item) = (scope.allocate_array(array, 3000).expect("room"), scope.allocate(node).expect("room"));
        let (from, to, item) = (scope.get(from), scope.get(to), scope.get(item));
        scope.fill_fields(from, 8, 3000, Some(item));
        scope.copy_fields(to, 8 + 8 * 1000, from, 8, 2000);
        let held = |at: u64| to.field(8 + 8 * at) == Some(item);
        assert!((0..3000).all(|at| held(at) == (at >= 1000)));
        for count in [3000, 3001, 1 << 61, u64::MAX] {
            assert!(refused(|| scope.fill_fields(from, 16, count, None)).contains("no word at"), "{count}");
            assert!(refused(|| scope.copy_fields(to, 16, from, 8, count)).contains("no word at"), "{count}");
            assert!(refused(|| scope.copy_fields(to, 8, from, 16, count)).contains("no word at"), "{count}");
        }
        assert!(refused(|| scope.fill_fields(from, 0, 2, None)).contains("no plain reference at 0"));
        assert!(refused(|| scope.fill_fields(item, 8, 2, None)).contains("no plain reference at 16"));
        scope.fill_fields(item, 1 << 50, 0, None);
        let mut other = heap_of(plan);
        let other = other.scope();
        let all: [&dyn Fn(Ref<'_>); 2] =
            [&|array| other.fill_fields(array, 8, 1, None), &|array| other.copy_fields(array, 8, array, 8, 1)];
        assert!(all.iter().all(|call| refused(|| call(to)).contains("another heap")));
        drop(scope);
        heap.verify().expect("a sound heap");
    }
}

fn heap_of(plan: Plan) -> tally::Heap {
    host(plan, false).0
}

#[test]
fn objects_of_all_sizes_and_alignments_hold_what_they_were_given() {
    for (plan, zeal) in Plan::ALL.into_iter().flat_map(|plan| [(plan, false), (plan, true)]) {
        let (mut heap, node) = host(plan, zeal);
        for size in [0, 1, 7, 8, 16, 120, 4096, 40_000] {
            for align in [0, 1, 8, 16, 64, 4096] {
                for stride in [0, 1, 8, 24, 4104] {
                    let mut type_ = TypeBuilder::new("Any", size).aligned(align);
                    let has_field = size >= 16;
                    if has_field {
                        type_ = type_.reference("field", size / 8 * 8 - 8);
                    }
                    if stride != 0 {
                        type_ = type_.elements(0, stride);
                    }
                    if stride.is_multiple_of(8) && stride != 0 {
                        type_ = type_.element_reference("item", stride - 8);
                    }
                    let Ok(any) = type_.register() else {
                        assert!(stride != 0 && (size < 8 || !size.is_multiple_of(8)), "{size}, {align}, {stride}");
                        continue;
                    };
                    let mut scope = heap.scope();
                    let item = scope.allocate(node).expect("room");
                    let length = if stride == 0 { 0 } else { 5 };
                    let object = scope.allocate_array(any, length).expect("room");
                    let (at, held) = (scope.get(object), scope.get(item));
                    assert!(at.address().is_multiple_of(u64::from(align.max(8))) && at.length() == length);
                    if has_field {
                        scope.set_field(at, size / 8 * 8 - 8, Some(held));
                    }
                    if stride.is_multiple_of(8) && stride != 0 {
                        scope.set_field(at, size + 4 * stride + stride - 8, Some(at));
                        assert!(refused(|| _ = at.word(size + 5 * stride)).contains("no word at"));
                    }
                    scope.collect();
                    let (at, held) = (scope.get(object), scope.get(item));
                    assert!(!has_field || at.field(size / 8 * 8 - 8) == Some(held));
                }
            }
            heap.verify().expect("a sound heap");
        }
        heap.scope().collect();
        assert_eq!(heap.statistics().live_objects, 0, "{plan:?}, zeal {zeal}");
    }
}

#[test]
fn elements_are_refused_to_a_type_without_them() {
    let (mut heap, node) = host(Plan::Deferred, false);
    let mut scope = heap.scope();
    assert!(refused(|| _ = scope.allocate_array(node, 1)).contains("`Node` has no elements"));
    let error = scope.allocate_array(array_type(), u64::MAX).expect_err("no room");
    assert!(error.to_string().contains("larger than any heap"), "{error}");
}
