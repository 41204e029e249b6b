//! The stages from a program to machine code: load, verify, lower, verify, optimise, emit.
//!
//! The order is fixed, and the reason is the inliner: bundles must be on the calls before anything is inlined,
//! because inlining concatenates them, as it should, while a bare call inlined into a rooted function would lose its
//! caller's roots. The lowering verifies the source before it changes anything. The results of the lowering and of
//! the optimiser are verified too, since inlining is where roots get lost.
//!
//! `tally run`, `build`, `lower`, `verify` and `maps` use these stages up to different ones.

mod content;
pub mod option_text;
pub mod other_tools;
pub(crate) mod whole_program;

use std::path::{Path, PathBuf};

use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::context::Context;
use inkwell::module::{Linkage, Module};
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::TargetMachine;
use thiserror::Error;

use crate::diagnostic::{self, Diagnostic};
use crate::emit::level::Level;
use crate::emit::object_file::MapFormat;
use crate::emit::target::{self, Target, TargetError};
use crate::emit::thread_locals::{self, ThreadLocalError};
use crate::emit::{self, EmitError, Form};
use crate::emit::{appending, constructors, heap_tests, loop_alignment, sibling_calls, sunk_roots, zeal_default};
use crate::guard::crash_net::WorkingOn;
use crate::guard::messages;
use crate::load::reading::Reading;
use crate::load::{self, LoadError};
use crate::lower::type_description::metadata;
use crate::lower::{self, ContextAccess, LOWERED_FLAG, LowerOptions, Patterns, Plan, Remark, Roots};
use crate::verify::{self, Findings};

/// The options for compiling files.
#[derive(Clone, Debug)]
pub struct CompileOptions {
    /// The level of optimisation.
    pub level: Level,
    /// The machine that code is made for.
    pub target: Target,
    /// How files become modules.
    pub reading: Reading,
    /// The form in which code is made.
    pub form: Form,
    /// gc strategies of existing IR, and the plan that each stands for.
    pub gc_names: Vec<(String, Plan)>,
    /// The references that get roots beside those that the module writes.
    pub roots: Roots,
    /// Zeal: an epoch at every safepoint, a check at every access.
    pub zeal: bool,
    /// Whether the program keeps the names of fields and the lines of roots, for reports.
    pub names: bool,
    /// Whether forgotten roots and stores past the barrier are looked for.
    pub warns: bool,
    /// The counts that the prompt plan saves; `None`: all of them if passes run, and none otherwise.
    pub patterns: Option<Patterns>,
    /// Whether -O2 and -O3 put objects that cannot escape on the stack, as they do by default.
    pub stack_objects: bool,
    /// The format of the stack maps.
    pub maps: MapFormat,
    /// The place where the code will run.
    pub destination: Destination,
    /// What tells modules of one program apart.
    pub identity: Identity,
    /// Whether code that LLVM compiles, by a strategy of its own, runs on Tally's trace plan.
    pub traces_llvms: bool,
    /// An object whose roots LLVM describes and nothing counts, with which the program is linked.
    pub beside: Option<PathBuf>,
}

impl Default for CompileOptions {
    fn default() -> CompileOptions {
        CompileOptions {
            level: Level::default(),
            target: Target::default(),
            reading: Reading::default(),
            form: Form::default(),
            gc_names: Vec::new(),
            roots: Roots::default(),
            zeal: false,
            names: false,
            warns: false,
            patterns: None,
            stack_objects: true,
            maps: MapFormat::default(),
            destination: Destination::default(),
            identity: Identity::default(),
            traces_llvms: false,
            beside: None,
        }
    }
}

/// The place where the code will run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Destination {
    /// In an executable or shared library that a linker makes.
    #[default]
    LinkedImage,
    /// In an executable that has the runtime in itself: the thread's context is at a distance from the thread pointer that the
    /// linker knows.
    Executable,
    /// In this process, under the JIT.
    ThisProcess,
}

