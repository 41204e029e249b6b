/* What compiled code does all the time, a thousand times over: each `measured_…` is counted by itself (benches/compiled.rs).
 *
 * The loops differ from each other by one operation, so that the difference of two counts is that operation's. In which state the
 * objects are that they find, and so which path they take, is up to main.c. */
#include "operations.h"

#define MEASURED __attribute__((noinline)) void
#define CALLED static __attribute__((noinline)) void
/* Has the value in a register; no instruction. */
#define USE(value) __asm__ volatile("" : : "r"(value))

MEASURED measured_loop(Nodes *holders, Nodes *values) {
    for (int i = 0; i < TIMES; i++) {
        USE(holders->at[i]);
        USE(values->at[i]);
    }
}

MEASURED measured_write_null(Nodes *holders, Nodes *values) {
    for (int i = 0; i < TIMES; i++) {
        USE(values->at[i]);
        TALLY_WRITE(holders->at[i], a, NULL);
    }
}

MEASURED measured_write(Nodes *holders, Nodes *values) {
    for (int i = 0; i < TIMES; i++) TALLY_WRITE(holders->at[i], a, values->at[i]);
}

MEASURED measured_read(Nodes *holders, Nodes *values) {
    for (int i = 0; i < TIMES; i++) {
        USE(TALLY_READ(holders->at[i], a));
        USE(values->at[i]);
    }
}

/* Elements of one array, which is logged by the first of them. */
MEASURED measured_write_array(Nodes *holders, Nodes *values) {
    for (int i = 0; i < TIMES; i++) {
        USE(holders->at[i]);
        TALLY_WRITE(holders, at[i], values->at[i]);
    }
}

/* The same in functions of their own: a loop of writes puts its counts off under the prompt plan, a single write counts at once. */
CALLED touch(Node *holder, Node *value) {
    USE(holder);
    USE(value);
}

MEASURED measured_alone(Nodes *holders, Nodes *values) {
    for (int i = 0; i < TIMES; i++) touch(holders->at[i], values->at[i]);
}

CALLED write_null(Node *holder, Node *value) {
    USE(value);
    TALLY_WRITE(holder, a, NULL);
}

MEASURED measured_write_null_alone(Nodes *holders, Nodes *values) {
    for (int i = 0; i < TIMES; i++) write_null(holders->at[i], values->at[i]);
}

CALLED write(Node *holder, Node *value) { TALLY_WRITE(holder, a, value); }

MEASURED measured_write_alone(Nodes *holders, Nodes *values) {
    for (int i = 0; i < TIMES; i++) write(holders->at[i], values->at[i]);
}

/* The number null is written to the holders' pairs. */
MEASURED measured_pair_number(Nodes *holders, Nodes *values) {
    for (int i = 0; i < TIMES; i++) {
        USE(values->at[i]);
        TALLY_WRITE_PAIR((Box *)holders->at[i], content, ((Value){.as.number = 0, .tag = NUMBER}));
    }
}

/* The values are written to them. */
MEASURED measured_pair(Nodes *holders, Nodes *values) {
    for (int i = 0; i < TIMES; i++)
        TALLY_WRITE_PAIR((Box *)holders->at[i], content, ((Value){.as.node = values->at[i], .tag = OBJECT}));
}

/* Includes the write that keeps the object. */
MEASURED measured_allocate(Nodes *holders, Nodes *values) {
    TALLY_ROOT(holders, values);
    for (int i = 0; i < TIMES; i++) {
        USE(values->at[i]);
        TALLY_WRITE(holders, at[i], TALLY_NEW(Node));
    }
}

/* Born, used, and dead at the next safepoint. */
MEASURED measured_temporary(Nodes *holders, Nodes *values) {
    TALLY_ROOT(holders, values);
    for (int i = 0; i < TIMES; i++) {
        Node *node = TALLY_NEW(Node);
        USE(holders->at[i]);
        USE(values->at[i]);
        node->value = i;
        USE(node);
    }
}

/* A safepoint and nothing else. */
MEASURED measured_safepoint(Nodes *holders, Nodes *values) {
    TALLY_ROOT(holders, values);
    for (int i = 0; i < TIMES; i++) call(holders->at[i]);
}

CALLED pass_on(Node *holder) {
    Node *value = holder->a;
    call(value);
    call(NULL);
}

/* A reference is read and passed on; it need not outlive the call. */
MEASURED measured_not_held(Nodes *holders, Nodes *values) {
    TALLY_ROOT(holders, values);
    for (int i = 0; i < TIMES; i++) pass_on(holders->at[i]);
}

CALLED hold(Node *holder) {
    Node *value = holder->a;
    TALLY_ROOT(value);
    call(value);
    call(value);
}

