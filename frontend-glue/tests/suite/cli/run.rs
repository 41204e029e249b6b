//! `tally run` on plain programs: everything a process has, the program has.

use tally_kit::folder::{Folder, Outcome};

const LEVELS: [&str; 5] = ["0", "1", "2", "3", "s"];

#[test]
fn status_arguments_and_both_outputs_pass_through_at_every_level() {
    let folder = Folder::with(&[(
        "echo.c",
        "#include <stdio.h>\nint main(int argc, char **argv) {\n\
         for (int i = 0; i < argc; i++) puts(argv[i]);\n  fprintf(stderr, \"%d\\n\", argv[argc] == NULL);\n  return 40 + argc;\n}\n",
    )]);
    for level in LEVELS {
        let outcome = folder.tally(&["run", "--opt", level, "echo.c", "--", "a b", "--stats", ""]);
        let expected = Outcome { status: Some(44), stdout: "echo.c\na b\n--stats\n\n".into(), stderr: "1\n".into() };
        assert_eq!(outcome, expected, "--opt {level}");
    }
}

#[test]
fn modules_find_each_other_whatever_their_kind() {
    let folder = Folder::with(&[
        ("main.ll", "declare i32 @twice(i32)\ndefine i32 @main() {\n  %x = call i32 @twice(i32 21)\n  ret i32 %x\n}\n"),
        ("twice.c", "extern int one; int twice(int x) { return one * 2 * x; }\n"),
        ("one.ll", "@one = global i32 1\n"),
    ]);
    let lowered = folder.tally(&["lower", "one.ll", "-o", "one.bc"]);
    assert_eq!(lowered.status, Some(0), "{lowered:?}");
    assert_eq!(folder.tally(&["run", "main.ll", "twice.c", "one.bc"]).status, Some(42));
    assert_eq!(folder.tally(&["run", "one.bc", "twice.c", "main.ll"]).status, Some(42));
}

#[test]
fn constructors_and_destructors_run_in_the_order_of_their_priorities() {
    let folder = Folder::with(&[
        (
            "a.c",
            "#include <stdio.h>\n#include <stdlib.h>\n\
             __attribute__((constructor)) static void late(void) { puts(\"late\"); }\n\
             __attribute__((constructor(102))) static void second(void) { puts(\"second\"); }\n\
             __attribute__((destructor)) static void down(void) { puts(\"down\"); }\n\
             __attribute__((destructor(102))) static void last(void) { puts(\"last\"); }\n\
             static void bye(void) { puts(\"bye\"); }\n\
             int main(void) { atexit(bye); puts(\"main\"); exit(7); }\n",
        ),
        ("b.c", "#include <stdio.h>\n__attribute__((constructor(101))) static void first(void) { puts(\"first\"); }\n"),
    ]);
    let stdout = "first\nsecond\nlate\nmain\nbye\ndown\nlast\n".to_owned();
    let expected = Outcome { status: Some(7), stdout, stderr: String::new() };
    assert_eq!(folder.tally(&["run", "a.c", "b.c"]), expected);
    folder.build(&["a.c", "b.c"]);
    assert_eq!(folder.program(&[], &[]), expected, "the executable agrees");
}

#[test]
fn exceptions_unwind_through_jitted_frames() {
    // What `_Unwind_Backtrace` sees proves that the frames' unwind tables are registered.
    let folder = Folder::with(&[(
        "trace.c",
        "#include <unwind.h>\nstatic void *start; int main(void);\n\
         static _Unwind_Reason_Code look(struct _Unwind_Context *c, void *n) {\n\
           if (_Unwind_FindEnclosingFunction((void *)_Unwind_GetIP(c)) == (void *)main) ++*(int *)n;\n\
           return _URC_NO_REASON;\n}\n\
         __attribute__((noinline)) static int deep(int k) { int n = 0; if (k) return deep(k - 1) + !start; _Unwind_Backtrace(look, &n); return n; }\n\
         int main(void) { return deep(5); }\n",
    )]);
    let outcome = folder.tally(&["run", "--opt", "0", "trace.c"]);
    assert_eq!(outcome, Outcome { status: Some(6), stdout: String::new(), stderr: String::new() });
}

#[test]
fn a_signal_ends_the_program_as_it_would_an_executable() {
    let folder = Folder::with(&[("abort.c", "#include <stdlib.h>\nint main(void) { abort(); }\n")]);
    assert_eq!(folder.tally(&["run", "abort.c"]).status, None);
}

#[test]
fn what_cannot_be_linked_is_named() {
    let folder = Folder::with(&[
        ("calls.ll", "declare i32 @nowhere()\ndefine i32 @main() {\n  %x = call i32 @nowhere()\n  ret i32 %x\n}\n"),
        ("library.ll", "define i32 @f() {\n  ret i32 0\n}\n"),
        ("main.ll", "define i32 @main() {\n  ret i32 0\n}\n"),
        ("tls.c", "extern _Thread_local int count; int main(void) { return ++count; }\n"),
        ("twice.c", "_Thread_local int count = 1;\n"),
    ]);
    let cases: &[(&[&str], &str)] = &[
        (
            &["run", "calls.ll"],
            "tally: cannot link calls.ll: undefined symbol: nowhere (in @main of calls.ll); name the .ll, .bc or .c file with the \
             definition, too, or put the library in LD_PRELOAD\n",
        ),
        (&["run", "library.ll"], "tally: no function `main` in library.ll; a program needs one\n"),
        (&["run", "main.ll", "main.ll"], "tally: cannot link main.ll, main.ll: symbol defined twice: main\n"),
        (
            &["run", "tls.c"],
            "tally: cannot link tls.c: undefined symbol: count; name the .ll, .bc or .c file with the definition, too, or put \
             the library in LD_PRELOAD\n",
        ),
        (&["run", "twice.c", "tls.c", "twice.c"], "twice.c: symbol defined twice: count\n"),
    ];
    for (arguments, expected) in cases {
        let outcome = folder.tally(arguments);
        assert_eq!(outcome.status, Some(2), "{arguments:?}: {outcome:?}");
        assert!(outcome.stderr.ends_with(expected), "{arguments:?}: {}", outcome.stderr);
    }
}
