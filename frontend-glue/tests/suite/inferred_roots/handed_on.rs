//! References that are handed to a call and to nothing else: by way of a variable, of an argument, of a function of the C library.

use super::prints;
use tally_kit::folder::Folder;

const START: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tally_gc.h>
#define NI __attribute__((noinline))
"#;

/// Typed objects.
const NODES: &str = r#"
typedef struct Node { long value; TALLY_REF(struct Node) next; } Node;
TALLY_TYPE(Node, next);
typedef TALLY_REF(Node) Ref;
static NI Ref make(long value) { Ref node = TALLY_NEW_REF(Node); node->value = value; return node; }
"#;

/// Strings, and what takes the place of those that have died.
const TEXTS: &str = r#"
typedef struct Text { uint64_t length; char at[]; } Text;
TALLY_DATA_ARRAY_TYPE(Text, length, at);
static NI Text *text(const char *from) {
    Text *made = TALLY_NEW_ARRAY(Text, 64);
    memcpy(made->at, from, strlen(from) + 1);
    return made;
}
static NI void garbage(void) {
    for (int i = 0; i < 50; i++) text("zzzzzz");
    tally_collect();
    for (int i = 0; i < 50; i++) text("yyyyyy");
}
"#;

/// A variable of which the address went out is the only root, and is overwritten before the call, or by it.
const OUT_OF_A_VARIABLE: &str = r#"
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
static NI Node *make(long value) { Node *node = TALLY_NEW(Node); node->value = value; return node; }
static NI void set(Node **place, long value) { *place = make(value); }
static NI long use(Node *node) {
    for (int i = 0; i < 100; i++) make(-1);
    tally_collect();
    for (int i = 0; i < 100; i++) make(-1);
    return node->value;
}
static NI long use_number(uintptr_t node) { return use((Node *)node); }
static NI long overwritten(void) { Node *a = NULL; set(&a, 5); Node *p = a; a = NULL; return use(p); }
static NI long swapped(void) { Node *a = NULL; set(&a, 5); Node *p = a; set(&a, 6); return use(p) * 10 + a->value; }
static NI long out_of_scope(void) { Node *p; { Node *a = NULL; set(&a, 5); p = a; } return use(p); }
static NI long as_a_number(void) { Node *a = NULL; set(&a, 5); Node *p = a; a = NULL; return use_number((uintptr_t)p); }
int main(void) { printf("%ld %ld %ld %ld\n", overwritten(), swapped(), out_of_scope(), as_a_number()); }
"#;

#[test]
fn argument_that_was_read_from_a_variable_lives_through_the_call() {
    let folder = Folder::with(&[("variable.c", &format!("{START}{OUT_OF_A_VARIABLE}"))]);
    prints(&folder, "variable.c", &["--roots", "auto"], "5 56 5 5\n");
}

/// Typed references that are made of plain arguments, alone and where ways meet, are written through.
const OUT_OF_AN_ARGUMENT: &str = r#"
static NI void set(void *argument, Ref next) { Ref node = (Ref)argument; node->next = next; }
static NI void set_either(void *argument, Ref other, Ref next, int which) {
    Ref node = which ? (Ref)argument : other;
    node->next = next;
}
static NI void set_plainly_chosen(void *argument, void *other, Ref next, int which) {
    void *chosen = which ? argument : other;
    ((Ref)chosen)->next = next;
}
static NI void set_after(void *argument, Ref next) {
    for (int i = 0; i < 100; i++) make(-1);
    set(argument, next);
    for (int i = 0; i < 100; i++) make(-1);
    Ref node = (Ref)argument;
    node->next->next = next;
}
int main(void) {
    Ref x = make(1), y = make(2), z = make(3), u = make(4);
    for (int i = 0; i < 10; i++) {
        set((void *)x, make(i));
        set_either((void *)y, x, make(10 + i), 1);
        set_plainly_chosen((void *)y, (void *)z, make(20 + i), 0);
        set_after((void *)u, make(30 + i));
    }
    for (int i = 0; i < 20000; i++) make(-1)->next = x;
    printf("%ld %ld %ld %ld %d\n", x->next->value, y->next->value, z->next->value, u->next->value, u->next->next == u->next);
}
"#;

