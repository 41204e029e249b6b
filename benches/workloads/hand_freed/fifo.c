/* fifo: rings that live through a queue and are freed old, beside a large live heap that they refer to. */
#include "live_heap.h"

long fifo(void) {
    Node **live = new_live_heap();
    int queue_length = 1 << sizes.queue_bits;
    Node **queue = calloc(queue_length, sizeof(Node *));
    long sum = 0;
    first_tick();
    for (int round = 0; round < sizes.rounds; round++) {
        Node *ring = new_ring_of_four(live[random_below(sizes.live_objects)]);
        sum += ring->a->a->value + ring->b->value;
        Node **place = &queue[round & (queue_length - 1)];
        if (*place) free_chain(*place, 4);
        *place = ring;
        if (!(round & 15)) tick();
    }
    return sum;
}
