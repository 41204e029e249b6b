/* bigheap: rings that are freed at once, beside a large live heap that they refer to. */
#include "live_heap.h"

/* The sum of a ring of four, which is freed. Not inlined, as the maker of the ring is not. */
static __attribute__((noinline)) long sum_of_ring(Node *ring) {
    long sum = ring->a->a->value + ring->b->value;
    free_chain(ring, 4);
    return sum;
}

long bigheap(void) {
    Node **live = new_live_heap();
    long sum = 0;
    first_tick();
    for (int round = 0; round < sizes.rounds; round++) {
        sum += sum_of_ring(new_ring_of_four(live[random_below(sizes.live_objects)]));
        if (!(round & 15)) tick();
    }
    return sum;
}