/// What tells the modules of one program apart. Where two are alike in it, a root of one is read as that of the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Identity {
    /// Their names: the paths of files on one command line differ.
    #[default]
    Name,
    /// All that is in them: files that are compiled apart may have one name, each in a folder of its own.
    Content,
}

/// A compiled file.
#[derive(Clone, Debug)]
pub struct Object {
    /// The file that it was made from.
    pub file: PathBuf,
    /// An ELF object, or what `form` asks for.
    pub bytes: Vec<u8>,
    /// Whether the program can start here.
    pub(crate) defines_main: bool,
    /// The warnings of `tally verify`, if `warns` is set.
    pub warnings: Vec<Diagnostic>,
    /// Counts that the prompt plan saved, and objects that are on the stack.
    pub remarks: Vec<Remark>,
}

/// Why a program was not compiled.
#[derive(Debug, Error)]
pub enum CompileError {
    /// A file did not become a valid module.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// No code generator.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A module breaks the contract of gc functions.
    #[error("{}", diagnostic::lines(.0))]
    Contract(Vec<Diagnostic>),
    /// The lowered module is wrong, which is not the program's fault.
    #[error("{file}: {stage} left a module that is not in order:\n{message}")]
    Broken {
        /// The file.
        file: String,
        /// The step that made it so.
        stage: &'static str,
        /// The fault.
        message: String,
    },
    /// LLVM's passes failed.
    #[error("{file}: LLVM's passes failed: {message}")]
    Passes {
        /// The file.
        file: String,
        /// LLVM's reason.
        message: String,
    },
    /// It uses a thread-local variable in a way that only a linked image supports.
    #[error(transparent)]
    ThreadLocal(#[from] ThreadLocalError),
    /// No object came out.
    #[error("{file}: {error}")]
    Emit {
        /// The file.
        file: String,
        /// The reason.
        error: EmitError,
    },
}

impl CompileError {
    /// The findings in the program, if those are the error.
    pub fn findings(&self) -> Option<&[Diagnostic]> {
        match self {
            CompileError::Contract(findings)
            | CompileError::Load(LoadError::Intrinsics(findings) | LoadError::Types(findings)) => Some(findings),
            _ => None,
        }
    }
}

/// Compiles the program that `files` are, each to an object of its own.
pub fn compile(files: &[PathBuf], options: &CompileOptions) -> Result<Vec<Object>, CompileError> {
    let machine = target::machine_of(options.target, options.level)?;
    let contexts: Vec<Context> = files.iter().map(|_| Context::create()).collect();
    let modules = contexts
        .iter()
        .zip(files)
        .map(|(context, file)| load(context, file, &machine, &options.reading))
        .collect::<Result<Vec<_>, _>>()?;
    compile_program(&modules, files, &machine, options)
}

/// Compiles the program that a host has built as modules of these names. They are lowered and optimised in place.
pub fn compile_modules(
    modules: &[Module],
    names: &[PathBuf],
    options: &CompileOptions,
) -> Result<Vec<Object>, CompileError> {
    let machine = target::machine_of(options.target, options.level)?;
    for (module, name) in modules.iter().zip(names) {
        accept(module, name, &machine)?;
    }
    compile_program(modules, names, &machine, &CompileOptions { identity: Identity::Content, ..options.clone() })
}

fn compile_program(
    modules: &[Module],
    files: &[PathBuf],
    machine: &TargetMachine,
    options: &CompileOptions,
) -> Result<Vec<Object>, CompileError> {
    let options = &agree(modules, files, options)?;
    let compiled = modules.iter().zip(files).enumerate();
    compiled.map(|(index, (module, file))| compile_loaded(module, file, index, machine, options)).collect()
}

/// Makes the modules of one program fit together, or says which does not. Returns the options by which each is compiled.
fn agree(modules: &[Module], files: &[PathBuf], options: &CompileOptions) -> Result<CompileOptions, CompileError> {
    let refused = |finding| CompileError::Contract(vec![finding]);
    let plan = whole_program::one_plan(modules, files, &options.gc_names).map_err(refused)?;
    let plan = whole_program::plan_beside(options.beside.as_deref(), plan).map_err(refused)?;
    whole_program::no_roots_unread(modules, files, &options.gc_names).map_err(refused)?;
    let has_a_heap = options.beside.is_some() || whole_program::has_a_heap(modules, &options.gc_names);
    let traces_llvms = has_a_heap && plan.is_none_or(|plan| !plan.has_barrier());
    whole_program::adopt(modules, options, traces_llvms);
    Ok(CompileOptions { traces_llvms, ..options.clone() })
}

/// Compiles one module that a host has built or loaded, on its own; it is lowered and optimised in place. `number`
/// must differ from that of every other module it is linked with.
pub(crate) fn compile_module(
    module: &Module,
    name: &Path,
    number: usize,
    options: &CompileOptions,
) -> Result<Object, CompileError> {
    let wrong = metadata::define(crate::llvm::Module::of(module), &name.to_string_lossy());
    if !wrong.is_empty() {
        return Err(CompileError::Contract(wrong));
    }
    whole_program::adopt_into_host(module, &options.gc_names);
    compile_loaded(module, name, number, &target::machine_of(options.target, options.level)?, options)
}

/// Compiles a module of the command's own: nothing in it is for the lowering.
pub(crate) fn compile_own(name: &str, ir: &str, target: Target) -> Result<Object, CompileError> {
    let (context, options) = (Context::create(), CompileOptions { target, ..CompileOptions::default() });
    let module = load_from_memory(&context, Path::new(name), ir.as_bytes(), &options)?;
    let bytes = emit(&module, Path::new(name), 0, &target::machine_of(options.target, options.level)?, &options)?;
    Ok(Object { file: name.into(), bytes, defines_main: false, warnings: Vec::new(), remarks: Vec::new() })
}

/// Makes LLVM ready; an error says why it cannot be.
pub fn prepare(options: &CompileOptions) -> Result<(), CompileError> {
    messages::catch_fatal_errors();
    target::machine_of(options.target, options.level)?;
    Ok(())
}

fn compile_loaded(
    module: &Module,
    file: &Path,
    index: usize,
    machine: &TargetMachine,
    options: &CompileOptions,
) -> Result<Object, CompileError> {
    let _working = WorkingOn::file(file);
    let warnings = if options.warns { inspect(module, file, options).warnings } else { Vec::new() };
    let remarks = if is_lowered(module) {
        // The output of `tally lower`, perhaps after another tool has worked on it.
        check(module, file, "a tool that ran after `tally lower`")?;
        Vec::new()
    } else {
        let remarks = lower_unchecked(module, file, options)?;
        let is_last_check = options.level.passes().is_none();
        if is_last_check || CHECKS_EACH_STEP {
            check(module, file, LOWERING)?;
        } else {
            check_contract(module, file, LOWERING)?;
        }
        remarks
    };
    optimise(module, file, machine, options.level)?;
    let defines_main = defines_main(module);
    let bytes = match emit::module_as(module, options.form) {
        Some(bytes) => bytes,
        None => emit(module, file, index, machine, options)?,
    };
    Ok(Object { file: file.to_owned(), bytes, defines_main, warnings, remarks })
}

/// Loads one file.
pub fn load<'ctx>(
    context: &'ctx Context,
    file: &Path,
    machine: &TargetMachine,
    reading: &Reading,
) -> Result<Module<'ctx>, LoadError> {
    messages::catch_fatal_errors();
    messages::listen(context);
    load::load(context, file, machine, reading)
}

