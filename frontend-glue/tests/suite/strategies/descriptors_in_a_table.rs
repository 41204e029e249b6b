//! A frontend that keeps its descriptors in one table: objects are made by its elements, and roots name them, under every plan.

use tally_kit::folder::Folder;

/// A root of two references, and one of a tagged word, hold their objects over collections. The tagged word is a number afterwards.
const PROGRAM: &str = r#"
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@pair_name = private constant [5 x i8] c"Pair\00"
@word_name = private constant [5 x i8] c"Word\00"
@both = private constant [2 x i32] [i32 0, i32 8]
@first = private constant [1 x i32] zeroinitializer
@types = constant { i64, [2 x %tally_type] } { i64 2, [2 x %tally_type] [
  %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @both, i64 0, i64 0,
                ptr null, ptr @pair_name, ptr null, ptr null, ptr null, ptr null },
  %tally_type { i32 1, i32 0, i64 8, i32 0, i32 1, i64 7, i64 0, i64 -8, i32 1, i32 0, ptr @first, i64 0, i64 0,
                ptr null, ptr @word_name, ptr null, ptr null, ptr null, ptr null } ] }
@format = private constant [4 x i8] c"%d\0A\00"
declare ptr @tally_new(ptr)
declare void @tally_collect()
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare i32 @printf(ptr, ...)

define ptr @make() gc "refcount" {
  %pair = call ptr @tally_new(ptr getelementptr ({ i64, [2 x %tally_type] }, ptr @types, i64 0, i32 1, i64 0))
  ret ptr %pair
}

define i32 @is_empty(ptr %pair) gc "refcount" {
  %of_second = getelementptr i8, ptr %pair, i64 8
  %second = load ptr, ptr %of_second
  %is_null = icmp eq ptr %second, null
  %number = zext i1 %is_null to i32
  ret i32 %number
}

define i32 @main() gc "refcount" {
  %two = alloca [2 x ptr]
  %word = alloca i64
  call void @llvm.gcroot(ptr %two, ptr getelementptr ({ i64, [2 x %tally_type] }, ptr @types, i64 0, i32 1, i64 0))
  call void @llvm.gcroot(ptr %word, ptr getelementptr ({ i64, [2 x %tally_type] }, ptr @types, i64 0, i32 1, i64 1))
  %to_second = getelementptr i8, ptr %two, i64 8
  store ptr null, ptr %two
  store ptr null, ptr %to_second
  store i64 1, ptr %word
  %one = call ptr @make()
  store ptr %one, ptr %to_second
  %other = call ptr @make()
  %as_word = ptrtoint ptr %other to i64
  store i64 %as_word, ptr %word
  call void @tally_collect()
  %kept = load ptr, ptr %to_second
  %inside = call ptr @make()
  call void @llvm.gcwrite(ptr %inside, ptr %kept, ptr %kept)
  call void @tally_collect()
  %kept_still = load ptr, ptr %to_second
  %led_to = load ptr, ptr %kept_still
  %a = call i32 @is_empty(ptr %led_to)
  %kept_word = load i64, ptr %word
  %from_word = inttoptr i64 %kept_word to ptr
  %b = call i32 @is_empty(ptr %from_word)
  store i64 12345679, ptr %word
  call void @tally_collect()
  %sum = add i32 %a, %b
  %printed = call i32 (ptr, ...) @printf(ptr @format, i32 %sum)
  ret i32 0
}
"#;

#[test]
fn elements_of_one_constant_describe_objects_and_roots() {
    let folder = Folder::with(&[("program.ll", PROGRAM)]);
    folder.prints_under_all_plans(&["--leak-check", "--zeal"], &["program.ll"], "2\n");
}

#[test]
fn an_element_that_is_wrong_is_named_by_its_place() {
    let wrong = PROGRAM.replace("i64 0, i64 -8, i32 1, i32 0, ptr @first", "i64 0, i64 -8, i32 2, i32 0, ptr @first");
    let folder = Folder::with(&[("program.ll", &wrong)]);
    for plan in ["refcount", "refcount-prompt", "trace"] {
        let outcome = folder.tally(&["run", "--plan", plan, "program.ll"]);
        assert_eq!(outcome.status, Some(2), "{plan}: {outcome:?}");
        assert!(outcome.stderr.contains("@types+136"), "{plan}: {outcome:?}");
    }
}
