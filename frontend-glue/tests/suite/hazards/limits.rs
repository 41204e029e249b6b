//! More roots than LLVM's map can count: dropped in silence by LLVM, so refused here. As many in one array are no trouble.

use std::fmt::Write;
use tally_kit::folder::{Folder, Outcome};
use tally_kit::tally_command::source_tree;

#[test]
fn more_roots_in_a_function_than_a_map_counts_are_refused() {
    let mut text = "declare void @llvm.gcroot(ptr, ptr)\ndefine void @f() gc \"refcount\" {\n".to_owned();
    for index in 0..32_767 {
        writeln!(text, "  %r{index} = alloca ptr\n  call void @llvm.gcroot(ptr %r{index}, ptr null)").unwrap();
    }
    text += "  ret void\n}\ndefine i32 @main() {\n  ret i32 0\n}\n";
    let folder = Folder::with(&[("many.ll", &text)]);
    let outcome = folder.tally(&["run", "many.ll"]);
    assert_eq!(outcome.status, Some(2), "{outcome:?}");
    let message = "many.ll: in @f: 32767 roots; a call can name 32766 at most; keep them in an array with a descriptor";
    assert!(outcome.stderr.contains(message), "{}", outcome.stderr);
}

#[test]
fn a_root_array_of_a_megabyte_is_read_to_its_end() {
    let count = 1 << 17;
    let offsets: Vec<String> = (0..count).map(|index| format!("i32 {}", 8 * index)).collect();
    let text = format!(
        "%tally_type = type {{ i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }}
@offsets = private constant [{count} x i32] [{offsets}]
@name = private constant [5 x i8] c\"Huge\\00\"
@Huge = constant %tally_type {{ i32 1, i32 0, i64 {bytes}, i32 0, i32 0, i64 0, i64 0, i64 0, i32 {count}, i32 0, ptr @offsets,
    i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }}
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) \"gc-leaf-function\"
define i32 @main() gc \"refcount\" {{
  %all = alloca [{count} x ptr]
  call void @llvm.gcroot(ptr %all, ptr @Huge)
  %first = call ptr @box(i64 1)
  store ptr %first, ptr %all
  %end = getelementptr ptr, ptr %all, i64 {last}
  %second = call ptr @box(i64 2)
  store ptr %second, ptr %end
  call void @churn()
  %x = load ptr, ptr %all
  %y = load ptr, ptr %end
  call void @expect(ptr %x, i64 1)
  call void @expect(ptr %y, i64 2)
  ret i32 0
}}
",
        offsets = offsets.join(", "),
        bytes = 8 * count,
        last = count - 1
    );
    let support = source_tree().join("frontend-glue/tests/hazards/support.ll");
    let folder = Folder::with(&[("huge.ll", &text)]);
    for level in ["0", "2"] {
        let outcome = folder.tally(&["run", "--opt", level, "huge.ll", support.to_str().unwrap()]);
        assert_eq!(outcome, Outcome { status: Some(0), stdout: String::new(), stderr: String::new() }, "--opt {level}");
    }
}
