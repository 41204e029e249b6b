//! The roots of compiled code: stack maps registered by modules, and the walk at a flip. `[ROOT]`
//!
//! Registration (module → frame table and named roots) goes into a concurrent map and publishes a new immutable snapshot; a
//! heap keeps the snapshot it last used and looks at one version number per flip, so the walk takes no lock.
//!
//! A root slot is read by its descriptor if it has one (`llvm.gcroot`'s second argument), else as one plain reference.
//!
//! The walk must reach the bottom: the entry of `main`, or on other threads the frame that has no caller. If a native frame
//! without an unwind table hides the rest, the program is stopped: to go on would be to free what those frames hold.

use crate::shadow_stack;
use dashmap::DashMap;
use rc_runtime::context::Context;
use rc_runtime::descriptor::TypeDescriptor;
use rc_runtime::fatal::{self, STATUS_USAGE, STATUS_VIOLATION};
use rc_runtime::module_record::{ModuleRecord, RootInfo};
use rc_runtime::module_registry::{ModuleListener, text};
use rc_runtime::object::Slot;
use rc_runtime::type_registry::{self, TypeInfo};
use rc_runtime::{Heap, ObjectRef, abi, range};
use stack_roots::{
    Frame, FrameRoot, FrameTable, FrameTables, Lookup, Reach, Registers, StackEnd, UnwindEnd, stack_map, unwind,
    visit_thread_stack,
};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A root as its module described it.
#[derive(Debug, Clone)]
pub struct NamedRoot {
    /// How its slot is read; `None` = one plain reference.
    pub how: Option<Arc<TypeInfo>>,
    /// Address of the descriptor that says so, or 0.
    pub descriptor: u64,
    /// The variable's name.
    pub name: Arc<str>,
    /// The function it was declared in.
    pub function: Arc<str>,
}

/// What one module contributes.
struct ModuleRoots {
    frames: Arc<FrameTable>,
    roots: Box<[(u64, NamedRoot)]>,
}

/// Everything registered at one moment.
#[derive(Debug, Default)]
struct Snapshot {
    frames: FrameTables,
    roots: HashMap<u64, NamedRoot>,
    /// Whether any root is read by a descriptor.
    any_described: bool,
}

#[derive(Default)]
struct Registry {
    modules: DashMap<u64, ModuleRoots>,
    current: Mutex<Arc<Snapshot>>,
    version: AtomicU64,
}

fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(Registry::default)
}

/// The listener through which `rc-runtime` passes modules on.
pub struct StackMapListener;

impl ModuleListener for StackMapListener {
    fn registered(&self, key: u64, module: &ModuleRecord) -> Result<(), String> {
        let frames = read_frames(module)?;
        let roots = read_roots(module)?;
        registry().publish(key, Some(ModuleRoots { frames: Arc::new(frames), roots: roots.into() }));
        Ok(())
    }

    fn unregistered(&self, key: u64) {
        registry().publish(key, None);
    }
}

impl Registry {
    /// Makes the snapshot in which module `key` has these roots, or none.
    fn publish(&self, key: u64, module: Option<ModuleRoots>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let frames = match &module {
            Some(module) => current.frames.with(key, module.frames.clone()),
            None => current.frames.without(key),
        };
        match module {
            Some(module) => self.modules.insert(key, module),
            None => self.modules.remove(&key).map(|(_, module)| module),
        };
        let mut next = Snapshot { frames, ..Snapshot::default() };
        for module in &self.modules {
            next.roots.extend(module.roots.iter().cloned());
        }
        next.any_described = next.roots.values().any(|root| root.how.is_some());
        *current = Arc::new(next);
        self.version.fetch_add(1, Ordering::Release);
    }
}

