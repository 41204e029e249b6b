//! `tally build`: executables that start, relocate cleanly and leave nothing half-made.

use crate::tally::{Folder, build_runtime};

const ECHO: &str = "#include <stdio.h>\nint main(int argc, char **argv) { puts(argv[argc - 1]); return argc; }\n";

#[test]
fn position_independent_by_default_without_text_relocations() {
    let folder = Folder::with(&[("echo.c", ECHO)]);
    for level in ["0", "1", "2", "3", "s"] {
        folder.build(&[&format!("-O{level}"), "echo.c"]);
        let outcome = folder.program(&[], &["a", "b"]);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(3), "b\n"), "-O{level}");
        assert!(folder.inspect("readelf", &["-h"]).contains("DYN (Position-Independent Executable file)"));
        assert!(!folder.inspect("readelf", &["-d"]).contains("TEXTREL"));
    }
}

#[test]
fn a_fixed_address_on_request() {
    let folder = Folder::with(&[("echo.c", ECHO)]);
    folder.build(&["--no-pie", "echo.c"]);
    assert_eq!(folder.program(&[], &[]).status, Some(1));
    assert!(folder.inspect("readelf", &["-h"]).contains("EXEC (Executable file)"));
}

#[test]
fn thread_locals_of_an_executable() {
    let folder = Folder::with(&[("tls.c", "_Thread_local int count = 4; int main(void) { return ++count; }\n")]);
    folder.build(&["tls.c"]);
    assert_eq!(folder.program(&[], &[]).status, Some(5));
}

#[test]
fn a_failed_link_says_why_and_keeps_what_was_there() {
    build_runtime();
    let folder = Folder::with(&[
        ("calls.ll", "declare i32 @nowhere()\ndefine i32 @main() {\n  %x = call i32 @nowhere()\n  ret i32 %x\n}\n"),
        ("library.ll", "define i32 @f() {\n  ret i32 0\n}\n"),
        ("main.ll", "define i32 @main() {\n  ret i32 0\n}\n"),
        ("program", "old"),
    ]);
    let undefined = folder.tally(&["build", "calls.ll", "-o", "program"]);
    assert_eq!(undefined.status, Some(2));
    assert_eq!(
        undefined.stderr,
        "tally: cannot link program: undefined symbol: nowhere (in @main of calls.ll); name the .ll, .bc or .c file with the \
         definition, too, or for a native library link what `tally lower` writes with clang and libtally.a\n"
    );
    let twice = folder.tally(&["build", "main.ll", "main.ll", "-o", "program"]);
    assert!(twice.stderr.contains("duplicate symbol: main"), "{}", twice.stderr);
    assert!(twice.stderr.ends_with("tally: linking program failed\n"), "{}", twice.stderr);
    let without_main = folder.tally(&["build", "library.ll", "-o", "program"]);
    assert_eq!(without_main.stderr, "tally: no function `main` in library.ll; a program needs one\n");
    assert_eq!(std::fs::read_to_string(folder.path("program")).unwrap(), "old");
    assert_eq!(folder.names(), ["calls.ll", "library.ll", "main.ll", "program"]);
}

#[test]
fn a_missing_runtime_says_how_to_make_one() {
    let folder = Folder::with(&[("echo.c", ECHO)]);
    let outcome = folder.tally_with(&[("TALLY_RUNTIME", "/nowhere")], &["build", "echo.c", "-o", "program"]);
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("/nowhere/libtally.a"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("cargo build -p aot-runtime"), "{}", outcome.stderr);
}

#[test]
fn an_output_that_cannot_be_written_is_named() {
    build_runtime();
    let folder = Folder::with(&[("echo.c", ECHO)]);
    std::fs::create_dir(folder.path("folder")).unwrap();
    for (output, expected) in [
        ("folder", "tally: folder: is a directory\n"),
        ("missing/program", "tally: missing/program: cannot be written: No such file or directory"),
        ("/dev/null", "tally: /dev/null: exists and is not a regular file\n"),
    ] {
        let outcome = folder.tally(&["build", "echo.c", "-o", output]);
        assert_eq!(outcome.status, Some(2));
        assert!(outcome.stderr.starts_with(expected), "{}", outcome.stderr);
    }
}
