/* bigheap: rings that die at once, beside a large live heap that they refer to. */
#include "live_heap.h"

long bigheap(void) {
    Nodes *live = new_live_heap();
    TALLY_ROOT(live);
    long sum = 0;
    first_tick();
    for (int round = 0; round < sizes.rounds; round++) {
        uint32_t i = random_below(sizes.live_objects);
        Node *ring = new_ring_of_four(live->at[i]);
        sum += ring->a->a->value + ring->b->value;
        if (!(round & 15)) tick();
    }
    return sum;
}
