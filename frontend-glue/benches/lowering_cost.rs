//! The cost of the lowering on a real module: `cargo xtask bench lowering` starts this with modules that clang made
//! of C.
//!
//! Every function of the module gets `gc "refcount"` and one root, which holds its first pointer argument (or, where
//! it has none, the first pointer that a call returns); the module is then as a frontend would make it. Each round
//! starts from the same bitcode and does all work once with gc and once without, in turn. The original module is
//! optimised at -O2; the rooted one is verified, lowered and checked (the pipeline's own calls) and then optimised.
//!
//! All times are CPU times of this thread, so that other processes on the machine do not count in them. But those do
//! affect caches and clock speed, so shares are computed within a round and the median of the rounds is printed, as
//! named numbers from which xtask makes a table. `--folder` leaves the rooted module for `tally build`, and both
//! objects to be measured. `--only` does one part once: for a profile, and for callgrind, which counts instead of
//! timing.

use clap::{Parser, ValueEnum};
use inkwell::context::Context;
use inkwell::module::{Linkage, Module};
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::TargetMachine;
use inkwell::values::{AnyValue, BasicValueEnum, FunctionValue, InstructionOpcode, InstructionValue};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tally_llvm::emit::level::Level;
use tally_llvm::emit::target;
use tally_llvm::load::reading::Reading;
use tally_llvm::pipeline::{self, CompileOptions};
use tally_llvm::{emit, verify};

#[derive(Parser)]
struct Arguments {
    /// Bitcode that no pass has touched; `cargo bench` starts every bench without arguments
    module: Option<PathBuf>,
    /// How often everything is done
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Where to leave rooted.bc, plain.o and rooted.o
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Do one part, once, and measure nothing
    #[arg(long)]
    only: Option<Part>,
    /// What cargo hands to every bench
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Lower the rooted module
    Lower,
    /// Optimise the module without gc
    Optimise,
}

fn main() {
    let arguments = Arguments::parse();
    let Some(file) = &arguments.module else {
        return println!("name a module: cargo bench -p tally-llvm --bench lowering_cost -- FILE.bc");
    };
    let machine = target::machine(Level::O2).unwrap();
    match arguments.only {
        Some(Part::Lower) => drop(lower(&rooted(&Context::create(), file, &machine).0, file)),
        Some(Part::Optimise) => {
            let context = Context::create();
            let plain = pipeline::load(&context, file, &machine, &Reading::default()).unwrap();
            optimise(&plain, &machine);
        }
        None => {
            let rounds: Vec<Cost> = (0..arguments.rounds).map(|_| round(file, &machine)).collect();
            if let Some(folder) = &arguments.folder {
                leave(folder, file, &machine);
            }
            print(&rounds);
        }
    }
}

/// The times and sizes of one round.
struct Cost {
    functions: usize,
    safepoints: usize,
    roots: usize,
    /// The contract's check, the lowering, and both verifiers on its result.
    lower: Duration,
    /// LLVM's verifier on the lowered module, run once more by itself: a part of `lower`.
    llvm_verify: Duration,
    /// -O2 of the module as it was.
    optimise: Duration,
    optimise_lowered: Duration,
    /// Both verifiers on the optimised module, as the pipeline runs them before it emits; no part of the times above.
    check_optimised: Duration,
    emit: Duration,
    emit_lowered: Duration,
}

fn round(file: &Path, machine: &TargetMachine) -> Cost {
    let context = Context::create();
    let plain = pipeline::load(&context, file, machine, &Reading::default()).unwrap();
    let optimise_plain = optimise(&plain, machine);
    let emit = timed(|| drop(emit::object(&plain, machine).unwrap()));

    let context = Context::create();
    let (module, roots) = rooted(&context, file, machine);
    let functions = module.get_functions().filter(|function| function.count_basic_blocks() > 0).count();
    let lower = lower(&module, file);
    let llvm_verify = timed(|| module.verify().unwrap());
    let safepoints = module.print_to_string().to_string().matches("[ \"deopt\"(").count();
    let optimise_lowered = optimise(&module, machine);
    let check_optimised = timed(|| {
        module.verify().unwrap();
        verify::verify_lowered(&module, &file.to_string_lossy()).unwrap();
    });
    let emit_lowered = timed(|| drop(emit::object(&module, machine).unwrap()));
    Cost {
        functions,
        safepoints,
        roots,
        lower,
        llvm_verify,
        optimise: optimise_plain,
        optimise_lowered,
        check_optimised,
        emit,
        emit_lowered,
    }
}

/// One of the times of a round.
type TimeOf = fn(&Cost) -> Duration;

