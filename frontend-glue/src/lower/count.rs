//! The prompt plan's half of the lowering: the changes of counts, in stages.
//!
//! 0. Small leaves are put in place of their calls (`inlined_leaves`).
//! 1. Facts of the module are found (`facts`): functions in which nothing dies, functions whose result brings its
//!    count.
//! 2. Calls that may unwind get a landing pad that releases roots (`unwinding`).
//! 3. Decisions (`ownership`): the roots, temporaries and writes that need a count, and the places.
//! 4. They are written into the IR as operations (`placement`, `operation`);
//! 5. in loops of writes some of these are postponed (`postponed`);
//! 6. every path is checked for balance (`balance`).
//! 7. Operations become code (`expand`).
//!
//! Steps 1 to 6 leave IR that can be read, with calls of `tally.count.*` in it. The optimiser of counts is a set of
//! [`Patterns`], each with a switch; without any of them the result is the plan read literally. `[ROOT]`

mod address_taken;
mod balance;
mod damage;
mod decisions;
mod expand;
pub(super) mod facts;
mod held_parameters;
mod inferred_leaves;
mod inlined_leaves;
pub(super) mod lifetimes;
pub(crate) mod operation;
mod out_parameters;
mod ownership;
mod patterns;
mod placement;
mod postponed;
mod recount_calls;
mod recount_root;
mod remark;
mod returns;
mod settled_roots;
mod slots;
mod stops;
mod unwinding;
mod write_pair;
mod write_word;

pub use damage::Damage;
pub(super) use inlined_leaves::{inline_marked, put_in_place as put_leaves_in_place};
use out_parameters::OutParameters;
pub use patterns::Patterns;
pub use remark::{Remark, Saving};
pub(super) use slots::is_address_taken;

use super::LowerOptions;
use super::descriptor::{OneWord, PairReading, RootWord};
use super::module_record::ModuleTables;
use super::roots::Root;
use crate::analysis::callee::{Callee, Callees};
use crate::analysis::flow::Flow;
use crate::emit::target::Target;
use crate::llvm::call::Call;
use crate::llvm::{Builder, HandleSet, Module, Opcode, Value};
use decisions::Decisions;
use expand::Expansion;
use facts::{Effect, Facts};
use operation::{Operation, Operations};
use ownership::Ownership;
use postponed::{Postponed, Postponing};
use recount_calls::{RecountCalls, Recounts};
use std::collections::BTreeMap;

/// The counts of one module while it is lowered.
pub(super) struct Counts {
    operations: Operations,
    facts: Facts,
    patterns: Patterns,
    /// Found once all roots of the module are known.
    out_parameters: OutParameters,
    /// How the module's types read tagged words. Found then, too.
    words_of_fields: Option<OneWord>,
    /// And pairs.
    pairs_of_fields: Option<PairReading>,
    recounts: Recounts,
    pub(super) remarks: Vec<Remark>,
    placed: usize,
    /// The operation that a test has damaged.
    pub(super) damaged: Option<String>,
}

/// One function with its operations in place.
pub(super) struct Counted {
    /// The function's roots, hidden ones and shadows.
    pub(super) roots: Vec<Root>,
    /// Whether a root is named only where it may hold something; the others are named everywhere.
    pub(super) simple: Vec<bool>,
    shadows: Vec<Option<usize>>,
    /// Whether a root is counted at every store to it.
    exact: Vec<bool>,
    /// Whether the address of a root goes to functions alone that do not keep it.
    passed_down: Vec<bool>,
    /// How to read the roots that compiled code settles.
    words: Vec<Option<Vec<RootWord>>>,
    /// What is called for some of those in place of inline code.
    recounts: BTreeMap<usize, RecountCalls>,
    /// Writes that keep what they replace.
    kept: HandleSet<Value>,
    /// Writes and operations whose decrements are postponed.
    postponed: Postponed,
}

impl Counts {
    /// Finds the module's facts; wrappers that it makes become managed functions.
    pub(super) fn of(builder: &Builder, callees: &Callees, managed: &mut Vec<Value>, patterns: Patterns) -> Counts {
        let facts = Facts::of(builder, callees, managed, patterns);
        Counts {
            operations: Operations::declare(builder.module()),
            facts,
            patterns,
            out_parameters: OutParameters::default(),
            words_of_fields: None,
            pairs_of_fields: None,
            recounts: Recounts::default(),
            remarks: Vec::new(),
            placed: 0,
            damaged: None,
        }
    }

