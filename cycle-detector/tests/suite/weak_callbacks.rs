//! Callbacks of weak references under both plans: when, how often, and that none brings garbage back.

use std::cell::RefCell;
use std::ffi::c_void;
use tally_collector::Mutator;
use tally_heap::plan::Plan;
use tally_heap::{HeapOptions, ObjectRef, TypeDescriptor, TypeId, type_registry};
use tally_kit::nodes::{in_finalizer, new_mutator, nothing_is_left};

static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 24, &[0, 8]);

thread_local! {
    /// Weak references that callbacks were called with.
    static CALLED: RefCell<Vec<u64>> = const { RefCell::new(vec![]) };
}

fn called() -> Vec<u64> {
    CALLED.take()
}

unsafe extern "C-unwind" fn note(weak: *mut c_void) {
    let called = in_finalizer(|m| {
        // SAFETY: [HEADER] the weak reference that the runtime calls back with.
        let weak = unsafe { ObjectRef::from_address(weak as u64) };
        assert_eq!(m.read_weak(weak.slot(0)), None, "it was cleared before");
        CALLED.with_borrow_mut(|called| called.push(weak.address()));
    });
    assert!(called.is_some());
}

/// Does what any program may.
unsafe extern "C-unwind" fn work(weak: *mut c_void) {
    // SAFETY: as the runtime's caller.
    unsafe { note(weak) };
    in_finalizer(|m| {
        for _ in 0..100 {
            node(m);
            m.poll();
        }
        m.collect();
    });
}

fn node_type() -> TypeId {
    type_registry::register(&NODE).expect("a sound descriptor")
}

fn node(m: &mut Mutator) -> ObjectRef {
    m.allocate(node_type()).expect("memory")
}

fn rooted(m: &mut Mutator) -> ObjectRef {
    let node = node(m);
    m.push_root(Some(node));
    node
}

fn link(m: &mut Mutator, from: ObjectRef, field: u64, to: ObjectRef) {
    m.write(from, from.slot(field), to.address());
}

fn for_all_heaps(situation: impl Fn(&mut Mutator)) {
    for plan in [Plan::Deferred, Plan::Prompt] {
        for (zeal, trials) in [(false, true), (true, true), (false, false)] {
            let options = HeapOptions { plan, zeal, trials, ..HeapOptions::default() };
            let mut m = new_mutator(options).expect("address space");
            called();
            situation(&mut m);
            m.verify().unwrap_or_else(|violation| panic!("{plan:?}, zeal {zeal}, trials {trials}: {violation}"));
            nothing_is_left(&mut m);
            called();
        }
    }
}

#[test]
fn called_once_after_the_target_has_gone() {
    for_all_heaps(|m| {
        for (old, callback) in
            [(false, note as tally_heap::services::builtin::Callback), (true, note), (false, work), (true, work)]
        {
            let top = m.root_count();
            let holder = rooted(m);
            let target_root = m.root_count();
            let target = rooted(m);
            let weak = m.new_weak_with(target, callback).expect("memory");
            link(m, holder, 0, weak);
            if old {
                m.epoch();
                m.epoch();
            }
            m.poll();
            assert_eq!(called(), []);
            m.truncate_roots(target_root);
            m.collect();
            assert_eq!(called(), [weak.address()], "old: {old}");
            m.collect();
            assert_eq!(called(), []);
            m.truncate_roots(top);
        }
    });
}

/// Scenario 83: no collector runs.
#[test]
fn prompt_plan_calls_at_the_next_safepoint() {
    let mut m = new_mutator(HeapOptions { plan: Plan::Prompt, ..HeapOptions::default() }).expect("address space");
    let holder = rooted(&mut m);
    let target = rooted(&mut m);
    let weak = m.new_weak_with(target, note).expect("memory");
    link(&mut m, holder, 0, weak);
    m.truncate_roots(1);
    m.poll();
    assert_eq!((m.read_weak(weak.slot(0)), called()), (None, vec![weak.address()]));
    assert_eq!((m.statistics().marks, m.statistics().trial_runs), (0, 0));
}

