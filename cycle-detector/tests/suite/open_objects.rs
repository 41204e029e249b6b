//! Objects that are written to without a barrier while they are open, under all plans.

use tally_collector::Mutator;
use tally_heap::plan::Plan;
use tally_heap::services::host_roots::RootIndex;
use tally_heap::{HeapOptions, ObjectRef, TypeDescriptor};
use tally_kit::dice::Dice;
use tally_kit::nodes::{new_mutator, nothing_is_left, set, type_of};

static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 24, &[0, 8]);
static STACK: TypeDescriptor = TypeDescriptor::plain(c"Stack", 16, &[8]).with_tail(0, 8, &[0]);
/// Small, and large with several chunks.
const LENGTHS: [u64; 2] = [20, 9000];

fn for_all_heaps(situation: impl Fn(&mut Mutator, u64)) {
    for plan in [Plan::Deferred, Plan::Prompt, Plan::Trace] {
        for (zeal, goal) in [(false, None), (false, Some(1_000_000)), (true, None)] {
            for length in LENGTHS.into_iter().filter(|&length| length < 100 || !zeal) {
                let slice_units = goal.map(|_| 50);
                let options = HeapOptions { plan, zeal, pause_goal_ns: goal, slice_units, ..HeapOptions::default() };
                let mut m = new_mutator(options).expect("address space");
                situation(&mut m, length);
                if goal.is_none() {
                    // No epoch is on its way.
                    m.verify().unwrap_or_else(|violation| panic!("{plan:?}, zeal {zeal}, {length}: {violation}"));
                }
                nothing_is_left(&mut m);
            }
        }
    }
}

fn stack(m: &mut Mutator, length: u64) -> ObjectRef {
    let stack = m.allocate_array(type_of(&STACK), length).expect("memory");
    m.push_root(Some(stack));
    stack
}

fn push(m: &mut Mutator, stack: ObjectRef, at: u64) -> ObjectRef {
    let node = m.allocate(type_of(&NODE)).expect("memory");
    node.slot(16).store(at);
    m.heap().write_open(stack, stack.slot(16 + at * 8), node.address());
    node
}

fn at(stack: ObjectRef, at: u64) -> Option<ObjectRef> {
    // SAFETY: [HEADER] a field of a live object.
    unsafe { ObjectRef::of_word(stack.slot(16 + at * 8).read()) }
}

/// Young and mature when it is opened, and with no root but the stack for what is pushed.
#[test]
fn what_is_pushed_lives_until_it_is_overwritten() {
    for_all_heaps(|m, length| {
        for mature in [false, true] {
            let top = m.root_count();
            let stack = stack(m, length);
            if mature {
                m.collect();
            }
            m.heap().open_object(stack);
            for round in 0..4 {
                for place in 0..length {
                    push(m, stack, place);
                    if place % (length / 5) == round {
                        m.poll();
                    }
                }
                m.epoch();
                assert!((0..length).all(|place| at(stack, place).is_some_and(|node| node.slot(16).read() == place)));
            }
            // Half of it is popped.
            for place in 0..length / 2 {
                m.heap().write_open(stack, stack.slot(16 + place * 8), 0);
            }
            m.collect();
            assert_eq!(m.live_objects().len() as u64, 1 + length - length / 2);
            assert!(m.heap().close_object(stack) && !m.heap().close_object(stack));
            m.collect();
            assert_eq!(m.live_objects().len() as u64, 1 + length - length / 2);
            m.truncate_roots(top);
            m.collect();
            assert_eq!(m.live_objects(), []);
        }
    });
}

/// A closed one is written to by the barrier, in the epoch in which it was open, too; and dies in a cycle.
#[test]
fn closed_object_is_one_like_others() {
    for_all_heaps(|m, length| {
        let stack = stack(m, length);
        m.heap().open_object(stack);
        m.epoch();
        push(m, stack, 0);
        m.heap().close_object(stack);
        let node = at(stack, 0).expect("it was pushed");
        set(m, node, 0, Some(stack));
        set(m, stack, 16 + 8, Some(node));
        m.epoch();
        set(m, stack, 16, None);
        m.epoch();
        assert_eq!(at(stack, 1), Some(node));
        m.truncate_roots(0);
        m.collect();
        assert_eq!(m.live_objects(), []);
    });
}

/// Nothing but its being open holds it; a ring through it is no garbage until it is closed.
#[test]
fn open_object_is_held() {
    for_all_heaps(|m, length| {
        let stack = stack(m, length);
        m.heap().open_object(stack);
        m.heap().open_object(stack);
        let node = push(m, stack, 0);
        set(m, node, 0, Some(stack));
        m.truncate_roots(0);
        for _ in 0..2 {
            m.collect();
            assert_eq!(m.live_objects().len(), 2);
            assert!(m.heap().close_object(stack));
        }
        m.collect();
        assert_eq!(m.live_objects(), []);
    });
}

