//! Files that are no programs: one message that says where and what, and status 2.

use tally_kit::folder::Folder;

/// Every subcommand that reads a file, on `file`; each must say `expected` and nothing else.
/// What refusing an input may take, however large it is.
const PROCESSOR_SECONDS_MAX: u64 = 6;

pub fn check(folder: &Folder, file: &str, expected: &str) {
    let commands: [&[&str]; 5] = [
        &["run", file],
        &["build", file, "-o", "program"],
        &["lower", file, "-o", "out.ll"],
        &["verify", file],
        &["maps", file],
    ];
    let before = folder.names();
    for arguments in commands {
        let outcome = folder.tally_within(PROCESSOR_SECONDS_MAX, arguments);
        assert_eq!(outcome.status, Some(2), "{arguments:?}: {outcome:?}");
        assert!(outcome.stderr.contains(expected), "{arguments:?}: {}", outcome.stderr);
        assert_eq!(outcome.stdout, "", "{arguments:?}");
    }
    assert_eq!(folder.names(), before, "something half-made was left");
}

#[test]
fn a_file_that_is_not_there() {
    check(&Folder::with(&[]), "missing.ll", "tally: missing.ll: cannot be read: No such file");
}

#[test]
fn a_directory_an_empty_file_and_an_unknown_kind() {
    let folder = Folder::with(&[("empty.ll", ""), ("prog.rs", "fn main() {}\n")]);
    std::fs::create_dir(folder.path("sources")).unwrap();
    check(&folder, "sources", "tally: sources: is a directory");
    check(&folder, "empty.ll", "tally: empty.ll: is empty");
    check(&folder, "prog.rs", "tally: prog.rs: unknown kind of file");
    check(&folder, "-", "tally: <stdin>: is empty");
}

/// scenarios 197, 198.
#[test]
fn ir_that_does_not_parse_or_verify() {
    let folder = Folder::with(&[
        ("broken.ll", "define i32 @main() {\n  ret i32 %nothing\n}\n"),
        ("invalid.ll", "define i32 @main() {\n  %x = add i32 %y, 1\n  %y = add i32 1, 1\n  ret i32 %x\n}\n"),
        ("damaged.bc", "BC\u{c0}\u{de} and then nonsense"),
        ("text.bc", "define i32 @main() {\n"),
    ]);
    check(&folder, "broken.ll", "broken.ll:2:11: error: use of undefined value '%nothing'");
    check(&folder, "invalid.ll", "Instruction does not dominate all uses");
    check(&folder, "text.bc", "text.bc");
    std::fs::write(folder.path("damaged.bc"), b"BC\xC0\xDE and then nonsense").unwrap();
    check(&folder, "damaged.bc", "damaged.bc");
}

#[test]
fn code_for_another_machine() {
    let folder = Folder::with(&[
        ("arm.ll", "target triple = \"aarch64-unknown-linux-gnu\"\ndefine i32 @main() {\n  ret i32 0\n}\n"),
        ("odd.ll", "target datalayout = \"E-p:32:32\"\ndefine i32 @main() {\n  ret i32 0\n}\n"),
    ]);
    check(&folder, "arm.ll", "arm.ll: compiled for target \"aarch64-unknown-linux-gnu\"");
    check(&folder, "odd.ll", "E-p:32:32");
}

#[test]
fn c_that_clang_refuses() {
    let folder = Folder::with(&[("bad.c", "int main(void) { return nothing; }\n")]);
    check(&folder, "bad.c", "bad.c:1:25: error:");
    check(&folder, "bad.c", "tally: bad.c: clang found errors");
}

#[test]
fn a_clang_that_cannot_be_run() {
    let folder = Folder::with(&[("a.c", "int main(void) { return 0; }\n")]);
    let outcome = folder.tally_with(&[("TALLY_CLANG", "/nowhere/clang")], &["run", "a.c"]);
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("TALLY_CLANG names \"/nowhere/clang\""), "{}", outcome.stderr);
}

#[test]
fn inline_assembly_that_the_assembler_refuses() {
    let text = "define i32 @main() {\n  call void asm sideeffect \"nonsense %rax\", \"\"()\n  ret i32 0\n}\n";
    let outcome = Folder::with(&[("asm.ll", text)]).tally(&["run", "asm.ll"]);
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("asm.ll: LLVM cannot generate code"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("nonsense"), "{}", outcome.stderr);
}

/// scenario 196.
#[test]
fn bitcode_with_flipped_bits_is_refused_or_read_but_never_a_crash() {
    let folder = Folder::with(&[("whole.ll", "define i32 @main() {\n  ret i32 0\n}\n")]);
    assert_eq!(folder.tally(&["lower", "whole.ll", "-o", "whole.bc"]).status, Some(0));
    let whole = std::fs::read(folder.path("whole.bc")).unwrap();
    for step in 0..60 {
        let mut damaged = whole.clone();
        let place = 4 + step * (whole.len() - 4) / 60;
        damaged[place] ^= 1 << (step % 8);
        std::fs::write(folder.path("damaged.bc"), &damaged).unwrap();
        let outcome = folder.tally(&["verify", "damaged.bc"]);
        assert!(matches!(outcome.status, Some(0 | 2)), "byte {place}: {outcome:?}");
        assert_eq!(outcome.status == Some(2), outcome.stderr.contains("tally: "), "byte {place}: {outcome:?}");
    }
}

