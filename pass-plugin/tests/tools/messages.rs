//! Findings, as the tools show them.

use crate::workbench::{refuses, succeeds, tool};
use tally_kit::folder::Folder;

const NODE: &str =
    "#include <tally_gc.h>\ntypedef struct Node { struct Node *next; long value; } Node;\nTALLY_TYPE(Node, next);\n";

fn with_program(text: &str) -> Folder {
    Folder::with(&[("program.c", &format!("{NODE}{text}"))])
}

/// Clang generates code after the error: there must be none left that it could stumble over.
#[test]
fn error_is_at_its_line_and_clang_ends_as_after_errors_of_its_own() {
    let folder = with_program(
        "static Node *alias(void);\nvoid set(Node *node) {\n    TALLY_ROOT(node);\n    tally__gcwrite(node, NULL, &node->next);\n}\n\
         void (*kept)(Node *) = set;\nvoid renamed(Node *) __attribute__((alias(\"set\")));\n\
         static Node *alias(void) { return TALLY_NEW(Node); }\n__attribute__((constructor)) void begin(void) { set(alias()); }\n",
    );
    for level in ["-O0", "-O2"] {
        let said = refuses(&folder, &format!("clang-22 {level} -g -fpass-plugin=$so -c program.c -o program.o"));
        assert!(said.contains("program.c:7:5: error: in @set: gcwrite with a null object"), "{said}");
        assert!(!folder.path("program.o").exists());
    }
    // Without debug information it is at the function.
    let said = refuses(&folder, "clang-22 -O2 -fpass-plugin=$so -c program.c -o program.o");
    assert!(said.contains("program.c:5:6: error: in @set: gcwrite with a null object"), "{said}");
}

#[test]
fn warning_is_a_warning_of_the_compiler() {
    let folder = with_program(
        "Node *f(Node *next) {\n    Node *node = TALLY_NEW(Node);\n    TALLY_WRITE(node, next, next);\n    return node;\n}\n",
    );
    let compile = "clang-22 -O2 -g -fpass-plugin=$so -c program.c -o program.o";
    let output = tool(&folder, compile);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("program.c:6:5: warning: in @f: a reference"), "{said}");
    let said = refuses(&folder, &format!("{compile} -Werror"));
    assert!(said.contains("error: in @f: a reference"), "{said}");
    succeeds(&folder, &format!("env TALLY_PASS=no-warnings {compile} -I{}", include()));
}

fn include() -> String {
    tally_kit::tally_command::source_tree().join("aot-runtime/include").display().to_string()
}

#[test]
fn option_that_is_not_known_is_told_with_those_that_are() {
    let folder = with_program("Node *f(void) { return TALLY_NEW(Node); }\n");
    let said =
        refuses(&folder, "clang-22 -fplugin=$so -fpass-plugin=$so -mllvm -tally=plans=x -c program.c -o program.o");
    assert!(said.contains("error: the option \"plans=x\": is not known; there are plan=PLAN"), "{said}");
}

/// As one of llvm.org's, which have all of LLVM inside: here a library stands for that.
#[test]
fn tool_with_an_llvm_of_its_own_refuses_the_plugin_in_words() {
    let other = "#define _GNU_SOURCE\n#include <dlfcn.h>\nvoid _ZN4llvm11LLVMContextC1Ev(void *context) {\n\
                 \x20   ((void (*)(void *))dlsym(RTLD_NEXT, \"_ZN4llvm11LLVMContextC1Ev\"))(context);\n}\n";
    let folder = Folder::with(&[("other.c", other), ("module.ll", "define void @f() gc \"refcount\" { ret void }\n")]);
    succeeds(&folder, "clang-22 -shared -fPIC other.c -o libother.so");
    let opt = "env LD_PRELOAD=./libother.so opt-22 -load-pass-plugin=$so -passes=tally-lower module.ll -o lowered.bc";
    let said = refuses(&folder, opt);
    assert!(
        said.contains("tally: Tally needs libLLVM.so.22.1, and this process has the LLVM of ./libother.so"),
        "{said}"
    );
    assert!(said.contains("Wrong API version on plugin"), "{said}");
}
