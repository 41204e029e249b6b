/* The object that most workloads use: two references and a number. */
#ifndef NODE_H
#define NODE_H

#include <tally_gc.h>

typedef struct Node {
    struct Node *a, *b;
    long value;
} Node;
TALLY_TYPE(Node, a, b);

typedef struct Nodes {
    uint64_t length;
    Node *at[];
} Nodes;
TALLY_ARRAY_TYPE(Nodes, length, at);

static inline Node *new_node(long value) {
    Node *node = TALLY_NEW(Node);
    node->value = value;
    return node;
}

#endif
