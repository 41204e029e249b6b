//! The C symbols by which a host controls its thread's heap and looks into it. The symbols that compiled code calls
//! are in `abi`, which also explains the shim of a safepoint and the kinds of failure. `tally.h` has the contract of
//! each symbol.

use crate::abi::{answer, own, refuse, thread_heap};
use crate::safepoint_shim;
use rustc_hash::FxHashMap;
use std::ffi::{CString, c_char, c_void};
use tally_heap::context::current;
use tally_heap::heap::Heap;
use tally_heap::heap::HeapEntry;
use tally_heap::object::ObjectRef;
use tally_heap::report::statistics::Statistics;
use tally_heap::services::collector_mode::CollectorMode;
use tally_heap::services::inventory::OfType;
use tally_heap::services::limits::{OutOfMemoryHandler, SoftLimitCallback};

safepoint_shim! {
    /// `int32_t tally_step(uint64_t ns)`: one step of an explicit collection; returns non-zero when the collection is
    /// complete.
    tally_step => step
}
safepoint_shim! {
    /// `int32_t tally_step_bytes(uint64_t bytes)`: a step as large as the work for so much allocation.
    tally_step_bytes => step_bytes
}
safepoint_shim! {
    /// `void tally_for_each_object(void (*visit)(void *, const char *, uint64_t, void *), void *context)`.
    tally_for_each_object => for_each_object
}
safepoint_shim! {
    /// `uint64_t tally_leak_report(void (*visit)(const char *, uint64_t, uint64_t, void *), void *context)`.
    tally_leak_report => leak_report
}

safepoint_shim! {
    /// `void *tally_host_new(void *pointer, void (*free)(void *pointer))`: an object that owns the pointer.
    tally_host_new => new_host
}
safepoint_shim! {
    /// `void tally_freeze(void)`: makes every object of the heap immortal.
    tally_freeze => freeze
}

extern "C" fn new_host(pointer: *mut c_void, free: unsafe extern "C" fn(*mut c_void)) -> u64 {
    // SAFETY: [ALONE] borrowed for the next statement alone.
    let heap = unsafe { thread_heap() };
    // SAFETY: `free` takes the pointer, as `tally.h` asks for.
    answer(unsafe { heap.new_host_pointer(pointer, free) })
}

extern "C" fn freeze() {
    // SAFETY: [ALONE] borrowed for the next statement alone.
    let heap = unsafe { thread_heap() };
    // SAFETY: [ALONE] compiled code holds no reference to its heap.
    Heap::freeze(unsafe { HeapEntry::of(heap) });
}

/// `visit(object, name of its type, bytes of its cell, context)`.
type VisitObject = unsafe extern "C" fn(*mut c_void, *const c_char, u64, *mut c_void);
/// `visit(name of the type, objects, bytes of their cells, context)`.
type VisitType = unsafe extern "C" fn(*const c_char, u64, u64, *mut c_void);

extern "C" fn step(ns: u64) -> i32 {
    // SAFETY: [ALONE] borrowed for the next statement alone.
    let heap = unsafe { thread_heap() };
    // SAFETY: [ALONE] compiled code holds no reference to its heap.
    Heap::step(unsafe { HeapEntry::of(heap) }, ns).into()
}

extern "C" fn step_bytes(bytes: u64) -> i32 {
    // SAFETY: [ALONE] borrowed for the next statement alone.
    let heap = unsafe { thread_heap() };
    // SAFETY: [ALONE] compiled code holds no reference to its heap.
    Heap::step_bytes(unsafe { HeapEntry::of(heap) }, bytes).into()
}

