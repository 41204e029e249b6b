//! Registered modules: their types get ids, their global slots become roots ([`global_roots`]), their stack maps are
//! read (`loaded`).

use crate::module::call_sites::CallSites;
use crate::module::loaded;
use crate::module::names::{self, RootPlaces};
use crate::module::record::{
    GlobalRoot, MODULE_FLAG_BARRIERS, MODULE_FLAG_COUNTS, MODULE_FLAG_LENDS, MODULE_FLAG_METADATA,
    MODULE_FLAG_STATEPOINTS, MODULE_VERSION, ModuleRecord, TypeHandle,
};
use crate::stack::anchor::beginning_here;
use stack_roots::Lookup;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use tally_heap::descriptor::{DescriptorError, TypeDescriptor};
use tally_heap::heap::Heap;
use tally_heap::heap::HeapEntry;
use tally_heap::plan::{MODULE_FLAG_PROMPT, MODULE_FLAG_TRACE, Plan};
use tally_heap::services::alloc_site::CodePlace;
use tally_heap::services::global_roots::{self, GlobalSlot};
use tally_heap::type_registry::{self, TypeId, TypeInfo};

struct Registered {
    descriptors: Vec<*const TypeDescriptor>,
    plan: Plan,
    counts: bool,
    name: String,
    /// Address of the text that names fields and places, or 0.
    names: u64,
    /// Places of its calls, once they were asked for.
    calls: OnceLock<CallSites>,
}

// SAFETY: the descriptors are constants that are only compared.
unsafe impl Send for Registered {}
// SAFETY: the descriptors are constants that are only compared.
unsafe impl Sync for Registered {}

static MODULES: RwLock<BTreeMap<u64, Registered>> = RwLock::new(BTreeMap::new());

/// A module without a barrier has been registered.
static PLAIN_WRITES: AtomicBool = AtomicBool::new(false);

/// Before code of the module runs.
fn note_writes(has_barrier: bool) {
    PLAIN_WRITES.fetch_or(!has_barrier, Ordering::Release);
}

fn modules() -> RwLockReadGuard<'static, BTreeMap<u64, Registered>> {
    MODULES.read().unwrap_or_else(PoisonError::into_inner)
}

fn modules_mut() -> RwLockWriteGuard<'static, BTreeMap<u64, Registered>> {
    MODULES.write().unwrap_or_else(PoisonError::into_inner)
}

/// Why a module was refused.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    /// Lowered for another runtime.
    #[error(
        "module `{module}`: its record has version {version}, this runtime reads version {MODULE_VERSION}; lower it again with the tally of this runtime"
    )]
    Version {
        /// The module.
        module: String,
        /// The version found.
        version: u32,
    },
    /// A table or an entry is not there.
    #[error("module `{module}`: its record has {what}; lower the module again")]
    Malformed {
        /// The module.
        module: String,
        /// The fault.
        what: String,
    },
    /// A descriptor is malformed.
    #[error("module `{module}`: {error}")]
    Descriptor {
        /// The module.
        module: String,
        /// The fault.
        error: DescriptorError,
    },
    /// Lowered for another plan than the modules that are registered.
    #[error(
        "module `{module}` is of gc \"{}\", and module `{other_module}` of gc \"{}\": a process has one plan; compile both with the same strategy",
        plan.strategy(),
        other.strategy()
    )]
    Plans {
        /// The module.
        module: String,
        /// Its plan.
        plan: Plan,
        /// The module that was registered before.
        other_module: String,
        /// Its plan.
        other: Plan,
    },
    /// The stack maps cannot be read.
    #[error("module `{module}`: {what}")]
    StackMaps {
        /// The module.
        module: String,
        /// The fault.
        what: String,
    },
}

/// Registers a module, of any plan.
///
/// # Errors
/// [`ModuleError`]; nothing is registered then.
///
/// # Safety
/// `module` and everything it points to stays valid until [`unregister`].
pub unsafe fn register(module: *const ModuleRecord) -> Result<(), ModuleError> {
    crate::module::driver::provide_all();
    // SAFETY: by the caller's promise.
    unsafe { add(module) }
}

