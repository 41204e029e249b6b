/* The object that most workloads use: two pointers and a number. */
#ifndef NODE_H
#define NODE_H

#include <stdlib.h>

typedef struct Node {
    struct Node *a, *b;
    long value;
} Node;

static inline Node *new_node(long value) {
    Node *node = malloc(sizeof(Node));
    node->a = node->b = NULL;
    node->value = value;
    return node;
}

/* Frees `count` nodes that are linked by `a`. */
static inline void free_chain(Node *node, int count) {
    while (count-- > 0) {
        Node *next = node->a;
        free(node);
        node = next;
    }
}

#endif
