//! Compact maps in programs of several objects, however they are linked. Zeal finds a root that the maps do not.

use std::path::PathBuf;

use tally_kit::folder::{Folder, Outcome};
use tally_kit::tally_command::checked_tally;
use tally_llvm::emit::level::Level;
use tally_llvm::lower::{Plan, STRATEGY};
use tally_llvm::pipeline::{self, CompileOptions};

const DECLARATIONS: &str =
    "declare ptr @tally_new(ptr)\ndeclare void @llvm.gcroot(ptr, ptr)\n@Node = external constant i8\n";

/// A function that both modules define. Its parameter outlives an allocation.
const TWICE: &str = "$twice = comdat any\n\
    define linkonce_odr i64 @twice(ptr %p) comdat gc \"refcount\" {\n  %root = alloca ptr\n  \
    call void @llvm.gcroot(ptr %root, ptr null)\n  store ptr %p, ptr %root\n  %new = call ptr @tally_new(ptr @Node)\n  \
    %kept = load ptr, ptr %root\n  %value = load i64, ptr %kept\n  ret i64 %value\n}\n";

/// Calls it; in a section of its own, with another function in a third section.
fn module(name: &str, value: i64) -> String {
    format!(
        "{DECLARATIONS}{TWICE}define i64 @{name}() cold gc \"refcount\" {{\n  %root = alloca ptr\n  \
         call void @llvm.gcroot(ptr %root, ptr null)\n  %node = call ptr @tally_new(ptr @Node)\n  \
         store ptr %node, ptr %root\n  store i64 {value}, ptr %node\n  %sum = call i64 @twice(ptr %node)\n  \
         %more = call i64 @{name}.more()\n  %kept = load ptr, ptr %root\n  %own = load i64, ptr %kept\n  \
         %a = add i64 %sum, %own\n  %b = add i64 %a, %more\n  ret i64 %b\n}}\n\
         define i64 @{name}.more() gc \"refcount\" {{\n  %node = call ptr @tally_new(ptr @Node)\n  store i64 1, ptr %node\n  \
         %sum = call i64 @twice(ptr %node)\n  ret i64 %sum\n}}\n"
    )
}

const MAIN: &str = "@Node = external constant i8\n!tally.types = !{!0}\n!0 = !{ptr @Node, !\"size\", i64 16, !\"refs\", !{i32 8}}\n\
    declare i64 @one()\ndeclare i64 @two()\ndeclare void @tally_collect()\n\
    define i32 @main() gc \"refcount\" {\n  %a = call i64 @one()\n  call void @tally_collect()\n  %b = call i64 @two()\n  \
    %c = add i64 %a, %b\n  %d = trunc i64 %c to i32\n  ret i32 %d\n}\n";

/// `one` makes 2 · 3 + 1, `two` 2 · 10 + 1.
fn returns() -> Outcome {
    Outcome { status: Some(28), stdout: String::new(), stderr: String::new() }
}

fn folder() -> Folder {
    Folder::with(&[("main.ll", MAIN), ("one.ll", &module("one", 3)), ("two.ll", &module("two", 10))])
}

/// Objects of the modules, with zeal in each.
fn objects(folder: &Folder, plan: Plan) {
    for name in ["main", "one", "two"] {
        let options = CompileOptions {
            level: Level::O0,
            zeal: true,
            gc_names: vec![(STRATEGY.to_owned(), plan)],
            ..CompileOptions::default()
        };
        let file: PathBuf = folder.path(&format!("{name}.ll"));
        let object = pipeline::compile(&[file], &options).unwrap().remove(0).bytes;
        std::fs::write(folder.path(&format!("{name}.o")), object).unwrap();
    }
}

fn succeeds(folder: &Folder, tool: &str, arguments: &[&str]) {
    let outcome = folder.run(tool, arguments);
    assert!(outcome.status == Some(0) && outcome.stderr.is_empty(), "{tool} {arguments:?}: {outcome:?}");
}

#[test]
fn function_that_two_modules_define_keeps_its_roots() {
    let folder = folder();
    for plan in ["refcount", "refcount-prompt", "trace"] {
        let words = ["--opt", "0", "--plan", plan, "--zeal", "--no-warnings", "main.ll", "one.ll", "two.ll"];
        assert_eq!(folder.tally(&[&["run"], &words[..]].concat()), returns(), "{plan}");
        assert_eq!(folder.tally(&[&["run", "--stack-maps", "llvm"], &words[..]].concat()), returns(), "{plan}");
        folder.build(&words);
        assert_eq!(folder.program(&[], &[]), returns(), "{plan}");
        let sections = folder.inspect("readelf", &["-SW", "program"]);
        let maps = sections.lines().find(|line| line.contains("tally_stackmaps")).expect("a compact map");
        assert!(maps.contains(" A ") && !sections.contains(".llvm_stackmaps"), "read-only: {maps}");
    }
}

#[test]
fn objects_that_were_made_one_keep_their_roots() {
    for linker in ["ld.lld-22", "ld"] {
        let folder = folder();
        objects(&folder, Plan::Prompt);
        succeeds(&folder, linker, &["-r", "two.o", "one.o", "main.o", "-o", "all.o"]);
        folder.build(&["all.o"]);
        assert_eq!(folder.program(&[("TALLY_ZEAL", "1")], &[]), returns(), "{linker}");
        let calls = |object: &str| {
            let listed = folder.tally(&["maps", object]).stdout;
            let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
            listed.lines().filter(|line| line.starts_with("one ")).map(words).collect::<Vec<_>>()
        };
        assert!(!calls("one.o").is_empty());
        assert_eq!(calls("all.o"), calls("one.o"));
    }
}

/// The functions may be replaced by others when the library is loaded, so the linker knows no distance to them by name.
#[test]
fn functions_of_shared_libraries_keep_their_roots() {
    let library = checked_tally().with_file_name("libtally.a");
    let whole = ["-Wl,--whole-archive", library.to_str().unwrap(), "-Wl,--no-whole-archive", "-rdynamic"];
    let libraries = ["-lgcc_s", "-lpthread", "-ldl", "-lm", "-Wl,-rpath,$ORIGIN", "-o", "program"];
    for linker in ["-fuse-ld=lld", "-fuse-ld=bfd"] {
        let folder = folder();
        objects(&folder, Plan::Deferred);
        succeeds(&folder, "clang-22", &[linker, "-shared", "-Wl,-z,text", "one.o", "-o", "libone.so"]);
        succeeds(&folder, "clang-22", &[linker, "-shared", "-Wl,-z,text", "two.o", "-o", "libtwo.so"]);
        let program = [linker, "-pie", "-Wl,-z,text", "main.o", "libone.so", "libtwo.so"];
        succeeds(&folder, "clang-22", &[&program[..], &whole, &libraries].concat());
        assert_eq!(folder.program(&[("TALLY_ZEAL", "1")], &[]), returns(), "{linker}");
    }
}
