/* A parameter is used after the function has allocated.
 * verify: the reference %list, an argument,
 * zeal: use of a dead object
 */
#include "node.h"

static Node *push(Node *list, long value) {
    Node *node = make(value);
    TALLY_WRITE(node, next, list); // warned, stops
    return node;
}

int main(void) {
    Node *all = push(push(NULL, 1), 2);
    printf("%ld\n", all->next->value);
}
