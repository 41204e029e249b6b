//! A fork in the middle of an epoch: between any two slices of it, the child has a heap that it can go on with, as has
//! its parent.
//!
//! The child shares nothing with its parent but what it was given: it finishes the epoch, collects, and looks at what
//! is left. Slices of a few units make every phase many places to fork at. What compiled programs and threads have to
//! do with forks: `frontend-glue/tests/suite/boundaries/ends.rs`.

use std::collections::BTreeSet;
use tally_collector::Mutator;
use tally_heap::descriptor::TypeDescriptor;
use tally_heap::plan::Plan;
use tally_heap::services::host_roots::RootIndex;
use tally_heap::{HeapOptions, ObjectRef, TypeId, type_registry};
use tally_kit::nodes::{new_mutator, set};

static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 24, &[0, 8]);

fn node(m: &mut Mutator, of: TypeId, number: u64) -> ObjectRef {
    let node = m.allocate(of).expect("room");
    node.slot(16).store(number);
    node
}

/// What the first field holds.
fn follow(node: ObjectRef) -> Option<ObjectRef> {
    // SAFETY: [HEADER] a field of a live object.
    unsafe { ObjectRef::of_word(node.slot(0).read()) }
}

/// Live nodes in a list.
const LISTED: u64 = 24;

/// A heap under one plan, and what is in it: a list that lives, in root 0.
struct Heap {
    m: Mutator,
    of: TypeId,
}

impl Heap {
    fn new(options: HeapOptions) -> Heap {
        let of = type_registry::register(&NODE).expect("a sound descriptor");
        let mut m = new_mutator(options).expect("address space");
        m.push_root(None);
        for number in 0..LISTED {
            let node = node(&mut m, of, number);
            let before = m.root(LIST);
            set(&mut m, node, 0, before);
            m.set_root(LIST, Some(node));
        }
        Heap { m, of }
    }

    /// Garbage of every kind: a chain, rings young and old, one that hangs on the list; and writes to what is old.
    fn change(&mut self, round: u64) {
        let m = &mut self.m;
        let ring: Vec<ObjectRef> = (0..5)
            .map(|number| {
                let node = node(m, self.of, number);
                m.push_root(Some(node));
                node
            })
            .collect();
        for (at, &one) in ring.iter().enumerate() {
            set(m, one, 0, Some(ring[(at + 1) % 5]));
        }
        let mut old = m.root(LIST).expect("the list");
        for _ in 0..round % LISTED {
            old = follow(old).expect("it is long enough");
        }
        set(m, ring[2], 8, Some(old));
        set(m, old, 8, Some(ring[0]));
        if round.is_multiple_of(3) {
            set(m, old, 8, None);
        }
        m.truncate_roots(1);
        // Some blocks to sweep.
        for number in 0..4000 {
            node(m, self.of, number);
        }
    }

    /// Whether the list is whole, and, after a collection, only what hangs on it is left.
    fn is_sound(&mut self) -> bool {
        self.m.epoch();
        self.m.collect();
        let (mut sum, mut rings) = (0, 0);
        let mut at = self.m.root(LIST);
        while let Some(node) = at {
            sum += node.slot(16).read();
            rings += u64::from(node.slot(8).read() != 0);
            at = follow(node);
        }
        let live = self.m.statistics().live_objects;
        sum == LISTED * (LISTED - 1) / 2 && live == LISTED + 5 * rings && self.m.verify().is_ok()
    }

    /// The child finishes what was begun. The parent waits for it, and goes on.
    fn fork(&mut self, what: &str) {
        // SAFETY: the child has this thread alone, prints nothing, and leaves by `_exit`.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: a child that waits for ever would hold up its parent: the alarm ends it.
            unsafe { libc::alarm(20) };
            let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let before = self.is_sound();
                self.change(1);
                before && self.is_sound()
            }));
            // SAFETY: ends the child.
            unsafe { libc::_exit(if matches!(answer, Ok(true)) { 0 } else { 1 }) };
        }
        let mut status = 0;
        // SAFETY: waits for the child that was made above.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0, "the child after {what}");
    }

    /// What the passes are doing, as the collector shows itself to a debugger: the epoch's phase, and the mark's stage.
    fn at(&mut self) -> [String; 2] {
        let shown = self.m.heap().with_driver(|driver, _| format!("{driver:?}"));
        ["phase: ", "stage: "].map(|field| {
            let (_, rest) = shown.split_once(field).expect("a field of that name");
            rest.split(|letter: char| !letter.is_alphanumeric()).next().expect("a word").to_owned()
        })
    }
}

/// scenario 155.
#[test]
fn a_fork_in_each_phase_of_an_epoch_and_of_a_mark_leaves_two_sound_heaps() {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for (eager_marks, trials) in [(false, true), (true, true), (true, false)] {
        let options = HeapOptions { eager_marks, trials, slice_units: Some(3), ..HeapOptions::default() };
        let mut heap = Heap::new(options);
        let mut forked: BTreeSet<[String; 2]> = BTreeSet::new();
        for round in 0..40 {
            heap.change(round);
            heap.m.flip();
            loop {
                let at = heap.at();
                // In each combination twice, and in the middle of it rather than at its beginning.
                if round % 8 > 5 && forked.len() < 40 && forked.insert(at.clone()) {
                    heap.fork(&at.join(", "));
                    seen.extend(at);
                }
                if !heap.m.step(1 + round % 3) {
                    break;
                }
            }
        }
        assert!(heap.is_sound(), "the parent's heap");
    }
    let expected = ["Idle", "Count", "Sweep", "Release", "Try", "Clear", "Discover", "Free"];
    let missing: Vec<&str> = expected.into_iter().filter(|phase| !seen.contains(*phase)).collect();
    assert!(missing.is_empty(), "no fork in {missing:?}, only in {seen:?}");
}

#[test]
fn a_fork_between_the_slices_of_a_prompt_heaps_deaths_leaves_two_sound_heaps() {
    let mut forks = 0;
    for (eager_marks, trials) in [(false, true), (true, true)] {
        let options = HeapOptions {
            plan: Plan::Prompt,
            pause_goal_ns: Some(1),
            slice_units: Some(3),
            eager_marks,
            trials,
            ..HeapOptions::default()
        };
        let mut heap = Heap::new(options);
        for round in 0..12 {
            heap.change(round);
            // A chain that dies in many slices.
            for number in 0..40 {
                let node = node(&mut heap.m, heap.of, number);
                heap.m.push_root(Some(node));
                let before = (number != 0).then(|| heap.m.root(RootIndex(number as usize))).flatten();
                set(&mut heap.m, node, 0, before);
            }
            heap.m.truncate_roots(1);
            for slice in 0..6 {
                heap.m.poll();
                if (round + slice) % 4 == 0 {
                    heap.fork(&format!("slice {slice} of round {round}"));
                    forks += 1;
                }
            }
        }
        assert!(heap.is_sound(), "the parent's heap");
    }
    assert!(forks > 20);
}

const LIST: RootIndex = RootIndex(0);
