//! Roots that nobody writes: programs of typed references, and of plain ones with `--roots auto`, keep what they use under
//! every plan; where slots and stores are put; what is refused.

mod handed_on;
mod limits;
mod lost;
mod numbers;
mod shared_slots;
mod unions;
mod vectors;

use tally_kit::folder::Folder;
use tally_kit::ways::{by_turns, turn_of};

const PLANS: [&str; 3] = ["refcount", "refcount-prompt", "trace"];

/// A program that is compiled with typed references, or with plain ones: `REF(Node)` is a reference, `NEW` makes an object.
const EITHER: &str = "#ifndef REF
#define REF(Type) Type *
#define NEW TALLY_NEW
#else
#define NEW TALLY_NEW_REF
#endif
";

/// The same text with typed references.
fn typed(text: &str) -> String {
    format!("#define REF(Type) TALLY_REF(Type)\n{text}")
}

/// Runs `file` under each plan at each level, by turns with small epochs and with zeal, and built; each must end with status 0 and print
/// `expected`.
fn prints(folder: &Folder, file: &str, options: &[&str], expected: &str) {
    let ways: [&[&str]; 2] = [&["--epoch-bytes", "4KiB", "--leak-check"], &["--zeal"]];
    let levels = ["0", "1", "2", "3"].into_iter().enumerate();
    for (turn, plan) in PLANS.into_iter().enumerate().map(|(place, plan)| (place + turn_of(expected), plan)) {
        for (level, way) in levels
            .clone()
            .flat_map(|(place, level)| by_turns(ways, turn + place).into_iter().map(move |way| (level, way)))
        {
            let outcome = folder.tally(&[&["run", "--plan", plan, "--opt", level], options, way, &[file]].concat());
            let printed = (outcome.status, outcome.stdout.as_str());
            assert_eq!(printed, (Some(0), expected), "{plan} {level} {way:?}: {outcome:?}");
        }
    }
    let built = folder.tally(&[&["build"], options, &[file, "-o", "program"]].concat());
    assert_eq!(built.status, Some(0), "{}", built.stderr);
    let outcome = folder.program(&[("TALLY_EPOCH_BYTES", "4KiB")], &[]);
    assert_eq!(outcome.stdout, expected, "{}", outcome.stderr);
}

/// Typed references in fields, globals, arrays, structs in memory and in values, out-parameters and derived pointers. The field
/// writes are plain stores.
const TYPED: &str = r#"
#include <stdio.h>
#include <tally_gc.h>
typedef struct Node { TALLY_REF(struct Node) next; long value; } Node;
TALLY_TYPE(Node, next);
typedef struct Nodes { uint64_t length; TALLY_REF(Node) at[]; } Nodes;
TALLY_ARRAY_TYPE(Nodes, length, at);
typedef struct Pair { TALLY_REF(Node) first, second; } Pair;
typedef struct Many { TALLY_REF(Node) node[3]; long count; } Many;

static TALLY_REF(Node) kept;

static TALLY_REF(Node) push(TALLY_REF(Node) list, long value) {
    TALLY_REF(Node) node = TALLY_NEW_REF(Node);
    node->value = value;
    node->next = list;
    return node;
}
static void garbage(long n) {
    for (long i = 0; i < n; i++) {
        TALLY_REF(Node) one = push(NULL, i);
        one->next = push(one, i);
    }
}
static Pair pair_of(long n) {
    Pair pair;
    pair.first = push(NULL, n);
    garbage(50);
    pair.second = push(pair.first, n + 1);
    return pair;
}
static Many many_of(long n) {
    Many many = {{NULL, NULL, NULL}, 0};
    for (long i = 0; i < 3; i++, garbage(20)) many.node[many.count++] = push(NULL, n + i);
    return many;
}
static long sum_of(Many many) {
    garbage(50);
    return many.node[0]->value + many.node[1]->value + many.node[2]->value + many.count;
}
static void split(TALLY_REF(Node) list, TALLY_REF(Node) *odd, TALLY_REF(Node) *even) {
    for (; list; list = list->next) {
        TALLY_REF(Node) *to = list->value % 2 ? odd : even;
        *to = push(*to, list->value);
    }
}
/* A pointer to a field outlives calls, of one object or of another. */
static long field_of(TALLY_REF(Node) one, TALLY_REF(Node) other, int which) {
    long __attribute__((address_space(1))) *value = which ? &one->value : &other->value;
    one = other = NULL;
    garbage(50);
    return *value;
}
int main(void) {
    TALLY_REF(Node) list = NULL;
    for (long i = 1; i <= 100; i++, garbage(5)) list = push(list, i);
    TALLY_REF(Nodes) nodes = TALLY_NEW_ARRAY_REF(Nodes, 10);
    for (long i = 0; i < 10; i++) nodes->at[i] = push(i ? nodes->at[i - 1] : list, i);
    kept = nodes->at[9];
    TALLY_REF(Node) odd = NULL, even = NULL;
    split(nodes->at[9], &odd, &even);
    nodes = NULL, list = NULL;
    garbage(200);
    Pair pair = pair_of(7);
    garbage(100);
    long sum = 0, count = 0;
    for (TALLY_REF(Node) n = kept; n; n = n->next) sum += n->value, count++;
    for (TALLY_REF(Node) n = odd; n; n = n->next, count++) sum += n->value, garbage(1);
    for (TALLY_REF(Node) n = even; n; n = n->next, count++) sum += n->value, garbage(1);
    printf("%ld of %ld, %ld %ld\n", sum, count, pair.first->value, pair.second->next->value);
    printf("%ld %ld %ld\n", sum_of(many_of(10)), field_of(push(NULL, 1), push(NULL, 2), 1), field_of(push(NULL, 1), push(NULL, 2), 0));
    kept = NULL;
}
"#;