#[test]
fn an_output_that_is_an_input_is_refused_and_left_as_it_was() {
    let text = "define i32 @main() gc \"refcount\" {\n  ret i32 0\n}\n";
    let folder = Folder::with(&[("a.ll", text), ("b.ll", text)]);
    std::os::unix::fs::symlink("a.ll", folder.path("link.ll")).unwrap();
    let commands: [&[&str]; 4] = [
        &["build", "a.ll", "-o", "a.ll"],
        &["build", "b.ll", "a.ll", "-o", "./a.ll"],
        &["lower", "a.ll", "-o", "a.ll"],
        &["lower", "a.ll", "-o", "link.ll"],
    ];
    for arguments in commands {
        let outcome = folder.tally(arguments);
        assert_eq!(outcome.status, Some(2), "{arguments:?}: {outcome:?}");
        assert!(outcome.stderr.contains(".ll: is one of the input files; name another"), "{}", outcome.stderr);
        assert_eq!(std::fs::read_to_string(folder.path("a.ll")).unwrap(), text);
    }
}

#[test]
fn a_runtime_or_a_clang_that_is_something_else() {
    let folder =
        Folder::with(&[("a.ll", "define i32 @main() {\n  ret i32 0\n}\n"), ("a.c", "int main(void) { return 0; }\n")]);
    let cases: [(&str, &str, &[&str], &str); 3] = [
        (
            "TALLY_RUNTIME",
            "a.ll",
            &["build", "a.ll", "-o", "x"],
            "tally: a.ll: is no static library; name the libtally.a",
        ),
        ("TALLY_CLANG", "true", &["run", "a.c"], "tally: a.c: clang found errors, or made no module of it"),
        ("TALLY_CLANG", "true", &["build", "a.ll", "-o", "x"], "tally: linking x failed"),
    ];
    for (variable, value, arguments, expected) in cases {
        let outcome = folder.tally_with(&[(variable, value)], arguments);
        assert_eq!(outcome.status, Some(2), "{arguments:?}: {outcome:?}");
        assert!(outcome.stderr.contains(expected), "{arguments:?}: {}", outcome.stderr);
        assert_eq!(folder.names(), ["a.c", "a.ll"]);
    }
}

/// scenario 202: lLVM cannot make code of it on this machine, and ends the process: the message still says which file it was.
#[test]
fn what_llvm_gives_up_on_is_named() {
    let text = "define i32 @main() {\n  %v = alloca <vscale x 2 x i64>\n  %x = load <vscale x 2 x i64>, ptr %v\n  \
                store volatile <vscale x 2 x i64> %x, ptr %v\n  ret i32 0\n}\n";
    let folder = Folder::with(&[("scalable.ll", text)]);
    let outcome = folder.tally(&["run", "--opt", "0", "scalable.ll"]);
    assert_eq!(outcome.status, Some(2), "{outcome:?}");
    assert!(outcome.stderr.starts_with("tally: scalable.ll: "), "{}", outcome.stderr);
}

/// scenario 196: damaged bitcode for which LLVM would fill a table of many gigabytes.
#[test]
fn bitcode_that_asks_for_all_memory_does_not_get_it() {
    let folder = Folder::with(&[]);
    std::fs::write(folder.path("greedy.bc"), include_bytes!("attributes_of_a_parameter_far_away.bc")).unwrap();
    check(&folder, "greedy.bc", "tally: greedy.bc: crashed while compiling: the input is damaged, or");
}

/// scenario 197: words of right programs left out, doubled, and put in each other's places.
#[test]
fn text_with_words_left_out_doubled_and_swapped_is_refused_or_lowered() {
    let folder = Folder::with(&[]);
    let sources = ["write_and_read", "root_of_a_tagged_word", "invoke_with_roots", "global_roots", "tail_recursion"];
    let tests = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lowering");
    let mut random = 1_u64;
    let mut below = |limit: usize| {
        // Knuth's MMIX constants; the upper half is the better one.
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) as usize % limit
    };
    for round in 0..100 {
        let text = std::fs::read_to_string(tests.join(sources[round % sources.len()]).with_extension("ll")).unwrap();
        let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with(';')).collect();
        let code = code.join("\n");
        let mut words: Vec<&str> = code.split_inclusive([' ', ',', '(', ')', '\n']).collect();
        for _ in 0..=below(3) {
            let (here, there) = (below(words.len()), below(words.len()));
            match below(4) {
                0 => _ = words.remove(here),
                1 => words.insert(here, words[here]),
                2 => words.swap(here, there),
                _ => words[here] = words[there],
            }
        }
        let damaged = words.concat();
        std::fs::write(folder.path("damaged.ll"), &damaged).unwrap();
        let outcome = folder.tally(&["lower", "damaged.ll", "-o", "-"]);
        assert!(matches!(outcome.status, Some(0 | 2)), "{outcome:?}\n{damaged}");
        for fault in ["crashed while compiling", "LLVM gave up", "panicked", "not in order"] {
            assert!(!outcome.stderr.contains(fault), "{outcome:?}\n{damaged}");
        }
        assert_eq!(outcome.status == Some(2), outcome.stderr.contains("tally: "), "{outcome:?}\n{damaged}");
    }
}
