/* memset clears an object to use it again: the barrier does not see which references go.
 * verify: are overwritten without the barrier
 * zeal: memset over a reference
 */
#include "node.h"

int main(void) {
    Node *head = make(1);
    TALLY_ROOT(head);
    TALLY_WRITE(head, next, make(2));
    work();
    memset(head, 0, sizeof *head); // warned, stops
    work();
    printf("%ld\n", head->value);
}
