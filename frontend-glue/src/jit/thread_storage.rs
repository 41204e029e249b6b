//! Each thread's copies of the thread-local variables of JIT code, which `thread_locals` has made into calls.
//!
//! A variable gets its number at its first use, from a counter: a module that is loaded at the address of another has
//! descriptions of its own, and never finds the other's copies. A thread's copies are in a table by number.
//!
//! The copies are freed when the thread ends, but not before destructors of other thread-specific data have run,
//! which may use them: our destructor requests another round from the C library until the last one (four,
//! `PTHREAD_DESTRUCTOR_ITERATIONS`).

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The description of a variable's copies; the compiler emits it, see `thread_locals`.
#[repr(C)]
pub(super) struct Description {
    size: u64,
    align: u64,
    /// Null for zeros.
    content: *const u8,
    /// 0 until the first use.
    number: AtomicU64,
}

#[derive(Default)]
struct Copies {
    by_number: Vec<Option<(*mut u8, Layout)>>,
    rounds: u32,
}

thread_local!(static COPIES: Cell<*mut Copies> = const { Cell::new(std::ptr::null_mut()) });

/// The calling thread's copy of a variable.
///
/// Expected when there is one: 3 loads, 2 tests.
pub(super) extern "C" fn address(variable: &Description) -> *mut u8 {
    let number = match variable.number.load(Ordering::Acquire) {
        0 => number(variable),
        number => number,
    } as usize;
    let copies = COPIES.get();
    // SAFETY: this thread's table, which no other thread has and to which no reference is kept.
    match unsafe { copies.as_ref() }.and_then(|copies| copies.by_number.get(number)) {
        Some(&Some((copy, _))) => copy,
        _ => make(variable, number),
    }
}

#[cold]
fn number(variable: &Description) -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let fresh = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    let exchanged = variable.number.compare_exchange(0, fresh, Ordering::AcqRel, Ordering::Acquire);
    exchanged.map_or_else(|theirs| theirs, |_| fresh)
}

#[cold]
fn make(variable: &Description, number: usize) -> *mut u8 {
    if COPIES.get().is_null() {
        COPIES.set(Box::into_raw(Box::default()));
        keep(COPIES.get());
    }
    let layout =
        Layout::from_size_align(variable.size.max(1) as usize, variable.align as usize).expect("LLVM's layout");
    // SAFETY: the layout is not empty.
    let copy = unsafe { alloc_zeroed(layout) };
    if copy.is_null() {
        handle_alloc_error(layout);
    }
    if !variable.content.is_null() {
        // SAFETY: the content is as long as the copy.
        unsafe { copy.copy_from_nonoverlapping(variable.content, variable.size as usize) };
    }
    // SAFETY: the table is this thread's, and nothing else here refers to it.
    let copies = unsafe { &mut *COPIES.get() };
    if copies.by_number.len() <= number {
        copies.by_number.resize(number + 1, None);
    }
    copies.by_number[number] = Some((copy, layout));
    copy
}

/// Makes the thread's end call `thread_ended`.
fn keep(copies: *mut Copies) {
    static KEY: OnceLock<libc::pthread_key_t> = OnceLock::new();
    let key = KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: `thread_ended` is a destructor. Without a key (there are 1,024) the copies outlive the thread.
        if unsafe { libc::pthread_key_create(&mut key, Some(thread_ended)) } != 0 {
            return libc::pthread_key_t::MAX;
        }
        key
    });
    // SAFETY: a key, or a number that is no key.
    unsafe { libc::pthread_setspecific(*key, copies.cast()) };
}

unsafe extern "C" fn thread_ended(copies: *mut c_void) {
    let copies = copies.cast::<Copies>();
    // SAFETY: `make` gave this address; only the thread that ends uses it.
    let rounds = unsafe { &mut (*copies).rounds };
    *rounds += 1;
    if *rounds < 4 {
        return keep(copies);
    }
    COPIES.set(std::ptr::null_mut());
    // SAFETY: `make` gave this address; this is the last round: no code uses a copy any more.
    for (copy, layout) in unsafe { Box::from_raw(copies) }.by_number.into_iter().flatten() {
        // SAFETY: allocated with this layout by `make`.
        unsafe { dealloc(copy, layout) };
    }
}
