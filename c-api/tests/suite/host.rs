//! Hosts in C over LLVM's C API, compiled against the header and linked with the library.

use std::path::PathBuf;
use std::process::{Command, Output};
use tally_kit::folder::Folder;
use tally_kit::tally_command::{checked_tally, describe, library, source_tree};

/// The library of this build.
fn library_file() -> PathBuf {
    library("tally-c", "libtally_llvm.so")
}

/// Where LLVM is installed.
pub fn llvm() -> PathBuf {
    std::env::var_os("LLVM_SYS_221_PREFIX").map_or_else(|| "/usr/lib/llvm-22".into(), PathBuf::from)
}

/// Compiles a host as `program` in a folder.
#[track_caller]
fn build(folder: &Folder, sources: &[PathBuf], more: &[&str]) {
    let library = library_file();
    let beside = library.parent().expect("a folder").display().to_string();
    let mut command = Command::new("clang-22");
    command.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-g", "-o"]).arg(folder.path("program")).args(sources);
    for include in ["c-api/include", "aot-runtime/include"] {
        command.arg("-I").arg(source_tree().join(include));
    }
    command.arg("-I").arg(llvm().join("include")).arg("-L").arg(llvm().join("lib")).args(["-lLLVM-22", "-L"]);
    command.args([&beside, "-ltally_llvm", "-lm"]).arg(format!("-Wl,-rpath,{beside}")).args(more);
    let built = command.output().expect("clang-22 can be run");
    assert!(built.status.success(), "{}", describe(&built));
}

fn run(folder: &Folder, arguments: &[&str], environment: &[(&str, String)]) -> Output {
    let mut command = Command::new(folder.path("program"));
    command.args(arguments).current_dir(folder.path(".")).env_remove("TALLY_ZEAL");
    command.envs(environment.iter().map(|(name, value)| (name, value))).output().expect("it was linked")
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", describe(output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn example_runs_its_program_in_the_process_and_as_an_executable() {
    let folder = Folder::with(&[]);
    build(&folder, &[source_tree().join("c-api/examples/lists.c")], &[]);
    let zeal = [("TALLY_ZEAL", "1".to_owned())];
    for plan in ["refcount", "refcount-prompt", "trace"] {
        let options = format!("plan={plan}");
        let printed = stdout(&run(&folder, &[&options, "3000 list square sum 2 list sum"], &zeal));
        assert_eq!(printed, "9004500500\n3\n", "{plan}");
    }
    let runtime = [("TALLY_RUNTIME", checked_tally().with_file_name("libtally.a").display().to_string())];
    let linked = run(&folder, &["O3", "10 list sum", "sums"], &runtime);
    assert_eq!(stdout(&linked), "");
    let ran = Command::new(folder.path("sums")).output().expect("it was linked");
    assert_eq!(stdout(&ran), "55\n");
}

#[test]
fn mistakes_are_values_with_their_place_and_a_hint() {
    const HOST: &str = r#"
#include <stdio.h>
#include <string.h>
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <tally-c/lower.h>
static LLVMContextRef context;
static LLVMModuleRef parsed(const char *text) {
    LLVMModuleRef module;
    char *wrong;
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "module.ll");
    return LLVMParseIRInContext(context, buffer, &module, &wrong) ? puts(wrong), (LLVMModuleRef)0 : module;
}
static void show(LLVMBool failed, tally_diagnostics *found) {
    printf("failed %d\n", failed);
    for (size_t i = 0; i < tally_diagnostics_count(found); i++) {
        const tally_diagnostic *it = tally_diagnostics_get(found, i);
        printf("%d %s:%u:%u %s: %s (%s)\n", it->severity, it->file, it->line, it->column, it->function, it->text,
               it->hint ? it->hint : "no hint");
    }
    tally_diagnostics_dispose(found);
}
int main(void) {
    context = LLVMContextCreate();
    tally_options *options = tally_options_create();
    tally_diagnostics *found;
    LLVMBool failed = tally_options_read(options, "O1 plan=best", &found);
    show(failed, found);
    LLVMModuleRef wrong = parsed(
        "declare void @llvm.gcwrite(ptr, ptr, ptr)\n"
        "define void @f(ptr %x) gc \"refcount\" !dbg !2 {\n  call void @llvm.gcwrite(ptr %x, ptr null, ptr %x), !dbg !5\n  ret void\n}\n"
        "!llvm.dbg.cu = !{!0}\n!llvm.module.flags = !{!1}\n"
        "!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !3, emissionKind: LineTablesOnly)\n"
        "!1 = !{i32 2, !\"Debug Info Version\", i32 3}\n"
        "!2 = distinct !DISubprogram(name: \"f\", file: !3, line: 6, unit: !0, type: !4)\n"
        "!3 = !DIFile(filename: \"prog.mine\", directory: \"/src\")\n!4 = !DISubroutineType(types: !{})\n"
        "!5 = !DILocation(line: 7, column: 3, scope: !2)\n");
    failed = tally_verify_module(wrong, options, &found);
    show(failed, found);
    failed = tally_lower_module(wrong, NULL, TALLY_FOR_LINKER, &found);
    show(failed, found);
    show(tally_lower_module(wrong, NULL, TALLY_FOR_LINKER, NULL), NULL);
    tally_session *session;
    failed = tally_session_create(options, &session, &found);
    show(failed, found);
    LLVMModuleRef plain = parsed("declare i64 @twice(i64)\ndefine i64 @f(i64 %x) gc \"refcount\" {\n  %y = call i64 @twice(i64 %x)\n  ret i64 %y\n}\n");
    tally_session_module added;
    failed = tally_session_add(session, LLVMCloneModule(plain), "plain", &added, &found);
    show(failed, found);
    extern long twice(long);
    tally_session_define(session, "twice", (void *)twice, NULL);
    failed = tally_session_add(session, plain, "plain", &added, &found);
    show(failed, found);
    long (*f)(long) = (long (*)(long))tally_session_lookup(session, "f");
    printf("%ld %p\n", f(21), tally_session_lookup(session, "nowhere"));
    show(tally_session_remove(session, added, NULL), NULL);
    failed = tally_session_remove(session, added, &found);
    show(failed, found);
    tally_session_dispose(session);
    tally_options_dispose(options);
}
long twice(long x) { return 2 * x; }
"#;
    let folder = Folder::with(&[("host.c", HOST)]);
    build(&folder, &[folder.path("host.c")], &[]);
    let null_object = "1 prog.mine:7:3 f: gcwrite with a null object (name the object that the slot lies in; for a slot in a global \
                       variable, the global)\n";
    let expected = [
        "failed 1\n1 (null):0:0 (null): the option \"plan=best\": unknown plan \"best\"; there are refcount, refcount-prompt, trace (no hint)\n",
        &format!("failed 1\n{null_object}failed 1\n{null_object}failed 1\nfailed 0\n"),
        "failed 1\n1 (null):0:0 (null): cannot link plain: undefined symbol: twice (no hint)\nfailed 0\n42 (nil)\nfailed 0\n",
        "failed 1\n1 (null):0:0 (null): this module is not loaded (no hint)\n",
    ];
    assert_eq!(stdout(&run(&folder, &[], &[])), expected.concat());
}