extern "C" fn for_each_object(visit: VisitObject, context: *mut c_void) {
    let mut names: FxHashMap<u32, CString> = FxHashMap::default();
    // SAFETY: [ALONE] borrowed for the last statement alone, and by that to make an entry.
    let heap = unsafe { thread_heap() };
    let visit = |object: ObjectRef, bytes| {
        let info = object.type_info();
        let name = names.entry(info.id).or_insert_with(|| c_text(&info.name));
        // SAFETY: a function of that type, as `tally.h` asks for; the name lives until it returns.
        unsafe { visit(object.address() as *mut c_void, name.as_ptr(), bytes, context) };
    };
    // SAFETY: [ALONE] compiled code holds no reference to its heap.
    Heap::for_each_object(unsafe { HeapEntry::of(heap) }, visit);
}

extern "C" fn leak_report(visit: Option<VisitType>, context: *mut c_void) -> u64 {
    // SAFETY: [ALONE] borrowed for the next statement alone.
    let heap = unsafe { thread_heap() };
    // SAFETY: [ALONE] compiled code holds no reference to its heap.
    let Some(report) = Heap::leak_report(unsafe { HeapEntry::of(heap) }) else { return 0 };
    match visit {
        None => tally_heap::tell!("{}", report.text("now")),
        Some(visit) => {
            for OfType { name, objects, bytes, .. } in &report.types {
                // SAFETY: a function of that type, as `tally.h` asks for.
                unsafe { visit(c_text(name).as_ptr(), *objects, *bytes, context) };
            }
        }
    }
    report.objects()
}

/// Names come from C strings, so there is no NUL in them.
fn c_text(name: &str) -> CString {
    CString::new(name).unwrap_or_default()
}

/// `void tally_stop(void)`: from now on the collector frees nothing by itself.
///
/// # Safety
/// Called as `tally.h` says, by code that keeps its rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_stop() {
    leaf!(tally_stop);
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() }.stop();
}

/// `void tally_restart(void)`: undoes `tally_stop`.
///
/// # Safety
/// Called as `tally.h` says, by code that keeps its rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_restart() {
    leaf!(tally_restart);
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() }.restart();
}

/// `int32_t tally_is_running(void)`: 0 between `tally_stop` and `tally_restart`.
///
/// # Safety
/// Called as `tally.h` says, by code that keeps its rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_is_running() -> i32 {
    leaf!(tally_is_running);
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() }.is_running().into()
}

/// `uint64_t tally_live_bytes(void)`: bytes of the objects that are not known to be dead.
///
/// # Safety
/// Called as `tally.h` says, by code that keeps its rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_live_bytes() -> u64 {
    leaf!(tally_live_bytes);
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() }.live_bytes()
}

/// `void tally_set_epoch_bytes(uint64_t bytes)`: sets the bytes allocated between two epochs.
///
/// # Safety
/// Called as `tally.h` says, by code that keeps its rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_set_epoch_bytes(bytes: u64) {
    leaf!(tally_set_epoch_bytes);
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() }.set_epoch_bytes(bytes);
}

/// `void tally_set_pause_goal(uint64_t ns)`: sets the longest stop to aim at; 0 = none.
///
/// # Safety
/// Called as `tally.h` says, by code that keeps its rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_set_pause_goal(ns: u64) {
    leaf!(tally_set_pause_goal);
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() }.set_pause_goal(ns);
}

/// `void tally_log_collections(int32_t on)`: says each collection in a line on standard error, or no more.
///
/// # Safety
/// Called as `tally.h` says, by code that keeps its rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_log_collections(on: i32) {
    leaf!(tally_log_collections);
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() }.log_collections(on != 0);
}

/// `int32_t tally_collector_mode(int32_t mode)`: takes a hint, or none for 0; returns the one before.
///
/// # Safety
/// Called as `tally.h` says, by code that keeps its rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_collector_mode(mode: i32) -> i32 {
    leaf!(tally_collector_mode);
    // SAFETY: [ALONE] borrowed for this statement alone.
    let heap = unsafe { thread_heap() };
    let before = match mode {
        1 => heap.set_collector_mode(CollectorMode::Incremental),
        2 => heap.set_collector_mode(CollectorMode::Generational),
        _ => heap.collector_mode(),
    };
    before as i32
}

