//! The mark in slices: what the program does between two of them, at each point, and how much a slice may do.
//!
//! Each situation is played again for every place at which it could come: before the first slice, between the first
//! two, and so on. With slices of one unit that is between any two blocks of each pass. After each slice the heap is
//! recounted.

use crate::prompt::slices::{at_each_place, collect_and_read_weak, collect_with, is_there, ring, sliced};
use crate::prompt::{ARRAY, live, node, nodes, set, type_of};
use std::cell::Cell;
use std::ffi::c_void;
use tally_collector::Mutator;
use tally_heap::ObjectRef;
use tally_heap::descriptor::TypeDescriptor;
use tally_heap::memory::range::MARK;

/// Only leads to nodes, which never lead back.
static LABEL: TypeDescriptor = TypeDescriptor::plain(c"Label", 16, &[0]).acyclic();
/// Closes with a word to the test.
// SAFETY: `close` takes any object of the type.
pub static DOOR: TypeDescriptor = unsafe { TypeDescriptor::plain(c"Door", 24, &[0, 8]).finalized(close) };
/// Larger than a node: another class of cells.
static WIDE: TypeDescriptor = TypeDescriptor::plain(c"Wide", 120, &[0, 40]);

/// Each of another class of cells, and so in another block: the passes come to one after the other.
static APART: [TypeDescriptor; 4] = [
    TypeDescriptor::plain(c"Apart1", 40, &[0, 8]),
    TypeDescriptor::plain(c"Apart2", 72, &[0, 8]),
    TypeDescriptor::plain(c"Apart3", 136, &[0, 8]),
    TypeDescriptor::plain(c"Apart4", 264, &[0, 8]),
];

thread_local!(pub static CLOSED: Cell<u32> = const { Cell::new(0) });
thread_local!(static KEEPS: Cell<Option<(ObjectRef, *mut tally_heap::Heap)>> = const { Cell::new(None) });

unsafe extern "C-unwind" fn close(object: *mut c_void) {
    CLOSED.set(CLOSED.get() + 1);
    if let Some((holder, heap)) = KEEPS.take() {
        // SAFETY: [HEADER] the heap calls with an object of the type.
        let door = unsafe { ObjectRef::from_address(object as u64) };
        // SAFETY: [ALONE] the heap calls, and is not borrowed meanwhile.
        let heap = unsafe { &mut *heap };
        // What the door leads to is kept, and the door does not lead to it any more.
        heap.write(holder, holder.slot(8), door.slot(0).read());
        heap.write(door, door.slot(0), 0);
    }
}

#[test]
fn what_moves_from_an_unvisited_object_to_a_visited_one_lives() {
    at_each_place(|m, at| {
        let [first, last, moved, child] = nodes(m);
        let roots = [m.push_root(Some(first)), m.push_root(Some(last))];
        set(m, first, 0, Some(moved));
        set(m, moved, 0, Some(child));
        let (dead, ring) = ring(m, 5);
        m.poll();
        m.set_root(dead, None);
        let came = collect_with(m, at, |m| {
            // Whichever of the two is visited first.
            let (from, to) = if at % 2 == 0 { (first, last) } else { (last, first) };
            if at % 2 == 1 {
                set(m, last, 0, Some(moved));
                set(m, first, 0, None);
            }
            set(m, to, 8, Some(moved));
            set(m, from, 0, None);
        });
        assert!(!is_there(m, ring[3]) && is_there(m, moved) && is_there(m, child), "at {at}");
        assert_eq!(roots.map(|root| m.root(root).is_some()), [true, true]);
        came
    });
}

#[test]
fn what_only_a_root_holds_for_some_slices_lives() {
    at_each_place(|m, at| {
        let holder = node(m);
        m.push_root(Some(holder));
        let (root, ring) = ring(m, 4);
        set(m, holder, 0, Some(ring[0]));
        m.set_root(root, None);
        m.poll();
        // For three slices it is in a root alone, and then in the other field.
        let mut came = false;
        for step in 0..1_000_000 {
            if step == at {
                came = true;
                m.set_root(root, Some(ring[0]));
                set(m, holder, 0, None);
            } else if step == at + 3 {
                set(m, holder, 8, Some(ring[2]));
                m.set_root(root, None);
            }
            let complete = m.collect_for(0);
            tally_collector::plan::prompt::verify(m.heap()).expect("sound");
            if complete && !(at..=at + 3).contains(&step) {
                break;
            }
        }
        assert!(ring.iter().all(|&it| is_there(m, it)), "at {at}");
        came
    });
}