    /// All roots of the module are known.
    pub(super) fn note_out_parameters(
        &mut self,
        builder: &Builder,
        callees: &Callees,
        managed: &HandleSet<Value>,
        rooted: &[(Value, Vec<Root>)],
    ) {
        (self.words_of_fields, self.pairs_of_fields) = write_word::readings_of(callees, builder.module(), rooted);
        self.out_parameters = OutParameters::note(builder, callees, &mut self.facts, managed, rooted);
    }

    /// Replaces roots by parameters that callers hold; returns those parameters.
    pub(super) fn replace_roots(
        &self,
        callees: &Callees,
        managed: &HandleSet<Value>,
        rooted: &mut [(Value, Vec<Root>)],
    ) -> HandleSet<Value> {
        match self.patterns.held_parameters {
            true => held_parameters::replace_roots(callees, &self.facts, managed, rooted),
            false => HandleSet::default(),
        }
    }

    /// Puts the operations of one function in place; `asked` are the polls that are safepoints for the program.
    ///
    /// # Errors
    /// A message about an imbalance: a defect of this lowering.
    pub(super) fn place(
        &mut self,
        builder: &Builder,
        callees: &Callees,
        function: Value,
        roots: &[Root],
        asked: HandleSet<Call>,
        options: &LowerOptions,
    ) -> Result<Counted, String> {
        if self.patterns.lazy_roots && !options.zeal {
            returns::separate(builder, callees, &self.out_parameters, function, roots.len());
        }
        let returns_twice = function.calls().any(|call| callees.returns_twice(call));
        let takes = self.patterns.moves && !returns_twice;
        let takeable = if takes { ownership::takeable(callees, function) } else { HandleSet::default() };
        unwinding::release_on_unwinding(builder, callees, &self.facts, function, roots, !takeable.is_empty());
        unwinding::separate_arrivals(builder, callees, &self.facts, function);
        let mut counted = self.survey(builder, callees, function, roots, options);
        let hidden = self.add_hidden_roots(builder, callees, function, &mut counted, &takeable, options);
        // A root that is no plain reference is settled at polls, too: none is passed over.
        let every_poll = || function.calls().filter(|&call| callees.of_call(call) == Callee::Poll).collect();
        let asked = if counted.shadows.iter().any(Option::is_some) { every_poll() } else { asked };
        if self.patterns.leaf_calls && !returns_twice {
            stops::make(builder, &self.operations, callees, &self.facts, function, &asked);
        }
        let flow = Flow::of(function);
        if returns_twice {
            // LLVM may take the value of a shadow before a call of setjmp for its value after it.
            counted.words.fill(None);
        }
        let lends = |root: &Root| slots::is_address_taken(callees, root) && !self.out_parameters.lead_to(root);
        let lends = roots.iter().any(lends);
        let patterns = if returns_twice { Patterns::NONE } else { self.patterns };
        let (operations, facts, asked) = (&self.operations, &self.facts, &asked);
        let postponing = Postponing { builder, callees, operations, facts, function, asked };
        let passed = if patterns.postponed { postponing.polls_passed() } else { HandleSet::default() };
        let decide = |patterns| {
            let settled = (0..counted.roots.len()).filter(|&root| counted.shadows[root].is_some()).collect();
            let ownership = Ownership {
                callees,
                operations,
                facts: &self.facts,
                patterns,
                function,
                flow: &flow,
                roots: &counted.roots,
                simple: counted.simple.clone(),
                exact: &counted.exact,
                passed_down: &counted.passed_down,
                settled,
                hidden: hidden.clone(),
                takeable: &takeable,
                returns_twice,
                lends,
                passed: &passed,
            };
            let decisions = ownership.decide().filter(|decisions| placement::is_possible(&flow, decisions));
            decisions.map(|decisions| (patterns, decisions))
        };
        let (patterns, mut decisions): (Patterns, Decisions) = decide(patterns)
            .or_else(|| decide(Patterns { quiet_calls: patterns.quiet_calls, ..Patterns::NONE }))
            .ok_or_else(|| format!("in @{}: no place for counts was found", function.name()))?;
        self.remarks.append(&mut decisions.remarks);
        placement::place(builder, &self.operations, &flow, &counted.roots, decisions, returns_twice);
        if patterns.postponed {
            counted.postponed = postponing.place(&mut self.remarks);
        }
        if let Some(damage) = options.damage {
            let (count, damaged) = damage::apply(builder, &self.operations, function, damage, self.placed);
            self.placed += count;
            self.damaged = self.damaged.take().or(damaged);
        }
        counted.kept = self.kept_writes(callees, function);
        balance::check(callees, &self.operations, &self.facts, function, &counted, asked)?;
        self.prepare_recounts(builder, function, &mut counted, options);
        Ok(counted)
    }

