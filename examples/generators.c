/* Generators: functions that stop in the middle and go on, each on a stack of its own.
 *
 *     tally run examples/generators.c
 *     tally run --plan refcount-prompt examples/generators.c
 *
 * `walk` is plain recursion over a tree. That it hands its items out one by one is a matter of where it runs: tally_stack_new makes a
 * stack, tally_stack_switch goes there, and tally_stack_switch(NULL, item) comes back with an item. A generator that is dropped
 * half-way dies as any object does, with what its frames hold. */
#include <stdio.h>
#include <tally_gc.h>

typedef struct Tree {
    struct Tree *left, *right;
    long key;
} Tree;
TALLY_TYPE(Tree, left, right);

/* A generator with what it needs of its maker. Objects are passed as one argument: the value of the first switch. */
typedef struct Closure {
    struct Closure *source;
    void *stack;
    Tree *tree;
    long low, high;
} Closure;
TALLY_TYPE(Closure, source, stack, tree);

typedef struct Number {
    long value;
} Number;
TALLY_TYPE(Number);

static Tree *insert(Tree *tree, long key) {
    TALLY_ROOT(tree);
    if (!tree) {
        tree = TALLY_NEW(Tree);
        tree->key = key;
    } else if (key < tree->key) {
        TALLY_WRITE(tree, left, insert(tree->left, key));
    } else {
        TALLY_WRITE(tree, right, insert(tree->right, key));
    }
    return tree;
}

static Number *number(long value) {
    Number *made = TALLY_NEW(Number);
    made->value = value;
    return made;
}

/* Yields the keys in order. */
static void walk(Tree *tree) {
    TALLY_ROOT(tree);
    if (!tree) return;
    walk(tree->left);
    tally_stack_switch(NULL, number(tree->key));
    walk(tree->right);
}

static void *keys(void *closure) {
    Closure *self = closure;
    TALLY_ROOT(self);
    walk(self->tree);
    return NULL;
}

/* A generator over another. */
static Number *next(Closure *generator) { return tally_stack_switch(generator->stack, generator); }

static void *between(void *closure) {
    Closure *self = closure;
    Number *item = NULL;
    TALLY_ROOT(self, item);
    while ((item = next(self->source)))
        if (item->value >= self->low && item->value <= self->high) tally_stack_switch(NULL, item);
    return NULL;
}

static Closure *make(void *(*entry)(void *), Closure *source, Tree *tree) {
    Closure *made = NULL;
    TALLY_ROOT(source, tree, made);
    made = TALLY_NEW(Closure);
    made->low = made->high = 0;
    TALLY_WRITE(made, source, source);
    TALLY_WRITE(made, tree, tree);
    TALLY_WRITE(made, stack, tally_stack_new(entry, 0));
    return made;
}

/* Whether two trees of any shapes have the same keys, without a list of either. */
static int are_same(Tree *one, Tree *other) {
    Closure *first = NULL, *second = NULL;
    Number *a = NULL, *b = NULL;
    TALLY_ROOT(one, other, first, second, a, b);
    first = make(keys, NULL, one);
    second = make(keys, NULL, other);
    do {
        a = next(first);
        b = next(second);
        if (!a != !b || (a && a->value != b->value)) return 0; /* Both generators are dropped where they are. */
    } while (a);
    return 1;
}

int main(void) {
    Tree *one = NULL, *other = NULL;
    Closure *some = NULL;
    Number *item = NULL;
    TALLY_ROOT(one, other, some, item);
    for (long i = 0; i < 40; i++) {
        one = insert(one, i * 37 % 41);
        other = insert(other, (39 - i) * 37 % 41);
    }
    some = make(between, make(keys, NULL, one), NULL);
    some->low = 20, some->high = 30;
    while ((item = next(some))) printf("%ld ", item->value);
    printf("\nstatus %d\n", tally_stack_status(some->stack));

    printf("same: %d\n", are_same(one, other));
    other = insert(other, 1000);
    int different = 0;
    for (int i = 0; i < 20; i++) different += !are_same(one, other);
    printf("different: %d of 20\n", different);
    return 0;
}
