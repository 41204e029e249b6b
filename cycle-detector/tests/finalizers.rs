//! Finalizers under both plans: found dead by counting, in rings, young, by the mark; their orders, and whatever they do.

use cycle_detector::Mutator;
use rc_runtime::descriptor::{FinalizeOrder, TypeDescriptor};
use rc_runtime::plan::Plan;
use rc_runtime::{HeapOptions, ObjectRef, TypeId, type_registry};
use std::cell::{Cell, RefCell};
use std::ffi::c_void;

const PLANS: [Plan; 2] = [Plan::Deferred, Plan::Prompt];

/// What the finalizer does besides noting the object's number.
type Action = fn(&mut Mutator, ObjectRef);

thread_local! {
    static SEEN: RefCell<Vec<u64>> = const { RefCell::new(vec![]) };
    static ACTION: Cell<Option<Action>> = const { Cell::new(None) };
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

unsafe extern "C-unwind" fn close(object: *mut c_void) {
    // SAFETY: the heap calls with an object of the type.
    let object = unsafe { ObjectRef::from_address(object as u64) };
    SEEN.with_borrow_mut(|seen| seen.push(object.slot(16).read()));
    if let Some(action) = ACTION.get() {
        Mutator::in_finalizer(|m| action(m, object)).expect("inside a finalizer");
    }
}

/// Two references and a number that says who it is.
static FILE: TypeDescriptor = TypeDescriptor::plain(c"File", 24, &[0, 8]).finalized(close);
static REVERSE: TypeDescriptor =
    TypeDescriptor::plain(c"Reverse", 24, &[0, 8]).finalized(close).finalized_in(FinalizeOrder::Reverse);
static OWNER: TypeDescriptor =
    TypeDescriptor::plain(c"Owner", 24, &[0, 8]).finalized(close).finalized_in(FinalizeOrder::OwnerFirst);
static ON_REQUEST: TypeDescriptor =
    TypeDescriptor::plain(c"OnRequest", 24, &[0, 8]).finalized(close).finalized_on_request();
static LARGE: TypeDescriptor = TypeDescriptor::plain(c"Large", 24, &[0, 8]).with_tail(16, 8, &[0]).finalized(close);
static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 24, &[0, 8]);

fn type_of(descriptor: &'static TypeDescriptor) -> TypeId {
    type_registry::register(descriptor).expect("a sound descriptor")
}

fn mutator_with(options: HeapOptions, action: Option<Action>) -> Mutator {
    ACTION.set(action);
    SEEN.take();
    DEPTH.set(0);
    Mutator::new(options).expect("address space")
}

fn mutator(plan: Plan, action: Option<Action>) -> Mutator {
    mutator_with(HeapOptions { plan, ..HeapOptions::default() }, action)
}

/// A new object, rooted.
fn new(m: &mut Mutator, descriptor: &'static TypeDescriptor, number: u64) -> ObjectRef {
    let object = m.allocate(type_of(descriptor)).expect("room");
    object.slot(16).store(number);
    m.push_root(Some(object));
    object
}

fn set(m: &mut Mutator, object: ObjectRef, offset: u64, target: Option<ObjectRef>) {
    m.write(object, object.slot(offset), target.map_or(0, ObjectRef::address));
}

/// Rooted, with the numbers from `first` on.
fn ring(m: &mut Mutator, descriptor: &'static TypeDescriptor, first: u64, length: u64) -> Vec<ObjectRef> {
    let objects: Vec<ObjectRef> = (first..first + length).map(|number| new(m, descriptor, number)).collect();
    for (place, &object) in objects.iter().enumerate() {
        set(m, object, 0, Some(objects[(place + 1) % objects.len()]));
    }
    objects
}

fn live(m: &mut Mutator) -> u64 {
    m.verify().expect("sound");
    m.statistics().live_objects
}

fn seen() -> Vec<u64> {
    SEEN.take()
}

fn seen_sorted() -> Vec<u64> {
    let mut seen = seen();
    seen.sort_unstable();
    seen
}

/// Where objects are found dead.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Age {
    Young,
    Mature,
    /// Trials are off: the mark finds them.
    Marked,
}

const AGES: [Age; 3] = [Age::Young, Age::Mature, Age::Marked];

