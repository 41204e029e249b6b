/* longjmp skips frames whose roots hold objects. Under the prompt plan nothing lets go of those by counting; a mark finds
 * what only they held, and zeal takes none of it for a fault. */
#include <setjmp.h>
#include <stdio.h>
#include <tally_gc.h>

typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);

static jmp_buf top;

__attribute__((noinline)) static Node *new_node(Node *next, long value) {
    TALLY_ROOT(next);
    Node *node = TALLY_NEW(Node);
    node->value = value;
    TALLY_WRITE(node, next, next);
    return node;
}

__attribute__((noinline)) static long descend(int depth, Node *outer) {
    TALLY_ROOT(outer);
    Node *node = new_node(outer, depth);
    TALLY_ROOT(node);
    if (depth == 0) longjmp(top, 1);
    return descend(depth - 1, node) + outer->value + node->value;
}

int main(void) {
    Node *kept = new_node(NULL, 9);
    TALLY_ROOT(kept);
    for (int i = 0; i < 3; i++) {
        if (!setjmp(top)) printf("%ld\n", descend(8, kept));
        for (int k = 0; k < 10; k++) new_node(NULL, k);
    }
    tally_collect();
    tally_statistics statistics;
    tally_get_statistics(&statistics);
    printf("%ld, %lu\n", kept->value, (unsigned long)statistics.live_objects);
}