/// Checks that a module which a host has built is valid and for this machine, and defines the types that it describes.
pub fn accept(module: &Module, name: &Path, machine: &TargetMachine) -> Result<(), CompileError> {
    Ok(load::accept(module, name, machine)?)
}

/// Loads a module of IR or bitcode from memory.
pub fn load_from_memory<'ctx>(
    context: &'ctx Context,
    name: &Path,
    ir: &[u8],
    options: &CompileOptions,
) -> Result<Module<'ctx>, CompileError> {
    messages::listen(context);
    Ok(load::load_from_memory(context, name, ir, &target::machine_of(options.target, options.level)?)?)
}

/// Checks a module that was just loaded against the contract of gc functions. References that need no written root get theirs
/// first.
pub fn inspect(module: &Module, file: &Path, options: &CompileOptions) -> Findings {
    let _working = WorkingOn::file(file);
    let name = file.to_string_lossy();
    let (raw, loops) = (crate::llvm::Module::of(module), options.level.passes().is_some());
    match verify::source::infer_roots(raw, &name, options.roots, &options.gc_names, loops) {
        Ok(()) => verify::verify_source(module, &name, &options.gc_names),
        Err(errors) => Findings { errors, warnings: Vec::new() },
    }
}

/// Whether a module comes out of a lowering.
pub fn is_lowered(module: &Module) -> bool {
    module.get_flag(LOWERED_FLAG).is_some()
}

