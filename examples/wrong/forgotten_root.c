/* A program with a mistake: `first` is needed after the second allocation, and is in no root.
 *
 * It may seem to work for a long time, since a collection rarely falls between two allocations. Two ways to find it:
 *
 *     tally verify examples/wrong/forgotten_root.c      warns: a reference is used after a safepoint and sits in no root
 *     tally run --zeal examples/wrong/forgotten_root.c  stops in link_pair, with the line marked below and the type Node
 *
 * The cure is TALLY_ROOT(first).
 */
#include <stdio.h>
#include <tally_gc.h>

typedef struct Node {
    struct Node *next;
    long value;
} Node;
TALLY_TYPE(Node, next);

static Node *link_pair(long value) {
    Node *first = TALLY_NEW(Node);
    Node *second = TALLY_NEW(Node); /* nothing holds `first` here */
    first->value = value;           /* the first touch of a dead object */
    second->value = value + 1;
    TALLY_WRITE(first, next, second);
    return first;
}

int main(void) {
    long sum = 0;
    for (int i = 0; i < 10; i++) {
        Node *pair = link_pair(i);
        sum += pair->value + pair->next->value;
    }
    printf("sum %ld\n", sum);
}
