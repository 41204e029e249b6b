//! The backup mark beside the log: which logged words it must not follow. A room of its own, because blocks that one heap
//! gives back must come to the other.

use tally_heap::{HeapOptions, ObjectRef, Slot, TypeDescriptor};
use tally_kit::nodes::{new_mutator, type_of};

/// A large object without references.
static BYTES: TypeDescriptor = TypeDescriptor::plain(c"Bytes", 30_000, &[]);
/// Cells of 16 bytes: the second of a block shares its granule with a large object that began in the block's place.
static LINK: TypeDescriptor = TypeDescriptor::plain(c"Link", 8, &[0]);
static ARRAY: TypeDescriptor = TypeDescriptor::plain(c"Array", 8, &[]).with_tail(0, 8, &[0]);

fn element(array: ObjectRef, index: u64) -> Slot {
    array.slot(8 + index * 8)
}

/// A dead array is named by the running log, because its block was logged as a whole; the large objects it held are freed
/// at once, and their blocks go to another heap. A mark that still discovers must not follow the dead array's old words
/// there, neither from the running log nor when the log is reconciled.
#[test]
fn a_mark_does_not_follow_a_dead_objects_logged_words_into_another_heap() {
    const HELD: u64 = 32;
    for flip_before_the_mark_reads_the_log in [false, true] {
        let options =
            HeapOptions { block_log_after: 1, eager_marks: true, slice_units: Some(1), ..HeapOptions::default() };
        let mut m = new_mutator(options).expect("address space");
        // A mark visits the roots first, so that many of them keep it from the log for a while.
        for _ in 0..1000 {
            let object = m.allocate(type_of(&LINK)).expect("memory");
            m.push_root(Some(object));
        }
        let written = m.allocate_array(type_of(&ARRAY), 1).expect("memory");
        m.push_root(Some(written));
        let dying = m.allocate_array(type_of(&ARRAY), HELD).expect("memory");
        let root = m.push_root(Some(dying));
        for index in 0..HELD {
            let held = m.allocate(type_of(&BYTES)).expect("memory");
            m.write(dying, element(dying, index), held.address());
        }
        assert_eq!(written.block(), dying.block(), "one write must log both arrays");
        m.collect();
        m.set_root(root, None);
        m.flip();
        m.write(written, element(written, 0), 0);
        let marks = m.statistics().marks;
        while m.statistics().marks == marks {
            assert!(m.step(1), "a mark begins at the end of the epoch");
        }
        while m.statistics().live_objects >= 1000 + HELD {
            assert!(m.step(1), "the large objects go while the mark has its roots to visit");
        }
        m.heap().give_all_back();

        let mut other = new_mutator(HeapOptions::default()).expect("address space");
        for _ in 0..HELD * 2048 {
            let object = other.allocate(type_of(&LINK)).expect("memory");
            other.push_root(Some(object));
        }
        other.epoch();
        let places = (0..HELD).map(|index| element(dying, index).read());
        let reused = places.filter(|&place| other.live_objects().iter().any(|object| object.address() == place + 8));
        assert!(reused.count() > 0, "the other heap has objects where the large ones were");

        if flip_before_the_mark_reads_the_log {
            m.flip();
        }
        while m.step(1000) {}
        for mutator in [&mut m, &mut other] {
            mutator.verify().expect("a sound heap");
            mutator.truncate_roots(0);
            mutator.collect();
            assert_eq!(mutator.live_objects(), []);
        }
    }
}
