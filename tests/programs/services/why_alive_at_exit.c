/* A program that ends with objects in global variables: `--why Node` says which holds them. */
#include <tally_gc.h>

typedef struct Node {
    struct Node *next, *other;
    long value;
} Node;
TALLY_TYPE(Node, next, other);

typedef struct Cache {
    Node *newest;
} Cache;
TALLY_TYPE(Cache, newest);

static Cache *cache;
static Node *alone;

int main(void) {
    Node *list = NULL;
    TALLY_ROOT(list);
    for (long i = 0; i < 1000; i++) {
        Node *node = TALLY_NEW(Node);
        TALLY_WRITE(node, next, list);
        TALLY_WRITE(node, other, node);
        list = node;
    }
    TALLY_WRITE_GLOBAL(cache, TALLY_NEW(Cache));
    TALLY_WRITE(cache, newest, list);
    TALLY_WRITE_GLOBAL(alone, TALLY_NEW(Node));
}
