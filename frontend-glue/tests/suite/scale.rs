//! Large modules: what the lowering costs grows with what is there, not with its square.
//!
//! Each shape is lowered and verified at two sizes, one four times the other. Work that grows with the square takes
//! sixteen times as long; half of that is the limit, which leaves room for caches and hash tables that grow. Times are
//! CPU times of this thread, so neighbours on the machine count little. Of several attempts the fastest counts.
//!
//! The whole of what is promised (50,000 functions; 10,000 calls with 1,000 roots; as many roots as a map can count)
//! takes a release build: `cargo test --release -p tally-llvm --test suite scale:: -- --ignored --nocapture`.

use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::targets::{CodeModel, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple};
use std::fmt::Write;
use std::time::Duration;
use tally_llvm::lower::{LowerOptions, lower};
use tally_llvm::verify::{verify_lowered, verify_source};

const DECLARATIONS: &str = "declare void @llvm.gcroot(ptr, ptr)\ndeclare void @llvm.gcwrite(ptr, ptr, ptr)\n\
    declare ptr @make()\ndeclare void @use(ptr)\n";

/// Functions with two roots, a call, a write and a loop each.
fn many_functions(count: usize) -> String {
    let mut text = DECLARATIONS.to_owned();
    for number in 0..count {
        let callee = number.saturating_sub(1);
        writeln!(
            text,
            "define ptr @f{number}(ptr %list, i64 %n) gc \"refcount\" {{\n  %a = alloca ptr\n  %b = alloca ptr\n  \
             call void @llvm.gcroot(ptr %a, ptr null)\n  call void @llvm.gcroot(ptr %b, ptr null)\n  \
             store ptr %list, ptr %a\n  %made = call ptr @make()\n  store ptr %made, ptr %b\n  br label %loop\n\
             loop:\n  %i = phi i64 [ 0, %0 ], [ %next, %loop ]\n  %x = call ptr @f{callee}(ptr %made, i64 %i)\n  \
             %old = load ptr, ptr %a\n  call void @llvm.gcwrite(ptr %x, ptr %old, ptr %old)\n  \
             %next = add i64 %i, 1\n  %more = icmp slt i64 %next, %n\n  br i1 %more, label %loop, label %done\n\
             done:\n  %result = load ptr, ptr %b\n  ret ptr %result\n}}"
        )
        .unwrap();
    }
    text
}

/// A chain of functions, last first, that return what the next returns; only the end of the chain allocates.
fn chain(count: usize) -> String {
    let mut text = format!("{DECLARATIONS}declare ptr @tally_new(ptr)\n@type = external constant i8\n");
    for number in (0..count).rev() {
        writeln!(
            text,
            "define ptr @f{number}() gc \"refcount\" {{\n  %x = call ptr @f{}()\n  ret ptr %x\n}}",
            number + 1
        )
        .unwrap();
    }
    let end =
        format!("define ptr @f{count}() gc \"refcount\" {{\n  %x = call ptr @tally_new(ptr @type)\n  ret ptr %x\n}}\n");
    text + &end
}

/// One function of `calls` calls with `roots` roots, each needed for a while.
fn many_calls(calls: usize, roots: usize) -> String {
    let mut text = format!("{DECLARATIONS}define void @f() gc \"refcount\" {{\n");
    for root in 0..roots {
        writeln!(text, "  %r{root} = alloca ptr\n  call void @llvm.gcroot(ptr %r{root}, ptr null)").unwrap();
    }
    for call in 0..calls {
        let (stored, used) = (call % roots, (call * 7 + 3) % roots);
        writeln!(
            text,
            "  %v{call} = call ptr @make()\n  store ptr %v{call}, ptr %r{stored}\n  %u{call} = load ptr, ptr %r{used}\n  \
             call void @use(ptr %u{call})"
        )
        .unwrap();
    }
    text + "  ret void\n}\n"
}

/// One function of `count` blocks, each of which may go on or start again.
fn many_blocks(count: usize) -> String {
    let mut text = format!(
        "{DECLARATIONS}define void @f(i64 %n) gc \"refcount\" {{\n  %r = alloca ptr\n  \
         call void @llvm.gcroot(ptr %r, ptr null)\n  br label %b0\n"
    );
    for block in 0..count {
        let back = block / 2;
        writeln!(
            text,
            "b{block}:\n  %v{block} = call ptr @make()\n  store ptr %v{block}, ptr %r\n  \
             %c{block} = icmp eq i64 %n, {block}\n  br i1 %c{block}, label %b{back}, label %b{}",
            block + 1
        )
        .unwrap();
    }
    writeln!(text, "b{count}:\n  %last = load ptr, ptr %r\n  call void @use(ptr %last)\n  ret void\n}}").unwrap();
    text
}

/// One object in `roots` roots, from all of which it is read again after a call.
fn many_roots_of_one_object(roots: usize) -> String {
    let mut text = format!("{DECLARATIONS}define void @f() gc \"refcount\" {{\n");
    for root in 0..roots {
        writeln!(text, "  %r{root} = alloca ptr\n  call void @llvm.gcroot(ptr %r{root}, ptr null)").unwrap();
    }
    text += "  %v = call ptr @make()\n";
    for root in 0..roots {
        writeln!(text, "  store ptr %v, ptr %r{root}").unwrap();
    }
    text += "  call void @use(ptr null)\n";
    for root in 0..roots {
        writeln!(text, "  %u{root} = load ptr, ptr %r{root}\n  %x{root} = load i64, ptr %u{root}").unwrap();
    }
    text + "  ret void\n}\n"
}

