/* rings: rings of three to eight nodes that die in random order of age: each new one takes the place of any of those that live. */
#include "node.h"
#include "workload.h"

static __attribute__((noinline)) Node *new_ring(int length) {
    Node *first = new_node(length), *previous = first;
    TALLY_ROOT(first, previous);
    for (int i = 1; i < length; i++) {
        Node *node = new_node(i);
        TALLY_WRITE(node, b, previous);
        TALLY_WRITE(previous, a, node);
        previous = node;
    }
    TALLY_WRITE(previous, a, first);
    TALLY_WRITE(first, b, previous);
    return first;
}

long rings(void) {
    Nodes *pool = TALLY_NEW_ARRAY(Nodes, sizes.pool_length);
    TALLY_ROOT(pool);
    for (int i = 0; i < sizes.pool_length; i++) TALLY_WRITE(pool, at[i], new_ring(3 + random_below(6)));
    long sum = 0;
    first_tick();
    for (int replacement = 0; replacement < sizes.replacements; replacement++) {
        uint32_t i = random_below(sizes.pool_length);
        int length = 3 + random_below(6);
        sum += pool->at[i]->value + pool->at[i]->b->value;
        TALLY_WRITE(pool, at[i], new_ring(length));
        if (!(replacement & 15)) tick();
    }
    return sum;
}