    /// Where so many words are settled that inline code would be too much, functions do it.
    fn prepare_recounts(&mut self, builder: &Builder, function: Value, counted: &mut Counted, options: &LowerOptions) {
        let called = recount_calls::called(&self.operations, function, &counted.words);
        let mut recounts = std::mem::take(&mut self.recounts);
        let expansion = self.expansion(builder, options, counted);
        let calls = called.into_iter().map(|(root, words)| (root, recounts.of(&expansion, words))).collect();
        (counted.recounts, self.recounts) = (calls, recounts);
    }

    /// The writes behind a `keep`.
    fn kept_writes(&self, callees: &Callees, function: Value) -> HandleSet<Value> {
        let mut keeps = false;
        let writes = function.calls().filter(|&call| {
            keeps |= self.operations.of_call(call) == Some(Operation::Keep);
            callees.of_call(call) == Callee::GcWrite && std::mem::take(&mut keeps)
        });
        writes.map(Call::value).collect()
    }

    fn survey(
        &self,
        builder: &Builder,
        callees: &Callees,
        function: Value,
        roots: &[Root],
        options: &LowerOptions,
    ) -> Counted {
        let simple: Vec<bool> = roots.iter().map(|root| slots::is_simple(callees, root)).collect();
        let (shadows, postponed) = (vec![None; roots.len()], Postponed::default());
        let words = roots.iter().map(|root| slots::known_words(builder.module(), root)).collect();
        let exact: Vec<bool> = roots.iter().map(|root| self.out_parameters.counts(root)).collect();
        let passed_down = roots.iter().map(|root| self.out_parameters.lead_to(root)).collect();
        let (kept, recounts) = (HandleSet::default(), BTreeMap::new());
        let mut counted =
            Counted { roots: roots.to_vec(), simple, shadows, exact, passed_down, words, recounts, kept, postponed };
        for (number, root) in roots.iter().enumerate() {
            if counted.simple[number] || counted.exact[number] {
                continue;
            }
            counted.shadows[number] = Some(counted.roots.len());
            counted.roots.push(slots::add_shadow(builder, options.identity(), function, root));
        }
        for (root, _) in roots.iter().zip(&counted.simple).filter(|(_, simple)| **simple) {
            slots::begin_as_null(builder, function, root);
        }
        counted.simple.resize(counted.roots.len(), false);
        counted.exact.resize(counted.roots.len(), false);
        counted.shadows.resize(counted.roots.len(), None);
        counted
    }

    /// Adds roots for temporaries that are arguments of a safepoint: as many as the call with the most has.
    fn add_hidden_roots(
        &self,
        builder: &Builder,
        callees: &Callees,
        function: Value,
        counted: &mut Counted,
        takeable: &HandleSet<Value>,
        options: &LowerOptions,
    ) -> Vec<usize> {
        if !self.patterns.moves {
            return vec![];
        }
        let may_be_temporary = |value: Value| {
            takeable.contains(&value)
                || value.is(Opcode::LLVMPHI)
                || value.as_call().is_some_and(|call| self.facts.hands_over(callees, call))
        };
        let is_safepoint = |call: &Call| self.facts.effect(callees, *call) == Effect::Safepoint && !call.is_musttail();
        let needs = function.calls().filter(is_safepoint);
        let most = needs
            .map(|call| {
                let arguments: HandleSet<Value> =
                    call.arguments().into_iter().filter(|&value| may_be_temporary(value)).collect();
                arguments.len()
            })
            .max();
        (0..most.unwrap_or(0))
            .map(|number| {
                counted.roots.push(slots::add_hidden(builder, options.identity(), function, number));
                counted.simple.push(true);
                counted.exact.push(false);
                counted.shadows.push(None);
                counted.roots.len() - 1
            })
            .collect()
    }