#[test]
fn typed_references_in_c_need_neither_roots_nor_write_macros() {
    prints(&Folder::with(&[("typed.c", TYPED)]), "typed.c", &[], "10190 of 220, 7 7\n36 1 2\n");
}

/// The same with plain pointers, whose writes go through the macro: the roots are inferred for all of them, and pointers into
/// objects are arguments.
#[test]
fn plain_pointers_in_c_need_no_roots_with_roots_auto() {
    const PLAIN: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tally_gc.h>
typedef struct Text { uint64_t length; char bytes[]; } Text;
TALLY_DATA_ARRAY_TYPE(Text, length, bytes);
typedef struct Node { struct Node *next; Text *text; } Node;
TALLY_TYPE(Node, next, text);

static Text *text_of(const char *bytes, uint64_t length) {
    Text *text = TALLY_NEW_ARRAY(Text, length + 1);
    memcpy(text->bytes, bytes, length);
    return text;
}
static Text *joined(const char *one, const char *other) {
    Text *text = TALLY_NEW_ARRAY(Text, strlen(one) + strlen(other) + 1);
    strcat(strcpy(text->bytes, one), other);
    return text;
}
static Node *push(Node *list, Text *text) {
    Node *node = TALLY_NEW(Node);
    TALLY_WRITE(node, text, text);
    TALLY_WRITE(node, next, list);
    return node;
}
/* What is found in a text outlives the reference to it. */
static long number_behind(Text *text, char sign) {
    char *at = strchr(text->bytes, sign), *end;
    text = NULL;
    joined("some", " garbage");
    long number = strtol(at + 1, &end, 10);
    joined("more", " garbage");
    return number + (*end == ';');
}
static int by_bytes(const void *one, const void *other) {
    joined("while", " sorting");
    return strcmp((*(Node **)one)->text->bytes, (*(Node **)other)->text->bytes);
}
int main(int count, char **words) {
    Node *list = NULL;
    for (long i = 0; i < 60; i++) {
        char digits[24];
        snprintf(digits, sizeof digits, "%ld", i * 7 % 60);
        Text *text = text_of(digits, strlen(digits));
        list = push(list, joined(text->bytes, "=x;"));
    }
    Node *nodes[60];
    long n = 0;
    for (Node *node = list; node; node = node->next) nodes[n++] = node;
    list = NULL;
    qsort(nodes, n, sizeof(Node *), by_bytes);
    long in_order = 0;
    for (long i = 1; i < n; i++) in_order += by_bytes(&nodes[i - 1], &nodes[i]) < 0;
    printf("%ld %s %s %ld %d\n", in_order, nodes[0]->text->bytes, nodes[59]->text->bytes,
           number_behind(joined("answer", ":42;"), ':'), words[count] == NULL);
}
"#;
    prints(&Folder::with(&[("plain.c", PLAIN)]), "plain.c", &["--roots", "auto"], "59 0=x; 9=x; 43 1\n");
}

