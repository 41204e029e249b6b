/* A managed function that another file's frames lend roots to. */
#include <tally_gc.h>

typedef struct Node { struct Node *next; long number; } Node;
TALLY_TYPE(Node, next);

void store_elsewhere(Node **slot, long number) {
    Node *node = TALLY_NEW(Node);
    TALLY_ROOT(node);
    node->number = number;
    *slot = node;
}
