//! gdb and perf know the code that `tally run` has compiled, and gdb that of a session.

use tally_kit::folder::{Folder, Outcome};
use tally_kit::own_process;
use tally_llvm::jit::Session;
use tally_llvm::pipeline::CompileOptions;

/// `main` and `jit_outer` are cold, as what they call is: their section has local functions only.
const PROGRAM: &str = r#"
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
long jit_global = 7;
static __attribute__((noinline)) long jit_inner(Node *list) {
    __asm__ volatile("" :: "r"(list) : "memory");
    return list->value + jit_global;
}
static __attribute__((noinline, cold)) long jit_outer(Node *list) {
    TALLY_ROOT(list);
    return jit_inner(list) * 2;
}
int main(void) {
    Node *list = TALLY_NEW(Node);
    TALLY_ROOT(list);
    return jit_outer(list) != 14;
}
"#;

/// Functions without frame pointers, whose frames only the unwind table knows.
const WITHOUT_FRAME_POINTERS: &str = r#"
define i64 @jit_inner(i64 %x) noinline uwtable "frame-pointer"="none" {
  call void asm sideeffect "", "~{rbx},~{r12}"()
  ret i64 %x
}
define i64 @jit_outer(i64 %x) noinline uwtable "frame-pointer"="none" {
  %many = alloca [777 x i64]
  call void asm sideeffect "", "r,~{r13}"(ptr %many)
  %result = call i64 @jit_inner(i64 %x)
  %sum = add i64 %result, %x
  ret i64 %sum
}
define i32 @main() uwtable "frame-pointer"="none" {
  %result = call i64 @jit_outer(i64 0)
  call void asm sideeffect "", ""()
  %status = trunc i64 %result to i32
  ret i32 %status
}
"#;

/// The output of gdb on a command: it stops in `jit_inner`, and prints.
fn debugged(folder: &Folder, command: &[&str], prints: &[&str]) -> String {
    let mut words = vec!["-batch", "-nx", "-ex", "set breakpoint pending on", "-ex", "break jit_inner", "-ex", "run"];
    prints.iter().for_each(|print| words.extend(["-ex", print]));
    words.push("--args");
    words.extend(command);
    let Outcome { stdout, stderr, .. } = folder.run("gdb", &words);
    stdout + &stderr
}

/// The functions of a backtrace, the innermost first.
fn frames(output: &str) -> Vec<&str> {
    let frames = output.lines().filter(|line| line.starts_with('#'));
    let names = frames.filter_map(|line| line.split_once(" (")?.0.split_whitespace().next_back());
    names.collect()
}

#[test]
fn gdb_stops_in_code_of_tally_run_and_names_its_functions_and_lines() {
    let folder = Folder::with(&[("program.c", PROGRAM), ("bare.ll", WITHOUT_FRAME_POINTERS)]);
    let tally = tally_kit::tally_command::checked_tally().to_str().unwrap();
    let output =
        debugged(&folder, &[tally, "run", "program.c"], &["backtrace", "print jit_global", "print list->value"]);
    assert_eq!(frames(&output)[..3], ["jit_inner", "jit_outer", "main"], "{output}");
    assert!(output.contains("at program.c:") && output.contains("$1 = 7\n$2 = 0\n"), "{output}");
    let output = debugged(&folder, &[tally, "run", "bare.ll"], &["backtrace"]);
    assert_eq!(frames(&output)[..3], ["jit_inner", "jit_outer", "main"], "{output}");
}

const IN_A_SESSION: &str = "cli::jit_in_tools::gdb_forgets_a_module_of_a_session_that_is_removed";

const MODULE: &str = "declare void @jit_inner()\n\
    define i64 @jit_outer_VALUE() {\n  call void @jit_inner()\n  ret i64 VALUE\n}\n";

/// The host's function that the modules call, in which gdb stops.
#[unsafe(no_mangle)]
extern "C" fn jit_inner() {
    std::hint::black_box(());
}

#[test]
fn gdb_forgets_a_module_of_a_session_that_is_removed() {
    if own_process::case().is_some() {
        let mut session = Session::new(CompileOptions::default()).unwrap();
        session.define("jit_inner", jit_inner as *const ()).unwrap();
        for value in ["1", "2"] {
            // SAFETY: the module keeps the contract: it allocates nothing.
            let module = unsafe { session.add("module", MODULE.replace("VALUE", value).as_bytes()) }.unwrap();
            let address = session.lookup(&format!("jit_outer_{value}")).unwrap();
            // SAFETY: it was compiled as a function of this type.
            let outer: extern "C" fn() -> i64 = unsafe { std::mem::transmute(address) };
            outer();
            // SAFETY: no code of it runs, and the host holds no references.
            unsafe { session.remove(module) }.unwrap();
        }
        return;
    }
    let folder = Folder::with(&[]);
    let this = std::env::current_exe().unwrap();
    let case = ["env", "TALLY_TEST_CASE=1", this.to_str().unwrap(), "--exact", IN_A_SESSION, "--test-threads=1"];
    // gdb follows `env` into the test. At the second stop the first module has gone.
    let output = debugged(&folder, &case, &["backtrace", "continue", "backtrace", "info functions ^jit_outer"]);
    let names = frames(&output);
    let outer: Vec<_> = names.iter().filter(|name| name.starts_with("jit_outer")).collect();
    assert_eq!(outer, [&"jit_outer_1", &"jit_outer_2"], "{output}");
    let left = output.split("All functions matching").nth(1).unwrap();
    assert!(left.contains("jit_outer_2") && !left.contains("jit_outer_1"), "{output}");
}

#[test]
fn perf_finds_the_names_of_compiled_functions() {
    let folder = Folder::with(&[("sum.c", SUM)]);
    let tally = tally_kit::tally_command::checked_tally().to_str().unwrap();
    let has_perf = folder.run("sh", &["-c", "perf record --quiet -e cpu-clock -o perf.data true"]).status == Some(0);
    let perf = if has_perf { "perf record --quiet -e cpu-clock -o perf.data" } else { "" };
    for words in ["env TALLY_PERF_MAP=1 $1 run sum.c", "$1 run --perf-map sum.c"] {
        let line = format!("exec {perf} sh -c 'echo $$ >pid; exec {words}' sh {tally}");
        let Outcome { status, stderr, .. } = folder.run("sh", &["-c", &line]);
        assert_eq!(status, Some(0), "{stderr}");
        let process = std::fs::read_to_string(folder.path("pid")).unwrap();
        let map = format!("/tmp/perf-{}.map", process.trim());
        let text = std::fs::read_to_string(&map).unwrap();
        let names: Vec<&str> = text.lines().map(|line| line.splitn(3, ' ').nth(2).unwrap()).collect();
        assert!(names.contains(&"busy") && names.contains(&"main"), "{text}");
        if has_perf {
            let report = folder.run("perf", &["report", "--input", "perf.data", "--stdio", "--sort", "symbol"]);
            assert!(report.stdout.contains("[.] busy"), "{report:?}");
        }
        std::fs::remove_file(map).unwrap();
    }
    let refused = folder.tally_with(&[("TALLY_PERF_MAP", "yes")], &["run", "sum.c"]);
    assert_eq!(refused.status, Some(2));
    assert_eq!(refused.stderr, "tally: TALLY_PERF_MAP: `yes` is neither 1 nor 0\n");
}

const SUM: &str = r#"
static __attribute__((noinline)) long busy(long n) {
    long sum = 0;
    for (long i = 0; i < n; i++) { sum += i; __asm__ volatile("" : "+r"(sum)); }
    return sum;
}
int main(void) { return busy(200000000) == 0; }
"#;
