//! `[BOUND]` What one step may do: work is measured by what is visibly different after it.

use tally_heap::plan::Plan;
use tally_heap::{HeapOptions, ObjectRef, TypeDescriptor};
use tally_kit::nodes::{new_mutator, type_of};

static PAIR: TypeDescriptor = TypeDescriptor::plain(c"Pair", 16, &[0, 8]);
static ARRAY: TypeDescriptor = TypeDescriptor::plain(c"Array", 8, &[]).with_tail(0, 8, &[0]);
static BUFFER: TypeDescriptor = TypeDescriptor::plain(c"Buffer", 20_000, &[]);
static WORDS: TypeDescriptor = TypeDescriptor::plain(c"Words", 8, &[]).with_tail(0, 8, &[]);

fn counts(objects: &[ObjectRef]) -> u64 {
    objects.iter().map(|object| object.count() as u64).sum()
}

#[test]
fn a_large_array_that_the_mark_condemns_lets_go_chunk_by_chunk() {
    const LENGTH: u64 = 20_000;
    let mut m = new_mutator(HeapOptions { eager_marks: true, ..HeapOptions::default() }).expect("address space");
    let array = m.allocate_array(type_of(&ARRAY), LENGTH).expect("memory");
    let root = m.push_root(Some(array));
    m.write(array, array.slot(8), array.address());
    let survivors: Vec<_> = (0..100)
        .map(|_| {
            let pair = m.allocate(type_of(&PAIR)).expect("memory");
            m.push_root(Some(pair));
            pair
        })
        .collect();
    for index in 1..LENGTH {
        m.write(array, array.slot(8 + index * 8), survivors[index as usize % 100].address());
    }
    m.collect();
    let held = counts(&survivors);
    assert!(held > LENGTH);
    m.set_root(root, None);
    m.flip();
    let mut before = held;
    let mut more = true;
    while more {
        more = m.step(1);
        let now = counts(&survivors);
        assert!(before.saturating_sub(now) <= 256, "one step took {} references back", before - now);
        before = now;
    }
    assert_eq!(counts(&survivors), 100, "only the roots are left");
    assert_eq!(m.live_objects().len(), 100);
    m.verify().expect("a sound heap");
}

#[test]
fn large_objects_that_die_young_are_given_back_a_few_at_a_time() {
    for plan in [Plan::Deferred, Plan::Trace] {
        let options = HeapOptions { plan, pause_goal_ns: Some(1), slice_units: Some(64), ..HeapOptions::default() };
        let mut m = new_mutator(options).expect("address space");
        for _ in 0..300 {
            m.allocate(type_of(&BUFFER)).expect("memory");
        }
        m.flip();
        let mut before = m.heap().used_bytes();
        let mut more = true;
        while more {
            more = m.step(64);
            let now = m.heap().used_bytes();
            // The first 4 MiB stay with the heap, which costs next to nothing.
            let gives_back = before <= (300 - 128) * 32768;
            assert!(!gives_back || before - now <= 4 * 32768, "{plan:?}: one step gave {} bytes back", before - now);
            before = now;
        }
        assert_eq!(m.heap().used_bytes(), 0);
        m.verify().expect("a sound heap");
        assert_eq!(m.statistics().died_young_objects, 300);
    }
}

#[test]
fn a_word_written_with_barrier_into_a_large_object_without_references_is_just_written() {
    let mut m = new_mutator(HeapOptions::default()).expect("address space");
    let words = m.allocate_array(type_of(&WORDS), 10_000).expect("memory");
    m.push_root(Some(words));
    m.epoch();
    m.write(words, words.slot(8 + 9_999 * 8), 42);
    // SAFETY: a thousand words of the object from its element 5,000 on.
    unsafe { m.fill_refs(words, words.slot(8 + 5_000 * 8), 7, 1_000) };
    assert_eq!(words.slot(8 + 9_999 * 8).read(), 42);
    assert_eq!(words.slot(8 + 5_999 * 8).read(), 7);
    m.verify().expect("a sound heap");
}

#[test]
fn a_mark_clears_the_bits_of_the_last_one_block_by_block() {
    use tally_heap::memory::range::MARK;
    let mut m = new_mutator(HeapOptions::default()).expect("address space");
    let list = m.push_root(None);
    for _ in 0..300_000 {
        let node = m.allocate(type_of(&PAIR)).expect("memory");
        node.slot(0).store(m.root(list).map_or(0, ObjectRef::address));
        m.set_root(list, Some(node));
    }
    m.collect();
    let one_per_block = m.live_objects();
    let one_per_block: Vec<_> = one_per_block.chunk_by(|one, next| one.block() == next.block()).map(|c| c[0]).collect();
    assert!(one_per_block.len() > 200);
    let marked = || one_per_block.iter().filter(|object| MARK.get(object.granule())).count();
    assert_eq!(marked(), one_per_block.len(), "the collection has marked");
    m.heap().options_mut().eager_marks = true;
    m.flip();
    let (mut before, mut least) = (marked(), marked());
    let mut more = true;
    while more && before > 0 {
        more = m.step(8);
        let now = marked();
        assert!(before.saturating_sub(now) <= 8, "one step cleared {} blocks", before - now);
        (before, least) = (now, least.min(now));
    }
    assert_eq!(least, 0, "the mark began");
    m.verify().expect("a sound heap");
}

/// Under the plans that collect by marks, in one stop or in slices, epochs are short while next to nothing lives, unless the program has said how
/// long they are to be.
#[test]
fn heap_in_which_next_to_nothing_lives_stays_small() {
    const MIB: u64 = 1 << 20;
    for (plan, pause_goal_ns) in [(Plan::Deferred, None), (Plan::Trace, None), (Plan::Trace, Some(1_000_000))] {
        for (grows, least, most) in [(true, 0, 2 * MIB), (false, 4 * MIB, 10 * MIB)] {
            let options =
                HeapOptions { plan, pause_goal_ns, epoch_grows: grows, mark_ns: 1_000_000, ..HeapOptions::default() };
            let mut m = new_mutator(options).expect("address space");
            let mut peak = 0;
            while m.statistics().allocated_bytes < 64 * MIB {
                for _ in 0..1000 {
                    m.allocate(type_of(&PAIR)).expect("memory");
                    m.poll();
                }
                m.heap().count_hole();
                peak = peak.max(m.heap().used_bytes());
            }
            assert!((least..most).contains(&peak), "{plan:?} {pause_goal_ns:?} {grows}: {peak} bytes");
        }
    }
}
