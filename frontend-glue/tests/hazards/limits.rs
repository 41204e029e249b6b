//! More roots than LLVM's map can count: dropped in silence by LLVM, so refused here.

use crate::tally::Folder;
use std::fmt::Write;

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
