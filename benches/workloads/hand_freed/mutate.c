/* mutate, sustained: ten, or a hundred, random writes for every object of a large live heap. */
#include "../workload.h"
#include "node.h"

long mutate(int writes_per_object) {
    int size = sizes.live_objects;
    Node **nodes = malloc(size * sizeof(Node *));
    for (int i = 0; i < size; i++) nodes[i] = new_node(i & 255);

    first_tick();
    for (int write = 0; write < writes_per_object * size; write++) {
        uint32_t from = random_below(sizes.live_objects), to = random_below(sizes.live_objects), coin = random_word() >> 31;
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