/// Scenario 86: the weak reference is part of the cycle that dies.
#[test]
fn not_called_when_the_weak_reference_is_in_the_same_garbage() {
    for_all_heaps(|m| {
        for old in [false, true] {
            let top = m.root_count();
            let (a, b) = (rooted(m), rooted(m));
            link(m, a, 0, b);
            link(m, b, 0, a);
            let weak = m.new_weak_with(b, note).expect("memory");
            link(m, a, 8, weak);
            if old {
                m.epoch();
                m.epoch();
            }
            m.truncate_roots(top);
            m.collect();
            assert_eq!(called(), [], "old: {old}");
        }
    });
}

/// Scenario 87: the weak reference is older than the garbage, and alive.
#[test]
fn old_weak_reference_to_young_garbage() {
    for_all_heaps(|m| {
        let holder = rooted(m);
        let anchor = rooted(m);
        let weak = m.new_weak_with(anchor, note).expect("memory");
        link(m, holder, 0, weak);
        m.epoch();
        m.epoch();
        let top = m.root_count();
        let (a, b) = (rooted(m), rooted(m));
        link(m, a, 0, b);
        link(m, b, 0, a);
        m.write_weak(weak, weak.slot(0), Some(a));
        m.truncate_roots(top);
        m.collect();
        assert_eq!(called(), [weak.address()]);
        assert_eq!(m.read_weak(weak.slot(0)), None);
    });
}

/// The weak reference dies between the death of its target and the call.
#[test]
fn weak_reference_that_dies_with_its_target() {
    for_all_heaps(|m| {
        let target = rooted(m);
        let weak = m.new_weak_with(target, note).expect("memory");
        // The target holds it.
        link(m, target, 0, weak);
        m.truncate_roots(0);
        m.collect();
        assert_eq!(called(), []);
    });
}

/// Young garbage is gone through in the order in which it got weak references: the one that came first is still known to be dead when its
/// target's turn comes.
#[test]
fn weak_reference_that_was_listed_before_its_target() {
    for_all_heaps(|m| {
        let first = rooted(m);
        let weak = m.new_weak_with(first, note).expect("memory");
        m.push_root(Some(weak));
        let second = rooted(m);
        m.write_weak(weak, weak.slot(0), Some(second));
        m.truncate_roots(0);
        m.collect();
        assert_eq!(called(), []);
    });
}

unsafe extern "C-unwind" fn fail(weak: *mut c_void) {
    // SAFETY: as the runtime's caller.
    unsafe { note(weak) };
    panic!("on purpose");
}

#[test]
fn callback_that_panics_is_reported_and_the_others_are_called() {
    for_all_heaps(|m| {
        let errors = std::rc::Rc::new(std::cell::Cell::new(0));
        let seen = errors.clone();
        m.on_finalizer_error(move |error| {
            assert!(error.message.contains("on purpose"));
            seen.set(seen.get() + 1);
        });
        let holder = rooted(m);
        let target = rooted(m);
        for (field, callback) in [(0, fail as tally_heap::services::builtin::Callback), (8, note)] {
            let weak = m.new_weak_with(target, callback).expect("memory");
            link(m, holder, field, weak);
        }
        m.truncate_roots(1);
        m.collect();
        assert_eq!((called().len(), errors.get()), (2, 1));
    });
}

thread_local! {
    /// Weak references whose callbacks wait for each other.
    static WAITING: RefCell<Vec<ObjectRef>> = const { RefCell::new(vec![]) };
}

/// Lets the others refer to something that is dead by the next safepoint.
unsafe extern "C-unwind" fn set_the_others(weak: *mut c_void) {
    CALLED.with_borrow_mut(|called| called.push(weak as u64));
    WAITING.with_borrow_mut(|waiting| waiting.retain(|other| other.address() != weak as u64));
    in_finalizer(|m| {
        for other in WAITING.with_borrow(Vec::clone) {
            let target = node(m);
            m.write_weak(other, other.slot(0), Some(target));
            m.poll();
            assert_eq!(m.read_weak(other.slot(0)), None, "that has died, too");
        }
    });
}

/// Prompt plan: two targets have died by then, and there is one callback to be called.
#[test]
fn weak_reference_that_is_set_again_before_its_callback_is_called_once() {
    for zeal in [false, true] {
        let mut m =
            new_mutator(HeapOptions { plan: Plan::Prompt, zeal, ..HeapOptions::default() }).expect("address space");
        let target = rooted(&mut m);
        let weaks: Vec<ObjectRef> = (0..3)
            .map(|_| {
                let weak = m.new_weak_with(target, set_the_others).expect("memory");
                m.push_root(Some(weak));
                weak
            })
            .collect();
        WAITING.set(weaks.clone());
        m.set_root(tally_heap::services::host_roots::RootIndex(0), None);
        m.poll();
        let mut seen = called();
        seen.sort_unstable();
        assert_eq!(seen, weaks.iter().map(|weak| weak.address()).collect::<Vec<_>>(), "zeal {zeal}");
        m.collect();
        assert_eq!(called(), [], "zeal {zeal}");
        m.verify().expect("a sound heap");
    }
}

