/* A large live heap under a stream of small garbage rings that all refer to it: what bigheap and fifo have in common.
 *
 * The live objects are strongly connected. A cycle collector that starts from a dead ring and follows every reference walks all of
 * them, for each ring.
 */
#ifndef LIVE_HEAP_H
#define LIVE_HEAP_H

#include "node.h"
#include "workload.h"

/* Nodes in one big ring by `a`, and to a random node by `b`. */
static Nodes *new_live_heap(void) {
    uint32_t size = sizes.live_objects;
    Nodes *nodes = TALLY_NEW_ARRAY(Nodes, size);
    TALLY_ROOT(nodes);
    for (uint32_t i = 0; i < size; i++) TALLY_WRITE(nodes, at[i], new_node(i & 255));
    for (uint32_t i = 0; i < size; i++) {
        uint32_t other = random_below(sizes.live_objects);
        Node *node = nodes->at[i];
        TALLY_WRITE(node, a, nodes->at[i + 1 < size ? i + 1 : 0]);
        TALLY_WRITE(node, b, nodes->at[other]);
    }
    return nodes;
}

/* Four nodes in a ring, the first of which refers to `live`. */
static __attribute__((noinline)) Node *new_ring_of_four(Node *live) {
    TALLY_ROOT(live);
    Node *first = new_node(1), *previous = first;
    TALLY_ROOT(first, previous);
    TALLY_WRITE(first, b, live);
    for (int i = 0; i < 3; i++) {
        Node *node = new_node(2);
        TALLY_WRITE(node, b, previous);
        TALLY_WRITE(previous, a, node);
        previous = node;
    }
    TALLY_WRITE(previous, a, first);
    return first;
}

#endif
