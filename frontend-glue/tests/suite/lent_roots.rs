//! Roots whose address goes to helpers in C that have no roots: the helper's store is as if the caller had stored.

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
    let folder = Folder::with(&[("program.c", PROGRAM)]);
    let ways: [&[&str]; 2] = [&["--epoch-bytes", "4KiB", "--leak-check"], &["--zeal"]];
    for plan in ["refcount", "refcount-prompt", "trace"] {
        for (level, way) in ["0", "1", "2", "3"].into_iter().flat_map(|level| ways.map(|way| (level, way))) {
            let outcome = folder.tally(&[&["run", "--plan", plan, "--opt", level], way, &["program.c"]].concat());
            assert_eq!(
                (outcome.status, outcome.stdout.as_str()),
                (Some(0), "7605\n"),
                "{plan} {level} {way:?}: {outcome:?}"
            );
        }
    }
}
