//! The runtime of Tiny in a Rust host: what compiled code calls. It has no roots of its own: while a function of it runs, its caller's
//! roots keep the arguments.

use std::cell::Cell;
use std::panic::{catch_unwind, resume_unwind};

/// A value of Tiny.
pub type Word = u64;

/// The first word of a cell.
pub const CELL: u64 = 1;
const TEXT: u64 = 2;
/// The first word of a function.
pub const FUNCTION: u64 = 3;

unsafe extern "C-unwind" {
    fn tally_collect();
    fn tally_live_bytes() -> u64;
    fn tally_new_array(descriptor: u64, length: u64) -> *mut u64;
    fn tally_global_new(object: Word) -> *mut u64;
    fn tally_global_free(handle: *mut u64);
}

thread_local! {
    /// The descriptor of texts, which the compiled module defines.
    pub static TEXTS: Cell<u64> = const { Cell::new(0) };
}

/// What unwinds the frames between an error and its `try`: a value, and the handle that keeps it alive meanwhile.
struct Raised {
    value: Word,
    _kept: Handle,
}

struct Handle(usize);

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: made by `raise`, and given back once.
        unsafe { tally_global_free(self.0 as *mut u64) };
    }
}

/// The functions by the names that compiled code calls them by.
pub fn functions() -> [(&'static str, *const ()); 9] {
    [
        ("tiny_text", text as *const ()),
        ("tiny_print", print as *const ()),
        ("tiny_join", join as *const ()),
        ("tiny_live", live as *const ()),
        ("tiny_cell", cell as *const ()),
        ("tiny_number", number as *const ()),
        ("tiny_code", code as *const ()),
        ("tiny_error", raise as *const ()),
        ("tiny_try", attempt as *const ()),
    ]
}

extern "C-unwind" fn text(bytes: *const u8, length: u64) -> Word {
    // SAFETY: the descriptor of the module that runs.
    let object = unsafe { tally_new_array(TEXTS.get(), length) };
    // SAFETY: the first word of a new text is its kind; the runtime has set the second, its length.
    unsafe { object.write(TEXT) };
    // SAFETY: the text's bytes are behind its two words.
    unsafe { std::ptr::copy_nonoverlapping(bytes, object.wrapping_add(2).cast(), length as usize) };
    object as Word
}

fn fail(message: &str) -> Word {
    raise(text(message.as_ptr(), message.len() as u64))
}

/// The words of an object of that kind.
fn object<'a>(word: Word, kind: u64) -> Option<&'a [u64; 3]> {
    // SAFETY: what is even and not null is an object. The smallest, a text of no bytes, has a cell of 24 bytes.
    (word & 1 == 0 && word != 0).then(|| unsafe { &*(word as *const [u64; 3]) }).filter(|words| words[0] == kind)
}

fn bytes_of<'a>(word: Word) -> Option<&'a [u8]> {
    // SAFETY: a text has so many bytes behind its two words.
    object(word, TEXT).map(|words| unsafe { std::slice::from_raw_parts((word + 16) as *const u8, words[1] as usize) })
}

fn show(word: Word) -> String {
    if word & 1 == 1 {
        return (word as i64 >> 1).to_string();
    }
    let Some(mut cell) = object(word, CELL) else {
        let other = || if word == 0 { "nil" } else { "function" }.to_owned();
        return bytes_of(word).map_or_else(other, |bytes| String::from_utf8_lossy(bytes).into_owned());
    };
    let mut all = format!("({}", show(cell[1]));
    while let Some(next) = object(cell[2], CELL) {
        all += &format!(" {}", show(next[1]));
        cell = next;
    }
    if cell[2] == 0 { all + ")" } else { format!("{all} . {})", show(cell[2])) }
}

extern "C-unwind" fn print(word: Word) -> Word {
    println!("{}", show(word));
    word
}

extern "C-unwind" fn join(left: Word, right: Word) -> Word {
    let (Some(left), Some(right)) = (bytes_of(left), bytes_of(right)) else { return fail("not a text") };
    let joined = [left, right].concat();
    text(joined.as_ptr(), joined.len() as u64)
}

extern "C-unwind" fn live() -> Word {
    // SAFETY: this function has no references.
    unsafe { tally_collect() };
    // SAFETY: it only reads.
    unsafe { tally_live_bytes() << 1 | 1 }
}

extern "C-unwind" fn cell(word: Word) -> Word {
    if object(word, CELL).is_some() { word } else { fail("not a cell") }
}

extern "C-unwind" fn number(word: Word) -> Word {
    if word & 1 == 1 { (word as i64 >> 1) as Word } else { fail("not a number") }
}

/// The code of a function with so many parameters.
extern "C-unwind" fn code(word: Word, arity: u64) -> Word {
    let found = object(word, FUNCTION).filter(|words| words[2] == arity);
    found.map_or_else(|| fail("not a function of so many parameters"), |words| words[1])
}

extern "C-unwind" fn raise(value: Word) -> Word {
    // SAFETY: a reference that the caller has given, or null.
    let handle = unsafe { tally_global_new(if value & 1 == 0 { value } else { 0 }) };
    resume_unwind(Box::new(Raised { value, _kept: Handle(handle as usize) }))
}

extern "C-unwind" fn attempt(function: Word, handler: Word) -> Word {
    // SAFETY: code of Tiny with no parameter but the function itself.
    let run: extern "C-unwind" fn(Word) -> Word = unsafe { std::mem::transmute(code(function, 0)) };
    let panic = match catch_unwind(|| run(function)) {
        Ok(value) => return value,
        Err(panic) => panic,
    };
    let raised = *panic.downcast::<Raised>().unwrap_or_else(|other| resume_unwind(other));
    // SAFETY: code of Tiny with one parameter and the function itself.
    let handle: extern "C-unwind" fn(Word, Word) -> Word = unsafe { std::mem::transmute(code(handler, 1)) };
    handle(handler, raised.value)
}