fn each(test: impl Fn(&mut Mutator, Age), action: Option<Action>) {
    for plan in PLANS {
        for age in AGES {
            for slice_units in [None, Some(3)] {
                let options = HeapOptions { plan, trials: age != Age::Marked, slice_units, ..HeapOptions::default() };
                let mut m = mutator_with(options, action);
                test(&mut m, age);
                m.verify().unwrap_or_else(|violation| panic!("{plan:?}, {age:?}: {violation}"));
            }
        }
    }
}

/// Objects become as old as they shall be, and are let go of.
fn drop_all(m: &mut Mutator, age: Age) {
    if age != Age::Young {
        m.epoch();
    }
    m.truncate_roots(0);
}

/// scenario 53: each of a ring, once.
#[test]
fn finalizers_of_a_dead_ring_run_once() {
    each(
        |m, age| {
            ring(m, &FILE, 0, 5);
            drop_all(m, age);
            m.collect();
            assert_eq!((seen_sorted(), live(m)), (vec![0, 1, 2, 3, 4], 0), "{age:?}");
            m.collect();
            assert_eq!(seen(), []);
        },
        None,
    );
}

/// scenario 54: under the deferred plan at the epoch's end, under the prompt plan at the next safepoint.
#[test]
fn finalizer_of_what_no_ring_holds_runs_at_the_next_epoch() {
    each(
        |m, age| {
            let (first, last) = (new(m, &FILE, 1), new(m, &FILE, 2));
            set(m, first, 0, Some(last));
            drop_all(m, age);
            m.epoch();
            if age == Age::Young || m.heap().plan == Plan::Prompt {
                assert_eq!(seen_sorted(), [1, 2], "{age:?}");
            } else {
                m.epoch();
                m.epoch();
                assert_eq!(seen()[0], 1, "the owner dies first");
            }
            m.collect();
            assert_eq!(live(m), 0);
        },
        None,
    );
}

/// scenario 55, scenario 72: the finalizer goes round its ring, and finds it whole.
#[test]
fn all_finalizers_of_a_ring_run_before_any_member_is_freed() {
    each(
        |m, age| {
            ring(m, &FILE, 0, 4);
            drop_all(m, age);
            m.collect();
            assert_eq!((seen_sorted(), live(m)), (vec![0, 1, 2, 3], 0));
        },
        Some(|m, object| {
            let mut at = object;
            for step in 1..=4 {
                // SAFETY: a member of the same ring, which is all there.
                at = unsafe { ObjectRef::from_address(at.slot(0).read()) };
                assert_eq!(at.slot(16).read(), (object.slot(16).read() + step) % 4);
                assert!(m.count_of(at) > 0);
            }
            assert_eq!(at, object);
        }),
    );
}

/// scenario 56, scenario 57: stored, it is whole.
#[test]
fn what_a_finalizer_stores_lives_on_with_all_it_reaches_and_is_not_finalized_again() {
    each(
        |m, age| {
            let members = ring(m, &FILE, 0, 3);
            let held = new(m, &NODE, 10);
            set(m, members[1], 8, Some(held));
            drop_all(m, age);
            m.collect();
            assert_eq!(seen_sorted(), [0, 1, 2], "{age:?}");
            assert_eq!(live(m), 4);
            let [member] = [m.root(rc_runtime::host_roots::RootIndex(0)).expect("stored")];
            assert_eq!(member.slot(16).read(), 1);
            // SAFETY: a field of a live object.
            assert_eq!(unsafe { ObjectRef::from_address(member.slot(8).read()) }.slot(16).read(), 10);
            m.truncate_roots(0);
            m.collect();
            assert_eq!((seen(), live(m)), (vec![], 0));
        },
        Some(|m, object| {
            if object.slot(16).read() == 1 {
                m.push_root(Some(object));
            }
        }),
    );
}

/// scenario 58, scenario 59, scenario 60: each finalizer takes its ring apart, by the very field that led to it.
#[test]
fn finalizers_that_take_their_ring_apart_find_it_whole_or_in_pieces() {
    each(
        |m, age| {
            ring(m, &FILE, 0, 6);
            drop_all(m, age);
            m.collect();
            assert_eq!((seen_sorted(), live(m)), (vec![0, 1, 2, 3, 4, 5], 0), "{age:?}");
        },
        Some(|m, object| {
            let next = object.slot(0).read();
            set(m, object, 0, None);
            if next != 0 {
                // SAFETY: the object held it a moment ago, and no safepoint has begun since.
                let next = unsafe { ObjectRef::from_address(next) };
                set(m, next, 0, None);
            }
        }),
    );
}

