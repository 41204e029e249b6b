//! Real stacks of this process: managed frames with native ones between them, visited from the top.
//!
//! The managed functions are written in assembly with the frames that LLVM gives to lowered code: `plain` keeps a frame
//! pointer and has two roots by rsp, one of them through memory; `aligned` is over-aligned and dynamic and has a root by
//! rbx. Native frames are Rust. A *script* says which frame calls which; each managed frame puts its depth into its root slots,
//! so that the visited slots can be told apart.
#![cfg(all(target_arch = "x86_64", not(miri)))]

use stack_roots::{
    FrameRoot, FrameTable, FrameTables, Reach, Registers, StackEnd, StackVisit, UnwindEnd, Unwound, stack_map, unwind,
    visit_thread_stack,
};
use std::arch::global_asm;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tally_kit::stack_map_section::{Place, Section};

/// A function of the script: it calls `context.script[depth](depth + 1, context)`.
type Scripted = unsafe extern "C-unwind" fn(usize, *mut Context);

/// What travels down the stack, as the assembly knows it.
#[repr(C)]
struct Context {
    pc: u64,
    sp: u64,
    fp: u64,
    rbx: u64,
    script: *const Scripted,
}

/// The context and what stands behind it.
#[repr(C)]
struct World {
    context: Context,
    tables: FrameTables,
    at_top: fn(&World) -> Seen,
    seen: Option<Seen>,
}

/// What a visit from the top saw.
#[derive(Debug)]
enum Seen {
    Visit(Vec<(u64, u64)>, StackVisit),
    Unwound(Vec<(u64, u64)>, Unwound),
    Panic(String),
}

global_asm!(
    // The entry: like the runtime's trampoline.
    ".globl sr_enter, sr_entry_return, sr_plain, sr_plain_return, sr_aligned, sr_aligned_return, sr_top",
    "sr_enter:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "mov rax, [rsi + 32]",
    "mov rax, [rax + 8 * rdi]",
    "inc rdi",
    "call rax",
    "sr_entry_return:",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    // Roots: [rsp+8] and, its address kept at [rsp+16], [rsp+24].
    "sr_plain:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "sub rsp, 32",
    "mov [rsp + 8], rdi",
    "lea rax, [rsp + 24]",
    "mov [rsp + 16], rax",
    "mov [rsp + 24], rdi",
    "mov rax, [rsi + 32]",
    "mov rax, [rax + 8 * rdi]",
    "inc rdi",
    "call rax",
    "sr_plain_return:",
    "leave",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    // Root: [rbx+8], in a 64-byte aligned frame with a dynamic part below.
    "sr_aligned:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "push rbx",
    ".cfi_offset rbx, -24",
    "and rsp, -64",
    "sub rsp, 64",
    "mov rbx, rsp",
    "mov [rbx + 8], rdi",
    "mov rax, rdi",
    "and rax, 3",
    "shl rax, 4",
    "sub rsp, rax",
    "mov rax, [rsi + 32]",
    "mov rax, [rax + 8 * rdi]",
    "inc rdi",
    "call rax",
    "sr_aligned_return:",
    "lea rsp, [rbp - 8]",
    "pop rbx",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    // The runtime's shim: records its caller's registers and goes on in Rust.
    "sr_top:",
    ".cfi_startproc",
    "mov rax, [rsp]",
    "mov [rsi], rax",
    "lea rax, [rsp + 8]",
    "mov [rsi + 8], rax",
    "mov [rsi + 16], rbp",
    "mov [rsi + 24], rbx",
    "jmp {at_top}",
    ".cfi_endproc",
    at_top = sym at_top,
);

unsafe extern "C-unwind" {
    fn sr_enter(depth: usize, context: *mut Context);
    fn sr_plain(depth: usize, context: *mut Context);
    fn sr_aligned(depth: usize, context: *mut Context);
    fn sr_top(depth: usize, context: *mut Context);
    fn sr_entry_return();
    fn sr_plain_return();
    fn sr_aligned_return();
}

fn address(function: unsafe extern "C-unwind" fn()) -> u64 {
    function as usize as u64
}

