/* toggle: a long live list whose head goes in and out of a field, again and again, while rings are made and freed. */
#include "live_heap.h"

/* Not inlined, as the maker of the ring is not. */
static __attribute__((noinline)) long value_of_ring(Node *ring) {
    long value = ring->a->a->value;
    free_chain(ring, 4);
    return value;
}

long toggle(void) {
    Node *head = NULL;
    for (int i = 0; i < sizes.live_objects; i++) {
        Node *node = new_node(i & 255);
        node->a = head;
        head = node;
    }
    Node *keeper = new_node(0), *holder = new_node(0);
    keeper->a = head;
    long sum = 0;
    first_tick();
    for (int round = 0; round < 4 * sizes.rounds; round++) {
        holder->a = random_word() >> 31 ? keeper->a : NULL;
        sum += value_of_ring(new_ring_of_four(NULL)) + (holder->a ? holder->a->value : 1);
        if (!(round & 15)) tick();
    }
    for (Node *node = keeper->a; node; node = node->a) sum += node->value;
    return sum;
}
