//! Modules without a function of Tally's come out as they went in, byte for byte: as text, as bitcode, and from the command.
//!
//! The modules are many kinds of what is written: the small ones beside this file (one kind of thing each), C with its debug
//! information, coverage, sanitisers and LTO summaries, C that roots for another strategy, and what llvm-stress makes of many
//! seeds. Each is loaded twice; one is lowered, both are written, and both texts and bitcodes are compared. For the command's
//! output the canonical form is LLVM's own: what llvm-dis and an opt without passes make of the same file.

use inkwell::context::Context;
use std::path::{Path, PathBuf};
use std::process::Command;
use tally_kit::tally_command::{checked_tally, tally_word};
use tally_llvm::emit::level::Level;
use tally_llvm::emit::target;
use tally_llvm::load::reading::Reading;
use tally_llvm::lower::{LowerOptions, lower};
use tally_llvm::pipeline;

const STRESS_SEEDS: u32 = 150;

/// What every module begins with, so that loading has nothing to add.
const TARGET: &str = "target datalayout = \"e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128\"\n\
    target triple = \"x86_64-unknown-linux-gnu\"\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Text and bitcode of the file as loaded, lowered if asked; none if it is refused.
fn written(file: &Path, lowered: bool) -> Option<(Vec<u8>, Vec<u8>)> {
    let context = Context::create();
    let machine = target::machine(Level::O0).unwrap();
    let module =
        pipeline::load(&context, file, &machine, &Reading::default()).unwrap_or_else(|error| panic!("{error}"));
    if lowered {
        let options = LowerOptions { module_name: file.display().to_string(), ..LowerOptions::default() };
        let report = lower(&module, &options).ok()?;
        assert_eq!(report.touched, report.functions > 0, "{}: {report:?}", file.display());
    }
    Some((module.print_to_string().to_bytes().to_vec(), module.write_bitcode_to_memory().as_slice().to_vec()))
}

/// What differs between the module and what the lowering leaves of it.
fn difference(file: &Path) -> Option<&'static str> {
    let before = written(file, false).expect("nothing is refused unasked");
    let Some(after) = written(file, true) else { return Some("it is refused") };
    match (before.0 == after.0, before.1 == after.1) {
        (true, true) => None,
        (false, _) => Some("the text"),
        (true, false) => Some("the bitcode"),
    }
}

fn assert_untouched(files: &[PathBuf]) {
    for file in files {
        assert_eq!(difference(file), None, "{}", file.display());
    }
}