/// `void tally_set_limits(uint64_t soft, uint64_t hard)`: sets the limits, in bytes of blocks; 0 = none.
///
/// # Safety
/// Called as `tally.h` says, by code that keeps its rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_set_limits(soft: u64, hard: u64) {
    leaf!(tally_set_limits);
    let limit = |bytes| (bytes != 0).then_some(bytes);
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() }.set_limits(limit(soft), limit(hard));
}

/// `void tally_on_soft_limit(void (*callback)(uint64_t used, void *context), void *context)`: null = no callback.
///
/// # Safety
/// `callback` may be called with `context` until another replaces it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_on_soft_limit(
    callback: Option<unsafe extern "C" fn(u64, *mut c_void)>,
    context: *mut c_void,
) {
    leaf!(tally_on_soft_limit);
    // SAFETY: [ALONE] borrowed for this statement alone.
    let before = unsafe { thread_heap() }.on_soft_limit(callback.map(|callback| -> SoftLimitCallback {
        // SAFETY: by the caller's promise.
        Box::new(move |_, used| unsafe { callback(used, context) })
    }));
    drop(before);
}

/// `void tally_on_out_of_memory(int32_t (*handler)(uint64_t requested, void *context), void *context)`: null = no
/// handler.
///
/// # Safety
/// As for [`tally_on_soft_limit`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_on_out_of_memory(
    handler: Option<unsafe extern "C" fn(u64, *mut c_void) -> i32>,
    context: *mut c_void,
) {
    leaf!(tally_on_out_of_memory);
    // SAFETY: [ALONE] borrowed for this statement alone.
    let before = unsafe { thread_heap() }.on_out_of_memory(handler.map(|handler| -> OutOfMemoryHandler {
        // SAFETY: by the caller's promise.
        Box::new(move |_, requested| unsafe { handler(requested, context) } != 0)
    }));
    drop(before);
}

/// `uint64_t tally_count_of(const void *object)`: the object's count; 0 for an address outside the heap range.
///
/// # Safety
/// An address in the heap range is a reference.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_count_of(object: u64) -> u64 {
    leaf!(tally_count_of);
    // SAFETY: [ALONE] borrowed for this statement alone.
    own(object, "tally_count_of").map_or(0, |object| unsafe { thread_heap() }.count_of(object).into())
}

/// `tally_handle *tally_handle_new(void *object)`: a scoped handle.
///
/// # Safety
/// Called as `tally.h` says, by code that keeps its rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_handle_new(object: u64) -> u64 {
    leaf!(tally_handle_new);
    // SAFETY: [CONTEXT] this thread's context.
    let context = unsafe { &mut *current() };
    // SAFETY: [ROOT] the word is a reference or null.
    match unsafe { context.push_handle(object) } {
        Some(handle) => handle,
        None => new_handle_slow(object),
    }
}

#[cold]
#[inline(never)]
extern "C" fn new_handle_slow(object: u64) -> u64 {
    // SAFETY: [ALONE] borrowed for the next statement alone.
    let heap = unsafe { thread_heap() };
    // SAFETY: [ROOT] the word is a reference or null.
    unsafe { heap.new_handle(object) }
}

/// `void tally_handle_set(tally_handle *handle, void *object)`.
///
/// # Safety
/// As for [`Heap::set_handle`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_handle_set(handle: u64, object: u64) {
    leaf!(tally_handle_set);
    own(object, "tally_handle_set");
    // SAFETY: [ALONE] borrowed for the next statement alone.
    let heap = unsafe { thread_heap() };
    // SAFETY: by the caller's promise.
    unsafe { heap.set_handle(handle, object) };
}

/// `void *tally_handles_open(void)`: opens a scope.
///
/// # Safety
/// Called as `tally.h` says, by code that keeps its rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_handles_open() -> u64 {
    leaf!(tally_handles_open);
    // SAFETY: [CONTEXT] this thread's context.
    unsafe { (*current()).handle_top }
}