/// Registers a module, of a plan whose driver is provided.
///
/// # Errors, Safety
/// As for [`register`].
unsafe fn add(module: *const ModuleRecord) -> Result<(), ModuleError> {
    // SAFETY: by the caller's promise.
    let record = unsafe { &*module };
    // SAFETY: names are C string constants.
    let name = unsafe { text(record.name) }.unwrap_or_else(|| "(unnamed)".to_owned());
    if record.version != MODULE_VERSION {
        return Err(ModuleError::Version { module: name, version: record.version });
    }
    let malformed = |what| ModuleError::Malformed { module: name.clone(), what };
    let wrong = |error| ModuleError::Descriptor { module: name.clone(), error };
    let plan = plan_of(record).map_err(malformed)?;
    check_tables(record).map_err(malformed)?;
    if let Some((other, other_module)) = other_plan(plan) {
        return Err(ModuleError::Plans { module: name, plan, other_module, other });
    }
    // SAFETY: the record's tables hold as many entries as it says.
    let types: &mut [TypeHandle] = unsafe { slice_mut(record.types, record.type_count) };
    // SAFETY: the record's tables hold as many entries as it says.
    let globals: &[GlobalRoot] = unsafe { slice_mut(record.globals.cast_mut(), record.global_count) };
    for handle in &*types {
        // SAFETY: a handle names a descriptor of its module, or nothing.
        let descriptor = unsafe { handle.descriptor.as_ref() };
        descriptor.ok_or_else(|| malformed("a type without descriptor".to_owned()))?.check().map_err(wrong)?;
    }
    if let Some(global) = globals.iter().find(|global| global.slot.is_null()) {
        return Err(malformed(format!("a global root at address {:#x}", global.slot as u64)));
    }
    let globals = globals.iter().map(global_slot).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    let unreadable = |what| ModuleError::StackMaps { module: name.clone(), what };
    loaded::registered(module as u64, record).map_err(unreadable)?;
    let mut descriptors = vec![];
    for handle in types {
        // SAFETY: checked above.
        let descriptor: &'static TypeDescriptor = unsafe { &*handle.descriptor };
        let info = match type_registry::register(descriptor) {
            Ok(id) => id.info(),
            Err(error) => {
                forget(module as u64, descriptors);
                return Err(wrong(error));
            }
        };
        handle.meta = info.fresh_meta(plan);
        handle.cell = info.cell_bytes(0).and_then(|bytes| u32::try_from(bytes).ok()).unwrap_or(u32::MAX);
        descriptors.push(handle.descriptor);
    }
    let counts = record.flags & MODULE_FLAG_COUNTS != 0;
    let has_barrier = plan.has_barrier() || record.flags & MODULE_FLAG_BARRIERS != 0;
    note_writes(has_barrier);
    let registered = Registered { descriptors, plan, counts, name, names: record.names as u64, calls: OnceLock::new() };
    modules_mut().insert(module as u64, registered);
    global_roots::add(module as u64, globals);
    Ok(())
}

/// Registers a module whose constructor says that it is of that plan.
///
/// # Errors
/// As for [`register`], or its record says something else.
///
/// # Safety
/// As for [`register`].
pub(crate) unsafe fn register_of(plan: Plan, module: *const ModuleRecord) -> Result<(), ModuleError> {
    // SAFETY: by the caller's promise.
    let record = unsafe { &*module };
    let other = plan_of(record).ok().filter(|&other| record.version == MODULE_VERSION && other != plan);
    match other {
        None => {
            // SAFETY: by the caller's promise.
            unsafe { add(module) }
        }
        Some(other) => {
            // SAFETY: names are C string constants.
            let module = unsafe { text(record.name) }.unwrap_or_else(|| "(unnamed)".to_owned());
            let (own, said) = (other.strategy(), plan.strategy());
            Err(ModuleError::Malformed {
                module,
                what: format!("the flags of gc \"{own}\", and its constructor registers one of gc \"{said}\""),
            })
        }
    }
}

