//! Storage that gets another number of elements, under all plans: its elements stay, what goes is released, and counts are right.

use crate::every_heap::in_every_heap;
use std::sync::atomic::{AtomicU64, Ordering};
use tally_collector::Mutator;
use tally_heap::descriptor::{SlotKind, TypeDescriptor};
use tally_heap::plan::Plan;
use tally_heap::{HeapOptions, ObjectRef};
use tally_kit::nodes::{new_mutator, nothing_is_left, type_of};

/// Storage and a number.
static OWNER: TypeDescriptor = TypeDescriptor::plain(c"Owner", 16, &[0]);
static TAGGED_OWNER: TypeDescriptor = TypeDescriptor::plain(c"TaggedOwner", 8, &[0]).tagged(
    SlotKind::NanBoxed,
    0xffff << 48,
    0xfffc << 48,
    (1 << 48) - 1,
);
static ITEM: TypeDescriptor = TypeDescriptor::plain(c"Item", 16, &[0]);
static ARRAY: TypeDescriptor = TypeDescriptor::plain(c"Array", 8, &[]).with_tail(0, 8, &[0]);
/// A reference before the length, and pairs of reference and number.
static PAIRS: TypeDescriptor = TypeDescriptor::plain(c"Pairs", 16, &[0]).with_tail(8, 16, &[0]);
static TAGGED: TypeDescriptor =
    TypeDescriptor::plain(c"Tagged", 8, &[]).with_tail(0, 8, &[0]).tagged(SlotKind::Tagged, 3, 1, !7);
static BYTES: TypeDescriptor = TypeDescriptor::plain(c"Bytes", 8, &[]).with_tail(0, 1, &[]);

/// How a kind of storage is laid out, and how its words say that they are references.
#[derive(Clone, Copy)]
struct Layout {
    of: &'static TypeDescriptor,
    first: u64,
    stride: u64,
    tag: u64,
}

const LAYOUTS: [Layout; 3] = [
    Layout { of: &ARRAY, first: 8, stride: 8, tag: 0 },
    Layout { of: &PAIRS, first: 16, stride: 16, tag: 0 },
    Layout { of: &TAGGED, first: 8, stride: 8, tag: 1 },
];

fn storage(owner: ObjectRef) -> ObjectRef {
    // SAFETY: [HEADER] a plain reference.
    unsafe { ObjectRef::of_word(owner.slot(0).read()) }.expect("it has storage")
}

/// An owner in a root, with storage of that length.
fn owner_of(m: &mut Mutator, layout: Layout, length: u64) -> ObjectRef {
    let owner = m.allocate(type_of(&OWNER)).expect("room");
    m.push_root(Some(owner));
    let array = m.allocate_array(type_of(layout.of), length).expect("room");
    m.write(owner, owner.slot(0), array.address());
    owner
}

/// An item with a number is made and put to a place of the storage.
fn put(m: &mut Mutator, owner: ObjectRef, layout: Layout, place: u64, number: u64) -> ObjectRef {
    let item = m.allocate(type_of(&ITEM)).expect("room");
    item.slot(8).store(number);
    let array = storage(owner);
    m.write(array, array.slot(layout.first + place * layout.stride), item.address() | layout.tag);
    item
}

fn item_at(owner: ObjectRef, layout: Layout, place: u64) -> Option<ObjectRef> {
    let word = storage(owner).slot(layout.first + place * layout.stride).read();
    // SAFETY: [HEADER] a reference with that tag.
    unsafe { ObjectRef::of_word(word & !layout.tag) }
}

fn resize(m: &mut Mutator, owner: ObjectRef, length: u64) {
    assert_eq!(m.heap().resize_refuses(owner, owner.slot(0)), None);
    m.heap().resize(owner, owner.slot(0), length).expect("room");
    let array = storage(owner);
    assert_eq!(array.type_info().length(array), length);
}

/// Young, mature, small, large: elements are there after each growth, and new places are empty.
#[test]
fn an_array_grows_from_nothing_to_a_large_one() {
    for layout in LAYOUTS {
        in_every_heap(|m| {
            let owner = owner_of(m, layout, 0);
            let (mut length, most) = (0, if m.heap().options().zeal { 300 } else { 6000 });
            for number in 0..most {
                if number == length {
                    length = length * 2 + 1;
                    resize(m, owner, length);
                    assert!((number..length).all(|place| item_at(owner, layout, place).is_none()), "empty places");
                }
                put(m, owner, layout, number, number);
                match number % 700 {
                    99 => m.poll(),
                    399 => m.epoch(),
                    699 => _ = m.collect(),
                    _ => {}
                }
            }
            m.collect();
            for number in 0..most {
                assert_eq!(item_at(owner, layout, number).expect("there").slot(8).read(), number);
            }
            assert_eq!(m.live_objects().len() as u64, 2 + most);
        });
    }
}

