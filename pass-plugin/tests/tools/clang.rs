//! Programs in C that clang compiles with the plugin.

use crate::workbench::{SUMS, bytes, link, listing, plugin, printed, succeeds, tool, two_modules};
use std::process::Command;
use tally_kit::folder::Folder;
use tally_kit::tally_command::{checked_tally, describe, run, source_tree};

/// An example with weak references, a table and garbage, compiled by clang at one level under one plan, and by `tally build`.
#[track_caller]
fn prints_what_tally_build_does(plan: &str, level: &str) {
    let source = source_tree().join("examples/lru_cache.c");
    let folder = Folder::with(&[]);
    let program = folder.path("by_tally");
    let words = ["build", "--plan", plan, "-O2", "-o"].map(str::to_owned);
    let built = run(checked_tally(), &[&words[..], &[text(&program), text(&source)]].concat(), &[]);
    assert!(built.status.success(), "{}", describe(&built));
    let expected = Command::new(&program).output().expect("it was linked");
    let plan = format!("-fplugin=$so -mllvm -tally=plan={plan};no-warnings");
    succeeds(&folder, &format!("clang-22 {level} -fPIC -fpass-plugin=$so {plan} -c {} -o a.o", source.display()));
    link(&folder, "a.o");
    assert_eq!(printed(&folder, false), String::from_utf8_lossy(&expected.stdout), "{plan} {level}");
}

fn text(path: &std::path::Path) -> String {
    path.to_str().expect("text").to_owned()
}

#[test]
fn deferred_program_at_every_level() {
    ["-O0", "-O1", "-O2", "-O3", "-Os"].into_iter().for_each(|level| prints_what_tally_build_does("refcount", level));
}

#[test]
fn prompt_program_at_every_level() {
    for level in ["-O0", "-O1", "-O2", "-O3", "-Os"] {
        prints_what_tally_build_does("refcount-prompt", level);
    }
}

#[test]
fn modules_that_are_compiled_apart_are_one_program() {
    let folder = two_modules();
    succeeds(&folder, "clang-22 -O2 -fPIC -fpass-plugin=$so -c library.c -o library.o");
    succeeds(&folder, "clang-22 -O0 -fPIC -fpass-plugin=$so -c program.c -o program.o");
    link(&folder, "library.o program.o");
    assert_eq!(printed(&folder, true), SUMS);
    // By way of assembly, whose stack maps LLVM's assembler makes read-only.
    succeeds(&folder, "clang-22 -O2 -fPIC -fpass-plugin=$so -S program.c -o program.s");
    link(&folder, "library.o program.s -Wl,-z,notext");
    assert_eq!(printed(&folder, true), SUMS);
}

/// Builds often call the compiler in each folder. A root of one file must not be read as that of the other, which tags its words.
#[test]
fn files_of_one_name_in_two_folders_have_roots_of_their_own() {
    const PLAIN: &str = "#include <tally_gc.h>\ntypedef struct Node { struct Node *next; long value; } Node;\nTALLY_TYPE(Node, next);\n\
        static long __attribute__((noinline)) work(void) {\n    Node *v = TALLY_NEW(Node);\n    TALLY_ROOT(v);\n    v->value = 1;\n\
        \x20   for (int i = 0; i < 1000; i++) TALLY_NEW(Node)->value = 7;\n    return v->value;\n}\nlong plain(void) { return work(); }\n";
    const TAGGED: &str = "#include <tally_gc.h>\ntypedef struct Node { struct Node *next; long value; } Node;\nTALLY_TYPE(Node, next);\n\
        typedef uint64_t Word;\nTALLY_TAGGED_TYPE(Word, 7, 2, ~7ull);\n\
        static long __attribute__((noinline)) work(void) {\n    Word v = (uint64_t)TALLY_NEW(Node) | 2;\n    TALLY_ROOT_TAGGED(Word, v);\n\
        \x20   ((Node *)(v & ~7ull))->value = 2;\n    for (int i = 0; i < 1000; i++) TALLY_NEW(Node)->value = 7;\n\
        \x20   return ((Node *)(v & ~7ull))->value;\n}\nlong tagged(void) { return work(); }\n";
    const MAIN: &str = "#include <stdio.h>\nlong plain(void), tagged(void);\nint main(void) { printf(\"%ld %ld\\n\", plain(), tagged()); }\n";
    let folder = Folder::with(&[("main.c", MAIN)]);
    for (name, text) in [("plain", PLAIN), ("tagged", TAGGED)] {
        std::fs::create_dir(folder.path(name)).unwrap();
        std::fs::write(folder.path(name).join("list.c"), text).unwrap();
        let compile = "-O2 -fPIC -fpass-plugin=$so -c list.c -o list.o";
        succeeds(
            &folder,
            &format!("env -C {name} clang-22 -I{}/aot-runtime/include {compile}", source_tree().display()),
        );
    }
    succeeds(&folder, "clang-22 -O2 -c main.c -o main.o");
    for order in ["plain/list.o tagged/list.o", "tagged/list.o plain/list.o"] {
        link(&folder, &format!("main.o {order}"));
        assert_eq!(printed(&folder, true), "1 2\n", "{order}");
    }
}