/// A count is as it should be whenever the mark looks at the node, because the program is at another one by then.
#[test]
fn a_ring_through_which_the_program_walks_lives() {
    for direction in [1, 5] {
        let mut m = sliced(1, true);
        let holder = node(&mut m);
        m.push_root(Some(holder));
        let (root, ring) = ring(&mut m, 6);
        let mut at = 0;
        for _ in 0..3 {
            let mut steps = 0;
            while !m.collect_for(0) {
                at = (at + direction) % ring.len();
                m.set_root(root, Some(ring[at]));
                steps += 1;
            }
            assert!(steps > 8);
            assert!(ring.iter().all(|&it| is_there(&mut m, it)));
        }
        m.set_root(root, None);
        m.collect();
        assert_eq!(live(&m), 1);
    }
}

/// A ring whose members lie in different blocks, and which the mark has missed or not, is held by a root, by an object
/// that is visited early, by one that is visited late, or by several of these, and what holds it changes all the time.
#[test]
fn a_ring_that_is_handed_on_at_random_lives() {
    let (mut missed, mut steps) = (0, 0);
    for seed in 1..400u64 {
        let mut dice = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut roll = |below: u64| {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            (dice >> 20) % below
        };
        let mut m = sliced(1, seed % 2 == 0);
        let chain: [ObjectRef; 6] = nodes(&mut m);
        let head = m.push_root(Some(chain[0]));
        chain.windows(2).for_each(|pair| set(&mut m, pair[0], 0, Some(pair[1])));
        let early = node(&mut m);
        m.push_root(Some(early));
        let rings: Vec<Vec<ObjectRef>> = (0..2).map(|_| ring_of_blocks(&mut m)).collect();
        let (ring, late) = (&rings[0], chain[5]);
        set(&mut m, late, 0, Some(ring[0]));
        m.truncate_roots(2);
        let root = m.push_root(None);
        m.poll();
        let mut completions = 0;
        while completions < 10 {
            let member = Some(ring[roll(ring.len() as u64) as usize]);
            let held = [m.root(root).is_some(), early.slot(0).read() != 0, late.slot(0).read() != 0];
            let others = |place: usize| (0..3).any(|other| other != place && held[other]);
            let proves = m.heap().mark_phase().watches();
            steps += u32::from(proves);
            missed += u32::from(proves && !ring.iter().any(|it| MARK.get(it.granule())));
            let discovers = m.heap().prompt.cells.born_marked && !proves;
            match roll(if proves { 5 } else { 4 }) {
                // The mark sees it nowhere: it goes from where the mark has not been to where it was, or to a root.
                0 if discovers && held[2] => {
                    if roll(3) == 0 {
                        m.set_root(root, member)
                    } else {
                        set(&mut m, early, 0, member)
                    }
                    set(&mut m, late, 0, None);
                }
                0 if proves => m.set_root(root, member),
                1 if proves && others(0) => m.set_root(root, None),
                2 if proves => set(&mut m, early, 0, member),
                3 if proves && others(1) => set(&mut m, early, 0, None),
                _ => {}
            }
            if m.collect_for(0) {
                completions += 1;
                set(&mut m, late, 0, member);
                m.set_root(root, None);
                set(&mut m, early, 0, None);
            }
            tally_collector::plan::prompt::verify(m.heap()).unwrap_or_else(|fault| panic!("seed {seed}: {fault:?}"));
            assert!(ring.iter().all(|&it| it.has(!0) && is_there(&mut m, it)), "seed {seed}");
        }
        assert!(!is_there(&mut m, rings[1][0]), "seed {seed}");
        m.set_root(head, None);
        m.truncate_roots(0);
        m.collect();
        assert_eq!(live(&m), 0, "seed {seed}");
    }
    assert!(missed > 400, "the mark had not missed the ring but {missed} times of {steps}");
}

