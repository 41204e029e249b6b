//! Random programs against two models: a graph of plain numbers for what is alive, and the recursion of the definition
//! for the order in which finalizers run.

use crate::prompt::{options, set, type_of};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_void;
use tally_collector::Mutator;
use tally_heap::descriptor::{SlotKind, TypeDescriptor};
use tally_heap::services::host_roots::RootIndex;
use tally_heap::{HeapOptions, ObjectRef};
use tally_kit::nodes::new_mutator;
use tally_kit::seed;

thread_local!(static DIED: RefCell<Vec<u64>> = const { RefCell::new(vec![]) });

unsafe extern "C-unwind" fn note(object: *mut c_void) {
    // SAFETY: the number stands in the first word.
    DIED.with_borrow_mut(|died| died.push(unsafe { *(object as *const u64) }));
}

// SAFETY: `note` takes any object of the type.
static PLAIN: TypeDescriptor = unsafe { TypeDescriptor::plain(c"Plain", 32, &[8, 16, 24]).finalized(note) };
// SAFETY: `note` takes any object of the type.
static SHORT: TypeDescriptor = unsafe { TypeDescriptor::plain(c"Short", 16, &[8]).finalized(note) };
// SAFETY: `note` takes any object of the type.
static TAGGED: TypeDescriptor =
    unsafe { TypeDescriptor::plain(c"Tagged", 24, &[8, 16]).tagged(SlotKind::Tagged, 3, 1, !7).finalized(note) };
// SAFETY: `note` takes any object of the type.
static TAIL: TypeDescriptor = unsafe { TypeDescriptor::plain(c"Tail", 16, &[]).with_tail(8, 8, &[0]).finalized(note) };

#[derive(Default)]
struct Model {
    fields: BTreeMap<u64, Vec<Option<u64>>>,
    counts: BTreeMap<u64, u64>,
    roots: Vec<Option<u64>>,
    pending: Vec<u64>,
    died: Vec<u64>,
}

impl Model {
    fn increment(&mut self, object: Option<u64>) {
        if let Some(object) = object {
            *self.counts.get_mut(&object).expect("alive") += 1;
        }
    }

    fn decrement(&mut self, object: Option<u64>) {
        if let Some(object) = object {
            let count = self.counts.get_mut(&object).expect("alive");
            *count -= 1;
            if *count == 0 && !self.pending.contains(&object) {
                self.pending.push(object);
            }
        }
    }

    fn drain(&mut self) {
        let mut pending = std::mem::take(&mut self.pending);
        pending.reverse();
        while let Some(object) = pending.pop() {
            if self.counts[&object] == 0 {
                self.reclaim(object, &pending);
            }
        }
    }

    /// The definition.
    fn reclaim(&mut self, object: u64, pending: &[u64]) {
        self.died.push(object);
        for target in self.fields.remove(&object).expect("alive").into_iter().flatten() {
            let count = self.counts.get_mut(&target).expect("alive");
            *count -= 1;
            if *count == 0 && !pending.contains(&target) {
                self.reclaim(target, pending);
            }
        }
        self.counts.remove(&object);
    }

    fn reachable(&self) -> BTreeSet<u64> {
        let mut seen = BTreeSet::new();
        let mut queue: Vec<u64> = self.roots.iter().flatten().copied().collect();
        while let Some(object) = queue.pop() {
            if seen.insert(object) {
                queue.extend(self.fields[&object].iter().flatten());
            }
        }
        seen
    }
}

/// Numbers that look random.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }
}

const ROOTS: u64 = 8;

struct Program {
    m: Mutator,
    model: Model,
    random: Random,
    objects: BTreeMap<u64, ObjectRef>,
    next: u64,
    acyclic: bool,
}

impl Program {
    fn new(seed: u64, options: HeapOptions, acyclic: bool) -> Program {
        let mut m = new_mutator(options).expect("address space");
        for _ in 0..ROOTS {
            m.push_root(None);
        }
        DIED.take();
        let model = Model { roots: vec![None; ROOTS as usize], ..Model::default() };
        Program { m, model, random: Random(seed), objects: BTreeMap::new(), next: 1, acyclic }
    }

    fn offset(&self, object: u64, field: u64) -> u64 {
        if self.objects[&object].type_info().stride != 0 { 16 + field * 8 } else { 8 + field * 8 }
    }

    fn word(&self, holder: u64, target: Option<u64>) -> u64 {
        let tag = if &*self.objects[&holder].type_info().name == "Tagged" { 1 } else { 0 };
        target.map_or(0, |target| self.objects[&target].address() | tag)
    }

    fn allocate(&mut self) {
        let number = self.next;
        self.next += 1;
        let length = [1, 3, 60, 300, 3000][self.random.below(5) as usize];
        let (kind, fields) = match self.random.below(8) {
            0..=2 => (&PLAIN, 3),
            3..=5 => (&SHORT, 1),
            6 => (&TAGGED, 2),
            _ => (&TAIL, length),
        };
        let elements = if kind.stride == 0 { 0 } else { fields };
        let object = self.m.allocate_array(type_of(kind), elements).expect("room");
        object.slot(0).store(number);
        self.objects.insert(number, object);
        self.model.fields.insert(number, vec![None; fields as usize]);
        self.model.counts.insert(number, 0);
        self.model.pending.push(number);
        let root = self.random.below(ROOTS);
        self.set_root(root, Some(number));
    }