fn read_frames(module: &ModuleRecord) -> Result<FrameTable, String> {
    if module.stack_maps.is_null() {
        let empty = stack_map::read(&[]).map_err(|error| error.to_string())?;
        return FrameTable::build(&empty, |_| None).map_err(|error| error.to_string());
    }
    let known = module.stack_maps_size != 0;
    let bytes = match module.stack_maps_size {
        0 => readable_bytes_from(module.stack_maps as u64),
        size => size,
    };
    // SAFETY: the emitter measured the section, or the mapping that holds it reaches this far.
    let bytes = unsafe { std::slice::from_raw_parts(module.stack_maps, bytes as usize) };
    let map = if known { stack_map::read(bytes) } else { stack_map::read_first(bytes) };
    let map = map.map_err(|error| format!("its stack maps cannot be read: {error}"))?;
    FrameTable::build(&map, |function| Some(function.address))
        .map_err(|error| format!("its stack maps do not follow the convention: {error}"))
}

/// Bytes from `address` to the end of the mapping that holds it.
fn readable_bytes_from(address: u64) -> u64 {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let end = maps.lines().find_map(|line| {
        let (start, end) = line.split(' ').next()?.split_once('-')?;
        let (start, end) = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
        (start..end).contains(&address).then_some(end)
    });
    end.map_or(0, |end| end - address)
}

fn read_roots(module: &ModuleRecord) -> Result<Vec<(u64, NamedRoot)>, String> {
    if module.root_count == 0 {
        return Ok(vec![]);
    }
    // SAFETY: the record's table has as many entries as it says.
    let table = unsafe { std::slice::from_raw_parts(module.roots, module.root_count as usize) };
    table.iter().map(read_root).collect()
}

fn read_root(root: &RootInfo) -> Result<(u64, NamedRoot), String> {
    // SAFETY: a non-null `how` is a descriptor of the module.
    let how = unsafe { root.how.as_ref() }.map(type_registry::describe).transpose();
    // SAFETY: names are C string constants.
    let (name, function) = unsafe { (text(root.name), text(root.function)) };
    let named = NamedRoot {
        how: how.map_err(|error| error.to_string())?.map(Arc::new),
        descriptor: root.how as u64,
        name: name.unwrap_or_else(|| "(unnamed)".to_owned()).into(),
        function: function.unwrap_or_else(|| "(unknown)".to_owned()).into(),
    };
    Ok((root.id, named))
}

/// A heap's view of the registered modules.
#[derive(Debug, Default)]
pub struct StackRoots {
    snapshot: Arc<Snapshot>,
    version: u64,
    shadow_types: ShadowTypes,
}

impl StackRoots {
    fn refresh(&mut self) {
        let version = registry().version.load(Ordering::Acquire);
        if version != self.version {
            self.snapshot = registry().current.lock().unwrap_or_else(PoisonError::into_inner).clone();
            self.version = version;
        }
    }

    /// Visits every reference that a root of the calling thread's compiled frames holds, if `heap` runs compiled code.
    pub(crate) fn visit(&mut self, heap: &mut Heap, mut found: impl FnMut(&mut Heap, ObjectRef, &dyn Fn() -> String)) {
        let Some(registers) = anchor(heap.context_mut()) else { return };
        self.refresh();
        let snapshot = self.snapshot.clone();
        let mut slots = 0;
        let mut take = |heap: &mut Heap, object: ObjectRef, name: &dyn Fn() -> String| {
            if heap.owns(object) {
                found(heap, object, name);
            } else if heap.zeal.is_some() {
                let what = format!("{} holds {:#x}, {}", name(), object.address(), abi::FOREIGN);
                fatal::violation("ROOT", heap.epoch, &what);
            }
        };
        heap.statistics.frames_walked += walk(registers, &snapshot, |root| {
            slots += 1;
            snapshot.visit_root(root, |object| take(heap, object, &|| snapshot.describe(root)));
        });
        slots += shadow_stack::visit(registers.sp..stack_end(), |slot, meta| {
            self.shadow_types.visit_root(slot, meta, |object| {
                take(heap, object, &|| format!("the shadow stack's root at {slot:#x}"));
            });
        });
        heap.statistics.roots_walked += slots;
    }

