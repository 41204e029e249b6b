//! Other tools between the lowering and the executable: bitcode linked and optimised whole, LTO, sanitisers, a debugger.
//!
//! What they make is verified once more when it comes back, since code that was not lowered can have come in.

use std::path::PathBuf;
use std::process::Command;
use tally_kit::folder::{Folder, Outcome};
use tally_kit::situation::Situation;
use tally_kit::tally_command::{checked_tally, source_tree, tally_word};

/// Programs in which linking modules matters.
const LINKED: [&str; 7] = [
    "several_modules",
    "linkage_of_every_kind",
    "inlined_rooted_into_rooted",
    "result_four_i64",
    "musttail_ten_million",
    "root_arrays_and_aggregates",
    "closures_in_aggregates",
];

/// A program of several modules.
struct Program {
    name: &'static str,
    file: PathBuf,
    /// The modules that it is linked with.
    others: Vec<PathBuf>,
}

impl Program {
    fn named(name: &'static str) -> Program {
        let folder = source_tree().join("frontend-glue/tests/hazards");
        let situation = Situation::read(&folder.join(name).with_extension("ll"));
        let others = situation.all_of("WITH").flat_map(|names| names.split(' '));
        let others = std::iter::once("support.ll").chain(others).map(|other| folder.join(other)).collect();
        Program { name, file: situation.file.clone(), others }
    }
}

#[test]
fn modules_linked_as_bitcode_and_optimised_as_one() {
    for program in linked_programs() {
        let folder = Folder::with(&[]);
        let modules = lower_all(&program, &folder);
        succeed(&folder, "llvm-link-22", &[&["-o", "all.bc"], &strs(&modules)[..]].concat());
        succeed(
            &folder,
            "opt-22",
            &["-passes=internalize,default<O2>", "-internalize-public-api-list=main", "all.bc", "-o", "whole.bc"],
        );
        for level in ["0", "2"] {
            folder.build(&["--opt", level, "whole.bc"]);
            right(&program, &folder);
        }
        let maps = folder.tally(&["maps", "whole.bc"]);
        assert_eq!((maps.status, maps.stdout.contains("(unnamed)")), (Some(0), false), "{}: {maps:?}", program.name);
    }
}

/// The linker makes the code, so nothing makes the map's section writable: `-no-pie`, or `-z notext`.
#[test]
fn link_time_optimisation_by_clang() {
    let library = checked_tally().with_file_name("libtally.a");
    for program in linked_programs() {
        let folder = Folder::with(&[]);
        let modules = lower_all(&program, &folder);
        for flags in [["-flto", "-no-pie"], ["-flto=thin", "-no-pie"], ["-flto", "-Wl,-z,notext"]] {
            let rest = ["-O2", "-fuse-ld=lld", library.to_str().unwrap(), "-lm", "-o", "program"];
            succeed(&folder, "clang-22", &[&flags[..], &strs(&modules), &rest].concat());
            right(&program, &folder);
        }
    }
}

/// scenario 168.
#[test]
fn unlowered_code_that_is_linked_in_is_refused() {
    let folder = Folder::with(&[]);
    let program = Program::named("several_modules");
    let modules = lower_all(&program, &folder);
    let unlowered = program.file.to_str().unwrap();
    succeed(&folder, "llvm-link-22", &["-o", "all.bc", &modules[1], &modules[2], unlowered]);
    let outcome = folder.tally(&["build", "all.bc", "-o", "program"]);
    assert_eq!(outcome.status, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("lower every module before it is linked or optimised"), "{}", outcome.stderr);
}