/// Notes code of another tool, which nothing counts, under `key`.
///
/// # Errors
/// Another plan than the trace plan is in use.
pub(crate) fn register_uncounted(key: u64, name: String) -> Result<(), ModuleError> {
    let plan = Plan::Trace;
    if let Some((other, other_module)) = other_plan(plan) {
        return Err(ModuleError::Plans { module: name, plan, other_module, other });
    }
    crate::module::driver::provide(plan, tally_collector::plan::trace::make_driver);
    note_writes(false);
    modules_mut()
        .insert(key, Registered { descriptors: vec![], plan, counts: false, name, names: 0, calls: OnceLock::new() });
    Ok(())
}

/// Forgets code that [`register_uncounted`] noted.
pub(crate) fn unregister_uncounted(key: u64) {
    modules_mut().remove(&key);
}

/// The plan of the modules that are registered now, or of heaps that were made for some.
pub fn plan() -> Plan {
    let registered = modules().values().next().map(|module| module.plan);
    registered.or(PLAN_OF_HEAPS.get().copied()).unwrap_or_default()
}

/// Whether code of a module that was registered may write references by plain stores, though it may be gone again.
pub(crate) fn has_plain_writes() -> bool {
    PLAIN_WRITES.load(Ordering::Acquire)
}

/// Whether heaps count what is allocated: a module reads the counters, or no module is registered and native code may
/// read them.
pub(crate) fn counts_are_wanted() -> bool {
    let modules = modules();
    modules.is_empty() || modules.values().any(|module| module.counts)
}

/// Returns the plan for a heap of compiled code, and fixes it for the process: heaps outlive modules.
pub(crate) fn plan_for_heap() -> Plan {
    *PLAN_OF_HEAPS.get_or_init(plan)
}

/// Tells the types of all modules the names of their fields, and returns the places of all roots, as far as the modules
/// have kept them: before a report.
pub(crate) fn take_names() -> RootPlaces {
    let mut places = RootPlaces::default();
    for module in modules().values() {
        // SAFETY: a C string constant of a module that is registered, or null.
        let Some(text) = (unsafe { text(module.names as *const c_char) }) else { continue };
        let types = module.descriptors.iter().filter_map(|&descriptor| type_registry::known(descriptor));
        names::tell_fields(&text, &types.map(TypeId::info).collect::<Vec<_>>());
        names::add_places(&text, &mut places);
    }
    places
}

/// The places that a call returns to, innermost first; none of a call in code that the lowering has added. `None`: its module keeps no places.
pub(crate) fn places_of_call(return_address: u64) -> Option<Vec<CodePlace>> {
    let modules = modules();
    let holds = |key| loaded::frames_of(key).is_some_and(|frames| frames.lookup(return_address).is_some());
    let (&key, module) = modules.iter().find(|&(&key, module)| module.names != 0 && holds(key))?;
    if !module.calls_of(key).has_any() {
        return None;
    }
    let place = |number: &u64| {
        let own = module.calls_of(key).place(*number);
        own.or_else(|| modules.iter().find_map(|(&key, other)| other.calls_of(key).place(*number))).cloned()
    };
    Some(module.calls_of(key).at(return_address).iter().filter_map(place).collect())
}

impl Registered {
    /// The places of its calls. `key` is its own.
    fn calls_of(&self, key: u64) -> &CallSites {
        self.calls.get_or_init(|| {
            // SAFETY: a C string constant of a module that is registered, or null.
            let Some(names) = (unsafe { text(self.names as *const c_char) }) else { return CallSites::default() };
            // SAFETY: modules with names are registered under the address of their record.
            CallSites::of(unsafe { &*(key as *const ModuleRecord) }, &names)
        })
    }
}

static PLAN_OF_HEAPS: OnceLock<Plan> = OnceLock::new();

