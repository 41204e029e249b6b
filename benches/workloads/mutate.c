/* mutate: ten random writes for every object of a large live heap. The write barrier and the log, and no garbage. */
#include "node.h"
#include "workload.h"

long mutate(void) {
    int size = 1 << sizes.heap_bits;
    Nodes *nodes = TALLY_NEW_ARRAY(Nodes, size);
    TALLY_ROOT(nodes);
    for (int i = 0; i < size; i++) TALLY_WRITE(nodes, at[i], new_node(i & 255));

    first_tick();
    for (int write = 0; write < 10 * size; write++) {
        uint32_t from = random_index(sizes.heap_bits), to = random_index(sizes.heap_bits), coin = random_word() >> 31;
        Node *node = nodes->at[from], *target = nodes->at[to];
        if (coin)
            TALLY_WRITE(node, a, target);
        else
            TALLY_WRITE(node, b, target);
        if (!(write & 1023)) tick();
    }

    long sum = 0;
    for (int i = 0; i < size; i++) {
        Node *node = nodes->at[i];
        if (node->a) sum += node->a->value;
        if (node->b) sum += 2 * node->b->value;
    }
    return sum;
}
