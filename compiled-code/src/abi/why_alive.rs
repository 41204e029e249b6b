//! The C symbols that say why objects are alive: what holds an object, a shortest path from a root, the objects of a
//! type. [`reach`] searches; the roots of frames are added here.
//!
//! They are safepoints to the compiler alone, so that the caller's roots are known: no epoch runs, and nothing dies.

use crate::abi::thread_heap;
use crate::module::registry;
use crate::program::why_alive::where_allocated;
use crate::safepoint_shim;
use crate::stack::coroutine::frames;
use crate::stack::roots::StackRoots;
use std::ffi::{CString, c_char, c_void};
use std::ops::ControlFlow;
use tally_heap::Heap;
use tally_heap::context;
use tally_heap::descriptor::TypeDescriptor;
use tally_heap::object::ObjectRef;
use tally_heap::services::reach::{self, Holder, Root};
use tally_heap::type_registry;

safepoint_shim! {
    /// `uint64_t tally_why_alive(const void *object, void (*visit)(const tally_holder *, void *, void *), void *context)`:
    /// a shortest path from a root to the object, the root first; returns its length.
    tally_why_alive => why_alive
}
safepoint_shim! {
    /// `uint64_t tally_referrers_of(const void *object, void (*visit)(const tally_holder *, void *, void *), void *context)`.
    tally_referrers_of => referrers_of
}
safepoint_shim! {
    /// `uint64_t tally_objects_of(const tally_type *type, void (*visit)(void *object, void *context), void *context)`.
    tally_objects_of => objects_of
}
safepoint_shim! {
    /// `uint64_t tally_count_of_type(const tally_type *type)`.
    tally_count_of_type => count_of_type
}

/// What holds an object, as C sees it. `tally_holder` in `tally.h`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct CHolder {
    object: u64,
    of_type: *const c_char,
    name: *const c_char,
    offset: u64,
    function: *const c_char,
    file: *const c_char,
    line: u32,
    root: u32,
}

const _: () = {
    use std::mem::{offset_of, size_of};
    assert!(size_of::<CHolder>() == 56 && offset_of!(CHolder, name) == 16 && offset_of!(CHolder, offset) == 24);
    assert!(offset_of!(CHolder, file) == 40 && offset_of!(CHolder, line) == 48 && offset_of!(CHolder, root) == 52);
};

/// `visit(holder, held object, context)`.
type VisitHolder = unsafe extern "C" fn(*const CHolder, *mut c_void, *mut c_void);
/// `visit(object, context)`.
type VisitObject = unsafe extern "C" fn(*mut c_void, *mut c_void);

extern "C" fn why_alive(word: u64, visit: Option<VisitHolder>, data: *mut c_void) -> u64 {
    // SAFETY: [ALONE] the search calls nothing of the program.
    let heap = unsafe { thread_heap() };
    // SAFETY: [HEADER] a reference, by the caller's promise.
    let object = unsafe { ObjectRef::of_word(word) }.filter(|&object| heap.owns(object));
    let path = object.map_or_else(Vec::new, |object| with_stack(heap, |heap, stack| heap.why_alive(stack, object)));
    match visit {
        Some(visit) => path.iter().for_each(|link| call(visit, &link.holder, link.held, data)),
        None if path.is_empty() => tally_heap::tell_line!("tally: no root reaches {}", name_of(object, word)),
        None => {
            let site = object.map_or_else(String::new, |object| where_allocated(heap, object));
            tally_heap::tell!("tally: {} is alive because of\n{}{site}", name_of(object, word), reach::text(&path));
        }
    }
    path.len() as u64
}

extern "C" fn referrers_of(word: u64, visit: Option<VisitHolder>, data: *mut c_void) -> u64 {
    // SAFETY: [ALONE] the search calls nothing of the program.
    let heap = unsafe { thread_heap() };
    // SAFETY: [HEADER] a reference, by the caller's promise.
    let object = unsafe { ObjectRef::of_word(word) }.filter(|&object| heap.owns(object));
    let mut holders = vec![];
    if let Some(object) = object {
        with_stack(heap, |heap, stack| heap.referrers_of(stack, object, |holder| holders.push(holder)));
    }
    match (visit, object) {
        (Some(visit), Some(object)) => holders.iter().for_each(|holder| call(visit, holder, object, data)),
        (Some(_), None) => {}
        (None, _) => {
            tally_heap::tell_line!("tally: {} references to {}", holders.len(), name_of(object, word));
            holders.iter().for_each(|holder| tally_heap::tell_line!("    {holder}"));
        }
    }
    holders.len() as u64
}

