//! Finalizers of compiled programs: what they throw, and who is told; the end of the program, and of a module.

use crate::boundaries::native_code::library;
use crate::boundaries::prints;
use crate::boundaries::program::{Folder, KEEPER, options, plan};

use tally_compiled::abi::{tally_collect, thread_heap};
use tally_llvm::jit::Session;
use tally_llvm::lower::Plan;

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

/// scenario 64: a C++ exception in a finalizer goes to the hook, which may look at it; the rest of the garbage goes all the same.
#[test]
fn a_finalizer_that_throws_is_told_to_the_hook_and_the_rest_is_collected() {
    let folder = Folder::with(&[("native.cpp", CPP), ("program.c", THROWS)]);
    library(&folder, "clang++-22", "native.cpp", &[]);
    for level in ["0", "2"] {
        let run = ["run", "--leak-check", "--opt", level, "program.c"];
        let mut ran = folder.tally(&run);
        sort_lines(&mut ran.stdout);
        let told = "3 closed, 0 uncaught\n\
                    File threw a C++ exception of type Own: 1\n\
                    File threw a C++ exception of type std::runtime_error: no disk\n";
        assert_eq!(ran, prints(told), "tally run --opt {level}");
        folder.build(&["--opt", level, "program.c"]);
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

const AT_THE_END: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tally_gc.h>
typedef struct Log { struct Log *next; long number; } Log;
static Log *held;
static const char *how;
static void leave(void);
static void close_log(Log *log) {
    printf("close %ld\n", log->number);
    if (log->number == 2 && !strcmp(how, "inside")) leave();
    if (log->number == 1) TALLY_WRITE_GLOBAL(held, NULL);
}
TALLY_FINALIZED_TYPE_AS(Log, TALLY_FINALIZE_REVERSE, close_log, next);
static void leave(void) { exit(0); }
static void deep(int depth) {
    Log *log = TALLY_NEW(Log);
    TALLY_ROOT(log);
    log->number = depth;
    TALLY_WRITE(log, next, held);
    TALLY_WRITE_GLOBAL(held, log);
    if (depth < 5) deep(depth + 1);
    else if (!strcmp(how, "exit")) leave();
}
int main(int argc, char **argv) {
    how = argv[1];
    if (!strcmp(how, "off")) tally_finalize_at_exit(0);
    deep(1);
    if (!strcmp(how, "inside")) {
        TALLY_WRITE_GLOBAL(held, held->next->next->next->next); /* 5 to 2 are garbage */
        tally_collect();
    }
    puts("main returns");
    return 0;
}
"#;

/// scenario 78, scenario 80: after `main`, after `exit` from deep inside, and after `exit` in a finalizer, which never returns.
#[test]
fn at_the_end_of_the_program_all_finalizers_run_once_the_newest_first() {
    let folder = Folder::with(&[("program.c", AT_THE_END)]);
    let all = "close 5\nclose 4\nclose 3\nclose 2\nclose 1\n";
    folder.build(&["program.c"]);
    for (how, expected) in [("main", format!("main returns\n{all}")), ("exit", all.into()), ("inside", all.into())] {
        let ran = folder.tally(&["run", "--leak-check", "program.c", "--", how]);
        assert_eq!(ran, prints(&expected), "tally run, {how}");
        assert_eq!(folder.program(&[("TALLY_LEAK_CHECK", "1")], &[how]), prints(&expected), "built, {how}");
    }
    assert_eq!(folder.program(&[], &["off"]), prints("main returns\n"));
}

/// The finalizers that run after `main` leave by `exit`: some of them, or each.
const LEFT_BY_LAST_FINALIZERS: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tally_gc.h>
typedef struct Log { struct Log *next; long number; } Log;
static Log *held;
static const char *which;
static void close_log(Log *log) {
    printf("close %ld\n", log->number);
    if (log->number == 1) TALLY_WRITE_GLOBAL(held, NULL);
    if (log->number == 4 || log->number == 2 || !strcmp(which, "all")) exit(7);
}
TALLY_FINALIZED_TYPE_AS(Log, TALLY_FINALIZE_REVERSE, close_log, next);
static void collects(void) { tally_collect(); }
int main(int argc, char **argv) {
    which = argv[1];
    if (argc > 3) atexit(collects);
    for (long number = 1; number <= 5; number++) {
        Log *log = TALLY_NEW(Log);
        TALLY_ROOT(log);
        log->number = number;
        TALLY_WRITE(log, next, held);
        TALLY_WRITE_GLOBAL(held, log);
    }
    if (!strcmp(argv[2], "exit")) exit(3);
    return 3;
}
"#;

#[test]
fn exit_out_of_a_last_finalizer_leaves_the_other_finalizers_to_run() {
    let folder = Folder::with(&[("program.c", LEFT_BY_LAST_FINALIZERS)]);
    folder.build(&["program.c"]);
    let mut expected = prints("close 5\nclose 4\nclose 3\nclose 2\nclose 1\n");
    expected.status = Some(7);
    for which in ["some", "all"] {
        for end in ["return", "exit"] {
            for collects in [&[][..], &["collects"]] {
                let arguments = [&[which, end], collects].concat();
                let run = [&["run", "--leak-check", "program.c", "--"], &arguments[..]].concat();
                assert_eq!(folder.tally(&run), expected, "tally run, {arguments:?}");
                let ran = folder.program(&[("TALLY_LEAK_CHECK", "1")], &arguments);
                assert_eq!(ran, expected, "built, {arguments:?}");
            }
        }
    }
}

/// The callback that leaves never returns; the finalizer that runs at the end drops an object whose weak reference has
/// a callback, too.
const LEFT_BY_A_CALLBACK: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <tally.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
static Node *held, *other;
typedef struct Keeper { struct Keeper *next; } Keeper;
static void closed(Keeper *keeper) {
    puts("closed");
    TALLY_WRITE_GLOBAL(other, NULL);
}
TALLY_FINALIZED_TYPE(Keeper, closed, next);
static Keeper *keeper;
static void leaves(void *weak) {
    puts("held is gone");
    exit(0);
}
static void told(void *weak) { puts("other is gone"); }
int main(void) {
    TALLY_WRITE_GLOBAL(held, TALLY_NEW(Node));
    TALLY_WRITE_GLOBAL(other, TALLY_NEW(Node));
    TALLY_WRITE_GLOBAL(keeper, TALLY_NEW(Keeper));
    tally_global_new(tally_weak_new_with(held, leaves));
    tally_global_new(tally_weak_new_with(other, told));
    TALLY_WRITE_GLOBAL(held, NULL);
    tally_collect();
    puts("never reached");
}
"#;

#[test]
fn exit_inside_a_weak_callback_leaves_the_other_callbacks_to_run() {
    let folder = Folder::with(&[("program.c", LEFT_BY_A_CALLBACK)]);
    // No epoch comes after the last finalizers, which would find the object that they dropped.
    let told = if plan() == Plan::Prompt { "other is gone\n" } else { "" };
    let expected = prints(&format!("held is gone\nclosed\n{told}"));
    assert_eq!(folder.tally(&["run", "program.c"]), expected);
    folder.build(&["program.c"]);
    assert_eq!(folder.program(&[], &[]), expected);
}

const OF_A_MODULE: &str = r#"
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"File\00"
@refs = private constant [1 x i32] [i32 0]
@file = private constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 1, i32 0, ptr @refs,
                                       i64 0, i64 0, ptr null, ptr @name, ptr @close, ptr null, ptr null, ptr null }
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)
declare void @host_closed(i64)
define void @close(ptr %file) gc "refcount" {
  %field = getelementptr i8, ptr %file, i64 8
  %number = load i64, ptr %field
  call void @host_closed(i64 %number)
  ret void
}
define ptr @open_file(ptr %next, i64 %number) gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %next, ptr %root
  %file = call ptr @tally_new(ptr @file)
  %field = getelementptr i8, ptr %file, i64 8
  store i64 %number, ptr %field
  call void @llvm.gcwrite(ptr %next, ptr %file, ptr %file)
  ret ptr %file
}
declare void @llvm.gcroot(ptr, ptr)
"#;

