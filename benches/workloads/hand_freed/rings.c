/* rings: rings of three to eight nodes that are freed in random order of age. */
#include "../workload.h"
#include "node.h"

static __attribute__((noinline)) Node *new_ring(int length) {
    Node *first = new_node(length), *previous = first;
    for (int i = 1; i < length; i++) {
        Node *node = new_node(i);
        node->b = previous;
        previous->a = node;
        previous = node;
    }
    previous->a = first;
    first->b = previous;
    return first;
}

long rings(void) {
    Node **pool = malloc(sizes.pool_length * sizeof(Node *));
    for (int i = 0; i < sizes.pool_length; i++) pool[i] = new_ring(3 + random_below(6));
    long sum = 0;
    first_tick();
    for (int replacement = 0; replacement < sizes.replacements; replacement++) {
        uint32_t i = random_below(sizes.pool_length);
        int length = 3 + random_below(6);
        sum += pool[i]->value + pool[i]->b->value;
        free_chain(pool[i], pool[i]->value);
        pool[i] = new_ring(length);
        if (!(replacement & 15)) tick();
    }
    return sum;
}
