/* A reference is in a root on one of two paths to a call.
 * verify: silent, it takes a reference for rooted if it may be
 * zeal: `Node`
 */
#include "node.h"

static long twice(int careful) {
    Node *root = NULL;
    TALLY_ROOT(root);
    Node *node = make(1);
    if (careful) root = node;
    work();
    return node->value + (root ? root->value : 0); // stops
}

int main(void) {
    printf("%ld\n", twice(1) + twice(0));
}