/// Each pair of a bundle is left out once from the lowered program, and is missed: the object dies, and another takes its place.
#[test]
fn each_operand_that_is_left_out_is_missed() {
    const PROGRAM: &str = r#"
@Cell = external constant i8
!tally.types = !{!0}
!0 = !{ptr @Cell, !"size", i64 16, !"refs", !{i32 0}}
declare ptr addrspace(1) @tally_new(ptr)
declare void @tally_collect()

define ptr addrspace(1) @cell(ptr addrspace(1) %next, i64 %number) gc "refcount" {
  %cell = call ptr addrspace(1) @tally_new(ptr @Cell)
  store ptr addrspace(1) %next, ptr addrspace(1) %cell
  %value = getelementptr i8, ptr addrspace(1) %cell, i64 8
  store i64 %number, ptr addrspace(1) %value
  ret ptr addrspace(1) %cell
}
define void @churn() gc "refcount" {
  call void @tally_collect()
  %one = call ptr addrspace(1) @cell(ptr addrspace(1) null, i64 99)
  %two = call ptr addrspace(1) @cell(ptr addrspace(1) %one, i64 99)
  ret void
}
define i64 @number(ptr addrspace(1) %cell) gc "refcount" {
  %value = getelementptr i8, ptr addrspace(1) %cell, i64 8
  call void @churn()
  %number = load i64, ptr addrspace(1) %value
  ret i64 %number
}
define i64 @either(i1 %which) gc "refcount" {
  br i1 %which, label %first, label %second
first:
  %one = call ptr addrspace(1) @cell(ptr addrspace(1) null, i64 1)
  %field = getelementptr i8, ptr addrspace(1) %one, i64 8
  br label %both
second:
  %zero = call ptr addrspace(1) @cell(ptr addrspace(1) null, i64 0)
  %other = call ptr addrspace(1) @cell(ptr addrspace(1) %zero, i64 2)
  br label %both
both:
  %inner = phi ptr addrspace(1) [ %field, %first ], [ %other, %second ]
  call void @churn()
  %number = load i64, ptr addrspace(1) %inner
  ret i64 %number
}
define i32 @main() gc "refcount" {
entry:
  br label %make
make:
  %number = phi i64 [ 0, %entry ], [ %more, %make ]
  %list = phi ptr addrspace(1) [ null, %entry ], [ %new, %make ]
  %new = call ptr addrspace(1) @cell(ptr addrspace(1) %list, i64 %number)
  call void @churn()
  %more = add i64 %number, 1
  %enough = icmp eq i64 %more, 4
  br i1 %enough, label %next, label %make
next:
  %at = phi ptr addrspace(1) [ %new, %make ], [ %behind, %next ]
  %sum = phi i64 [ 0, %make ], [ %larger, %next ]
  call void @churn()
  %value = getelementptr i8, ptr addrspace(1) %at, i64 8
  %here = load i64, ptr addrspace(1) %value
  %larger = add i64 %sum, %here
  %behind = load ptr addrspace(1), ptr addrspace(1) %at
  %end = icmp eq ptr addrspace(1) %behind, null
  br i1 %end, label %done, label %next
done:
  %chosen = call i64 @either(i1 true)
  %last = call ptr addrspace(1) @cell(ptr addrspace(1) null, i64 3)
  %three = call i64 @number(ptr addrspace(1) %last)
  %seven = add i64 %larger, %chosen
  %ten = add i64 %seven, %three
  %wrong = sub i64 %ten, 10
  %status = trunc i64 %wrong to i32
  ret i32 %status
}
"#;
    let folder = Folder::with(&[("cells.ll", PROGRAM)]);
    let lowered = folder.tally(&["lower", "--stack-objects=off", "cells.ll", "-o", "lowered.ll"]);
    assert_eq!(lowered.status, Some(0), "{}", lowered.stderr);
    let ends_well = |text: &str| {
        std::fs::write(folder.path("damaged.ll"), text).unwrap();
        folder.build(&["--opt", "0", "damaged.ll"]);
        folder.program(&[("TALLY_ZEAL", "1")], &[]).status == Some(0)
    };
    let text = std::fs::read_to_string(folder.path("lowered.ll")).unwrap();
    assert!(ends_well(&text));
    let mut left_out = 0;
    for (begin, _) in text.match_indices("\"deopt\"(i64 ") {
        let operands = begin + "\"deopt\"(".len();
        let end = operands + text[operands..].find(')').unwrap();
        let words: Vec<&str> = text[operands..end].split(", ").collect();
        for pair in (0..words.len()).step_by(2) {
            let kept = [&words[..pair], &words[pair + 2..]].concat().join(", ");
            let damaged = format!("{}{kept}{}", &text[..operands], &text[end..]);
            assert!(!ends_well(&damaged), "without {:?} of {}", &words[pair..pair + 2], &text[begin - 90..end]);
            left_out += 1;
        }
    }
    assert_eq!(left_out, 5);
}

