//! Ephemerons under both plans: values live as long as their keys, however keys and values lead to each other.

use tally_collector::Mutator;
use tally_heap::plan::Plan;
use tally_heap::{HeapOptions, ObjectRef, TypeDescriptor, TypeId, type_registry};
use tally_kit::nodes::{new_mutator, nothing_is_left};

static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 24, &[0, 8]);

fn node_type() -> TypeId {
    type_registry::register(&NODE).expect("a sound descriptor")
}

/// A node that a root holds, and the number of roots below it.
fn node(m: &mut Mutator) -> (ObjectRef, usize) {
    let node = m.allocate(node_type()).expect("memory");
    (node, m.push_root(Some(node)).0)
}

/// An ephemeron that a root holds.
fn ephemeron(m: &mut Mutator, key: ObjectRef, value: ObjectRef) -> ObjectRef {
    let ephemeron = m.new_ephemeron(key, Some(value)).expect("memory");
    m.push_root(Some(ephemeron));
    ephemeron
}

fn is_empty(ephemeron: ObjectRef) -> bool {
    [0, 8].map(|offset| ephemeron.slot(offset).read()) == [0, 0]
}

fn for_all_heaps(situation: impl Fn(&mut Mutator)) {
    for plan in [Plan::Deferred, Plan::Prompt] {
        for (zeal, trials) in [(false, true), (true, true), (false, false)] {
            let mut m =
                new_mutator(HeapOptions { plan, zeal, trials, ..HeapOptions::default() }).expect("address space");
            situation(&mut m);
            m.verify().unwrap_or_else(|violation| panic!("{plan:?}, zeal {zeal}, trials {trials}: {violation}"));
            nothing_is_left(&mut m);
        }
    }
}

#[test]
fn value_lives_and_dies_with_its_key() {
    for_all_heaps(|m| {
        let (value, value_root) = node(m);
        let (key, key_root) = node(m);
        let ephemeron = ephemeron(m, key, value);
        m.set_root(tally_heap::services::host_roots::RootIndex(value_root), None);
        m.collect();
        assert_eq!(m.ephemeron_value(ephemeron), Some(value));
        m.set_root(tally_heap::services::host_roots::RootIndex(key_root), None);
        m.collect();
        assert!(is_empty(ephemeron));
        assert_eq!((m.ephemeron_value(ephemeron), m.live_objects().len()), (None, 1));
    });
}

/// Scenario 94: each value holds the next key.
#[test]
fn chain_of_a_hundred_dies_at_one_collection() {
    for_all_heaps(|m| {
        let (first, first_root) = node(m);
        let mut key = first;
        let mut ephemerons = vec![];
        let keys = m.root_count();
        for _ in 0..100 {
            let (next, _) = node(m);
            let ephemeron = m.new_ephemeron(key, Some(next)).expect("memory");
            m.push_root(Some(ephemeron));
            ephemerons.push(ephemeron);
            key = next;
        }
        let roots: Vec<usize> = (keys..m.root_count()).step_by(2).collect();
        for root in roots {
            m.set_root(tally_heap::services::host_roots::RootIndex(root), None);
        }
        m.collect();
        assert_eq!(m.live_objects().len(), 201);
        m.set_root(tally_heap::services::host_roots::RootIndex(first_root), None);
        m.collect();
        assert!(ephemerons.iter().all(|&ephemeron| is_empty(ephemeron)));
        assert_eq!(m.live_objects().len(), 100);
    });
}

/// Scenario 95: by counting alone the key would live as long as the ephemeron.
#[test]
fn value_that_refers_to_its_own_key() {
    for_all_heaps(|m| {
        for old in [false, true] {
            let top = m.root_count();
            let (holder, _) = node(m);
            let (key, key_root) = node(m);
            let (value, _) = node(m);
            m.write(value, value.slot(0), key.address());
            let ephemeron = m.new_ephemeron(key, Some(value)).expect("memory");
            m.write(holder, holder.slot(0), ephemeron.address());
            if old {
                m.epoch();
                m.epoch();
            }
            m.truncate_roots(key_root);
            m.collect();
            assert!(is_empty(ephemeron), "old: {old}");
            m.truncate_roots(top);
        }
    });
}