/// A ring of one object of each class; the caller takes its roots off.
pub fn ring_of_blocks(m: &mut Mutator) -> Vec<ObjectRef> {
    let ring: Vec<ObjectRef> = APART
        .iter()
        .map(|descriptor| {
            let object = m.allocate(type_of(descriptor)).expect("room");
            m.push_root(Some(object));
            object
        })
        .collect();
    for at in 0..ring.len() {
        set(m, ring[at], 8, Some(ring[(at + 1) % ring.len()]));
    }
    ring
}

#[test]
fn what_moves_through_an_object_of_an_acyclic_type_lives() {
    at_each_place(|m, at| {
        let label = m.allocate(type_of(&LABEL)).expect("room");
        m.push_root(Some(label));
        let holder = node(m);
        m.push_root(Some(holder));
        let (root, ring) = ring(m, 3);
        set(m, holder, 0, Some(ring[0]));
        m.set_root(root, None);
        m.poll();
        let came = collect_with(m, at, |m| {
            set(m, label, 0, Some(ring[1]));
            set(m, holder, 0, None);
        });
        assert!(ring.iter().all(|&it| is_there(m, it)), "at {at}");
        came
    });
}

#[test]
fn an_object_of_an_acyclic_type_that_only_moves_lives() {
    at_each_place(|m, at| {
        let [first, second] = nodes(m);
        m.push_root(Some(first));
        m.push_root(Some(second));
        let label = m.allocate(type_of(&LABEL)).expect("room");
        set(m, first, 0, Some(label));
        let root = m.push_root(None);
        m.poll();
        let came = collect_with(m, at, |m| {
            m.set_root(root, Some(label));
            set(m, first, 0, None);
            assert!(!m.collect_for(0) || at > 8);
            set(m, second, 0, Some(label));
            m.set_root(root, None);
        });
        assert!(is_there(m, label), "at {at}");
        came
    });
}

#[test]
fn what_a_weak_slot_yields_between_two_slices_lives() {
    at_each_place(|m, at| {
        let (root, ring) = ring(m, 4);
        let (came, yielded) = collect_and_read_weak(m, at, root, ring[1]);
        match yielded {
            Some(_) => assert!(ring.iter().all(|&it| is_there(m, it)), "at {at}"),
            None => assert!(!ring.iter().any(|&it| is_there(m, it)), "at {at}"),
        }
        assert!(at != 0 || yielded.is_some());
        came
    });
}

#[test]
fn what_became_immortal_between_two_slices_lives_though_it_lost_a_reference_unnoted() {
    at_each_place(|m, at| {
        let holder = node(m);
        m.push_root(Some(holder));
        let (root, ring) = ring(m, 3);
        set(m, holder, 0, Some(ring[0]));
        m.set_root(root, None);
        m.poll();
        let came = collect_with(m, at, |m| {
            m.make_immortal(ring[0]);
            set(m, holder, 0, None);
        });
        assert!(ring.iter().all(|&it| is_there(m, it)), "at {at}");
        m.unfreeze();
        came
    });
}

#[test]
fn finalizers_of_a_dead_ring_run_between_slices_and_what_they_keep_lives() {
    for keeps in [false, true] {
        at_each_place(|m, at| {
            let holder = node(m);
            m.push_root(Some(holder));
            let (root, ring) = ring(m, 3);
            let [kept, child] = nodes(m);
            let roots = [m.push_root(Some(kept)), m.push_root(None)];
            let door = m.allocate(type_of(&DOOR)).expect("room");
            set(m, kept, 0, Some(child));
            set(m, door, 0, Some(kept));
            set(m, door, 8, Some(ring[0]));
            set(m, ring[1], 0, Some(door));
            m.set_root(roots[0], None);
            m.poll();
            m.set_root(root, None);
            CLOSED.set(0);
            KEEPS.set(keeps.then_some((holder, &raw mut *m.heap())));
            let came = collect_with(m, at, |m| _ = node(m));
            assert_eq!(CLOSED.get(), 1, "at {at}");
            assert!(!ring.iter().any(|&it| is_there(m, it)) && !is_there(m, door), "at {at}");
            assert_eq!(is_there(m, kept) && is_there(m, child), keeps, "at {at}");
            came
        });
    }
}

