//! Pairs of a tag and a word, and plain references beside words and pairs with tags.

use crate::host::{array_type, host, refused};
use tally::{FieldKind, TypeBuilder, TypeId, Value};
use tally_heap::plan::Plan;

const BEHIND: FieldKind = FieldKind::TagBehind { mask: 0x40, pattern: 0x40, pointer: !0 };
const BEFORE: FieldKind = FieldKind::TagBefore { mask: 0x40, pattern: 0x40, pointer: !0 };
const BOXED: FieldKind = FieldKind::NanBoxed { mask: 0xffff << 48, pattern: 0xfffc << 48, pointer: (1 << 48) - 1 };
const REFERENCE: u64 = 0x45;
const NUMBER: u64 = 3;

/// A plain reference at 0, a pair whose word is at `pair`, data.
fn upvalue(kind: FieldKind, pair: u64) -> TypeId {
    let upvalue = TypeBuilder::new("UpVal", 32).kind(kind).plain_reference("next", 0).reference("closed", pair);
    upvalue.register().expect("a sound type")
}

#[test]
fn a_pair_and_a_plain_reference_hold_what_they_were_given() {
    for (plan, zeal) in Plan::ALL.into_iter().flat_map(|plan| [(plan, false), (plan, true)]) {
        for (kind, at) in [(BEHIND, 8), (BEFORE, 16)] {
            let (mut heap, _) = host(plan, zeal);
            let upvalue = upvalue(kind, at);
            let mut scope = heap.scope();
            let list = scope.allocate(upvalue).expect("room");
            assert_eq!(scope.get(list).pair(at).1, Value::Word(0));
            for place in ["plain", "pair"] {
                let mut inner = scope.nested();
                let item = inner.allocate(upvalue).expect("room");
                let (list, item) = (inner.get(list), inner.get(item));
                inner.set_word(item, 24, 7);
                match place {
                    "plain" => inner.set_field(list, 0, Some(item)),
                    _ => inner.set_pair(list, at, REFERENCE, Value::Reference(item, 0)),
                }
            }
            assert_eq!(scope.collect(), 0, "{plan:?}: both are held");
            let held = scope.get(list);
            let (REFERENCE, Value::Reference(closed, 0)) = held.pair(at) else { panic!("{:?}", held.pair(at)) };
            assert_eq!((closed.word(24), held.field(0).map(|next| next.word(24))), (7, Some(7)));
            scope.set_pair(held, at, NUMBER, Value::Word(closed.address()));
            assert_eq!(held.pair(at), (NUMBER, Value::Word(closed.address())));
            assert_eq!(scope.collect(), 1, "{plan:?}: its address is a number now");
            scope.set_field(scope.get(list), 0, None);
            assert_eq!(scope.collect(), 1, "{plan:?}");
        }
    }
}

#[test]
fn elements_have_fields_of_both_kinds() {
    for (plan, zeal) in Plan::ALL.into_iter().flat_map(|plan| [(plan, false), (plan, true)]) {
        let (mut heap, node) = host(plan, zeal);
        let table = TypeBuilder::new("Table", 16).kind(BOXED).plain_reference("meta", 0).elements(8, 24);
        let table = table.element_reference("key", 0).element_plain_reference("next", 8).register().expect("sound");
        let holder = TypeBuilder::new("Holder", 16).kind(BOXED).plain_reference("table", 0).register().expect("sound");
        let mut scope = heap.scope();
        let holder = scope.allocate(holder).expect("room");
        {
            let mut inner = scope.nested();
            let few = inner.allocate_array(table, 2).expect("room");
            inner.set_field(inner.get(holder), 0, Some(inner.get(few)));
        }
        for place in 0..20 {
            let mut inner = scope.nested();
            inner.resize(holder, 0, 20).expect("room");
            let [key, next] = [(); 2].map(|()| inner.allocate(node).expect("room"));
            let table = inner.get(holder).field(0).expect("it has one");
            inner.set_value(table, 16 + place * 24, Value::Reference(inner.get(key), 0xfffc << 48));
            inner.set_field(table, 16 + place * 24 + 8, Some(inner.get(next)));
            inner.set_word(table, 16 + place * 24 + 16, place);
            inner.set_field(table, 0, Some(inner.get(holder)));
        }
        scope.collect();
        assert_eq!(scope.statistics().live_objects, 42, "{plan:?}, zeal: {zeal}");
        scope.rehash(holder, 0, 10, |element| (element < 10).then(|| 9 - element)).expect("room");
        scope.collect();
        assert_eq!(scope.statistics().live_objects, 22, "{plan:?}, zeal: {zeal}: ten elements are left out");
        let table = scope.get(holder).field(0).expect("it has one");
        assert_eq!((table.length(), table.word(16 + 16)), (10, 9));
        assert!(matches!(table.value(16), Value::Reference(_, bits) if bits == 0xfffc << 48));
        assert!(table.field(24).is_some());
    }
}

