//! Vectors of references in IR of `statepoint-example`: no slot can root one, so Tally has LLVM's own pass put statepoints in.

use tally_kit::folder::Folder;

/// Through a loop, a choice and a call.
const VECTORS: &str = r#"target triple = "x86_64-unknown-linux-gnu"
declare ptr addrspace(1) @llvm_gc_allocate(i32)
declare void @llvm_gc_collect()

define ptr addrspace(1) @number(i64 %value) gc "statepoint-example" {
  %object = call ptr addrspace(1) @llvm_gc_allocate(i32 8)
  store i64 %value, ptr addrspace(1) %object
  ret ptr addrspace(1) %object
}

define <2 x ptr addrspace(1)> @pair(i64 %n) noinline gc "statepoint-example" {
  %a = call ptr addrspace(1) @number(i64 %n)
  %one = insertelement <2 x ptr addrspace(1)> poison, ptr addrspace(1) %a, i32 0
  %b = call ptr addrspace(1) @number(i64 1)
  %both = insertelement <2 x ptr addrspace(1)> %one, ptr addrspace(1) %b, i32 1
  ret <2 x ptr addrspace(1)> %both
}

define i32 @main(i32 %words, ptr %arguments) gc "statepoint-example" {
entry:
  %first = call <2 x ptr addrspace(1)> @pair(i64 40)
  br label %loop
loop:
  %held = phi <2 x ptr addrspace(1)> [ %first, %entry ], [ %next, %loop ]
  %turn = phi i32 [ 0, %entry ], [ %more, %loop ]
  %other = call <2 x ptr addrspace(1)> @pair(i64 41)
  call void @llvm_gc_collect()
  %odd = trunc i32 %turn to i1
  %next = select i1 %odd, <2 x ptr addrspace(1)> %other, <2 x ptr addrspace(1)> %held
  %more = add i32 %turn, 1
  %enough = icmp eq i32 %more, 4
  br i1 %enough, label %done, label %loop
done:
  call void @llvm_gc_collect()
  %a = extractelement <2 x ptr addrspace(1)> %next, i32 0
  %b = extractelement <2 x ptr addrspace(1)> %next, i32 1
  %x = load i64, ptr addrspace(1) %a
  %y = load i64, ptr addrspace(1) %b
  %sum = add i64 %x, %y
  %wrong = sub i64 %sum, 42
  %status = trunc i64 %wrong to i32
  ret i32 %status
}
"#;

#[test]
fn vectors_of_references_outlive_collections_without_statepoints_in_the_source() {
    let folder = Folder::with(&[("vectors.ll", VECTORS)]);
    for way in [&["--opt", "0", "--zeal"][..], &["--opt", "2"], &["--opt", "3", "--zeal"]] {
        let outcome = folder.tally(&[&["run"], way, &["vectors.ll"]].concat());
        assert_eq!(outcome.status, Some(0), "{way:?}: {outcome:?}");
    }
    folder.build(&["vectors.ll"]);
    assert_eq!(folder.program(&[("TALLY_ZEAL", "1")], &[]).status, Some(0));
}
