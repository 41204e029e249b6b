/* A struct of two references is passed by value, in registers, and the callee allocates.
 * verify: sits in no root
 * zeal: `Node`
 */
#include "node.h"

struct Pair {
    Node *left, *right;
};

static long difference(struct Pair pair) {
    long before = work();
    return before + pair.left->value - pair.right->value; // warned, stops
}

int main(void) {
    Node *both = make(1);
    TALLY_ROOT(both);
    printf("%ld\n", difference((struct Pair){make(5), both}));
}