/* The same, and a root holds it until the function returns. */
MEASURED measured_held(Nodes *holders, Nodes *values) {
    TALLY_ROOT(holders, values);
    for (int i = 0; i < TIMES; i++) hold(holders->at[i]);
}

CALLED hold_word(Node *holder) {
    Word word = (Word)(uintptr_t)holder->a;
    TALLY_ROOT_TAGGED(Word, word);
    call((Node *)(uintptr_t)word);
    call((Node *)(uintptr_t)word);
}

/* The same with a root of a tagged word. */
MEASURED measured_held_word(Nodes *holders, Nodes *values) {
    TALLY_ROOT(holders, values);
    for (int i = 0; i < TIMES; i++) hold_word(holders->at[i]);
}

CALLED hold_number(Node *holder) {
    Word word = (Word)(uintptr_t)holder->a | 1;
    TALLY_ROOT_TAGGED(Word, word);
    call(holder->a);
    call(NULL);
}

/* The same where the word is a number: nothing is counted. */
MEASURED measured_held_number(Nodes *holders, Nodes *values) {
    TALLY_ROOT(holders, values);
    for (int i = 0; i < TIMES; i++) hold_number(holders->at[i]);
}

CALLED hold_two(Node *holder) {
    Two two = {holder->a, holder->b};
    TALLY_ROOT_AS(Two, two);
    call(two.first);
    call(two.second);
}

/* The same with a root of two words. */
MEASURED measured_held_two(Nodes *holders, Nodes *values) {
    TALLY_ROOT(holders, values);
    for (int i = 0; i < TIMES; i++) hold_two(holders->at[i]);
}

CALLED hold_pair(Node *holder) {
    Value value = {.as.node = holder->a, .tag = OBJECT};
    TALLY_ROOT_AS(Value, value);
    call(value.as.node);
    call(value.as.node);
}

/* The same with a root of a tag and a word. */
MEASURED measured_held_pair(Nodes *holders, Nodes *values) {
    TALLY_ROOT(holders, values);
    for (int i = 0; i < TIMES; i++) hold_pair(holders->at[i]);
}

typedef struct Found {
    Node *node;
    long place;
} Found;
TALLY_TYPE(Found, node);

CALLED find(Found *found, int place) {
    found->place = place;
    call(NULL);
}

/* A function tells a number through the address of a root, while the frame lends another root to native code. */
MEASURED measured_number_told(Nodes *holders, Nodes *values) {
    Node *lent = NULL;
    Found found = {NULL, 0};
    TALLY_ROOT(holders, values, lent);
    TALLY_ROOT_AS(Found, found);
    lend(&lent);
    for (int i = 0; i < TIMES; i++) find(&found, i);
}

/* Each turn of a loop has two variables of which it lends one, and then calls twice. */
MEASURED measured_lent_by_turns(Nodes *holders, Nodes *values) {
    TALLY_ROOT(holders, values);
    for (int i = 0; i < TIMES; i++) {
        if (i % 2) {
            Two two = {NULL, NULL};
            TALLY_ROOT_AS(Two, two);
            lend(&two.first);
            call(NULL);
            call(NULL);
        } else {
            Two other = {NULL, NULL};
            TALLY_ROOT_AS(Two, other);
            lend(&other.first);
            call(NULL);
            call(NULL);
        }
    }
}

/* What a holder held dies where a value is on its way to a function. */
MEASURED measured_death_in_flight(Nodes *holders, Nodes *values) {
    TALLY_ROOT(holders, values);
    for (int i = 0; i < TIMES; i++) {
        TALLY_WRITE(holders->at[i], a, NULL);
        pass_on(values->at[i]);
    }
}

/* What the first holder held is not needed any more. */
MEASURED measured_let_go(Nodes *holders, Nodes *values) {
    (void)values;
    TALLY_WRITE(holders->at[0], a, NULL);
}

MEASURED measured_collect(Nodes *holders, Nodes *values) {
    TALLY_ROOT(holders, values);
    tally_collect();
}

static __attribute__((noinline)) int descend(Nodes *holders, Nodes *values, int depth) {
    TALLY_ROOT(holders, values);
    if (depth == 0) measured_collect(holders, values);
    return depth == 0 ? 0 : descend(holders, values, depth - 1) + (holders->at[depth - 1]->a != NULL);
}

/* A collection below a thousand frames; the way down is not counted. */
void collect_below(Nodes *holders, Nodes *values) { descend(holders, values, TIMES); }

/* To the stack that is the first of the values, and back. */
MEASURED measured_switch(Nodes *holders, Nodes *values) {
    void *stack = values->at[0];
    TALLY_ROOT(stack);
    USE(holders);
    for (int i = 0; i < TIMES; i++) tally_stack_switch(stack, NULL);
}
