//! Module records that no lowering would emit: each is refused with a reason, and leaves nothing behind.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::{null, null_mut};
use tally_compiled::module::record::{GlobalRoot, MODULE_VERSION, ModuleRecord, TypeHandle};
use tally_compiled::module::registry::{register, unregister};
use tally_heap::descriptor::TraceVisit;
use tally_heap::services::global_roots;
use tally_heap::{HeapOptions, TypeDescriptor, type_registry};
use tally_kit::nodes::new_mutator;

static PAIR: TypeDescriptor = TypeDescriptor::plain(c"Pair", 24, &[0, 8]);

fn record() -> ModuleRecord {
    ModuleRecord::empty(c"wrong.ll")
}

fn refusal(record: &ModuleRecord) -> String {
    // SAFETY: everything that the record points to lives as long as the test; what is null must be refused.
    unsafe { register(record) }.expect_err("a malformed record").to_string()
}

#[test]
fn a_table_that_is_null_is_refused() {
    let types = ModuleRecord { type_count: 3, ..record() };
    assert_eq!(refusal(&types), "module `wrong.ll`: its record has 3 types at address 0; lower the module again");
    let globals = ModuleRecord { global_count: 1, ..record() };
    assert_eq!(refusal(&globals), "module `wrong.ll`: its record has 1 globals at address 0; lower the module again");
    let roots = ModuleRecord { root_count: 2, ..record() };
    assert_eq!(refusal(&roots), "module `wrong.ll`: its record has 2 roots at address 0; lower the module again");
}

#[test]
fn a_record_of_another_version_or_with_unknown_flags_is_refused() {
    let newer = ModuleRecord { version: MODULE_VERSION + 1, ..record() };
    let said = refusal(&newer);
    assert!(said.contains(&format!("its record has version {}", MODULE_VERSION + 1)), "{said}");
    let flagged = ModuleRecord { flags: 1 << 9, ..record() };
    let said = refusal(&flagged);
    assert!(said.contains("flags 0x200, and only 0x") && said.ends_with("lower the module again"), "{said}");
}

/// What says how to read a global root is a descriptor, too.
#[test]
fn a_global_whose_descriptor_is_malformed_is_refused() {
    let how = TypeDescriptor::plain(c"Crooked", 16, &[4]);
    let mut slot = 0u64;
    let slots = [GlobalRoot { slot: &raw mut slot, how: &how, name: c"crooked".as_ptr() }];
    let module = ModuleRecord { global_count: 1, globals: slots.as_ptr(), ..record() };
    let said = refusal(&module);
    assert!(said.starts_with("module `wrong.ll`: type descriptor `Crooked`: offset 4"), "{said}");
    global_roots::for_each(|global| assert_ne!(&*global.name, "crooked"));
}

#[test]
fn an_entry_that_names_nothing_is_refused() {
    let mut handles = [TypeHandle { descriptor: null(), meta: 0, cell: 0 }];
    let types = ModuleRecord { type_count: 1, types: handles.as_mut_ptr(), ..record() };
    assert_eq!(refusal(&types), "module `wrong.ll`: its record has a type without descriptor; lower the module again");
    let slots = [GlobalRoot { slot: null_mut(), how: null(), name: null() }];
    let globals = ModuleRecord { global_count: 1, globals: slots.as_ptr(), ..record() };
    assert_eq!(
        refusal(&globals),
        "module `wrong.ll`: its record has a global root at address 0x0; lower the module again"
    );
}

#[test]
fn a_refused_module_leaves_no_type_and_no_global() {
    let sound = Box::leak(Box::new(TypeDescriptor::plain(c"Before", 24, &[0])));
    let wrong = Box::leak(Box::new(TypeDescriptor::plain(c"Wrong", 24, &[4])));
    let mut slot = 0u64;
    let mut handles =
        [&raw const *sound, &raw const *wrong].map(|descriptor| TypeHandle { descriptor, meta: 0, cell: 0 });
    let slots = [GlobalRoot { slot: &raw mut slot, how: null(), name: c"refused".as_ptr() }];
    let module = ModuleRecord {
        type_count: 2,
        types: handles.as_mut_ptr(),
        global_count: 1,
        globals: slots.as_ptr(),
        ..record()
    };
    assert!(refusal(&module).contains("type descriptor `Wrong`"));
    assert_eq!(handles.map(|handle| (handle.meta, handle.cell)), [(0, 0), (0, 0)]);
    // Another module's descriptor may come to stand at the same address.
    *sound = TypeDescriptor::plain(c"After", 48, &[]);
    let id = type_registry::register(sound).expect("a sound descriptor");
    assert_eq!((&*id.info().name, id.info().size), ("After", 48));
    global_roots::for_each(|global| assert_ne!(&*global.name, "refused"));
}