/// A loop's reference is stored where it is made, and not again where the next turn begins; one that only a branch needs is
/// stored in that branch.
#[test]
fn slots_are_shared_by_phis_and_stored_where_they_are_needed() {
    const PROGRAM: &str = r#"
declare void @use(ptr addrspace(1))
declare void @stop()
declare ptr addrspace(1) @make()
define void @loop(i64 %n) gc "refcount" {
entry:
  %first = call ptr addrspace(1) @make()
  br label %turn
turn:
  %i = phi i64 [ 0, %entry ], [ %more, %turn ]
  %kept = phi ptr addrspace(1) [ %first, %entry ], [ %next, %turn ]
  call void @use(ptr addrspace(1) %kept)
  %next = call ptr addrspace(1) @make()
  %more = add i64 %i, 1
  %enough = icmp eq i64 %more, %n
  br i1 %enough, label %done, label %turn
done:
  ret void
}
define void @branch(i1 %seldom) gc "refcount" {
entry:
  %object = call ptr addrspace(1) @make()
  br i1 %seldom, label %slow, label %done
slow:
  call void @stop()
  call void @use(ptr addrspace(1) %object)
  br label %done
done:
  ret void
}
"#;
    let folder = Folder::with(&[("slots.ll", PROGRAM)]);
    let lowered = folder.tally(&["lower", "slots.ll", "-o", "-"]);
    assert_eq!(lowered.status, Some(0), "{}", lowered.stderr);
    let function = |name: &str| {
        let begin = lowered.stdout.find(&format!("define void @{name}(")).expect("the function is there");
        lowered.stdout[begin..].split("\n}").next().unwrap().to_owned()
    };
    let looping = function("loop");
    assert_eq!(looping.matches(" = alloca ").count(), 1, "{looping}");
    let turn = looping.split("\nturn:").nth(1).unwrap();
    assert_eq!(turn.matches("store ptr addrspace(1)").count(), 1, "{looping}");
    assert!(turn.find("store ptr addrspace(1) %next") > turn.find("@use"), "{looping}");
    let branch = function("branch");
    let (before, slow) = branch.split_once("\nslow:").unwrap();
    assert!(!before.contains("store ptr addrspace(1) %object"), "{branch}");
    assert!(slow.contains("store ptr addrspace(1) %object"), "{branch}");
}

/// Phis that take each other's values: each has a slot of its own, and is stored where the turn begins.
#[test]
fn references_that_swap_places_in_a_loop() {
    const PROGRAM: &str = r#"
@Cell = external constant i8
!tally.types = !{!0}
!0 = !{ptr @Cell, !"size", i64 16, !"refs", !{i32 0}}
@text = private constant [11 x i8] c"%lld %lld\0A\00"
declare ptr addrspace(1) @tally_new(ptr)
declare void @tally_collect()
declare i32 @printf(ptr, ...)
define ptr addrspace(1) @cell(i64 %number) gc "refcount" {
  %cell = call ptr addrspace(1) @tally_new(ptr @Cell)
  %value = getelementptr i8, ptr addrspace(1) %cell, i64 8
  store i64 %number, ptr addrspace(1) %value
  ret ptr addrspace(1) %cell
}
define void @churn() gc "refcount" {
  call void @tally_collect()
  %one = call ptr addrspace(1) @cell(i64 99)
  %two = call ptr addrspace(1) @cell(i64 99)
  ret void
}
define i32 @main() gc "refcount" {
entry:
  %first = call ptr addrspace(1) @cell(i64 1)
  %second = call ptr addrspace(1) @cell(i64 2)
  br label %turn
turn:
  %i = phi i64 [ 0, %entry ], [ %more, %turn ]
  %left = phi ptr addrspace(1) [ %first, %entry ], [ %right, %turn ]
  %right = phi ptr addrspace(1) [ %second, %entry ], [ %left, %turn ]
  %kept = phi ptr addrspace(1) [ null, %entry ], [ %new, %turn ]
  call void @churn()
  %new = call ptr addrspace(1) @cell(i64 %i)
  call void @churn()
  %more = add i64 %i, 1
  %enough = icmp eq i64 %more, 5
  br i1 %enough, label %done, label %turn
done:
  call void @churn()
  %one.at = getelementptr i8, ptr addrspace(1) %left, i64 8
  %two.at = getelementptr i8, ptr addrspace(1) %right, i64 8
  %three.at = getelementptr i8, ptr addrspace(1) %new, i64 8
  %one = load i64, ptr addrspace(1) %one.at
  %two = load i64, ptr addrspace(1) %two.at
  %three = load i64, ptr addrspace(1) %three.at
  %ten = mul i64 %one, 10
  %both = add i64 %ten, %two
  %printed = call i32 (ptr, ...) @printf(ptr @text, i64 %both, i64 %three)
  ret i32 0
}
"#;
    prints(&Folder::with(&[("swap.ll", PROGRAM)]), "swap.ll", &[], "12 4\n");
}

