//! Variables whose address is passed on while they are alive, and at no other time.
//!
//! ```text
//!   lifetime.start(x)    alive
//!     call take(x)       its address is passed on
//!   lifetime.end(x)      whoever has the address may not use it any more: until it is passed on again, nobody writes to x
//! ```
//!
//! So a root of that kind need not be settled outside (`settled_roots`). An optimiser may have moved what passes the address on to
//! where the variable is not alive, out of a loop for instance, in which it then comes to life again under the same address: the ends of
//! such a variable tell nothing. Nor do those of a variable that starts to live at several places: an optimiser has copied a loop's body, and
//! may have removed from the second what the first has passed on already.

use super::slots::Ways;
use crate::analysis::callee::{Callee, Callees};
use crate::analysis::flow::{Direction, Flow};
use crate::llvm::call::Call;
use crate::llvm::{Builder, HandleMap, HandleSet, Value};
use crate::lower::bit_set::BitSet;
use crate::lower::roots::rooted_variable;

/// The mark of the end of such a variable's life, and of the store of null that takes its place.
pub(in crate::lower) const ENDS: &str = "tally.ends";

enum Event {
    Starts(usize),
    Ends(usize),
    PassesOn(usize),
}

/// Marks the ends of the lives of the variables that these calls of `llvm.gcroot` name.
pub(in crate::lower) fn mark_ends(builder: &Builder, callees: &Callees, function: Value, gcroots: &[Call]) {
    let (mut events, mut ends) = (HandleMap::<Value, Vec<Event>>::default(), Vec::new());
    let mut seen = HandleSet::default();
    let variables = gcroots.iter().filter_map(|call| rooted_variable(call.argument(0)));
    for slot in variables.filter(|&slot| seen.insert(slot)) {
        let markers = |kind: Callee| {
            let calls = slot.users().filter_map(Value::as_call).filter(move |&call| callees.of_call(call) == kind);
            calls.map(Call::value)
        };
        let of_variable: Vec<Value> = markers(Callee::LifetimeEnd).collect();
        if of_variable.is_empty() {
            continue;
        }
        let passed_on = Ways::of(callees, slot).passed_on;
        if passed_on.is_empty() {
            continue;
        }
        let number = ends.len();
        let mut starts = markers(Callee::LifetimeStart);
        let (Some(start), None) = (starts.next(), starts.next()) else { continue };
        events.entry(start).or_default().push(Event::Starts(number));
        of_variable.iter().for_each(|&end| events.entry(end).or_default().push(Event::Ends(number)));
        passed_on.into_iter().for_each(|it| events.entry(it).or_default().push(Event::PassesOn(number)));
        ends.push(of_variable);
    }
    if ends.is_empty() {
        return;
    }
    let unknown = passed_on_while_dead(function, &events, ends.len());
    let known = ends.into_iter().enumerate().filter(|(number, _)| !unknown.contains(*number));
    known.flat_map(|(_, ends)| ends).for_each(|end| builder.mark(end, ENDS));
}

/// The variables whose address may be passed on where they are not alive.
fn passed_on_while_dead(function: Value, events: &HandleMap<Value, Vec<Event>>, variables: usize) -> BitSet {
    let flow = Flow::of(function);
    let (mut none_is_alive, mut unknown) = (BitSet::empty(variables), BitSet::empty(variables));
    (0..variables).for_each(|variable| none_is_alive.insert(variable));
    let through = |block: usize, mut dead: BitSet| {
        for instruction in flow.blocks[block].instructions() {
            for event in events.get(&instruction).into_iter().flatten() {
                match *event {
                    Event::Starts(variable) => dead.remove(variable),
                    Event::Ends(variable) => dead.insert(variable),
                    Event::PassesOn(variable) if dead.contains(variable) => unknown.insert(variable),
                    Event::PassesOn(_) => {}
                }
            }
        }
        dead
    };
    flow.solve(Direction::Forward, &none_is_alive, |into, from| _ = into.union(from), through);
    unknown
}
