/* A field of an object is assigned like any other: no barrier sees it.
 * verify: is stored plainly to an object
 * zeal: plain store of a reference
 */
#include "node.h"

int main(void) {
    Node *head = make(1);
    TALLY_ROOT(head);
    work();
    head->next = make(2); // warned, stops
    work();
    work();
    printf("%ld\n", head->next->value);
}
