/* A root is set to NULL to let go early, and a copy of it is read later.
 * verify: the reference %call from @make
 * zeal: `Node`
 */
#include "node.h"

int main(void) {
    Node *root = make(1);
    TALLY_ROOT(root);
    Node *copy = root;
    root = NULL;
    work();
    printf("%ld\n", copy->value); // warned, stops
}
