//! When an object dies, and in which order.

use crate::prompt::{ARRAY, LEAF, live, mutator, node, nodes, options, set, type_of};
use std::ffi::c_void;
use tally_collector::Mutator;
use tally_heap::HeapOptions;
use tally_heap::descriptor::{TraceVisit, TypeDescriptor};
use tally_heap::object::ObjectRef;
use tally_heap::plan::prompt::CellSpace;
use tally_heap::services::host_roots::RootIndex;
use tally_kit::nodes::new_mutator;

/// scenario 1 and others: nothing waits for a collection.
#[test]
fn an_object_dies_at_the_first_safepoint_after_its_last_reference_went() {
    let mut m = mutator();
    let object = node(&mut m);
    let root = m.push_root(Some(object));
    m.poll();
    assert_eq!((live(&m), m.count_of(object)), (1, 1));
    m.set_root(root, None);
    assert_eq!(live(&m), 1, "valid until the next safepoint");
    m.poll();
    assert_eq!(live(&m), 0);
    m.verify().expect("sound");
}

#[test]
fn a_fresh_object_in_no_root_dies_at_the_next_safepoint() {
    let mut m = mutator();
    node(&mut m);
    m.poll();
    assert_eq!(live(&m), 0);
}

#[test]
fn what_is_counted_again_before_the_drain_lives() {
    let mut m = mutator();
    let [holder, object] = nodes(&mut m);
    m.push_root(Some(holder));
    let root = m.push_root(Some(object));
    m.set_root(root, None);
    set(&mut m, holder, 0, Some(object));
    m.poll();
    assert_eq!((live(&m), m.count_of(object)), (2, 1));
    set(&mut m, holder, 0, None);
    m.poll();
    assert_eq!(live(&m), 1);
    m.verify().expect("sound");
}

/// scenario 147.
#[test]
fn words_of_a_call_in_progress_protect_what_they_lead_to_also_from_the_middle() {
    let mut m = mutator();
    let object = node(&mut m);
    m.drain(&[0, object.address() + 16, 77]);
    assert_eq!(live(&m), 1);
    m.drain(&[object.address() - 8]);
    assert_eq!(live(&m), 1, "an address in the header is in the cell, too");
    m.poll();
    assert_eq!(live(&m), 0);
}

#[test]
fn a_protected_object_survives_the_death_of_what_held_it() {
    let mut m = mutator();
    let [outer, inner, last] = nodes(&mut m);
    set(&mut m, outer, 0, Some(inner));
    set(&mut m, outer, 8, Some(last));
    m.drain(&[inner.address()]);
    assert_eq!((live(&m), m.count_of(inner)), (1, 0));
    m.verify().expect("pending, and noted as such");
    m.poll();
    assert_eq!(live(&m), 0);
}

/// A small object that takes none along is freed at once. Where one field's object survives and the next one's does not, or both are the
/// same object with two counts, each loses what it had, once.
#[test]
fn what_an_object_held_beside_others_loses_one_count_for_each_field() {
    for (second_survives, same) in [(true, false), (false, false), (true, true), (false, true)] {
        let mut m = mutator();
        let [outer, first, second] = nodes(&mut m);
        let root = m.push_root(Some(outer));
        let second = if same { first } else { second };
        for (slot, target) in [(0, first), (8, second)] {
            set(&mut m, outer, slot, Some(target));
        }
        m.push_root((!same).then_some(first));
        m.push_root(second_survives.then_some(second));
        m.poll();
        m.set_root(root, None);
        m.poll();
        m.verify().expect("sound");
        let survivors = [!same || second_survives, !same && second_survives];
        assert_eq!(live(&m), survivors.into_iter().filter(|&survives| survives).count() as u64);
        assert!(!survivors[0] || m.count_of(first) == 1);
        assert!(!survivors[1] || m.count_of(second) == 1);
    }
}