#[test]
fn a_sound_module_comes_and_goes() {
    let mut handles = [TypeHandle { descriptor: &raw const PAIR, meta: 0, cell: 0 }];
    let module = ModuleRecord { type_count: 1, types: handles.as_mut_ptr(), ..record() };
    for _ in 0..2 {
        // SAFETY: the record and what it points to live as long as the test.
        unsafe { register(&module) }.expect("a sound module");
        assert_ne!(handles[0].meta, 0);
        assert_eq!(handles[0].cell, 32);
        // SAFETY: the module goes away now, with its code.
        unsafe { unregister(&module) };
    }
}

/// A descriptor that the linker has made one for two modules: its code stays until the last of them goes.
#[test]
fn type_of_two_modules_has_its_destructor_until_the_second_goes() {
    unsafe extern "C-unwind" fn close(_: *mut c_void) {}
    // SAFETY: it takes anything.
    static FILE: TypeDescriptor = unsafe { TypeDescriptor::plain(c"File", 16, &[]).finalized(close) };
    let mut handles = [(); 2].map(|()| [TypeHandle { descriptor: &raw const FILE, meta: 0, cell: 0 }]);
    let modules = handles.each_mut().map(|types| ModuleRecord { type_count: 1, types: types.as_mut_ptr(), ..record() });
    for module in &modules {
        // SAFETY: the record and what it points to live as long as the test.
        unsafe { register(module) }.expect("a sound module");
    }
    let file = type_registry::known(&FILE).expect("it is registered").info();
    // SAFETY: the module goes away now.
    unsafe { unregister(&modules[0]) };
    assert!(file.finalizer().is_some() && type_registry::known(&FILE).is_some());
    // SAFETY: the module goes away now.
    unsafe { unregister(&modules[1]) };
    assert!(file.finalizer().is_none() && type_registry::known(&FILE).is_none());
}

/// Each once, in order, and only those that hold something of this heap.
#[test]
fn globals_that_keep_objects_are_named_in_the_leak_report() {
    let mut m = new_mutator(HeapOptions::default()).expect("address space");
    let pair = type_registry::register(&PAIR).expect("a sound descriptor");
    let kept = m.allocate(pair).expect("room");
    m.push_root(Some(kept));
    let words = [kept.address(), 0, kept.address()].map(Cell::new);
    let names = [c"the_cache", c"the_empty_one", c"an_index"];
    let globals: Vec<GlobalRoot> = words
        .iter()
        .zip(names)
        .map(|(word, name)| GlobalRoot { slot: word.as_ptr(), how: null(), name: name.as_ptr() })
        .collect();
    let module = ModuleRecord { global_count: 3, globals: globals.as_ptr(), ..record() };
    // SAFETY: the record and what it points to live until it is unregistered.
    unsafe { register(&module) }.expect("a sound module");
    m.truncate_roots(0);
    let report = m.leak_report().expect("an object is left");
    assert_eq!((report.objects(), report.globals.as_slice()), (1, &["an_index", "the_cache"].map(str::to_owned)[..]));
    assert!(report.text("at the end").ends_with("  held by global roots: an_index, the_cache\n"));
    words.iter().for_each(|word| word.set(0));
    assert_eq!(m.leak_report(), None, "globals hold nothing any more");
    // SAFETY: the module goes away now, with its code.
    unsafe { unregister(&module) };
}

/// A pair of tag and word; the word is a reference if the tag is 1.
unsafe extern "C" fn trace(words: *const u64, count: u64, visit: TraceVisit, context: *mut c_void) {
    assert_eq!(count, 2, "the variable as a whole");
    // SAFETY: an image of two words.
    let [tag, word] = unsafe { *words.cast::<[u64; 2]>() };
    if tag == 1 {
        // SAFETY: a reference, as its tag says, and the context came with `visit`.
        unsafe { visit(word as *mut c_void, context) };
    }
}

#[test]
fn a_global_that_only_trace_can_read_holds_what_it_reports() {
    // SAFETY: `trace` reads only the words that it is given, and reports references.
    static VARIANT: TypeDescriptor = unsafe { TypeDescriptor::plain(c"Variant", 16, &[]).traced(trace) };
    let mut m = new_mutator(HeapOptions::default()).expect("address space");
    let pair = type_registry::register(&PAIR).expect("a sound descriptor");
    let kept = m.allocate(pair).expect("room");
    m.push_root(Some(kept));
    let variable = [1, kept.address()].map(Cell::new);
    let slots = [GlobalRoot { slot: variable[0].as_ptr(), how: &VARIANT, name: c"variant".as_ptr() }];
    let module = ModuleRecord { global_count: 1, globals: slots.as_ptr(), ..record() };
    // SAFETY: the record and what it points to live until it is unregistered.
    unsafe { register(&module) }.expect("a sound module");
    m.truncate_roots(0);
    m.collect();
    m.verify().expect("a sound heap");
    assert_eq!(m.live_objects(), [kept]);
    variable[0].set(2);
    m.collect();
    assert_eq!(m.live_objects(), [], "the word is a number now");
    // SAFETY: the module goes away now, with its code.
    unsafe { unregister(&module) };
}