    /// Calls `visit` with every root slot of the calling thread's compiled frames and its descriptor, or null.
    pub(crate) fn visit_slots(&mut self, context: &Context, mut visit: impl FnMut(u64, *const TypeDescriptor)) {
        let Some(registers) = anchor(context) else { return };
        self.refresh();
        walk(registers, &self.snapshot, |root| {
            let named = self.snapshot.roots.get(&root.id);
            visit(root.slot_address, named.map_or(0, |named| named.descriptor) as *const TypeDescriptor);
        });
        shadow_stack::visit(registers.sp..stack_end(), visit);
    }
}

/// Where compiled code left for the runtime; none when it does not run.
fn anchor(context: &Context) -> Option<Registers> {
    let rbx = Some(context.exit_rbx);
    (context.exit_pc != 0).then_some(Registers { pc: context.exit_pc, sp: context.exit_sp, fp: context.exit_fp, rbx })
}

/// Visits the roots of the calling thread's compiled frames, down to the bottom of the stack. Answers how many frames.
fn walk(registers: Registers, snapshot: &Snapshot, mut visit: impl FnMut(&FrameRoot)) -> u64 {
    let mut stack = StackReader::new(registers.sp);
    let entry_return = bottom();
    let frames = &snapshot.frames;
    let walked =
        visit_thread_stack(registers, |address| stack.read(address), frames, entry_return, |root| visit(&root));
    match walked.end {
        StackEnd::Bottom { .. } => {}
        // The unwinder's last step: the first frame of a thread has no caller.
        StackEnd::EndOfStack { pc: 0 } => {}
        StackEnd::EndOfStack { pc } => fatal::stop(
            STATUS_VIOLATION,
            &format!(
                "the stack cannot be walked beyond {}: that native code has no unwind table, so the roots of the functions \
                 that called it cannot be found; compile it with -fasynchronous-unwind-tables (or -funwind-tables)",
                native_place(pc)
            ),
        ),
        StackEnd::Malformed { registers, fault } => fatal::stop(
            STATUS_VIOLATION,
            &format!("the stack is not as compiled code leaves it at {}: {fault}", native_place(registers.pc)),
        ),
    }
    walked.frames as u64
}

/// The return address that the walk ends at: that of `main`'s entry, or on a thread that the C library started, its own.
fn bottom() -> u64 {
    thread_local!(static BOTTOM: Cell<Option<u64>> = const { Cell::new(None) });
    // SAFETY: this thread's context.
    if unsafe { (*rc_runtime::context::current()).entry } != 0 {
        return crate::program::entry_return();
    }
    BOTTOM.get().unwrap_or_else(|| {
        let bottom = thread_start().unwrap_or_else(crate::program::entry_return);
        BOTTOM.set(Some(bottom));
        bottom
    })
}

/// The return address in the C library's function that called this thread's start routine. It stands at one place of the
/// stack, below everything, and where managed code was started by it directly the unwinder need not look for the end.
fn thread_start() -> Option<u64> {
    /// Knows no frame, and notes which it was asked for.
    struct Seen(RefCell<Vec<u64>>);
    impl Lookup for Seen {
        fn lookup(&self, pc: u64) -> Option<Frame<'_>> {
            self.0.borrow_mut().push(pc);
            None
        }
    }
    let seen = Seen(RefCell::default());
    let end = unwind(0, Reach::Bottom, |_| None, &seen, crate::program::entry_return(), |_| ()).end;
    let mut pcs = seen.0.into_inner();
    pcs.retain(|&pc| pc != 0);
    // From the top: … start routine's callee, `start_thread`, `clone`, and nothing.
    let [.., start_thread, _clone] = pcs[..] else { return None };
    let is_the_librarys = file_base(start_thread)? == file_base(libc::pthread_create as *const () as u64)?;
    (end == UnwindEnd::EndOfStack { pc: 0 } && is_the_librarys).then_some(start_thread)
}

