//! Sets of functions that depend on each other through calls: the largest, or the smallest, in which each member fits.
//!
//! A function is checked again when one that it calls has left or entered the set. Rounds over all functions would take
//! the square of the length of a chain of calls.

use crate::llvm::{HandleSet, Value};
use std::collections::VecDeque;

/// The largest set of these functions each of which is `fitting`, given the set.
pub(crate) fn largest(
    functions: impl Iterator<Item = Value>,
    fitting: impl Fn(&HandleSet<Value>, Value) -> bool,
) -> HandleSet<Value> {
    let mut queue = Queue::of(functions);
    let mut set = queue.waiting.clone();
    while let Some(function) = queue.pop() {
        if set.contains(&function) && !fitting(&set, function) {
            set.remove(&function);
            queue.extend(callers(function).filter(|caller| set.contains(caller)));
        }
    }
    set
}

/// The smallest set that contains each function of `all` that is `fitting`, given the set; the search begins at `first`.
pub(crate) fn smallest(
    first: impl Iterator<Item = Value>,
    all: &HandleSet<Value>,
    fitting: impl Fn(&HandleSet<Value>, Value) -> bool,
) -> HandleSet<Value> {
    let mut queue = Queue::of(first);
    let mut set = HandleSet::default();
    while let Some(function) = queue.pop() {
        if !set.contains(&function) && fitting(&set, function) {
            set.insert(function);
            queue.extend(callers(function).filter(|caller| all.contains(caller)));
        }
    }
    set
}

/// The functions that call this one, once for each call.
pub(crate) fn callers(function: Value) -> impl Iterator<Item = Value> {
    function.calls_of_it().map(|call| call.value().function())
}

/// Functions that wait for a look, each once: one that calls another a thousand times is looked through once for it.
pub(crate) struct Queue {
    order: VecDeque<Value>,
    waiting: HandleSet<Value>,
}

impl Queue {
    pub(crate) fn of(functions: impl Iterator<Item = Value>) -> Queue {
        let mut queue = Queue { order: VecDeque::new(), waiting: HandleSet::default() };
        queue.extend(functions);
        queue
    }

    /// Adds those that do not wait yet.
    pub(crate) fn extend(&mut self, functions: impl Iterator<Item = Value>) {
        self.order.extend(functions.filter(|&function| self.waiting.insert(function)));
    }

    /// The function that has waited longest.
    pub(crate) fn pop(&mut self) -> Option<Value> {
        let function = self.order.pop_front()?;
        self.waiting.remove(&function);
        Some(function)
    }
}
