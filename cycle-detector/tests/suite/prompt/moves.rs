//! References that a copy moves within their object: only those at the ends of the two ranges gain and lose a holder. And a variable of
//! which a call has stored to a part.

use crate::prompt::slices::{at_each_place, collect_with, ring};
use crate::prompt::{ARRAY, mutator, node, nodes, type_of};
use tally_collector::Mutator;
use tally_heap::ObjectRef;
use tally_heap::descriptor::{SlotKind, TypeDescriptor};

static TAGGED: TypeDescriptor =
    TypeDescriptor::plain(c"TaggedArray", 8, &[]).with_tail(0, 8, &[0]).tagged(SlotKind::Tagged, 3, 1, !7);
static HEADED: TypeDescriptor = TypeDescriptor::plain(c"Headed", 24, &[8, 16]).with_tail(0, 8, &[0]);

/// From which word, to which, and how many: up and down, by one, by more, with nothing in common, and by nothing.
const MOVES: [(u64, u64, u64); 9] =
    [(1, 0, 9), (0, 1, 9), (4, 1, 6), (1, 4, 6), (5, 0, 5), (0, 5, 5), (3, 3, 7), (7, 1, 2), (2, 3, 0)];
const WORDS: u64 = 10;

/// An object of ten words of references from byte 8 on, each to a node of its own, of which it is the only holder.
fn filled(m: &mut Mutator, descriptor: &'static TypeDescriptor, length: u64, tag: u64) -> (ObjectRef, Vec<ObjectRef>) {
    let array = m.allocate_array(type_of(descriptor), length).expect("room");
    m.push_root(Some(array));
    let nodes: Vec<_> = (0..WORDS).map(|_| node(m)).collect();
    for (&object, at) in nodes.iter().zip(0..) {
        m.write(array, array.slot(8 + at * 8), object.address() | tag);
    }
    (array, nodes)
}

fn move_words(m: &mut Mutator, array: ObjectRef, (from, to, count): (u64, u64, u64)) {
    // SAFETY: words of the object, all of them references.
    unsafe { m.copy_refs(array, array.slot(8 + to * 8), array.address() + 8 + from * 8, count) };
}

#[test]
fn elements_that_move_within_their_array_keep_their_counts() {
    for (descriptor, length, tag) in [(&ARRAY, WORDS, 0), (&TAGGED, WORDS, 1), (&HEADED, WORDS - 2, 0)] {
        for step in MOVES {
            let mut m = mutator();
            let (array, nodes) = filled(&mut m, descriptor, length, tag);
            let mut words = nodes.clone();
            words.copy_within(step.0 as usize..(step.0 + step.2) as usize, step.1 as usize);
            move_words(&mut m, array, step);
            for &object in &nodes {
                let held = words.iter().filter(|&&word| word == object).count() as u32;
                assert_eq!(m.count_of(object), held, "{step:?} in {}", type_of(descriptor).info().name);
            }
            m.poll();
            let alive = nodes.iter().filter(|object| words.contains(object)).count();
            assert_eq!(crate::prompt::live(&m), 1 + alive as u64, "{step:?}");
            m.verify().expect("sound");
        }
    }
}

/// The mark may have seen the array before, and may see it later: what has moved is alive, what fell out is garbage.
#[test]
fn elements_that_move_beside_a_mark_in_slices_are_not_lost() {
    for step in MOVES {
        at_each_place(|m, at| {
            let array = m.allocate_array(type_of(&ARRAY), WORDS).expect("room");
            m.push_root(Some(array));
            let base = m.root_count();
            let rings: Vec<_> = (0..WORDS)
                .map(|place| {
                    let (_, ring) = ring(m, 3);
                    m.write(array, array.slot(8 + place * 8), ring[0].address());
                    m.truncate_roots(base);
                    ring[0]
                })
                .collect();
            let mut words = rings.clone();
            words.copy_within(step.0 as usize..(step.0 + step.2) as usize, step.1 as usize);
            let came = collect_with(m, at, |m| move_words(m, array, step));
            if came {
                let alive = m.live_objects();
                assert!(words.iter().all(|object| alive.contains(object)), "{step:?} before step {at}");
            }
            came
        });
    }
}

/// As a call does that was lent a variable of two references: it stored to one of them, to none, to the other.
#[test]
fn a_variable_of_two_references_counts_what_was_stored_to_one() {
    let mut m = mutator();
    let [first, second, third] = nodes(&mut m);
    for object in [first, second, third] {
        m.push_root(Some(object));
    }
    let (mut variable, mut counted) = ([first.address(), 0], [0_u64; 2]);
    let mut settle = |m: &mut Mutator, variable: u64| {
        let how = first.type_info();
        // SAFETY: both are as long as a node, whose fields are references.
        unsafe { m.heap().settle_root(variable, counted.as_mut_ptr() as u64, Some(how), 16) };
        [first, second, third].map(|object| m.count_of(object))
    };
    assert_eq!(settle(&mut m, variable.as_ptr() as u64), [2, 1, 1]);
    variable[1] = second.address();
    assert_eq!(settle(&mut m, variable.as_ptr() as u64), [2, 2, 1], "the first word is as it was");
    assert_eq!(settle(&mut m, variable.as_ptr() as u64), [2, 2, 1]);
    variable[0] = third.address();
    assert_eq!(settle(&mut m, variable.as_ptr() as u64), [1, 2, 2], "the second word is as it was");
    assert_eq!(settle(&mut m, 0), [1, 1, 1]);
    assert_eq!(counted, [0, 0]);
    m.poll();
    m.verify().expect("sound");
}