#[test]
fn what_a_shorter_array_has_no_place_for_dies() {
    for layout in LAYOUTS {
        in_every_heap(|m| {
            for (before, after) in [(10, 9), (10, 3), (100, 0), (3000, 2999), (5000, 4), (5000, 2600)] {
                if m.heap().options().zeal && before > 100 {
                    continue;
                }
                for ages in 0..3 {
                    let base = m.root_count();
                    let owner = owner_of(m, layout, before);
                    (0..before).for_each(|place| _ = put(m, owner, layout, place, place));
                    (0..ages).for_each(|_| m.epoch());
                    resize(m, owner, after);
                    m.collect();
                    assert!(
                        (0..after).all(|place| item_at(owner, layout, place).expect("there").slot(8).read() == place)
                    );
                    assert_eq!(m.live_objects().len() as u64, 2 + after, "from {before} to {after}");
                    resize(m, owner, before);
                    assert!((after..before).all(|place| item_at(owner, layout, place).is_none()), "zeros");
                    m.truncate_roots(base);
                    m.collect();
                }
            }
        });
    }
}

/// Its elements have two holders then, and it is the same object as before to the other.
#[test]
fn storage_that_something_else_holds_keeps_its_elements_alive() {
    for layout in LAYOUTS {
        in_every_heap(|m| {
            let owner = owner_of(m, layout, 40);
            let items: Vec<_> = (0..40).map(|place| put(m, owner, layout, place, place)).collect();
            let old = storage(owner);
            m.push_root(Some(old));
            resize(m, owner, 5000);
            assert!(storage(owner) != old, "another object");
            m.collect();
            assert!((0..40).all(|place| item_at(owner, layout, place) == Some(items[place as usize])));
            m.write(owner, owner.slot(0), old.address());
            m.collect();
            assert!((0..40).all(|place| item_at(owner, layout, place) == Some(items[place as usize])));
            assert_eq!(m.live_objects().len(), 42);
        });
    }
}

/// A handle counts from the next safepoint on, and an allocation that has a cell at hand is none.
#[test]
fn storage_that_a_new_handle_holds_keeps_its_elements() {
    in_every_heap(|m| {
        let owner = owner_of(m, LAYOUTS[0], 4);
        let item = put(m, owner, LAYOUTS[0], 0, 1);
        for length in [9, 40] {
            let old = storage(owner);
            let handles = m.heap().open_handles();
            // SAFETY: [ROOT] a reference.
            _ = unsafe { m.heap().new_handle(old.address()) };
            resize(m, owner, length);
            let is_kept = old.slot(8).read() == item.address() && m.heap().plan() == Plan::Prompt;
            assert!(is_kept || m.heap().plan() != Plan::Prompt);
            m.heap().close_handles(handles);
            m.poll();
        }
    });
}

/// The references before the elements go along, and a number between them.
#[test]
fn the_fixed_part_goes_along() {
    in_every_heap(|m| {
        let owner = owner_of(m, LAYOUTS[1], 4);
        let first = m.allocate(type_of(&ITEM)).expect("room");
        let array = storage(owner);
        m.write(array, array.slot(0), first.address());
        array.slot(24).store(77);
        resize(m, owner, 4000);
        m.collect();
        assert_eq!((storage(owner).slot(0).read(), storage(owner).slot(24).read()), (first.address(), 77));
        assert_eq!(m.live_objects().len(), 3);
    });
}

#[test]
fn bytes_grow_in_place_while_nothing_is_made_behind_them() {
    in_every_heap(|m| {
        let owner = owner_of(m, Layout { of: &BYTES, first: 8, stride: 1, tag: 0 }, 8);
        let first = storage(owner);
        first.slot(8).store(0x0063_6261);
        resize(m, owner, 16);
        let is_zeal = m.heap().options().zeal;
        assert_eq!(storage(owner) != first, is_zeal || m.heap().plan() == Plan::Prompt);
        assert_eq!([8, 16].map(|at| storage(owner).slot(at).read()), [0x0063_6261, 0]);
        let second = storage(owner);
        storage(owner).slot(16).store(u64::MAX);
        resize(m, owner, 8);
        resize(m, owner, 16);
        assert!(is_zeal || storage(owner) == second, "there was room");
        assert_eq!([8, 16].map(|at| storage(owner).slot(at).read()), [0x0063_6261, 0], "zeros, not what was there");
    });
}