/// A plan that is in use and is not `plan`, and the name of its user.
fn other_plan(plan: Plan) -> Option<(Plan, String)> {
    let registered =
        modules().values().find(|module| !module.plan.may_meet(plan)).map(|module| (module.plan, module.name.clone()));
    let of_heaps = || PLAN_OF_HEAPS.get().filter(|other| !other.may_meet(plan));
    registered.or_else(|| of_heaps().map(|&other| (other, "(one whose objects are still there)".to_owned())))
}

/// The plan that the module was lowered for. A flag that is not known may name another plan, and is refused.
fn plan_of(record: &ModuleRecord) -> Result<Plan, String> {
    let of_trace = MODULE_FLAG_STATEPOINTS | MODULE_FLAG_METADATA | MODULE_FLAG_BARRIERS;
    let others = MODULE_FLAG_LENDS | MODULE_FLAG_COUNTS | of_trace;
    let plan = Plan::of_module_flags(record.flags & !others).ok_or_else(|| {
        format!(
            "flags {:#x}, and only {MODULE_FLAG_PROMPT:#x} (prompt plan), {MODULE_FLAG_TRACE:#x} (trace plan), \
             {MODULE_FLAG_LENDS:#x} (address-taken roots), {MODULE_FLAG_COUNTS:#x} (objects are counted), \
             {MODULE_FLAG_STATEPOINTS:#x} (statepoints), {MODULE_FLAG_METADATA:#x} (metadata of roots) and \
             {MODULE_FLAG_BARRIERS:#x} (barriers) are known",
            record.flags
        )
    })?;
    match record.flags & MODULE_FLAG_STATEPOINTS != 0 && plan.has_barrier() {
        true => Err(format!("statepoints and gc \"{}\", and only the trace plan has their roots", plan.strategy())),
        false => Ok(plan),
    }
}

/// Refuses tables that no lowering emits, but that would be read.
fn check_tables(record: &ModuleRecord) -> Result<(), String> {
    let tables = [
        ("types", record.type_count, record.types.is_null()),
        ("globals", record.global_count, record.globals.is_null()),
        ("roots", record.root_count, record.roots.is_null()),
    ];
    match tables.into_iter().find(|&(_, count, is_null)| count != 0 && is_null) {
        Some((what, count, _)) => Err(format!("{count} {what} at address 0")),
        None => Ok(()),
    }
}

/// Forgets a module: its globals are no roots any more, its frames are unknown, its types keep their ids. A type that another
/// module has, too, stays as it is.
///
/// Under the prompt plan the calling thread's heap releases the references in its globals. References to objects of
/// other threads' heaps are left to those heaps' next mark.
///
/// Objects of its types whose finalizers have not run are finalized first, reachable or not: the code of the
/// finalizers goes away. Objects in other threads' heaps will die without being finalized.
///
/// # Safety
/// `module` is null, or the record of a module whose code is still there. The calling thread's heap is not borrowed: finalizers run.
pub unsafe fn unregister(module: *const ModuleRecord) {
    let own = descriptors_of_no_other(module as u64);
    let types: Vec<&'static TypeInfo> =
        own.iter().filter_map(|&descriptor| type_registry::known(descriptor)).map(TypeId::info).collect();
    let finalized: Vec<&'static TypeInfo> = types.iter().copied().filter(|info| info.has_finalizer).collect();
    finalize_last_objects(&finalized);
    let removed = modules_mut().remove(&(module as u64));
    if let Some(registered) = removed {
        let globals = global_roots::take(module as u64);
        if registered.plan.counts_globals() {
            release_globals(&globals);
        }
        types.iter().for_each(|info| info.note_lost_code(&registered.name));
        forget(module as u64, own);
    }
}

/// The descriptors of a module that no other module has: their code goes with it.
fn descriptors_of_no_other(module: u64) -> Vec<*const TypeDescriptor> {
    let modules = modules();
    let Some(registered) = modules.get(&module) else { return vec![] };
    let has_other = |descriptor: &*const TypeDescriptor| {
        modules.iter().any(|(&key, other)| key != module && other.descriptors.contains(descriptor))
    };
    registered.descriptors.iter().copied().filter(|descriptor| !has_other(descriptor)).collect()
}