extern "C" fn objects_of(descriptor: *const TypeDescriptor, visit: Option<VisitObject>, data: *mut c_void) -> u64 {
    let mut objects = vec![];
    let count = for_each_of(descriptor, |object| {
        if visit.is_some() {
            objects.push(object);
        }
    });
    if let Some(visit) = visit {
        for object in objects {
            // SAFETY: a function of that type, as `tally.h` asks for.
            unsafe { visit(object.address() as *mut c_void, data) };
        }
    }
    count
}

extern "C" fn count_of_type(descriptor: *const TypeDescriptor) -> u64 {
    for_each_of(descriptor, |_| ())
}

/// Calls `visit` with the objects of a type that roots reach; returns their number.
fn for_each_of(descriptor: *const TypeDescriptor, mut visit: impl FnMut(ObjectRef)) -> u64 {
    // A type that is not registered has no objects.
    let Some(of_type) = type_registry::known(descriptor) else { return 0 };
    // SAFETY: [ALONE] the search calls nothing of the program.
    let heap = unsafe { thread_heap() };
    let mut count = 0;
    with_stack(heap, |heap, stack| {
        heap.reach(stack, |_, object| {
            if object.type_info().id == of_type.info().id {
                count += 1;
                visit(object);
            }
            ControlFlow::Continue(())
        })
    });
    count
}

/// Runs a search with the roots of the frames below the shim that was called, and of stopped stacks. Types know the names
/// of their fields afterwards.
fn with_stack<T>(heap: &mut Heap, search: impl FnOnce(&mut Heap, &mut reach::StackWalk<'_>) -> T) -> T {
    let places = registry::take_names();
    let mut roots = StackRoots::default();
    frames::lay_down_all(&mut roots, heap);
    let stopped = frames::slots_not_laid_down(&mut roots, heap);
    search(heap, &mut |visit| {
        // SAFETY: [CONTEXT] this thread's context, in which the shim has written the anchor.
        roots.visit_described(unsafe { &*context::current() }, &places, &stopped, visit);
    })
}

fn name_of(object: Option<ObjectRef>, word: u64) -> String {
    match object {
        Some(object) => format!("the `{}` at {word:#x}", object.type_info().name),
        None => format!("{word:#x}, which is no object of this heap"),
    }
}

/// Calls the visitor of a program with one holder.
fn call(visit: VisitHolder, holder: &Holder, held: ObjectRef, data: *mut c_void) {
    let text = |text: &str| CString::new(text).ok();
    let (mut object, mut offset, mut line) = (0, u64::MAX, 0);
    let [mut of_type, mut name, mut function, mut file] = [const { None::<CString> }; 4];
    let mut root = 0;
    match holder {
        &Holder::Object(holder, at) => {
            object = holder.address();
            of_type = text(&holder.type_info().name);
            if let Some(at) = at {
                (offset, name) = (at, text(&holder.type_info().field_name(at)));
            }
        }
        Holder::Root(held_by) => root = number_of(held_by),
    }
    if let Holder::Root(Root::Variable { name: variable, function: of, place }) = holder {
        name = variable.as_deref().and_then(text);
        function = of.as_deref().and_then(text);
        if let Some((named, at)) = place {
            (file, line) = (text(named), *at);
        }
    }
    if let Holder::Root(Root::Global(global)) = holder {
        name = text(global);
    }
    let pointer = |text: &Option<CString>| text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr());
    let seen = CHolder {
        object,
        of_type: pointer(&of_type),
        name: pointer(&name),
        offset,
        function: pointer(&function),
        file: pointer(&file),
        line,
        root,
    };
    // SAFETY: a function of that type, as `tally.h` asks for; the texts live until it returns.
    unsafe { visit(&raw const seen, held.address() as *mut c_void, data) };
}

/// `TALLY_HELD_BY_…` of `tally.h`.
fn number_of(root: &Root) -> u32 {
    match root {
        Root::Variable { .. } => 1,
        Root::Global(_) => 2,
        Root::Handle => 3,
        Root::GlobalHandle => 4,
        Root::Immortal => 5,
        Root::Finalizer => 6,
        Root::Stack => 8,
        _ => 7,
    }
}
