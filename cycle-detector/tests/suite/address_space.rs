//! A process that may not have the address space of a heap: it is told so. A process of its own, because the range is
//! reserved once in a process, and the limit is the process's.

use tally_heap::{HeapOptions, TypeDescriptor, type_registry};
use tally_kit::nodes::new_mutator;
use tally_kit::own_process::own_process;

static PAIR: TypeDescriptor = TypeDescriptor::plain(c"Pair", 24, &[0, 8]);

#[test]
fn a_type_is_refused_with_a_reason_when_there_is_no_address_space() {
    let test = "address_space::a_type_is_refused_with_a_reason_when_there_is_no_address_space";
    own_process(test, &[], refuse_address_space);
}

fn refuse_address_space() {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages: u64 = statm.split(' ').next().and_then(|size| size.parse().ok()).expect("a number");
    let limit = libc::rlimit { rlim_cur: pages * 4096 + (64 << 20), rlim_max: libc::RLIM_INFINITY };
    // SAFETY: sets a limit of this process.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
    let refused = type_registry::register(&PAIR).expect_err("there is no room for the table of types");
    assert!(refused.to_string().contains("ulimit -v"), "{refused}");
    // No heap is smaller than what was refused.
    assert!(refused.to_string().contains("a smaller TALLY_RESERVE is of no use"), "{refused}");
    assert!(new_mutator(HeapOptions::default()).is_err());
}