thread_local! {
    static HERALD: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

/// Tells of each collection: its target is garbage at once, and so is the next one's.
unsafe extern "C-unwind" fn herald(_: *mut c_void) {
    HERALD.set(HERALD.get() + 1);
    assert!(HERALD.get() < 10_000, "no other callback has a turn");
    in_finalizer(|m| {
        let target = node(m);
        let weak = m.new_weak_with(target, herald).expect("memory");
        m.set_root(tally_heap::services::host_roots::RootIndex(0), Some(weak));
    });
}

/// What programs do to hear of collections; a safepoint comes to its end.
#[test]
fn a_callback_that_waits_for_the_next_garbage_holds_nobody_up() {
    for plan in [Plan::Deferred, Plan::Prompt] {
        for zeal in [false, true] {
            let mut m = new_mutator(HeapOptions { plan, zeal, ..HeapOptions::default() }).expect("address space");
            HERALD.set(0);
            m.push_root(None);
            let target = node(&mut m);
            let weak = m.new_weak_with(target, herald).expect("memory");
            m.set_root(tally_heap::services::host_roots::RootIndex(0), Some(weak));
            m.poll();
            m.epoch();
            m.epoch();
            let before = HERALD.get();
            assert!((1..1000).contains(&before), "{plan:?}, zeal {zeal}: {before} times");
            m.epoch();
            m.epoch();
            assert!(HERALD.get() > before, "{plan:?}, zeal {zeal}: it is called again");
            // A collection judges each new target itself, and gives up at last.
            let before = HERALD.get();
            m.collect();
            assert!(
                (1..1000).contains(&(HERALD.get() - before)),
                "{plan:?}, zeal {zeal}: {} times",
                HERALD.get() - before
            );
            m.verify().expect("a sound heap");
            m.truncate_roots(0);
            m.collect();
            m.collect();
            assert_eq!(m.live_objects(), []);
        }
    }
}

/// Each takes longer than a slice may: however fast the machine is, a safepoint calls no more than come between two looks at the
/// clock, and then the program goes on. `[BOUND]`
#[test]
fn callbacks_that_take_long_take_turns() {
    const MANY: usize = 200;
    const SLICE_NS: u64 = 100_000;
    /// `finalizer::turn` looks at the clock so often.
    const CALLS_PER_LOOK: usize = 16;
    unsafe extern "C-unwind" fn take_long(weak: *mut c_void) {
        let start = std::time::Instant::now();
        while start.elapsed().as_nanos() as u64 <= SLICE_NS {}
        // SAFETY: as the runtime's caller.
        unsafe { note(weak) };
    }
    for plan in [Plan::Deferred, Plan::Prompt] {
        let options =
            HeapOptions { plan, pause_goal_ns: Some(2 * SLICE_NS), slice_ns: SLICE_NS, ..HeapOptions::default() };
        let mut m = new_mutator(options).expect("address space");
        called();
        let target = node(&mut m);
        let top = m.push_root(Some(target));
        for _ in 0..MANY {
            let weak = m.new_weak_with(target, take_long).expect("memory");
            m.push_root(Some(weak));
        }
        m.epoch();
        m.set_root(top, None);
        let (mut all, mut most) = (0, 0);
        while all < MANY {
            match plan {
                Plan::Prompt => m.poll(),
                Plan::Trace if all == 0 => m.flip(),
                Plan::Trace => m.poll(),
                Plan::Deferred => {
                    if !m.step(1 << 20) {
                        m.flip();
                    }
                }
            }
            let now = called().len();
            (all, most) = (all + now, most.max(now));
        }
        assert!(most <= CALLS_PER_LOOK + 1, "{plan:?}: {most} at one safepoint");
        m.truncate_roots(0);
        m.collect();
        assert_eq!((m.live_objects(), all), (vec![], MANY), "{plan:?}");
    }
}
