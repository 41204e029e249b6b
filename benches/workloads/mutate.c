/* mutate, sustained: ten, or a hundred, random writes for every object of a large live heap. The write barrier and the log, and no garbage. */
#include "node.h"
#include "workload.h"

long mutate(int writes_per_object) {
    int size = sizes.live_objects;
    Nodes *nodes = TALLY_NEW_ARRAY(Nodes, size);
    TALLY_ROOT(nodes);
    for (int i = 0; i < size; i++) TALLY_WRITE(nodes, at[i], new_node(i & 255));

    first_tick();
    for (int write = 0; write < writes_per_object * size; write++) {
        uint32_t from = random_below(sizes.live_objects), to = random_below(sizes.live_objects), coin = random_word() >> 31;
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
