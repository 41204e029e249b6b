//! Objects that cannot escape live on the stack.
//!
//! An object of a small, plain type whose address never leaves the function that makes it needs no heap: no cursor, no header, no count,
//! no death. It becomes a variable, and LLVM makes registers of it. Its references become roots. This is done first in the lowering, on the
//! frontend's IR: afterwards there is only a frame with roots in it, and no plan knows that there was an object.
//!
//! ```text
//!   loop, until nothing changes:
//!     uses         where does its address go?                      an escape ends the matter
//!     parameters   do the functions that get it keep it to themselves?
//!     lifetime     is it dead before its place makes the next one?
//!     rewrite      it becomes a variable
//!     makers       bodies of small functions that return the object, or write to it, take the place of their calls
//! ```
//!
//! A program can tell in four ways, which docs/port/stack-objects.md lists: statistics, addresses, safepoints that are gone, and the stack's size.
//! An object with a finalizer is never put there. Roots may hold addresses of such objects, of callees too: whatever points out of the heap
//! is not followed and not counted, under each plan. Writes through the barrier may not: a function that writes references to a
//! parameter does not keep it to itself.

mod lifetime;
mod makers;
mod parameters;
mod rewrite;
mod site;
mod uses;

use super::LowerOptions;
use super::count::{Remark, Saving};
use super::descriptor::constants::label;
use super::descriptor::{Descriptor, OneWord};
use crate::analysis::callee::{Callee, Callees};
use crate::analysis::flow::Flow;
use crate::llvm::call::Call;
use crate::llvm::{Builder, HandleMap, HandleSet, Module, Value};
use makers::Makers;
use parameters::{Parameters, Treatment};
use rewrite::Rewrite;
use site::Site;
use tally_heap::plan::Plan;
use uses::Uses;

/// Bytes of an object on the stack, at most.
const OBJECT_BYTES_MAX: u64 = 128;
/// Bytes of all such objects of one function, at most.
const FRAME_BYTES_MAX: u64 = 1024;
/// Rounds through the module: a maker that gets its object from another takes one more.
const ROUNDS_MAX: usize = 8;
/// The attribute by which a function keeps its objects on the heap, with the value `false`.
const ATTRIBUTE: &str = "tally-stack-objects";

/// Puts the objects of `managed` functions on the stack that may be there; says which.
pub(super) fn place(
    builder: &Builder,
    callees: &Callees,
    managed: &[Value],
    plan: Plan,
    options: &LowerOptions,
) -> Vec<Remark> {
    if options.zeal || !options.stack_objects {
        return Vec::new();
    }
    let mut known = Known::of(builder.module(), callees, plan);
    if !callees.calls_of(|callee| callee == Callee::New).any(|call| known.plain_type(call.argument(0)).is_some()) {
        return Vec::new();
    }
    let functions: Vec<Value> =
        managed.iter().copied().filter(|&function| may_hold_objects(callees, function)).collect();
    let mut work = Work { builder, frames: HandleMap::default(), remarks: Vec::new(), changed: Vec::new() };
    let mut makers = Makers::default();
    for _ in 0..ROUNDS_MAX {
        makers.find(&mut known, managed);
        let mut chosen = false;
        for &function in &functions {
            chosen |= work.function(&mut known, &mut makers, function);
        }
        if !chosen {
            break;
        }
        makers.put_in_place(builder);
        known.parameters = Parameters::default();
    }
    for &function in &work.changed {
        makers::forget_roots(builder, callees, function);
        function.run_function_passes("mem2reg");
    }
    work.remarks
}

fn may_hold_objects(callees: &Callees, function: Value) -> bool {
    let is_off = function.string_attribute(ATTRIBUTE).is_some_and(|value| value == "false");
    let is_special =
        ["optnone", "naked", "presplitcoroutine"].iter().any(|attribute| function.has_attribute(attribute));
    !is_off && !is_special && !function.calls().any(|call| callees.returns_twice(call))
}

/// The facts about the module.
struct Known<'a> {
    module: Module,
    callees: &'a Callees,
    plan: Plan,
    parameters: Parameters,
    types: HandleMap<Value, Option<Descriptor>>,
}

