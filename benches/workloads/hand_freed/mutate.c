/* mutate: ten random writes for every object of a large live heap. */
#include "../workload.h"
#include "node.h"

long mutate(void) {
    int size = 1 << sizes.heap_bits;
    Node **nodes = malloc(size * sizeof(Node *));
    for (int i = 0; i < size; i++) nodes[i] = new_node(i & 255);

    first_tick();
    for (int write = 0; write < 10 * size; write++) {
        uint32_t from = random_index(sizes.heap_bits), to = random_index(sizes.heap_bits), coin = random_word() >> 31;
        if (coin)
            nodes[from]->a = nodes[to];
        else
            nodes[from]->b = nodes[to];
        if (!(write & 1023)) tick();
    }

    long sum = 0;
    for (int i = 0; i < size; i++) {
        if (nodes[i]->a) sum += nodes[i]->a->value;
        if (nodes[i]->b) sum += 2 * nodes[i]->b->value;
    }
    return sum;
}
