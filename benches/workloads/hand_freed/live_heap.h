/* A large live heap under a stream of small rings that all refer to it: what bigheap and fifo have in common. */
#ifndef LIVE_HEAP_H
#define LIVE_HEAP_H

#include "../workload.h"
#include "node.h"

static Node **new_live_heap(void) {
    uint32_t size = sizes.live_objects;
    Node **nodes = malloc(size * sizeof(Node *));
    for (uint32_t i = 0; i < size; i++) nodes[i] = new_node(i & 255);
    for (uint32_t i = 0; i < size; i++) {
        nodes[i]->a = nodes[i + 1 < size ? i + 1 : 0];
        nodes[i]->b = nodes[random_below(sizes.live_objects)];
    }
    return nodes;
}

static __attribute__((noinline)) Node *new_ring_of_four(Node *live) {
    Node *first = new_node(1), *previous = first;
    first->b = live;
    for (int i = 0; i < 3; i++) {
        Node *node = new_node(2);
        node->b = previous;
        previous->a = node;
        previous = node;
    }
    previous->a = first;
    return first;
}

#endif
