//! Roots whose address goes to a helper in C that has no roots, or to a managed callee: what these store there is counted,
//! lives, and dies as if the caller had stored it.

use tally_kit::folder::Folder;

/// Under the prompt plan each safepoint walked the stack while such a function ran: 10 to 100 times the time.
const PROGRAM: &str = r#"
#include <stdint.h>
#include <stdio.h>
#include <tally_gc.h>
typedef uint64_t Word;
TALLY_TAGGED_TYPE(Word, 7, 0, ~UINT64_C(7));
typedef struct Node { struct Node *next; long number; } Node;
TALLY_TYPE(Node, next);
typedef struct Box { Word word; long number; } Box;
TALLY_TYPE_TAGGED(Box, Word, word);
typedef struct Three { Node *at[3]; } Three;
TALLY_TYPE(Three, at[0], at[1], at[2]);

static Node *node(Node *next, long number) {
    TALLY_ROOT(next);
    Node *node = TALLY_NEW(Node);
    node->number = number;
    TALLY_WRITE(node, next, next);
    return node;
}
static void churn(void) { for (long i = 0; i < 20; i++) node(node(NULL, i), i); }

/* Helpers: no roots, no safepoints. */
__attribute__((noinline)) static int find(Node *list, long number, Node **hit) {
    for (; list; list = list->next) if (list->number == number) { *hit = list; return 1; }
    return 0;
}
__attribute__((noinline)) static int find_deep(Node *list, long number, Node **hit) {
    if (!list) return 0;
    if (list->number == number) { *hit = list; return 1; }
    return find_deep(list->next, number, hit);
}
__attribute__((noinline)) static void take_word(Box *box, Word *word) { *word = box->word; }
__attribute__((noinline)) static void take_all(Node *list, Three *three) {
    for (int i = 0; i < 3; i++, list = list->next) three->at[i] = list;
}
/* One that makes objects by a gc function, between its stores. */
__attribute__((noinline)) static void fill(Node **first, Node **second) {
    *first = node(NULL, 7);
    *second = node(NULL, 8);
    churn();
}

int main(void) {
    Node *list = NULL, *hit = NULL, *other = NULL; Box *box = NULL; Word word = 0; Three three = {{NULL, NULL, NULL}};
    TALLY_ROOT(list, hit, other, box);
    TALLY_ROOT_TAGGED(Word, word);
    TALLY_ROOT_AS(Three, three);
    long sum = 0;
    for (long round = 0; round < 5; round++) {
        list = NULL;
        for (long i = 0; i < 10; i++) list = node(list, i);
        box = TALLY_NEW(Box);
        TALLY_WRITE_TAGGED(box, word, (Word)list->next->next->next);
        take_word(box, &word);
        take_all(list->next, &three);
        if (!find(list, 4, &hit) || !find_deep(list, 5, &other)) return 1;
        list = NULL;
        box = NULL;
        churn();
        sum += hit->number + other->number + ((Node *)word)->number + three.at[2]->number;
        hit = other = NULL;
        word = 3;                       /* a number */
        three.at[0] = three.at[1] = three.at[2] = NULL;
        fill(&hit, &other);
        sum += 100 * (hit->number + other->number);
    }
    printf("%ld\n", sum);
}
"#;

#[test]
fn what_a_native_helper_stores_to_a_root_lives_as_long_as_the_root() {
    prints_in_every_way(PROGRAM, "7605\n");
}

/// The same with callees that have roots and come to safepoints behind their stores, and roots of all shapes.
const MANAGED: &str = r#"
#include <stdint.h>
#include <stdio.h>
#include <tally_gc.h>
typedef uint64_t Word;
TALLY_TAGGED_TYPE(Word, 7, 2, ~UINT64_C(7));
typedef uint64_t Boxed;
TALLY_TAGGED_TYPE(Boxed, UINT64_C(0xffff) << 48, UINT64_C(0xfffc) << 48, (UINT64_C(1) << 48) - 1);
typedef struct Value { int tag; union { struct Node *node; long number; double real; }; } Value;
TALLY_PAIR_TYPE(Value, tag, node, 1, 1);
typedef struct Node { struct Node *next; long number; } Node;
TALLY_TYPE(Node, next);
typedef struct Three { Node *at[3]; } Three;
TALLY_TYPE(Three, at[0], at[1], at[2]);

#define APART __attribute__((noinline)) static
APART Node *node(Node *next, long number) {
    TALLY_ROOT(next);
    Node *node = TALLY_NEW(Node);
    node->number = number;
    TALLY_WRITE(node, next, next);
    return node;
}
APART void churn(void) { for (long i = 0; i < 20; i++) node(node(NULL, i), i); }