#[test]
fn object_of_a_file_without_anything_of_tally_is_the_same_with_the_plugin() {
    let folder = Folder::with(&[("plain.c", "int f(int x) { return x * 3; }\nint (*g)(int) = f;\n")]);
    succeeds(&folder, "clang-22 -O2 -c plain.c -o without.o");
    succeeds(&folder, "clang-22 -O2 -fpass-plugin=$so -c plain.c -o with.o");
    assert!(bytes(&folder, "with.o") == bytes(&folder, "without.o"));
}

#[test]
fn file_that_only_includes_the_header_refers_to_nothing_of_it() {
    let folder = Folder::with(&[("plain.c", "#include <tally_gc.h>\nint f(int x) { return x * 3; }\n")]);
    succeeds(&folder, "clang-22 -O2 -fpass-plugin=$so -c plain.c -o plain.o");
    assert_eq!(listing("llvm-nm-22 --undefined-only", &folder.path("plain.o")), "");
}

#[test]
fn file_of_zeal_runs_in_zeal_by_itself() {
    let forgetful = "#include <stdio.h>\n#include <tally_gc.h>\ntypedef struct Node { struct Node *next; long value; } Node;\n\
        TALLY_TYPE(Node, next);\nint main(void) {\n    Node *lost = TALLY_NEW(Node);\n    lost->value = 1;\n    Node *other = TALLY_NEW(Node);\n\
        \x20   other->value = 2;\n    printf(\"%ld\\n\", lost->value);\n}\n";
    let folder = Folder::with(&[("program.c", forgetful)]);
    let compile =
        "clang-22 -g -O2 -fPIC -fpass-plugin=$so -fplugin=$so -mllvm -tally=zeal;no-warnings -c program.c -o program.o";
    succeeds(&folder, compile);
    link(&folder, "program.o");
    let output = Command::new(folder.path("program")).output().expect("it was linked");
    assert_eq!(output.status.code(), Some(5), "{}", describe(&output));
    assert!(String::from_utf8_lossy(&output.stderr).contains("program.c:10"), "{}", describe(&output));
}

#[test]
fn plugin_exports_nothing_but_its_entry() {
    let exported = listing("llvm-nm-22 -D --defined-only -j", &plugin());
    assert_eq!(exported, "llvmGetPassPluginInfo\n");
}

#[test]
fn file_compiled_without_the_plugin_is_told_by_the_linker_with_the_cure() {
    let folder = two_modules();
    succeeds(&folder, "clang-22 -O2 -c library.c -o library.o");
    let output = tool(&folder, "clang-22 -fuse-ld=lld library.o -shared -Wl,-z,defs -o library.so");
    let said = String::from_utf8_lossy(&output.stderr);
    let cure =
        "undefined symbol: gcroot, not lowered: compile with -fpass-plugin=libtally_pass.so, or by `tally build`";
    assert!(!output.status.success() && said.contains(cure), "{said}");
}