/// No safe function takes a number for a reference: not through the tag, nor through the word, nor as storage.
#[test]
fn a_field_is_used_only_as_what_it_is() {
    for plan in Plan::ALL {
        let (mut heap, node) = host(plan, false);
        let (upvalue, array) = (upvalue(BEHIND, 8), array_type());
        let mut scope = heap.scope();
        let (object, item) = (scope.allocate(upvalue).expect("room"), scope.allocate(node).expect("room"));
        let storage = scope.allocate_array(array, 3).expect("room");
        let (at, item, storage) = (scope.get(object), scope.get(item), scope.get(storage));
        assert!(refused(|| _ = at.field(8)).contains("at 8 has a tag"));
        assert!(refused(|| _ = at.value(8)).contains("at 8 is a pair"));
        assert!(refused(|| _ = at.pair(0)).contains("at 0 is no pair"));
        assert!(refused(|| _ = at.pair(16)).contains("no plain reference at 16"));
        assert!(refused(|| scope.set_field(at, 8, Some(item))).contains("at 8 has a tag"));
        assert!(refused(|| scope.set_value(at, 8, Value::Word(0))).contains("at 8 is a pair"));
        assert!(refused(|| scope.set_value(at, 0, Value::Word(item.address()))).contains("as a reference"));
        assert!(refused(|| scope.set_pair(at, 0, 0, Value::Word(0))).contains("at 0 is no pair"));
        assert!(refused(|| scope.set_word(at, 16, REFERENCE)).contains("no plain word at 16"), "a tag");
        assert!(refused(|| scope.set_word(at, 8, item.address())).contains("no plain word at 8"));
        assert!(refused(|| scope.set_word(at, 0, 0)).contains("no plain word at 0"));
        let forged = Value::Word(item.address());
        assert!(refused(|| scope.set_pair(at, 8, REFERENCE, forged)).contains("as a reference"));
        let unmarked = Value::Reference(item, 0);
        assert!(refused(|| scope.set_pair(at, 8, NUMBER, unmarked)).contains("not read the word"));
        assert!(refused(|| scope.set_pair(at, 8, REFERENCE, Value::Reference(item, 1))).contains("not read the word"));
        assert!(refused(|| scope.copy_fields(at, 0, at, 0, 2)).contains("at 8 has a tag"));
        assert!(refused(|| scope.fill_fields(at, 0, 2, None)).contains("at 8 has a tag"));
        scope.set_pair(at, 8, NUMBER, Value::Word(storage.address()));
        assert!(refused(|| _ = scope.resize(object, 8, 9)).contains("at 8 is a pair"), "a number is no storage");
        let open = scope.open_object(scope.get(object));
        assert!(refused(|| scope.write_open(&open, 8, None)).contains("at 8 has a tag"));
        scope.write_open(&open, 0, Some(scope.get(object)));
        scope.close_object(open);
    }
}

#[test]
fn a_wrong_pair_is_refused_with_the_name_of_the_field() {
    let value = |kind| TypeBuilder::new("Box", 24).kind(kind);
    for (wrong, field) in [
        (value(BEHIND).reference("last", 16), "last"),
        (value(BEFORE).reference("first", 0), "first"),
        (value(BEHIND).reference("one", 0).reference("two", 8), "one"),
        (value(BEHIND).reference("one", 0).plain_reference("tag", 8), "one"),
        (value(BEHIND).elements(0, 24).element_reference("end", 16), "end"),
    ] {
        let error = wrong.register().expect_err(field);
        assert_eq!(error.field(), Some(field), "{error}");
        assert!(error.to_string().contains("the tag beside the reference"), "{error}");
    }
    let twice = value(BOXED).reference("one", 8).plain_reference("two", 8).register().expect_err("one word");
    assert!(twice.to_string().contains("another field has the offset 8"), "{twice}");
}