#[test]
fn the_reference_of_a_tagged_field_keeps_its_tag() {
    in_every_heap(|m| {
        let owner = m.allocate(type_of(&TAGGED_OWNER)).expect("room");
        m.push_root(Some(owner));
        let array = m.allocate_array(type_of(&ARRAY), 2).expect("room");
        m.write(owner, owner.slot(0), array.address() | 0xfffc << 48);
        let new = m.heap().resize(owner, owner.slot(0), 3000).expect("room");
        assert_eq!(owner.slot(0).read(), new.address() | 0xfffc << 48);
        m.collect();
        assert_eq!(m.live_objects().len(), 2);
    });
}

/// Under the prompt plan nothing is counted twice, and nothing is left over: neither by element, nor as candidates.
#[test]
fn elements_take_their_counts_along() {
    for layout in LAYOUTS {
        let mut m = new_mutator(HeapOptions { plan: Plan::Prompt, ..HeapOptions::default() }).expect("room");
        let owner = owner_of(&mut m, layout, 20);
        let items: Vec<_> = (0..20).map(|place| put(&mut m, owner, layout, place, place)).collect();
        m.collect();
        let before = m.heap().candidates.len();
        resize(&mut m, owner, 500);
        assert!(items.iter().all(|&item| m.count_of(item) == 1));
        assert_eq!((m.count_of(storage(owner)), m.count_of(owner)), (1, 1));
        assert_eq!(m.heap().candidates.len(), before);
        m.poll();
        assert_eq!(m.live_objects().len(), 22, "the old storage has died at the next safepoint");
        m.verify().expect("sound");
    }
}

/// A ring through storage that was replaced is found; scenario 134.
#[test]
fn a_ring_through_replaced_storage_is_collected() {
    for layout in LAYOUTS {
        in_every_heap(|m| {
            let owner = owner_of(m, layout, 4);
            let item = put(m, owner, layout, 0, 1);
            m.write(item, item.slot(0), owner.address());
            m.epoch();
            for length in [9, 90, 3, 4000] {
                resize(m, owner, length);
            }
            m.truncate_roots(0);
            m.collect();
            assert_eq!(m.live_objects().len(), 0);
        });
    }
}

/// Elements of which the number is even go to half their place, the others are left out.
fn halve(m: &mut Mutator, owner: ObjectRef, layout: Layout, length: u64) {
    let mut rehash = |old: ObjectRef, new: ObjectRef| {
        for place in 0..old.type_info().length(old) {
            let from = layout.first + place * layout.stride;
            if place % 2 == 0 {
                new.slot(layout.first + place / 2 * layout.stride).store(old.slot(from).read());
            }
        }
    };
    // SAFETY: each element is copied once at most, by plain stores.
    unsafe { m.heap().rehash(owner, owner.slot(0), length, &mut rehash) }.expect("room");
}

#[test]
fn elements_that_a_rehash_leaves_out_die_and_the_others_live() {
    for layout in LAYOUTS {
        in_every_heap(|m| {
            for (before, after) in [(10, 5), (10, 20), (100, 4000), (4000, 2000)] {
                if m.heap().options().zeal && before > 100 {
                    continue;
                }
                let base = m.root_count();
                let owner = owner_of(m, layout, before);
                (0..before).for_each(|place| _ = put(m, owner, layout, place, place));
                if before == 100 {
                    m.collect();
                }
                halve(m, owner, layout, after);
                m.collect();
                let expected = |place| (place < before / 2).then_some(place * 2);
                for place in 0..after {
                    assert_eq!(item_at(owner, layout, place).map(|item| item.slot(8).read()), expected(place));
                }
                assert_eq!(m.live_objects().len() as u64, 2 + before / 2);
                m.truncate_roots(base);
                m.collect();
            }
        });
    }
}