/// scenario 61: a chain that never ends does not hold anybody up.
#[test]
fn a_finalizer_that_allocates_another_of_its_type_ends() {
    each(
        |m, age| {
            ring(m, &FILE, 0, 2);
            drop_all(m, age);
            for _ in 0..5 {
                m.collect();
                assert!(live(m) < 40, "{}", m.statistics().live_objects);
            }
            assert!((5..200).contains(&seen().len()));
            ACTION.set(None);
            m.collect();
            m.collect();
            assert_eq!(live(m), 0);
        },
        Some(|m, object| {
            let base = m.root_count();
            let made = new(m, &FILE, object.slot(16).read() + 1);
            set(m, made, 0, Some(made));
            m.truncate_roots(base);
        }),
    );
}

/// scenario 62: by the next collection.
#[test]
fn a_ring_that_a_finalizer_makes_is_collected_later() {
    each(
        |m, age| {
            ring(m, &FILE, 0, 3);
            drop_all(m, age);
            m.collect();
            m.collect();
            assert_eq!((seen_sorted(), live(m)), (vec![0, 1, 2], 0));
        },
        Some(|m, _| {
            let base = m.root_count();
            ring(m, &NODE, 100, 3);
            m.truncate_roots(base);
        }),
    );
}

/// scenario 63: until the finalizer has returned.
#[test]
fn a_collection_asked_for_in_a_finalizer_is_put_off() {
    each(
        |m, age| {
            ring(m, &FILE, 0, 3);
            drop_all(m, age);
            m.epoch();
            m.epoch();
            m.epoch();
            m.collect();
            assert_eq!((seen_sorted(), live(m)), (vec![0, 1, 2], 0));
        },
        Some(|m, _| {
            DEPTH.set(DEPTH.get() + 1);
            assert_eq!(DEPTH.get(), 1, "finalizers of a ring do not nest");
            assert_eq!(m.collect(), 0);
            DEPTH.set(DEPTH.get() - 1);
        }),
    );
}

/// scenario 64, scenario 65: and the next collection works.
#[test]
fn a_finalizer_that_panics_is_told_and_the_rest_goes_on() {
    each(
        |m, age| {
            let told: std::rc::Rc<RefCell<Vec<String>>> = Default::default();
            let listener = told.clone();
            m.on_finalizer_error(move |error| {
                listener.borrow_mut().push(format!("{} {}", error.object.slot(16).read(), error.message));
            });
            for _ in 0..3 {
                ring(m, &FILE, 0, 4);
                drop_all(m, age);
                m.collect();
                assert_eq!((seen_sorted(), live(m)), (vec![0, 1, 2, 3], 0));
                let mut told = told.take();
                told.sort();
                assert_eq!(told, ["1 panicked: 1 is odd", "3 panicked: 3 is odd"]);
            }
        },
        Some(|_, object| {
            let number = object.slot(16).read();
            assert!(number.is_multiple_of(2), "{number} is odd");
        }),
    );
}

/// scenario 67: wherever they are found dead.
#[test]
fn finalizers_run_in_reverse_order_of_registration_where_the_type_says_so() {
    each(
        |m, age| {
            ring(m, &REVERSE, 0, 20);
            drop_all(m, age);
            m.collect();
            assert_eq!((seen(), live(m)), ((0..20).rev().collect(), 0), "{age:?}");
        },
        None,
    );
}