/// An array does so, too, whether all its elements survive it, one of them dies with it at the end, or they are more than are looked
/// at at once.
#[test]
fn what_an_array_held_beside_others_loses_one_count_for_each_element() {
    for (length, last_survives) in
        [3, 32, 33, 127, 128, 200].into_iter().flat_map(|length| [(length, true), (length, false)])
    {
        let mut m = mutator();
        let array = m.allocate_array(type_of(&ARRAY), length).expect("room");
        let root = m.push_root(Some(array));
        let [kept, other] = nodes(&mut m);
        m.push_root(Some(kept));
        m.push_root(last_survives.then_some(other));
        for index in 0..length {
            set(&mut m, array, 8 + index * 8, Some(if index == length - 1 { other } else { kept }));
        }
        m.poll();
        assert_eq!((live(&m), m.count_of(kept)), (3, length as u32), "{length}");
        m.set_root(root, None);
        m.poll();
        m.verify().expect("sound");
        assert_eq!((live(&m), m.count_of(kept)), (1 + u64::from(last_survives), 1), "{length}");
        assert!(!last_survives || m.count_of(other) == 1, "{length}");
    }
}

/// Nothing else is in the same block that a word leads to but that object: its neighbours die.
#[test]
fn a_word_that_leads_to_a_neighbour_protects_nobody_else() {
    let mut m = mutator();
    let all: [ObjectRef; 10] = nodes(&mut m);
    m.drain(&[all[4].address() + 8]);
    assert_eq!((live(&m), m.count_of(all[4])), (1, 0));
    m.verify().expect("pending, and noted as such");
    m.poll();
    assert_eq!(live(&m), 0);
}

/// More objects are at zero than a drain looks at one by one; each tenth has been counted again.
#[test]
fn objects_counted_again_among_many_that_die_stay() {
    for many in [9, 16, 17, 1000] {
        let mut m = mutator();
        let (mut roots, mut objects) = (Vec::new(), Vec::new());
        for _ in 0..many {
            let object = node(&mut m);
            objects.push(object);
            roots.push(m.push_root(Some(object)));
        }
        roots.iter().for_each(|&root| m.set_root(root, None));
        for at in (0..many).step_by(10) {
            m.set_root(roots[at], Some(objects[at]));
        }
        m.drain(&[objects[1].address()]);
        assert_eq!(live(&m), many.div_ceil(10) as u64 + 1, "of {many}");
        m.verify().expect("one is pending");
        m.poll();
        assert_eq!(live(&m), many.div_ceil(10) as u64, "of {many}");
    }
}

/// scenario 147.
#[test]
fn a_large_array_is_protected_by_an_address_in_its_middle() {
    let mut m = mutator();
    let array = m.allocate_array(type_of(&ARRAY), 100_000).expect("room");
    m.drain(&[array.address() + 600_000]);
    assert_eq!(live(&m), 1);
    m.poll();
    assert_eq!(live(&m), 0);
}

/// scenario 44.
#[test]
fn a_list_of_ten_million_nodes_is_dropped_without_recursion() {
    let mut m = mutator();
    let head = m.push_root(None);
    let t = type_of(&crate::prompt::NODE);
    for _ in 0..10_000_000 {
        let node = m.allocate(t).expect("room");
        let old = m.root(head);
        set(&mut m, node, 0, old);
        m.set_root(head, Some(node));
    }
    assert_eq!(live(&m), 10_000_000);
    m.set_root(head, None);
    m.poll();
    assert_eq!(live(&m), 0);
    assert!(m.heap().used_bytes() <= 32 << 10, "the blocks are free but for the one that is allocated from");
}

/// Fields lead on at both ends, so that objects wait for each other in their own memory.
#[test]
fn a_tree_as_deep_as_wide_is_dropped() {
    let mut m = mutator();
    let root = m.push_root(None);
    for index in 0..500_000u64 {
        let [spine, side] = nodes(&mut m);
        let old = m.root(root);
        set(&mut m, spine, 8 * (index % 2), old);
        set(&mut m, spine, 8 * (1 - index % 2), Some(side));
        m.set_root(root, Some(spine));
    }
    m.poll();
    assert_eq!(live(&m), 1_000_000);
    m.set_root(root, None);
    m.poll();
    assert_eq!(live(&m), 0);
    m.verify().expect("sound");
}

