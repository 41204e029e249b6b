//! Allocation sites of modules that come and go: their names are kept, and code that lies where other code was has names of its own.

use crate::boundaries::program::{KEEPER, options};

use tally_compiled::abi::alloc_site::tally_record_alloc_sites;
use tally_compiled::abi::thread_heap;
use tally_heap::ObjectRef;
use tally_heap::services::alloc_site::text_of_site;
use tally_llvm::jit::Session;
use tally_llvm::pipeline::CompileOptions;

fn maker(function: &str) -> String {
    format!(
        r#"
@Node = external constant i8
!tally.types = !{{!0}}
!0 = !{{ptr @Node, !"size", i64 16, !"refs", !{{i32 0}}}}
declare ptr @tally_new(ptr)
define ptr @{function}() gc "refcount" {{
  %object = call ptr @tally_new(ptr @Node)
  ret ptr %object
}}
"#
    )
}

fn site(object: u64) -> String {
    // SAFETY: [ALONE] borrowed for this statement alone.
    let heap = unsafe { thread_heap() };
    // SAFETY: [HEADER] an object that a global variable holds.
    let site = heap.alloc_site(unsafe { ObjectRef::from_address(object) });
    text_of_site(&site.expect("every object is recorded"))
}

#[test]
fn site_of_a_module_that_is_removed_keeps_its_names() {
    let test = || {
        let mut session = Session::new(CompileOptions { names: true, ..options() }).unwrap();
        // SAFETY: the suite's own module.
        unsafe { session.add("keeper", KEEPER.as_bytes()) }.unwrap();
        // SAFETY: the module defines it with that type.
        let keep: unsafe extern "C" fn(u64) = unsafe { std::mem::transmute(session.lookup("keep").unwrap()) };
        // SAFETY: called as `tally.h` says.
        unsafe { tally_record_alloc_sites(1) };
        let mut made = |function: &str| {
            // SAFETY: the suite's own module.
            let module = unsafe { session.add(function, maker(function).as_bytes()) }.unwrap();
            // SAFETY: the module defines it with that type.
            let make: unsafe extern "C" fn() -> u64 = unsafe { std::mem::transmute(session.lookup(function).unwrap()) };
            // SAFETY: compiled with that type.
            let object = unsafe { make() };
            // SAFETY: compiled with that type; there was no safepoint since the object was made.
            unsafe { keep(object) };
            // SAFETY: its only function has returned.
            unsafe { session.remove(module) }.unwrap();
            object
        };
        for function in ["first", "second", "third"] {
            let object = made(function);
            assert_eq!(site(object), format!("in `{function}`"));
        }
        // SAFETY: [ALONE] borrowed for this statement alone.
        let totals = unsafe { thread_heap() }.alloc_sites();
        let mut named: Vec<String> = totals.iter().map(|row| text_of_site(&row.site)).collect();
        named.sort();
        assert_eq!(named, ["in `first`", "in `second`", "in `third`"]);
        // SAFETY: [ALONE] borrowed for this statement alone.
        unsafe { keep(0) };
    };
    std::thread::spawn(test).join().unwrap();
}
