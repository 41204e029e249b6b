//! The message about a stack overflow: the function, its callers, and the number of frames.
//!
//! All of it comes from the memory of the full stack, by the frame tables. Return addresses of managed calls are
//! known, and managed frames keep frame pointers, so each frame leads to the next return address by its frame
//! pointer. Where that chain breaks, at native frames and at the fault itself, every word from there on is tested for
//! being a return address. An old return address may pass the test: good enough for a message, never for a
//! collection.
//!
//! The function that faulted is named if it has called itself, at whatever distance: its frames show where it begins
//! and how far its calls reach. In recursion this is always so. A fault elsewhere is the runtime's if the last
//! safepoint has not returned. The search then begins at its call: the runtime's own frames hold old return
//! addresses. The fault is the runtime's, too, if a frame above the first managed one returns close to the
//! start of an entry point ([`leaf`]): leaves leave no exit anchor.
//!
//! A signal handler calls this, so nothing is allocated: the text grows in an array.

use crate::leaf;
use crate::module::loaded::{self, Snapshot};
use crate::thread::stack_overflow::{Kind, Stack};
use stack_roots::{Frame, Lookup, Machine};
use std::fmt::{self, Write};
use tally_heap::context;

/// Registers at the fault.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) pc: u64,
    pub(crate) sp: u64,
    pub(crate) fp: u64,
}

/// Writes the message to standard error.
pub(crate) fn print(fault: Fault, stack: Stack) {
    // SAFETY: [CONTEXT] this thread's context.
    let [exit_pc, exit_sp, ..] = unsafe { (*context::current()).exit_anchor() };
    let exit = Exit { pc: exit_pc, sp: exit_sp };
    // SAFETY: only words between the end of the full stack and its beginning are asked for.
    let read = |address: u64| unsafe { *(address as *const u64) };
    let mut text = Text::default();
    let is_runtime = |address| leaf::is_close_to_one(address);
    if loaded::peek(|modules| write(&mut text, fault, stack, exit, modules, is_runtime, read)).is_none() {
        write(&mut text, fault, stack, exit, &Snapshot::default(), is_runtime, read);
    }
    let bytes = &text.bytes[..text.length];
    // SAFETY: writes the bytes.
    unsafe { libc::write(libc::STDERR_FILENO, bytes.as_ptr().cast(), bytes.len()) };
}

/// The last exit from managed code into a safepoint of the runtime, which may have returned since.
#[derive(Clone, Copy, Debug)]
struct Exit {
    pc: u64,
    sp: u64,
}

/// Callers that are named.
const NAMED: usize = 3;

/// The frames found on the stack.
#[derive(Default)]
struct Found<'f> {
    count: u64,
    callers: [Option<Frame<'f>>; NAMED],
    /// Stack pointer of the first frame.
    first_sp: Option<u64>,
    /// The frame whose function the fault lies in.
    of_fault: Option<Frame<'f>>,
}

fn find<'f>(fault: Fault, stack: Stack, frames: &'f impl Lookup, read: impl Fn(u64) -> u64) -> Found<'f> {
    let mut found = Found::default();
    managed_frames(fault, stack, frames, read, |frame, sp| {
        if let Some(caller) = found.callers.get_mut(found.count as usize) {
            *caller = Some(frame);
        }
        found.first_sp.get_or_insert(sp);
        if found.of_fault.is_none() && (frame.function().address..frame.pc).contains(&fault.pc) {
            found.of_fault = Some(frame);
        }
        found.count += 1;
    });
    found
}

/// Whether the call that left managed code last has not returned: its return address stands where it put it.
fn is_in_progress(exit: Exit, fault: Fault, stack: Stack, frames: &impl Lookup, read: impl Fn(u64) -> u64) -> bool {
    let at = exit.sp.wrapping_sub(8);
    let lies_on_the_stack = at >= fault.sp && at >= stack.low && exit.sp <= stack.high && at & 7 == 0;
    lies_on_the_stack && read(at) == exit.pc && frames.lookup(exit.pc).is_some()
}

