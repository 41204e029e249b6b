//! Large objects: what their death costs, and whose their memory is then. A room of its own, because it looks at the
//! process's memory.

use tally_heap::plan::Plan;
use tally_heap::{HeapOptions, TypeDescriptor, type_registry};
use tally_kit::nodes::new_mutator;

static BYTES: TypeDescriptor = TypeDescriptor::plain(c"Bytes", 8, &[]).with_tail(0, 1, &[]);

fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).expect("a number") * 4096
}

/// `[BOUND]` Side tables are a tenth of the heap; zeroing them for a whole run made 69 MB resident here, in one step.
#[test]
fn a_large_object_that_dies_leaves_no_memory_in_the_tables() {
    let mut m = new_mutator(HeapOptions::default()).expect("address space");
    let bytes = type_registry::register(&BYTES).expect("a sound descriptor");
    m.collect();
    let before = resident_bytes();
    for dies_young in [true, false] {
        let object = m.allocate_array(bytes, 600 << 20).expect("address space");
        if !dies_young {
            let root = m.push_root(Some(object));
            m.collect();
            m.truncate_roots(root.0);
        }
        m.collect();
        assert_eq!(m.heap().used_bytes(), 0);
    }
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 8 << 20, "{grown} bytes more are resident");
}

/// A candidate may outlive its object: what went back to the process is no heap's, and then perhaps another heap's, on
/// another thread. (ThreadSanitizer found that such an owner was written while the old one asked.)
#[test]
fn memory_that_went_back_belongs_to_nobody_until_another_heap_takes_it() {
    let bytes = type_registry::register(&BYTES).expect("a sound descriptor");
    for plan in [Plan::Deferred, Plan::Prompt] {
        let options = || HeapOptions { plan, ..HeapOptions::default() };
        let mut m = new_mutator(options()).expect("address space");
        let object = m.allocate_array(bytes, 1 << 20).expect("address space");
        assert!(m.heap().still_owns(object) && m.heap().owns(object));
        m.collect();
        assert!(!m.heap().still_owns(object) && !m.heap().owns(object), "{plan:?}");
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let mut other = new_mutator(options()).expect("address space");
                let again = other.allocate_array(bytes, 1 << 20).expect("address space");
                (again.address(), other.heap().still_owns(again))
            });
            let asked = (0..1000).all(|_| !m.heap().still_owns(object));
            let (again, owned) = other.join().expect("it ends");
            assert!(asked && owned, "{plan:?}: {again:#x}, before {:#x}", object.address());
        });
    }
}
