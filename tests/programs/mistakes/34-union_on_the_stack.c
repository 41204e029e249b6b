/* A local union of a number and a reference is no root.
 * verify: sits in no root
 * zeal: `Node`
 */
#include "node.h"

union Slot {
    long number;
    Node *node;
};

int main(void) {
    union Slot slot;
    slot.node = make(1);
    work();
    printf("%ld\n", slot.node->value); // warned, stops
}