APART void to_word(Word *out, long number) { *out = (Word)node(NULL, number) | 2; churn(); }
APART void to_boxed(Boxed *out, long number) {
    *out = (UINT64_C(0xfffc) << 48) | (uint64_t)node(NULL, number);
    churn();
}
APART void to_value(Value *out, long number) {
    *out = (Value){1, {.node = node(NULL, number)}};
    churn();
    if (number & 1) { out->tag = 2; out->number = number; churn(); }
}
APART void to_value_passed_on(long unused, Value *out, long number) { (void)unused; to_value(out, number); churn(); }
APART void to_third(Node **part, long number) { *part = node(NULL, number); churn(); }
APART void to_three(Three *out, long number) {
    Three made = {{NULL, NULL, NULL}};
    TALLY_ROOT_AS(Three, made);
    for (int i = 0; i < 3; i++) to_third(&made.at[i], number + i);
    *out = made;
    made = (Three){{NULL, NULL, NULL}};
    churn();
}
APART void to_node(Node **out, long number) { *out = node(NULL, number); churn(); }
APART void clear_node(Node **out) { __builtin_memset(out, 0, sizeof *out); churn(); }
/* Only reads. */
APART long read(const Value *value, const Word *word, const Three *three) {
    churn();
    long sum = value->tag == 1 ? value->node->number : value->number;
    Node *first = node(NULL, ((Node *)(*word - 2))->number);
    sum += first->number;
    for (int i = 0; i < 3; i++) { churn(); sum += three->at[i]->number; }
    return sum;
}
APART void clear(Value *value, Three *three) { *value = (Value){0, {.number = 0}}; *three = (Three){{NULL, NULL, NULL}}; churn(); }
APART long deep(Value *value, Word *word, Three *three, Boxed *boxed, int depth) {
    Value own = {0, {.number = 0}};
    TALLY_ROOT_AS(Value, own);
    if (depth > 0) {
        to_value(&own, depth);
        long below = deep(value, word, three, boxed, depth - 1);
        return below + (own.tag == 1 ? own.node->number : own.number);
    }
    to_value_passed_on(1, value, 4);
    to_word(word, 5);
    to_three(three, 6);
    to_boxed(boxed, 9);
    return 0;
}
int main(void) {
    Word word = 1; Boxed boxed = 0; Value value = {0, {.number = 0}}; Three three = {{NULL, NULL, NULL}}; Node *one = NULL;
    TALLY_ROOT(one);
    TALLY_ROOT_TAGGED(Word, word);
    TALLY_ROOT_TAGGED(Boxed, boxed);
    TALLY_ROOT_AS(Value, value);
    TALLY_ROOT_AS(Three, three);
    long sum = 0;
    for (int round = 0; round < 4; round++) {
        sum += deep(&value, &word, &three, &boxed, 5);
        churn();
        sum += read(&value, &word, &three) + ((Node *)(boxed & ((UINT64_C(1) << 48) - 1)))->number;
        to_value(&value, 3);
        sum += 1000 * read(&value, &word, &three);
        clear(&value, &three);
        to_node(&one, 3);
        sum += one->number;
        clear_node(&one);
        word = 1;
        boxed = 0;
        churn();
    }
    printf("%ld\n", sum);
}
"#;

#[test]
fn what_a_managed_callee_stores_to_a_root_of_any_shape_lives_as_long_as_the_root() {
    prints_in_every_way(MANAGED, "116228\n");
}

/// The runtime holds what a callee has stored to a root by its address. Behind the call nothing was pending, as far as the lowering knew, so
/// that held on as long as the next call took, however often that collected.
const LET_GO: &str = r#"
#include <stdio.h>
#include <tally_gc.h>
#define APART __attribute__((noinline))
typedef struct Box { struct Box *inner; long number; } Box;
static void box_died(Box *box) { printf("%ld died\n", box->number); }
TALLY_FINALIZED_TYPE(Box, box_died, inner);
typedef struct Two { Box *first, *second; } Two;
TALLY_TYPE(Two, first, second);
APART void open_box(Box **to, long number) {
    Box *box = TALLY_NEW(Box);
    box->number = number;
    *to = box;
}
static APART void open_two(Two *to) {
    Box *box = TALLY_NEW(Box);
    box->number = 3;
    to->second = box;
}
static APART void work(void) {
    for (int i = 0; i < 3; i++) tally_collect();
    puts("worked");
}
static APART long is_cleared(void) {
    Box *box = NULL;
    TALLY_ROOT(box);
    open_box(&box, 1);
    long number = box->number;
    box = NULL;
    work();
    return number;
}
static APART long goes_out_of_scope(void) {
    long number;
    {
        Box *box = NULL;
        TALLY_ROOT(box);
        open_box(&box, 2);
        number = box->number;
    }
    work();
    return number;
}
static APART long of_two_words(void) {
    Two two = {NULL, NULL};
    TALLY_ROOT_AS(Two, two);
    open_two(&two);
    long number = two.second->number;
    two.second = NULL;
    work();
    return number;
}
int main(void) {
    long sum = is_cleared() + goes_out_of_scope() + of_two_words();
    printf("%ld\n", sum);
}
"#;

#[test]
fn what_a_managed_callee_has_stored_dies_when_the_root_lets_go_of_it() {
    prints_in_every_way(LET_GO, "1 died\nworked\n2 died\nworked\n3 died\nworked\n6\n");
}

#[track_caller]
fn prints_in_every_way(program: &str, expected: &str) {
    let folder = Folder::with(&[("program.c", program)]);
    let ways: [&[&str]; 2] = [&["--epoch-bytes", "4KiB", "--leak-check"], &["--zeal"]];
    for plan in ["refcount", "refcount-prompt", "trace"] {
        for (level, way) in ["0", "1", "2", "3"].into_iter().flat_map(|level| ways.map(|way| (level, way))) {
            let outcome = folder.tally(&[&["run", "--plan", plan, "--opt", level], way, &["program.c"]].concat());
            assert_eq!(
                (outcome.status, outcome.stdout.as_str()),
                (Some(0), expected),
                "{plan} {level} {way:?}: {outcome:?}"
            );
        }
    }
}
