/* Recursion by one call a frame, with a list behind each tenth, garbage at every step, and collections on the way down, at the
 * bottom and on the way up. */
#include <stdio.h>
#include <tally_gc.h>

typedef struct Node { struct Node *next, *ring; long value; } Node;
TALLY_TYPE(Node, next, ring);

static long lost, collections;

static Node *node(long value, Node *next) {
    TALLY_ROOT(next);
    Node *made = TALLY_NEW(Node);
    made->value = value;
    TALLY_WRITE(made, next, next);
    return made;
}

static void garbage(void) {
    Node *one = node(-1, NULL), *two = NULL;
    TALLY_ROOT(one, two);
    two = node(-2, one);
    TALLY_WRITE(one, ring, two);
}

static __attribute__((noinline)) long descend(long depth, Node *above) {
    TALLY_ROOT(above);
    Node *mine = node(depth, above);
    TALLY_ROOT(mine);
    garbage();
    if (depth % 10000 == 5000 || depth == 1) collections++, tally_collect();
    long below = depth == 1 ? 0 : descend(depth - 1, depth % 10 ? mine : NULL);
    if (depth % 10000 == 7000) collections++, tally_collect();
    if (mine->value != depth || mine->next != above) lost++;
    return below + mine->value;
}

int main(void) {
    long sum = descend(30000, NULL);
    printf("%ld collections, %ld lost, sum %ld\n", collections, lost, sum);
    return 0;
}
