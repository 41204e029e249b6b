//! `--log=cycles`: which fields close the cycles that are collected.
//!
//! Whoever finds objects dead together shows some of them here before their memory goes. From each of these a search goes
//! on along references to dead objects until one leads back to the search's own path. That cycle is counted by the types and
//! fields that it consists of, from whichever member it was found:
//!
//! ```text
//! tally: cycles that were collected, of 4096 objects looked at for each epoch:
//!     812 x Parent.child -> Child.parent
//!      40 x Node.next
//! ```
//!
//! Before a search goes deeper it looks at all references of an object, so it finds a short cycle before a long one around it. Members of a
//! cycle that was counted are not searched again in the epoch; the counts are of different cycles, about. Without the log each
//! set costs one test. Memory and time have bounds: `LOOKS`, `KINDS`, `LONGEST`. `[BOUND]`

mod note;

use crate::memory::list::List;
use crate::object::ObjectRef;
use crate::type_registry::TypeInfo;
use crate::visit::Part;
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write;

/// Objects that searches look at in one epoch.
const LOOKS: usize = 4096;
/// Different cycles that are told apart.
const KINDS: usize = 256;
/// References of the longest cycle that is told apart from others.
const LONGEST: usize = 16;
/// Objects of a sample, at most.
const SAMPLE: usize = 1 << 14;
/// References of an object that a search follows: those of a long array are all alike.
const REFERENCES: usize = 256;

/// A reference in a cycle: of a type, by the word at an offset; `None` where a trace function reads it. Elements of an array are alike.
type Step = (&'static TypeInfo, Option<u64>);
/// The same in the order in which cycles are compared.
type Kind = Vec<(u32, Option<u64>)>;

/// The cycles that were found since the log was begun.
#[derive(Debug, Default)]
pub(crate) struct Cycles {
    kinds: FxHashMap<Kind, (Vec<Step>, u64)>,
    /// Cycles of more references than [`LONGEST`], and those that are one kind too many.
    longer: u64,
    others: u64,
    /// The epoch of the last search, the looks that are left in it, and what it has looked at.
    epoch: u64,
    left: usize,
    seen: FxHashSet<ObjectRef>,
    /// Some of the objects that the last collection found alive, where nothing lists the dead of the next.
    sample: List<ObjectRef>,
}

/// An object on the path of a search, and the references that it has not followed.
struct Place {
    object: ObjectRef,
    targets: Vec<ObjectRef>,
}

impl Cycles {
    pub(in crate::report::cycles) fn search(&mut self, start: ObjectRef, is_dead: &impl Fn(ObjectRef) -> bool) {
        let (mut path, mut places) = (Vec::new(), FxHashMap::default());
        let mut next = Some(start);
        loop {
            if let Some(object) = next.take()
                && self.left > 0
                && self.seen.insert(object)
            {
                self.left -= 1;
                places.insert(object, path.len());
                let mut targets = Vec::new();
                object.type_info().for_each_reference(object, Part::Whole, |target| {
                    if targets.len() < REFERENCES && is_dead(target) {
                        targets.push(target);
                    }
                });
                let back = targets.iter().filter_map(|target| places.get(target)).max().copied();
                path.push(Place { object, targets });
                if let Some(first) = back {
                    return self.count(&path[first..]);
                }
            }
            let Some(last) = path.last_mut() else { return };
            next = last.targets.pop();
            if next.is_none() {
                places.remove(&last.object);
                path.pop();
            }
        }
    }

    /// Each object of the cycle refers to the next, and the last to the first.
    fn count(&mut self, cycle: &[Place]) {
        if cycle.len() > LONGEST {
            self.longer += 1;
            return;
        }
        let targets = cycle.iter().skip(1).chain(&cycle[..1]).map(|place| place.object);
        let steps: Vec<Step> = cycle.iter().zip(targets).map(|(from, to)| step(from.object, to)).collect();
        let turned = |by: usize| -> Kind {
            let steps = steps[by..].iter().chain(&steps[..by]);
            steps.map(|(info, offset)| (info.id, *offset)).collect()
        };
        let first = (0..steps.len()).min_by_key(|&by| turned(by)).unwrap_or(0);
        let kind = turned(first);
        let room = self.kinds.len() < KINDS;
        match self.kinds.get_mut(&kind) {
            Some((_, times)) => *times += 1,
            None if room => _ = self.kinds.insert(kind, ([&steps[first..], &steps[..first]].concat(), 1)),
            None => self.others += 1,
        }
    }

    pub(in crate::report::cycles) fn text(&self) -> String {
        let mut kinds: Vec<_> = self.kinds.values().map(|(steps, times)| (*times, path_of(steps))).collect();
        kinds.sort_unstable_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
        let rest =
            [(self.longer, format!("cycles of more than {LONGEST} references")), (self.others, "other cycles".into())];
        kinds.extend(rest.into_iter().filter(|(times, _)| *times != 0));
        let mut text = match kinds.is_empty() {
            true => "tally: no cycles were collected\n".to_owned(),
            false => format!("tally: cycles that were collected, of {LOOKS} objects looked at for each epoch:\n"),
        };
        for (times, path) in kinds {
            _ = writeln!(text, "{times:8} x {path}");
        }
        text
    }
}

fn step(from: ObjectRef, to: ObjectRef) -> Step {
    let info = from.type_info();
    let offset = info.offset_of_reference(from, to);
    let in_element = |offset: u64| info.stride != 0 && offset >= info.size;
    (
        info,
        offset.map(|offset| if in_element(offset) { info.size + (offset - info.size) % info.stride } else { offset }),
    )
}

fn path_of(steps: &[Step]) -> String {
    let names = steps.iter().map(|(info, offset)| match offset {
        None => format!("{} by its trace function", info.name),
        Some(offset) => {
            let field = info.field_name(*offset);
            let field = if *offset >= info.size {
                field.replacen("[0]", "[]", 1).replacen("element 0", "element", 1)
            } else {
                field
            };
            format!("{}.{field}", info.name)
        }
    });
    names.collect::<Vec<_>>().join(" -> ")
}
