/* fifo: rings that live through a queue and die old, beside a large live heap that they refer to. */
#include "live_heap.h"

long fifo(void) {
    Nodes *live = new_live_heap();
    TALLY_ROOT(live);
    Nodes *queue = TALLY_NEW_ARRAY(Nodes, 1 << sizes.queue_bits);
    TALLY_ROOT(queue);
    long sum = 0;
    first_tick();
    for (int round = 0; round < sizes.rounds; round++) {
        uint32_t i = random_below(sizes.live_objects);
        Node *ring = new_ring_of_four(live->at[i]);
        sum += ring->a->a->value + ring->b->value;
        TALLY_WRITE(queue, at[round & ((1 << sizes.queue_bits) - 1)], ring);
        if (!(round & 15)) tick();
    }
    return sum;
}
