/* toggle: a long live list whose head goes in and out of a field, again and again, while rings of garbage are made. Each time that
 * the head loses a reference a cycle collector may wonder what became of the list behind it. */
#include "live_heap.h"

long toggle(void) {
    Node *head = NULL;
    TALLY_ROOT(head);
    for (int i = 0; i < sizes.live_objects; i++) {
        Node *node = new_node(i & 255);
        TALLY_WRITE(node, a, head);
        head = node;
    }
    Node *keeper = new_node(0), *holder = new_node(0);
    TALLY_ROOT(keeper, holder);
    /* Each holds the other, so that neither can be on the stack. */
    TALLY_WRITE(keeper, b, holder);
    TALLY_WRITE(holder, b, keeper);
    TALLY_WRITE(keeper, a, head);
    head = NULL;
    long sum = 0;
    first_tick();
    for (int round = 0; round < 4 * sizes.rounds; round++) {
        Node *in = random_word() >> 31 ? keeper->a : NULL;
        TALLY_WRITE(holder, a, in);
        Node *ring = new_ring_of_four(NULL);
        sum += ring->a->a->value + (holder->a ? holder->a->value : 1);
        if (!(round & 15)) tick();
    }
    for (Node *node = keeper->a; node; node = node->a) sum += node->value;
    return sum;
}
