//! Shared by the recounts of the plans: the check that objects of acyclic types are in no cycle, and the wording of
//! violations; of those with mature objects, which of these are live, and what the counters say of them. `[CANDIDATE]`

use rustc_hash::{FxHashMap, FxHashSet};
use tally_heap::memory::range::LIVE;
use tally_heap::object::flag;
use tally_heap::report::violation::Violation;
use tally_heap::visit::Part;
use tally_heap::{Heap, ObjectRef};

/// Tarjan's strongly connected components, with worklists: no object of an acyclic type may share one with another
/// object, or refer to itself.
pub(crate) fn check_acyclic(objects: &[ObjectRef]) -> Result<(), Violation> {
    if objects.iter().all(|object| object.type_info().may_be_cyclic || !object.type_info().has_references) {
        return Ok(());
    }
    struct Visit {
        object: ObjectRef,
        targets: Vec<ObjectRef>,
    }
    let mut order: FxHashMap<ObjectRef, (usize, usize)> = FxHashMap::default(); // (index, lowest index reachable)
    let mut component: Vec<ObjectRef> = vec![];
    let mut open: FxHashSet<ObjectRef> = FxHashSet::default();
    let mut path: Vec<Visit> = vec![];
    for &start in objects {
        if order.contains_key(&start) {
            continue;
        }
        let mut next = Some(start);
        loop {
            if let Some(object) = next.take() {
                let index = order.len();
                order.insert(object, (index, index));
                component.push(object);
                open.insert(object);
                let mut targets = vec![];
                object.type_info().for_each_reference(object, Part::Whole, |target| targets.push(target));
                if targets.contains(&object) && !object.type_info().may_be_cyclic {
                    return Err(acyclic_in_cycle(object));
                }
                path.push(Visit { object, targets });
            }
            let Some(visit) = path.last_mut() else { break };
            let object = visit.object;
            if let Some(target) = visit.targets.pop() {
                match order.get(&target) {
                    None => next = Some(target),
                    Some(&(index, _)) if open.contains(&target) => lower(&mut order, object, index),
                    Some(_) => {}
                }
                continue;
            }
            path.pop();
            let (index, lowest) = order[&object];
            if let Some(parent) = path.last() {
                lower(&mut order, parent.object, lowest);
            }
            if index == lowest {
                let first = component.iter().position(|&member| member == object).expect("on the component stack");
                let members = component.split_off(first);
                for member in &members {
                    open.remove(member);
                    if members.len() > 1 && !member.type_info().may_be_cyclic {
                        return Err(acyclic_in_cycle(*member));
                    }
                }
            }
        }
    }
    Ok(())
}

fn lower(order: &mut FxHashMap<ObjectRef, (usize, usize)>, object: ObjectRef, index: usize) {
    if let Some((_, lowest)) = order.get_mut(&object) {
        *lowest = (*lowest).min(index);
    }
}

fn acyclic_in_cycle(object: ObjectRef) -> Violation {
    let what = format!("{} is part of a cycle, and its type is declared acyclic; take TALLY_ACYCLIC off", name(object));
    wrong("CANDIDATE", what)
}

/// Whether a mature object is where the heap says that one lives.
pub(crate) fn is_live(object: ObjectRef) -> bool {
    object.is_mature() && !object.has(flag::DEAD) && (object.has(flag::LARGE) || LIVE.get(object.granule()))
}

/// The counters of mature objects and of the bytes of their cells say what was `found`.
pub(crate) fn check_statistics(heap: &Heap, found: (u64, u64)) -> Result<(), Violation> {
    let said = (heap.statistics.live_objects, heap.statistics.live_bytes);
    if said != found {
        let what = format!("statistics say (objects, bytes) = {said:?}, the heap holds {found:?}");
        return Err(wrong("COUNT", what));
    }
    Ok(())
}

pub(crate) fn name(object: ObjectRef) -> String {
    format!("{object:?} ({})", object.type_info().name)
}

pub(crate) fn wrong(invariant: &'static str, what: String) -> Violation {
    Violation { invariant, what }
}