/// Under a pause goal: units of work, not time, so that the test says the same on every machine.
#[test]
fn with_a_pause_goal_a_long_list_dies_in_slices_of_bounded_work() {
    let units = 5_000;
    let options = HeapOptions { pause_goal_ns: Some(1), slice_units: Some(units), ..options() };
    let mut m = new_mutator(options).expect("address space");
    let head = m.push_root(None);
    for _ in 0..100_000 {
        let [cell, leaf] = nodes(&mut m);
        let old = m.root(head);
        set(&mut m, cell, 0, Some(leaf));
        set(&mut m, cell, 8, old);
        m.set_root(head, Some(cell));
    }
    while live(&m) != 200_000 {
        m.poll();
    }
    m.set_root(head, None);
    let mut before = live(&m);
    let mut slices = 0;
    while before != 0 {
        m.poll();
        let now = live(&m);
        assert!(now < before && before - now <= u64::from(units) + 1, "{} died in one slice", before - now);
        assert_eq!(m.heap().context_mut().pending != 0, now != 0, "compiled code drains again while anything is left");
        before = now;
        slices += 1;
        if slices == 20 {
            // What dies meanwhile dies first.
            let small = node(&mut m);
            m.push_root(Some(small));
            m.truncate_roots(1);
            m.poll();
            // SAFETY: a block of the test's own.
            assert!(unsafe { CellSpace::object_at(small.address()) }.is_none_or(|object| object != small));
            before = live(&m);
        }
    }
    assert!(slices >= 38);
    m.verify().expect("sound");
}

#[test]
fn with_a_pause_goal_a_million_element_array_dies_in_slices() {
    let options = HeapOptions { pause_goal_ns: Some(1), slice_units: Some(10_000), ..options() };
    let mut m = new_mutator(options).expect("address space");
    let array = m.allocate_array(type_of(&ARRAY), 1_000_000).expect("room");
    m.push_root(Some(array));
    let leaf = type_of(&LEAF);
    for index in 0..1_000_000 {
        let leaf = m.allocate(leaf).expect("room");
        set(&mut m, array, 8 + index * 8, Some(leaf));
    }
    while live(&m) != 1_000_001 {
        m.poll();
    }
    m.truncate_roots(0);
    let mut before = 1_000_001;
    for _ in 0..10 {
        m.poll();
        assert!(live(&m) < before && live(&m) > before - 11_000);
        before = live(&m);
    }
    assert_eq!(m.collect(), before, "a collection takes the rest apart first");
    m.verify().expect("sound");
}

const WIDE_FIELDS: usize = 40;
static WIDE_OFFSETS: [u32; WIDE_FIELDS] = {
    let mut offsets = [0; WIDE_FIELDS];
    let mut index = 0;
    while index < WIDE_FIELDS {
        offsets[index] = index as u32 * 8;
        index += 1;
    }
    offsets
};
/// More references than are taken off an object at a time.
static WIDE: TypeDescriptor = TypeDescriptor::plain(c"Wide", WIDE_FIELDS as u64 * 8, &WIDE_OFFSETS);

