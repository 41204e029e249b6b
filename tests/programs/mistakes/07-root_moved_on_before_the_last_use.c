/* A root is given its next value while a copy of the old one is still needed.
 * verify: the reference %call from @make
 * zeal: `Node`
 */
#include "node.h"

int main(void) {
    Node *current = make(1);
    TALLY_ROOT(current);
    Node *before = current;
    current = make(2);
    work();
    printf("%ld %ld\n", before->value, current->value); // warned, stops
}