/// The value is the key itself.
#[test]
fn value_that_is_its_own_key() {
    for_all_heaps(|m| {
        let (key, _) = node(m);
        let ephemeron = m.new_ephemeron(key, Some(key)).expect("memory");
        m.truncate_roots(0);
        m.push_root(Some(ephemeron));
        m.collect();
        assert!(is_empty(ephemeron));
    });
}

/// Scenario 96: values are ephemerons, and hold each other's keys crosswise.
#[test]
fn nested_ephemerons_whose_keys_cross() {
    for_all_heaps(|m| {
        let (a, _) = node(m);
        let (b, _) = node(m);
        let (x, _) = node(m);
        let (y, _) = node(m);
        let inner = m.new_ephemeron(b, Some(x)).expect("memory");
        m.push_root(Some(inner));
        m.write(x, x.slot(0), a.address());
        m.write(y, y.slot(0), b.address());
        let outer = m.new_ephemeron(a, Some(inner)).expect("memory");
        m.push_root(Some(outer));
        let cross = m.new_ephemeron(a, Some(y)).expect("memory");
        m.truncate_roots(0);
        m.push_root(Some(outer));
        m.push_root(Some(cross));
        let anchor = m.push_root(Some(a));
        m.collect();
        // a is a root: inner and y live; y holds b, and so x lives.
        assert_eq!(m.live_objects().len(), 7);
        m.set_root(anchor, None);
        m.collect();
        assert!(is_empty(outer) && is_empty(cross));
        assert_eq!(m.live_objects().len(), 2);
    });
}

/// Time is linear: a key with very many ephemerons, and very many keys in a chain whose ephemerons stand in the unlucky order.
#[test]
fn long_chains_and_wide_keys_take_one_mark() {
    for plan in [Plan::Deferred, Plan::Prompt] {
        let mut m = new_mutator(HeapOptions { plan, ..HeapOptions::default() }).expect("address space");
        const COUNT: usize = 20_000;
        let (first, _) = node(&mut m);
        let mut key = first;
        // A list of all ephemerons, the last link first.
        let list = m.push_root(None);
        for _ in 0..COUNT {
            let next = m.allocate(node_type()).expect("memory");
            let held = m.push_root(Some(next));
            let ephemeron = m.new_ephemeron(key, Some(next)).expect("memory");
            let held_too = m.push_root(Some(ephemeron));
            let link = m.allocate(node_type()).expect("memory");
            m.write(link, link.slot(0), ephemeron.address());
            let rest = m.root(list).map_or(0, ObjectRef::address);
            m.write(link, link.slot(8), rest);
            m.set_root(list, Some(link));
            assert!(held < held_too);
            m.truncate_roots(held.0);
            key = next;
        }
        m.collect();
        assert_eq!(m.live_objects().len(), 3 * COUNT + 1);
        m.set_root(tally_heap::services::host_roots::RootIndex(0), None);
        m.collect();
        assert_eq!(m.live_objects().len(), 2 * COUNT);
        m.verify().expect("sound");
    }
}

/// The batch that finds the key dead frees it before the value has grown up: it was not noted that a ring had lost its last
/// reference from outside.
#[test]
fn ring_that_an_ephemeron_lets_go_of_when_its_key_dies_young_is_judged() {
    for_all_heaps(|m| {
        let (key, key_root) = node(m);
        let (value, value_root) = node(m);
        m.write(key, key.slot(0), key.address());
        m.write(value, value.slot(0), value.address());
        let ephemeron = ephemeron(m, key, value);
        for root in [key_root, value_root] {
            m.set_root(tally_heap::services::host_roots::RootIndex(root), None);
        }
        m.epoch();
        m.verify().expect("what nothing reaches hangs on something that will be judged");
        m.epoch();
        m.epoch();
        assert!(m.ephemeron_value(ephemeron).is_none_or(|found| found == value));
    });
}
