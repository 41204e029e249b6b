//! Patch points of LLVM in functions without a gc strategy. They take no bundle of roots, so their functions are frames of their own.
//!
//! LLVM names what a patch point calls by an absolute address, which executables at any address cannot hold: these programs run in
//! memory.

use tally_kit::folder::Folder;
use tally_kit::tally_command::source_tree;

/// The records of patch points and stack maps stand beside Tally's, with numbers that could be those of any call.
const PATCHED: &str = r#"declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"
declare void @llvm.experimental.patchpoint.void(i64, i32, ptr, i32, ...)
declare i64 @llvm.experimental.patchpoint.i64(i64, i32, ptr, i32, ...)
declare void @llvm.experimental.stackmap(i64, i32, ...)

define internal i64 @collect(i64 %number) gc "refcount" {
  call void @churn()
  ret i64 %number
}

define internal i64 @patched(i64 %number) alwaysinline {
  %seven = call i64 (i64, i32, ptr, i32, ...) @llvm.experimental.patchpoint.i64(i64 7, i32 20, ptr @collect, i32 1, i64 %number, i64 %number)
  call void (i64, i32, ...) @llvm.experimental.stackmap(i64 0, i32 5, i64 %number)
  ret i64 %seven
}

define internal void @patched_without_a_result() {
  call void (i64, i32, ptr, i32, ...) @llvm.experimental.patchpoint.void(i64 7, i32 20, ptr @churn, i32 0)
  ret void
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %number = call i64 @patched(i64 7)
  call void @expect(ptr %box, i64 %number)
  %other = call ptr @box(i64 8)
  store ptr %other, ptr %root
  call void @patched_without_a_result()
  call void @expect(ptr %other, i64 8)
  ret i32 0
}
"#;

#[test]
fn what_roots_hold_outlives_a_collection_below_a_patch_point() {
    let folder = Folder::with(&[("patched.ll", PATCHED)]);
    let support = source_tree().join("frontend-glue/tests/hazards/support.ll");
    let support = support.to_str().expect("a path is text");
    for (plan, level) in
        ["refcount", "refcount-prompt", "trace"].into_iter().flat_map(|plan| ["0", "2"].map(|it| (plan, it)))
    {
        for way in [&["--leak-check", "--epoch-bytes", "4KiB"][..], &["--zeal"]] {
            let run = [&["run", "--plan", plan, "--opt", level], way, &["patched.ll", support]].concat();
            let outcome = folder.tally_with(&[("FEW_BOXES", "1")], &run);
            assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{run:?}: {outcome:?}");
        }
    }
}
