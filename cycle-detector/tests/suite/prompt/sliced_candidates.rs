//! Candidates and the mark in slices: whom the proof has taken off the candidates, and finds alive, is noted again. `[CANDIDATE]`
//!
//! As in `sliced_marks`, each situation is played for every place at which it could come, and the heap is recounted
//! after each slice; then a round without a mark must find what is garbage.

use crate::prompt::sliced_marks::ring_of_blocks;
use crate::prompt::slices::{at_each_place, collect_with, is_there, ring, sliced};
use crate::prompt::{nodes, set};
use tally_heap::ObjectRef;
use tally_heap::memory::range::MARK;

/// The mark had taken it off the candidates, and what a root lets go of is not noted.
#[test]
fn what_a_weak_slot_yields_between_two_slices_and_nobody_keeps_is_noted() {
    at_each_place(|m, at| {
        let (root, ring) = ring(m, 4);
        let weak = m.new_weak(ring[1]).expect("room");
        m.push_root(Some(weak));
        m.poll();
        m.set_root(root, None);
        let came = collect_with(m, at, |m| _ = m.read_weak(weak.slot(0)));
        if m.heap().options().trials {
            m.epoch();
            assert!(!ring.iter().any(|&it| is_there(m, it)), "at {at}");
        }
        came
    });
}

/// The mark has missed a ring that a root holds. Then a member gets one more reference from within than the proof has
/// found, and so the ring is taken for alive when the root has let go of it, unnoted.
#[test]
fn a_ring_that_got_a_reference_from_within_while_it_was_proved_is_noted() {
    for trials in [false, true] {
        let (mut at, mut missed) = (0, 0);
        loop {
            let mut m = sliced(1, trials);
            let chain: [ObjectRef; 6] = nodes(&mut m);
            m.push_root(Some(chain[0]));
            chain.windows(2).for_each(|pair| set(&mut m, pair[0], 0, Some(pair[1])));
            let ring = ring_of_blocks(&mut m);
            set(&mut m, chain[5], 8, Some(ring[0]));
            m.truncate_roots(1);
            let root = m.push_root(None);
            m.poll();
            let (mut proved, mut complete) = (0, false);
            while !complete {
                let heap = m.heap();
                let (proves, born_marked) = (heap.mark_phase().watches(), heap.prompt.cells.born_marked);
                if born_marked && !proves && chain[5].slot(8).read() != 0 {
                    m.set_root(root, Some(ring[0]));
                    set(&mut m, chain[5], 8, None);
                }
                if proves && proved == at {
                    missed += u32::from(!ring.iter().any(|it| MARK.get(it.granule())));
                    set(&mut m, ring[3], 0, Some(ring[1]));
                    m.set_root(root, None);
                }
                proved += usize::from(proves);
                complete = m.collect_for(0);
                tally_collector::plan::prompt::verify(m.heap()).unwrap_or_else(|fault| panic!("deed {at}: {fault:?}"));
            }
            m.set_root(root, None);
            if trials {
                m.epoch();
                assert!(!ring.iter().any(|&it| is_there(&mut m, it)), "deed {at}");
            }
            if proved <= at {
                break;
            }
            at += 1;
        }
        assert!(missed > 8, "the mark had missed the ring but {missed} times");
    }
}
