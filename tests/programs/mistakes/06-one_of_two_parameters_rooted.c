/* The object is rooted and the value is not.
 * verify: the reference %value, an argument,
 * zeal: use of a dead object
 */
#include "node.h"

static void set(Node *object, Node *value) {
    TALLY_ROOT(object);
    work();
    TALLY_WRITE(object, next, value); // warned, stops
}

int main(void) {
    Node *object = make(1);
    TALLY_ROOT(object);
    set(object, make(2));
    printf("%ld\n", object->next->value);
}