    fn set_root(&mut self, root: u64, target: Option<u64>) {
        let object = target.map(|target| self.objects[&target]);
        self.m.set_root(RootIndex(root as usize), object);
        self.model.increment(target);
        let old = std::mem::replace(&mut self.model.roots[root as usize], target);
        self.model.decrement(old);
    }

    /// An object that a root reaches.
    fn pick(&mut self) -> Option<u64> {
        let mut object = self.model.roots[self.random.below(ROOTS) as usize]?;
        for _ in 0..self.random.below(6) {
            let fields = &self.model.fields[&object];
            object = fields[self.random.below(fields.len() as u64) as usize].unwrap_or(object);
        }
        Some(object)
    }

    fn write(&mut self) {
        let (Some(holder), target) = (self.pick(), self.pick()) else { return };
        if self.acyclic && target.is_some_and(|target| target >= holder) {
            return;
        }
        let field = self.random.below(self.model.fields[&holder].len() as u64);
        let (object, word, offset) = (self.objects[&holder], self.word(holder, target), self.offset(holder, field));
        self.m.write(object, object.slot(offset), word);
        self.model.increment(target);
        let old = std::mem::replace(&mut self.model.fields.get_mut(&holder).expect("alive")[field as usize], target);
        self.model.decrement(old);
    }

    fn step(&mut self) {
        match self.random.below(10) {
            0..=2 => self.allocate(),
            3..=7 => self.write(),
            8 => {
                let (root, target) = (self.random.below(ROOTS), self.pick());
                self.set_root(root, target);
            }
            _ => {
                let root = self.random.below(ROOTS);
                self.set_root(root, None);
            }
        }
    }

    fn forget_dead(&mut self) {
        self.objects.retain(|number, _| self.model.fields.contains_key(number));
    }
}

/// Without cycles, what dies and in which order is what the recursion says.
#[test]
fn acyclic_programs_die_in_the_order_of_the_recursion() {
    let first = seed::of_the_run(0);
    for seed in first..first + 60 {
        let mut program = Program::new(seed, options(), true);
        for step in 0..600 {
            program.step();
            if program.random.below(4) == 0 {
                program.m.poll();
                program.model.drain();
                let (died, expected) = (DIED.take(), std::mem::take(&mut program.model.died));
                assert_eq!(died, expected, "seed {seed}, step {step}");
                program.forget_dead();
            }
        }
        program.m.verify().unwrap_or_else(|violation| panic!("seed {seed}: {violation}"));
    }
}

fn check_cyclic(number: u64, options: HeapOptions, steps: u64) {
    let seed = number.wrapping_add(seed::of_the_run(0));
    let mut program = Program::new(seed, options, false);
    for step in 0..steps {
        program.step();
        let choice = program.random.below(40);
        if choice < 8 {
            match choice {
                0 => program.m.epoch(),
                1 => drop(program.m.collect()),
                _ => program.m.poll(),
            }
            program.model.drain();
            // The program only ever touches what a root reaches; the rest may be gone.
            let reachable = program.model.reachable();
            DIED.with_borrow(|died| {
                let wrong: Vec<_> = died.iter().filter(|number| reachable.contains(number)).collect();
                assert!(wrong.is_empty(), "seed {seed}, step {step}: {wrong:?} died and are reachable");
            });
            program.model.fields.retain(|number, _| reachable.contains(number));
            for fields in program.model.fields.values() {
                assert!(fields.iter().flatten().all(|target| reachable.contains(target)));
            }
            // Counts from garbage are no matter of the model from here on.
            program.model.counts = reachable.iter().map(|&number| (number, 0)).collect();
            let held: Vec<u64> = program.model.fields.values().flatten().flatten().copied().collect();
            let roots: Vec<u64> = program.model.roots.iter().flatten().copied().collect();
            held.into_iter()
                .chain(roots)
                .for_each(|target| *program.model.counts.get_mut(&target).expect("reachable") += 1);
            program.model.pending.clear();
            program.forget_dead();
        }
        if step % 200 == 199 {
            program.m.verify().unwrap_or_else(|violation| panic!("seed {seed}, step {step}: {violation}"));
        }
    }
    (0..ROOTS).for_each(|root| program.m.set_root(RootIndex(root as usize), None));
    program.m.collect();
    assert_eq!(program.m.statistics().live_objects, 0, "seed {seed}");
    let mut died = DIED.take();
    let all = died.len();
    died.sort();
    died.dedup();
    assert_eq!((died.len(), died.len() as u64), (all, program.next - 1), "seed {seed}: each is finalized once");
}

#[test]
fn cyclic_programs_keep_what_is_reachable_and_lose_the_rest() {
    for number in 0..60 {
        check_cyclic(number, options(), 1000);
    }
}

#[test]
fn cyclic_programs_in_slices() {
    for number in 100..130 {
        check_cyclic(number, HeapOptions { pause_goal_ns: Some(1), slice_units: Some(3), ..options() }, 1000);
    }
}

#[test]
fn cyclic_programs_with_a_mark_in_every_round() {
    for number in 200..230 {
        check_cyclic(number, HeapOptions { eager_marks: true, ..options() }, 1000);
    }
}

#[test]
fn cyclic_programs_in_zeal() {
    for number in 300..306 {
        check_cyclic(number, HeapOptions { zeal: true, ..options() }, 250);
    }
}

/// `set` is the tests' way to write; the random programs write words.
#[test]
fn a_field_can_be_set_and_read_back() {
    let mut m = crate::prompt::mutator();
    let [one, two] = crate::prompt::nodes(&mut m);
    set(&mut m, one, 8, Some(two));
    assert_eq!(one.slot(8).read(), two.address());
}
