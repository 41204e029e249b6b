//! References that outlive a safepoint in no root, and references stored past the barrier: rules 2 to 6 of the
//! contract, the porter's commonest bugs.
//!
//! ```text
//!   %a = call ptr @f()          ; a reference, valid until the next safepoint starts (rule 4)
//!   %b = call ptr @g()          ; a safepoint: %a sits in no root, its object may die
//!   call void @h(ptr %a, ptr %b)   ; too late
//! ```
//!
//! A forward dataflow (`watch.rs`) follows each reference through SSA and through local memory (`memory.rs`), and
//! knows which root slots may hold it. A safepoint makes a reference stale that no root may hold; a use of a stale
//! one is reported, once per reference and safepoint. Where paths meet, "may be in this root" is kept from either
//! side: a missed bug is better than a warning about a correct program. `references.rs` defines the references, and
//! `summaries.rs` those that go from one function to another. `plain_stores.rs` checks stores to memory that is
//! neither local nor a root, and `without_strategy.rs` finds what functions make that have no strategy, and so no roots.

mod calls;
mod few_numbers;
mod memory;
mod origins;
mod plain_stores;
mod references;
mod results;
mod state;
mod summaries;
mod uses;
mod watch;
mod without_strategy;

use super::source::passed_globals;
use crate::analysis::callee::{Callee, Callees};
use crate::analysis::fixed_point::{Queue, callers};
use crate::diagnostic::Diagnostic;
use crate::llvm::call::Call;
use crate::llvm::{HandleMap, HandleSet, Module, Opcode, Value};
use crate::lower::Plan;
use crate::lower::descriptor::Descriptor;
use crate::lower::inferred;
use memory::split;
use plain_stores::PlainStore;
use references::References;
use std::collections::{BTreeMap, HashSet};
use summaries::Summaries;
use watch::{Event, Watch};

/// Words of a finding about a reference.
const IN_NO_ROOT: &str = "sits in no root at the safepoint";
const USED_AFTER: &str = "and is used after it";

/// A finding about a function that was not followed to its end.
const GAVE_UP: &str = "so many references meet that they were not followed: roots were not checked";

/// One warning per reference and safepoint, and per store, that breaks a rule.
///
/// Clang leaves the scopes of C by one block for all ways out, and a local struct's words are one variable: paths and values meet
/// there that never do in the program. So a reference that is found in no root is looked for again in a copy, in which paths are
/// apart and words are values. What is not found again was nothing; if a function has others there, those are it. Nothing is looked
/// at twice beside a function that is too much for one look.
pub(crate) fn warnings(module: Module, name: &str, gc_names: &[(String, Plan)]) -> Vec<Diagnostic> {
    let found = warnings_of(module, name, gc_names);
    let (suspected, mut sure): (Vec<Diagnostic>, Vec<Diagnostic>) = found.into_iter().partition(is_in_no_root);
    if suspected.is_empty() || sure.iter().any(|warning| warning.message == GAVE_UP) {
        return sure.into_iter().chain(suspected).collect();
    }
    let again = module.with_copy(|copy| {
        copy.run_passes("function(sroa,jump-threading)");
        warnings_of(copy, name, gc_names)
    });
    let again: Vec<Diagnostic> = again.into_iter().filter(is_in_no_root).collect();
    let functions = |of: &[Diagnostic]| of.iter().map(|warning| warning.function.clone()).collect::<HashSet<_>>();
    let sites: HashSet<_> = again.iter().map(site).collect();
    let known = functions(&suspected);
    let same: Vec<Diagnostic> = suspected.into_iter().filter(|warning| sites.contains(&site(warning))).collect();
    let told = functions(&same);
    let others = again.iter().filter(|it| known.contains(&it.function) && !told.contains(&it.function));
    sure.extend(same.into_iter().chain(others.cloned()));
    sure
}

fn is_in_no_root(warning: &Diagnostic) -> bool {
    warning.message.contains(IN_NO_ROOT)
}

/// The function, and what is wrong there: of a reference in no root the safepoint, since values may have other names in a copy.
fn site(warning: &Diagnostic) -> (Option<&str>, &str) {
    let message = warning.message.split_once(IN_NO_ROOT).map_or(&*warning.message, |(_, rest)| rest);
    (warning.function.as_deref(), message.split_once(USED_AFTER).map_or(message, |(safepoint, _)| safepoint))
}