fn succeed(folder: &Path, tool: &str, arguments: &[&str]) {
    let output = Command::new(tool).args(arguments).current_dir(folder).output();
    let output = output.unwrap_or_else(|error| panic!("{tool}: {error}; install LLVM 22's tools"));
    assert!(output.status.success(), "{tool} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// What `tally lower` writes of `module.ll` and `module.bc` against LLVM's own writing of it.
fn assert_command_leaves(file: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::copy(file, path("module.ll")).unwrap();
    succeed(folder.path(), "llvm-as-22", &["module.ll", "-o", "module.bc"]);
    succeed(folder.path(), "llvm-dis-22", &["module.bc", "-o", "canonical.ll"]);
    for input in ["module.ll", "module.bc"] {
        succeed(folder.path(), tally_word(), &["lower", input, "-o", "lowered.ll"]);
        succeed(folder.path(), tally_word(), &["lower", input, "-o", "lowered.bc"]);
        let no_passes = ["-passes=verify", "--preserve-bc-uselistorder=false", input, "-o", "canonical.bc"];
        succeed(folder.path(), "opt-22", &no_passes);
        // The first line is a comment with the file's name.
        let body = |name: &str| {
            let text = std::fs::read_to_string(path(name)).unwrap();
            text.split_once('\n').expect("a first line").1.to_owned()
        };
        assert!(
            body("lowered.ll") == body("canonical.ll"),
            "{}: `tally lower {input}` changes the text",
            file.display()
        );
        let (ours, llvms) = (std::fs::read(path("lowered.bc")).unwrap(), std::fs::read(path("canonical.bc")).unwrap());
        assert!(ours == llvms, "{}: `tally lower {input}` changes the bitcode", file.display());
    }
}

/// The small modules beside this file.
fn kinds() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/untouched");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "ll"));
    files.sort();
    assert!(files.len() >= 9, "the modules are missing");
    files
}

/// scenario 201.
#[test]
fn modules_of_every_kind_come_out_as_they_went_in() {
    assert_untouched(&kinds());
}

#[test]
fn the_command_writes_what_llvm_writes() {
    kinds().iter().for_each(|file| assert_command_leaves(file));
}

/// C without references of ours, with all that clang puts into a module on request.
#[test]
fn c_without_gc_comes_out_as_it_went_in() {
    const FLAGS: [&[&str]; 6] = [
        &["-O0", "-g"],
        &["-O2", "-g3", "-gdwarf-5"],
        &["-O1", "-flto"],
        &["-O2", "-flto=thin", "-fvisibility=hidden"],
        &["-O1", "-fsanitize=address,undefined", "-fno-omit-frame-pointer"],
        &["-O1", "-fprofile-instr-generate", "-fcoverage-mapping", "-ffunction-sections"],
    ];
    let folder = tempfile::tempdir().unwrap();
    let sources = root().join("benches/workloads/hand_freed");
    let names = [
        "bintrees.c",
        "cycles.c",
        "fifo.c",
        "gcbench.c",
        "list.c",
        "lru.c",
        "main.c",
        "mutate.c",
        "bigheap.c",
        "rings.c",
        "parents.c",
        "havlak.c",
        "toggle.c",
    ];
    for (name, flags) in names.iter().zip(FLAGS.iter().cycle()) {
        let source = sources.join(name);
        for (form, output) in [(&["-emit-llvm", "-S"][..], "module.ll"), (&["-emit-llvm", "-c"], "module.bc")] {
            let rest = [source.to_str().unwrap(), "-o", output];
            succeed(folder.path(), "clang-22", &[flags, form, &rest].concat());
            assert_eq!(difference(&folder.path().join(output)), None, "{name} {flags:?} as {output}");
        }
        // Summaries and hashes of LTO are no part of the module: the command reads and writes without them.
        if !flags.iter().any(|flag| flag.starts_with("-flto")) {
            assert_command_leaves(&folder.path().join("module.ll"));
        }
    }
}

/// What `tally_gc.h` has behind the names of its functions.
const UNLOWERED: &str = ", not lowered: compile with -fpass-plugin=libtally_pass.so, or by `tally build`";

/// The C examples, rooted for another strategy and with allocators of their own: their gcroots and gcwrites are none of ours.
/// With Tally's allocator they are refused, but for the shadow stack, which the runtime reads, and for the strategies that Tally
/// compiles for the trace plan.
#[test]
fn c_that_roots_for_another_strategy_comes_out_as_it_went_in() {
    let folder = tempfile::tempdir().unwrap();
    let (include, file) = (root().join("aot-runtime/include"), folder.path().join("module.ll"));
    for (name, strategy) in [
        ("rings.c", "shadow-stack"),
        ("roots.c", "ocaml"),
        ("lru_cache.c", "erlang"),
        ("nan_boxed.c", "statepoint-example"),
        ("global_roots.c", "coreclr"),
    ] {
        let source = root().join("examples").join(name);
        let passes = ["-O1", "-g", "-Xclang", "-disable-llvm-passes", "-Xclang", "-disable-llvm-verifier", "-w"];
        let rest = ["-I", include.to_str().unwrap(), "-emit-llvm", "-S", "-o", "plain.ll", source.to_str().unwrap()];
        succeed(folder.path(), "clang-22", &[&passes[..], &rest].concat());
        let text = std::fs::read_to_string(folder.path().join("plain.ll")).unwrap();
        let managed = |line: &str| {
            let at = line.find(" !dbg").or_else(|| line.rfind(" {")).filter(|_| line.starts_with("define "));
            at.map_or(line.to_owned(), |at| format!("{} gc \"{strategy}\"{}", &line[..at], &line[at..]))
        };
        let text: String = text.lines().map(|line| managed(line) + "\n").collect();
        // As a header of their own would call the intrinsics.
        let own = |text: String, (name, by)| text.replace(&format!("@\"{name}{UNLOWERED}\""), by);
        let names = [("gcroot", "@llvm.gcroot"), ("gcwrite", "@llvm.gcwrite"), ("gcread", "@llvm.gcread")];
        let text = names.into_iter().chain([("tally_gc.h", "@other_header")]).fold(text, own);
        assert!(text.contains("@llvm.gcroot(ptr"), "{name} roots nothing");
        std::fs::write(&file, &text).unwrap();
        let refused = Command::new(checked_tally()).arg("verify").arg(&file).output().unwrap();
        let message = String::from_utf8_lossy(&refused.stderr).into_owned();
        let is_refused = message.contains(&format!("cannot read roots of gc \"{strategy}\""));
        let is_unread = ["statepoint-example", "coreclr"].contains(&strategy);
        assert_eq!(is_refused, is_unread, "{name} as {strategy}: {message}");
        std::fs::write(&file, text.replace("@tally_", "@other_")).unwrap();
        assert_eq!(difference(&file), None, "{name} as {strategy}");
    }
}

/// scenario 201.
#[test]
fn modules_of_llvm_stress_come_out_as_they_went_in() {
    let folder = tempfile::tempdir().unwrap();
    let (plain, file) = (folder.path().join("plain.ll"), folder.path().join("module.ll"));
    for seed in 0..STRESS_SEEDS {
        let (seed, size) = (seed.to_string(), (20 + seed * 2).to_string());
        succeed(folder.path(), "llvm-stress-22", &["-seed", &seed, "-size", &size, "-o", "plain.ll"]);
        std::fs::write(&file, TARGET.to_owned() + &std::fs::read_to_string(&plain).unwrap()).unwrap();
        assert_eq!(difference(&file), None, "llvm-stress-22 -seed {seed} -size {size}");
    }
    assert_command_leaves(&file);
}

/// The comparison sees a lowering: one function of Tally's, and the smallest there is, in each of the small modules.
#[test]
fn one_function_of_ours_makes_a_difference() {
    let folder = tempfile::tempdir().unwrap();
    for file in kinds() {
        let text = std::fs::read_to_string(&file).unwrap();
        if text.contains(" gc \"") {
            continue; // One module has one strategy.
        }
        let changed = folder.path().join(file.file_name().unwrap());
        std::fs::write(&changed, text + "\ndefine void @of.ours() gc \"refcount\" {\n  ret void\n}\n").unwrap();
        let refused = file.ends_with("bundles_and_attributes.ll") || file.ends_with("exceptions.ll");
        let expected = if refused { "it is refused" } else { "the text" };
        assert_eq!(difference(&changed), Some(expected), "{}", file.display());
    }
}
