/* Roots of every kind in frames of a stopped stack, at some depth: what they hold lives while the stack does, and dies with it. */
#include <stdio.h>
#include <stdlib.h>
#include <tally_gc.h>

typedef struct Node { struct Node *next; long value; } Node;
static long finalized;
static void finalize(Node *node) { finalized++; }
TALLY_FINALIZED_TYPE(Node, finalize, next);
typedef struct Pair { Node *first; long number; Node *second; } Pair;
TALLY_TYPE(Pair, first, second);
typedef uint64_t Word;
TALLY_TAGGED_TYPE(Word, 1, 0, ~7ull);

static Node *node(long value) {
    Node *made = TALLY_NEW(Node);
    made->value = value;
    return made;
}
static void set(Node **out, Node *value) { *out = value; }
static void check(Node *it, long value) {
    if (!it || it->value != value) { printf("%ld is lost\n", value); exit(1); }
}
/* Its argument is a temporary of the caller. */
static long take(Node *given, long depth) {
    TALLY_ROOT(given);
    tally_stack_switch(NULL, NULL);
    check(given, depth * 10 + 7);
    return given->value;
}
static void done(int *flag) { puts("a cleanup has run"); }
static int cleaned;

/* Eight objects a level. */
static long descend(Node *parameter, long depth) {
    Node *plain = NULL, *lent = NULL, *array[2] = {NULL, NULL}, *iterator = NULL;
    Pair pair = {NULL, 0, NULL};
    Word word = 1;
    __attribute__((cleanup(done))) int flag = 0;
    TALLY_ROOT(parameter, plain, lent, iterator);
    TALLY_ROOT_TAGGED(Word, word);
    TALLY_ROOT_AS(Pair, pair);
    plain = node(depth * 10);
    set(&lent, node(depth * 10 + 1));
    pair.first = node(depth * 10 + 2);
    pair.second = node(depth * 10 + 3);
    word = (Word)node(depth * 10 + 4);
    for (iterator = node(depth * 10 + 5); iterator; iterator = iterator->next) {
        tally_stack_switch(NULL, NULL);
        check(iterator, depth * 10 + 5);
    }
    iterator = node(depth * 10 + 6);
    long sum = take(node(depth * 10 + 7), depth);
    if (depth) sum += descend(plain, depth - 1);
    else tally_stack_switch(NULL, NULL);
    check(plain, depth * 10), check(lent, depth * 10 + 1), check(pair.first, depth * 10 + 2), check(pair.second, depth * 10 + 3);
    check((Node *)word, depth * 10 + 4), check(iterator, depth * 10 + 6);
    if (parameter) check(parameter, depth * 10 + 10);
    if (cleaned) abort();
    return sum;
}
static void *entry(void *value) { return node(descend(NULL, 5)); }

int main(void) {
    void *stack = NULL;
    Node *got = NULL;
    TALLY_ROOT(stack, got);
    stack = tally_stack_new(entry, 0);
    /* Two stops a level, one at the bottom. */
    for (int i = 0; i < 13; i++) {
        tally_stack_switch(stack, NULL);
        if (i % 3 == 0) tally_collect();
        for (int j = 0; j < 50; j++) node(j);
    }
    /* Of the eight objects of each level six live; the other two were overwritten, or passed on. */
    tally_collect();
    for (int j = 0; j < 100; j++) node(j);
    tally_collect();
    long here = finalized;
    if (tally_stack_status(stack) != TALLY_STACK_SUSPENDED) puts("not suspended");
    stack = NULL;
    tally_collect();
    tally_collect();
    printf("%ld die with the stack\n", finalized - here);
    return 0;
}
