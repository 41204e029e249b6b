//! A walk over the mature objects in steps: none is left out or visited twice, whatever the program does in between.

use tally_collector::Mutator;
use tally_heap::object::flag;
use tally_heap::plan::deferred::mature::MatureWalk;
use tally_heap::{HeapOptions, ObjectRef, TypeDescriptor};
use tally_kit::nodes::{new_mutator, type_of};

static PAIR: TypeDescriptor = TypeDescriptor::plain(c"Pair", 24, &[0, 8]);
/// Lies across the places of several pairs, and is small enough for any hole.
static WIDE: TypeDescriptor = TypeDescriptor::plain(c"Wide", 96, &[0]);
static ARRAY: TypeDescriptor = TypeDescriptor::plain(c"Array", 8, &[]).with_tail(0, 8, &[0]);

fn heap_with(pairs: usize) -> (Mutator, Vec<ObjectRef>) {
    let mut m = new_mutator(HeapOptions::default()).expect("address space");
    let pair = type_of(&PAIR);
    let mut objects: Vec<ObjectRef> = (0..pairs)
        .map(|_| {
            let object = m.allocate(pair).expect("memory");
            m.push_root(Some(object));
            object
        })
        .collect();
    m.collect();
    objects.sort_by_key(|object| object.address());
    (m, objects)
}

/// What the rest of a walk visits, with one unit for an object.
fn visited(m: &mut Mutator, walk: &mut MatureWalk, units: i64) -> Vec<ObjectRef> {
    let mut objects = Vec::new();
    while visit_some(m, walk, units, &mut objects) {}
    objects
}

/// One step; false when there is none left.
fn visit_some(m: &mut Mutator, walk: &mut MatureWalk, units: i64, objects: &mut Vec<ObjectRef>) -> bool {
    let step = m.heap().walk_mature(walk, units, |_, object| {
        objects.push(object);
        1
    });
    step.is_some()
}

#[test]
fn steps_of_any_length_visit_each_object_once() {
    let (mut m, objects) = heap_with(5000);
    for units in [1, 2, 7, 1000, i64::MAX] {
        let mut found = visited(&mut m, &mut MatureWalk::default(), units);
        found.sort_by_key(|object| object.address());
        assert_eq!(found, objects, "{units} units");
    }
}

/// The object that a step visited last is freed before the next, and so are its neighbours; another object comes to lie
/// across the end of its cell.
#[test]
fn object_across_the_place_where_a_walk_goes_on_is_no_other_object() {
    const VISITED: usize = 300;
    let (mut m, objects) = heap_with(3000);
    let mut walk = MatureWalk::default();
    let mut first = Vec::new();
    visit_some(&mut m, &mut walk, VISITED as i64, &mut first);
    assert_eq!(first, objects[..VISITED]);
    let gone = VISITED - 100..VISITED + 100;
    let place = objects[VISITED].address();

    m.truncate_roots(0);
    for (at, &object) in objects.iter().enumerate() {
        if !gone.contains(&at) {
            m.push_root(Some(object));
        }
    }
    m.collect();
    let wide = type_of(&WIDE);
    let across = (0..2000).find_map(|_| {
        let object = m.allocate(wide).expect("memory");
        (object.address() < place && place < object.address() + 96).then_some(object)
    });
    m.push_root(Some(across.expect("the hole is used again")));
    m.collect();

    let rest = visited(&mut m, &mut walk, 7);
    assert_eq!(rest, objects[gone.end..]);
}

/// Large objects come after the blocks, each once: also where places of the table are vacant, and when a block is taken after the first
/// of them.
#[test]
fn large_objects_are_visited_once_also_when_a_block_is_taken_meanwhile() {
    const LARGE: usize = 200;
    let (mut m, _) = heap_with(3);
    let array = type_of(&ARRAY);
    let all: Vec<ObjectRef> = (0..LARGE)
        .map(|_| {
            let object = m.allocate_array(array, 20_000).expect("memory");
            m.push_root(Some(object));
            object
        })
        .collect();
    m.truncate_roots(0);
    let kept: Vec<ObjectRef> = all.into_iter().enumerate().filter(|(at, _)| at % 150 < 5).map(|(_, it)| it).collect();
    for &object in &kept {
        m.push_root(Some(object));
    }
    m.collect();
    let (mut walk, mut found) = (MatureWalk::default(), Vec::new());
    while found.len() < 3 && visit_some(&mut m, &mut walk, 1, &mut found) {}
    let wide = type_of(&WIDE);
    let blocks = m.heap().bump.blocks.owned.len();
    while m.heap().bump.blocks.owned.len() == blocks {
        let object = m.allocate(wide).expect("memory");
        m.push_root(Some(object));
    }
    found.extend(visited(&mut m, &mut walk, 1));
    let large: Vec<ObjectRef> = found.into_iter().filter(|&object| object.has(flag::LARGE)).collect();
    assert_eq!(large, kept);
}