/// Objects of all shapes wait for one another: large arrays, small ones, plain ones of many fields, and a list that
/// fills the stack of references. What they hold lives on, so that the recount after each slice would miss, or find
/// twice, any reference that was taken off or still waits.
#[test]
fn between_two_slices_each_reference_of_what_is_taken_apart_is_accounted_for() {
    for units in [1, 7, 40] {
        let options = HeapOptions { pause_goal_ns: Some(1), slice_units: Some(units), ..options() };
        let mut m = new_mutator(options).expect("address space");
        let kept: Vec<ObjectRef> = (0..7)
            .map(|_| {
                let object = node(&mut m);
                m.push_root(Some(object));
                object
            })
            .collect();
        let root = m.push_root(None);
        list_with_leaves(&mut m, root, &kept);
        for (place, length) in [(20, 100), (9, 5000), (30, 60), (3, 4500)] {
            array_around(&mut m, root, (length / 2, length), &kept);
            wide_around(&mut m, root, place, &kept);
        }
        m.poll();
        m.set_root(root, None);
        let mut slices = 0;
        while live(&m) > kept.len() as u64 {
            m.poll();
            let recounted = tally_collector::plan::prompt::verify(m.heap());
            recounted.unwrap_or_else(|fault| panic!("slices of {units}, number {slices}: {fault:?}"));
            slices += 1;
        }
        assert!(slices > 100, "{slices} slices of {units} units");
        assert!(kept.iter().all(|&object| m.count_of(object) == 1), "the roots hold them, and nothing else");
    }
}

/// 300 nodes linked by their first fields; the root holds the first.
fn list_with_leaves(m: &mut Mutator, root: RootIndex, kept: &[ObjectRef]) {
    for index in 0..300 {
        let cell = node(m);
        let old = m.root(root);
        set(m, cell, 0, old);
        set(m, cell, 8, Some(kept[index % kept.len()]));
        m.set_root(root, Some(cell));
    }
}

/// An array takes the root's place and holds what that held at `place`.
fn array_around(m: &mut Mutator, root: RootIndex, (place, length): (u64, u64), kept: &[ObjectRef]) {
    let array = m.allocate_array(type_of(&ARRAY), length).expect("room");
    let old = m.root(root);
    for index in 0..length {
        let target = if index == place { old } else { Some(kept[index as usize % kept.len()]) };
        set(m, array, 8 + index * 8, target);
    }
    m.set_root(root, Some(array));
}

/// The same with a plain object.
fn wide_around(m: &mut Mutator, root: RootIndex, place: usize, kept: &[ObjectRef]) {
    let wide = m.allocate(type_of(&WIDE)).expect("room");
    let old = m.root(root);
    for index in 0..WIDE_FIELDS {
        let target = if index == place { old } else { Some(kept[index % kept.len()]) };
        set(m, wide, index as u64 * 8, target);
    }
    m.set_root(root, Some(wide));
}

#[test]
fn arrays_of_all_sizes_release_their_elements_in_order() {
    let mut m = mutator();
    for length in [0, 1, 2, 63, 64, 65, 2000, 2045, 2046, 3000, 70_000] {
        let array = m.allocate_array(type_of(&ARRAY), length).expect("room");
        let root = m.push_root(Some(array));
        for index in 0..length {
            let element = node(&mut m);
            set(&mut m, array, 8 + index * 8, Some(element));
        }
        m.poll();
        assert_eq!(live(&m), length + 1);
        m.verify().expect("sound");
        m.set_root(root, None);
        m.poll();
        assert_eq!(live(&m), 0, "of an array of {length}");
    }
}

#[test]
fn bulk_writes_count_what_they_write_and_release_what_they_overwrite() {
    let mut m = mutator();
    let (array, one, two) = (m.allocate_array(type_of(&ARRAY), 10).expect("room"), node(&mut m), node(&mut m));
    for object in [array, one, two] {
        m.push_root(Some(object));
    }
    // SAFETY: ten elements from byte 8 on.
    unsafe { m.fill_refs(array, array.slot(8), one.address(), 10) };
    assert_eq!(m.count_of(one), 11);
    // SAFETY: five of them.
    unsafe { m.fill_refs(array, array.slot(8), two.address(), 5) };
    assert_eq!((m.count_of(one), m.count_of(two)), (6, 6));
    // SAFETY: nine of them, to the nine from the second on.
    unsafe { m.copy_refs(array, array.slot(16), array.address() + 8, 9) };
    assert_eq!((m.count_of(one), m.count_of(two)), (5, 7), "overlapping: one moves up by a word");
    // SAFETY: all ten.
    unsafe { m.fill_refs(array, array.slot(8), 0, 10) };
    assert_eq!((m.count_of(one), m.count_of(two)), (1, 1));
    m.verify().expect("sound");
}

