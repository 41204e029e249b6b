/* What a field held is still in use after the field was overwritten.
 * verify: silent, another object might hold what the field lost
 * zeal: `Node`
 */
#include "node.h"

int main(void) {
    Node *head = make(1);
    TALLY_ROOT(head);
    TALLY_WRITE(head, next, make(2));
    Node *taken = head->next;
    TALLY_WRITE(head, next, NULL);
    work();
    printf("%ld\n", taken->value); // stops
}