/// A native frame of the script.
unsafe extern "C-unwind" fn native(depth: usize, context: *mut Context) {
    // SAFETY: the context is the first field of the world that `run` owns and does not touch while managed code runs.
    let script = unsafe { (*context).script };
    // SAFETY: the script has an entry for each depth, and ends with `sr_top`.
    let next = unsafe { *script.wrapping_add(depth) };
    // SAFETY: an entry takes its depth and the context.
    unsafe { next(depth + 1, context) };
    // Keeps the call from becoming a jump: this must be a frame.
    std::hint::black_box(depth);
}

unsafe extern "C-unwind" fn at_top(_depth: usize, context: *mut Context) {
    // SAFETY: the context is the first field of the world that `run` owns and does not touch while managed code runs.
    let world = unsafe { &mut *context.cast::<World>() };
    let seen = (world.at_top)(world);
    world.seen = Some(seen);
}

/// Runs the script under the entry and returns what `at_top` saw.
fn run(frames: &[Scripted], at_top: fn(&World) -> Seen) -> Seen {
    let function = |start: Scripted, back: unsafe extern "C-unwind" fn(), size: u64, roots: &[(u64, Place)]| {
        let start = start as usize as u64;
        Section::new().function(start, size).call((address(back) - start) as u32, roots).bytes()
    };
    let table = |bytes: Vec<u8>| {
        let map = stack_map::read(&bytes).expect("a valid section");
        Arc::new(FrameTable::build(&map, |function| Some(function.address)).expect("a valid table"))
    };
    let plain = function(sr_plain, sr_plain_return, 32, &[(1, (2, 7, 8)), (2, (3, 7, 16))]);
    let aligned = function(sr_aligned, sr_aligned_return, u64::MAX, &[(3, (2, 3, 8))]);
    let mut script = frames.to_vec();
    script.push(sr_top);
    let mut world = World {
        context: Context { pc: 0, sp: 0, fp: 0, rbx: 0, script: script.as_ptr() },
        tables: FrameTables::new().with(1, table(plain)).with(2, table(aligned)),
        at_top,
        seen: None,
    };
    // SAFETY: the script outlives the call and ends with `sr_top`, which returns.
    unsafe { sr_enter(0, (&raw mut world).cast()) };
    world.seen.expect("the top was reached")
}

impl World {
    fn registers(&self) -> Registers {
        let Context { pc, sp, fp, rbx, .. } = self.context;
        Registers { pc, sp, fp, rbx: Some(rbx) }
    }
}

/// A word of this thread's stack.
fn stack_word(address: u64) -> u64 {
    // SAFETY: the walker asks for words of frames that are live below the caller.
    unsafe { (address as *const u64).read() }
}

fn visit_from_top(world: &World) -> Seen {
    let mut roots = Vec::new();
    let visit = visit_thread_stack(
        world.registers(),
        |address| Some(stack_word(address)),
        &world.tables,
        address(sr_entry_return),
        |root: &FrameRoot| roots.push((root.id, stack_word(root.slot_address))),
    );
    Seen::Visit(roots, visit)
}

/// The roots that a script has, topmost first: (id, the depth that the frame put into the slot).
fn roots_of(frames: &[Scripted]) -> Vec<(u64, u64)> {
    let is = |frame: &Scripted, known: Scripted| *frame as usize == known as usize;
    let mut roots = Vec::new();
    for (depth, frame) in (1..).zip(frames).collect::<Vec<_>>().into_iter().rev() {
        if is(frame, sr_plain) {
            roots.extend([(1, depth), (2, depth)]);
        } else if is(frame, sr_aligned) {
            roots.push((3, depth));
        }
    }
    roots
}

/// Visits the stack of a script, checks that every root is seen once and in order, and returns the unwinder's steps.
fn check(frames: &[Scripted]) -> usize {
    let Seen::Visit(roots, visit) = run(frames, visit_from_top) else { panic!("a visit") };
    assert_eq!(roots, roots_of(frames));
    assert!(matches!(visit.end, StackEnd::Bottom { .. }), "{:?}", visit.end);
    let managed = frames.iter().filter(|frame| **frame as usize != native as *const () as usize).count();
    assert_eq!(visit.frames, managed);
    visit.unwinder_steps
}

