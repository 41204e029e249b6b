//! Random programs over weak slots, against a graph that knows what must be there: what roots reach is never cleared, what a slot
//! yields is what it was set to and whole, and a collection leaves no slot that refers to anything unreachable. `[WEAK]`
//!
//! Epochs, marks and drains run in small slices between the steps, so that upgrades meet every phase.

use std::collections::HashSet;
use tally_collector::Mutator;
use tally_heap::plan::Plan;
use tally_heap::services::host_roots::RootIndex;
use tally_heap::services::weak::WeakKind;
use tally_heap::{HeapOptions, ObjectRef, TypeDescriptor, type_registry};
use tally_kit::nodes::new_mutator;
use tally_kit::seed;

/// Two counted fields, a weak slot, a number.
static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 32, &[0, 8]);
static LARGE: TypeDescriptor = TypeDescriptor::plain(c"Large", 20_000, &[0, 8]);
/// An ephemeron: the weak slot is its key.
static EPHEMERON: TypeDescriptor = TypeDescriptor::plain(c"Ephemeron", 32, &[0, 8]).ephemeron();
const WEAK: u64 = 16;
const NUMBER: u64 = 24;
const ROOTS: usize = 24;

/// xorshift64*: a test needs no better.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
    }
}

#[derive(Clone, Copy)]
struct Node {
    object: ObjectRef,
    ephemeron: bool,
    fields: [Option<usize>; 2],
    weak: Option<usize>,
}

struct Program {
    m: Mutator,
    plan: Plan,
    random: Random,
    nodes: Vec<Node>,
    roots: [Option<usize>; ROOTS],
    yielded: usize,
    refused: usize,
}

impl Program {
    fn new(options: HeapOptions, seed: u64) -> Program {
        let plan = options.plan;
        let mut m = new_mutator(options).expect("address space");
        for _ in 0..ROOTS {
            m.push_root(None);
        }
        Program { m, plan, random: Random(seed), nodes: vec![], roots: [None; ROOTS], yielded: 0, refused: 0 }
    }

    fn set_root(&mut self, root: usize, node: Option<usize>) {
        self.roots[root] = node;
        self.m.set_root(RootIndex(root), node.map(|node| self.nodes[node].object));
    }

    /// A root that holds something.
    fn any(&mut self) -> Option<usize> {
        self.roots[self.random.below(ROOTS)]
    }

    fn reachable(&self) -> HashSet<usize> {
        let mut stack: Vec<usize> = self.roots.iter().flatten().copied().collect();
        let (mut seen, mut held_back) = (HashSet::new(), vec![]);
        loop {
            while let Some(node) = stack.pop() {
                if seen.insert(node) {
                    held_back.push(node);
                }
            }
            let lives = |node: &usize| {
                let node = self.nodes[*node];
                !node.ephemeron || node.weak.is_none_or(|key| seen.contains(&key))
            };
            let (follow, rest): (Vec<usize>, Vec<usize>) = held_back.into_iter().partition(lives);
            held_back = rest;
            if follow.is_empty() {
                return seen;
            }
            stack.extend(follow.iter().flat_map(|&node| self.nodes[node].fields).flatten());
        }
    }

    /// Whether the node's fields may be used: an ephemeron's only with its key at hand.
    fn may_use(&mut self, node: usize) -> bool {
        let Node { object, ephemeron, weak, .. } = self.nodes[node];
        let Some(key) = weak.filter(|_| ephemeron) else { return true };
        if self.m.read_weak(object.slot(WEAK)).is_some() {
            return true;
        }
        assert!(!self.reachable().contains(&key), "node {key} is reachable, and an ephemeron has lost it");
        if object.slot(WEAK).read() == 0 {
            assert_eq!(
                [0, 8].map(|offset| object.slot(offset).read()),
                [0, 0],
                "an ephemeron without its key is empty"
            );
            (self.nodes[node].weak, self.nodes[node].fields) = (None, [None; 2]);
        }
        false
    }

    fn step(&mut self) {
        if self.plan == Plan::Deferred {
            match self.random.below(20) {
                0..8 => _ = self.m.step(1 + self.random.below(9) as u64),
                8 => self.m.flip(),
                _ => {}
            }
        }
        let (root, field) = (self.random.below(ROOTS), self.random.below(2));
        match self.random.below(100) {
            0..20 => {
                let descriptor = match self.random.below(40) {
                    0 => &LARGE,
                    1..12 => &EPHEMERON,
                    _ => &NODE,
                };
                self.allocate(descriptor, root);
            }
            20..25 => self.ring(root),
            25..45 => {
                if let Some(holder) = self.any() {
                    let target = self.any();
                    self.link(holder, field, target);
                }
            }
            45..55 => {
                if let Some(holder) = self.any().filter(|&holder| self.may_use(holder)) {
                    self.set_root(root, self.nodes[holder].fields[field]);
                }
            }
            55..65 => self.set_root(root, None),
            65..78 => {
                if let Some(holder) = self.any() {
                    let from = self.random.below(ROOTS);
                    let target = self.roots[from];
                    self.link_weakly(holder, target);
                    if self.random.below(2) == 0 {
                        self.set_root(from, None);
                    }
                }
            }
            78..90 => self.upgrade(root),
            90..99 => self.m.poll(),
            _ => match self.random.below(3) {
                0 => self.collect(),
                _ => self.m.epoch(),
            },
        }
    }