fn warnings_of(module: Module, name: &str, gc_names: &[(String, Plan)]) -> Vec<Diagnostic> {
    let callees = Callees::of(module);
    let managed = super::source::managed_functions(module, gc_names);
    let returning = references::returning_references(&callees, &managed);
    let has_barrier = managed.iter().any(|&function| super::source::plan_of(function, gc_names).has_barrier());
    let counts = managed.iter().any(|&function| super::source::plan_of(function, gc_names).counts_each_write());
    let summaries = Summaries::default();
    let mut all = All { callees: &callees, module, name, returning, summaries, has_barrier, counts };
    all.summaries = Summaries::of(&all.returning);
    all.know_finalizers();
    let makers = match inferred::is_done_for_all(module) {
        true => Vec::new(),
        false => without_strategy::makers(&callees, module),
    };
    let mut findings = all.follow(managed.iter().copied().chain(makers));
    findings.extend(passed_globals::found(module, name, &callees).into_iter().map(|passed| passed.finding));
    findings
}

struct All<'a> {
    callees: &'a Callees,
    module: Module,
    name: &'a str,
    returning: HandleSet<Value>,
    summaries: Summaries,
    /// Stores of references to objects are writes. Without a barrier they are stores.
    has_barrier: bool,
    /// Each such write counts, in a fresh object, too.
    counts: bool,
}

impl All<'_> {
    fn watch(&self, function: Value) -> Watch<'_> {
        let references = References::of(self.callees, function, &self.returning);
        Watch::new(self.callees, references, &self.summaries, function)
    }

    /// Notes that destructors get objects from the runtime.
    fn know_finalizers(&mut self) {
        let descriptors: HandleSet<Value> = self
            .callees
            .calls_of(|callee| matches!(callee, Callee::New | Callee::NewArray))
            .map(|call| call.argument(0))
            .collect();
        let read = |descriptor| Descriptor::read(self.module, descriptor)?.finalizer;
        for finalizer in descriptors.into_iter().filter_map(read).filter(|it| it.is_function() && it.has_body()) {
            self.summaries.give_to_finalizer(finalizer);
        }
    }

    /// Finds the references that functions pass to each other. A function is analysed again when one of its callers
    /// or callees has new results; functions that are not among the first, when they get a reference. Returns the findings of the
    /// last analysis of each, in the module's order.
    fn follow(&mut self, first: impl Iterator<Item = Value>) -> Vec<Diagnostic> {
        let known: HandleSet<Value> = self.module.functions().filter(|function| function.has_body()).collect();
        let mut queue = Queue::of(first);
        let mut findings: HandleMap<Value, Vec<Diagnostic>> = HandleMap::default();
        while let Some(function) = queue.pop() {
            let watch = self.watch(function);
            let events = watch.events();
            findings.insert(function, self.findings(function, &watch, events.as_deref()));
            let Some(events) = events else { continue };
            let mut again: Vec<Value> = Vec::new();
            for event in &events {
                self.learn(function, event, &known, &mut again);
            }
            queue.extend(again.into_iter().filter(|it| known.contains(it)));
        }
        self.module.functions().filter_map(|function| findings.remove(&function)).flatten().collect()
    }

    /// Adds the effect of an event on other functions to the summaries, and returns the functions for which it is
    /// new.
    fn learn(&mut self, function: Value, event: &Event, known: &HandleSet<Value>, again: &mut Vec<Value>) {
        match *event {
            Event::Passed { call, parameter, offset, born } => {
                let callee = call.as_call().expect("a call").callee();
                if !known.contains(&callee) || parameter >= callee.parameter_count() {
                    return;
                }
                let was = self.summaries.is_reference(callee, parameter);
                let is_new = self.summaries.pass(call, callee, parameter, offset);
                let is_born = born && self.summaries.bear(callee, parameter);
                if is_born || is_new && (offset.is_some() || was != self.summaries.is_reference(callee, parameter)) {
                    again.push(callee);
                }
            }
            Event::Returned { offset, immortal } if self.summaries.give_back(function, offset, immortal) => {
                again.extend(callers(function))
            }
            Event::Stored { address, .. } => {
                let (base, offset) = split(self.module, address);
                if let (Some(parameter), Some(offset)) = (parameter_behind(function, base), offset)
                    && self.summaries.store(function, parameter, offset)
                {
                    again.extend(callers(function));
                }
            }
            Event::LeftInResult { parameter, offset } => {
                let index = (0..function.parameter_count()).find(|&index| function.parameter(index) == parameter);
                if index.is_some_and(|index| self.summaries.store(function, index, offset)) {
                    again.extend(callers(function));
                }
            }
            _ => {}
        }
    }

    fn findings(&self, function: Value, watch: &Watch, events: Option<&[Event]>) -> Vec<Diagnostic> {
        // Where all pointers get the roots that they need, none is forgotten.
        let has_own_roots = function.gc().is_some() && !inferred::is_done_for_all(self.module);
        let Some(events) = events else {
            let finding = Diagnostic::about_function(self.name, function, GAVE_UP)
                .help("split the function, or run it under zeal once");
            return if has_own_roots { vec![finding] } else { Vec::new() };
        };
        let places = &watch.places;
        // Code in other functions relies on the roots of its callers, but for what it makes.
        let is_lost = |origin: usize| {
            function.gc().is_none() && without_strategy::is_held_by_nothing(self.callees, places[origin])
        };
        let mut findings = self.past_the_barrier(events);
        let mut stale: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for event in events {
            let Event::Used { facts, user } = event else { continue };
            let Some(safepoint) = facts.stale else { continue };
            if !has_own_roots && !is_lost(facts.origin) {
                continue;
            }
            let first = stale.entry((facts.origin, safepoint)).or_insert(*user);
            *first = *user.min(first);
        }
        findings.extend(stale.into_iter().map(|((origin, safepoint), user)| {
            self.stale(&watch.references, places[origin], places[safepoint], places[user])
        }));
        findings
    }

    /// Each store once: blocks are visited once, but an instruction may store several references.
    fn past_the_barrier(&self, events: &[Event]) -> Vec<Diagnostic> {
        let (mut kept, mut rooted) = (HashSet::new(), HashSet::new());
        for event in events {
            match event {
                Event::Kept { origin } => _ = kept.insert(*origin),
                Event::Rooted { origin } => _ = rooted.insert(*origin),
                _ => {}
            }
        }
        let finding = |event: &Event| match event {
            Event::Stored { to_object: true, .. } | Event::Overwritten { .. } if !self.has_barrier => None,
            Event::Stored { at, address, to_object, facts } => {
                let store = PlainStore {
                    at: *at,
                    address: *address,
                    to_object: *to_object,
                    is_borrowed: !facts.born || kept.contains(&facts.origin),
                    is_rooted: rooted.contains(&facts.origin),
                };
                plain_stores::of_store(self.callees, self.module, self.name, &store)
            }
            Event::Overwritten { call, address, is_aged_object } => {
                let is_copy =
                    |call: Call| self.callees.of_call(call) == Callee::Copy && !call.argument(1).base().is_constant();
                let counts = self.counts && call.as_call().is_some_and(is_copy);
                plain_stores::of_copy(self.callees, self.module, self.name, *call, *address, *is_aged_object || counts)
            }
            Event::RootedInside { at } => Some(rooted_inside(self.name, *at)),
            _ => None,
        };
        events.iter().filter_map(finding).collect()
    }

    fn stale(&self, references: &References, origin: Value, safepoint: Value, user: Value) -> Diagnostic {
        let line = |value: Value| value.debug_place().map(|place| format!(" (line {})", place.line));
        let origin_line = line(origin).unwrap_or_default();
        let safepoint_line = line(safepoint).unwrap_or_default();
        let what = references.describe(self.callees, origin);
        let message = format!(
            "{what}{origin_line} {IN_NO_ROOT} `{}`{safepoint_line} {USED_AFTER}, by `{}`",
            short(self.callees, safepoint),
            short(self.callees, user),
        );
        let strategy =
            if user.function().gc().is_some() { "" } else { "give the function a strategy (gc \"refcount\"), " };
        let help = format!(
            "its object may be freed there: {strategy}store the reference to a root slot (llvm.gcroot) before the safepoint, and load it \
             from there afterwards"
        );
        Diagnostic::at(self.name, user, message).help(help)
    }
}

