//! Module records that no lowering would emit: each is refused with a reason, and leaves nothing behind.

use rc_runtime::module_record::{GlobalRoot, MODULE_VERSION, ModuleRecord, TypeHandle};
use rc_runtime::module_registry::{for_each_global_reference, register, unregister};
use rc_runtime::{TypeDescriptor, type_registry};
use std::ptr::{null, null_mut};

static PAIR: TypeDescriptor = TypeDescriptor::plain(c"Pair", 24, &[0, 8]);

fn record() -> ModuleRecord {
    ModuleRecord {
        version: MODULE_VERSION,
        flags: 0,
        name: c"wrong.ll".as_ptr(),
        stack_maps: null(),
        stack_maps_size: 0,
        type_count: 0,
        types: null_mut(),
        global_count: 0,
        globals: null(),
        root_count: 0,
        roots: null(),
    }
}

fn refusal(record: &ModuleRecord) -> String {
    cycle_detector::program::install();
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
    for_each_global_reference(|_, global| assert_ne!(&*global.name, "refused"));
}

#[test]
fn a_sound_module_comes_and_goes() {
    let mut handles = [TypeHandle { descriptor: &raw const PAIR, meta: 0, cell: 0 }];
    let module = ModuleRecord { type_count: 1, types: handles.as_mut_ptr(), ..record() };
    cycle_detector::program::install();
    for _ in 0..2 {
        // SAFETY: the record and what it points to live as long as the test.
        unsafe { register(&module) }.expect("a sound module");
        assert_ne!(handles[0].meta, 0);
        assert_eq!(handles[0].cell, 32);
        unregister(&module);
    }
}
