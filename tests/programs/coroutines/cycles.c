/* Cycles of objects, stopped stacks and their frames are garbage like any others. */
#include <stdio.h>
#include <tally_gc.h>

typedef struct Node { struct Node *next; void *stack; long value; } Node;
static long finalized, closed;
static void finalize(Node *node) {
    finalized++;
    /* A stack that dies with this object may be looked at and closed. */
    if (node->value == 99 && node->stack) {
        if (tally_stack_status(node->stack) == TALLY_STACK_SUSPENDED) closed++;
        tally_stack_close(node->stack);
    }
}
TALLY_FINALIZED_TYPE(Node, finalize, next, stack);

static Node *node(long value) {
    Node *made = TALLY_NEW(Node);
    made->value = value;
    return made;
}

/* A frame that holds its own stack. */
static void *holds_itself(void *value) {
    void *me = NULL;
    Node *mine = value;
    TALLY_ROOT(me, mine);
    me = tally_stack_current();
    tally_stack_switch(NULL, NULL);
    return me ? mine : NULL;
}
/* A frame that holds an object that leads to its stack: a closure over its variable. */
static void *holds_closure(void *value) {
    Node *closure = value;
    TALLY_ROOT(closure);
    closure->value = 99;
    TALLY_WRITE(closure, stack, tally_stack_current());
    tally_stack_switch(NULL, NULL);
    return closure;
}
/* Two stacks that hold each other, by objects. */
static void *holds_other(void *value) {
    Node *ring = value;
    TALLY_ROOT(ring);
    tally_stack_switch(NULL, NULL);
    return ring;
}
/* A collection on one stack finds others dead. */
static void *collects(void *value) {
    Node *mine = value;
    TALLY_ROOT(mine);
    for (;;) {
        tally_collect();
        tally_stack_switch(NULL, mine);
    }
}
/* Delegates: each waits for the next, and the last is left by all. */
static void *delegates(void *value) {
    Node *level = value, *inner = NULL;
    void *below = NULL;
    TALLY_ROOT(level, inner, below);
    if (level->value == 0) {
        tally_stack_switch(tally_stack_current() ? level->stack : NULL, level);
        return level;
    }
    inner = node(level->value - 1);
    TALLY_WRITE(inner, next, level);
    TALLY_WRITE(inner, stack, level->stack);
    below = tally_stack_new(delegates, 0);
    tally_stack_switch(below, inner);
    return inner;
}

int main(void) {
    void *collector = NULL, *one = NULL, *other = NULL, *own = NULL;
    Node *first = NULL, *second = NULL;
    TALLY_ROOT(collector, one, other, first, second, own);
    own = tally_stack_current();
    collector = tally_stack_new(collects, 0);
    long made = 0;
    for (int i = 0; i < 20; i++) {
        one = tally_stack_new(holds_itself, 0);
        tally_stack_switch(one, node(1)), made++;
        one = tally_stack_new(holds_closure, 0);
        tally_stack_switch(one, node(1)), made++;
        first = node(2), second = node(3), made += 2;
        one = tally_stack_new(holds_other, 0), other = tally_stack_new(holds_other, 0);
        TALLY_WRITE(first, stack, other);
        TALLY_WRITE(second, stack, one);
        tally_stack_switch(one, first);
        tally_stack_switch(other, second);
        first = node(10);
        TALLY_WRITE(first, stack, own);
        one = tally_stack_new(delegates, 0);
        tally_stack_switch(one, first), made += 11;
        if (tally_stack_status(one) != TALLY_STACK_SUSPENDED || tally_stack_status(own) != TALLY_STACK_RUNNING) puts("wrong");
        one = other = NULL;
        first = second = NULL;
        if (i % 5 == 4) tally_stack_switch(collector, NULL);
    }
    tally_stack_switch(collector, NULL);
    collector = NULL;
    tally_collect();
    printf("%ld of %ld, closed %ld\n", finalized, made, closed);
    return 0;
}
