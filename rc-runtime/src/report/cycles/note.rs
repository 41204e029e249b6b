//! Where dead objects are shown to the search for cycles, and where a host asks what it has found.

use super::{LOOKS, SAMPLE};
use crate::heap::Heap;
use crate::memory::list::List;
use crate::object::ObjectRef;

impl Heap {
    /// Some of `dead` were found dead together: their references are still there, also those to others for which `is_dead` is true.
    #[inline(always)]
    pub fn note_cycles(&mut self, dead: impl Iterator<Item = ObjectRef>, is_dead: impl Fn(ObjectRef) -> bool) {
        if self.cycles.is_some() {
            self.search_cycles(dead, is_dead);
        }
    }

    /// Whether [`note_cycles`](Self::note_cycles) does anything.
    pub fn notes_cycles(&self) -> bool {
        self.cycles.is_some()
    }

    #[cold]
    #[inline(never)]
    fn search_cycles(&mut self, dead: impl Iterator<Item = ObjectRef>, is_dead: impl Fn(ObjectRef) -> bool) {
        let epoch = self.statistics.epochs;
        let Some(cycles) = &mut self.cycles else { return };
        if cycles.epoch != epoch {
            (cycles.epoch, cycles.left) = (epoch, LOOKS);
            // An address that was seen may be another object's by now.
            cycles.seen.clear();
        }
        for object in dead {
            if cycles.left == 0 {
                break;
            }
            if is_dead(object) && !cycles.seen.contains(&object) {
                cycles.search(object, &is_dead);
            }
        }
    }

    /// Trace plan, and heaps that mark instead of counting: which objects are alive is about to be forgotten, and what dies in this
    /// collection is never listed. So some of them are looked at again when they are marked.
    #[inline(always)]
    pub(crate) fn sample_for_cycles(&mut self) {
        if self.cycles.is_some() {
            self.take_sample();
        }
    }

    #[cold]
    fn take_sample(&mut self) {
        let (mut sample, mut one_of, mut number) = (List::new(), 1, 0_usize);
        self.for_each_known(|_, object| {
            if number.is_multiple_of(one_of) {
                sample.push(object);
                if sample.len() == SAMPLE {
                    one_of *= 2;
                    let mut at = 0_usize;
                    sample.retain(|_| {
                        at += 1;
                        at % 2 == 1
                    });
                }
            }
            number += 1;
        });
        if let Some(cycles) = &mut self.cycles {
            cycles.sample = sample;
        }
    }

    /// The same where the collection has marked what lives.
    pub fn note_cycles_of_sample(&mut self, is_dead: impl Fn(ObjectRef) -> bool) {
        if let Some(cycles) = &mut self.cycles {
            let sample = std::mem::take(&mut cycles.sample);
            self.note_cycles(sample.iter().copied(), is_dead);
        }
    }

    /// Notes the cycles that are collected from now on, or forgets what was noted and notes none.
    pub fn log_cycles(&mut self, on: bool) {
        self.cycles = on.then(Box::default);
    }

    /// What was noted since [`log_cycles`](Self::log_cycles), as lines of text; empty when it is off.
    pub fn cycle_report(&self) -> String {
        self.cycles.as_ref().map_or_else(String::new, |cycles| cycles.text())
    }
}