fn print(rounds: &[Cost]) {
    let median = |of: &dyn Fn(&Cost) -> f64| {
        let mut numbers: Vec<f64> = rounds.iter().map(of).collect();
        numbers.sort_by(f64::total_cmp);
        numbers[numbers.len() / 2]
    };
    let first = &rounds[0];
    println!("functions={} safepoints={} roots={}", first.functions, first.safepoints, first.roots);
    let parts: [(&str, TimeOf); 7] = [
        ("lower", |cost| cost.lower),
        ("llvm_verify", |cost| cost.llvm_verify),
        ("optimise", |cost| cost.optimise),
        ("optimise_lowered", |cost| cost.optimise_lowered),
        ("check_optimised", |cost| cost.check_optimised),
        ("emit", |cost| cost.emit),
        ("emit_lowered", |cost| cost.emit_lowered),
    ];
    for (name, part) in parts {
        let milliseconds = median(&|cost| part(cost).as_secs_f64() * 1e3);
        println!("{name}_ms={milliseconds:.1} {name}_share={:.5}", median(&|cost| share(part(cost), cost.optimise)));
    }
    println!("emit_growth={:.5}", median(&|cost| share(cost.emit_lowered, cost.emit)));
    let (least, most) = rounds
        .iter()
        .map(|cost| share(cost.lower, cost.optimise))
        .fold((f64::INFINITY, 0.0_f64), |(least, most), share| (least.min(share), most.max(share)));
    println!("lower_share_least={least:.5} lower_share_most={most:.5}");
}

fn share(part: Duration, whole: Duration) -> f64 {
    part.as_secs_f64() / whole.as_secs_f64()
}

/// Writes the rooted module as a frontend would make it, and both objects.
fn leave(folder: &Path, file: &Path, machine: &TargetMachine) {
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
    let context = Context::create();
    let plain = pipeline::load(&context, file, machine, &Reading::default()).unwrap();
    optimise(&plain, machine);
    write("plain.o", &emit::object(&plain, machine).unwrap());
    let context = Context::create();
    let (module, _) = rooted(&context, file, machine);
    write("rooted.bc", module.write_bitcode_to_memory().as_slice());
    lower(&module, file);
    optimise(&module, machine);
    write("rooted.o", &emit::object(&module, machine).unwrap());
}

/// The module with a root in every function, and how many functions had a pointer to put there.
fn rooted<'ctx>(context: &'ctx Context, file: &Path, machine: &TargetMachine) -> (Module<'ctx>, usize) {
    let module = pipeline::load(context, file, machine, &Reading::default()).unwrap();
    let roots = module.get_functions().filter(|&function| root(&module, function)).count();
    (module, roots)
}

fn lower(module: &Module, file: &Path) -> Duration {
    let options = CompileOptions { level: Level::O2, ..CompileOptions::default() };
    timed(|| drop(pipeline::lower(module, file, &options).unwrap()))
}

fn optimise(module: &Module, machine: &TargetMachine) -> Duration {
    let passes = Level::O2.passes().expect("-O2 has passes");
    timed(|| module.run_passes(passes, machine, PassBuilderOptions::create()).unwrap())
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = cpu_time();
    work();
    cpu_time() - start
}

/// The CPU time of this thread so far: other processes on the machine do not count.
fn cpu_time() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on Linux, and the struct is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut now) };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Gives the function the strategy and a root; false where it has no pointer to root.
fn root<'ctx>(module: &Module<'ctx>, function: FunctionValue<'ctx>) -> bool {
    if function.count_basic_blocks() == 0 || function.get_linkage() == Linkage::AvailableExternally {
        return false;
    }
    function.set_gc("refcount");
    let context = module.get_context();
    let pointer = context.ptr_type(inkwell::AddressSpace::default());
    let gcroot = module.get_function("llvm.gcroot").unwrap_or_else(|| {
        let of = context.void_type().fn_type(&[pointer.into(), pointer.into()], false);
        module.add_function("llvm.gcroot", of, None)
    });
    let builder = context.create_builder();
    let entry = function.get_first_basic_block().expect("it has blocks");
    let first = entry.get_first_instruction().expect("a block has a terminator");
    let place = |instruction: InstructionValue<'ctx>| {
        builder.position_before(&instruction);
        // Where the module has debug information, calls have a place in it.
        match first_location(function) {
            Some(location) => builder.set_current_debug_location(location),
            None => builder.unset_current_debug_location(),
        }
    };
    let value = function.get_params().into_iter().find(|value| value.is_pointer_value()).map(|value| (value, None));
    let value = value.or_else(|| returned_pointer(function));
    place(first);
    let slot = builder.build_alloca(pointer, "tally.bench.root").unwrap();
    builder.build_call(gcroot, &[slot.into(), pointer.const_null().into()], "").unwrap();
    let Some((value, after)) = value else { return false };
    if let Some(after) = after {
        place(after);
    }
    builder.build_store(slot, value).unwrap();
    true
}

fn first_location<'ctx>(function: FunctionValue<'ctx>) -> Option<inkwell::debug_info::DILocation<'ctx>> {
    function
        .get_basic_block_iter()
        .flat_map(|block| block.get_instructions())
        .find_map(|value| value.get_debug_location())
}

/// The first pointer that a call in the entry block returns, and the instruction after it.
fn returned_pointer<'ctx>(
    function: FunctionValue<'ctx>,
) -> Option<(BasicValueEnum<'ctx>, Option<InstructionValue<'ctx>>)> {
    let entry = function.get_first_basic_block()?;
    entry.get_instructions().find_map(|instruction| {
        let is_call = instruction.get_opcode() == InstructionOpcode::Call;
        let value = is_call.then(|| instruction.as_any_value_enum())?;
        value.is_pointer_value().then(|| (value.into_pointer_value().into(), instruction.get_next_instruction()))
    })
}