/// Releases the references in the module's globals while its code is still there, so that the destructors of objects
/// that die then can run. The globals are no roots any more. Returns whether something may have died. Under the
/// deferred plan nothing does.
///
/// # Safety
/// The module's globals are still there, and the calling thread's heap is not borrowed.
pub(crate) unsafe fn release_module_globals(module: u64) -> bool {
    if !modules().get(&module).is_some_and(|registered| registered.plan.counts_globals()) {
        return false;
    }
    let globals = global_roots::take(module);
    release_globals(&globals);
    let mut held = false;
    globals.iter().for_each(|global| global.for_each_reference(|_| held = true));
    held
}

fn finalize_last_objects(types: &[&'static TypeInfo]) {
    if types.is_empty() {
        return;
    }
    // SAFETY: [CONTEXT] this thread's context; an attached heap outlives its attachment, and nothing has borrowed it.
    let heap = unsafe { (*tally_heap::context::current()).heap };
    // SAFETY: [CONTEXT] this thread's context; an attached heap outlives its attachment, and nothing has borrowed it;
    // the borrow ends here.
    let runs_none = unsafe { heap.as_ref() }.is_some_and(|heap| heap.services.finalizers.depth() == 0);
    if runs_none {
        let is_meant = |info: &TypeInfo| types.iter().any(|one| one.id == info.id);
        beginning_here(|| {
            // SAFETY: [ALONE] this thread's heap, which nothing borrows.
            Heap::finalize_remaining(unsafe { HeapEntry::of(heap) }, &is_meant)
        });
    }
    types.iter().for_each(|info| info.forget_finalizer());
}

fn release_globals(globals: &[GlobalSlot]) {
    // SAFETY: [CONTEXT] this thread's context; an attached heap outlives its attachment.
    let heap = unsafe { (*tally_heap::context::current()).heap };
    // SAFETY: [CONTEXT] this thread's context; an attached heap outlives its attachment.
    let Some(heap) = (unsafe { heap.as_mut() }) else { return };
    heap.release_globals(globals);
}

fn forget(key: u64, descriptors: Vec<*const TypeDescriptor>) {
    descriptors.into_iter().for_each(type_registry::forget);
    loaded::unregistered(key);
}

fn global_slot(root: &GlobalRoot) -> Result<GlobalSlot, DescriptorError> {
    // SAFETY: a non-null `how` is a descriptor of the module.
    let how = unsafe { root.how.as_ref() }.map(type_registry::describe).transpose()?;
    // SAFETY: names are C string constants.
    let name = unsafe { text(root.name) }.unwrap_or_else(|| format!("{:#x}", root.slot as u64));
    Ok(GlobalSlot { slot: root.slot as u64, how: how.map(Arc::new), name: name.into() })
}

/// A C string as text; `None` for null.
///
/// # Safety
/// A pointer that is not null leads to a C string.
pub unsafe fn text(pointer: *const c_char) -> Option<String> {
    // SAFETY: by the caller's promise.
    (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
}

/// # Safety
/// `pointer` leads to `count` entries, unless `count` is 0.
unsafe fn slice_mut<'a, T>(pointer: *mut T, count: u64) -> &'a mut [T] {
    if count == 0 || pointer.is_null() {
        return &mut [];
    }
    // SAFETY: by the caller's promise.
    unsafe { std::slice::from_raw_parts_mut(pointer, count as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constructor_of_another_plan_than_its_record_is_refused() {
        let record = ModuleRecord { flags: MODULE_FLAG_PROMPT, ..ModuleRecord::empty(c"list") };
        // SAFETY: a record without tables, which stays until it is refused.
        let refused = unsafe { register_of(Plan::Trace, &raw const record) }.unwrap_err().to_string();
        assert_eq!(
            refused,
            "module `list`: its record has the flags of gc \"refcount-prompt\", and its constructor registers one of gc \"trace\"; lower the \
             module again"
        );
    }
}
