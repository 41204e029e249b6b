/* *to = *from copies the references of one object to another without the barrier.
 * verify: are copied into an object without the barrier
 * zeal: memcpy of a reference
 */
#include "node.h"

int main(void) {
    Node *from = make(1), *to = NULL;
    TALLY_ROOT(from, to);
    TALLY_WRITE(from, next, make(2));
    to = make(3);
    work();
    *to = *from; // warned, stops
    TALLY_WRITE(from, next, NULL);
    work();
    work();
    printf("%ld\n", to->next->value);
}