/// scenario 67: of objects that die one by one: under the deferred plan an epoch's dead are one set.
#[test]
fn what_one_epoch_finds_dead_is_finalized_in_reverse_order_whatever_found_it() {
    let mut m = mutator(Plan::Deferred, None);
    for number in 0..10 {
        let object = new(&mut m, &REVERSE, number);
        if number % 2 == 0 {
            set(&mut m, object, 0, Some(object));
        }
    }
    m.epoch();
    m.truncate_roots(0);
    new(&mut m, &REVERSE, 10);
    m.truncate_roots(0);
    m.epoch();
    m.epoch();
    assert_eq!(seen(), [10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
    m.collect();
    assert_eq!(live(&mut m), 0);
}

/// scenario 68: once for each time that it is found dead.
#[test]
fn an_object_that_registers_itself_anew_is_finalized_once_in_each_collection() {
    each(
        |m, age| {
            ring(m, &FILE, 7, 1);
            drop_all(m, age);
            for _ in 0..5 {
                m.collect();
                assert_eq!(seen(), [7], "{age:?}");
            }
            ACTION.set(None);
            m.collect();
            assert_eq!((seen(), live(m)), (vec![7], 0));
        },
        Some(|m, object| {
            assert!(m.register_finalizer(object));
        }),
    );
}

/// scenario 69: the finalizer that runs first takes the others' away.
#[test]
fn a_finalizer_that_is_forgotten_between_being_found_dead_and_its_call_does_not_run() {
    each(
        |m, age| {
            ring(m, &FILE, 0, 5);
            drop_all(m, age);
            m.collect();
            assert_eq!((seen().len(), live(m)), (1, 0), "{age:?}");
        },
        Some(|m, object| {
            let mut at = object;
            for _ in 0..5 {
                // SAFETY: a member of the ring.
                at = unsafe { ObjectRef::from_address(at.slot(0).read()) };
                m.forget_finalizer(at);
            }
        }),
    );
}

#[test]
fn of_a_type_on_request_only_registered_objects_are_finalized() {
    each(
        |m, age| {
            let members = ring(m, &ON_REQUEST, 0, 6);
            for place in [1, 2, 3] {
                assert!(m.register_finalizer(members[place]));
                m.forget_finalizer(members[place]);
            }
            for place in [2, 3] {
                assert!(m.register_finalizer(members[place]));
                assert!(m.register_finalizer(members[place]));
            }
            let node = new(m, &NODE, 0);
            assert!(!m.register_finalizer(node));
            drop_all(m, age);
            m.collect();
            assert_eq!((seen_sorted(), live(m)), (vec![2, 3], 0), "{age:?}");
        },
        None,
    );
}

/// scenario 81: a chain, with what has no finalizer in between.
#[test]
fn owners_are_finalized_before_what_they_own_where_the_type_says_so() {
    each(
        |m, age| {
            let objects: Vec<ObjectRef> = (0..12).map(|number| new(m, &OWNER, number)).collect();
            for (place, pair) in objects.windows(2).enumerate() {
                let between = new(m, &NODE, 100 + place as u64);
                let direct = place % 2 == 0;
                set(m, pair[0], 0, Some(if direct { pair[1] } else { between }));
                set(m, between, 0, Some(pair[1]).filter(|_| !direct));
            }
            drop_all(m, age);
            m.collect();
            assert_eq!((seen(), live(m)), ((0..12).collect(), 0), "{age:?}");
        },
        None,
    );
}

/// scenario 75: nothing is uncollectable.
#[test]
fn rings_of_owners_are_finalized_in_any_order() {
    each(
        |m, age| {
            let members = ring(m, &OWNER, 0, 4);
            let hung_on = new(m, &OWNER, 10);
            set(m, members[2], 8, Some(hung_on));
            let owner = new(m, &OWNER, 20);
            set(m, owner, 8, Some(members[0]));
            drop_all(m, age);
            m.collect();
            let order = seen();
            assert_eq!((order.len(), order[0], live(m)), (6, 20, 0), "{age:?}: {order:?}");
        },
        None,
    );
}

#[test]
fn large_objects_are_finalized_too() {
    each(
        |m, age| {
            for _ in 0..3 {
                let object = m.allocate_array(type_of(&LARGE), 10_000).expect("room");
                m.push_root(Some(object));
                set(m, object, 0, Some(object));
                let file = new(m, &FILE, 1);
                set(m, object, 8, Some(file));
                set(m, file, 0, Some(object));
            }
            drop_all(m, age);
            m.collect();
            assert_eq!((seen_sorted(), live(m)), (vec![1, 1, 1, 10_000, 10_000, 10_000], 0), "{age:?}");
        },
        None,
    );
}

/// Of many young dead objects each is seen once, in whatever slices, while the program goes on.
#[test]
fn thousands_of_young_dead_objects_are_finalized_while_the_program_runs() {
    for plan in PLANS {
        for slice_units in [None, Some(50), Some(5000)] {
            let options = HeapOptions { plan, slice_units, epoch_bytes: 64 << 10, ..HeapOptions::default() };
            let mut m = mutator_with(
                options,
                Some(|m, object| {
                    let base = m.root_count();
                    let node = new(m, &NODE, 0);
                    set(m, object, 8, Some(node));
                    m.truncate_roots(base);
                }),
            );
            for number in 0..20_000 {
                let object = new(&mut m, &FILE, number);
                if number % 2 == 0 {
                    set(&mut m, object, 0, Some(object));
                }
                if number % 64 != 0 {
                    m.truncate_roots(m.root_count() - 1);
                }
                m.poll();
            }
            m.verify().expect("sound");
            m.truncate_roots(0);
            m.collect();
            assert_eq!((seen_sorted(), live(&mut m)), ((0..20_000).collect(), 0), "{plan:?}, {slice_units:?}");
        }
    }
}

/// At the heap limit it is finalizers that make room.
#[test]
fn garbage_that_waits_for_finalizers_is_room_at_the_limit() {
    for plan in PLANS {
        let options = HeapOptions { plan, heap_limit: Some(512 << 10), ..HeapOptions::default() };
        let mut m = mutator_with(options, None);
        for number in 0..50_000 {
            let object = new(&mut m, &FILE, number);
            set(&mut m, object, 0, Some(object));
            m.truncate_roots(0);
        }
        m.collect();
        assert_eq!((seen().len(), live(&mut m)), (50_000, 0), "{plan:?}");
    }
}

#[test]
fn in_zeal_finalizers_run_and_nothing_dead_is_touched() {
    for plan in PLANS {
        let mut m = mutator_with(
            HeapOptions { plan, zeal: true, ..HeapOptions::default() },
            Some(|m, object| {
                let base = m.root_count();
                let node = new(m, &NODE, 5);
                set(m, object, 8, Some(node));
                if object.slot(16).read() == 3 {
                    m.push_root(Some(object));
                } else {
                    m.truncate_roots(base);
                }
            }),
        );
        ring(&mut m, &FILE, 0, 5);
        m.truncate_roots(0);
        for _ in 0..40 {
            new(&mut m, &NODE, 0);
            m.truncate_roots(m.root_count() - 1);
        }
        m.collect();
        assert_eq!(seen_sorted(), [0, 1, 2, 3, 4], "{plan:?}");
        ACTION.set(None);
        m.truncate_roots(0);
        m.collect();
        assert_eq!(live(&mut m), 0, "{plan:?}");
    }
}

/// scenario 78: those that are left, and those made meanwhile.
#[test]
fn at_the_end_finalizers_run_of_what_is_reachable_and_of_what_they_make() {
    for plan in PLANS {
        let mut m = mutator(
            plan,
            Some(|m, object| {
                let number = object.slot(16).read();
                if number < 5 {
                    // Resurrected, and with something new: neither loops.
                    m.push_root(Some(object));
                    new(m, &REVERSE, number + 100);
                }
            }),
        );
        for number in 0..5 {
            let object = new(&mut m, &REVERSE, number);
            set(&mut m, object, 0, Some(object));
        }
        m.epoch();
        ring(&mut m, &REVERSE, 5, 2);
        m.finalize_all();
        let order = seen();
        assert_eq!(order[..7], [6, 5, 4, 3, 2, 1, 0], "{plan:?}");
        assert_eq!(order[7..], [100, 101, 102, 103, 104], "{plan:?}: those of 4 were made first");
        m.finalize_all();
        assert_eq!(seen(), []);
        m.truncate_roots(0);
        m.collect();
        assert_eq!((seen(), live(&mut m)), (vec![], 0));
    }
}

/// scenario 78: and nobody waits for ever.
#[test]
fn at_the_end_a_chain_of_finalizers_that_make_others_is_cut_off() {
    for plan in PLANS {
        let mut m = mutator(
            plan,
            Some(|m, _| {
                new(m, &FILE, 1);
            }),
        );
        new(&mut m, &FILE, 0);
        m.finalize_all();
        assert_eq!(seen().len(), 10, "{plan:?}");
    }
}

/// scenario 79: each is told, all run.
#[test]
fn at_the_end_an_error_stops_nobody() {
    for plan in PLANS {
        let mut m = mutator(plan, Some(|_, _| panic!("no")));
        m.on_finalizer_error(|_| ());
        ring(&mut m, &FILE, 0, 3);
        m.truncate_roots(1);
        new(&mut m, &FILE, 3);
        m.finalize_all();
        assert_eq!(seen_sorted(), [0, 1, 2, 3], "{plan:?}");
    }
}

/// scenario 81: of what is reachable.
#[test]
fn at_the_end_owners_come_before_what_they_own() {
    for plan in PLANS {
        let mut m = mutator(plan, None);
        let objects: Vec<ObjectRef> = (0..30).map(|number| new(&mut m, &OWNER, number)).collect();
        // A heap: 0 owns 1 and 2, 1 owns 3 and 4 …
        for (place, &object) in objects.iter().enumerate() {
            let child = |number: usize| objects.get(number).copied();
            set(&mut m, object, 0, child(2 * place + 1));
            set(&mut m, object, 8, child(2 * place + 2));
        }
        m.finalize_all();
        let order = seen();
        assert_eq!(order.len(), 30);
        let place_of = |number: u64| order.iter().position(|&one| one == number).expect("finalized");
        for number in 1..30 {
            assert!(place_of((number - 1) / 2) < place_of(number), "{plan:?}: {order:?}");
        }
    }
}

/// scenario 71: the class of an object, an object with a finalizer as well, is whole while its instances are finalized.
#[test]
fn what_an_object_refers_to_as_its_class_is_there_while_it_is_finalized() {
    each(
        |m, age| {
            let class = new(m, &FILE, 1000);
            let instances = ring(m, &FILE, 0, 5);
            for &instance in &instances {
                set(m, instance, 8, Some(class));
            }
            set(m, class, 0, Some(instances[0]));
            set(m, class, 8, Some(class));
            drop_all(m, age);
            m.collect();
            assert_eq!((seen_sorted(), live(m)), (vec![0, 1, 2, 3, 4, 1000], 0), "{age:?}");
        },
        Some(|m, object| {
            // SAFETY: a field of an object that is being finalized.
            let class = unsafe { ObjectRef::from_address(object.slot(8).read()) };
            assert!(class.slot(16).read() == 1000 && m.count_of(class) > 0);
        }),
    );
}

/// scenario 74: an address that a finalizer hides where no root is leads to a dead object; zeal knows that.
#[test]
fn an_address_that_a_finalizer_hides_leads_to_what_zeal_knows_is_dead() {
    thread_local! {
        static HIDDEN: Cell<u64> = const { Cell::new(0) };
    }
    for plan in PLANS {
        let mut m = mutator_with(
            HeapOptions { plan, zeal: true, ..HeapOptions::default() },
            Some(|_, object| HIDDEN.set(object.address())),
        );
        let object = new(&mut m, &FILE, 1);
        let address = object.address();
        assert_eq!(m.heap().zeal.as_ref().expect("zeal").live_object(address), Some(object));
        m.truncate_roots(0);
        m.collect();
        assert_eq!(HIDDEN.get(), address, "{plan:?}");
        assert_eq!(m.heap().zeal.as_ref().expect("zeal").live_object(address), None, "{plan:?}");
    }
}

/// scenario 76: roots come and go in finalizers, and never under the collector's eyes.
#[test]
fn finalizers_change_the_table_of_roots() {
    each(
        |m, age| {
            for round in 0..20 {
                ring(m, &FILE, round * 10, 4);
                for number in 0..100 {
                    new(m, &NODE, number);
                }
                drop_all(m, age);
                new(m, &NODE, 500);
                m.collect();
            }
            m.truncate_roots(0);
            m.collect();
            assert_eq!((seen().len(), live(m)), (80, 0), "{age:?}");
        },
        Some(|m, _| {
            let nodes = m.root_count();
            for number in 0..64 {
                new(m, &NODE, 600 + number);
            }
            m.truncate_roots(nodes / 2);
        }),
    );
}

/// scenario 82: the first time that it is found dead a finalizer says no, and asks to be called again; the second time it does not.
#[test]
fn a_finalizer_that_vetoes_the_first_death_lets_the_second_happen() {
    each(
        |m, age| {
            ring(m, &FILE, 1, 1);
            drop_all(m, age);
            m.collect();
            assert_eq!((seen(), live(m)), (vec![1], 1), "{age:?}");
            m.truncate_roots(0);
            m.collect();
            assert_eq!((seen(), live(m)), (vec![2], 0), "{age:?}");
        },
        Some(|m, object| {
            let time = object.slot(16).read();
            object.slot(16).store(time + 1);
            if time == 1 {
                m.push_root(Some(object));
                assert!(m.register_finalizer(object));
            }
        }),
    );
}
