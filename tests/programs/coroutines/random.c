/* Coroutines that are made, switched between, dropped, closed and linked in cycles at random; each checks what its frames hold.
 * Arguments: a seed, and the number of switches. */
#include <stdio.h>
#include <stdlib.h>
#include <tally_gc.h>

enum { SLOTS = 24, MAGIC = 0x5eed };
typedef struct Node { struct Node *next, *other; void *stack; long magic, value; } Node;
TALLY_TYPE(Node, next, other, stack);
typedef struct Table { uint64_t length; void *at[]; } Table;
TALLY_ARRAY_TYPE(Table, length, at);
typedef uint64_t Word;
TALLY_TAGGED_TYPE(Word, 1, 0, ~7ull);

static uint64_t state;
static unsigned rnd(unsigned below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % below;
}
static Table *stacks, *nodes;
static long switches, made, closed, finished, budget;

static Node *node(long value) {
    Node *n = TALLY_NEW(Node);
    n->magic = MAGIC; n->value = value;
    return n;
}
static void check(Node *n, long value) {
    if (n->magic != MAGIC || n->value != value) { printf("a node has %lx, %ld instead of %ld\n", n->magic, n->value, value); exit(1); }
}
static void set(Node **out, Node *value) { *out = value; }

static void *work(void *first);
/* Recurses, holds nodes in plain, lent, and tagged roots, switches somewhere. */
static long inside(Node *held, int depth) {
    Node *mine = NULL, *lent = NULL, *arrived = NULL;
    void *me = NULL;
    Word word = 3;
    TALLY_ROOT(held, mine, lent, arrived, me);
    TALLY_ROOT_TAGGED(Word, word);
    long value = rnd(1000), given = held->value;
    mine = node(value);
    TALLY_WRITE(mine, next, held);
    set(&lent, node(value + 1));
    if (rnd(2)) word = (Word)node(value + 2);
    if (rnd(4) == 0) { me = tally_stack_current(); TALLY_WRITE(mine, stack, me); }
    if (rnd(4) == 0) TALLY_WRITE(lent, other, mine);
    long sum = 0;
    for (int i = rnd(4); i >= 0; i--) {
        if (depth < 6 && rnd(3) == 0) { sum += inside(mine, depth + 1); }
        else if (tally_stack_status(tally_stack_current()) == TALLY_STACK_RUNNING) {
            void *to = stacks->at[rnd(SLOTS)];
            unsigned what = rnd(8);
            if (to && tally_stack_status(to) == TALLY_STACK_SUSPENDED && what < 3) { switches++; arrived = tally_stack_switch(to, mine); }
            else if (me || what < 6) { me = tally_stack_current(); if (depth >= 0 && held->other != held) { switches++; arrived = tally_stack_switch(NULL, mine); } }
            if (arrived) { if (arrived->magic != MAGIC) { printf("lost in flight\n"); exit(1); } sum += arrived->value; TALLY_WRITE(mine, other, arrived); }
        }
        check(mine, value); check(held, given); check(lent, value + 1);
        if (!(word & 1)) check((Node *)word, value + 2);
        if (rnd(3) == 0) { set(&lent, node(value + 1)); }
        if (rnd(5) == 0) { TALLY_WRITE(nodes, at[rnd(SLOTS)], mine); }
    }
    return sum;
}
static void *work(void *first) {
    Node *n = (Node *)first;
    TALLY_ROOT(n);
    if (!n) n = node(5);
    inside(n, 0);
    finished++;
    return n;
}
int main(int count, char **words) {
    TALLY_WRITE_GLOBAL(stacks, TALLY_NEW_ARRAY(Table, SLOTS));
    TALLY_WRITE_GLOBAL(nodes, TALLY_NEW_ARRAY(Table, SLOTS));
    state = count > 1 ? atol(words[1]) : 1;
    budget = count > 2 ? atol(words[2]) : 20000;
    Node *got = NULL, *n = NULL; void *stack = NULL;
    TALLY_ROOT(got, n, stack);
    while (switches < budget) {
        unsigned at = rnd(SLOTS);
        stack = stacks->at[at];
        unsigned what = rnd(16);
        if (!stack || tally_stack_status(stack) == TALLY_STACK_FINISHED || what == 0) {
            made++;
            stack = tally_stack_new(work, rnd(8) ? 0 : 100000);
            TALLY_WRITE(stacks, at[at], stack);
        } else if (what == 1) { tally_stack_close(stack); closed++; TALLY_WRITE(stacks, at[at], NULL); }
        else if (what == 2) TALLY_WRITE(stacks, at[at], NULL);
        else if (what == 3) { n = nodes->at[rnd(SLOTS)]; if (n) TALLY_WRITE(n, stack, stack); TALLY_WRITE(stacks, at[at], NULL); }
        else if (what == 4) TALLY_WRITE(nodes, at[at], NULL);
        else { n = node(at); switches++; got = tally_stack_switch(stack, n); check(n, at); if (got && got->magic != MAGIC) { printf("lost\n"); return 1; } }
        if (rnd(2000) == 0) tally_collect();
    }
    puts(made > 100 && closed > 10 && finished > 50 ? "enough of each" : "too few");
    TALLY_WRITE_GLOBAL(stacks, NULL);
    TALLY_WRITE_GLOBAL(nodes, NULL);
    return 0;
}