/// A written root lives on while what a call made of it is used; only an object's own address crosses a call, so an inferred one
/// does not.
#[test]
fn a_result_does_not_keep_an_argument() {
    const PROGRAM: &str = r#"
declare ptr addrspace(1) @make(ptr addrspace(1))
declare void @stop()
define ptr addrspace(1) @f(ptr addrspace(1) %argument) gc "refcount" {
  call void @stop()
  %result = call ptr addrspace(1) @make(ptr addrspace(1) %argument)
  call void @stop()
  ret ptr addrspace(1) %result
}
"#;
    let folder = Folder::with(&[("m.ll", PROGRAM)]);
    let lowered = folder.tally(&["lower", "m.ll", "-o", "-"]);
    assert_eq!(lowered.status, Some(0), "{}", lowered.stderr);
    let stops: Vec<&str> = lowered.stdout.lines().filter(|line| line.contains("call void @stop()")).collect();
    assert!(stops[0].contains("%argument") && !stops[1].contains("%argument"), "{stops:#?}");
    assert!(stops[1].contains("%result"), "{stops:#?}");
}

/// Texts on the heap, for programs whose pointers are plain.
const TEXTS: &str = r#"
#include <stdio.h>
#include <string.h>
#include <tally_gc.h>
typedef struct Text { uint64_t length; char bytes[]; } Text;
TALLY_DATA_ARRAY_TYPE(Text, length, bytes);
static char *text_of(const char *bytes) {
    Text *text = TALLY_NEW_ARRAY(Text, strlen(bytes) + 1);
    strcpy(text->bytes, bytes);
    return (char *)text;
}
"#;

/// A plain argument may lead into an object, which its caller keeps. Where it merges with objects of the callee's own, the root
/// holds those alone.
#[test]
fn a_pointer_into_an_argument_merges_with_objects() {
    const PROGRAM: &str = r#"
/* `at` leads into an object that the caller keeps, and later to objects of its own. */
static __attribute__((noinline)) long sum_of(const char *at, long turns) {
    long sum = 0;
    for (long i = 0; i < turns; i++) {
        text_of("some garbage, and more");
        sum += at[8];
        at = text_of("another");
    }
    return sum;
}
int main(void) {
    Text *text = (Text *)text_of("01234567b");
    printf("%ld\n", sum_of(text->bytes, 3));
}
"#;
    prints(&Folder::with(&[("inner.c", &[TEXTS, PROGRAM].concat())]), "inner.c", &["--roots", "auto"], "292\n");
}

/// With every pointer a reference a local table of names is a root, until LLVM sees that the program only reads what it was filled
/// with, and names the constant in its place: in a function of its own, inlined, and of a part of a larger constant.
#[test]
fn local_tables_that_become_constants() {
    const PROGRAM: &str = r#"
static const char *pick(const char **names, int at) { return names[at]; }
static __attribute__((noinline)) const char *number(int at) {
    const char *names[] = {"zero", "one", "two", "three", "four", "five"};
    text_of("garbage");
    return names[at];
}
static __attribute__((noinline)) const char *colour(int at) {
    struct { const char *name; int code; } colours[] = {{"red", 1}, {"green", 2}, {"blue", 3}, {"grey", 4}};
    text_of("garbage");
    const char *names[] = {"a", "b", "c", "d", "e", "f", "g"};
    char *kept = text_of("more");
    text_of("garbage");
    return kept[8] == 'm' && pick(names, at)[0] ? colours[at].name : "";
}
int main(void) {
    for (int i = 0; i < 4; i++) printf("%s %s\n", number(i), colour(i));
}
"#;
    let expected = "zero red\none green\ntwo blue\nthree grey\n";
    prints(&Folder::with(&[("tables.c", &[TEXTS, PROGRAM].concat())]), "tables.c", &["--roots", "auto"], expected);
}