/// The same in a loop that writes: it wants a poll, and it must be known what the roots hold there.
fn many_roots_of_one_object_in_a_loop(roots: usize) -> String {
    let mut text = format!("{DECLARATIONS}define void @f(ptr %v, i64 %n) gc \"refcount\" {{\n");
    for root in 0..roots {
        writeln!(text, "  %r{root} = alloca ptr\n  call void @llvm.gcroot(ptr %r{root}, ptr null)").unwrap();
    }
    text += "  br label %loop\nloop:\n  %i = phi i64 [ 0, %0 ], [ %next, %loop ]\n";
    for root in 0..roots {
        writeln!(text, "  store ptr %v, ptr %r{root}\n  %u{root} = load ptr, ptr %r{}", root / 2).unwrap();
    }
    text + "  call void @llvm.gcwrite(ptr %v, ptr %v, ptr %v)\n  %next = add i64 %i, 1\n  \
            %more = icmp slt i64 %next, %n\n  br i1 %more, label %loop, label %done\ndone:\n  ret void\n}\n"
}

/// What this thread has computed so far.
fn cpu_time() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on Linux, and the struct is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut now) };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

#[derive(Debug, Clone, Copy)]
struct Cost {
    source: Duration,
    lower: Duration,
    lowered: Duration,
}

impl Cost {
    fn total(self) -> Duration {
        self.source + self.lower + self.lowered
    }
}

/// Whether `tally verify`'s warnings are looked for, too; the pipeline looks for them under zeal only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Warnings {
    Counted,
    LeftOut,
}

fn cost(text: &str, warnings: Warnings) -> Cost {
    let context = Context::create();
    let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "large.ll");
    let module = context.create_module_from_ir(buffer).unwrap();
    let machine = machine();
    module.set_triple(&machine.get_triple());
    module.set_data_layout(&machine.get_target_data().get_data_layout());
    let start = cpu_time();
    if warnings == Warnings::Counted {
        assert_eq!(verify_source(&module, "large.ll", &[]).errors, []);
    }
    let source = cpu_time() - start;
    let start = cpu_time();
    lower(&module, &LowerOptions { module_name: "large.ll".into(), ..LowerOptions::default() }).unwrap();
    let lower = cpu_time() - start;
    let start = cpu_time();
    verify_lowered(&module, "large.ll").unwrap();
    Cost { source, lower, lowered: cpu_time() - start }
}

fn machine() -> TargetMachine {
    Target::initialize_x86(&InitializationConfig::default());
    let triple = TargetTriple::create("x86_64-unknown-linux-gnu");
    let target = Target::from_triple(&triple).unwrap();
    let level = OptimizationLevel::Default;
    target.create_target_machine(&triple, "x86-64", "", level, RelocMode::PIC, CodeModel::Default).unwrap()
}

fn grows_with_what_is_there(what: &str, smallest: usize, generate: impl Fn(usize) -> String) {
    grows(what, smallest, Warnings::Counted, generate);
}

fn grows(what: &str, smallest: usize, warnings: Warnings, generate: impl Fn(usize) -> String) {
    let mut ratio = f64::INFINITY;
    for _ in 0..4 {
        let [small, large] = [1, 4].map(|factor| {
            let text = generate(smallest * factor);
            (0..2).map(|_| cost(&text, warnings).total()).min().unwrap()
        });
        ratio = ratio.min(large.as_secs_f64() / small.as_secs_f64());
        println!("{what}: {smallest} take {small:?}, four times as many {large:?}");
        if ratio < 8.0 {
            return;
        }
    }
    panic!("{what}: four times as many take {ratio:.1} times as long");
}

#[test]
fn many_functions_take_time_in_proportion() {
    grows_with_what_is_there("functions", 500, many_functions);
}

#[test]
fn chains_of_calls_take_time_in_proportion() {
    grows_with_what_is_there("functions in a chain", 500, chain);
    // The same in the other order, which other rooms find harder.
    grows_with_what_is_there("functions in a chain, first first", 500, |count| {
        let text = chain(count);
        let (head, functions) = text.split_once("define").unwrap();
        let functions: Vec<&str> = functions.split("define").collect();
        format!("{head}define{}", functions.into_iter().rev().collect::<Vec<_>>().join("define"))
    });
}

#[test]
fn many_calls_take_time_in_proportion() {
    grows_with_what_is_there("calls", 500, |count| many_calls(count, 50));
}

#[test]
fn many_blocks_take_time_in_proportion() {
    grows_with_what_is_there("blocks", 500, many_blocks);
}

#[test]
fn many_roots_of_one_object_take_time_in_proportion() {
    // The warnings go through all values that hold an object at each store of it.
    grows("roots of one object", 1000, Warnings::LeftOut, many_roots_of_one_object);
    grows("roots of one object in a loop", 1000, Warnings::LeftOut, many_roots_of_one_object_in_a_loop);
}

#[test]
#[ignore = "takes a release build and some gigabytes"]
fn the_largest_that_is_promised() {
    for (what, text) in [
        ("50,000 functions", many_functions(50_000)),
        ("10,000 calls with 1,000 roots", many_calls(10_000, 1_000)),
        ("20,000 blocks", many_blocks(20_000)),
        ("50,000 functions in a chain", chain(50_000)),
    ] {
        println!("{what}: {:?}", cost(&text, Warnings::Counted));
    }
    for (what, text) in [
        ("32,766 roots of one object", many_roots_of_one_object(32_766)),
        ("32,766 roots of one object in a loop", many_roots_of_one_object_in_a_loop(32_766)),
    ] {
        println!("{what}, without warnings: {:?}", cost(&text, Warnings::LeftOut));
    }
}
