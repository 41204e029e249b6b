//! The lowering, in order: from a frontend's IR to IR that any LLVM 22 compiles.
//!
//! A frontend says `gc "refcount"`, `llvm.gcroot`, `llvm.gcwrite`, `llvm.gcread` and calls `tally_new`. Afterwards
//! roots are named by `"deopt"` bundles on calls, writes are a bit test and a store, allocation is a bump, and a
//! constructor registers the module with the runtime. It happens *before* anything is inlined: the inliner
//! concatenates bundles, as it should, while a bare call inlined into a rooted function would lose roots. `[ROOT]`
//!
//! `verify::source` finds every fault of the input before the first change, so a module is either refused unchanged
//! or lowered as a whole. A module without a Tally function is not touched at all.
//!
//! For each function the analyses come first and read the calls as the frontend wrote them; only then are those calls
//! expanded, since each expansion splits blocks.

mod access;
mod address_taken;
mod allocation;
mod array_allocation;
pub(crate) mod asked_safepoints;
mod barrier;
mod bit_set;
mod bundle;
mod carriers;
pub mod count;
mod deopt_state;
pub(crate) mod descriptor;
pub(crate) mod entry_point;
mod exposure;
mod free_list;
mod fresh;
pub(crate) mod global_slots;
mod hiding_place;
pub(crate) mod inferred;
mod influence;
pub(crate) mod joined;
mod leaves;
mod liveness;
mod mitigation;
pub(crate) mod module_record;
mod named_root;
mod names;
mod open_writes;
mod options;
mod origins;
pub(crate) mod own_copy;
mod poll;
mod promised_barrier;
mod repeated;
pub(crate) mod result_thunk;
pub(crate) mod root_metadata;
pub(crate) mod roots;
mod runtime;
mod self_calls;
mod stack_objects;
mod steps;
mod strategy;
mod substitutes;
mod tagged_words;
pub mod type_description;
pub(crate) mod variadic_calls;
mod walkable;
mod words_in_flight;
mod zeal;

pub use crate::lower::mitigation::Mitigation;
pub use count::{Damage, Patterns, Remark, Saving};
pub use named_root::NamedRoot;
pub use options::{LowerOptions, LowerReport, Roots};
pub use runtime::ContextAccess;
pub(crate) use runtime::find_context_at_fixed_distance;
pub(crate) use strategy::LOWERED_FLAG;
pub use strategy::STRATEGY;
pub(crate) use strategy::plan_of_lowered;
pub use tally_heap::plan::Plan;

use count::Counts;
use liveness::Naming;

use crate::analysis::callee::{Callee, Callees};
use crate::analysis::flow::LazyFlow;
use crate::diagnostic::Diagnostic;
use crate::llvm::call::Call;
use crate::llvm::{Builder, HandleSet, Module, Value};
use crate::lower::type_description::metadata;
use crate::verify::source;
use module_record::ModuleTables;
use result_thunk::Thunks;
use roots::Root;

/// Lowers `module` in place. Types of `!tally.types` are defined first, if they were not when it was loaded.
///
/// # Errors
/// All breaches of the IR contract; the module is then unchanged except for those definitions, and for inferred roots.
pub fn lower(module: &inkwell::module::Module, options: &LowerOptions) -> Result<LowerReport, Vec<Diagnostic>> {
    let module = Module::of(module);
    let wrong = metadata::define(module, &options.module_name);
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let names = &options.gc_names;
    promised_barrier::note(module, names);
    source::infer_roots(module, &options.module_name, options.roots, names, options.eliminate_tail_calls)?;
    let findings = source::errors(module, &options.module_name, names);
    if !findings.is_empty() {
        return Err(findings);
    }
    let managed: Vec<Value> = source::managed_functions(module, names);
    let has_statepoints =
        source::foreign::has_statepoints(module, names) && (options.traces_llvms || source::foreign::allocates(module));
    let is_of_llvm = has_statepoints || (options.traces_llvms && source::foreign::has_shadow_stack(module, names));
    let plan = match managed.first() {
        Some(&function) => source::plan_of(function, names),
        // LLVM compiles its gc functions, and describes their roots: all else is as in any lowered module.
        None if is_of_llvm => Plan::Trace,
        None => return Ok(LowerReport::default()),
    };
    deopt_state::pair_up(module);
    own_copy::of_rooted_parameters(module);
    open_writes::replace(module, plan, options.zeal);
    let options = &names::of(module, options);
    let mut lowering = Lowering::new(module, options, managed, plan);
    names::keep(&mut lowering.tables, module, options);
    lowering.tables.has_statepoints = has_statepoints;
    match lowering.run() {
        Ok(()) => Ok(lowering.finish()),
        Err(imbalance) => {
            let message = format!("counts are not in balance {imbalance}");
            let finding = Diagnostic::about_module(&options.module_name, message);
            Err(vec![finding.help("this is a defect of Tally's lowering, not of the program: report it")])
        }
    }
}

