//! Weak slots under both plans: by whatever way a target dies, its slots are null when its memory goes; the holder of a
//! slot may go first.

use tally_collector::Mutator;
use tally_heap::object::flag;
use tally_heap::plan::Plan;
use tally_heap::services::weak::WeakKind;
use tally_heap::{HeapOptions, ObjectRef, TypeDescriptor, type_registry};
use tally_kit::nodes::{new_mutator, type_of};

/// Two counted fields, and a weak slot at 16.
static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 24, &[0, 8]);
static LARGE: TypeDescriptor = TypeDescriptor::plain(c"Large", 30_000, &[0]);
const WEAK: u64 = 16;

fn new(m: &mut Mutator, descriptor: &'static TypeDescriptor) -> ObjectRef {
    m.allocate(type_of(descriptor)).expect("memory")
}

/// The object of the root, a new one.
fn rooted(m: &mut Mutator, descriptor: &'static TypeDescriptor) -> (ObjectRef, usize) {
    let object = new(m, descriptor);
    let root = m.push_root(Some(object)).0;
    (object, root)
}

fn refer_weakly(m: &mut Mutator, holder: ObjectRef, target: ObjectRef) {
    m.heap().write_weak(holder, holder.slot(WEAK), Some(target), WeakKind::Reference);
}

fn for_all_heaps(situation: impl Fn(&mut Mutator)) {
    for plan in [Plan::Deferred, Plan::Prompt] {
        for zeal in [false, true] {
            let options = HeapOptions { plan, zeal, ..HeapOptions::default() };
            let mut m = new_mutator(options).expect("address space");
            situation(&mut m);
            m.collect();
            m.verify().unwrap_or_else(|violation| panic!("{plan:?}, zeal {zeal}: {violation}"));
        }
    }
}

fn link(m: &mut Mutator, from: ObjectRef, field: u64, to: ObjectRef) {
    m.write(from, from.slot(field), to.address());
}

/// A ring of three that hangs on the root on top of the stack; its members.
fn ring(m: &mut Mutator) -> Vec<ObjectRef> {
    let (first, _) = rooted(m, &NODE);
    let mut last = first;
    let mut members = vec![first];
    for _ in 0..2 {
        let next = new(m, &NODE);
        link(m, last, 0, next);
        members.push(next);
        last = next;
    }
    link(m, last, 0, first);
    members
}

#[test]
fn target_dies_young() {
    for_all_heaps(|m| {
        let (holder, root) = rooted(m, &NODE);
        let (target, top) = rooted(m, &NODE);
        refer_weakly(m, holder, target);
        m.truncate_roots(top);
        m.epoch();
        assert_eq!(holder.slot(WEAK).read(), 0);
        assert!(m.heap().services.specials.is_empty(), "nothing is known about either any more");
        assert!(!holder.has(flag::SPECIAL));
        m.truncate_roots(root);
    });
}

#[test]
fn target_dies_by_its_count() {
    for_all_heaps(|m| {
        let (holder, _) = rooted(m, &NODE);
        let (target, top) = rooted(m, &NODE);
        refer_weakly(m, holder, target);
        m.epoch();
        m.epoch();
        assert_eq!(holder.slot(WEAK).read(), target.address());
        m.truncate_roots(top);
        m.epoch();
        m.epoch();
        assert_eq!(holder.slot(WEAK).read(), 0);
        assert!(m.heap().services.specials.is_empty());
    });
}

#[test]
fn large_targets_die_young_and_old() {
    for_all_heaps(|m| {
        for epochs in [0, 2] {
            let (holder, _) = rooted(m, &NODE);
            let (target, top) = rooted(m, &LARGE);
            refer_weakly(m, holder, target);
            (0..epochs).for_each(|_| m.epoch());
            assert_eq!(holder.slot(WEAK).read(), target.address());
            m.truncate_roots(top);
            m.epoch();
            m.epoch();
            assert_eq!(holder.slot(WEAK).read(), 0, "after {epochs} epochs");
            assert!(m.heap().services.specials.is_empty());
        }
    });
}

