/* Rings whose last holder is a local variable, while so much is allocated that batches and rounds of trials run. Each ring has a member
 * with a destructor, which is how its death is seen. No collection is asked for.
 *
 * The argument says how a ring comes to be dropped; what is printed is how many of them have died. */
#include <tally_gc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RINGS = 40, MADE_MEANWHILE = 40000 };

typedef struct Node { struct Node *a, *b; long value; } Node;
TALLY_TYPE(Node, a, b);

static long deaths;
typedef struct Member { Node *a, *b; } Member;
static void died(Member *member) { (void)member; deaths++; }
TALLY_FINALIZED_TYPE(Member, died, a, b);

/* Two nodes and a member in a ring. */
static __attribute__((noinline)) Node *new_ring(void) {
    Node *one = TALLY_NEW(Node), *two = NULL;
    TALLY_ROOT(one, two);
    two = TALLY_NEW(Node);
    Member *member = TALLY_NEW(Member);
    TALLY_ROOT(member);
    TALLY_WRITE(one, a, two);
    TALLY_WRITE(two, a, (Node *)member);
    TALLY_WRITE(member, a, one);
    one->value = 42;
    return one;
}

/* Allocates: other rings, which die young. */
__attribute__((noinline)) void work(int nodes) {
    for (int i = 0; i < nodes; i++) {
        Node *node = TALLY_NEW(Node);
        TALLY_ROOT(node);
        TALLY_WRITE(node, a, node);
    }
}

static void check(Node *ring) {
    if (ring->value != 42 || ring->a->a->a != ring) abort();
}

static __attribute__((noinline)) void lives_through_rounds(Node *table) {
    Node *ring = table->a;
    TALLY_ROOT(ring);
    TALLY_WRITE(table, a, NULL);
    work(MADE_MEANWHILE);
    check(ring);
}

static __attribute__((noinline)) void hand_on(Node **from, int hands) {
    Node *ring = *from;
    TALLY_ROOT(ring);
    *from = NULL;
    work(MADE_MEANWHILE);
    if (hands) hand_on(&ring, hands - 1);
    else check(ring);
}

static __attribute__((noinline)) void lend(Node *table) {
    Node *ring = table->a;
    TALLY_ROOT(ring);
    TALLY_WRITE(table, a, NULL);
    hand_on(&ring, 3);
}

static __attribute__((noinline)) void pass_on(Node *ring, int hands) {
    TALLY_ROOT(ring);
    work(MADE_MEANWHILE / 4);
    if (hands) {
        Node *next = ring->a->a->a;
        ring = NULL;
        pass_on(next, hands - 1);
    } else check(ring);
}

static __attribute__((noinline)) Node *take_out(Node *table) {
    Node *ring = table->a;
    TALLY_ROOT(ring);
    TALLY_WRITE(table, a, NULL);
    work(MADE_MEANWHILE);
    return ring;
}

static __attribute__((noinline)) void return_and_drop(Node *table) {
    Node *ring = take_out(table);
    TALLY_ROOT(ring);
    work(MADE_MEANWHILE);
    check(ring);
}

static __attribute__((noinline)) void hold_young(void) {
    Node *ring = new_ring();
    TALLY_ROOT(ring);
    work(MADE_MEANWHILE);
    check(ring);
}

typedef struct Pair { Node *ring; long number; } Pair;
TALLY_TYPE(Pair, ring);

static __attribute__((noinline)) void hold_in_a_structure(Node *table) {
    Pair pair = {table->a, 1};
    TALLY_ROOT_AS(Pair, pair);
    TALLY_WRITE(table, a, NULL);
    work(MADE_MEANWHILE);
    check(pair.ring);
}

/* attempt.ll: an exception lets go of the ring. */
extern void attempt(Node *table);

/* Each frame holds a node. */
static __attribute__((noinline)) long recurse(int depth) {
    Node *node = TALLY_NEW(Node);
    TALLY_ROOT(node);
    node->value = 1;
    if (depth == 0) {
        work(1600000);
        return node->value;
    }
    return recurse(depth - 1) + node->value;
}

int main(int count, char **arguments) {
    const char *how = count > 1 ? arguments[1] : "";
    if (strcmp(how, "recurse") == 0) {
        printf("%ld\n", recurse(40000));
        return 0;
    }
    Node *table = TALLY_NEW(Node);
    TALLY_ROOT(table);
    for (int i = 0; i < RINGS; i++) {
        if (strcmp(how, "young") == 0) {
            hold_young();
            continue;
        }
        TALLY_WRITE(table, a, new_ring());
        work(MADE_MEANWHILE);
        if (strcmp(how, "rounds") == 0) lives_through_rounds(table);
        else if (strcmp(how, "thrown") == 0) attempt(table);
        else if (strcmp(how, "returned") == 0) return_and_drop(table);
        else if (strcmp(how, "structure") == 0) hold_in_a_structure(table);
        else if (strcmp(how, "lent") == 0) lend(table);
        else if (strcmp(how, "passed") == 0) {
            Node *ring = table->a;
            TALLY_WRITE(table, a, NULL);
            pass_on(ring, 3);
        } else return 2;
    }
    work(MADE_MEANWHILE * 2);
    printf("%ld\n", deaths);
    return 0;
}
