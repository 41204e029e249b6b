//! IR that opt lowers, and llc or clang compiles.

use crate::workbench::{SUMS, link, listing, printed, refuses, succeeds, two_modules};
use tally_kit::folder::Folder;

const IR: &str = r#"
@Node = external constant i8
!tally.types = !{!0}
!0 = !{ptr @Node, !"size", i64 16, !"refs", !{i32 0}}
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)
define ptr @push(ptr %list, i64 %value) gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %list, ptr %root
  %node = call ptr @tally_new(ptr @Node)
  %field = getelementptr i8, ptr %node, i64 8
  store i64 %value, ptr %field
  %kept = load ptr, ptr %root
  call void @llvm.gcwrite(ptr %kept, ptr %node, ptr %node)
  ret ptr %node
}
"#;

/// A module of a frontend that writes IR beside one of C.
#[test]
fn ir_is_lowered_by_opt_and_compiled_by_llc() {
    let folder = two_modules();
    std::fs::write(folder.path("library.ll"), IR).unwrap();
    succeeds(&folder, "opt-22 -load-pass-plugin=$so -passes=tally-lower library.ll -o lowered.bc");
    succeeds(&folder, "opt-22 -passes=default<O3> lowered.bc -o optimised.bc");
    succeeds(&folder, "llc-22 -load-pass-plugin=$so -O3 -relocation-model=pic -filetype=obj optimised.bc -o library.o");
    // The IR of C has no strategies yet, and any LLVM reads it all the same.
    let emit = "-O1 -fPIC -Xclang -disable-llvm-passes -S -emit-llvm program.c -o program.ll";
    succeeds(&folder, &format!("clang-22 {emit}"));
    succeeds(&folder, "opt-22 -load-pass-plugin=$so -passes=default<O2> program.ll -o program.bc");
    succeeds(&folder, "clang-22 -O2 -fpass-plugin=$so -c program.bc -o program.o");
    link(&folder, "library.o program.o");
    assert_eq!(printed(&folder, true), SUMS);
}

#[test]
fn options_stand_behind_the_name_of_the_pass() {
    let folder = Folder::with(&[("module.ll", IR)]);
    let lower = "opt-22 -load-pass-plugin=$so -S module.ll -o lowered.ll -passes=tally-lower";
    succeeds(&folder, &format!("{lower}<plan=refcount-prompt;O2>"));
    assert!(listing("cat", &folder.path("lowered.ll")).contains("@tally_drain"));
    succeeds(&folder, &format!("{lower}<plan=trace>"));
    let said = refuses(&folder, &format!("{lower}<plan=fast>"));
    assert!(said.contains("unknown plan \"fast\"; there are refcount"), "{said}");
}

#[test]
fn breach_of_the_contract_is_an_error_of_opt() {
    let wrong = IR.replace("ptr %kept, ptr %node, ptr %node", "ptr %kept, ptr null, ptr %node");
    let folder = Folder::with(&[("module.ll", &wrong)]);
    let said = refuses(&folder, "opt-22 -load-pass-plugin=$so -passes=tally-lower module.ll -o lowered.bc");
    assert!(said.contains("in @push: gcwrite with a null object"), "{said}");
}

/// What was lowered once is left alone by every later tool that has the plugin.
#[test]
fn lowered_module_is_not_lowered_again() {
    let folder = Folder::with(&[("module.ll", IR)]);
    succeeds(&folder, "opt-22 -load-pass-plugin=$so -S -passes=tally-lower module.ll -o once.ll");
    succeeds(&folder, "opt-22 -load-pass-plugin=$so -S -passes=tally-lower once.ll -o twice.ll");
    let text = |name: &str| listing("tail -n +2", &folder.path(name));
    assert_eq!(text("once.ll"), text("twice.ll"));
}
