//! An allocator that refuses, on the thread that asks it to.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Which requests of this thread are refused.
#[allow(dead_code, reason = "not every test that has this allocator refuses in every way")]
#[derive(Debug, Clone, Copy)]
pub enum Refuse {
    Nothing,
    /// The n-th, from 0, and no other.
    One(u64),
    /// It and all that follow.
    From(u64),
    /// Those for so many bytes, or more.
    Above(usize),
}

pub struct Refusing;

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

thread_local! {
    static REFUSED: Cell<Refuse> = const { Cell::new(Refuse::Nothing) };
    static REQUESTS: Cell<u64> = const { Cell::new(0) };
}

/// Runs `run` while requests are refused; how many there were.
pub fn refusing(refuse: Refuse, run: impl FnOnce()) -> u64 {
    REQUESTS.set(0);
    REFUSED.set(refuse);
    run();
    REFUSED.set(Refuse::Nothing);
    REQUESTS.get()
}

fn is_refused(bytes: usize) -> bool {
    let number = REQUESTS.replace(REQUESTS.get() + 1);
    match REFUSED.get() {
        Refuse::Nothing => false,
        Refuse::One(one) => number == one,
        Refuse::From(first) => number >= first,
        Refuse::Above(most) => bytes >= most,
    }
}

// SAFETY: the system's allocator, or the answer that there is no memory.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by the caller's promise.
        if is_refused(layout.size()) { std::ptr::null_mut() } else { unsafe { System.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by the caller's promise.
        if is_refused(layout.size()) { std::ptr::null_mut() } else { unsafe { System.alloc_zeroed(layout) } }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: by the caller's promise.
        if is_refused(bytes) { std::ptr::null_mut() } else { unsafe { System.realloc(start, layout, bytes) } }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: by the caller's promise.
        unsafe { System.dealloc(start, layout) }
    }
}