/// Scenario 84.
#[test]
fn weak_reference_to_a_member_of_a_dead_ring() {
    for_all_heaps(|m| {
        for epochs in [0, 3] {
            let (holder, _) = rooted(m, &NODE);
            let top = m.root_count();
            let members = ring(m);
            refer_weakly(m, holder, members[1]);
            // Members refer to each other weakly, too.
            refer_weakly(m, members[2], members[0]);
            (0..epochs).for_each(|_| m.epoch());
            m.truncate_roots(top);
            m.epoch();
            m.epoch();
            assert_eq!(holder.slot(WEAK).read(), 0, "after {epochs} epochs");
            assert!(m.heap().services.specials.is_empty());
        }
    });
}

#[test]
fn ring_that_only_a_mark_finds() {
    for plan in [Plan::Deferred, Plan::Prompt] {
        let mut m = new_mutator(HeapOptions { plan, trials: false, ..HeapOptions::default() }).expect("address space");
        let (holder, _) = rooted(&mut m, &NODE);
        let top = m.root_count();
        let members = ring(&mut m);
        refer_weakly(&mut m, holder, members[1]);
        refer_weakly(&mut m, members[2], holder);
        m.epoch();
        m.truncate_roots(top);
        m.collect();
        assert_eq!(holder.slot(WEAK).read(), 0);
        assert!(m.heap().services.specials.is_empty());
        m.verify().expect("sound");
    }
}

#[test]
fn holder_dies_before_its_target() {
    for_all_heaps(|m| {
        let (target, _) = rooted(m, &NODE);
        for epochs in [0, 2] {
            let (holder, top) = rooted(m, &NODE);
            refer_weakly(m, holder, target);
            (0..epochs).for_each(|_| m.epoch());
            m.truncate_roots(top);
            m.epoch();
            m.epoch();
            assert!(m.heap().services.specials.is_empty(), "after {epochs} epochs");
        }
        assert!(!target.has(flag::SPECIAL));
    });
}

#[test]
fn slot_is_written_again() {
    for_all_heaps(|m| {
        let (holder, _) = rooted(m, &NODE);
        let (first, _) = rooted(m, &NODE);
        let (second, _) = rooted(m, &NODE);
        let others: Vec<ObjectRef> = (0..5)
            .map(|_| {
                let other = rooted(m, &NODE).0;
                refer_weakly(m, other, first);
                other
            })
            .collect();
        refer_weakly(m, holder, first);
        refer_weakly(m, holder, second);
        assert_eq!(m.heap().weak_target(holder, holder.slot(WEAK)), Some(second));
        refer_weakly(m, others[0], second);
        m.heap().write_weak(others[3], others[3].slot(WEAK), None, WeakKind::Reference);
        assert_eq!(others[3].slot(WEAK).read(), 0);
        for at in [1, 2, 4] {
            assert_eq!(m.heap().weak_target(others[at], others[at].slot(WEAK)), Some(first));
        }
        m.truncate_roots(0);
        m.epoch();
        m.epoch();
        assert!(m.heap().services.specials.is_empty());
    });
}

#[test]
fn plain_objects_have_no_records() {
    for_all_heaps(|m| {
        ring(m);
        m.truncate_roots(0);
        m.collect();
        assert!(m.heap().services.specials.is_empty());
    });
}

/// Its weak slot says 7 when it is empty, as a tagged word might.
static TAGGED: TypeDescriptor = TypeDescriptor::plain(c"Tagged", 24, &[0, 8]);

unsafe extern "C" fn clear_to_seven(holder: *mut std::ffi::c_void, slot: *mut std::ffi::c_void) {
    assert_eq!(holder as u64 + WEAK, slot as u64);
    // SAFETY: the slot that the runtime clears.
    unsafe { *slot.cast::<u64>() = 7 };
}

#[test]
fn slot_is_cleared_the_way_its_holders_type_says() {
    // SAFETY: the function stores a word to the slot.
    unsafe { type_of(&TAGGED).info().set_on_clear(clear_to_seven) };
    for_all_heaps(|m| {
        let (holder, _) = rooted(m, &TAGGED);
        let (target, top) = rooted(m, &NODE);
        refer_weakly(m, holder, target);
        m.truncate_roots(top);
        m.collect();
        assert_eq!(holder.slot(WEAK).read(), 7);
        assert_eq!(m.read_weak(holder.slot(WEAK)), None, "no address of the heap");
    });
}