/// Moved by a plain store from the open object into one that an epoch has come to already, at each moment of an epoch in slices; opened
/// before it, and while it runs.
#[test]
fn what_leaves_an_open_object_between_two_slices_survives() {
    for plan in [Plan::Deferred, Plan::Prompt, Plan::Trace] {
        for (length, steps) in LENGTHS.into_iter().flat_map(|length| (0..60).map(move |steps| (length, steps))) {
            for opens_late in [false, true] {
                let options =
                    HeapOptions { plan, pause_goal_ns: Some(1), slice_units: Some(20), ..HeapOptions::default() };
                let mut m = new_mutator(options).expect("address space");
                let stack = stack(&mut m, length);
                let keeper = m.allocate(type_of(&NODE)).expect("memory");
                m.push_root(Some(keeper));
                let node = m.allocate(type_of(&NODE)).expect("memory");
                set(&mut m, stack, 16 + (length - 1) * 8, Some(node));
                m.collect();
                if !opens_late {
                    m.heap().open_object(stack);
                }
                m.flip();
                (0..steps).for_each(|_| _ = m.step(20));
                if opens_late {
                    m.heap().open_object(stack);
                }
                set(&mut m, keeper, 0, Some(node));
                write(&mut m, stack, true, length - 1, None);
                while m.step(1000) {}
                assert!(m.live_objects().contains(&node), "{plan:?}, {length}, {steps} steps, late: {opens_late}");
                m.heap().close_object(stack);
                m.truncate_roots(0);
                nothing_is_left(&mut m);
            }
        }
    }
}

/// Against a plain list: pushes, pops, moves between the stack and objects, rings, opening and closing, with parts of epochs between.
#[test]
fn random_pushes_and_pops() {
    for_all_heaps(|m, length| {
        for seed in 0..6 {
            let mut random = Dice::new(seed);
            let top = m.root_count();
            let stack = stack(m, length);
            let kept = m.root_count();
            m.push_root(None);
            let (mut model, mut is_open) = (Vec::new(), false);
            for step in 0..400_u64 {
                match random.below(12) {
                    0 if is_open => {
                        m.heap().close_object(stack);
                        is_open = false;
                    }
                    0 | 1 if !is_open => {
                        m.heap().open_object(stack);
                        is_open = true;
                    }
                    2..=6 if (model.len() as u64) < length => {
                        let place = model.len() as u64;
                        let node = m.allocate(type_of(&NODE)).expect("memory");
                        node.slot(16).store(step);
                        set(
                            m,
                            node,
                            0,
                            if random.below(2) == 0 { Some(node) } else { at(stack, place.saturating_sub(1)) },
                        );
                        write(m, stack, is_open, place, Some(node));
                        model.push(step);
                    }
                    7 | 8 if !model.is_empty() => {
                        let place = model.len() as u64 - 1;
                        let node = at(stack, place).expect("it was pushed");
                        assert_eq!(node.slot(16).read(), model.pop().expect("as many"));
                        m.set_root(RootIndex(kept), Some(node));
                        write(m, stack, is_open, place, None);
                    }
                    9 => m.epoch(),
                    10 if random.below(8) == 0 => _ = m.collect(),
                    _ => m.poll(),
                }
            }
            for (place, &number) in model.iter().enumerate() {
                assert_eq!(at(stack, place as u64).expect("it was pushed").slot(16).read(), number, "seed {seed}");
            }
            if is_open {
                m.heap().close_object(stack);
            }
            m.truncate_roots(top);
            m.collect();
            assert_eq!(m.live_objects(), [], "seed {seed}");
        }
    });
}

fn write(m: &mut Mutator, stack: ObjectRef, is_open: bool, place: u64, node: Option<ObjectRef>) {
    match is_open {
        true => m.heap().write_open(stack, stack.slot(16 + place * 8), node.map_or(0, ObjectRef::address)),
        false => set(m, stack, 16 + place * 8, node),
    }
}

/// What it refers to would be alive without its key.
#[test]
fn ephemeron_cannot_be_open() {
    for_all_heaps(|m, _| {
        let key = m.allocate(type_of(&NODE)).expect("memory");
        m.push_root(Some(key));
        let ephemeron = m.new_ephemeron(key, None).expect("memory");
        assert!(m.heap().open_refuses(ephemeron).is_some() && m.heap().open_refuses(key).is_none());
    });
}