fn write(
    text: &mut Text,
    fault: Fault,
    stack: Stack,
    exit: Exit,
    modules: &Snapshot,
    is_runtime: impl Fn(u64) -> bool,
    read: impl Fn(u64) -> u64,
) {
    let mut found = find(fault, stack, &modules.frames, &read);
    let mut in_the_runtime = false;
    if found.of_fault.is_none() && is_in_progress(exit, fault, stack, &modules.frames, &read) {
        // The runtime's own frames are skipped: words there that look like return addresses are old ones.
        found = find(Fault { sp: exit.sp - 8, ..fault }, stack, &modules.frames, &read);
        in_the_runtime = true;
    } else if found.of_fault.is_none() {
        let from = fault.sp.max(stack.low).next_multiple_of(8);
        let mut above = (from..found.first_sp.unwrap_or(from)).step_by(8);
        in_the_runtime = is_runtime(fault.pc) || above.any(|at| is_runtime(read(at)));
    }
    let Found { count, callers, of_fault, .. } = found;
    // Text beyond the array's length is cut off.
    let _ = text.write_str("tally: stack overflow in ");
    let _ = match of_fault {
        Some(frame) => write!(text, "function {}", Named { frame, modules }),
        None if in_the_runtime => text.write_str("the runtime"),
        None => write!(text, "code at {:#x}", fault.pc),
    };
    let mut before = " (called from ";
    for frame in callers.into_iter().flatten() {
        let _ = write!(text, "{before}{}", Named { frame, modules });
        before = ", from ";
    }
    let _ = match count {
        0 => Ok(()),
        1..=3 => text.write_str(")"),
        _ => text.write_str(", …)"),
    };
    let size_kib = (stack.high - stack.low) >> 10;
    let (whose, larger) = match stack.kind {
        Kind::Coroutines => ("a coroutine's", "coroutine a larger stack (tally_stack_new)"),
        Kind::Mains | Kind::Threads => ("a", "thread a larger stack (ulimit -s, pthread_attr_setstacksize)"),
    };
    let _ = writeln!(
        text,
        ", {count} managed frames deep on {whose} stack of {size_kib} KiB; recurse less deeply, or give the {larger}"
    );
}

/// Visits the managed frames that can be found between the fault and the stack's beginning, each with its stack
/// pointer.
fn managed_frames<'f>(
    fault: Fault,
    stack: Stack,
    frames: &'f impl Lookup,
    read: impl Fn(u64) -> u64,
    mut visit: impl FnMut(Frame<'f>, u64),
) {
    let read = |address: u64| {
        ((stack.low..stack.high.saturating_sub(7)).contains(&address) && address & 7 == 0).then(|| read(address))
    };
    let mut at = fault.sp.max(stack.low).next_multiple_of(8);
    // At the fault the caller's frame pointer may not be saved yet.
    let mut fp = Some(fault.fp);
    while let Some(word) = read(at) {
        let found = frames.lookup(word);
        at += 8;
        let Some(frame) = found else {
            fp = None;
            continue;
        };
        visit(frame, at);
        let mut next = fp.take().or_else(|| read(at - 16));
        while let Some(record) = next.map(|fp| Machine::NATIVE.saved_pair(fp)).filter(|&record| record >= at) {
            // Code of the runtime has anything in the frame pointer.
            let return_address = record.checked_add(8).and_then(read);
            let Some(frame) = return_address.and_then(|pc| frames.lookup(pc)) else { break };
            at = record + 16;
            visit(frame, at);
            next = read(record);
        }
    }
}

/// A frame's function by name. The name comes from one of its roots, or from a root of a frame at another call of the
/// function. Roots of inlined functions come first.
struct Named<'m> {
    frame: Frame<'m>,
    modules: &'m Snapshot,
}

impl fmt::Display for Named<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let root = |frame: Frame| frame.roots.last().and_then(|root| self.modules.roots.get(root.id));
        let function = self.frame.function().address;
        let elsewhere = || {
            let frames = self.modules.frames.tables().flat_map(|(_, table)| table.frames());
            frames.filter(|frame| frame.function().address == function).find_map(root)
        };
        match root(self.frame).or_else(elsewhere) {
            Some(root) => write!(out, "`{}`", root.function),
            None => write!(out, "the one at {:#x}", self.frame.function().address),
        }
    }
}

/// Text in an array.
struct Text {
    bytes: [u8; 1024],
    length: usize,
}

impl Default for Text {
    fn default() -> Text {
        Text { bytes: [0; 1024], length: 0 }
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = &mut self.bytes[self.length..];
        let fits = text.len().min(room.len());
        room[..fits].copy_from_slice(&text.as_bytes()[..fits]);
        self.length += fits;
        if fits == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}
