//! Random programs of a host, against a model that knows which objects are reachable and what they hold.
//!
//! Each object has a number in its last word. What is read must have the number that the model says; what is reachable is
//! yielded by everything weak, and what a weak thing yields is whole. At the end nothing is left.

use crate::host::{both_with_zeal, options};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::time::Duration;
use tally::{Global, Handle, Heap, Ref, Scope, TypeBuilder, TypeId, WeakMode};

const ROOTS: usize = 12;
const NUMBER: u64 = 24;
const WEAK_FIELD: u64 = 16;

type Number = u64;

struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// What a root holds: the object, by number, and the handle that keeps it.
type Root = Option<(Number, Global)>;

struct Program {
    dice: Dice,
    types: [TypeId; 2],
    fields: HashMap<Number, [Option<Number>; 2]>,
    roots: [Root; ROOTS],
    /// Weak references, and the numbers of their targets.
    weak: Vec<(Number, Global)>,
    map: Global,
    entries: HashMap<Number, Number>,
    finalized: Rc<RefCell<HashSet<Number>>>,
    made: Number,
}

fn number_of(object: Ref<'_>) -> Number {
    object.word(NUMBER)
}

impl Program {
    fn new(heap: &mut Heap, seed: u64) -> Program {
        let finalized: Rc<RefCell<HashSet<Number>>> = Rc::default();
        let note = finalized.clone();
        let node = |name| TypeBuilder::new(name, 32).reference("left", 0).reference("right", 8);
        let plain = node("Plain").register().expect("a sound type");
        let closed = node("Closed").finalizer(move |scope, object| {
            let number = number_of(scope.get(object));
            assert!(note.borrow_mut().insert(number), "{number} is finalized twice");
            let mut inner = scope.nested();
            let made = inner.allocate(plain).expect("room");
            inner.set_field(inner.get(made), 0, Some(inner.get(object)));
            inner.poll();
        });
        let types = [plain, closed.register().expect("a sound type")];
        let mut scope = heap.scope();
        let map = scope.new_weak_map(WeakMode::Keys).expect("room");
        let map = scope.global(scope.get(map));
        let (fields, entries) = (HashMap::new(), HashMap::new());
        let roots = std::array::from_fn(|_| None);
        Program { dice: Dice(seed), types, fields, roots, weak: vec![], map, entries, finalized, made: 0 }
    }

    fn reachable(&self) -> HashSet<Number> {
        let mut found: HashSet<Number> = HashSet::new();
        let mut queue: Vec<Number> = self.roots.iter().flatten().map(|root| root.0).collect();
        loop {
            while let Some(next) = queue.pop() {
                if found.insert(next) {
                    queue.extend(self.fields[&next].iter().flatten());
                }
            }
            // A value of the map is alive while its key is.
            let values = self.entries.iter().filter(|(key, _)| found.contains(*key)).map(|(_, value)| *value);
            queue.extend(values.filter(|value| !found.contains(value)));
            if queue.is_empty() {
                return found;
            }
        }
    }

    fn root(&mut self) -> usize {
        self.dice.below(ROOTS)
    }