/// Every word is a reference, but only `trace` knows: of the elements that are written, all are counted before and after.
#[test]
fn bulk_writes_into_what_trace_reads_count_the_elements_they_touch() {
    unsafe extern "C" fn trace(words: *const u64, count: u64, visit: TraceVisit, context: *mut c_void) {
        for index in 0..count as usize {
            // SAFETY: an image of so many words.
            let word = unsafe { *words.wrapping_add(index) };
            // SAFETY: every word is a reference, and the context came with `visit`.
            unsafe { visit(word as *mut c_void, context) };
        }
    }
    /// The length reads as no reference.
    // SAFETY: `trace` reads only the words that it is given, and reports references.
    static TRACED: TypeDescriptor =
        unsafe { TypeDescriptor::plain(c"Traced", 8, &[]).with_tail(0, 16, &[]).traced(trace) };
    for length in [5, 1500] {
        let mut m = mutator();
        let array = m.allocate_array(type_of(&TRACED), length).expect("room");
        m.push_root(Some(array));
        let [one, two] = nodes(&mut m);
        [one, two].into_iter().for_each(|object| _ = m.push_root(Some(object)));
        let (from, middle) = (array.slot(8 + 16 * (length - 4)), array.slot(8 + 16 * (length - 3) + 8));
        // SAFETY: the words of the last four elements, two in each.
        unsafe { m.fill_refs(array, from, one.address(), 8) };
        assert_eq!((m.count_of(one), m.count_of(two)), (9, 1), "{length}");
        // SAFETY: three of them.
        unsafe { m.fill_refs(array, middle, two.address(), 3) };
        assert_eq!((m.count_of(one), m.count_of(two)), (6, 4), "{length}: from the middle of an element on");
        // SAFETY: seven of them, from the seven behind the first.
        unsafe { m.copy_refs(array, from, from.address() + 8, 7) };
        assert_eq!((m.count_of(one), m.count_of(two)), (6, 4), "{length}: one moves out, and one is there twice");
        m.verify().expect("sound");
        // SAFETY: all eight.
        unsafe { m.fill_refs(array, from, 0, 8) };
        assert_eq!((m.count_of(one), m.count_of(two)), (1, 1), "{length}");
        m.verify().expect("sound");
    }
}

/// scenario 137.
#[test]
fn a_count_that_is_stuck_stays_and_never_frees() {
    let mut m = mutator();
    let object = node(&mut m);
    let root = m.push_root(Some(object));
    object.set_exact_count(u32::MAX);
    m.push_root(Some(object));
    assert_eq!(m.count_of(object), u32::MAX, "an increment of a full count leaves it");
    m.truncate_roots(1);
    for _ in 0..3 {
        m.set_root(root, None);
        m.poll();
        assert!(object.is_stuck());
        m.set_root(root, Some(object));
    }
    m.set_root(root, None);
    m.poll();
    assert_eq!(live(&m), 1, "counting will never know");
    assert_eq!(m.collect(), 1, "the mark does");
}

/// Another order than by recursion is visible: by what is still there when a finalizer runs. The finalizers are in
/// `finalizers.rs`; here, that addresses are reused in the order of deaths.
#[test]
fn cells_are_given_back_and_taken_again() {
    let mut m = mutator();
    let first = node(&mut m);
    m.poll();
    let mut seen: Vec<ObjectRef> = vec![];
    for _ in 0..1000 {
        seen.push(node(&mut m));
        m.poll();
    }
    assert!(seen.contains(&first), "a freed cell comes round again");
    assert_eq!(m.heap().used_bytes(), 32 << 10);
}
