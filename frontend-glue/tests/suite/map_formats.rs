//! Stack maps in both formats: they say the same of each return address, and compact ones link everywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tally_kit::situation::programs_in;
use tally_kit::tally_command::source_tree;
use tally_llvm::emit::level::Level;
use tally_llvm::emit::object_file::MapFormat;
use tally_llvm::emit::target::Target;
use tally_llvm::lower::{Plan, STRATEGY};
use tally_llvm::maps::placed_object::PlacedObject;
use tally_llvm::maps::root_listing;
use tally_llvm::pipeline::{self, CompileOptions};

mod links;

/// The places of all roots by call: function, offset, and name, slot and descriptor of each.
type Roots = BTreeMap<(String, u64), BTreeSet<Vec<String>>>;

fn roots_of(object: &[u8]) -> Roots {
    let placed = PlacedObject::read(object).unwrap();
    let mut roots = Roots::new();
    for call in root_listing::list(&placed).unwrap() {
        let described =
            |root: &root_listing::Root| format!("{} {:?} {} {:?}", root.name, root.owner, root.slot, root.descriptor);
        let list = call.roots.iter().map(described).collect();
        roots.entry((call.function.to_string(), call.offset)).or_default().insert(list);
    }
    roots
}

fn has(object: &[u8], section: &str) -> bool {
    PlacedObject::read(object).unwrap().section(section).is_some()
}

/// Both formats of a file; `None` if it does not compile. Returns the bytes of both sections, and the calls.
fn compare(file: &Path, level: Level, plan: Plan, target: Target) -> Option<(usize, usize, usize)> {
    let compiled = |maps| {
        let gc_names = vec![(STRATEGY.to_owned(), plan)];
        let options = CompileOptions { level, maps, gc_names, target, ..CompileOptions::default() };
        pipeline::compile(&[file.to_owned()], &options).ok()
    };
    let (compact, llvm) = (compiled(MapFormat::Compact)?, compiled(MapFormat::Llvm)?);
    let mut sums = (0, 0, 0);
    for (compact, llvm) in compact.iter().zip(&llvm) {
        let roots = roots_of(&llvm.bytes);
        assert_eq!(roots_of(&compact.bytes), roots, "{} at {level:?}", file.display());
        let size = |object: &[u8], name: &str| PlacedObject::read(object).unwrap().section(name).map_or(0, <[u8]>::len);
        sums.0 += size(&compact.bytes, "tally_stackmaps");
        sums.1 += size(&llvm.bytes, ".llvm_stackmaps");
        sums.2 += roots.len();
        assert!(!has(&llvm.bytes, "tally_stackmaps"));
    }
    Some(sums)
}

/// Files of the lowering's tests, of its hazards and of the examples.
fn corpus() -> Vec<PathBuf> {
    let folders = ["frontend-glue/tests/lowering", "frontend-glue/tests/hazards", "examples", "tests/programs"];
    folders.iter().flat_map(|folder| programs_in(&source_tree().join(folder))).collect()
}

#[test]
fn every_map_of_the_lowerings_tests_says_the_same_in_both_formats() {
    let (compared, compact, llvm, calls) = compare_all(Target::X86_64, &corpus());
    assert!(compared > 150 && calls > 2000, "{compared} modules with {calls} calls");
    assert!(compact * 5 < llvm, "{compact} bytes of {llvm}");
}

/// Maps with sizes of frames, and other relocations.
#[test]
fn maps_of_other_machines_say_the_same_in_both_formats() {
    // LLVM has no code for these on one of them, and says so by the end of the process.
    let without = ["references_stored_by_other_means", "results_that_fit", "roots_in_memory_of_the_caller"];
    let mut files = programs_in(&source_tree().join("frontend-glue/tests/lowering"));
    files.retain(|file| !without.iter().any(|&name| file.file_stem().is_some_and(|stem| stem == name)));
    for target in [Target::AArch64, Target::RiscV64] {
        let (compared, compact, llvm, calls) = compare_all(target, &files);
        assert!(compared > 80 && calls > 400, "{compared} modules with {calls} calls");
        assert!(compact * 4 < llvm, "{compact} bytes of {llvm}");
    }
}

/// Both formats of all files: modules, bytes of both, calls.
fn compare_all(target: Target, files: &[PathBuf]) -> (usize, usize, usize, usize) {
    let (mut compared, mut compact, mut llvm, mut calls) = (0, 0, 0, 0);
    for (index, file) in files.iter().enumerate() {
        // Each file at one level and under one plan or two; by turns, so that all meet.
        let level = [Level::O0, Level::O2, Level::O1, Level::Os][index % 4];
        for plan in if index % 3 == 0 { vec![Plan::Deferred, Plan::Prompt] } else { vec![Plan::Prompt] } {
            if let Some(sums) = compare(file, level, plan, target) {
                (compared, compact, llvm, calls) = (compared + 1, compact + sums.0, llvm + sums.1, calls + sums.2);
            }
        }
    }
    println!("{target}: {compared} modules, {calls} calls: {compact} bytes compact, {llvm} of LLVM's");
    (compared, compact, llvm, calls)
}

/// State for an interpreter, and the frontend's own stack maps, are for readers of LLVM's section.
#[test]
fn maps_that_tell_others_something_stay_llvms() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("m.ll");
    let object = |body: &str| {
        let text = format!(
            "declare void @poke()\ndeclare void @llvm.gcroot(ptr, ptr)\n\
             declare void @llvm.experimental.stackmap(i64, i32, ...)\n\
             define void @f(ptr %p, i64 %state) gc \"refcount\" {{\n  %r = alloca ptr\n  \
             call void @llvm.gcroot(ptr %r, ptr null)\n  store ptr %p, ptr %r\n{body}  ret void\n}}\n"
        );
        std::fs::write(&file, text).unwrap();
        pipeline::compile(std::slice::from_ref(&file), &CompileOptions::default()).unwrap().remove(0).bytes
    };
    assert!(has(&object("  call void @poke()\n"), "tally_stackmaps"));
    for told in [
        "  call void @poke() [ \"deopt\"(i64 %state) ]\n",
        "  call void @poke()\n  call void (i64, i32, ...) @llvm.experimental.stackmap(i64 77, i32 0, i64 %state)\n",
        "  call void @poke()\n  call void (i64, i32, ...) @llvm.experimental.stackmap(i64 77, i32 0)\n",
    ] {
        let object = object(told);
        assert!(has(&object, ".llvm_stackmaps") && !has(&object, "tally_stackmaps"), "{told}");
    }
}

/// The table of names is shared by sections and symbols.
#[test]
fn symbol_whose_name_ends_like_the_section_keeps_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("m.ll");
    let text = "declare void @poke()\n@\"my.llvm_stackmaps\" = global i64 7\ndefine void @f() gc \"refcount\" {\n  \
                call void @poke()\n  call void @poke()\n  ret void\n}\n";
    std::fs::write(&file, text).unwrap();
    let object = pipeline::compile(&[file], &CompileOptions::default()).unwrap().remove(0).bytes;
    assert!(object.windows(18).any(|window| window == b"my.llvm_stackmaps\0"));
    assert_eq!(roots_of(&object).len(), 1);
}
