/* What the mistakes in this folder share: a type of objects, and a function that may collect. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tally_gc.h>

typedef struct Node {
    struct Node *next, *other;
    long value;
} Node;
TALLY_TYPE(Node, next, other);

typedef struct Nodes {
    uint64_t length;
    Node *at[];
} Nodes;
TALLY_ARRAY_TYPE(Nodes, length, at);

typedef struct Text {
    uint64_t length;
    char bytes[];
} Text;
TALLY_DATA_ARRAY_TYPE(Text, length, bytes);

static inline Node *make(long value) {
    Node *node = TALLY_NEW(Node);
    node->value = value;
    return node;
}

/* Anything that allocates: objects that no root holds may die meanwhile. */
static inline long work(void) {
    return make(7)->value;
}