/// The collection that the allocation of the weak reference runs must spare its target, which nothing else holds yet.
#[test]
fn collection_while_the_weak_reference_is_allocated() {
    for_all_heaps(|m| {
        let target = new(m, &NODE);
        target.slot(WEAK).store(41);
        // In zeal this runs an epoch first.
        let weak = m.new_weak(target).expect("memory");
        assert_eq!(m.read_weak(weak.slot(0)), Some(target));
        assert_eq!(target.slot(WEAK).read(), 41);
    });
}

/// Deferred plan, in slices: the program writes to a young object, of any size, before the increments of the flip have
/// come to it. It is mature then and has no count yet, as something dead would.
#[test]
fn target_that_was_written_to_before_it_was_counted_is_yielded() {
    for (descriptor, steps) in [&NODE, &LARGE].into_iter().flat_map(|it| (0..30).map(move |steps| (it, steps))) {
        let options = HeapOptions { slice_units: Some(1), ..HeapOptions::default() };
        let mut m = new_mutator(options).expect("address space");
        let (holder, _) = rooted(&mut m, &NODE);
        let (other, _) = rooted(&mut m, &NODE);
        m.collect();
        let (target, top) = rooted(&mut m, descriptor);
        // Only a field holds it at the flip.
        link(&mut m, holder, 0, target);
        refer_weakly(&mut m, holder, target);
        m.truncate_roots(top);
        m.flip();
        for _ in 0..steps {
            m.step(1);
        }
        link(&mut m, target, 0, other);
        let yielded = m.read_weak(holder.slot(WEAK));
        assert_eq!(yielded, Some(target), "after {steps} steps");
        m.push_root(yielded);
        link(&mut m, holder, 0, other);
        m.collect();
        m.verify().unwrap_or_else(|violation| panic!("after {steps} steps: {violation}"));
        assert_eq!((m.read_weak(holder.slot(WEAK)), m.statistics().live_objects), (Some(target), 3));
    }
}

/// A weak slot in an object of the program's own costs 96 bytes at most, with its holder's cell, and with the record of its target if
/// no other slot refers to that: so also where the table of numbers has four bytes for each word of both.
#[test]
fn weak_slots_of_many_small_objects_cost_what_is_promised() {
    static HOLDER: TypeDescriptor = TypeDescriptor::plain(c"Holder", 8, &[]);
    const MANY: u64 = 20_000;
    const CELL: u64 = 16;
    for plan in [Plan::Deferred, Plan::Prompt] {
        for distinct in [false, true] {
            let mut m = new_mutator(HeapOptions { plan, ..HeapOptions::default() }).expect("address space");
            let holder_type = type_registry::register(&HOLDER).expect("a sound descriptor");
            let mut pairs = vec![];
            for _ in 0..MANY {
                let [holder, target] = [(); 2].map(|()| {
                    let object = m.allocate(holder_type).expect("memory");
                    m.push_root(Some(object));
                    object
                });
                pairs.push((holder, target));
            }
            m.epoch();
            for (at, &(holder, _)) in pairs.iter().enumerate() {
                m.write_weak(holder, holder.slot(0), Some(pairs[if distinct { at } else { 0 }].1));
            }
            let (cells, tables) = (CELL, if distinct { CELL } else { CELL / 2 });
            let each = m.heap().services.specials.bytes().div_ceil(MANY) + cells + tables;
            assert!(each <= 96, "{plan:?}, distinct targets {distinct}: {each} bytes each");
            let read = pairs.iter().filter(|(holder, _)| m.read_weak(holder.slot(0)).is_some()).count();
            assert_eq!(read as u64, MANY);
            m.truncate_roots(0);
            m.collect();
            m.collect();
            m.verify().expect("sound");
            assert!(
                m.live_objects().is_empty()
                    && m.heap().services.specials.is_empty()
                    && m.heap().services.specials.slots() == 0
            );
        }
    }
}
