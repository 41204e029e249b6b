/* A whole mark-and-sweep collector over calloc and free. It asks for the roots of every frame, marks what they reach, and frees the
 * rest. The frames of this file are not managed: they have no roots, and the walk goes through them. */
#include <stdlib.h>
#include "heap.h"

static Node *all;
long live, collections;
static long limit = 1000;

static void mark(Node *node) {
    while (node && !node->marked) {
        node->marked = 1;
        mark(node->left);
        node = node->right;
    }
}

static void mark_root(const tally_stack_root *root, void *count) {
    mark(*root->slot);
    ++*(long *)count;
}

void collect(void) {
    long roots = 0;
    tally_walk_roots(mark_root, &roots);
    for (Node **place = &all; *place;) {
        Node *node = *place;
        if (node->marked) node->marked = 0, place = &node->next_of_all;
        else *place = node->next_of_all, free(node), live--;
    }
    limit = live * 2 + 1000;
    collections++;
}

Node *new_node(long value) {
    if (live >= limit) collect();
    Node *node = calloc(1, sizeof(Node));
    node->value = value;
    node->next_of_all = all;
    all = node;
    live++;
    return node;
}
