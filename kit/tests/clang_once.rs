//! What `clang_once` makes is what clang makes, and is made once.

use std::path::Path;
use std::process::{Command, Output};

fn compile(folder: &Path) -> Output {
    let mut clang = Command::new(env!("CARGO_BIN_EXE_clang_once"));
    clang.args(["-c", "-emit-llvm", "-I", "headers", "-x", "c", "a.c", "-o", "a.bc"]);
    clang.current_dir(folder).env("CLANG_ONCE", folder.join("once")).output().expect("it starts")
}

/// The folder's `main.o` and `libtally.a` as `program`, with the words of `tally build`.
fn link(folder: &Path) -> Output {
    let mut clang = Command::new(env!("CARGO_BIN_EXE_clang_once"));
    clang.args(["-fuse-ld=lld", "-pie", "-Wl,--gc-sections"]).arg(folder.join("main.o"));
    clang.arg(folder.join("libtally.a")).args(["-lgcc_s", "-lc", "-o"]).arg(folder.join("program"));
    clang.current_dir(folder).env("CLANG_ONCE", folder.join("once")).output().expect("it starts")
}

#[test]
fn programs_are_linked_as_clang_links_them_and_lld_is_heard() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name);
    let made = |tool: &str, words: &[&str]| {
        let status = Command::new(tool).args(words).current_dir(folder.path()).status();
        assert!(status.expect("it starts").success(), "{tool} {words:?}");
    };
    std::fs::create_dir(place("once")).expect("a folder");
    let main = "int answer(void);\nint main(void) { return answer(); }\n";
    std::fs::write(place("main.c"), main).expect("writable");
    std::fs::write(place("answer.c"), "int answer(void) { return 42; }\n").expect("writable");
    made("cc", &["-g", "-c", "main.c", "answer.c"]);
    made("ar", &["rc", "libtally.a", "answer.o"]);
    for _ in 0..2 {
        let linked = link(folder.path());
        assert!(linked.status.success() && linked.stderr.is_empty(), "{linked:?}");
        assert_eq!(Command::new(place("program")).status().expect("it starts").code(), Some(42));
        std::fs::remove_file(place("program")).expect("it was made");
    }
    std::fs::write(place("main.c"), main.replace("answer", "question")).expect("writable");
    made("cc", &["-c", "main.c"]);
    let refused = link(folder.path());
    assert!(!refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("question"), "{refused:?}");
}

#[test]
fn what_was_compiled_once_is_not_compiled_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("writable");
    let made = || std::fs::read(folder.path().join("a.bc")).expect("it was made");
    let kept = || std::fs::read_dir(folder.path().join("once")).expect("readable").count();
    ["once", "headers"].iter().for_each(|name| std::fs::create_dir(folder.path().join(name)).expect("a folder"));
    write("headers/x.h", "#define X 1\n");
    write("beside.h", "#define Y 1\n");
    write("a.c", "#include <x.h>\n#include \"beside.h\"\nint f(void) { return X + Y; }\n");
    assert!(compile(folder.path()).status.success());
    let (first, file) = (made(), std::fs::read_dir(folder.path().join("once")).expect("readable").next());
    // Another content shows whether the next run takes the file.
    std::fs::write(file.expect("it is kept").expect("an entry").path(), "kept").expect("writable");
    assert!(compile(folder.path()).status.success());
    assert_eq!(made(), b"kept");
    for (header, text) in [("headers/x.h", "#define X 2\n"), ("beside.h", "#define Y 2\n")] {
        write(header, text);
        assert!(compile(folder.path()).status.success());
        assert_ne!(made(), b"kept");
        assert_ne!(made(), first);
    }
    assert_eq!(kept(), 3);
    write("a.c", "#warning said\n");
    let warned = compile(folder.path());
    assert!(warned.status.success() && String::from_utf8_lossy(&warned.stderr).contains("said"), "{warned:?}");
    write("a.c", "int f(void) { return nothing; }\n");
    assert!(!compile(folder.path()).status.success());
    assert_eq!(kept(), 3, "what clang says is said each time");
}