/// The address sanitiser moves slots, and all of them add calls: nothing of that gets through unseen.
#[test]
fn sanitisers_after_the_lowering_are_refused() {
    let program = Program::named("attributes_of_functions");
    let folder = Folder::with(&[]);
    succeed(&folder, tally_word(), &["lower", program.file.to_str().unwrap(), "-o", "lowered.bc"]);
    for (passes, message) in [
        ("asan", "names something that is no slot"),
        ("tsan", "carries no bundle"),
        ("msan", "carries no bundle"),
        ("hwasan", "carries no bundle"),
    ] {
        succeed(&folder, "opt-22", &["-passes", passes, "lowered.bc", "-o", "sanitised.bc"]);
        let outcome = folder.tally(&["build", "sanitised.bc", "-o", "program"]);
        assert_eq!(outcome.status, Some(2), "{passes}: {outcome:?}");
        assert!(outcome.stderr.contains(message), "{passes}: {}", outcome.stderr);
    }
}

/// Native code under the address sanitiser, between managed frames and unwound through; its calls of malloc are the
/// runtime's, too. (Leaks are not asked for: what is registered is kept for the life of the process, in memory where
/// LeakSanitizer does not look.)
#[test]
fn native_code_under_the_address_sanitiser() {
    let library = checked_tally().with_file_name("libtally.a");
    let program = Program::named("landing_pads");
    let folder = Folder::with(&[("plain.c", "int main(void) { return 0; }\n")]);
    if folder.run("gcc", &["-fsanitize=address", "plain.c", "-o", "plain"]).status != Some(0) {
        return println!("skipped: there is no gcc with the address sanitiser");
    }
    let native = program.others.iter().find(|file| file.ends_with("native.c")).expect("it unwinds through native code");
    let mut arguments = vec!["-g", "-fsanitize=address", native.to_str().unwrap()];
    let files = [&program.file, &program.others[0]];
    let objects = ["program.o", "support.o"];
    for (file, object) in files.into_iter().zip(objects) {
        succeed(&folder, tally_word(), &["lower", file.to_str().unwrap(), "-o", "lowered.bc"]);
        succeed(&folder, "llc-22", &["-filetype=obj", "-relocation-model=pic", "lowered.bc", "-o", object]);
    }
    arguments.extend(objects);
    arguments.extend([library.to_str().unwrap(), "-no-pie", "-lm", "-o", "program"]);
    succeed(&folder, "gcc", &arguments);
    let variables = [("ASAN_OPTIONS", "detect_leaks=0"), ("TALLY_EPOCH_BYTES", "4KiB"), ("TALLY_LEAK_CHECK", "1")];
    let outcome = folder.program(&variables, &[]);
    assert_eq!(outcome, Outcome { status: Some(0), stdout: String::new(), stderr: String::new() });
}

/// The sanitiser knows the bounds of the stack that runs, by which it forgets frames that a jump passes over; and a stack that is used
/// again has none that were left on it.
#[test]
fn native_code_under_the_address_sanitiser_on_stacks_of_the_program() {
    let program = "#include <tally_gc.h>
int jumps(int place);
static void *run(void *value) {
    for (int place = 0;; place++)
        if (jumps(place) != place + 1) return value; else tally_stack_switch(NULL, NULL);
}
int main(void) {
    void *stack = NULL, *other = NULL;
    TALLY_ROOT(stack, other);
    for (int i = 0; i < 100; i++) {
        if (i % 7 == 0) stack = tally_stack_new(run, 0);
        if (i % 10 == 0) other = tally_stack_new(run, 0);
        tally_stack_switch(stack, NULL);
        tally_stack_switch(other, NULL);
        if (jumps(i) != i + 1 || tally_stack_status(stack) != TALLY_STACK_SUSPENDED) return 1;
        tally_collect();
    }
    return 0;
}
";
    let native = "#include <setjmp.h>
#include <string.h>
int jumps(int place) {
    jmp_buf back;
    volatile char frame[200];
    memset((char *)frame, place, sizeof frame);
    if (setjmp(back)) return frame[place % 200] + 1;
    longjmp(back, 1);
}
";
    let folder =
        Folder::with(&[("program.c", program), ("native.c", native), ("plain.c", "int main(void) { return 0; }\n")]);
    if folder.run("gcc", &["-fsanitize=address", "plain.c", "-o", "plain"]).status != Some(0) {
        return println!("skipped: there is no gcc with the address sanitiser");
    }
    let library = checked_tally().with_file_name("libtally.a");
    succeed(&folder, tally_word(), &["lower", "program.c", "-o", "lowered.bc"]);
    succeed(&folder, "llc-22", &["-filetype=obj", "-relocation-model=pic", "lowered.bc", "-o", "program.o"]);
    let library = library.to_str().unwrap();
    let arguments = ["-g", "-fsanitize=address", "native.c", "program.o", library, "-no-pie", "-lm", "-o", "program"];
    succeed(&folder, "gcc", &arguments);
    let outcome = folder.program(&[("ASAN_OPTIONS", "detect_leaks=0:detect_stack_use_after_return=1")], &[]);
    assert_eq!(outcome, Outcome { status: Some(0), stdout: String::new(), stderr: String::new() });
}