/// As in a table that is full of survivors: nothing is left out, so that nothing is counted.
#[test]
fn a_rehash_that_keeps_all_takes_the_counts_along() {
    let mut m = new_mutator(HeapOptions { plan: Plan::Prompt, ..HeapOptions::default() }).expect("room");
    let layout = LAYOUTS[1];
    let owner = owner_of(&mut m, layout, 10);
    let items: Vec<_> = (0..5).map(|place| put(&mut m, owner, layout, place * 2, place)).collect();
    halve(&mut m, owner, layout, 40);
    assert!(items.iter().zip(0..).all(|(&item, place)| item_at(owner, layout, place) == Some(item)));
    assert!(items.iter().all(|&item| m.count_of(item) == 1));
    m.poll();
    m.verify().expect("sound");
    nothing_is_left(&mut m);
}

static REPLACEMENT: AtomicU64 = AtomicU64::new(0);

/// The finalizer of something that died replaces the storage while it is being resized.
#[test]
fn storage_that_a_finalizer_replaces_meanwhile_is_resized_in_its_place() {
    unsafe extern "C-unwind" fn replace(_: *mut std::ffi::c_void) {
        tally_kit::nodes::in_finalizer(|m| {
            let owner = m.root(tally_heap::services::host_roots::RootIndex(0)).expect("the owner");
            let array = m.allocate_array(type_of(&ARRAY), 1).expect("room");
            m.write(owner, owner.slot(0), array.address());
            put(m, owner, LAYOUTS[0], 0, 42);
            REPLACEMENT.fetch_add(1, Ordering::Relaxed);
        });
    }
    // SAFETY: it takes any object.
    static DYING: TypeDescriptor = unsafe { TypeDescriptor::plain(c"Dying", 16, &[]).finalized(replace) };
    in_every_heap(|m| {
        let owner = owner_of(m, LAYOUTS[0], 3);
        let _ = put(m, owner, LAYOUTS[0], 0, 1);
        let dying = m.allocate(type_of(&DYING)).expect("room");
        let root = m.push_root(Some(dying));
        m.epoch();
        m.set_root(root, None);
        let before = REPLACEMENT.load(Ordering::Relaxed);
        for length in [600, 700, 5000, 900] {
            resize(m, owner, length);
            m.epoch();
            let replaced = REPLACEMENT.load(Ordering::Relaxed) != before;
            let item = item_at(owner, LAYOUTS[0], 0).expect("there").slot(8).read();
            assert_eq!(item, if replaced { 42 } else { 1 });
        }
        m.collect();
        assert_eq!(m.live_objects().len(), 3);
    });
}

#[test]
fn storage_that_cannot_be_replaced_is_refused() {
    unsafe extern "C-unwind" fn ends(_: *mut std::ffi::c_void) {}
    // SAFETY: it takes any object.
    static CLOSED: TypeDescriptor =
        unsafe { TypeDescriptor::plain(c"Closed", 8, &[]).with_tail(0, 8, &[0]).finalized(ends) };
    in_every_heap(|m| {
        let owner = owner_of(m, LAYOUTS[0], 3);
        let weak = m.heap().new_weak(Some(storage(owner))).expect("room");
        m.push_root(Some(weak));
        let says = |m: &mut Mutator| m.heap().resize_refuses(owner, owner.slot(0)).unwrap_or("");
        assert!(says(m).contains("weak references"));
        m.write(owner, owner.slot(0), 0);
        assert!(says(m).contains("no object"));
        m.write(owner, owner.slot(0), owner.address());
        assert!(says(m).contains("no elements"));
        let closed = m.allocate_array(type_of(&CLOSED), 3).expect("room");
        m.write(owner, owner.slot(0), closed.address());
        assert!(says(m).contains("finalizer"));
        m.write(owner, owner.slot(0), 0);
    });
}

#[test]
fn without_memory_all_is_as_before() {
    for plan in Plan::ALL {
        let mut m =
            new_mutator(HeapOptions { plan, heap_limit: Some(1 << 20), ..HeapOptions::default() }).expect("room");
        let owner = owner_of(&mut m, LAYOUTS[0], 3);
        let item = put(&mut m, owner, LAYOUTS[0], 1, 1);
        let before = storage(owner);
        for length in [1 << 20, 1 << 50, u64::MAX] {
            m.heap().resize(owner, owner.slot(0), length).expect_err("more than the limit");
            assert_eq!((storage(owner), item_at(owner, LAYOUTS[0], 1)), (before, Some(item)));
        }
        m.verify().expect("sound");
        nothing_is_left(&mut m);
    }
}
