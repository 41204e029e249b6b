/* A parameter without a root, of an object that the caller's root happens to hold till later.
 * verify: the reference %node, an argument,
 * zeal: harmless because the root of the caller is read after the call, and so is kept over it
 */
#include "node.h"

static long next_value(Node *node) {
    long more = work();
    TALLY_WRITE(node, next, NULL); // warned
    return more + node->value;
}

int main(void) {
    Node *mine = make(1);
    TALLY_ROOT(mine);
    long next = next_value(mine);
    printf("%ld %ld\n", next, mine->value);
}