/// Lowers a module in place. The result is IR that any tool of this LLVM understands. Returns the counts and the
/// allocations that were saved.
pub fn lower(module: &Module, file: &Path, options: &CompileOptions) -> Result<Vec<Remark>, CompileError> {
    let remarks = lower_unchecked(module, file, options)?;
    check(module, file, LOWERING)?;
    Ok(remarks)
}

fn lower_unchecked(module: &Module, file: &Path, options: &CompileOptions) -> Result<Vec<Remark>, CompileError> {
    let _working = WorkingOn::file(file);
    let patterns = if options.level.passes().is_some() { Patterns::ALL } else { Patterns::NONE };
    let identity = match options.identity {
        Identity::Name => None,
        Identity::Content => Some(content::number(crate::llvm::Module::of(module))),
    };
    let lower_options = LowerOptions {
        context: match options.destination {
            Destination::LinkedImage | Destination::Executable => ContextAccess::Symbol,
            Destination::ThisProcess => ContextAccess::FsOffset(tally_heap::context::fs_offset()),
        },
        zeal: options.zeal,
        names: options.names,
        roots: options.roots,
        gc_names: options.gc_names.clone(),
        eliminate_tail_calls: options.level.passes().is_some(),
        patterns: options.patterns.unwrap_or(patterns),
        module_name: file.display().to_string(),
        identity,
        stack_objects: options.stack_objects && matches!(options.level, Level::O2 | Level::O3),
        traces_llvms: options.traces_llvms,
        ..LowerOptions::default()
    };
    let report = lower::lower(module, &lower_options).map_err(CompileError::Contract)?;
    Ok(report.remarks)
}

fn optimise(module: &Module, file: &Path, machine: &TargetMachine, level: Level) -> Result<(), CompileError> {
    let passes = match level.passes() {
        Some(passes) if !verify::source::foreign::statepoints_name_variables(crate::llvm::Module::of(module)) => passes,
        _ if has_no_code_of_its_own(module) => "always-inline",
        _ => return Ok(()),
    };
    appending::tidy_structors(crate::llvm::Module::of(module));
    let answer = module.run_passes(passes, machine, PassBuilderOptions::create());
    let message = match answer {
        Err(message) => Some(message.to_string()),
        Ok(()) => messages::take_errors(),
    };
    if let Some(message) = message {
        return Err(CompileError::Passes { file: file.display().to_string(), message });
    }
    match level.passes() {
        Some(_) => polish(module, file),
        None => check(module, file, "inlining"),
    }
}

/// Whether functions of a module, as of C++'s library, are there to be inlined and in no other place.
fn has_no_code_of_its_own(module: &Module) -> bool {
    let kind = Attribute::get_named_enum_kind_id("alwaysinline");
    module.get_functions().any(|function| {
        let is_elsewhere = function.get_linkage() == Linkage::AvailableExternally;
        is_elsewhere && function.get_enum_attribute(AttributeLoc::Function, kind).is_some()
    })
}

