/* A walk that allocates does not root the node it stands on, and nothing else holds the tree.
 * verify: the reference %node, an argument,
 * zeal: `Node`
 */
#include "node.h"

static Node *tree(int depth) {
    if (!depth) return NULL;
    Node *node = make(depth);
    TALLY_ROOT(node);
    TALLY_WRITE(node, next, tree(depth - 1));
    TALLY_WRITE(node, other, tree(depth - 1));
    return node;
}

static long walk(Node *node) {
    if (!node) return work();
    return walk(node->next) + node->value + walk(node->other); // warned, stops
}

int main(void) {
    printf("%ld\n", walk(tree(3)));
}