/// `void tally_handles_close(void *scope)`: closes a scope.
///
/// # Safety
/// Called as `tally.h` says, by code that keeps its rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_handles_close(scope: u64) {
    leaf!(tally_handles_close);
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() }.close_handles(scope);
}

/// `tally_global *tally_global_new(void *object)`: a global handle.
///
/// # Safety
/// Called as `tally.h` says, by code that keeps its rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_global_new(object: u64) -> u64 {
    leaf!(tally_global_new);
    own(object, "tally_global_new");
    // SAFETY: [ALONE] borrowed for the next statement alone.
    let heap = unsafe { thread_heap() };
    // SAFETY: [ROOT] the word is a reference or null.
    unsafe { heap.new_global(object) }
}

/// `void tally_global_set(tally_global *global, void *object)`.
///
/// # Safety
/// As for [`Heap::set_global`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_global_set(global: u64, object: u64) {
    leaf!(tally_global_set);
    own(object, "tally_global_set");
    let heap = heap_of_global(global, "tally_global_set");
    // SAFETY: by the caller's promise.
    unsafe { heap.set_global(global, object) };
}

/// `void tally_global_free(tally_global *global)`; null is ignored.
///
/// # Safety
/// As for [`Heap::free_global`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_global_free(global: u64) {
    leaf!(tally_global_free);
    if global != 0 {
        let heap = heap_of_global(global, "tally_global_free");
        // SAFETY: [ROOT] a global handle of this heap that is not free.
        unsafe { heap.free_global(global) };
    }
}

/// This thread's heap, whose the global handle must be.
#[inline(always)]
fn heap_of_global<'a>(global: u64, function: &str) -> &'a mut Heap {
    // SAFETY: [ALONE] borrowed for the caller's next statement.
    let heap = unsafe { thread_heap() };
    if let Some(why) = heap.global_refuses(global) {
        refuse(global, function, why);
    }
    heap
}

/// `void tally_external_bytes(void *object, int64_t delta)`; an address outside the heap range is ignored.
///
/// # Safety
/// An address in the heap range is a reference.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_external_bytes(object: u64, delta: i64) {
    leaf!(tally_external_bytes);
    if let Some(object) = own(object, "tally_external_bytes") {
        // SAFETY: [ALONE] borrowed for this statement alone.
        unsafe { thread_heap() }.add_external_bytes(object, delta);
    }
}

/// `void tally_make_immortal(void *object)`; memory outside the heap range is immortal already.
///
/// # Safety
/// An address in the heap range is a reference.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_make_immortal(object: u64) {
    leaf!(tally_make_immortal);
    if let Some(object) = own(object, "tally_make_immortal") {
        // SAFETY: [ALONE] borrowed for this statement alone.
        unsafe { thread_heap() }.make_immortal(object);
    }
}

/// `void tally_unfreeze(void)`: makes immortal objects mortal again.
///
/// # Safety
/// Called as `tally.h` says, by code that keeps its rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_unfreeze() {
    leaf!(tally_unfreeze);
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() }.unfreeze();
}

/// `int32_t tally_is_in_heap(const void *address)`: whether the address lies in a block of this thread's heap.
///
/// # Safety
/// Called as `tally.h` says, by code that keeps its rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_is_in_heap(address: u64) -> i32 {
    leaf!(tally_is_in_heap);
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() }.contains(address).into()
}

/// `void tally_get_statistics(tally_statistics *into)`: the counters as of now.
///
/// # Safety
/// `into` is a `tally_statistics`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_get_statistics(into: *mut Statistics) {
    leaf!(tally_get_statistics);
    // SAFETY: [ALONE] borrowed for this statement alone.
    let heap = unsafe { thread_heap() };
    heap.count_from_now_on();
    // SAFETY: by the caller's promise.
    unsafe { into.write(heap.statistics_with_young()) };
}
