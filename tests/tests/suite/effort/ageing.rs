//! Heaps that have grown old: objects of mixed sizes come, some survive, and they die in no order. What the heap has in use keeps to a
//! multiple of what is alive, and an epoch, however long that goes on.
//!
//! All sizes are in bytes of cells. What is alive is counted by the program, so garbage that is not found yet counts as used.

use crate::effort::{EPOCH_BYTES, World, options};
use tally_heap::HeapOptions;
use tally_heap::plan::Plan;
use tally_tests::shape::Kind;

/// Bytes that are alive.
const LIVE: u64 = 1 << 20;
/// Bytes that each program allocates.
const ALLOCATED: u64 = 24 << 20;
/// Objects between two looks at what is in use.
const LOOK_EVERY: u64 = 64;

/// The two plans, the prompt one with and without a pause goal.
fn plans() -> [HeapOptions; 3] {
    let deferred = HeapOptions { slice_units: Some(16_384), ..options() };
    let prompt = HeapOptions { plan: Plan::Prompt, ..deferred.clone() };
    let with_goal = HeapOptions { pause_goal_ns: Some(1_000_000), ..prompt.clone() };
    [deferred, prompt, with_goal]
}

/// Texts in the slots of a table. One in `one_in` takes the place of another; the others die at once.
struct Ageing {
    world: World,
    cells: Vec<u64>,
    live: u64,
}

impl Ageing {
    fn new(options: HeapOptions, slots: u64) -> Ageing {
        let mut world = World::with(options);
        let table = world.allocate(Kind::Array, slots);
        world.set_root(0, table);
        world.heap.mutator.collect();
        Ageing { world, cells: vec![0; slots as usize], live: 16 + 8 * slots }
    }

    /// Allocates a text in a cell of `cell` bytes, 16 or more, and keeps it in `slot`, if there is one.
    fn allocate(&mut self, cell: u64, slot: Option<u64>) {
        let text = self.world.allocate(Kind::Text, cell - 16);
        if let Some(slot) = slot {
            let table = self.world.root(0);
            self.world.set(table, Kind::Array, slot, text);
            let before = std::mem::replace(&mut self.cells[slot as usize], cell);
            self.live = self.live + cell - before;
        }
    }

    /// A slice for each 32 KiB, and a few for each epoch, however many blocks with short holes were opened. The prompt plan's
    /// safepoints have slices of their own.
    fn slices_were_paid_for(&mut self) {
        let now = self.world.statistics();
        let paid = now.allocated_bytes / (32 << 10) + 4 * now.epochs;
        let is_prompt = self.world.heap.mutator.heap().plan() == Plan::Prompt;
        assert!(is_prompt || now.slices <= paid, "{} slices, {paid} were paid for", now.slices);
    }

    /// What is in use beyond an epoch, in hundredths of what is alive.
    fn excess(&mut self) -> u64 {
        self.world.heap.mutator.heap().used_bytes().saturating_sub(EPOCH_BYTES) * 100 / self.live
    }

    /// Lets the heap grow old; the highest excess after its first half.
    fn grow_old(&mut self, one_in: u64, mut cell: impl FnMut(&mut World, u64) -> u64) -> u64 {
        let (slots, mut allocated, mut worst, mut objects) = (self.cells.len() as u64, 0, 0, 0);
        for slot in 0..slots {
            let bytes = cell(&mut self.world, 0);
            self.allocate(bytes, Some(slot));
        }
        while allocated < ALLOCATED {
            let bytes = cell(&mut self.world, allocated);
            let slot = if self.world.below(one_in) == 0 { Some(self.world.below(slots)) } else { None };
            self.allocate(bytes, slot);
            (allocated, objects) = (allocated + bytes, objects + 1);
            if allocated > ALLOCATED / 2 && objects % LOOK_EVERY == 0 {
                worst = worst.max(self.excess());
            }
        }
        self.world.heap.mutator.verify().expect("in order");
        self.slices_were_paid_for();
        worst
    }
}

/// A multiple of 8 between two.
fn between(world: &mut World, least: u64, most: u64) -> u64 {
    least + world.below((most - least) / 8 + 1) * 8
}

/// Three bounds, a plan each: hundredths of what is alive, beyond an epoch.
fn holds(least: u64, most: u64, bounds: [u64; 3]) {
    for (options, bound) in plans().into_iter().zip(bounds) {
        for one_in in [100, 10, 2] {
            let what = format!("{:?}, goal {:?}, one in {one_in}", options.plan, options.pause_goal_ns);
            let mut ageing = Ageing::new(options.clone(), LIVE / ((least + most) / 2));
            let worst = ageing.grow_old(one_in, |world, _| between(world, least, most));
            assert!(worst <= bound, "{what}: {worst} of a hundred");
        }
    }
}

#[test]
fn small_objects_of_all_sizes() {
    holds(16, 128, [150, 140, 140]);
}

#[test]
fn objects_about_as_long_as_the_shortest_hole() {
    holds(104, 144, [150, 150, 150]);
}

#[test]
fn strings_of_some_hundred_bytes() {
    holds(200, 1000, [150, 210, 190]);
}

#[test]
fn objects_from_a_word_to_pages() {
    holds(16, 8192, [150, 380, 340]);
}

/// The sizes rise from a quarter of the range to the next, and fall again.
#[test]
fn sizes_that_drift() {
    for (options, bound) in plans().into_iter().zip([220, 480, 400]) {
        for one_in in [10, 2] {
            let what = format!("{:?}, goal {:?}, one in {one_in}", options.plan, options.pause_goal_ns);
            let mut ageing = Ageing::new(options.clone(), LIVE / 500);
            let worst = ageing.grow_old(one_in, |world, allocated| {
                let phase = allocated % (ALLOCATED / 3) * 6 / ALLOCATED;
                let way = allocated % (ALLOCATED / 6) * 600 / (ALLOCATED / 6) / 8 * 8;
                let least = 200 + if phase == 0 { way } else { 600 - way };
                between(world, least, least + 200)
            });
            assert!(worst <= bound, "{what}: {worst} of a hundred");
        }
    }
}
