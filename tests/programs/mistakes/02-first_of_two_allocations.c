/* The first of two new objects is in no root while the second is made.
 * verify: the reference %first from @make
 * zeal: `Node`
 */
#include "node.h"

int main(void) {
    Node *first = make(1);
    Node *second = make(2);
    first->value += second->value; // warned, stops
    printf("%ld\n", first->value);
}
