//! Objects with many references among others with few or none: the deferred plan's loops take them one by one, and what these push
//! comes later.

use tally_collector::Mutator;
use tally_heap::{HeapOptions, ObjectRef, TypeDescriptor};
use tally_kit::nodes::{new_mutator, nothing_is_left, set, type_of};

/// Seven references and a number: its cell lies in two lines.
static ELEMENT: TypeDescriptor = TypeDescriptor::plain(c"Element", 64, &[0, 8, 16, 24, 32, 40, 48]);
/// Five.
static SESSION: TypeDescriptor = TypeDescriptor::plain(c"Session", 40, &[0, 8, 16, 24, 32]);
static PAIR: TypeDescriptor = TypeDescriptor::plain(c"Pair", 16, &[0, 8]);
static TEXT: TypeDescriptor = TypeDescriptor::plain(c"Text", 8, &[]).with_tail(0, 1, &[]);

const OBJECTS: usize = 400;

/// A generator that repeats.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

fn options() -> [HeapOptions; 4] {
    let repeats = HeapOptions { epoch_bytes: 32 << 10, slice_units: Some(40), ..HeapOptions::default() };
    [
        repeats.clone(),
        HeapOptions { eager_marks: true, ..repeats.clone() },
        HeapOptions { trials: false, ..repeats.clone() },
        HeapOptions { block_log_after: 3, slice_units: Some(5000), ..repeats },
    ]
}

fn new_object(m: &mut Mutator, dice: &mut Dice) -> ObjectRef {
    match dice.below(4) {
        0 => m.allocate(type_of(&PAIR)),
        1 => m.allocate(type_of(&SESSION)),
        2 => m.allocate_array(type_of(&TEXT), dice.below(50) as u64),
        _ => m.allocate(type_of(&ELEMENT)),
    }
    .expect("memory")
}

fn fields_of(object: ObjectRef) -> usize {
    match object.type_info().name.as_ref() {
        "Pair" => 2,
        "Session" => 5,
        "Element" => 7,
        _ => 0,
    }
}

/// Random graphs of them, rewritten while slices of a few units run: counts are right at each stop.
#[test]
#[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
fn counts_of_mixed_shapes_are_right_while_everything_is_rewritten() {
    for (seed, options) in options().into_iter().enumerate() {
        let mut m = new_mutator(options).expect("address space");
        let mut dice = Dice(seed as u64 + 1);
        let roots: Vec<_> = (0..OBJECTS)
            .map(|_| {
                let object = new_object(&mut m, &mut dice);
                m.push_root(Some(object))
            })
            .collect();
        for round in 0..30_000 {
            let object = m.root(roots[dice.below(OBJECTS)]).expect("a root");
            let target = m.root(roots[dice.below(OBJECTS)]);
            match (dice.below(3), fields_of(object)) {
                (0, _) | (_, 0) => {
                    let fresh = new_object(&mut m, &mut dice);
                    m.set_root(roots[dice.below(OBJECTS)], Some(fresh));
                }
                (_, fields) => set(&mut m, object, 8 * dice.below(fields) as u64, target.filter(|_| round % 5 != 0)),
            }
            m.poll();
            if round % 3000 == 0 {
                m.verify().unwrap_or_else(|violation| panic!("seed {seed}, round {round}: {violation}"));
            }
        }
        assert!(m.statistics().epochs > 20, "{:?}", m.statistics().epochs);
        m.verify().unwrap_or_else(|violation| panic!("seed {seed}: {violation}"));
        nothing_is_left(&mut m);
    }
}

/// A list of objects with many references dies by counting alone, and so does what hangs on it.
#[test]
#[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
fn a_list_of_wide_objects_dies_by_counting() {
    const LENGTH: u64 = 10_000;
    for slice_units in [Some(50), None] {
        let options = HeapOptions { slice_units, ..HeapOptions::default() };
        let mut m = new_mutator(options).expect("address space");
        let root = m.push_root(None);
        for _ in 0..LENGTH {
            let element = m.allocate(type_of(&ELEMENT)).expect("memory");
            let last = m.root(root);
            set(&mut m, element, 40, last);
            m.set_root(root, Some(element));
            let text = m.allocate_array(type_of(&TEXT), 9).expect("memory");
            let element = m.root(root).expect("just set");
            set(&mut m, element, 0, Some(text));
        }
        m.epoch();
        m.verify().expect("a sound heap");
        m.truncate_roots(0);
        m.epoch();
        m.epoch();
        let statistics = m.statistics();
        assert_eq!((statistics.freed_mature_objects, statistics.marks), (2 * LENGTH, 0));
        assert_eq!(m.live_objects(), []);
    }
}

/// A dead ring of them is let go of by a mark, with all that it holds alone; what lives on has lost its references.
#[test]
#[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
fn a_mark_frees_what_it_kept_in_steps() {
    const RING: u64 = 2_000;
    let options = HeapOptions { trials: false, slice_units: Some(30), ..HeapOptions::default() };
    let mut m = new_mutator(options).expect("address space");
    let survivor = m.allocate(type_of(&PAIR)).expect("memory");
    m.push_root(Some(survivor));
    let first = m.allocate(type_of(&ELEMENT)).expect("memory");
    let (first_root, last_root) = (m.push_root(Some(first)), m.push_root(Some(first)));
    for _ in 1..RING {
        let next = m.allocate(type_of(&ELEMENT)).expect("memory");
        let (last, survivor) = (m.root(last_root), m.root(tally_heap::services::host_roots::RootIndex(0)));
        set(&mut m, next, 8, last);
        set(&mut m, next, 48, survivor);
        m.set_root(last_root, Some(next));
    }
    let (first, last) = (m.root(first_root).expect("set"), m.root(last_root));
    set(&mut m, first, 8, last);
    m.epoch();
    m.truncate_roots(1);
    m.collect();
    let statistics = m.statistics();
    assert_eq!((statistics.freed_mature_objects, statistics.cyclic_garbage_objects), (RING, RING));
    m.verify().expect("a sound heap");
    assert_eq!(m.live_objects().len(), 1);
    nothing_is_left(&mut m);
}
