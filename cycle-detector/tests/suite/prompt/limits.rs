//! Heap limits, zeal, two plans, memory that goes back.

use crate::prompt::{ARRAY, LEAF, live, mutator, node, nodes, options, set, type_of};
use tally_compiled::module::record::{ModuleRecord, TypeHandle};
use tally_compiled::module::registry;
use tally_heap::descriptor::TypeDescriptor;
use tally_heap::plan::MODULE_FLAG_PROMPT;
use tally_heap::{HeapOptions, OutOfMemory, type_registry};
use tally_kit::nodes::new_mutator;

/// scenarios 144, 145.
#[test]
fn at_the_heap_limit_cycles_are_collected_and_then_the_program_is_told() {
    let mut m = new_mutator(HeapOptions { heap_limit: Some(1 << 20), trials: false, ..options() }).expect("room");
    for _ in 0..200_000 {
        let [one, two] = nodes(&mut m);
        set(&mut m, one, 0, Some(two));
        set(&mut m, two, 0, Some(one));
        m.poll();
    }
    let mut held = 0;
    let refused = loop {
        match m.allocate(type_of(&crate::prompt::NODE)) {
            Ok(object) => m.push_root(Some(object)),
            Err(error) => break error,
        };
        held += 1;
    };
    assert!(matches!(refused, OutOfMemory::Limit { limit: 1_048_576, .. }), "{refused}");
    assert!(held > 30_000, "{held} nodes of 32 bytes in one MiB");
    assert!(m.allocate_array(type_of(&ARRAY), 1 << 20).is_err());
    m.truncate_roots(0);
    m.poll();
    node(&mut m);
    m.verify().expect("sound");
}

/// Objects of many sizes were alive once; each size has a list of free cells, in a block of its own.
#[test]
fn at_the_heap_limit_blocks_that_only_free_lists_lie_in_are_used_for_what_is_wanted() {
    static BYTES: TypeDescriptor = TypeDescriptor::plain(c"Bytes", 8, &[]).with_tail(0, 8, &[]);
    let mut m = new_mutator(HeapOptions { heap_limit: Some(1 << 20), ..options() }).expect("room");
    for length in 4..28 {
        m.allocate_array(type_of(&BYTES), length * length).expect("room");
    }
    m.poll();
    assert_eq!(live(&m), 0);
    let used = m.heap().used_bytes();
    assert!(used > 300 << 10, "{used} bytes in blocks without objects");
    for held in 0..31_000 {
        let node = m.allocate(type_of(&crate::prompt::NODE)).unwrap_or_else(|error| panic!("after {held}: {error}"));
        m.push_root(Some(node));
    }
    assert_eq!(live(&m), 31_000);
    m.verify().expect("sound");
    m.truncate_roots(0);
    m.allocate_array(type_of(&BYTES), 100_000).expect("a large object finds room as well");
    m.verify().expect("sound");
}

#[test]
fn in_zeal_dead_objects_are_poisoned_and_never_used_again() {
    let mut m = new_mutator(HeapOptions { zeal: true, ..options() }).expect("room");
    let object = node(&mut m);
    let root = m.push_root(Some(object));
    let leaf = m.allocate(type_of(&LEAF)).expect("room");
    m.push_root(Some(leaf));
    m.set_root(root, None);
    m.poll();
    let zeal = m.heap().zeal.as_ref().expect("on");
    assert!(zeal.live_object(object.address()).is_none() && zeal.live_object(leaf.address()).is_some());
    assert_eq!(object.slot(16).read(), 0xdbdb_dbdb_dbdb_dbdb);
    for _ in 0..100 {
        assert_ne!(node(&mut m), object);
    }
    m.poll();
    assert_eq!(live(&m), 1);
    m.verify().expect("sound");
}

/// scenario 142.
#[test]
fn over_aligned_and_odd_sized_objects_lie_where_they_should() {
    static WIDE: TypeDescriptor = TypeDescriptor::plain(c"Wide", 40, &[8]).aligned(64);
    static PAGE: TypeDescriptor = TypeDescriptor::plain(c"Page", 100, &[0]).aligned(4096);
    static BYTES: TypeDescriptor = TypeDescriptor::plain(c"Bytes", 8, &[]).with_tail(0, 1, &[]);
    let mut m = mutator();
    for step in 0..500u64 {
        let wide = m.allocate(type_of(&WIDE)).expect("room");
        m.push_root(Some(wide));
        let page = m.allocate(type_of(&PAGE)).expect("room");
        m.push_root(Some(page));
        let bytes = m.allocate_array(type_of(&BYTES), step * 37).expect("room");
        m.push_root(Some(bytes));
        assert_eq!((wide.address() % 64, page.address() % 4096), (0, 0));
        for at in 0..step * 37 / 8 {
            assert_eq!(bytes.slot(8 + at * 8).read(), 0);
            bytes.slot(8 + at * 8).store(u64::MAX);
        }
        if step % 3 == 0 {
            m.truncate_roots((step / 2) as usize);
        }
    }
    m.verify().expect("sound");
    m.truncate_roots(0);
    m.poll();
    assert_eq!(live(&m), 0);
}

#[test]
fn memory_of_a_dropped_structure_goes_back_to_the_system() {
    let mut m = mutator();
    for _ in 0..200_000 {
        let object = node(&mut m);
        m.push_root(Some(object));
    }
    let used = m.heap().used_bytes();
    m.truncate_roots(0);
    m.poll();
    assert!(used > 6 << 20 && m.heap().used_bytes() <= 64 << 10);
}

#[test]
fn a_module_of_another_plan_is_refused_and_both_are_named() {
    let record = |name: &'static std::ffi::CStr, flags, types: &'static mut [TypeHandle]| ModuleRecord {
        flags,
        type_count: types.len() as u64,
        types: types.as_mut_ptr(),
        ..ModuleRecord::empty(name)
    };
    unsafe extern "C-unwind" fn nothing(_: *mut std::ffi::c_void) {}
    // SAFETY: `nothing` takes any object of the type.
    static CLOSED: TypeDescriptor = unsafe { TypeDescriptor::plain(c"Closed", 16, &[]).finalized(nothing) };
    static WRONG: TypeDescriptor = TypeDescriptor::plain(c"Wrong", 16, &[]).finalized_on_request();
    let handles = |descriptor| &mut *Box::leak(Box::new([TypeHandle { descriptor, meta: 0, cell: 0 }]));
    let (first, second) = (record(c"first.ll", MODULE_FLAG_PROMPT, handles(&CLOSED)), record(c"second.ll", 0, &mut []));
    // SAFETY: the records stay until the end of the test.
    let register = |record: &ModuleRecord| unsafe { registry::register(record) };
    // SAFETY: nothing of the module is used any more.
    let unregister = |record: &ModuleRecord| unsafe { registry::unregister(record) };
    register(&first).expect("the first of its plan");
    let error = register(&second).expect_err("another plan").to_string();
    for expected in ["second.ll", "first.ll", "\"refcount\"", "\"refcount-prompt\""] {
        assert!(error.contains(expected), "{error}");
    }
    unregister(&first);
    register(&second).expect("alone");
    unregister(&second);
    let third = record(c"third.ll", 0, handles(&WRONG));
    let error = register(&third).expect_err("no finalizer").to_string();
    assert!(error.contains("third.ll") && error.contains("finalize is null"), "{error}");
    let fourth = record(c"fourth.ll", 0, handles(&CLOSED));
    register(&fourth).expect("finalizers are for both plans");
    unregister(&fourth);
    assert!(type_registry::register(&WRONG).is_err());
}
