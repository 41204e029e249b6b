//! Vectors of references, as LLVM's optimiser makes them of neighbouring loads and stores.

use super::prints;
use tally_kit::folder::Folder;

/// Two neighbouring fields are loaded, carried through a loop, exchanged, chosen and stored as a vector; safepoints stand between.
const PROGRAM: &str = r#"
declare REF @tally_new(ptr)
declare void @tally_collect()
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i32 @printf(ptr, ...)
@format = private constant [6 x i8] c"%lld\0A\00"
@Pair = external constant i8
!tally.types = !{!0}
!0 = !{ptr @Pair, !"size", i64 24, !"refs", !{i32 0, i32 8}}

define REF @leaf(i64 %value) noinline gc "refcount" {
  %leaf = call REF @tally_new(ptr @Pair)
  %place = getelementptr i8, REF %leaf, i64 16
  store i64 %value, REF %place
  call void @tally_collect()
  ret REF %leaf
}

define i64 @value(REF %leaf) noinline gc "refcount" {
  %place = getelementptr i8, REF %leaf, i64 16
  %value = load i64, REF %place
  ret i64 %value
}

define i64 @turn(REF %pair, i64 %times) noinline gc "refcount" {
entry:
  %kept = alloca <2 x REF>
  store <2 x REF> zeroinitializer, ptr %kept
  %both = load <2 x REF>, REF %pair, align 8
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %more, %loop ]
  %now = phi <2 x REF> [ %both, %entry ], [ %turned, %loop ]
  call void @tally_collect()
  %turned = shufflevector <2 x REF> %now, <2 x REF> poison, <2 x i32> <i32 1, i32 0>
  %more = add i64 %i, 1
  %again = icmp ult i64 %more, %times
  br i1 %again, label %loop, label %done
done:
  store <2 x REF> %turned, ptr %kept, align 8
  %garbage = call REF @leaf(i64 1000)
  %later = load <2 x REF>, ptr %kept, align 8
  %odd = icmp eq i64 %times, 3
  %chosen = select i1 %odd, <2 x REF> %later, <2 x REF> %both
  call void @tally_collect()
  %first = extractelement <2 x REF> %chosen, i32 0
  %second = extractelement <2 x REF> %chosen, i32 1
  %one = call i64 @value(REF %first)
  %two = call i64 @value(REF %second)
  %tens = mul i64 %two, 10
  %sum = add i64 %one, %tens
  ret i64 %sum
}

define i32 @main() gc "refcount" {
  %pair = call REF @tally_new(ptr @Pair)
  %one = call REF @leaf(i64 2)
  %two = call REF @leaf(i64 4)
  WRITE_ONE
  %second = getelementptr i8, REF %pair, i64 8
  WRITE_TWO
  %sum = call i64 @turn(REF %pair, i64 3)
  %printed = call i32 (ptr, ...) @printf(ptr @format, i64 %sum)
  ret i32 0
}
"#;

#[test]
fn typed_references_in_vectors_keep_their_objects() {
    let writes = [("WRITE_ONE", "store REF %one, REF %pair"), ("WRITE_TWO", "store REF %two, REF %second")];
    let program = writes.iter().fold(PROGRAM.to_owned(), |text, (from, to)| text.replace(from, to));
    let folder = Folder::with(&[("vectors.ll", &program.replace("REF", "ptr addrspace(1)"))]);
    prints(&folder, "vectors.ll", &[], "24\n");
}

#[test]
fn pointers_in_vectors_keep_their_objects() {
    let writes = [
        ("WRITE_ONE", "call void @llvm.gcwrite(ptr %one, ptr %pair, ptr %pair)"),
        ("WRITE_TWO", "call void @llvm.gcwrite(ptr %two, ptr %pair, ptr %second)"),
        ("declare void @tally_collect()", "declare void @tally_collect()\ndeclare void @llvm.gcwrite(ptr, ptr, ptr)"),
    ];
    let program = writes.iter().fold(PROGRAM.to_owned(), |text, (from, to)| text.replace(from, to));
    let folder = Folder::with(&[("vectors.ll", &program.replace("REF", "ptr"))]);
    prints(&folder, "vectors.ll", &["--roots", "auto"], "24\n");
}

/// Two neighbouring references are stored to an object at once: each store has its barrier.
#[test]
fn typed_references_are_stored_to_an_object_as_a_vector() {
    let writes = [
        ("WRITE_ONE", "%half = insertelement <2 x REF> poison, REF %one, i32 0"),
        (
            "WRITE_TWO",
            "%both = insertelement <2 x REF> %half, REF %two, i32 1\n  store <2 x REF> %both, REF %pair, align 8",
        ),
    ];
    let program = writes.iter().fold(PROGRAM.to_owned(), |text, (from, to)| text.replace(from, to));
    let folder = Folder::with(&[("vectors.ll", &program.replace("REF", "ptr addrspace(1)"))]);
    prints(&folder, "vectors.ll", &[], "24\n");
}