/// Checks an optimised module, and does what LLVM's passes do not.
fn polish(module: &Module, file: &Path) -> Result<(), CompileError> {
    if CHECKS_EACH_STEP {
        check(module, file, "optimisation")?;
    }
    if sibling_calls::restore(crate::llvm::Module::of(module)) && CHECKS_EACH_STEP {
        check(module, file, "the making of tail calls")?;
    }
    if sunk_roots::sink(crate::llvm::Module::of(module)) && CHECKS_EACH_STEP {
        check(module, file, "the sinking of roots")?;
    }
    if !CHECKS_EACH_STEP {
        check(module, file, "optimisation")?;
    }
    heap_tests::shift(crate::llvm::Module::of(module));
    loop_alignment::align(crate::llvm::Module::of(module));
    Ok(())
}

fn emit(
    module: &Module,
    file: &Path,
    index: usize,
    machine: &TargetMachine,
    options: &CompileOptions,
) -> Result<Vec<u8>, CompileError> {
    match options.destination {
        Destination::LinkedImage | Destination::Executable => {
            constructors::place_for_linker(module);
            if options.destination == Destination::Executable {
                lower::find_context_at_fixed_distance(crate::llvm::Module::of(module));
            }
            if options.zeal {
                zeal_default::add(module);
            }
        }
        Destination::ThisProcess => {
            thread_locals::replace(module, file, machine)?;
            refuse_ifuncs(module, file)?;
            constructors::export_for_host(module, index);
        }
    }
    let errors = verify::source::machine_code::all_errors(crate::llvm::Module::of(module), &file.to_string_lossy());
    if !errors.is_empty() {
        return Err(CompileError::Contract(errors));
    }
    let made = match options.form {
        Form::Assembly => emit::assembly(module, machine),
        _ => emit::object_as(module, machine, options.maps),
    };
    made.map_err(|error| CompileError::Emit { file: file.display().to_string(), error })
}

/// Refuses ifuncs: LLVM's in-process linker does not know them.
fn refuse_ifuncs(module: &Module, file: &Path) -> Result<(), CompileError> {
    let Some(ifunc) = crate::llvm::Module::of(module).first_ifunc() else { return Ok(()) };
    let message = format!("the ifunc @{} is not supported by `tally run`", ifunc.name());
    let finding = Diagnostic::about_module(&file.to_string_lossy(), message).help("use `tally build`");
    Err(CompileError::Contract(vec![finding]))
}

/// Whether LLVM's verifier runs after each step, so that a fault is blamed on the step that made it. In a release build it runs
/// once before the lowering and once behind all steps: each time costs a compilation at -O2 a hundredth.
const CHECKS_EACH_STEP: bool = cfg!(debug_assertions);

const LOWERING: &str = "the lowering";

/// Runs LLVM's verifier and ours on a module after a step of our own.
fn check(module: &Module, file: &Path, stage: &'static str) -> Result<(), CompileError> {
    module.verify().map_err(|message| broken(file, stage, message.to_string()))?;
    check_contract(module, file, stage)
}

/// Runs our verifier on a module after a step of our own.
fn check_contract(module: &Module, file: &Path, stage: &'static str) -> Result<(), CompileError> {
    let lines = |findings: Vec<Diagnostic>| broken(file, stage, diagnostic::lines(&findings));
    verify::verify_lowered(module, &file.to_string_lossy()).map_err(lines)
}

fn broken(file: &Path, stage: &'static str, message: String) -> CompileError {
    CompileError::Broken { file: file.display().to_string(), stage, message }
}

fn defines_main(module: &Module) -> bool {
    module.get_function("main").is_some_and(|main| {
        main.count_basic_blocks() > 0 && !matches!(main.get_linkage(), Linkage::Internal | Linkage::Private)
    })
}
