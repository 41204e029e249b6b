//! What the lowering costs on a real module: `cargo xtask bench lowering` starts this with modules that clang made of C.
//!
//! Every function of the module gets `gc "refcount"` and one root, which holds its first pointer argument (or, where it
//! has none, the first pointer that a call returns); the module is then as it would come from a frontend. Each attempt
//! starts from the same bitcode: the module as it was is optimised at -O2, the rooted one is verified, lowered and checked
//! (the pipeline's own calls) and then optimised. Times are CPU times, the fastest of several attempts, printed as
//! numbers with names, for xtask to make a table of. `--write FILE` leaves the rooted module for `tally build`.

use frontend_glue::level::Level;
use frontend_glue::pipeline::{self, CompileOptions};
use frontend_glue::{emit, target};
use inkwell::context::Context;
use inkwell::module::{Linkage, Module};
use inkwell::passes::PassBuilderOptions;
use inkwell::values::{AnyValue, BasicValueEnum, FunctionValue, InstructionOpcode, InstructionValue};
use std::path::{Path, PathBuf};
use std::time::Duration;

const ATTEMPTS: usize = 3;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|word| word != "--bench");
    let (Some(file), write) = (arguments.next(), arguments.next()) else {
        // `cargo bench` starts every bench without arguments.
        return println!("name a module: cargo bench -p frontend-glue --bench lowering_cost -- FILE.bc [ROOTED.bc]");
    };
    let file = PathBuf::from(file);
    let attempts: Vec<Cost> = (0..ATTEMPTS).map(|_| attempt(&file, write.as_deref().map(Path::new))).collect();
    let fastest = |part: fn(&Cost) -> Duration| attempts.iter().map(part).min().unwrap_or_default().as_secs_f64() * 1e3;
    let first = &attempts[0];
    println!("functions={} safepoints={} roots={}", first.functions, first.safepoints, first.roots);
    println!(
        "lower_ms={:.1} llvm_verify_ms={:.1} optimise_ms={:.1} optimise_lowered_ms={:.1} emit_ms={:.1} emit_lowered_ms={:.1}",
        fastest(|cost| cost.lower),
        fastest(|cost| cost.check),
        fastest(|cost| cost.optimise),
        fastest(|cost| cost.optimise_lowered),
        fastest(|cost| cost.emit),
        fastest(|cost| cost.emit_lowered),
    );
}

struct Cost {
    functions: usize,
    safepoints: usize,
    roots: usize,
    /// Verified, lowered, checked.
    lower: Duration,
    /// LLVM's verifier, which is a part of that.
    check: Duration,
    /// -O2 of the module as it was.
    optimise: Duration,
    optimise_lowered: Duration,
    emit: Duration,
    emit_lowered: Duration,
}

fn attempt(file: &Path, write: Option<&Path>) -> Cost {
    let machine = target::machine(Level::O2).unwrap();
    let timed = |work: &mut dyn FnMut()| {
        let start = cpu_time();
        work();
        cpu_time() - start
    };
    let optimised = |module: &Module| {
        let passes = Level::O2.passes().expect("-O2 has passes");
        timed(&mut || module.run_passes(passes, &machine, PassBuilderOptions::create()).unwrap())
    };
    let context = Context::create();
    let plain = pipeline::load(&context, file, &machine).unwrap();
    let optimise = optimised(&plain);
    let emit = timed(&mut || drop(emit::object(&plain, &machine).unwrap()));

    let context = Context::create();
    let module = pipeline::load(&context, file, &machine).unwrap();
    let roots = module.get_functions().filter(|&function| root(&module, function)).count();
    if let Some(place) = write {
        assert!(module.write_bitcode_to_path(place), "{} cannot be written", place.display());
    }
    let functions = module.get_functions().filter(|function| function.count_basic_blocks() > 0).count();
    let options = CompileOptions::default();
    let lower = timed(&mut || pipeline::lower(&module, file, &options).unwrap());
    let check = timed(&mut || module.verify().unwrap());
    let safepoints = module.print_to_string().to_string().matches("[ \"deopt\"(").count();
    let optimise_lowered = optimised(&module);
    let emit_lowered = timed(&mut || drop(emit::object(&module, &machine).unwrap()));
    Cost { functions, safepoints, roots, lower, check, optimise, optimise_lowered, emit, emit_lowered }
}

/// What this thread has computed so far: neighbours on the machine do not count.
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