#[test]
fn managed_frames_alone_need_no_unwinder() {
    assert_eq!(check(&[sr_plain]), 0);
    assert_eq!(check(&[sr_plain as Scripted; 100]), 0);
    assert_eq!(check(&[sr_plain, sr_plain, sr_aligned]), 0);
}

#[test]
fn callbacks_through_native_frames_are_crossed() {
    assert!(check(&[sr_plain, native, sr_plain]) > 0);
    check(&[native, sr_plain, native, native, native, sr_plain, sr_plain]);
}

/// scenarios 181, 188.
#[test]
fn over_aligned_frames_below_the_top_find_their_rbx() {
    assert!(check(&[sr_aligned, sr_plain]) > 0);
    check(&[sr_plain, sr_aligned, sr_aligned, native, sr_aligned, sr_plain]);
}

#[test]
fn every_short_stack_of_the_three_kinds() {
    let kinds: [Scripted; 3] = [sr_plain, sr_aligned, native];
    for length in 0..=6u32 {
        for number in 0..3usize.pow(length) {
            let mut frames: Vec<_> = (0..length).map(|digit| kinds[number / 3usize.pow(digit) % 3]).collect();
            // The shim's caller is compiled code.
            frames.push(kinds[number % 2]);
            check(&frames);
        }
    }
}

#[test]
fn alternating_stack_costs_the_unwinder_a_constant_times_its_depth() {
    let frames: Vec<Scripted> = [native, sr_plain].repeat(2000);
    let steps = check(&frames);
    assert!(steps <= 3 * (frames.len() + 50), "{steps} steps");
}

#[test]
fn deep_recursion_below_one_callback_is_walked_by_frame_pointer() {
    let mut frames: Vec<Scripted> = vec![sr_plain; 2000];
    frames.extend([native as Scripted, sr_plain]);
    let steps = check(&frames);
    assert!(steps <= 50, "{steps} steps");
}

#[test]
fn one_run_of_the_unwinder_can_visit_all() {
    let frames: [Scripted; 6] = [sr_plain, sr_aligned, native, sr_plain, native, sr_aligned];
    let seen = run(&frames, |world| {
        let mut roots = Vec::new();
        let unwound = unwind(
            world.context.sp,
            Reach::Bottom,
            |address| Some(stack_word(address)),
            &world.tables,
            address(sr_entry_return),
            |root| roots.push((root.id, stack_word(root.slot_address))),
        );
        Seen::Unwound(roots, unwound)
    });
    let Seen::Unwound(roots, unwound) = seen else { panic!("an unwinder's run") };
    assert_eq!((roots, unwound.frames), (roots_of(&frames), 4));
    assert!(matches!(unwound.end, UnwindEnd::Bottom { registers } if registers.pc == address(sr_entry_return)));
}

#[test]
fn entry_that_is_never_met_is_the_end_of_the_stack() {
    let frames: [Scripted; 3] = [sr_plain, native, sr_plain];
    let seen = run(&frames, |world| {
        let mut roots = Vec::new();
        let visit = visit_thread_stack(
            world.registers(),
            |address| Some(stack_word(address)),
            &world.tables,
            u64::MAX,
            |root| roots.push((root.id, stack_word(root.slot_address))),
        );
        Seen::Visit(roots, visit)
    });
    let Seen::Visit(roots, visit) = seen else { panic!("a visit") };
    assert_eq!(roots, roots_of(&frames));
    assert!(matches!(visit.end, StackEnd::EndOfStack { .. }), "{:?}", visit.end);
}

#[test]
fn panic_of_a_visitor_comes_out_of_the_unwinder() {
    let seen = run(&[sr_plain, native, sr_plain], |world| {
        let visit = || {
            unwind(
                world.context.sp,
                Reach::Bottom,
                |address| Some(stack_word(address)),
                &world.tables,
                address(sr_entry_return),
                |root| assert_ne!(stack_word(root.slot_address), 1, "the deepest frame's root"),
            )
        };
        let panic = catch_unwind(AssertUnwindSafe(visit)).expect_err("a panic");
        Seen::Panic(panic.downcast_ref::<String>().cloned().unwrap_or_default())
    });
    assert!(matches!(&seen, Seen::Panic(message) if message.contains("the deepest frame's root")), "{seen:?}");
}
