//! `tally cc` in the place of a compiler, as builds call it.

use crate::workbench::{SUMS, plugin, two_modules};
use std::process::{Command, Output};
use tally_kit::folder::Folder;
use tally_kit::tally_command::{checked_tally, describe, source_tree};

/// Runs `tally cc` of this build, which finds the plugin of this build.
fn cc(folder: &Folder, line: &str) -> Output {
    assert!(plugin().is_file());
    let mut command = Command::new(checked_tally());
    command.args(line.split(' ')).current_dir(folder.path("."));
    command.env_remove("TALLY_PASS").output().expect("the command was built")
}

#[track_caller]
fn succeeds(folder: &Folder, line: &str) -> String {
    let output = cc(folder, line);
    assert!(output.status.success() && output.stderr.is_empty(), "{line}\n{}", describe(&output));
    String::from_utf8(output.stdout).expect("text")
}

fn printed(folder: &Folder) -> String {
    let output = Command::new(folder.path("program")).env("TALLY_ZEAL", "1").output().expect("it was linked");
    assert!(output.status.success(), "{}", describe(&output));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn files_are_compiled_apart_and_linked() {
    let folder = two_modules();
    succeeds(&folder, "cc -O2 -Wall -Wextra -Werror -MD -c library.c -o library.o");
    let needed = std::fs::read_to_string(folder.path("library.d")).unwrap();
    // A build looks for the header again: it must still be there.
    let header = needed.split_whitespace().find(|word| word.ends_with("tally_gc.h")).expect("it is included");
    assert!(std::path::Path::new(header).is_file(), "{needed}");
    succeeds(&folder, "cc -O2 -c program.c -o program.o");
    succeeds(&folder, "cc library.o program.o -o program");
    assert_eq!(printed(&folder), SUMS);
}

#[test]
fn program_is_made_at_once_under_another_plan_with_optimisation_at_the_link() {
    let folder = two_modules();
    succeeds(
        &folder,
        "cc --tally=plan=refcount-prompt --tally=no-warnings -flto=thin -O2 library.c program.c -o program",
    );
    assert_eq!(printed(&folder), SUMS);
}

/// `char` is unsigned on AArch64.
#[test]
fn interpreter_where_char_is_unsigned() {
    let folder = Folder::with(&[]);
    let example = source_tree().join("examples/interpreter.c");
    succeeds(&folder, &format!("cc -funsigned-char -O1 {} -o program", example.display()));
    let output = Command::new(folder.path("program")).output().expect("it was linked");
    let expected = std::fs::read(source_tree().join("examples/expected/interpreter.txt")).expect("it is there");
    assert!(output.status.success() && output.stdout == expected, "{}", describe(&output));
}

#[test]
fn questions_of_configure_scripts_are_answered_by_clang() {
    let folder = Folder::with(&[
        ("empty.c", "int main(void) { return 0; }\n"),
        ("plain.cpp", "#include <vector>\nint main() { return std::vector<int>(3).size() - 3; }\n"),
    ]);
    assert!(succeeds(&folder, "cc --version").contains("clang version 22"));
    assert_eq!(succeeds(&folder, "cc -dumpmachine").trim(), "x86_64-pc-linux-gnu");
    assert!(succeeds(&folder, "cc -E empty.c").contains("int main"));
    succeeds(&folder, "cc empty.c -o program");
    assert_eq!(printed(&folder), "");
    succeeds(&folder, "c++ plain.cpp -o program");
    assert_eq!(printed(&folder), "");
    let output = cc(&folder, "cc missing.c -o program");
    assert_eq!(output.status.code(), Some(1), "{}", describe(&output));
}

/// Of a program's shared libraries none has a runtime of its own: the executable has it.
/// libtool asks whether that works, with a program that has nothing of Tally in it.
#[test]
fn static_executables_have_all_libraries_in_them() {
    let folder = two_modules();
    for shape in ["-static", "-static-pie"] {
        succeeds(&folder, &format!("cc {shape} -O2 library.c program.c -o program"));
        assert_eq!(printed(&folder), SUMS, "{shape}");
    }
}

#[test]
fn shared_library_finds_the_runtime_in_the_executable() {
    let folder = two_modules();
    succeeds(&folder, "cc -O2 -fPIC -shared library.c -o library.so");
    succeeds(&folder, "cc -O2 program.c library.so -Wl,-rpath,$ORIGIN -rdynamic -o program");
    assert_eq!(printed(&folder), SUMS);
}

/// Those of objects that clang makes, in archives, too; lld makes LLVM's where it optimises.
#[test]
fn stack_maps_are_compact_where_clang_generates_the_code() {
    let folder = two_modules();
    let is_compact = |file: &str| {
        let sections = folder.run("readelf", &["-SW", file]).stdout;
        assert!(sections.contains("tally_stackmaps") != sections.contains("llvm_stackmaps"), "{sections}");
        sections.contains("tally_stackmaps")
    };
    succeeds(&folder, "cc -O2 -g -c library.c -o library.o");
    folder.run("ar", &["rc", "library.a", "library.o"]);
    succeeds(&folder, "cc -O2 -g program.c library.a -o program");
    assert!(is_compact("library.o") && is_compact("program"));
    assert_eq!(printed(&folder), SUMS);
    for line in ["cc -O2 -g -gsplit-dwarf", "cc -O2 --tally=stack-maps=llvm", "cc -O2 -flto=thin"] {
        succeeds(&folder, &format!("{line} library.c program.c -o program"));
        assert!(!is_compact("program"), "{line}");
        assert_eq!(printed(&folder), SUMS, "{line}");
    }
}

#[test]
fn help_is_that_of_clang() {
    let folder = Folder::with(&[]);
    assert!(succeeds(&folder, "cc --help").contains("-fpass-plugin"));
}

#[test]
fn inputs_have_any_name_and_words_may_stand_in_a_file() {
    let folder = two_modules();
    std::fs::write(folder.path("words"), "-O2 -flto=thin library.c\nprogram.c '-o' program").unwrap();
    succeeds(&folder, "cc @words");
    assert_eq!(printed(&folder), SUMS);
    succeeds(&folder, "cc -O2 -c library.c -o library.lo");
    std::fs::copy(folder.path("program.c"), folder.path("source")).unwrap();
    succeeds(&folder, "cc -O2 library.lo -x c source -o program");
    assert_eq!(printed(&folder), SUMS);
    succeeds(&folder, "cc -O2 -flto -c library.c -o library.lo");
    succeeds(&folder, "cc -O2 library.lo program.c -o program");
    assert_eq!(printed(&folder), SUMS, "code that was left to the link, without -flto there");
    std::fs::write(folder.path("ours"), "--tally=plan=trace -c library.c").unwrap();
    let output = cc(&folder, "cc @ours");
    assert!(output.status.code() == Some(2) && describe(&output).contains("on the command line"), "{output:?}");
}

#[test]
fn shared_libraries_have_no_runtime_however_they_are_asked_for() {
    let folder = two_modules();
    std::fs::write(folder.path("words"), "-shared -fPIC -O2 library.c").unwrap();
    for line in ["-shared -fPIC -O2", "--shared -fPIC -O2", "-shared -fPIC -O2 -flto", "--shared -fPIC -O2 -flto=thin"]
    {
        succeeds(&folder, &format!("cc {line} library.c -o liblibrary.so"));
        let bytes = std::fs::metadata(folder.path("liblibrary.so")).unwrap().len();
        assert!(bytes < 100_000, "{line}: {bytes} bytes");
        succeeds(&folder, "cc -O2 -rdynamic program.c liblibrary.so -Wl,-rpath,$ORIGIN -o program");
        assert_eq!(printed(&folder), SUMS, "{line}");
    }
    succeeds(&folder, "cc @words -o liblibrary.so");
    assert!(std::fs::metadata(folder.path("liblibrary.so")).unwrap().len() < 100_000);
    let output = cc(&folder, "cc -shared -fPIC -flto -fuse-ld=bfd library.c -o liblibrary.so");
    assert!(output.status.code() == Some(2) && describe(&output).contains("leave out -fuse-ld=bfd"), "{output:?}");
}

#[test]
fn what_is_not_linked_gets_no_words_of_the_linker() {
    let folder = two_modules();
    std::fs::write(folder.path("words"), "-c library.c").unwrap();
    for line in
        ["@words", "--compile library.c", "--analyze library.c", "-fsyntax-only library.c", "--preprocess library.c"]
    {
        succeeds(&folder, &format!("cc -Werror {line}"));
    }
    succeeds(&folder, "cc -Werror --coverage -O2 -c library.c");
    std::fs::write(folder.path("plain.c"), "int main(void) { return 0; }\n").unwrap();
    succeeds(&folder, "cc plain.c -o program");
    let needed = Command::new("readelf").args(["-d", "program"]).current_dir(folder.path(".")).output().unwrap();
    let needed = String::from_utf8(needed.stdout).unwrap();
    assert_eq!(needed.matches("(NEEDED)").count(), 1, "{needed}");
}