/// Where the file that holds an address of code was loaded.
fn file_base(pc: u64) -> Option<u64> {
    // SAFETY: dladdr fills the struct for an address of a loaded file.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        (libc::dladdr(pc as *const libc::c_void, &mut info) != 0).then_some(info.dli_fbase as u64)
    }
}

/// An address of code in words: the function that exports its name, and the file.
fn native_place(pc: u64) -> String {
    // SAFETY: dladdr fills the struct for an address of a loaded file; its strings live as long as that.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(pc as *const libc::c_void, &mut info) == 0 {
            return format!("{pc:#x}");
        }
        let offset = pc - info.dli_fbase as u64;
        let file = text(info.dli_fname).unwrap_or_default();
        match text(info.dli_sname) {
            Some(symbol) => format!("{pc:#x} (in or after `{symbol}`, {file}+{offset:#x})"),
            None => format!("{pc:#x} ({file}+{offset:#x})"),
        }
    }
}

impl Snapshot {
    fn visit_root(&self, root: &FrameRoot, found: impl FnMut(ObjectRef)) {
        let described = if self.any_described && root.id != 0 { self.roots.get(&root.id) } else { None };
        if let Some(how) = described.and_then(|named| named.how.as_ref()) {
            return how.for_each_reference_in_root(root.slot_address, found);
        }
        visit_plain_root(root.slot_address, found);
    }

    fn describe(&self, root: &FrameRoot) -> String {
        match self.roots.get(&root.id) {
            Some(named) => format!("root `{}` of function `{}` (called at {:#x})", named.name, named.function, root.pc),
            None => format!("root number {} of the frame called at {:#x}", root.ordinal, root.pc),
        }
    }
}

fn visit_plain_root(slot: u64, mut found: impl FnMut(ObjectRef)) {
    // SAFETY: [ROOT] the stack map says that the slot is a word of the frame, and the frame is active.
    let word = unsafe { Slot::from_address(slot) }.read();
    if range::in_heap(word) {
        // SAFETY: [ROOT] what a root slot holds in the heap is an object.
        found(unsafe { ObjectRef::from_address(word) });
    }
}

/// How the shadow stack's roots are read, by descriptor.
#[derive(Debug, Default)]
struct ShadowTypes(HashMap<u64, TypeInfo>);

impl ShadowTypes {
    fn visit_root(&mut self, slot: u64, meta: *const TypeDescriptor, found: impl FnMut(ObjectRef)) {
        // SAFETY: the metadata of a root is null or a descriptor.
        let Some(descriptor) = (unsafe { meta.as_ref() }) else { return visit_plain_root(slot, found) };
        let how = self.0.entry(meta as u64).or_insert_with(|| match type_registry::describe(descriptor) {
            Ok(info) => info,
            Err(error) => fatal::stop(STATUS_USAGE, &format!("metadata of a root on the shadow stack: {error}")),
        });
        how.for_each_reference_in_root(slot, found);
    }
}

/// Reads words of the calling thread's stack, and nothing else.
struct StackReader {
    low: u64,
    high: u64,
}

impl StackReader {
    fn new(sp: u64) -> StackReader {
        StackReader { low: sp, high: stack_end() }
    }

    fn read(&mut self, address: u64) -> Option<u64> {
        if address < self.low || address >= self.high || address & 7 != 0 {
            return None;
        }
        // SAFETY: between the stack pointer and the end of this thread's stack.
        Some(unsafe { *(address as *const u64) })
    }
}

/// One past the calling thread's stack.
fn stack_end() -> u64 {
    thread_local!(static END: u64 = find_stack_end());
    END.with(|end| *end)
}

fn find_stack_end() -> u64 {
    // SAFETY: pthread_getattr_np fills the attributes of the calling thread; they are destroyed again.
    unsafe {
        let mut attributes = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return !7;
        }
        let (mut start, mut size) = (std::ptr::null_mut(), 0);
        libc::pthread_attr_getstack(&attributes, &mut start, &mut size);
        libc::pthread_attr_destroy(&mut attributes);
        start as u64 + size as u64
    }
}