/// The code goes into a JIT of the host's own, whose process has the runtime by the library.
#[test]
fn module_for_a_jit_of_the_hosts_own() {
    const HOST: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>
#include <tally.h>
#include <tally-c/lower.h>
static const char text[] =
    "@Node = external constant i8\n!tally.types = !{!0}\n!0 = !{ptr @Node, !\"size\", i64 16, !\"refs\", !{i32 0}}\n"
    "declare void @llvm.gcroot(ptr, ptr)\ndeclare void @llvm.gcwrite(ptr, ptr, ptr)\ndeclare ptr @tally_new(ptr)\n"
    "define i64 @count(i64 %n) gc \"refcount\" {\n"
    "entry:\n  %list = alloca ptr\n  call void @llvm.gcroot(ptr %list, ptr null)\n  store ptr null, ptr %list\n  br label %make\n"
    "make:\n  %i = phi i64 [ 0, %entry ], [ %j, %make ]\n  %node = call ptr @tally_new(ptr @Node)\n  %old = load ptr, ptr %list\n"
    "  call void @llvm.gcwrite(ptr %old, ptr %node, ptr %node)\n  store ptr %node, ptr %list\n"
    "  %j = add i64 %i, 1\n  %more = icmp ult i64 %j, %n\n  br i1 %more, label %make, label %walk\n"
    "walk:\n  %at = phi ptr [ %node, %make ], [ %next, %walk ]\n  %s = phi i64 [ 0, %make ], [ %t, %walk ]\n"
    "  %next = load ptr, ptr %at\n  %t = add i64 %s, 1\n  %last = icmp eq ptr %next, null\n  br i1 %last, label %done, label %walk\n"
    "done:\n  ret i64 %t\n}\n";
#define OK(call) do { LLVMErrorRef e_ = (call); if (e_) return puts(LLVMGetErrorMessage(e_)), 1; } while (0)
typedef LLVMErrorRef (*Initialize)(LLVMOrcLLJITRef);
int main(int argc, char **argv) {
    LLVMInitializeX86TargetInfo(); LLVMInitializeX86Target(); LLVMInitializeX86TargetMC(); LLVMInitializeX86AsmPrinter();
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module;
    char *wrong;
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "count.ll");
    if (LLVMParseIRInContext(context, buffer, &module, &wrong)) return puts(wrong), 1;
    tally_diagnostics *found;
    if (tally_lower_module(module, NULL, TALLY_FOR_THIS_PROCESS, &found)) return puts(tally_diagnostics_get(found, 0)->text), 1;
    if (tally_finish_module(module, NULL, &found)) return puts(tally_diagnostics_get(found, 0)->text), 1;
    LLVMValueRef record = LLVMGetNamedGlobal(module, TALLY_MODULE_RECORD);
    LLVMSetValueName2(record, "record", 6);
    LLVMSetLinkage(record, LLVMExternalLinkage);
    LLVMOrcLLJITRef jit;
    OK(LLVMOrcCreateLLJIT(&jit, NULL));
    LLVMOrcJITDylibRef dylib = LLVMOrcLLJITGetMainJITDylib(jit);
    LLVMOrcDefinitionGeneratorRef process;
    OK(LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(&process, LLVMOrcLLJITGetGlobalPrefix(jit), NULL, NULL));
    LLVMOrcJITDylibAddGenerator(dylib, process);
    LLVMOrcThreadSafeContextRef shared = LLVMOrcCreateNewThreadSafeContextFromLLVMContext(context);
    OK(LLVMOrcLLJITAddLLVMIRModule(jit, dylib, LLVMOrcCreateNewThreadSafeModule(module, shared)));
    LLVMOrcExecutorAddress address;
    // LLVM's C API has no function that runs constructors, and no plugins.
    LLVMOrcExecutorAddress known;
    OK(LLVMOrcLLJITLookup(jit, &known, "record"));
    OK(LLVMOrcLLJITLookup(jit, &address, "count"));
    for (int i = 0; i < 2; i++)
        if (tally_register_code((void *)known, &found)) return puts(tally_diagnostics_get(found, 0)->text), 1;
    printf("%ld\n", ((long (*)(long))address)(argc > 1 ? atol(argv[1]) : 0));
    tally_collect();
    for (int i = 0; i < 2; i++)
        if (tally_unregister_code((void *)known, &found)) return puts(tally_diagnostics_get(found, 0)->text), 1;
    ((uint32_t *)known)[0] = 99;
    printf("%d %s\n", tally_register_code((void *)known, &found), tally_diagnostics_get(found, 0)->text);
}
"#;
    let folder = Folder::with(&[("host.c", HOST)]);
    build(&folder, &[folder.path("host.c")], &[]);
    let refused = "1 count.ll: module `count.ll`: its record has version 99, this runtime reads version 3; lower it again with the \
                   tally of this runtime\n";
    assert_eq!(stdout(&run(&folder, &["100000"], &[])), format!("100000\n{refused}"));
    assert_eq!(stdout(&run(&folder, &["3000"], &[("TALLY_ZEAL", "1".to_owned())])), format!("3000\n{refused}"));
}