    /// Returns the operation that a call stands for.
    pub(super) fn operation(&self, call: Call) -> Option<Operation> {
        self.operations.of_call(call)
    }

    /// Whether nothing can die during the call: the roots are not read then.
    pub(super) fn is_quiet(&self, call: Call) -> bool {
        self.facts.is_quiet(call) || self.facts.calls_inferred_leaf(call)
    }

    /// Turns one operation of a counted function into code; `named` are the operands of its bundle, if it has one.
    pub(super) fn expand(
        &self,
        builder: &Builder,
        options: &LowerOptions,
        tables: &mut ModuleTables,
        counted: &Counted,
        call: Call,
        named: &[Value],
    ) {
        let operation = self.operations.of_call(call).expect("an operation");
        self.expansion(builder, options, counted).operation(operation, call, named, tables);
    }

    /// Turns a write of a reference into an exchange.
    pub(super) fn expand_write(&self, builder: &Builder, options: &LowerOptions, counted: &Counted, call: Call) {
        self.expansion(builder, options, counted).write(call);
    }

    /// Puts inline code in front of a write of a tagged word.
    pub(super) fn expand_word_write(&self, builder: &Builder, options: &LowerOptions, counted: &Counted, call: Call) {
        self.expansion(builder, options, counted).write_word(call);
    }

    /// Puts inline code in front of a write of a pair.
    pub(super) fn expand_pair_write(&self, builder: &Builder, options: &LowerOptions, counted: &Counted, call: Call) {
        self.expansion(builder, options, counted).write_pair(call);
    }

    fn expansion<'a>(&'a self, builder: &'a Builder, options: &LowerOptions, counted: &'a Counted) -> Expansion<'a> {
        Expansion {
            builder,
            layout: Target::of(builder.module()).layout(),
            context: options.context,
            roots: &counted.roots,
            postponed: &counted.postponed,
            kept: &counted.kept,
            shadows: &counted.shadows,
            words: &counted.words,
            recounts: &counted.recounts,
            out_parameters: &self.out_parameters,
            words_of_fields: self.words_of_fields,
            pairs_of_fields: self.pairs_of_fields,
        }
    }

    /// Removes the stand-ins from the module; all operations are code by now.
    pub(super) fn finish(self, builder: &Builder) -> Vec<Remark> {
        self.operations.remove(builder.module());
        self.remarks
    }
}

/// Checks operations that were written by hand, in functions that are not lowered otherwise; returns the imbalances.
pub fn check_by_hand(module: &inkwell::module::Module) -> Vec<String> {
    let module = Module::of(module);
    let (builder, options) = (Builder::new(module), LowerOptions::default());
    let operations = Operations::declare(module);
    let callees = Callees::of(module);
    let mut managed = crate::verify::source::managed_functions(module, &[]);
    let facts = Facts::of(&builder, &callees, &mut managed, Patterns::ALL);
    let out_parameters = OutParameters::default();
    let counts = Counts {
        operations,
        facts,
        patterns: Patterns::ALL,
        out_parameters,
        words_of_fields: None,
        pairs_of_fields: None,
        recounts: Recounts::default(),
        remarks: Vec::new(),
        placed: 0,
        damaged: None,
    };
    let mut gcroots = super::roots::gcroots(&callees);
    let asked = HandleSet::default();
    let imbalances = managed.into_iter().filter_map(|function| {
        let gcroots = gcroots.remove(&function).unwrap_or_default();
        let roots = super::roots::clean(&builder, &callees, function, gcroots, &options);
        let counted = counts.survey(&builder, &callees, function, &roots, &options);
        balance::check(&callees, &counts.operations, &counts.facts, function, &counted, &asked).err()
    });
    imbalances.collect()
}