    fn allocate(&mut self, descriptor: &'static TypeDescriptor, root: usize) -> usize {
        let type_id = type_registry::register(descriptor).expect("sound");
        let object = self.m.allocate(type_id).expect("memory");
        object.slot(NUMBER).store(self.nodes.len() as u64);
        let ephemeron = std::ptr::eq(descriptor, &EPHEMERON);
        self.nodes.push(Node { object, ephemeron, fields: [None; 2], weak: None });
        self.set_root(root, Some(self.nodes.len() - 1));
        self.nodes.len() - 1
    }

    fn link(&mut self, holder: usize, field: usize, target: Option<usize>) {
        if !self.may_use(holder) {
            return;
        }
        let (object, word) = (self.nodes[holder].object, target.map_or(0, |at| self.nodes[at].object.address()));
        self.nodes[holder].fields[field] = target;
        self.m.write(object, object.slot(field as u64 * 8), word);
    }

    fn link_weakly(&mut self, holder: usize, target: Option<usize>) {
        if !self.may_use(holder) {
            return;
        }
        let Node { object, ephemeron, .. } = self.nodes[holder];
        self.nodes[holder].weak = target;
        let kind = if ephemeron { WeakKind::Key } else { WeakKind::Reference };
        self.m.heap().write_weak(object, object.slot(WEAK), target.map(|at| self.nodes[at].object), kind);
    }

    /// A ring over what the root holds, which some other object refers to weakly.
    fn ring(&mut self, root: usize) {
        let Some(old) = self.roots[root] else { return };
        let new = self.allocate(&NODE, root);
        self.link(new, 0, Some(old));
        self.link(old, 1, Some(new));
        if let Some(holder) = self.any() {
            let target = [old, new][self.random.below(2)];
            self.link_weakly(holder, Some(target));
        }
    }

    fn upgrade(&mut self, root: usize) {
        let start = self.random.below(ROOTS);
        let roots = (0..ROOTS).filter_map(|at| self.roots[(start + at) % ROOTS]);
        let worth = |weak: Option<usize>| (weak.is_some(), weak.is_some() && !self.roots.contains(&weak));
        let Some(holder) = roots.max_by_key(|&at| worth(self.nodes[at].weak)) else { return };
        let object = self.nodes[holder].object;
        let Some(target) = self.nodes[holder].weak else {
            return assert_eq!(self.m.read_weak(object.slot(WEAK)), None);
        };
        match self.m.read_weak(object.slot(WEAK)) {
            Some(found) => {
                assert_eq!(found, self.nodes[target].object);
                assert_eq!(found.slot(NUMBER).read(), target as u64, "what a weak slot yields is whole");
                self.yielded += 1;
                if self.random.below(3) == 0 {
                    self.set_root(root, Some(target));
                }
            }
            None => {
                assert!(!self.reachable().contains(&target), "node {target} is reachable, and its weak slot is empty");
                self.refused += 1;
            }
        }
    }

    fn collect(&mut self) {
        self.m.collect();
        let reachable = self.reachable();
        for &node in &reachable {
            let node = self.nodes[node];
            let word = node.object.slot(WEAK).read();
            let expected =
                node.weak.filter(|target| reachable.contains(target)).map(|at| self.nodes[at].object.address());
            assert_eq!(word, expected.unwrap_or(0));
            let emptied = node.ephemeron && node.weak.is_some() && expected.is_none();
            for (field, offset) in node.fields.iter().zip([0, 8]) {
                let expected = field.filter(|_| !emptied).map_or(0, |at| self.nodes[at].object.address());
                assert_eq!(node.object.slot(offset).read(), expected);
            }
        }
    }
}

fn options(plan: Plan, kind: usize) -> HeapOptions {
    let default = HeapOptions { plan, ..HeapOptions::default() };
    match kind {
        0 => HeapOptions { slice_units: Some(3), eager_marks: true, trials: false, ..default },
        1 => HeapOptions { slice_units: Some(40), eager_marks: true, ..default },
        2 => HeapOptions { slice_units: Some(7), pause_goal_ns: Some(1), ..default },
        3 => HeapOptions { zeal: true, ..default },
        _ => default,
    }
}

/// `TALLY_WEAK_SEEDS` runs more of them; `TALLY_WEAK_TRACE` names each before it runs, for those that a violation ends.
fn run(plan: Plan, steps: usize) {
    let seeds = std::env::var("TALLY_WEAK_SEEDS").map_or(12, |count| count.parse().expect("a number"));
    let mut seen = (0, 0);
    let first = seed::of_the_run(0);
    for seed in first..first + seeds {
        for kind in 0..5 {
            let steps = if kind == 3 { steps / 4 } else { steps };
            if std::env::var_os("TALLY_WEAK_TRACE").is_some() {
                eprintln!("{plan:?}, options {kind}, seed {seed}");
            }
            let mut program = Program::new(options(plan, kind), seed.wrapping_mul(7919).wrapping_add(1));
            let run = std::panic::AssertUnwindSafe(|| {
                (0..steps).for_each(|_| program.step());
                program.collect();
                (0..ROOTS).for_each(|root| program.set_root(root, None));
                program.m.collect();
                program.m.verify().expect("sound");
                assert!(program.m.heap().services.specials.is_empty());
            });
            if let Err(panic) = std::panic::catch_unwind(run) {
                eprintln!("{plan:?}, options {kind}, seed {seed}");
                std::panic::resume_unwind(panic);
            }
            seen = (seen.0 + program.yielded, seen.1 + program.refused);
        }
    }
    assert!(seen.0 > steps && seen.1 > steps / 10, "programs to the point: {seen:?}");
}

#[test]
fn deferred() {
    run(Plan::Deferred, 3000);
}

#[test]
fn prompt() {
    run(Plan::Prompt, 3000);
}