fn rooted_inside(name: &str, at: Value) -> Diagnostic {
    let message = "a pointer into an object is stored to a root";
    Diagnostic::at(name, at, message)
        .help("roots hold references to objects: root the object, and compute the pointer from it")
}

/// The parameter that a pointer is: itself, or loaded from the variable that unoptimised code keeps it in.
fn parameter_behind(function: Value, pointer: Value) -> Option<u32> {
    let variable = || pointer.operand(0);
    let parameter = if pointer.is(Opcode::LLVMLoad) && variable().is(Opcode::LLVMAlloca) {
        let mut stores = variable().users().filter(|user| user.is(Opcode::LLVMStore));
        let only = stores.next().filter(|store| store.operand(1) == variable())?;
        if stores.next().is_some() {
            return None;
        }
        only.operand(0)
    } else {
        pointer
    };
    (0..function.parameter_count()).find(|&index| function.parameter(index) == parameter)
}

/// An instruction in a few words.
fn short(callees: &Callees, instruction: Value) -> String {
    match instruction.as_call() {
        Some(call) if callees.of_call(call) == Callee::GcWrite => "gcwrite".to_owned(),
        Some(call) if callees.of_call(call) == Callee::GcRead => "gcread".to_owned(),
        Some(call) if call.callee().is_function() => format!("call @{}", call.callee().name()),
        Some(_) => "call".to_owned(),
        None => {
            let text = instruction.print();
            text.trim()
                .split(", !dbg")
                .next()
                .unwrap_or_default()
                .split(", align")
                .next()
                .unwrap_or_default()
                .to_owned()
        }
    }
}