    fn object<'s>(&self, scope: &'s Scope<'_>, root: usize) -> Option<(Number, Ref<'s>)> {
        let (number, global) = self.roots[root].as_ref()?;
        let object = scope.open(global);
        assert_eq!(number_of(object), *number);
        Some((*number, object))
    }

    fn handle<'h>(&self, scope: &Scope<'h>, root: usize) -> Option<(Number, Handle<'h>)> {
        self.object(scope, root).map(|(number, object)| (number, scope.root(object)))
    }

    fn keep(&mut self, scope: &Scope<'_>, root: usize, object: Option<Ref<'_>>) {
        self.roots[root] = object.map(|object| (number_of(object), scope.global(object)));
    }

    /// What something weak has yielded for that number.
    fn yielded(&self, number: Number, object: Option<Ref<'_>>) {
        assert!(object.is_none_or(|object| number_of(object) == number), "{number}");
        assert!(object.is_some() || !self.reachable().contains(&number), "{number} is reachable");
    }

    fn step(&mut self, scope: &mut Scope<'_>) {
        let [a, b] = [self.root(), self.root()];
        let side = self.dice.below(2);
        match self.dice.below(14) {
            0..3 => {
                let made = scope.allocate(self.types[side]).expect("room");
                self.made += 1;
                scope.set_word(scope.get(made), NUMBER, self.made);
                self.fields.insert(self.made, [None, None]);
                self.keep(scope, a, Some(scope.get(made)));
            }
            3 => self.keep(scope, a, None),
            4 | 5 => {
                let Some((from, object)) = self.object(scope, a) else { return };
                let to = self.object(scope, b);
                scope.set_field(object, side as u64 * 8, to.map(|to| to.1));
                let to = to.map(|to| to.0);
                self.fields.get_mut(&from).expect("made")[side] = to;
            }
            6 => {
                let Some((from, object)) = self.object(scope, a) else { return };
                let found = object.field(side as u64 * 8);
                assert_eq!(found.map(number_of), self.fields[&from][side]);
                self.keep(scope, b, found);
            }
            7 => {
                let Some((number, target)) = self.handle(scope, a) else { return };
                let weak = if side == 0 {
                    scope.new_weak(target)
                } else {
                    scope.new_weak_with(target, |scope, weak| _ = scope.target(scope.get(weak)))
                };
                let weak = weak.expect("room");
                self.weak.push((number, scope.global(scope.get(weak))));
            }
            8 if !self.weak.is_empty() => {
                let at = self.dice.below(self.weak.len());
                let (number, weak) = &self.weak[at];
                let target = scope.target(scope.open(weak));
                self.yielded(*number, target);
                match target {
                    Some(_) => self.keep(scope, b, target),
                    None => _ = self.weak.swap_remove(at),
                }
            }
            9 => {
                let (Some((_, from)), Some((number, to))) = (self.object(scope, a), self.object(scope, b)) else {
                    return;
                };
                scope.set_weak_field(from, WEAK_FIELD, Some(to));
                self.yielded(number, scope.weak_field(from, WEAK_FIELD));
            }
            10 => {
                let (Some((key, from)), Some((value, to))) = (self.handle(scope, a), self.handle(scope, b)) else {
                    return;
                };
                let map = scope.root(scope.open(&self.map));
                scope.weak_map_set(map, from, to).expect("room");
                self.entries.insert(key, value);
            }
            11 => {
                let Some((key, from)) = self.object(scope, a) else { return };
                let map = scope.open(&self.map);
                let found = scope.weak_map_get(map, from);
                assert_eq!(found.map(number_of), self.entries.get(&key).copied());
                if side == 0 && scope.weak_map_remove(map, from) {
                    self.entries.remove(&key);
                }
            }
            12 => {
                let value = scope.allocate_host(self.made).expect("room");
                scope.add_external_bytes(scope.get(value), 1 << 14);
                assert_eq!(scope.host::<Number>(scope.get(value)), Some(&self.made));
            }
            _ => match self.dice.below(20) {
                0 => _ = scope.collect(),
                1 => scope.epoch(),
                2..6 => _ = scope.collect_for(Duration::ZERO),
                _ => scope.poll(),
            },
        }
    }

    /// Nothing that is reachable has been finalized, and it holds what the model says.
    fn check(&self, scope: &Scope<'_>) {
        let mut seen = HashSet::new();
        let mut queue: Vec<Ref<'_>> = (0..ROOTS).filter_map(|root| Some(self.object(scope, root)?.1)).collect();
        while let Some(object) = queue.pop() {
            let number = number_of(object);
            if seen.insert(number) {
                let fields = [object.field(0), object.field(8)];
                assert_eq!(fields.map(|field| field.map(number_of)), self.fields[&number]);
                queue.extend(fields.into_iter().flatten());
            }
        }
    }
}

#[test]
fn random_programs_of_a_host_read_what_they_have_written() {
    for (plan, zeal) in both_with_zeal() {
        for seed in 0..if zeal { 3 } else { 12 } {
            let mut heap = Heap::new(options(plan).zeal(zeal).epoch_bytes(1 << 14)).expect("address space");
            heap.on_finalizer_error(|error| panic!("{error}"));
            let mut program = Program::new(&mut heap, seed);
            for step in 0..if zeal { 600 } else { 20_000 } {
                let mut scope = heap.scope();
                program.step(&mut scope);
                if step % 200 == 0 {
                    program.check(&scope);
                    drop(scope);
                    heap.verify().unwrap_or_else(|error| panic!("{plan:?}, zeal {zeal}, {seed}, {step}: {error}"));
                }
            }
            let finalized = program.finalized.clone();
            let made = program.made;
            drop(program);
            (0..3).for_each(|_| _ = heap.scope().collect());
            heap.verify().expect("a sound heap");
            assert_eq!(heap.statistics().live_objects, 0, "{plan:?}, zeal {zeal}, seed {seed}");
            assert!(finalized.borrow().len() as u64 > made / 4, "{plan:?}: about half of {made} have finalizers");
        }
    }
}