/// What dies between two slices leaves entries behind in the mark's lists, which lead to cells of another class by then.
#[test]
fn cells_that_are_used_again_between_slices_are_not_taken_for_what_they_were() {
    at_each_place(|m, at| {
        let table = m.allocate_array(type_of(&ARRAY), 400).expect("room");
        m.push_root(Some(table));
        for index in 0..400 {
            let object = node(m);
            set(m, table, 8 + index * 8, Some(object));
        }
        let (dead, ring) = ring(m, 3);
        m.poll();
        m.set_root(dead, None);
        let came = collect_with(m, at, |m| {
            for index in 0..400 {
                set(m, table, 8 + index * 8, None);
            }
            while live(m) > 10 {
                m.poll();
                if m.heap().mark_phase().wants_turns() {
                    break;
                }
            }
            for index in 0..100 {
                let object = m.allocate(type_of(&WIDE)).expect("room");
                (1..15).for_each(|word| object.slot(word * 8).store(if word == 5 { 0 } else { 0x2000_0000_0123 }));
                set(m, table, 8 + index * 8, Some(object));
            }
        });
        assert!(!is_there(m, ring[0]), "at {at}");
        let left = m.live_objects().iter().filter(|object| object.type_info().name.as_ref() == "Wide").count();
        assert_eq!(left, if came { 100 } else { 0 }, "at {at}");
        if at > 40 {
            return false;
        }
        came
    });
}

#[test]
fn an_ephemeron_loses_a_dead_key_and_keeps_one_that_is_read_between_slices() {
    at_each_place(|m, at| {
        let (root, ring) = ring(m, 3);
        let value = node(m);
        let held = m.push_root(Some(value));
        // The value leads to its key: counts alone would keep both.
        set(m, value, 0, Some(ring[0]));
        let ephemeron = m.new_ephemeron(ring[0], Some(value)).expect("room");
        m.push_root(Some(ephemeron));
        m.set_root(held, None);
        m.poll();
        m.set_root(root, None);
        let mut read = None;
        let came = collect_with(m, at, |m| {
            read = m.ephemeron_value(ephemeron);
            if read.is_some() && at % 2 == 0 {
                m.set_root(held, read);
            } else if read.is_some() {
                let key = m.read_weak(ephemeron.slot(tally_heap::services::ephemeron::KEY));
                m.set_root(root, key);
            }
        });
        assert_eq!(is_there(m, ring[0]), read.is_some(), "at {at}");
        assert_eq!(is_there(m, value), read.is_some(), "at {at}");
        came
    });
}

/// What a host is shown it may keep, though nothing led to it.
#[test]
fn what_a_walk_of_all_objects_shows_may_be_kept() {
    at_each_place(|m, at| {
        let (root, ring) = ring(m, 4);
        m.poll();
        m.set_root(root, None);
        let mut kept = false;
        let came = collect_with(m, at, |m| {
            kept = m.objects().contains(&ring[2]);
            if kept {
                m.set_root(root, Some(ring[2]));
            }
        });
        assert_eq!(is_there(m, ring[0]), kept, "at {at}");
        came
    });
}

#[test]
fn a_stuck_count_is_left_to_a_mark_that_stops_the_world() {
    let mut m = sliced(10, true);
    let (root, ring) = ring(&mut m, 3);
    ring[1].set_exact_count(u32::MAX - 200);
    m.poll();
    m.set_root(root, None);
    collect_with(&mut m, 0, |_| {});
    assert_eq!(live(&m), 0);
}

#[test]
fn an_explicit_collection_takes_over_wherever_the_mark_is() {
    at_each_place(|m, at| {
        let (live_root, alive) = ring(m, 3);
        let (dead, ring) = ring(m, 4);
        m.poll();
        m.set_root(dead, None);
        let came = collect_with(m, at, |m| {
            m.collect();
            assert!(!is_there(m, ring[0]) && is_there(m, alive[0]), "at {at}");
        });
        assert_eq!(m.root(live_root), Some(alive[0]));
        came
    });
}