struct Lowering<'a> {
    module: Module,
    options: &'a LowerOptions,
    builder: Builder,
    callees: Callees,
    /// Functions with a Tally strategy and a body.
    managed: Vec<Value>,
    tables: ModuleTables,
    thunks: Thunks,
    report: LowerReport,
    plan: Plan,
}

impl<'a> Lowering<'a> {
    fn new(module: Module, options: &'a LowerOptions, managed: Vec<Value>, plan: Plan) -> Lowering<'a> {
        let report = LowerReport { touched: true, functions: managed.len(), ..LowerReport::default() };
        if options.has(Mitigation::PromisesStripped) {
            runtime::strip_promises(module);
        }
        // What the code will call is declared first, so that calls are recognised; of roots, where only objects on the stack are some.
        runtime::declare(module, "tally_safepoint");
        runtime::declare(module, "tally_safepoint_slow");
        if options.zeal {
            zeal::ENTRY_POINTS.into_iter().for_each(|name| _ = runtime::declare(module, name));
        }
        if options.stack_objects {
            module.intrinsic("llvm.gcroot", &[]);
        }
        Lowering {
            module,
            options,
            builder: Builder::new(module),
            callees: Callees::of(module),
            managed,
            tables: ModuleTables::new(plan),
            thunks: Thunks::new(options.has(Mitigation::ResultThunks)),
            report,
            plan,
        }
    }

    /// Runs all stages on the module.
    fn run(&mut self) -> Result<(), String> {
        if self.options.zeal {
            zeal::name_fields(self.module);
            self.module.functions().filter(|function| function.has_body()).for_each(zeal::name_values);
        }
        self.report.remarks =
            stack_objects::place(&self.builder, &self.callees, &self.managed, self.plan, self.options);
        self.report.stack_objects = self.report.remarks.len();
        let mut counts = self.begin_counts();
        let bodies: Vec<Value> = self.module.functions().filter(|function| function.has_body()).collect();
        let mut gcroots = roots::gcroots(&self.callees);
        let managed = self.managed.clone().into_iter();
        let mut rooted: Vec<(Value, Vec<Root>)> = managed
            .map(|function| (function, self.clean_roots(function, gcroots.remove(&function).unwrap_or_default())))
            .collect();
        if self.options.eliminate_tail_calls && !inferred::is_done_for_all(self.module) {
            self_calls::become_loops(&bodies);
        }
        if self.options.zeal {
            for &function in &bodies {
                zeal::check_accesses(&self.builder, &self.callees, function, &self.options.module_name);
            }
        }
        let roots_parameters: HandleSet<Value> = self.managed.iter().copied().collect();
        if let Some(counts) = &mut counts {
            counts.note_out_parameters(&self.builder, &self.callees, &roots_parameters, &rooted);
        }
        let held = counts.as_ref().map(|counts| counts.replace_roots(&self.callees, &roots_parameters, &mut rooted));
        let habits = poll::Habits::of(&self.callees, &self.managed, held.unwrap_or_default());
        for (function, roots) in &rooted {
            match &mut counts {
                None => self.lower_managed(*function, roots, &roots_parameters, &habits),
                Some(counts) => self.lower_counted(counts, *function, roots, &roots_parameters, &habits)?,
            }
        }
        address_taken::keep_in_memory(&self.builder, &self.callees, &rooted);
        if let Some(counts) = counts {
            self.report.damaged = counts.damaged.clone();
            if self.options.stop_at_counts {
                self.report.remarks.extend(counts.remarks);
                return Ok(());
            }
            self.report.remarks.extend(counts.finish(&self.builder));
        }
        let bare = if self.options.has(Mitigation::EmptyBundles) { &bodies[..] } else { &[] };
        // Those of LLVM's own strategies still have their gc: their calls carry what that strategy asks for.
        let apart =
            bodies.iter().copied().filter(|function| roots_parameters.contains(function) || function.gc().is_some());
        let apart: HandleSet<Value> = apart.collect();
        self.report.safepoints += bundle::attach_to_plain(&self.builder, &self.callees, &mut self.thunks, bare, &apart);
        for &function in &bodies {
            walkable::prepare(&self.builder, &self.callees, function, self.options.without);
        }
        self.wrap_main();
        self.tables.emit(&self.builder, &self.options.module_name);
        runtime::remove_unused_declarations(self.module);
        self.module.set_flag(LOWERED_FLAG, self.plan.code());
        Ok(())
    }

    /// The facts that the prompt plan needs before the first root is cleaned.
    fn begin_counts(&mut self) -> Option<Counts> {
        match self.plan {
            Plan::Deferred | Plan::Trace => return None,
            Plan::Prompt => {}
        }
        if self.options.patterns != Patterns::NONE {
            // So that a value that goes through a variable is known to be the same.
            self.builder.module().promote_variables(&self.managed);
        }
        let patterns = if self.options.zeal {
            // Under zeal every function stops and checks: none is quiet, and each root is looked at.
            Patterns { quiet_calls: false, leaf_calls: false, held_parameters: false, ..self.options.patterns }
        } else {
            self.options.patterns
        };
        if patterns.leaf_calls && patterns.inlined_leaves {
            count::put_leaves_in_place(&self.builder, &mut self.managed, patterns);
            self.callees = Callees::of(self.module);
        }
        let counts = Counts::of(&self.builder, &self.callees, &mut self.managed, patterns);
        // Stores to some roots will be writes.
        self.module.intrinsic("llvm.gcwrite", &[]);
        self.callees = Callees::of(self.module);
        Some(counts)
    }

    /// A function under the prompt plan.
    fn lower_counted(
        &mut self,
        counts: &mut Counts,
        function: Value,
        roots: &[Root],
        roots_parameters: &HandleSet<Value>,
        habits: &poll::Habits,
    ) -> Result<(), String> {
        let asked = function.calls().filter(|&call| self.callees.of_call(call) == Callee::Poll).collect();
        self.place_stops(function, &LazyFlow::of(function), roots, habits);
        let counted = counts.place(&self.builder, &self.callees, function, roots, asked, self.options)?;
        if self.options.stop_at_counts {
            return Ok(());
        }
        self.tables.stack_roots(function, &counted.roots[roots.len()..]);
        let flow = LazyFlow::of(function);
        let naming = if self.options.root_liveness { Naming::Filled } else { Naming::All };
        let (callees, roots_of_all) = (&self.callees, &counted.roots);
        let mut named =
            liveness::named_roots(callees, function, &flow, roots_of_all, roots_parameters, naming, self.options);
        named.name_everywhere((0..counted.roots.len()).filter(|&root| !counted.simple[root]));
        let calls: Vec<Call> = function.calls().collect();
        for call in calls {
            let operands = if self.callees.is_safepoint(call) && !counts.is_quiet(call) {
                bundle::operands(&self.builder, &counted.roots, named.at(call))
            } else {
                Vec::new()
            };
            if counts.operation(call).is_some() {
                counts.expand(&self.builder, self.options, &mut self.tables, &counted, call, &operands);
            } else if self.callees.is_safepoint(call) {
                if !call.is_musttail() {
                    self.lower_counted_safepoint(call, &operands);
                }
            } else {
                self.lower_counted_access(counts, &counted, call);
            }
        }
        function.clear_gc();
        Ok(())
    }

    fn lower_counted_safepoint(&mut self, call: Call, operands: &[Value]) {
        let kind = self.callees.of_call(call);
        if !matches!(kind, Callee::New | Callee::NewArray) {
            return self.lower_safepoint(call, operands);
        }
        self.report.safepoints += 1;
        let setting = self.allocation_setting();
        let done = free_list::allocate(&self.builder, &mut self.tables, setting, (call, kind), operands);
        if done == allocation::Allocation::Inline {
            self.report.inline_allocations += 1;
        }
    }

    fn clean_roots(&mut self, function: Value, gcroots: Vec<Call>) -> Vec<Root> {
        match self.plan {
            Plan::Prompt => count::lifetimes::mark_ends(&self.builder, &self.callees, function, &gcroots),
            Plan::Deferred | Plan::Trace => {}
        }
        let mut roots = roots::clean(&self.builder, &self.callees, function, gcroots, self.options);
        let notes_addresses = match self.plan {
            Plan::Deferred => self.options.has(Mitigation::LendingNoted),
            Plan::Prompt | Plan::Trace => false,
        };
        if notes_addresses {
            address_taken::note(&self.builder, self.options.context, &self.callees, function, &mut roots);
        }
        root_metadata::note(self.builder.module(), self.plan, &mut roots);
        self.tables.stack_roots(function, &roots);
        roots
    }

    fn lower_managed(
        &mut self,
        function: Value,
        roots: &[Root],
        roots_parameters: &HandleSet<Value>,
        habits: &poll::Habits,
    ) {
        let before = LazyFlow::of(function);
        let fresh = self.place_stops(function, &before, roots, habits);
        // Zeal's stops after invokes are in blocks of their own.
        let flow = if self.options.zeal { LazyFlow::of(function) } else { before };
        let naming = if self.options.root_liveness { Naming::Live } else { Naming::All };
        let named =
            liveness::named_roots(&self.callees, function, &flow, roots, roots_parameters, naming, self.options);
        // All are found before the first is lowered: new instructions may get the addresses of erased ones.
        let calls: Vec<Call> = function.calls().collect();
        let writes = calls.iter().filter(|&&call| self.callees.written(call).is_some());
        let repeats = !self.options.zeal && writes.take(2).count() == 2;
        let repeated = if repeats {
            repeated::repeated_writes(&self.callees, self.module, function, flow.get())
        } else {
            HandleSet::default()
        };
        for call in calls {
            if self.callees.is_safepoint(call) {
                if !call.is_musttail() {
                    let named = named.at(call).filter(|_| self.options.has(Mitigation::RootNames));
                    let operands = bundle::operands(&self.builder, roots, named);
                    self.lower_safepoint(call, &operands);
                }
            } else {
                self.lower_access(call, &fresh, &repeated);
            }
        }
        function.clear_gc();
    }

    /// Inserts the lowering's own safepoints where they are needed; returns the writes that need no barrier.
    fn place_stops(
        &mut self,
        function: Value,
        flow: &LazyFlow,
        roots: &[Root],
        habits: &poll::Habits,
    ) -> HandleSet<Call> {
        self.forget_unwinding_of_runtime(function);
        let asked = asked_safepoints::places(&self.callees, function);
        if !asked.is_empty() && !inferred::is_done(self.module) {
            let safe = exposure::safe_places(&self.callees, flow.get(), function, roots, habits.held(), &asked);
            self.report.polls += safe.len();
            asked_safepoints::place(&self.builder, &safe);
        }
        let mut fresh = HandleSet::default();
        if self.plan.has_barrier() {
            let poll = runtime::declare(self.module, "tally_safepoint");
            let polls;
            (polls, fresh) = poll::place_polls(&self.builder, &self.callees, function, flow, roots, habits, poll);
            self.report.polls += polls;
        } else if strategy::has_barrier(self.module, self.plan) {
            fresh = promised_barrier::fresh_writes(&self.callees, function, flow);
        }
        if self.options.zeal {
            // After the polls, so that these have the same places as without zeal, and are safepoints like the others.
            zeal::stop_everywhere(&self.builder, &self.callees, function, &self.options.module_name);
        }
        fresh
    }

    /// The runtime never unwinds: an invoke of it is a call.
    fn forget_unwinding_of_runtime(&self, function: Value) {
        let invokes: Vec<Call> = function.calls().filter(|call| call.is_invoke()).collect();
        for invoke in invokes {
            if !matches!(self.callees.of_call(invoke), Callee::Ordinary | Callee::InlineAsm) {
                invoke.make_call(&self.builder);
            }
        }
    }

    fn allocation_setting(&self) -> allocation::Setting {
        allocation::Setting { context: self.options.context, inline: !self.options.zeal }
    }

    fn lower_safepoint(&mut self, call: Call, operands: &[Value]) {
        self.report.safepoints += 1;
        match self.callees.of_call(call) {
            kind @ (Callee::New | Callee::NewArray) => {
                let setting = self.allocation_setting();
                let lower = if kind == Callee::New { allocation::new_object } else { allocation::new_array };
                let done = lower(&self.builder, &mut self.tables, setting, call, operands);
                self.report.inline_allocations += usize::from(done == allocation::Allocation::Inline);
            }
            Callee::Poll => poll::expand(&self.builder, self.options.context, call, operands),
            _ => bundle::attach(&self.builder, &mut self.thunks, call, operands),
        }
    }

    fn wrap_main(&mut self) {
        let Some(main) = self.module.function("main").filter(|main| main.has_body()) else { return };
        if let Some(adapter) = entry_point::wrap(&self.builder, main) {
            bundle::attach_empty(&self.builder, &self.callees, &mut self.thunks, adapter);
            walkable::make_walkable(adapter, self.options.without);
        }
        self.report.wraps_main = true;
    }

    fn finish(self) -> LowerReport {
        LowerReport {
            types: self.tables.type_count(),
            globals: self.tables.global_count(),
            roots: self.tables.into_named_roots(),
            ..self.report
        }
    }
}
