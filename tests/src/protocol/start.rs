//! The first states of a search.

use super::{FIELDS_MAX, First, Model, NULL, Name, OBJECTS_MAX, Start, State, Words, flag};

impl Model {
    /// The first states, some perhaps more than once under different names.
    pub(super) fn first_states(&self) -> Vec<State> {
        assert!(self.objects <= OBJECTS_MAX && self.fields <= FIELDS_MAX, "the heap is too large for the model");
        match &self.start {
            Start::Empty => vec![self.state_of(&[])],
            Start::Heap(heap) => vec![self.state_of(heap)],
            Start::EveryHeap => (1..=self.objects).flat_map(|objects| self.heaps_of(objects)).collect(),
        }
    }

    fn state_of(&self, heap: &[First]) -> State {
        let mut state = State { operations: self.operations, ..State::default() };
        for (name, &First { words, held, roots, block }) in heap.iter().enumerate() {
            let object = &mut state.objects[name];
            object.flags = flag::USED | flag::MATURE | flag::UNLOGGED;
            (object.words, object.held, object.roots, object.block) = (words, held, roots, block);
            object.count += roots;
            for target in words.into_iter().filter(|&target| target != NULL) {
                state.objects[usize::from(target)].count += 1;
            }
        }
        state.objects.iter_mut().for_each(|object| object.count = object.count.min(self.stuck));
        state
    }

    /// Every heap of so many objects, each counted at least once. Two fields of an object are ordered, because they
    /// are equivalent.
    fn heaps_of(&self, objects: usize) -> Vec<State> {
        let mut names: Vec<Name> = (0..objects as Name).collect();
        names.push(NULL);
        let mut fields: Vec<Words> = vec![];
        for (place, &first) in names.iter().enumerate() {
            match self.fields {
                1 => fields.push([first, NULL]),
                _ => fields.extend(names[place..].iter().map(|&second| [first, second])),
            }
        }
        let mut heaps: Vec<Vec<First>> = vec![vec![]];
        for _ in 0..objects {
            heaps = heaps
                .iter()
                .flat_map(|heap| {
                    let held: u8 = heap.iter().map(|first| first.held).sum();
                    let more = fields.iter().flat_map(move |&words| {
                        (0..=self.roots - held).map(move |held| First { words, held, roots: held, block: 0 })
                    });
                    more.map(|first| [&heap[..], &[first]].concat())
                })
                .collect();
        }
        let states = heaps.iter().map(|heap| self.state_of(heap));
        states.filter(|state| state.objects[..objects].iter().all(|object| object.count > 0)).collect()
    }
}