#[test]
fn store_through_a_reference_made_of_an_argument_is_a_write() {
    let folder = Folder::with(&[("argument.c", &format!("{START}{NODES}{OUT_OF_AN_ARGUMENT}"))]);
    for options in [&["--roots", "auto"][..], &[]] {
        prints(&folder, "argument.c", options, "9 19 29 39 1\n");
    }
}

/// What `strtol` stores lies in the string that it was given.
const OUT_OF_A_STRING: &str = r#"
int main(void) {
    char *end;
    Text *number = text("123abc");
    long value = strtol(number->at, &end, 10);
    garbage();
    printf("%ld %c%c", value, end[0], end[2]);
    double real = strtod(text("2.5xyz")->at, &end);
    garbage();
    char c = *end;
    garbage();
    printf(" %.1f %c%c\n", real, c, end[2]);
}
"#;

#[test]
fn place_that_strtol_stores_keeps_the_string() {
    let folder = Folder::with(&[("string.c", &format!("{START}{TEXTS}{OUT_OF_A_STRING}"))]);
    prints(&folder, "string.c", &["--roots", "auto"], "123 ac 2.5 xz\n");
}

/// Typed references among variable arguments, and to a function that takes plain pointers: no callee makes roots for those.
const UNTYPED: &str = r#"
#include <stdarg.h>
static NI void garbage(void) {
    for (int i = 0; i < 50; i++) make(-7);
    tally_collect();
    for (int i = 0; i < 50; i++) make(-7);
}
static NI long digits(int count, ...) {
    va_list list;
    va_start(list, count);
    long all = 0;
    for (int i = 0; i < count; i++) {
        garbage();
        Ref node = va_arg(list, Ref);
        all = 10 * all + node->value;
    }
    va_end(list);
    return all;
}
static NI long plain(void *node) { garbage(); return ((Node *)node)->value; }
int main(void) {
    long (*volatile chosen)(Ref) = (long (*)(Ref))plain;
    long (*known)(Ref) = (long (*)(Ref))plain;
    printf("%ld %ld %ld\n", digits(3, make(1), make(2), make(3)), chosen(make(4)), known(make(5)));
}
"#;

#[test]
fn typed_reference_that_the_callee_does_not_take_as_one_lives_through_the_call() {
    let folder = Folder::with(&[("untyped.c", &format!("{START}{NODES}{UNTYPED}"))]);
    for options in [&["--no-warnings", "--roots", "auto"][..], &["--no-warnings"]] {
        prints(&folder, "untyped.c", options, "123 4 5\n");
    }
}

/// What functions of the C library return lies in an object, whatever headers make of them.
const OUT_OF_THE_LIBRARY: &str = r#"
static int by_byte(const void *one, const void *other) { return *(const char *)one - *(const char *)other; }
int main(void) {
    char *found = memmem(text("abcdef")->at, 6, "cd", 2);
    garbage();
    printf("%c%c", found[0], found[3]);
    char *key = "e", *place = bsearch(key, text("abcdef")->at, 6, 1, by_byte);
    garbage();
    printf(" %c%c", place[0], place[1]);
    char *end = stpcpy(text("")->at, "copied");
    garbage();
    printf(" %c%c", end[-6], end[-1]);
    char *whole = strcat(text("some")->at, "thing");
    garbage();
    printf(" %s\n", whole);
}
"#;

#[test]
fn place_that_the_library_returns_keeps_the_object() {
    let folder = Folder::with(&[("library.c", &format!("#define _GNU_SOURCE\n{START}{TEXTS}{OUT_OF_THE_LIBRARY}"))]);
    for fortified in ["-D_FORTIFY_SOURCE=2", "-D_FORTIFY_SOURCE=0"] {
        let options = ["--no-warnings", "--roots", "auto", fortified];
        prints(&folder, "library.c", &options, "cf ef cd something\n");
    }
}
