//! Thread-local variables of programs: their loader's in an executable, ours under the JIT.

use object::{Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, elf};
use std::collections::BTreeSet;
use std::path::Path;
use tally_llvm::emit::level::Level;
use tally_llvm::jit::Session;
use tally_llvm::pipeline::{self, CompileOptions, Destination};

use crate::boundaries::prints;
use crate::boundaries::program::{Folder, options};

const MAIN: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
_Thread_local long shared = 40;
extern _Thread_local const char *word;
_Thread_local const char **elsewhere = &word_of_all;
static _Thread_local char large[3 << 16];
static _Thread_local struct { int a; _Alignas(128) int b; } aligned = {1, 2};
long *of_other(void);
long add(long);
static pthread_key_t key;
static void ended(void *rounds) {
    if (shared != 41 || large[7] != 7) puts("gone too early");
    if ((long)rounds < 3) pthread_setspecific(key, (void *)((long)rounds + 1));
}
static long counts(void) {
    static _Thread_local long calls;
    Node *mine = TALLY_NEW(Node);
    TALLY_ROOT(mine);
    mine->value = ++calls;
    tally_collect();
    return mine->value == calls ? calls : -1;
}
static void *run(void *unused) {
    pthread_setspecific(key, (void *)1);
    if (&shared != of_other() || *of_other() != 40) return "shared";
    for (int i = 0; i < (int)sizeof large; i++) if (large[i]) return "not zero";
    large[7] = 7;
    if ((unsigned long)&aligned.b % 128 || aligned.a != 1 || aligned.b++ != 2) return "aligned";
    if (strcmp(word, "all") || strcmp(*elsewhere, "all")) return "word";
    word = "mine";
    for (long i = 1; i <= 20; i++) if (counts() != i) return "calls";
    if (add(1) != 41) return "add";
    return NULL;
}
int main(void) {
    pthread_key_create(&key, ended);
    for (int i = 0; i < 50; i++) {
        pthread_t threads[4];
        for (int j = 0; j < 4; j++) pthread_create(&threads[j], NULL, run, NULL);
        for (int j = 0; j < 4; j++) {
            void *wrong;
            pthread_join(threads[j], &wrong);
            if (wrong) puts(wrong);
        }
    }
    const char *wrong = run(NULL);
    printf("%s %ld %s\n", wrong ? wrong : "right", shared, word);
}
"#;

const OTHER: &str = r#"
extern _Thread_local long shared;
const char *word_of_all = "all";
_Thread_local const char *word = "all";
long *of_other(void) { return &shared; }
long add(long n) { return shared += n; }
"#;

#[test]
fn each_thread_has_its_copies_and_modules_share_them() {
    let main =
        MAIN.replace("extern _Thread_local const", "extern const char *word_of_all;\nextern _Thread_local const");
    let folder = Folder::with(&[("main.c", &main), ("other.c", OTHER)]);
    for level in ["0", "2"] {
        let run = ["run", "--leak-check", "--opt", level, "main.c", "other.c"];
        assert_eq!(folder.tally(&run), prints("right 41 mine\n"), "tally run --opt {level}");
        folder.build(&["--opt", level, "main.c", "other.c"]);
        let variables = [("TALLY_LEAK_CHECK", "1")];
        assert_eq!(folder.program(&variables, &[]), prints("right 41 mine\n"), "tally build --opt {level}");
    }
}

#[test]
fn module_loaded_where_another_was_has_copies_of_its_own() {
    let mut session = Session::new(options()).unwrap();
    let text = "@count = thread_local global i64 START\ndeclare ptr @llvm.threadlocal.address.p0(ptr)\n\
        define i64 @next() {\n  %p = call ptr @llvm.threadlocal.address.p0(ptr @count)\n  %n = load i64, ptr %p\n\
        %m = add i64 %n, 1\n  store i64 %m, ptr %p\n  ret i64 %m\n}\n";
    let mut addresses = std::collections::HashSet::new();
    for start in 0..20 {
        let text = text.replace("START", &(100 * start).to_string());
        // SAFETY: the module above.
        let module = unsafe { session.add("counter", text.as_bytes()) }.unwrap();
        let address = session.lookup("next").unwrap();
        addresses.insert(address);
        // SAFETY: the module defines it with that type.
        let next: extern "C" fn() -> i64 = unsafe { std::mem::transmute(address) };
        assert_eq!((next(), next()), (100 * start + 1, 100 * start + 2));
        assert_eq!(std::thread::spawn(move || next()).join().unwrap(), 100 * start + 1);
        // SAFETY: no call is inside or will be made.
        unsafe { session.remove(module).unwrap() };
    }
    assert!(addresses.len() < 20, "addresses are used again");
}

#[test]
fn module_that_names_a_thread_local_like_a_global_is_for_executables() {
    let text =
        "@count = thread_local global i32 4\ndefine i32 @main() {\n  %n = load i32, ptr @count\n  ret i32 %n\n}\n";
    let folder = Folder::with(&[("old.ll", text)]);
    let refused = folder.tally(&["run", "old.ll"]);
    let message = "old.ll: `tally run` supports the thread-local variable `count` only through llvm.threadlocal.address; \
                   use `tally build`";
    assert_eq!((refused.status, refused.stdout.as_str()), (Some(2), ""), "{refused:?}");
    assert!(refused.stderr.contains(message), "{refused:?}");
    folder.build(&["old.ll"]);
    assert_eq!(folder.program(&[], &[]).status, Some(4));
}

/// How the code of an example that goes to `destination` finds the thread's context.
fn ways_to_context(level: Level, destination: Destination) -> BTreeSet<u32> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/rings.c");
    let options = CompileOptions { level, destination, ..CompileOptions::default() };
    let bytes = pipeline::compile(&[file], &options).expect("a sound program").remove(0).bytes;
    let code = object::File::parse(&*bytes).expect("an object");
    let context = code.symbols().find(|symbol| symbol.name() == Ok("tally_context")).expect("it allocates").index();
    let sections = code.sections().filter(|section| section.name().is_ok_and(|name| name.starts_with(".text")));
    let all = sections.flat_map(|section| section.relocations().map(|(_, it)| it).collect::<Vec<_>>());
    let of_context = all.filter(|it| it.target() == RelocationTarget::Symbol(context));
    let kinds = of_context.map(|it| match it.flags() {
        RelocationFlags::Elf { r_type } => r_type,
        other => panic!("{other:?}"),
    });
    kinds.collect()
}

/// An executable has the runtime in itself, so the linker writes the distance into each instruction. A shared library finds it
/// in a table that the loader fills.
#[test]
fn only_the_code_of_an_executable_knows_where_the_context_is() {
    for level in [Level::O0, Level::O2] {
        assert_eq!(ways_to_context(level, Destination::Executable), [elf::R_X86_64_TPOFF32].into());
        assert_eq!(ways_to_context(level, Destination::LinkedImage), [elf::R_X86_64_GOTTPOFF].into());
    }
}
