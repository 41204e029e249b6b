/* memset clears an object to use it again: the barrier does not see which references go.
 * verify: are overwritten without the barrier
 * zeal: COUNT violated
 * prompt: CANDIDATE violated
 */
#include "node.h"

int main(void) {
    Node *head = make(1);
    TALLY_ROOT(head);
    TALLY_WRITE(head, next, make(2));
    work();
    memset(head, 0, sizeof *head); // warned
    work();
    printf("%ld\n", head->value);
}
