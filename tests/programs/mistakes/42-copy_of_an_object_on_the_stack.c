/* A copy of an object on the stack holds references, and is no root.
 * verify: silent, it does not know the words of the copy for references
 * zeal: `Node`
 */
#include "node.h"

int main(void) {
    Node *head = make(1);
    TALLY_ROOT(head);
    TALLY_WRITE(head, next, make(2));
    Node copy = *head;
    TALLY_WRITE(head, next, NULL);
    work();
    printf("%ld\n", copy.next->value); // stops
}