/// The functions that the header declares, and those of `tally.h` that are linked into every program.
#[test]
fn every_function_of_the_headers_is_in_the_library() {
    let listed = Command::new("llvm-nm-22").args(["-D", "--defined-only", "-j"]).arg(library_file()).output();
    let listed = String::from_utf8(listed.expect("llvm-nm-22 can be run").stdout).expect("text");
    let defined: Vec<&str> = listed.lines().collect();
    for name in declared("c-api/include/tally-c/lower.h").iter().chain(&declared("aot-runtime/include/tally.h")) {
        assert!(defined.contains(&&**name), "{name} is declared, and not there");
    }
    assert!(defined.iter().all(|name| name.starts_with("tally_") || name.starts_with("llvm_")), "{listed}");
}

/// The names before an opening bracket at the declarations of a header.
fn declared(header: &str) -> Vec<String> {
    let text = std::fs::read_to_string(source_tree().join(header)).expect("a header of the tree");
    let is_declaration =
        |line: &&str| line.starts_with(|first: char| first.is_ascii_alphabetic()) && !line.starts_with("typedef");
    let name = |line: &str| {
        let name = line.split_once('(')?.0.rsplit([' ', '*']).next()?;
        name.starts_with("tally_").then(|| name.to_owned())
    };
    let names: Vec<String> = text.lines().filter(is_declaration).filter_map(name).collect();
    assert!(names.len() > 10, "{header} was not read: {names:?}");
    names
}

/// A library that is found first, and has one of LLVM's names.
#[test]
fn another_llvm_in_the_process_is_told_when_the_library_is_loaded() {
    const HOST: &str = "#include <stdio.h>\n#include <tally-c/lower.h>\nint main(void) {\n    tally_diagnostics *found;\n\
        \x20   tally_session *session;\n    puts(\"main\");\n    int failed = tally_session_create(NULL, &session, &found);\n\
        \x20   printf(\"%d %s\\n\", failed, tally_diagnostics_get(found, 0)->text);\n}\n";
    let folder = Folder::with(&[("host.c", HOST), ("other.c", "void _ZN4llvm11LLVMContextC1Ev(void) {}\n")]);
    let other = folder.path("libLLVM.so.21.1");
    let made =
        Command::new("clang-22").args(["-shared", "-fPIC", "-o"]).arg(&other).arg(folder.path("other.c")).status();
    assert!(made.expect("clang-22 can be run").success());
    build(&folder, &[folder.path("host.c")], &[other.to_str().expect("text")]);
    let output = run(&folder, &[], &[("LD_PRELOAD", other.display().to_string())]);
    let told = format!("Tally needs libLLVM.so.22.1, and this process has the LLVM of {}", other.display());
    assert_eq!(String::from_utf8_lossy(&output.stderr), format!("tally: {told}\n"));
    assert_eq!(stdout(&output), format!("main\n1 {told}\n"));
}