impl Known<'_> {
    fn of(module: Module, callees: &Callees, plan: Plan) -> Known<'_> {
        Known { module, callees, plan, parameters: Parameters::default(), types: HandleMap::default() }
    }

    /// The type that a descriptor describes, if objects of it may be on the stack.
    fn plain_type(&mut self, descriptor: Value) -> Option<&Descriptor> {
        let module = self.module;
        self.types.entry(descriptor).or_insert_with(|| plain_type(module, descriptor)).as_ref()
    }

    /// An allocation, or a call of a maker, of a type that may be on the stack.
    fn site(&mut self, call: Call, makers: &Makers) -> Option<Site> {
        let descriptor = match self.callees.of_call(call) {
            Callee::New => call.argument(0),
            Callee::Ordinary => *makers.all.get(&call.callee())?,
            _ => return None,
        };
        let of = self.plain_type(descriptor)?;
        let references = of.references.clone().unwrap_or_default();
        Some(Site { call, descriptor, size: of.size, alignment: (of.align as u32).max(8), references })
    }

    /// Whether the object, which does not escape from its function, stays on its stack: no callee lets it out, and it ends in time. Returns
    /// the calls whose bodies must take their places first.
    fn stays_here(&mut self, flow: &Flow, site: &Site, uses: &Uses) -> Option<Vec<Call>> {
        let stays =
            uses.writes_lie_in_it(self.callees) && lifetime::ends_before_the_next(flow, site.call.value(), uses);
        let mut first = Vec::new();
        for &(call, index) in uses.passed.iter().filter(|_| stays) {
            let is_first = match self.parameters.treatment(self.callees, (call.callee(), index)) {
                Treatment::LetOut => return None,
                Treatment::Written => true,
                Treatment::Kept => self.divides(site),
            };
            if is_first && !makers::may_replace_the_call(self.callees, call) {
                return None;
            }
            if is_first && !first.contains(&call) {
                first.push(call);
            }
        }
        stays.then_some(first)
    }

    /// Whether each reference of the object becomes a root of its own, which no callee sees.
    fn divides(&self, site: &Site) -> bool {
        match self.plan {
            Plan::Deferred | Plan::Trace => false,
            Plan::Prompt => !site.references.is_empty(),
        }
    }
}

/// Reads a type whose objects may be on the stack: small, of a known size, without a finalizer, and with plain references only.
fn plain_type(module: Module, descriptor: Value) -> Option<Descriptor> {
    let of = Descriptor::read(module, descriptor)?;
    let is_plain =
        !of.has_tail() && of.finalizer.is_none() && !of.is_ephemeron && of.size <= OBJECT_BYTES_MAX && of.align <= 64;
    let references = of.references.as_ref()?;
    let are_plain = references.is_empty() || OneWord::of_fields(module, descriptor) == Some(OneWord::PLAIN);
    (is_plain && are_plain).then_some(of)
}

struct Work<'a> {
    builder: &'a Builder,
    /// Bytes of objects in the frame of each function.
    frames: HandleMap<Value, u64>,
    remarks: Vec<Remark>,
    changed: Vec<Value>,
}

impl Work<'_> {
    /// Puts objects of one function on the stack, and chooses the makers that would put others there. Returns whether there are such.
    fn function(&mut self, known: &mut Known, makers: &mut Makers, function: Value) -> bool {
        let calls: Vec<Call> = function.calls().collect();
        let sites: Vec<Site> = calls.into_iter().filter_map(|call| known.site(call, makers)).collect();
        let (mut chosen, mut asked) = (false, HandleSet::default());
        for site in sites.iter().rev() {
            let uses = Uses::follow(known.module, known.callees, site.call.value());
            let Some(uses) = uses.filter(|uses| uses.returns.is_empty() && uses.is_read(known.callees)) else {
                continue;
            };
            let flow = Flow::of(function);
            let Some(mut first) = known.stays_here(&flow, site, &uses) else { continue };
            if known.callees.of_call(site.call) == Callee::Ordinary {
                if !makers::may_be_replaced_by_its_body(site.call) {
                    continue;
                }
                first.push(site.call);
            }
            if !first.is_empty() {
                // Those that another object has asked for already take their places anyway.
                first.retain(|call| !asked.contains(call));
                chosen |= makers.choose(self.builder, &first);
                asked.extend(first);
                continue;
            }
            let Some(ends) = self.ends(known, &flow, site, &uses) else { continue };
            let bytes = self.frames.entry(function).or_insert(0);
            if *bytes + site.size > FRAME_BYTES_MAX {
                continue;
            }
            *bytes += site.size;
            let of = label(self.builder.module(), site.descriptor);
            self.remarks.push(Remark::at(site.call.value(), Saving::OnStack { of }));
            Rewrite { builder: self.builder, callees: known.callees, site, uses: &uses, ends }.run(known.plan);
            if !self.changed.contains(&function) {
                self.changed.push(function);
            }
        }
        chosen
    }

    /// The places where the object's references are let go of, before its function ends. `None`: they cannot be roots.
    fn ends(&self, known: &Known, flow: &Flow, site: &Site, uses: &Uses) -> Option<Vec<Value>> {
        if site.references.is_empty() {
            return Some(Vec::new());
        }
        match known.plan {
            Plan::Deferred | Plan::Trace => Some(Vec::new()),
            Plan::Prompt => {
                let divides = rewrite::is_divisible(known.callees, site, uses);
                divides.then(|| lifetime::ends_of_only_root(flow, site.call.value(), uses)).flatten()
            }
        }
    }
}