thread_local! {
    static CLOSED: std::cell::RefCell<Vec<u64>> = const { std::cell::RefCell::new(vec![]) };
}

unsafe extern "C" fn host_closed(number: u64) {
    CLOSED.with_borrow_mut(|closed| closed.push(number));
}

/// scenario 80: the module's code goes, and objects of its types stay.
#[test]
fn a_module_that_is_removed_finalizes_its_objects_before_and_none_after() {
    let test = || {
        let mut session = Session::new(options()).unwrap();
        session.define("host_closed", host_closed as *const ()).unwrap();
        // SAFETY: the suite's own modules.
        let add =
            |session: &mut Session, name: &str, text: &str| unsafe { session.add(name, text.as_bytes()) }.unwrap();
        add(&mut session, "keeper", KEEPER);
        let module = add(&mut session, "files", OF_A_MODULE);
        // SAFETY: the module defines it with that type.
        let keep: unsafe extern "C" fn(u64) = unsafe { std::mem::transmute(session.lookup("keep").unwrap()) };
        // SAFETY: the module defines it with that type.
        let open_file: unsafe extern "C" fn(u64, u64) -> u64 =
            unsafe { std::mem::transmute(session.lookup("open_file").unwrap()) };
        // SAFETY: compiled with that type; a result is used before the next safepoint starts.
        let open = |next, number| unsafe { open_file(next, number) };
        let files = open(open(open(0, 1), 2), 3);
        // SAFETY: compiled with that type; there was no safepoint since the files were made.
        unsafe { keep(files) };
        open(0, 4);
        let forgotten = open(0, 5);
        // SAFETY: [HEADER] an object, as there was no safepoint since it was made.
        unsafe { tally_compiled::abi::tally_finalize_forget(forgotten) };
        // SAFETY: none of its functions runs or will.
        unsafe { session.remove(module) }.unwrap();
        let mut closed = CLOSED.take();
        closed.sort_unstable();
        assert_eq!(closed, [1, 2, 3, 4]);
        let live = || {
            // SAFETY: nothing of this thread's frames holds references.
            unsafe { tally_collect() };
            // SAFETY: [ALONE] borrowed for this statement alone.
            unsafe { thread_heap() }.statistics.live_objects
        };
        assert_eq!(live(), 3);
        // SAFETY: [ALONE] borrowed for this statement alone.
        unsafe { keep(0) };
        assert_eq!(live(), 0);
        assert!(CLOSED.take().is_empty());
    };
    std::thread::spawn(test).join().unwrap();
}

fn sort_lines(text: &mut String) {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    *text = lines.join("\n") + "\n";
}
