//! Finalizers of compiled programs: what they throw, and who is told.

use crate::native_code::library;
use crate::prints;
use crate::tally::Folder;

const CPP: &str = r#"
#include <cstdio>
#include <exception>
#include <stdexcept>
struct Own { int number; };
extern "C" void throw_it(int number) {
    if (number % 3 == 0) throw std::runtime_error("no disk");
    if (number % 3 == 1) throw Own{number};
}
extern "C" void told(void *, const char *type, const char *message, void *) {
    try { throw; }
    catch (const std::exception &error) { std::printf("%s %s: %s\n", type, message, error.what()); }
    catch (const Own &own) { std::printf("%s %s: %d\n", type, message, own.number); }
    std::fflush(stdout);
}
extern "C" int uncaught(void) { return std::uncaught_exceptions(); }
"#;

const THROWS: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <tally_gc.h>
typedef struct File { struct File *next; int number; } File;
static void (*throw_it)(int);
static int closed;
static void close_file(File *file) {
    File *mine = file;
    TALLY_ROOT(mine);
    closed++;
    throw_it(mine->number);
}
TALLY_FINALIZED_TYPE(File, close_file, next);
static void ring(void) {
    File *first = TALLY_NEW(File);
    TALLY_ROOT(first);
    first->number = 0;
    TALLY_WRITE(first, next, first);
    for (int number = 1; number < 3; number++) {
        File *file = TALLY_NEW(File);
        TALLY_ROOT(file);
        file->number = number;
        TALLY_WRITE(file, next, first->next);
        TALLY_WRITE(first, next, file);
    }
}
int main(int argc, char **argv) {
    void *library = dlopen("./native.so", RTLD_NOW);
    if (!library) return puts(dlerror()), 1;
    throw_it = dlsym(library, "throw_it");
    int (*uncaught)(void) = dlsym(library, "uncaught");
    if (argc == 1) tally_on_finalizer_error(dlsym(library, "told"));
    ring();
    tally_collect();
    printf("%d closed, %d uncaught\n", closed, uncaught());
    if (argc == 1) return 0;
    tally_on_finalizer_error(NULL);
    for (int i = 0; i < 300; i++) ring();
    tally_collect();
    printf("%d closed\n", closed);
}
"#;

/// Scenario 64: a C++ exception in a finalizer goes to the hook, which may look at it; the rest of the garbage goes all the same.
#[test]
fn a_finalizer_that_throws_is_told_to_the_hook_and_the_rest_is_collected() {
    let folder = Folder::with(&[("native.cpp", CPP), ("program.c", THROWS)]);
    library(&folder, "clang++-22", "native.cpp", &[]);
    for (level, plan) in [("0", "refcount"), ("2", "refcount"), ("0", "refcount-prompt"), ("2", "refcount-prompt")] {
        let plan = ["--plan", plan];
        let run = [&["run", "--leak-check", "--opt", level], &plan[..], &["program.c"]].concat();
        let mut ran = folder.tally(&run);
        sort_lines(&mut ran.stdout);
        let told = "3 closed, 0 uncaught\n\
                    File threw a C++ exception of type Own: 1\n\
                    File threw a C++ exception of type std::runtime_error: no disk\n";
        assert_eq!(ran, prints(told), "tally run --opt {level}");
        folder.build(&[&["--opt", level], &plan[..], &["program.c"]].concat());
        let mut ran = folder.program(&[("TALLY_LEAK_CHECK", "1")], &[]);
        sort_lines(&mut ran.stdout);
        assert_eq!(ran, prints(told), "tally build --opt {level}");
        let ran = folder.program(&[("TALLY_LEAK_CHECK", "1")], &["quietly"]);
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), "3 closed, 0 uncaught\n903 closed\n"), "{ran:?}");
        assert_eq!(ran.stderr.lines().count(), 602, "{}", ran.stderr);
        let line =
            "tally: the finalizer of an object of type `File` threw a C++ exception of type Own; the others go on";
        assert_eq!(ran.stderr.lines().filter(|&said| said == line).count(), 301);
    }
}

fn sort_lines(text: &mut String) {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    *text = lines.join("\n") + "\n";
}