const WITH_LINES: &str = "#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
__attribute__((noinline)) static long down(Node *list, long depth) {
    TALLY_ROOT(list);
    if (depth == 0) {
        tally_collect();
        return list->value;
    }
    return down(list, depth - 1) + 1;
}
int main(void) {
    Node *list = TALLY_NEW(Node);
    TALLY_ROOT(list);
    list->value = -2;
    return (int)down(list, 2);
}
";

/// In a frame that waits in a safepoint call, gdb shows function, line and the value of the rooted variable.
#[test]
fn debuggers_see_managed_frames() {
    let folder = Folder::with(&[("lines.c", WITH_LINES)]);
    for level in ["0", "2"] {
        folder.build(&["--opt", level, "lines.c"]);
        assert_eq!(folder.program(&[], &[]).status, Some(0));
        let has_gdb = Command::new("gdb").arg("--version").output().is_ok();
        if !has_gdb {
            println!("skipped: there is no gdb");
        } else {
            let commands = ["break tally_collect", "run", "backtrace 5", "up", "print list->value"];
            let arguments = ["-batch", "-nx"].into_iter().chain(commands.iter().flat_map(|command| ["-ex", *command]));
            let text = succeed(&folder, "gdb", &arguments.chain(["./program"]).collect::<Vec<_>>()).stdout;
            for wanted in ["at lines.c:7", "at lines.c:10", "at lines.c:16", "$1 = -2"] {
                assert!(text.contains(wanted), "--opt {level}: {wanted} is missing in\n{text}");
            }
        }
        let maps = folder.tally(&["maps", "lines.c"]).stdout;
        for wanted in ["lines.c:7", "lines.c:10", "lines.c:16"] {
            assert!(maps.contains(wanted), "{wanted} is missing in\n{maps}");
        }
    }
}

fn linked_programs() -> [Program; 7] {
    LINKED.map(Program::named)
}

/// Each module lowered by itself; their names in the folder.
fn lower_all(program: &Program, folder: &Folder) -> Vec<String> {
    let files = std::iter::once(&program.file).chain(&program.others);
    let lower = |(index, file): (usize, &std::path::PathBuf)| {
        let name = format!("module{index}.bc");
        succeed(folder, tally_word(), &["lower", file.to_str().unwrap(), "-o", &name]);
        name
    };
    files.enumerate().map(lower).collect()
}

fn right(program: &Program, folder: &Folder) {
    let outcome = folder.program(&[("TALLY_EPOCH_BYTES", "4KiB"), ("TALLY_LEAK_CHECK", "1")], &[]);
    assert_eq!(outcome, Outcome { status: Some(0), stdout: String::new(), stderr: String::new() }, "{}", program.name);
}

fn succeed(folder: &Folder, tool: &str, arguments: &[&str]) -> Outcome {
    let outcome = folder.run(tool, arguments);
    assert_eq!(outcome.status, Some(0), "{tool} {arguments:?}: {outcome:?}");
    outcome
}

fn strs(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}
